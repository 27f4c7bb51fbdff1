/* SPDX-License-Identifier: BSD-3-Clause
 *
 * determinism.c: which gradients have the same bits in every run, what was claimed, and what
 * determinism costs against the fastest variant that gives it up.
 */
#include "report/tables/determinism.h"
#include "store/columns.h"

#include <math.h>
#include <string.h>

static bool hashed(const struct fb_record *r)
{
    return r->det_runs > 1;
}

static const char *yes_no(int64_t flag)
{
    return flag == 1 ? "yes" : flag == 0 ? "no" : "-";
}

/* Free to add in any order: it does not claim all of dq, dk and dv. (What computes nothing is no
 * measure.) */
static bool is_free(const struct fb_record *r)
{
    return hashed(r) && r->gemms_executed != 0 && r->det_claim != FB_MISSING_ENUM &&
           r->det_claim != FB_DET_ALL;
}

static double free_ms(const struct fb_group_view *group)
{
    double least = NAN;
    for (size_t i = 0; i < group->count; i++)
        if (is_free(group->records[i]) && fb_record_ranked(group->records[i]) &&
            !(group->records[i]->bwd.ms >= least))
            least = group->records[i]->bwd.ms;
    return least;
}

static void put_set(struct fb_sheet *sheet, const char *column, const struct fb_record *r,
                    const char *mark)
{
    char room[FB_SET_TEXT];
    const char *text = fb_column_text(fb_column_find(column), r, room);
    fb_sheet_text(sheet, "%s%s", *text ? text : "-", mark);
}

/* A claim that the bits deny is a fault; told apart from modesty. */
static void put_claim(struct fb_sheet *sheet, const struct fb_record *r)
{
    const int claim = r->det_claim == FB_MISSING_ENUM ? 0 : r->det_claim;
    bool broken = (claim & FB_DET_DQ && r->tensor.dq.deterministic == 0) ||
                  (claim & FB_DET_DK && r->tensor.dk.deterministic == 0) ||
                  (claim & FB_DET_DV && r->tensor.dv.deterministic == 0) ||
                  (claim == FB_DET_ALL &&
                   (r->tensor.dbias.deterministic == 0 || r->tensor.dsink.deterministic == 0));
    if (broken)
        fb_sheet_note(sheet, "! claimed deterministic, but the bits differ from run to run");
    put_set(sheet, "det_claim", r, broken ? "!" : "");
}

/* Equal bits where a control showed none that differ prove little. */
static void put_level(struct fb_sheet *sheet, const struct fb_record *r)
{
    bool weak = r->det_level > 0 && r->det_control != FB_MISSING_ENUM &&
                r->det_control != FB_CONTROL_VARIED;
    if (weak)
        fb_sheet_note(sheet, "* no variation observed in a control that adds in any order, or too "
                             "small to expect any");
    put_set(sheet, "det_level", r, weak ? "*" : "");
}

static void put_row(struct fb_sheet *sheet, const struct fb_group_view *group,
                    const struct fb_record *r)
{
    char label[FB_LABEL];
    fb_label_variant(r, label);
    fb_sheet_row(sheet, group->label);
    fb_sheet_text(sheet, "%s", label);
    fb_sheet_text(sheet, "%lld", (long long)r->det_runs);
    fb_sheet_real(sheet, "%.0f", r->det_equal < 0 ? NAN : (double)r->det_equal);
    fb_sheet_text(sheet, "%s", yes_no(r->tensor.dq.deterministic));
    fb_sheet_text(sheet, "%s", yes_no(r->tensor.dk.deterministic));
    fb_sheet_text(sheet, "%s", yes_no(r->tensor.dv.deterministic));
    put_claim(sheet, r);
    put_level(sheet, r);
    fb_sheet_text(sheet, "%s", yes_no(r->batch_invariant));
    fb_sheet_four(sheet, r->bwd.ms);
    fb_sheet_real(sheet, "%+.0f%%", 100 * (r->bwd.ms / free_ms(group) - 1));
    fb_sheet_remark(sheet, fb_record_done(r) ? "" : fb_record_word(r), fb_text(r->reason));
}

void fb_table_determinism(struct fb_sheet *sheet, const struct fb_grouping *grouping)
{
    fb_sheet_init(sheet, "Determinism: the same bits in every run?", "problem");
    fb_sheet_column(sheet, "<variant");
    fb_sheet_column(sheet, "runs");
    fb_sheet_column(sheet, "equal");
    fb_sheet_column(sheet, "<dq");
    fb_sheet_column(sheet, "<dk");
    fb_sheet_column(sheet, "<dv");
    fb_sheet_column(sheet, "<claim");
    fb_sheet_column(sheet, "<level");
    fb_sheet_column(sheet, "<batch");
    fb_sheet_column(sheet, "ms");
    fb_sheet_column(sheet, "price");
    fb_sheet_column(sheet, "<");
    for (size_t g = 0; g < grouping->count; g++) {
        const struct fb_group_view *group = &grouping->groups[g];
        for (size_t i = 0; i < group->count; i++)
            if (hashed(group->records[i]))
                put_row(sheet, group, group->records[i]);
    }
    if (sheet->row_count)
        fb_sheet_note(sheet, "price: time against the fastest variant that does not claim all "
                             "three; level D1: the same call, D2: under another load, D4: with "
                             "fewer threads; batch: an item's bits do not depend on the others");
}
