/* SPDX-License-Identifier: BSD-3-Clause
 *
 * speed.c: time, rate and energy of the backward, against the ceiling, the forward and a
 * baseline.
 */
#include "report/tables/speed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Above this a backward does work that the five GEMMs do not explain: the model says 2.5. */
#define SLOW_BACKWARD 4.0

/* Rates are told in GFLOP/s while none reaches 1 TFLOP/s. */
static double fastest(const struct fb_grouping *grouping)
{
    double most = 0;
    for (size_t g = 0; g < grouping->count; g++)
        for (size_t i = 0; i < grouping->groups[g].count; i++)
            if (grouping->groups[g].records[i]->bwd.tflops > most)
                most = grouping->groups[g].records[i]->bwd.tflops;
    return most;
}

/* Was the energy of any call measured? Then there is a column for it. */
static bool any_joules(const struct fb_grouping *grouping)
{
    for (size_t g = 0; g < grouping->count; g++)
        for (size_t i = 0; i < grouping->groups[g].count; i++)
            if (!isnan(grouping->groups[g].records[i]->bwd.joules))
                return true;
    return false;
}

/* The first variant that was timed with standard numerics. */
static const char *first_timed(const struct fb_grouping *grouping)
{
    for (size_t g = 0; g < grouping->count; g++)
        for (size_t i = 0; i < grouping->groups[g].count; i++)
            if (!isnan(grouping->groups[g].records[i]->bwd.ms))
                return fb_text(grouping->groups[g].records[i]->variant);
    return "";
}

/* The baseline's time in a group; NaN where it has none. */
static double baseline_ms(const struct fb_group_view *group, const char *baseline)
{
    for (size_t i = 0; i < group->count; i++)
        if (!strcmp(fb_text(group->records[i]->variant), baseline) &&
            !isnan(group->records[i]->bwd.ms) && fb_record_ranked(group->records[i]))
            return group->records[i]->bwd.ms;
    return NAN;
}

static void put_interval(struct fb_sheet *sheet, const struct fb_record *r)
{
    double half = 50 * (r->bwd.ms_hi - r->bwd.ms_lo) / r->bwd.ms;
    fb_sheet_real(sheet, half < 10 ? "%.1f" : "%.0f", half);
}

static void put_flagged(struct fb_sheet *sheet, const char *plain, const char *flagged,
                        double value, double limit, const char *note)
{
    if (value > limit)
        fb_sheet_note(sheet, "! %s", note);
    fb_sheet_real(sheet, value > limit ? flagged : plain, value);
}

static void put_times(struct fb_sheet *sheet, const struct fb_record *r, double base, double unit)
{
    fb_sheet_four(sheet, r->bwd.ms);
    put_interval(sheet, r);
    fb_sheet_text(sheet, "%lld", (long long)r->bwd.n_samples);
    fb_sheet_four(sheet, r->bwd.tflops * unit);
    put_flagged(sheet, "%.1f", "%.1f!", r->bwd.ceiling_pct, 100,
                "faster than the GEMM itself: look at the spread, or one of the two is wrong");
    fb_sheet_four(sheet, r->fwd.ms);
    put_flagged(sheet, "%.2f", "%.2f!", r->bwd.ms / r->fwd.ms, SLOW_BACKWARD,
                "a backward slower than 4 forwards (the model: 2.5)");
    if (!fb_record_ranked(r))
        fb_sheet_note(sheet,
                      "! the clock of its process and the supervisor's differ, which saw %.4g ms: "
                      "no rank",
                      r->bwd.outside_ms);
    const double relative = fb_record_ranked(r) ? base / r->bwd.ms : NAN;
    fb_sheet_real(sheet, relative < 100 ? "%.2fx" : "%.0fx", relative);
}

static void put_row(struct fb_sheet *sheet, const struct fb_group_view *group,
                    const struct fb_record *r, double base, double unit, bool joules)
{
    char label[FB_LABEL];
    fb_label_variant(r, label);
    fb_sheet_row(sheet, group->label);
    fb_sheet_text(sheet, "%s", label);
    if (isnan(r->bwd.ms))
        for (int i = 0; i < 8; i++)
            fb_sheet_real(sheet, "", NAN);
    else
        put_times(sheet, r, base, unit);
    if (joules)
        fb_sheet_four(sheet, r->bwd.joules);
    fb_sheet_remark(sheet, fb_record_word(r), fb_text(r->reason));
}

void fb_table_speed(struct fb_sheet *sheet, const struct fb_grouping *grouping,
                    const char *baseline)
{
    const char *base_name = baseline ? baseline : first_timed(grouping);
    double most = fastest(grouping);
    double unit = most >= 1 ? 1 : 1000;
    bool joules = any_joules(grouping);
    char title[256];
    snprintf(title, sizeof title, "Speed of the backward, relative to %s",
             *base_name ? base_name : "nothing");
    fb_sheet_init(sheet, title, "problem");
    fb_sheet_column(sheet, "<variant");
    fb_sheet_column(sheet, "ms");
    fb_sheet_column(sheet, "+-%");
    fb_sheet_column(sheet, "samples");
    fb_sheet_column(sheet, unit == 1 ? "TFLOP/s" : "GFLOP/s");
    fb_sheet_column(sheet, "% of GEMM");
    fb_sheet_column(sheet, "fwd ms");
    fb_sheet_column(sheet, "bwd/fwd");
    fb_sheet_column(sheet, "relative");
    if (joules)
        fb_sheet_column(sheet, "J");
    fb_sheet_column(sheet, "<check");
    if (!most && !*base_name)
        return;
    for (size_t g = 0; g < grouping->count; g++) {
        double base = baseline_ms(&grouping->groups[g], base_name);
        for (size_t i = 0; i < grouping->groups[g].count; i++)
            put_row(sheet, &grouping->groups[g], grouping->groups[g].records[i], base, unit,
                    joules);
    }
}
