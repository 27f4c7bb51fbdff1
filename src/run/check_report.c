/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/check_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/numerics.h"
#include "core/status.h"
#include "run/facts.h"
#include "store/files.h"

struct fb_check_report {
    const struct fb_check_options *options;
    struct fb_json json;
    size_t rows;
    char problem[256]; /* of the row before */
};

static void begin_json(struct fb_check_report *report, const struct fb_run *facts)
{
    struct fb_json *json = &report->json;
    fb_json_begin(json, NULL, '{');
    fb_json_begin(json, "run", '{');
    for (size_t i = 0; i < facts->fact_count; i++)
        fb_json_string(json, facts->facts[i].name, facts->facts[i].value);
    fb_json_end(json);
    fb_json_begin(json, "cases", '[');
}

enum fb_status fb_check_report_open(struct fb_check_report **out,
                                    const struct fb_check_options *options)
{
    const struct fb_run_options command = {.argc = options->argc, .argv = options->argv};
    struct fb_check_report *report = calloc(1, sizeof *report);
    struct fb_run facts;
    enum fb_status status;
    if (!report)
        return fb_fail(FB_NO_MEMORY, "no memory for a report");
    report->options = options;
    fb_json_init(&report->json);
    fb_run_init(&facts);
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
    printf("\n%s\n  %-22s %-13s %6s %6s %6s %6s  %-5s %-9s\n", heading, "variant", "verdict", "o",
           "dq", "dk", "dv", "bands", "same bits");
}

static void print_determinism(const struct fb_record *record)
{
    char text[32] = "-";
    if (record->det_runs > 0)
        snprintf(text, sizeof text, "%lld of %lld", (long long)record->det_equal,
                 (long long)record->det_runs);
    printf(" %-9s", text);
}

static void print_row(struct fb_check_report *report, const struct fb_record *record)
{
    struct fb_numerics numerics;
    print_heading(report, record);
    printf("  %-22s %-13s", fb_text(record->variant), fb_text(record->verdict));
    if (record->status && !strcmp(record->status, "done")) {
        print_ratio(record->tensor.o.bound_ratio);
        print_ratio(record->tensor.dq.bound_ratio);
        print_ratio(record->tensor.dk.bound_ratio);
        print_ratio(record->tensor.dv.bound_ratio);
        printf("  %-5s", fb_text(record->verdict_bands));
        print_determinism(record);
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

enum fb_status fb_check_report_row(struct fb_check_report *report, const struct fb_record *record)
{
    if (!report->rows++)
        puts("Errors in units of the bound each element is allowed: above 1 fails.");
    print_row(report, record);
    if (report->options->json)
        fb_record_write_json(record, &report->json, NULL);
    return FB_OK;
}

void fb_check_report_reference(struct fb_check_report *report, const char *group, double ratio,
                               bool passed)
{
    (void)report;
    printf("reference on %-24s %s, %.1e of the tolerance\n", group, passed ? "pass" : "FAIL",
           ratio);
}

enum fb_status fb_check_report_save(struct fb_check_report *report)
{
    if (!report->options->json)
        return FB_OK;
    fb_json_end(&report->json);
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
    fb_json_free(&report->json);
    free(report);
}
