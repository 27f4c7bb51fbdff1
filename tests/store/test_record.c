/* SPDX-License-Identifier: BSD-3-Clause
 *
 * test_record.c: records as JSON, column by column, in any locale.
 */
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/numerics.h"
#include "core/problem.h"
#include "core/status.h"
#include "store/columns.h"
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
                                      "{\"mask\":1}",
                                      "{\"mask\":\"casual\"}",
                                      "{\"outcome\":\"done\"}",
                                      "{\"status\":\"asleep\"}",
                                      "{\"dq_verdict\":\"refused\"}",
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

/* The value of an item of numerics, as the language reads the name. */
static int language_value(const char *item, const char *name)
{
    struct fb_numerics n;
    char text[64];
    snprintf(text, sizeof text, "%s=%s", item, name);
    if (fb_numerics_parse(&n, text) != FB_OK)
        return FB_MISSING_ENUM;
    return !strcmp(item, "dkv")     ? (int)n.dkv
           : !strcmp(item, "ps")    ? (int)n.ps
           : !strcmp(item, "delta") ? (int)n.delta
           : !strcmp(item, "lse")   ? (int)n.lse
                                    : (int)n.round;
}

/* Lists of which the constants are flashback.h's have the names of the languages of problems and
 * numerics, all of them. */
static void test_names(void)
{
    static const struct {
        const char *item;
        const struct fb_value *values;
        int count;
    } lists[] = {{"dkv", fb_values_acc, 8},
                 {"ps", fb_values_ps, 2},
                 {"delta", fb_values_delta, 3},
                 {"lse", fb_values_lse, 2},
                 {"round", fb_values_round, 2}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        int count = 0;
        for (const struct fb_value *v = lists[i].values; v->name; v++, count++)
            tap_is_int(language_value(lists[i].item, v->name), v->value, "%s=%s", lists[i].item,
                       v->name);
        tap_is_int(count, lists[i].count, "all of %s=", lists[i].item);
    }
    for (int i = FB_FP32; i <= FB_FP16; i++)
        tap_is(fb_value_name(fb_values_dtype, i), fb_dtype_name((enum fb_dtype)i), "dtype %d", i);
    for (int i = FB_MASK_FULL; i <= FB_MASK_CAUSAL_TOPLEFT; i++)
        tap_is(fb_value_name(fb_values_mask, i), fb_mask_name((enum fb_mask)i), "mask %d", i);
}

/* Every name of every list there and back; and what is missing, unknown, or of no bit. */
static void test_values(void)
{
    size_t wrong = 0;
    char room[FB_SET_TEXT];
    struct fb_record record;
    fb_record_init(&record);
    for (size_t i = 0; i < fb_column_count; i++)
        for (const struct fb_value *v = fb_columns[i].values; v && v->name; v++) {
            fb_column_take(&fb_columns[i], &record, v->name);
            wrong += strcmp(fb_column_text(&fb_columns[i], &record, room), v->name) != 0;
        }
    tap_is_int((long long)wrong, 0, "all names of all columns survive");
    const struct fb_column *claim = fb_column_find("det_claim");
    record.det_claim = FB_DET_DQ | FB_DET_DV;
    tap_is(fb_column_text(claim, &record, room), "dq+dv", "bits are joined");
    tap_is_int(fb_column_take(claim, &record, "dv+dk"), FB_OK, "in any order");
    tap_is_int(record.det_claim, FB_DET_DK | FB_DET_DV, "and are read");
    fb_column_take(claim, &record, "none");
    tap_is_int(record.det_claim, 0, "none is no bit");
    record.det_claim = FB_MISSING_ENUM;
    tap_is(fb_column_text(claim, &record, room), "", "which is not the same as missing");
    static const char *const bad[] = {"dq+", "+dq", "dq++dk", "dq+none", "DQ", "+"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fb_status_clear();
        tap_ok(fb_column_take(claim, &record, bad[i]) == FB_CORRUPT && record.det_claim == -1 &&
                   strstr(fb_status_message(), "det_claim"),
               "'%s' is refused: %s", bad[i], fb_status_message());
    }
    fb_record_free(&record);
}

/* Of schema 1: status and verdict, in either order. */
static void test_old(void)
{
    static const struct {
        const char *status, *verdict;
        int outcome;
    } old[] = {{"done", "pass", FB_OUTCOME_PASS},
               {"done", "not-checkable", FB_OUTCOME_NOT_CHECKABLE},
               {"done", "", FB_OUTCOME_UNJUDGED},
               {"refused", "refused", FB_OUTCOME_REFUSED},
               {"crashed", "crashed", FB_OUTCOME_CRASHED},
               {"deadline", "", FB_OUTCOME_HUNG},
               {"error", "", FB_OUTCOME_CRASHED},
               {"", "fail", FB_OUTCOME_FAIL},
               {"", "", FB_MISSING_ENUM}};
    for (size_t i = 0; i < 2 * sizeof old / sizeof *old; i++) {
        struct fb_record record;
        char text[160];
        const char *status = old[i / 2].status, *verdict = old[i / 2].verdict;
        snprintf(text, sizeof text, "{\"%s\":\"%s\",\"n_samples\":7,\"%s\":\"%s\"}",
                 i % 2 ? "verdict" : "status", i % 2 ? verdict : status,
                 i % 2 ? "status" : "verdict", i % 2 ? status : verdict);
        fb_status_clear();
        if (tap_is_int(fb_record_from_json(&record, text), FB_OK, "%s", text))
            tap_is_int(record.outcome, old[i / 2].outcome, "... is '%s'",
                       fb_value_name(fb_values_outcome, old[i / 2].outcome));
        tap_is_int(record.bwd.n_samples, 7, "... and n_samples is the backward's");
        fb_record_free(&record);
    }
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
    test_names();
    test_values();
    test_old();
    test_numbers();
    test_locale();
    return tap_done();
}
