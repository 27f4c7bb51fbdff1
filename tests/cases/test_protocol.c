/* SPDX-License-Identifier: BSD-3-Clause
 *
 * test_protocol.c: the words between supervisor and worker, each written and read by the two
 * functions that both sides use; what is no message; a group there and back.
 */
#include <stdlib.h>
#include <string.h>

#include "cases/protocol.h"
#include "core/status.h"
#include "tests/tap.h"

/* What follows each word, "" where it stands alone, and the text that this makes. */
static const struct {
    enum fb_word word;
    const char *rest, *line;
} messages[] = {{FB_WORD_GROUP, "2 1 n=8,d=8 randn@1", "group 2 1 n=8,d=8 randn@1\n"},
                {FB_WORD_MEASURE, "warmup 3", "measure warmup 3\n"},
                {FB_WORD_CASE, "0 cpu-split dq=fp32", "case 0 cpu-split dq=fp32\n"},
                {FB_WORD_GO, "", "go\n"},
                {FB_WORD_RECORD, "0 {\"b\": 1}", "record 0 {\"b\": 1}\n"},
                {FB_WORD_UNREAD, "x.h5 is damaged", "unread x.h5 is damaged\n"},
                {FB_WORD_BEGIN, "0 2", "begin 0 2\n"},
                {FB_WORD_END, "0 2", "end 0 2\n"},
                {FB_WORD_DONE, "", "done\n"},
                {FB_WORD_LEAVE, "", "leave\n"},
                {FB_WORD_VARIANT, "mine cpu 7 5 my own", "variant mine cpu 7 5 my own\n"},
                {FB_WORD_REFUSED, "5 no such file", "refused 5 no such file\n"}};

/* The message as it goes over the wire, malloc'd. */
static char *put(enum fb_word word, const char *rest)
{
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    fb_word_put(to, word, "%s", rest);
    fclose(to);
    return text;
}

static void test_word(size_t i)
{
    char *text = put(messages[i].word, messages[i].rest), *rest = NULL;
    tap_is(text, messages[i].line, "written as it is documented");
    text[strcspn(text, "\n")] = '\0';
    tap_is_int(fb_word_take(text, &rest), messages[i].word, "'%s' is read as what it was", text);
    tap_is(rest, messages[i].rest, "... with what follows");
    free(text);
}

/* A word that must stand alone with something behind it, and the other way round. */
static void test_other_rest(size_t i)
{
    char text[64], *rest;
    snprintf(text, sizeof text, "%s", messages[i].line);
    text[strcspn(text, " \n")] = '\0';
    if (!*messages[i].rest)
        strcat(text, " 1");
    tap_is_int(fb_word_take(text, &rest), FB_WORD_NONE, "'%s' is no message", text);
}

static void test_no_words(void)
{
    static const char *const lines[] = {"",      " ",   "don",   "donee", "Done",
                                        " done", "go ", "flood", "record"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[64], *rest;
        snprintf(text, sizeof text, "%s", lines[i]);
        tap_is_int(fb_word_take(text, &rest), FB_WORD_NONE, "'%s' is no message", lines[i]);
    }
}

static void test_group(void)
{
    struct fb_case cases[2] = {{.threads = 2}, {.threads = 2}};
    const size_t todo[] = {1, 0};
    struct fb_measure measure;
    struct fb_group group;
    char *text = NULL;
    size_t length;
    bool end = true;
    FILE *to = open_memstream(&text, &length);
    for (int i = 0; i < 2; i++) {
        cases[i].variant = (char *)(i ? "second" : "first");
        cases[i].problem = (char *)("n=8,d=8");
        cases[i].numerics = (char *)(i ? "dq=bf16" : "dq=fp32");
        cases[i].recipe = (char *)("file:x y.h5@bnhd");
    }
    fb_measure_default(&measure);
    measure.warmup = 7;
    tap_is_int(fb_group_write(to, cases, todo, 2, &measure, true), FB_OK, "a group is written");
    fclose(to);
    FILE *from = fmemopen(text, length, "r");
    if (tap_is_int(fb_group_read(from, &group, &end), FB_OK, "... and read: %s",
                   fb_status_message())) {
        tap_is_int(end, false, "... before the end");
        tap_is_int((long long)group.count, 2, "both cases");
        tap_is(group.variant[0], "second", "in the order of the todo list");
        tap_is(group.numerics[1], "dq=fp32", "with their numerics");
        tap_is(group.recipe, "file:x y.h5@bnhd", "a name with a blank survives");
        tap_is_int(group.measure.warmup, 7, "and what is measured");
        tap_is_int(group.threads + 10 * group.timed, 12, "and how");
        fb_group_free(&group);
    }
    tap_is_int(fb_group_read(from, &group, &end), FB_OK, "then comes the end");
    tap_is_int(end, true, "... and is told");
    fclose(from);
    free(text);
}

int main(void)
{
    tap_is_int(sizeof messages / sizeof *messages, FB_WORD_NONE, "every word has its turn");
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        test_word(i);
        test_other_rest(i);
    }
    test_no_words();
    test_group();
    return tap_done();
}
