/* SPDX-License-Identifier: BSD-3-Clause
 *
 * error.c: how far each tensor is from the reference, against its bound and the bands.
 */
#include "report/tables/error.h"
#include "store/columns.h"

#include <math.h>

struct view {
    const char *name;
    const struct fb_tensor_result *result;
};

static bool compared(const struct fb_tensor_result *t)
{
    return !isnan(t->max_abs) || t->verdict != FB_MISSING_ENUM || t->nonfinite > 0;
}

static void put_tensor(struct fb_sheet *sheet, const char *group, const char *label, bool first,
                       const struct view *view)
{
    const struct fb_tensor_result *t = view->result;
    fb_sheet_row(sheet, group);
    fb_sheet_both(sheet, first ? label : "", label);
    fb_sheet_text(sheet, "%s", view->name);
    fb_sheet_real(sheet, "%.2e", t->max_abs);
    fb_sheet_real(sheet, "%.2e", t->rel_l2);
    fb_sheet_real(sheet, "%.8f", t->cosine);
    fb_sheet_real(sheet, "%.6f", t->norm_ratio);
    fb_sheet_real(sheet, "%.0f", t->nonfinite < 0 ? NAN : (double)t->nonfinite);
    fb_sheet_real(sheet, "%.3f", t->bound_ratio);
    fb_sheet_text(sheet, "%s", fb_value_name(fb_values_verdict, t->verdict));
    fb_sheet_text(sheet, "%s", fb_value_name(fb_values_verdict, t->verdict_standard));
    fb_sheet_text(sheet, "%s", fb_value_name(fb_values_band, t->band));
    fb_sheet_text(sheet, "%s", fb_text(t->worst));
}

static void put_record(struct fb_sheet *sheet, const char *group, const struct fb_record *r)
{
#define VIEW(of) {#of, &r->tensor.of},
    const struct view views[] = {FB_RESULT_TENSORS(VIEW)};
#undef VIEW
    char label[FB_LABEL];
    bool any = false;
    fb_label_variant(r, label);
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (compared(views[i].result)) {
            put_tensor(sheet, group, label, !any, &views[i]);
            any = true;
        }
    if (any || fb_record_done(r))
        return;
    fb_sheet_row(sheet, group);
    fb_sheet_text(sheet, "%s", label);
    for (int i = 0; i < 7; i++)
        fb_sheet_real(sheet, "", NAN);
    fb_sheet_remark(sheet, fb_record_word(r), fb_text(r->reason));
    fb_sheet_dashes(sheet);
}

static bool any_compared(const struct fb_grouping *grouping)
{
    for (size_t g = 0; g < grouping->count; g++)
        for (size_t i = 0; i < grouping->groups[g].count; i++)
            if (compared(&grouping->groups[g].records[i]->tensor.dq))
                return true;
    return false;
}

void fb_table_error(struct fb_sheet *sheet, const struct fb_grouping *grouping)
{
    fb_sheet_init(sheet, "Error against the reference in double precision", "problem");
    fb_sheet_column(sheet, "<variant");
    fb_sheet_column(sheet, "<tensor");
    fb_sheet_column(sheet, "max abs");
    fb_sheet_column(sheet, "rel L2");
    fb_sheet_column(sheet, "cosine");
    fb_sheet_column(sheet, "norm ratio");
    fb_sheet_column(sheet, "nonfinite");
    fb_sheet_column(sheet, "of bound");
    fb_sheet_column(sheet, "<declared");
    fb_sheet_column(sheet, "<standard");
    fb_sheet_column(sheet, "<bands");
    fb_sheet_column(sheet, "<worst at");
    if (!any_compared(grouping))
        return;
    for (size_t g = 0; g < grouping->count; g++)
        for (size_t i = 0; i < grouping->groups[g].count; i++)
            put_record(sheet, grouping->groups[g].label, grouping->groups[g].records[i]);
}
