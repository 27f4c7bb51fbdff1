/* SPDX-License-Identifier: BSD-3-Clause
 *
 * test_table.c: tables say what the records hold, in every format, and export does.
 */
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <string.h>

#include "core/status.h"
#include "report/export.h"
#include "report/table.h"
#include "store/columns.h"
#include "tests/capture.h"
#include "tests/report/make_records.h"
#include "tests/tap.h"

static char *print(const struct fb_results *results, enum fb_table_kind kind, enum fb_format format)
{
    struct capture capture;
    fb_status_clear();
    capture_begin(&capture);
    const enum fb_status status = fb_table_print(results, kind, format, NULL);
    char *text = capture_end(&capture);
    if (status != FB_OK)
        tap_note("%s", fb_status_message());
    return text;
}

/* The line after `from` that holds all of the words; NULL if there is none. */
static const char *find_line(const char *from, const char *a, const char *b)
{
    static char line[1024];
    for (size_t length; *from; from += length + (from[length] != '\0')) {
        length = strcspn(from, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, from);
        if (strstr(line, a) && strstr(line, b))
            return line;
    }
    return NULL;
}

/* Field `number` (from 0) of a line of CSV without quotes in front of it. */
static const char *field(const char *line, int number, char separator)
{
    static char text[256];
    bool quoted = false;
    size_t length = 0;
    for (; *line && (*line != '\n' || quoted); line++) {
        quoted ^= *line == '"';
        if (*line == separator && !quoted)
            number--;
        else if (number == 0 && length + 1 < sizeof text)
            text[length++] = *line;
    }
    text[length] = '\0';
    return text;
}

static size_t fields(const char *line, char separator)
{
    bool quoted = false;
    size_t count = 1;
    for (; *line && (*line != '\n' || quoted); line++) {
        quoted ^= *line == '"';
        count += *line == separator && !quoted;
    }
    return count;
}

/* Do all lines have as many fields as the first? */
static bool even(const char *text, char separator, size_t wanted)
{
    while (*text) {
        if (fields(text, separator) != wanted)
            return false;
        bool quoted = false;
        while (*text && (*text != '\n' || quoted))
            quoted ^= *text++ == '"';
        text += *text == '\n';
    }
    return true;
}

static void test_speed(const struct fb_results *all)
{
    char *text = print(all, FB_TABLE_SPEED, FB_FORMAT_TEXT);
    char *csv = print(all, FB_TABLE_SPEED, FB_FORMAT_CSV);
    tap_ok(find_line(text, "cpu-naive ", "1.00x") != NULL, "the baseline is 1.00x of itself");
    tap_ok(find_line(text, "cpu-naive", "refused [1]") && strstr(text, "[1] needs 2.1 GB"),
           "a refused case stands with its reason below");
    const char *line = find_line(csv, "n=4096 d=64 fp32 full", "cpu-naive");
    tap_ok(line && !*field(line, 2, ',') && !*field(line, 8, ','),
           "and its numbers are empty, not 0");
    tap_ok(even(csv, ',', fields(csv, ',')), "every line of CSV has all fields");
    const struct fb_record *r = &all->records[1];
    line = find_line(csv, "n=256 d=64 fp32 full", "cpu-atomic");
    tap_ok(line && strtod(field(line, 2, ','), NULL) == r->bwd.ms &&
               strtod(field(line, 5, ','), NULL) == r->bwd.tflops * 1000,
           "CSV has the very numbers of the record");
    free(text);
    free(csv);
}

static void test_flags(void)
{
    struct fb_results results;
    make_results(&results, "speed");
    results.records[1].bwd.ceiling_pct = 130;
    results.records[2].fwd.ms = results.records[2].bwd.ms / 5;
    char *text = print(&results, FB_TABLE_SPEED, FB_FORMAT_TEXT);
    tap_ok(find_line(text, "cpu-atomic", "130.0!") && strstr(text, "faster than the GEMM itself"),
           "a rate above the ceiling is flagged");
    tap_ok(find_line(text, "cpu-split", "5.00!") && strstr(text, "slower than 4 forwards"),
           "so is a backward that takes five forwards");
    free(text);
    results.records[2].tensor.dq.deterministic = 0;
    text = print(&results, FB_TABLE_DETERMINISM, FB_FORMAT_TEXT);
    tap_ok(find_line(text, "cpu-split", "dq+dk+dv!") && strstr(text, "bits differ"),
           "and a claim that the bits deny");
    free(text);
    fb_results_free(&results);
}

static void test_joules(const struct fb_results *all)
{
    struct fb_results results;
    char *text = print(all, FB_TABLE_SPEED, FB_FORMAT_CSV);
    tap_ok(!strstr(text, ",J,"), "no energy, no column for it");
    free(text);
    make_results(&results, "speed");
    results.records[1].bwd.joules = 2.5;
    text = print(&results, FB_TABLE_SPEED, FB_FORMAT_CSV);
    const char *line = find_line(text, "n=256 d=64 fp32 full", "cpu-atomic");
    tap_ok(strstr(text, "relative,J,check") && line && strtod(field(line, 10, ','), NULL) == 2.5 &&
               even(text, ',', fields(text, ',')),
           "the joules of a call have a column where one has any");
    free(text);
    fb_results_free(&results);
}

/* Of the second problem the last variant comes first, as after a run that was cut off. */
static void test_order(void)
{
    struct fb_results results;
    make_results(&results, "speed");
    char *before = print(&results, FB_TABLE_SPEED, FB_FORMAT_TEXT);
    const struct fb_record last = results.records[9];
    memmove(&results.records[6], &results.records[5], 4 * sizeof last);
    results.records[5] = last;
    char *after = print(&results, FB_TABLE_SPEED, FB_FORMAT_TEXT);
    tap_ok(!strcmp(last.variant, "cpu-partials") && !strcmp(before, after),
           "all problems have the variants in one order");
    free(after);
    /* What a group refuses is written ahead of the rest of it. */
    struct fb_record first = results.records[4];
    memmove(&results.records[1], &results.records[0], 4 * sizeof first);
    results.records[0] = first;
    results.records[0].outcome = FB_OUTCOME_REFUSED;
    results.records[0].bwd.ms = NAN;
    after = print(&results, FB_TABLE_SPEED, FB_FORMAT_CSV);
    const char *naive = strstr(after, "n=512 d=64 fp32 full,cpu-naive");
    const char *partials = strstr(after, "n=512 d=64 fp32 full,cpu-partials");
    tap_ok(naive && partials && naive < partials, "a refusal that comes first puts nobody first");
    free(before);
    free(after);
    fb_results_free(&results);
}

/* Threads of the host tell times of the CPU apart, and those of a device not. */
static void test_threads(void)
{
    static const char *const backends[] = {"sm90", "torch", "cpu"};
    struct fb_results results;
    make_results(&results, "speed");
    for (int i = 0; i < 3; i++) {
        for (size_t n = 0; n < results.record_count; n++) {
            struct fb_record *r = &results.records[n];
            r->threads = i == 1 && n % 2 ? FB_MISSING_INT : n % 2 ? 16 : 2;
            if (fb_text_set(&r->backend, "%s", backends[i]) != FB_OK)
                tap_ok(false, "%s", fb_status_message());
        }
        char *text = print(&results, FB_TABLE_SPEED, FB_FORMAT_TEXT);
        tap_ok(!strstr(text, "threads=") == (i < 2), "%s: groups by threads: %s", backends[i],
               i < 2 ? "no" : "yes");
        free(text);
    }
    for (int device = 0; device < 2; device++) { /* the first record, or the second, is of one */
        for (size_t n = 0; n < results.record_count; n++) {
            results.records[n].threads = n == (size_t)device ? 16 : 2;
            if (fb_text_set(&results.records[n].backend, "%s",
                            n == (size_t)device ? "sm90" : "cpu") != FB_OK)
                tap_ok(false, "%s", fb_status_message());
        }
        char *text = print(&results, FB_TABLE_SPEED, FB_FORMAT_TEXT);
        tap_ok(!strstr(text, "threads="), "record %d of a device, the others of 2 threads", device);
        free(text);
    }
    fb_results_free(&results);
}

/* The lecture's table: P per head in bf16 against O: 16, 64 and 256 times. */
static void test_memory(void)
{
    static const int64_t lengths[] = {2048, 8192, 32768};
    struct fb_results results;
    make_results(&results, "memory");
    for (size_t i = 0; i < 3; i++) {
        char n[32], over_o[32];
        struct fb_record record;
        struct make_case one = {"cpu-naive", "bf16",     "full", "fp32", "fp32", 1,
                                1,           lengths[i], 128,    0,      2};
        make_record(&record, &one);
        record.run = 0;
        snprintf(n, sizeof n, "n=%lld ", (long long)lengths[i]);
        snprintf(over_o, sizeof over_o, "%lld.0x", (long long)lengths[i] / 128);
        fb_results_add(&results, &record);
        char *text = print(&results, FB_TABLE_MEMORY, FB_FORMAT_TEXT);
        const char *group = strstr(text, n);
        tap_ok(group && find_line(group, "cpu-naive ", over_o), "P takes %s the bytes of O at %s",
               over_o, n);
        free(text);
    }
    char *text = print(&results, FB_TABLE_MEMORY, FB_FORMAT_TEXT);
    tap_ok(find_line(text, "8.39 MB", "541 kB") != NULL, "8.39 MB against 541 kB at n=2048");
    tap_ok(find_line(text, "2.15 GB", "8.65 MB") != NULL, "2.15 GB against 8.65 MB at n=32768");
    free(text);
    fb_results_free(&results);
}

static void test_error_and_determinism(const struct fb_results *all)
{
    char *text = print(all, FB_TABLE_ERROR, FB_FORMAT_CSV);
    const char *line = find_line(text, "cpu-split dkv=bf16 dq=bf16", ",dq,");
    tap_ok(line && strtod(field(line, 4, ','), NULL) > 1e-3, "error: numerics stand in the name");
    tap_ok(even(text, ',', fields(text, ',')), "every line of CSV has all fields");
    free(text);
    text = print(all, FB_TABLE_DETERMINISM, FB_FORMAT_TEXT);
    tap_ok(find_line(text, "cpu-atomic", "no   yes  yes") != NULL,
           "determinism: dq no, dk and dv yes");
    tap_ok(find_line(text, "cpu-atomic", "+0%") != NULL, "the free variant is the price's zero");
    free(text);
}

static void test_formats(const struct fb_results *all)
{
    char *text = print(all, FB_TABLE_ALL, FB_FORMAT_MD);
    size_t bars = 0, tables = 0;
    for (const char *at = text; (at = strstr(at, "|---")); at++)
        bars++;
    for (const char *at = text; (at = strstr(at, "\n\n| problem")); at++)
        tables++;
    tap_ok(tables == 4 && bars > 4, "Markdown holds four tables");
    free(text);
    text = print(all, FB_TABLE_ALL, FB_FORMAT_TEX);
    tap_ok(strstr(text, "\\% of GEMM") && strstr(text, "\\begin{tabular}{lrrrr"),
           "LaTeX is escaped");
    free(text);
    enum fb_format format;
    enum fb_table_kind kind;
    fb_status_clear();
    tap_ok(fb_format_parse(&format, "html") == FB_USAGE, "%s", fb_status_message());
    fb_status_clear();
    tap_ok(fb_table_kind_parse(&kind, "fast") == FB_USAGE, "%s", fb_status_message());
    fb_status_clear();
    tap_is_int(fb_table_print(all, FB_TABLE_ALL, FB_FORMAT_TEXT, "cpu-none"), FB_USAGE, "%s",
               fb_status_message());
}

static void test_nothing(void)
{
    struct fb_results none;
    fb_results_init(&none);
    char *text = print(&none, FB_TABLE_ALL, FB_FORMAT_TEXT);
    tap_is(text, "No record in this file has numbers.\n", "no records: %s", text);
    free(text);
    text = print(&none, FB_TABLE_SPEED, FB_FORMAT_CSV);
    tap_ok(fields(text, ',') > 5 && even(text, ',', fields(text, ',')),
           "CSV then has its heads only");
    free(text);
}

/* Of five cases two failed, one crashed and two were refused, one of them with the first reason. */
static void test_fates(void)
{
    static const int outcomes[] = {FB_OUTCOME_REFUSED, FB_OUTCOME_CRASHED, FB_OUTCOME_FAIL,
                                   FB_OUTCOME_REFUSED, FB_OUTCOME_FAIL};
    static const char fates[] = ": of 5 cases 2 failed the check, 1 crashed, 2 refused; the first "
                                "reason: reason 2;";
    struct fb_results results;
    fb_results_init(&results);
    for (size_t i = 0; i < 5; i++) {
        struct fb_record record;
        fb_record_init(&record);
        fb_text_set(&record.key, "case %zu", i);
        fb_text_set(&record.variant, "cpu-split");
        record.outcome = outcomes[i];
        fb_text_set(&record.reason, "reason %zu", i);
        fb_results_add(&results, &record);
    }
    char *text = print(&results, FB_TABLE_ALL, FB_FORMAT_TEXT);
    tap_ok(strstr(text, fates) && strchr(text, '\n') == text + strlen(text) - 1,
           "a file without numbers says why in one line: %s", text);
    free(text);
    for (int kind = FB_TABLE_SPEED; kind <= FB_TABLE_DETERMINISM; kind++) {
        text = print(&results, (enum fb_table_kind)kind, FB_FORMAT_TEXT);
        tap_ok(strstr(text, fates) != NULL, "... for each kind of table");
        free(text);
    }
    fb_results_free(&results);
}

static char *export(const struct fb_results *results, enum fb_export_kind kind)
{
    struct capture capture;
    capture_begin(&capture);
    fb_export(results, kind);
    return capture_end(&capture);
}

static void test_export(const struct fb_results *all)
{
    char *text = export(all, FB_EXPORT_RECORDS);
    tap_ok(fields(text, ' ') == fb_column_count && even(text, ' ', fb_column_count),
           "every record has all %zu columns", fb_column_count);
    const int at = (int)(fb_column_find("bwd_ms") - fb_columns);
    const char *second = strchr(strchr(text, '\n') + 1, '\n') + 1;
    tap_ok(strtod(field(second, at, ' '), NULL) == all->records[1].bwd.ms, "with its very numbers");
    free(text);
    text = export(all, FB_EXPORT_SAMPLES);
    size_t lines = 0, samples = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    for (size_t i = 0; i < all->record_count; i++)
        samples += all->records[i].bwd.sample_count + all->records[i].fwd.sample_count;
    tap_ok(lines == samples + 1, "a line for each of %zu samples", samples);
    free(text);
    text = export(all, FB_EXPORT_RUN);
    tap_ok(find_line(text, "0 host", "synthetic") && even(text, ' ', 3), "facts of the run");
    free(text);
    text = export(all, FB_EXPORT_COLUMNS);
    tap_ok(find_line(text, "dq_rel_l2", "float64") && even(text, ' ', 4), "meanings of columns");
    free(text);
}

static void test_locale(const struct fb_results *all)
{
    char *before = print(all, FB_TABLE_ALL, FB_FORMAT_CSV);
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) {
        tap_skip("the locale de_DE.UTF-8 is not installed");
    } else {
        char *after = print(all, FB_TABLE_ALL, FB_FORMAT_CSV);
        tap_is(before, after, "the same bytes under de_DE.UTF-8");
        free(after);
        setlocale(LC_ALL, "C");
    }
    free(before);
}

static void test_full_disk(const struct fb_results *all)
{
    int full = open("/dev/full", O_WRONLY), saved = dup(1);
    if (full < 0) {
        tap_skip("/dev/full is not here");
        return;
    }
    fflush(stdout);
    dup2(full, 1);
    fb_status_clear();
    enum fb_status status = fb_table_print(all, FB_TABLE_SPEED, FB_FORMAT_TEXT, NULL);
    dup2(saved, 1);
    clearerr(stdout);
    tap_is_int(status, FB_IO, "stdout full: %s", fb_status_message());
    close(full);
    close(saved);
}

int main(void)
{
    struct fb_results all;
    make_results(&all, "all");
    test_speed(&all);
    test_flags();
    test_joules(&all);
    test_order();
    test_threads();
    test_memory();
    test_error_and_determinism(&all);
    test_formats(&all);
    test_nothing();
    test_fates();
    test_export(&all);
    test_locale(&all);
    test_full_disk(&all);
    fb_results_free(&all);
    return tap_done();
}
