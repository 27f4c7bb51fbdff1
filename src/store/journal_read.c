/* SPDX-License-Identifier: BSD-3-Clause
 *
 * journal_read.c: a journal's text as results, up to its first damaged line.
 */
#include "store/journal_read.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "store/crc.h"
#include "store/files.h"

/* Length of the intact line at `text`, its LF included; 0 if it is torn or damaged. The checksum is
 * compared as text, so that a flipped bit in it is seen whatever number it still spells. */
static size_t intact_line(const char *text, size_t length)
{
    const char *end = memchr(text, '\n', length);
    char expected[10];
    size_t line = end ? (size_t)(end - text) : 0;
    if (line < 11)
        return 0;
    snprintf(expected, sizeof expected, "%08x ", fb_crc32(text + 9, line - 9));
    return memcmp(text, expected, 9) ? 0 : line + 1;
}

static enum fb_status take_entry(struct fb_results *results, const json_t *entry)
{
    const json_t *run_object = json_object_get(entry, "run");
    struct fb_record record;
    struct fb_run run;
    if (run_object) {
        enum fb_status status = fb_run_parse(&run, run_object);
        if (status == FB_OK)
            status = fb_results_add_run(results, &run);
        fb_run_free(&run);
        return status;
    }
    if (!results->run_count)
        return fb_fail(FB_CORRUPT, "not a journal of flashback");
    enum fb_status status = fb_record_parse(&record, json_object_get(entry, "case"));
    record.run = (int64_t)results->run_count - 1;
    if (status == FB_OK && !*fb_text(record.key))
        status = fb_fail(FB_CORRUPT, "a case without its key");
    if (status == FB_OK)
        status = fb_results_add(results, &record);
    fb_record_free(&record);
    return status;
}

static enum fb_status take_line(struct fb_results *results, const char *text, size_t line)
{
    json_t *entry = json_loadb(text + 9, line - 10, JSON_REJECT_DUPLICATES, NULL);
    enum fb_status status = take_entry(results, entry);
    json_decref(entry);
    return status;
}

/* Does an intact line follow somewhere after the damage at `at`? Then it is no torn tail. */
static bool intact_after(const char *text, size_t at, size_t length)
{
    const char *end;
    while ((end = memchr(text + at, '\n', length - at))) {
        at = (size_t)(end - text) + 1;
        if (intact_line(text + at, length - at))
            return true;
    }
    return false;
}

/* The start of a first line that was never finished: fewer bytes than a line, all of them right. */
static bool torn_first_line(const char *text, size_t length)
{
    static const char start[] = "{\"run\":{";
    size_t body = length > 9 ? length - 9 : 0;
    for (size_t i = 0; i < length && i < 8; i++)
        if (!strchr("0123456789abcdef", text[i]))
            return false;
    if (length > 8 && text[8] != ' ')
        return false;
    if (body > sizeof start - 1)
        body = sizeof start - 1;
    return (!body || !memcmp(text + 9, start, body)) && !memchr(text, '\n', length);
}

enum fb_status fb_journal_scan(struct fb_journal_scan *scan, const char *text, size_t length,
                               const char *path)
{
    size_t lines = 0, line;
    scan->good = 0;
    while (scan->good < length &&
           (line = intact_line(text + scan->good, length - scan->good)) != 0) {
        enum fb_status status = take_line(&scan->results, text + scan->good, line);
        if (status == FB_CORRUPT) {
            char *why = strdup(fb_status_message());
            fb_status_clear();
            fb_fail(FB_CORRUPT, "%s, line %zu: %s", path, lines + 1, fb_text(why));
            free(why);
        }
        if (status != FB_OK)
            return fb_status_pass(__FILE__, __LINE__, status);
        scan->good += line;
        lines++;
    }
    if (scan->good == length)
        return FB_OK;
    if (!lines && !torn_first_line(text, length))
        return fb_fail(FB_CORRUPT, "%s is neither an HDF5 file nor a journal of flashback", path);
    scan->torn_tail = !intact_after(text, scan->good, length);
    scan->results.cut_short = !scan->torn_tail;
    return fb_text_set(&scan->results.damage, "%s: line %zu is %s; intact records before it: %zu",
                       path, lines + 1, scan->torn_tail ? "torn off" : "damaged",
                       scan->results.record_count);
}

enum fb_status fb_journal_read(struct fb_results *results, const char *path)
{
    struct fb_journal_scan scan = {0};
    char *text;
    size_t length;
    fb_results_init(results);
    FB_TRY(fb_file_read(path, &text, &length));
    enum fb_status status = fb_journal_scan(&scan, text, length, path);
    free(text);
    if (status == FB_OK && !scan.results.run_count)
        status = fb_fail(FB_CORRUPT, "%s is empty: neither an HDF5 file nor a journal", path);
    if (status == FB_OK)
        *results = scan.results;
    else
        fb_results_free(&scan.results);
    return status;
}
