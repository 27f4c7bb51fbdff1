/* SPDX-License-Identifier: BSD-3-Clause
 *
 * memory.c: what a variant takes beyond inputs and outputs, and how that stands against what
 * a variant without n x n storage keeps: o, lse and delta.
 */
#include "report/tables/memory.h"

#include <math.h>

static double o_bytes(const struct fb_record *r)
{
    return fb_record_linear_bytes(r) - 8 * (double)r->b * (double)r->h * (double)r->nq;
}

static void put_ratio(struct fb_sheet *sheet, double ratio)
{
    fb_sheet_real(sheet, ratio < 1 ? "%.2fx" : "%.1fx", ratio);
}

static void put_row(struct fb_sheet *sheet, const char *group, const struct fb_record *r)
{
    char label[FB_LABEL];
    fb_label_variant(r, label);
    fb_sheet_row(sheet, group);
    fb_sheet_text(sheet, "%s", label);
    fb_sheet_bytes(sheet, (double)r->saved_bytes);
    fb_sheet_bytes(sheet, (double)r->workspace_bytes);
    fb_sheet_bytes(sheet, fb_record_extra_bytes(r));
    fb_sheet_bytes(sheet, (double)r->outputs_bytes);
    fb_sheet_bytes(sheet, (double)r->peak_bytes);
    fb_sheet_bytes(sheet, fb_record_linear_bytes(r));
    double saved = r->saved_bytes > 0 ? (double)r->saved_bytes : NAN;
    put_ratio(sheet, saved / o_bytes(r));
    put_ratio(sheet, saved / fb_record_linear_bytes(r));
    fb_sheet_remark(sheet, fb_record_done(r) ? "" : fb_record_word(r), fb_text(r->reason));
}

void fb_table_memory(struct fb_sheet *sheet, const struct fb_grouping *grouping)
{
    bool any = false;
    fb_sheet_init(sheet, "Memory of the backward", "problem");
    fb_sheet_column(sheet, "<variant");
    fb_sheet_column(sheet, "saved");
    fb_sheet_column(sheet, "workspace");
    fb_sheet_column(sheet, "saved+work");
    fb_sheet_column(sheet, "gradients");
    fb_sheet_column(sheet, "peak");
    fb_sheet_column(sheet, "O+L+D");
    fb_sheet_column(sheet, "saved/O");
    fb_sheet_column(sheet, "saved/(O+L+D)");
    fb_sheet_column(sheet, "<");
    for (size_t g = 0; g < grouping->count; g++)
        for (size_t i = 0; i < grouping->groups[g].count; i++)
            any |= !isnan(fb_record_extra_bytes(grouping->groups[g].records[i]));
    for (size_t g = 0; g < grouping->count && any; g++)
        for (size_t i = 0; i < grouping->groups[g].count; i++)
            put_row(sheet, grouping->groups[g].label, grouping->groups[g].records[i]);
    if (any)
        fb_sheet_note(sheet, "saved: from forward to backward beyond o and lse; O+L+D: o, lse and "
                             "delta, what a linear variant keeps; peak: seen from outside");
}
