/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/check_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/protocol.h"
#include "core/json.h"
#include "core/numerics.h"
#include "core/status.h"
#include "run/provenance.h"
#include "store/columns.h"
#include "store/files.h"

/* What the report says after its cases. */
struct fb_check_skip {
    char *variant, *problem, *numerics, *recipe, *reason;
};

struct fb_check_golden {
    char group[64];
    double ratio;
    bool passed;
};

struct fb_check_report {
    const struct fb_check_options *options;
    struct fb_json json;
    struct fb_check_skip *skips;
    struct fb_check_golden *goldens;
    size_t rows, skip_count, golden_count;
    double begun;
    bool weak;         /* equal bits were seen where none could be expected to differ */
    char problem[256]; /* of the row before */
};

static void begin_json(struct fb_check_report *report, const struct fb_run *facts)
{
    struct fb_json *json = &report->json;
    fb_json_begin(json, NULL, '{');
    fb_json_string(json, "report", "flashback check");
    fb_json_int(json, "format", 1);
    fb_json_begin(json, "run", '{');
    for (size_t i = 0; i < facts->fact_count; i++)
        fb_json_string(json, facts->facts[i].name, facts->facts[i].value);
    fb_json_end(json);
    fb_json_begin(json, "cases", '[');
}

enum fb_status fb_check_report_open(struct fb_check_report **out,
                                    const struct fb_check_options *options)
{
    const struct fb_run_options command = {
        .output = options->json, .argc = options->argc, .argv = options->argv};
    struct fb_check_report *report = calloc(1, sizeof *report);
    struct fb_run facts;
    enum fb_status status;
    if (!report)
        return fb_fail(FB_NO_MEMORY, "no memory for a report");
    report->options = options;
    report->begun = (double)fb_clock_ns();
    fb_json_init(&report->json);
    fb_run_init(&facts);
    if (options->json)
        FB_TRY_OUT(fb_file_probe(options->json));
    FB_TRY_OUT(fb_facts_collect(&facts, &command, NULL));
    begin_json(report, &facts);
    *out = report;
out:
    fb_run_free(&facts);
    if (status != FB_OK)
        fb_check_report_close(report);
    return status;
}

/* A bound ratio in six columns; "-" where nothing was compared. */
static void print_ratio(double ratio)
{
    if (isnan(ratio))
        printf(" %6s", "-");
    else if (ratio < 1000)
        printf(" %6.3f", ratio);
    else
        printf(" %6.0e", ratio);
}

static void print_heading(struct fb_check_report *report, const struct fb_record *record)
{
    char heading[sizeof report->problem];
    snprintf(heading, sizeof heading, "%s  %s", fb_text(record->problem), fb_text(record->recipe));
    if (!strcmp(heading, report->problem))
        return;
    memcpy(report->problem, heading, sizeof heading);
    printf("\n%s\n  %-22s %-13s %6s %6s %6s %6s  %-5s %-10s %-5s\n", heading, "variant", "verdict",
           "o", "dq", "dk", "dv", "bands", "same bits", "batch");
}

/* "10 of 10", with a mark where that proves little; then whether the batch matters. */
static void print_determinism(struct fb_check_report *report, const struct fb_record *record)
{
    char text[48] = "-";
    bool equal = record->det_equal == record->det_runs;
    bool weak = equal && record->det_control != FB_CONTROL_VARIED;
    if (record->det_runs > 0) {
        snprintf(text, sizeof text, "%lld of %lld%s", (long long)record->det_equal,
                 (long long)record->det_runs, weak ? "*" : "");
        report->weak |= weak;
    }
    printf(" %-10s %-5s", text,
           record->batch_invariant == 1   ? "yes"
           : record->batch_invariant == 0 ? "no"
                                          : "-");
}

static void print_row(struct fb_check_report *report, const struct fb_record *record)
{
    struct fb_numerics numerics;
    print_heading(report, record);
    printf("  %-22s %-13s", fb_text(record->variant), fb_record_word(record));
    if (fb_record_done(record)) {
        print_ratio(record->tensor.o.bound_ratio);
        print_ratio(record->tensor.dq.bound_ratio);
        print_ratio(record->tensor.dk.bound_ratio);
        print_ratio(record->tensor.dv.bound_ratio);
        printf("  %-5s", fb_value_name(fb_values_band, record->verdict_bands));
        print_determinism(report, record);
    }
    if (fb_numerics_parse(&numerics, fb_text(record->numerics)) == FB_OK &&
        !fb_numerics_is_standard(&numerics))
        printf("  %s", record->numerics);
    if (*fb_text(record->reason))
        printf("  %s", record->reason);
    if (*fb_text(record->remark))
        printf("  (%s)", record->remark);
    putchar('\n');
    fflush(stdout);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Every column of every case, null where there is no value: a reader can rely on the keys. */
static void write_column(struct fb_json *json, const struct fb_column *c,
                         const struct fb_record *record)
{
    char room[FB_SET_TEXT];
    if (fb_column_missing(c, record))
        fb_json_null(json, c->name);
    else if (fb_column_is_text(c))
        fb_json_string(json, c->name, fb_column_text(c, record, room));
    else if (c->kind == FB_KIND_INT)
        fb_json_int(json, c->name, fb_column_int(c, record));
    else if (c->kind == FB_KIND_UINT)
        fb_json_uint(json, c->name, fb_column_uint(c, record));
    else
        fb_json_real(json, c->name, fb_column_real(c, record));
}

static enum fb_status keep_skip(struct fb_check_report *report, const struct fb_record *record)
{
    struct fb_check_skip *grown =
        realloc(report->skips, (report->skip_count + 1) * sizeof *report->skips);
    if (!grown)
        return fb_fail(FB_NO_MEMORY, "no memory for a report");
    report->skips = grown;
    struct fb_check_skip *skip = &grown[report->skip_count++];
    *skip = (struct fb_check_skip){0};
    FB_TRY(fb_text_set(&skip->variant, "%s", fb_text(record->variant)));
    FB_TRY(fb_text_set(&skip->problem, "%s", fb_text(record->problem)));
    FB_TRY(fb_text_set(&skip->numerics, "%s", fb_text(record->numerics)));
    FB_TRY(fb_text_set(&skip->recipe, "%s", fb_text(record->recipe)));
    return fb_text_set(&skip->reason, "%s", fb_text(record->reason));
}

static enum fb_status write_row(struct fb_check_report *report, const struct fb_record *record)
{
    fb_json_begin(&report->json, NULL, '{');
    for (size_t i = 0; i < fb_column_count; i++)
        write_column(&report->json, &fb_columns[i], record);
    fb_json_end(&report->json);
    return record->outcome == FB_OUTCOME_REFUSED ? keep_skip(report, record) : FB_OK;
}

static void write_skips(struct fb_check_report *report)
{
    struct fb_json *json = &report->json;
    fb_json_begin(json, "skipped", '[');
    for (size_t i = 0; i < report->skip_count; i++) {
        const struct fb_check_skip *skip = &report->skips[i];
        fb_json_begin(json, NULL, '{');
        fb_json_string(json, "variant", skip->variant);
        fb_json_string(json, "problem", skip->problem);
        fb_json_string(json, "numerics", skip->numerics);
        fb_json_string(json, "recipe", skip->recipe);
        fb_json_string(json, "reason", skip->reason);
        fb_json_end(json);
    }
    fb_json_end(json);
}

static void write_goldens(struct fb_check_report *report)
{
    struct fb_json *json = &report->json;
    fb_json_begin(json, "reference", '[');
    for (size_t i = 0; i < report->golden_count; i++) {
        fb_json_begin(json, NULL, '{');
        fb_json_string(json, "group", report->goldens[i].group);
        fb_json_real(json, "ratio", report->goldens[i].ratio);
        fb_json_bool(json, "passed", report->goldens[i].passed);
        fb_json_end(json);
    }
    fb_json_end(json);
}

static void write_summary(struct fb_check_report *report, const struct fb_tally *tally,
                          bool complete)
{
    struct fb_json *json = &report->json;
    fb_json_begin(json, "summary", '{');
    fb_json_bool(json, "complete", complete);
    fb_json_int(json, "passed", (int64_t)tally->count[FB_OUTCOME_PASS]);
    fb_json_int(json, "failed", (int64_t)tally->count[FB_OUTCOME_FAIL]);
    fb_json_int(json, "crashed", (int64_t)tally->count[FB_OUTCOME_CRASHED]);
    fb_json_int(json, "hung", (int64_t)tally->count[FB_OUTCOME_HUNG]);
    fb_json_int(json, "not_checkable", (int64_t)tally->count[FB_OUTCOME_NOT_CHECKABLE]);
    fb_json_int(json, "refused", (int64_t)tally->count[FB_OUTCOME_REFUSED]);
    fb_json_real(json, "seconds", ((double)fb_clock_ns() - report->begun) * 1e-9);
    fb_json_end(json);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

enum fb_status fb_check_report_row(struct fb_check_report *report, const struct fb_record *record)
{
    if (!report->rows++)
        puts("Errors in units of the bound each element is allowed: above 1 fails. Bands: fixed\n"
             "tolerances, for comparison alone.");
    print_row(report, record);
    return report->options->json ? write_row(report, record) : FB_OK;
}

void fb_check_report_reference(struct fb_check_report *report, const char *group, double ratio,
                               bool passed)
{
    struct fb_check_golden *grown =
        realloc(report->goldens, (report->golden_count + 1) * sizeof *grown);
    if (grown) { /* the report lacks a line otherwise; the verdict stands */
        report->goldens = grown;
        struct fb_check_golden *one = &grown[report->golden_count++];
        *one = (struct fb_check_golden){.ratio = ratio, .passed = passed};
        snprintf(one->group, sizeof one->group, "%s", group);
    }
    printf("reference on %-24s %s, %.1e of the tolerance\n", group, passed ? "pass" : "FAIL",
           ratio);
}

void fb_check_report_end(const struct fb_check_report *report)
{
    if (report->rows)
        putchar('\n');
    if (report->weak)
        puts("* no variation observed in a control that adds in any order either (or too few\n"
             "  elements and tiles to expect one): equal bits prove little here");
}

enum fb_status fb_check_report_save(struct fb_check_report *report, const struct fb_tally *tally,
                                    bool complete)
{
    if (!report->options->json)
        return FB_OK;
    fb_json_end(&report->json); /* the cases */
    write_skips(report);
    write_goldens(report);
    write_summary(report, tally, complete);
    fb_json_end(&report->json);
    const char *text = fb_json_text(&report->json);
    if (!text)
        return fb_fail(FB_NO_MEMORY, "no memory for the report");
    return fb_file_write(report->options->json, text, strlen(text));
}

void fb_check_report_close(struct fb_check_report *report)
{
    if (!report)
        return;
    for (size_t i = 0; i < report->skip_count; i++) {
        struct fb_check_skip *skip = &report->skips[i];
        free(skip->variant);
        free(skip->problem);
        free(skip->numerics);
        free(skip->recipe);
        free(skip->reason);
    }
    free(report->skips);
    free(report->goldens);
    fb_json_free(&report->json);
    free(report);
}
