/* SPDX-License-Identifier: BSD-3-Clause
 *
 * problem_print.c: the canonical text of a problem: b to mask always, the rest where not default.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/numbers.h"
#include "core/problem.h"

static void print_real(FILE *out, const char *before, double value)
{
    char text[FB_NUMBER_TEXT];
    fb_number_print_real(text, value);
    fprintf(out, "%s%s", before, text);
}

static void print_lens(FILE *out, const char *key, const int64_t *lens, int64_t count)
{
    if (!lens)
        return;
    for (int64_t s = 0; s < count; s++)
        fprintf(out, "%s%" PRId64, s ? "+" : key, lens[s]);
}

static void print_alibi(FILE *out, const struct fb_problem *p)
{
    if (p->alibi == FB_ALIBI_AUTO)
        fputs(",alibi=auto", out);
    if (p->alibi == FB_ALIBI_LIST)
        for (int64_t i = 0; i < p->h; i++)
            print_real(out, i ? ":" : ",alibi=", p->alibi_slopes[i]);
}

static void print_terms(FILE *out, const struct fb_problem *p)
{
    if (p->window_left != FB_OPEN || p->window_right != FB_OPEN)
        fprintf(out, ",window=%" PRId64 ":%" PRId64, p->window_left, p->window_right);
    if (p->scale != 1 / sqrt((double)p->d))
        print_real(out, ",scale=", p->scale);
    if (p->softcap != 0)
        print_real(out, ",softcap=", p->softcap);
    print_alibi(out, p);
    if (p->bias != FB_BIAS_NONE)
        fprintf(out, ",bias=%s", fb_bias_name(p->bias));
    if (p->dropout != 0) {
        print_real(out, ",dropout=", p->dropout);
        fprintf(out, "@%" PRIu64 ":%" PRIu64, p->dropout_seed, p->dropout_offset);
    }
    fputs(p->sink ? ",sink" : "", out);
    fputs(p->dlse ? ",dlse" : "", out);
    print_lens(out, ",qlens=", p->qlens, p->b);
    print_lens(out, ",klens=", p->klens, p->b);
    if (p->layout != FB_LAYOUT_BHND)
        fprintf(out, ",layout=%s", fb_layout_name(p->layout));
}

char *fb_problem_print(const struct fb_problem *problem)
{
    const struct fb_problem *p = problem;
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    fprintf(out,
            "b=%" PRId64 ",h=%" PRId64 ",hk=%" PRId64 ",nq=%" PRId64 ",nk=%" PRId64 ",d=%" PRId64
            ",dv=%" PRId64 ",dtype=%s,mask=%s",
            p->b, p->h, p->hk, p->nq, p->nk, p->d, p->dv, fb_dtype_name(p->dtype),
            fb_mask_name(p->mask));
    print_terms(out, p);
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}
