/* SPDX-License-Identifier: BSD-3-Clause
 *
 * test_record.c: records as JSON, column by column, in any locale.
 */
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/status.h"
#include "tests/report/make_records.h"
#include "tests/tap.h"

/* There and back. */
static bool survives(const struct fb_record *record)
{
    struct fb_record back;
    char *text = fb_record_to_json(record);
    bool good = text && !strchr(text, '\n') && fb_record_from_json(&back, text) == FB_OK &&
                same_record(record, &back);
    if (text)
        fb_record_free(&back);
    free(text);
    return good;
}

static void test_round_trip(void)
{
    static const struct make_case full = {"cpu-atomic", "bf16", "causal", "bf16", "fp32", 1, 2,
                                          256,          64,     9,        7};
    struct fb_record record;
    fb_record_init(&record);
    tap_ok(survives(&record), "a record with nothing known survives");
    char *text = fb_record_to_json(&record);
    tap_is(text, "{}", "and is {}");
    free(text);
    make_record(&record, &full);
    tap_ok(survives(&record), "a full record survives");
    record.seed = UINT64_MAX - 1;
    record.tensor.dq.max_abs = INFINITY;
    record.tensor.dk.max_abs = -INFINITY;
    record.bwd.samples[3] = NAN;
    record.bwd.samples[4] = 1.5249285751529568e-05;
    record.pairs = INT64_MAX;
    record.window_l = 0;
    record.bwd.joules = 5e-324;
    fb_text_set(&record.reason, "quote \" backslash \\ tab \t line \n end, \xc3\xa4 \x7f");
    struct fb_record back;
    text = fb_record_to_json(&record);
    tap_ok(strstr(text, "null") != NULL, "a sample that is NaN is null");
    tap_ok(!strchr(text, '\n') && !strchr(text, '\t'), "control characters are escaped");
    fb_record_from_json(&back, text);
    tap_ok(isnan(back.bwd.samples[3]), "and reads as NaN");
    back.bwd.samples[3] = record.bwd.samples[3];
    tap_ok(same_record(&record, &back), "extreme values survive");
    free(text);
    fb_record_free(&back);
    fb_record_free(&record);
    tap_ok(!record.key && isnan(record.bwd.ms) && record.b == FB_MISSING_INT && !record.bwd.samples,
           "a freed record is an empty one");
}

static void test_latin1(void)
{
    struct fb_record record, back;
    fb_record_init(&record);
    fb_text_set(&record.reason, "caf\xe9 \xff\xfe \xed\xa0\x80");
    char *text = fb_record_to_json(&record);
    tap_ok(fb_record_from_json(&back, text) == FB_OK, "bytes that are not UTF-8 make valid JSON");
    free(text);
    fb_record_free(&back);
    fb_record_free(&record);
}

static void test_bad_text(void)
{
    static const char *const bad[] = {"",
                                      "[]",
                                      "{",
                                      "null",
                                      "{\"b\":\"two\"}",
                                      "{\"b\":1.5}",
                                      "{\"bwd_ms\":\"fast\"}",
                                      "{\"seed\":7}",
                                      "{\"seed\":\"-1\"}",
                                      "{\"seed\":\"18446744073709551616\"}",
                                      "{\"variant\":3}",
                                      "{\"b\":1,\"b\":2}",
                                      "{\"bwd_ms_samples\":3}",
                                      "{\"bwd_ms_samples\":[1,\"x\"]}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fb_record record;
        fb_status_clear();
        enum fb_status status = fb_record_from_json(&record, bad[i]);
        tap_ok(status == FB_CORRUPT && *fb_status_message(), "'%s' is refused: %s", bad[i],
               fb_status_message());
        fb_record_free(&record);
    }
    struct fb_record record;
    fb_status_clear();
    tap_ok(fb_record_from_json(&record, "{\"of_a_later_day\":[1],\"b\":2,\"h\":null}") == FB_OK &&
               record.b == 2 && record.h == FB_MISSING_INT,
           "unknown members are skipped, null is missing");
    fb_record_free(&record);
}

static void test_table(void)
{
    size_t twins = 0, without = 0;
    for (size_t i = 0; i < fb_column_count; i++) {
        twins += fb_column_find(fb_columns[i].name) != &fb_columns[i];
        without +=
            !*fb_columns[i].text || fb_column_is_text(&fb_columns[i]) == !!*fb_columns[i].unit;
    }
    tap_is_int((long long)twins, 0, "no two of the %zu columns have one name", fb_column_count);
    tap_is_int((long long)without, 0, "every column has a meaning, and a unit unless it is text");
    tap_ok(fb_column_find("dq_rel_l2") && fb_column_find("dq_rel_l2")->family, "dq_rel_l2 exists");
    tap_ok(!fb_column_find("dq"), "dq does not");
    struct fb_record record;
    fb_record_init(&record);
    tap_ok(fb_record_tensor(&record, "dsink") == &record.tensor.dsink &&
               !fb_record_tensor(&record, "p"),
           "tensors are found by name");
}

static void test_numbers(void)
{
    char text[FB_REAL_TEXT];
    size_t wrong = 0;
    uint64_t bits = 88172645463325252u;
    for (int i = 0; i < 200000; i++) {
        double value;
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        memcpy(&value, &bits, sizeof value);
        if (isnan(value) || isinf(value))
            continue;
        fb_real_print(value, text);
        double back = strtod(text, NULL);
        wrong += memcmp(&back, &value, sizeof value) != 0;
    }
    tap_is_int((long long)wrong, 0, "200000 random doubles print and read back to the same bits");
    fb_real_print(0.1, text);
    tap_is(text, "0.1", "0.1 prints as %s", text);
    fb_real_print(-0.0, text);
    tap_is(text, "-0", "-0 prints as %s", text);
}

static void test_locale(void)
{
    struct fb_record record;
    make_numbered(&record, 5, 9);
    char *before = fb_record_to_json(&record);
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) {
        tap_skip("the locale de_DE.UTF-8 is not installed");
    } else {
        char *after = fb_record_to_json(&record);
        tap_is(before, after, "the same bytes under de_DE.UTF-8");
        tap_ok(survives(&record), "and they read back there");
        free(after);
        setlocale(LC_ALL, "C");
    }
    free(before);
    fb_record_free(&record);
}

int main(void)
{
    test_round_trip();
    test_latin1();
    test_bad_text();
    test_table();
    test_numbers();
    test_locale();
    return tap_done();
}
