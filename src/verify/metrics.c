/* SPDX-License-Identifier: BSD-3-Clause
 *
 * metrics.c: one pass over the compared rows, one over the whole tensor for non-finite values.
 * Comparisons are written so that a NaN fails them.
 */
#include "verify/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "core/problem.h"
#include "core/status.h"

/* What one compared row comes to. Rows are walked by many threads and summed in their order. */
struct row {
    double error, reference, got, product; /* sums of squares, and of got times reference */
    double max_abs, band, bound;           /* the largest of its elements */
    int64_t worst;                         /* column of the largest bound; -1 without elements */
    double worst_got, worst_want;          /* the values there */
    int64_t correction;                    /* to the count of non-finite values */
};

/* Elements are made double this many at a time. */
enum { STRETCH = 256 };

void fb_metrics_band(enum fb_dtype dtype, double *atol, double *rtol)
{
    *atol = dtype == FB_FP32 ? 1e-5 : dtype == FB_BF16 ? 5e-3 : 1e-3;
    *rtol = dtype == FB_FP32 ? 1e-4 : dtype == FB_BF16 ? 5e-3 : 1e-3;
}

/* The largest finite value of a type. */
static double largest_of(enum fb_dtype dtype)
{
    return dtype == FB_FP16 ? 65504 : dtype == FB_BF16 ? 0x1.fep127 : 0x1.fffffep127;
}

static int64_t rows_of(const struct fb_tensor *t)
{
    return t->shape[0] * t->shape[1] * t->shape[2];
}

/* Flat row r of [b, h, n], column c, as an index. */
static void index_of(const struct fb_tensor *t, int64_t row, int64_t column, int64_t at[4])
{
    at[0] = row / t->shape[2] / t->shape[1];
    at[1] = row / t->shape[2] % t->shape[1];
    at[2] = row % t->shape[2];
    at[3] = column;
}

/* Elements of a row from column `first` on, up to STRETCH of them; how many. */
static int64_t read_stretch(const struct fb_tensor *t, int64_t row, int64_t first, double *to)
{
    const int64_t left = t->shape[3] - first, count = left < STRETCH ? left : STRETCH;
    fb_elements_read(to, t->data, t->dtype, fb_tensor_row(t, row) + first * t->stride[3],
                     t->stride[3], count);
    return count;
}

/* Values that need no arithmetic: equal ones (infinities too), and an overflow that is right. */
static bool agrees(double got, double want, enum fb_dtype dtype)
{
    return got == want || (isinf(got) && fabs(want) > largest_of(dtype) && got * want > 0);
}

static double ratio(double error, double allowed)
{
    if (error == 0)
        return 0;
    return allowed > 0 && isfinite(error) ? error / allowed : INFINITY;
}

static double norm_ratio(double part, double whole)
{
    if (part == 0)
        return 0;
    return whole > 0 ? sqrt(part) / sqrt(whole) : INFINITY;
}

/* ---- The compared rows --------------------------------------------------------------------------
 */

/* A right non-finite value is taken off the count of all; an lse of -inf that is not right, which
 * that count leaves out, is added. */
static int64_t correction_of(const struct fb_metrics_input *in, double got, bool right)
{
    if (isfinite(got))
        return 0;
    const bool counted = !(in->lse && got == -INFINITY);
    return counted && right ? -1 : !counted && !right ? 1 : 0;
}

static void add_element(const struct fb_metrics_input *in, struct row *row, int64_t column,
                        double got, double want, double allowed, double band)
{
    const bool equal = agrees(got, want, in->tensor->dtype);
    double error = equal ? 0 : fabs(got - want);
    if (!isfinite(error))
        error = INFINITY;
    const double bound = in->allowed ? ratio(error, allowed) : 0;
    row->max_abs = fmax(row->max_abs, error);
    row->band = fmax(row->band, ratio(error, band));
    if (bound > row->bound || row->worst < 0) {
        row->worst = column;
        row->worst_got = got;
        row->worst_want = want;
    }
    row->bound = fmax(row->bound, bound);
    row->correction += correction_of(in, got, equal);
    if (equal && !isfinite(want))
        return; /* nothing that a norm could hold */
    row->error += error * error;
    row->reference += want * want;
    row->got += got * got;
    row->product += got * want;
}

/* Row r of the compared ones, which is row `flat` of the tensor. */
static struct row compare_row(const struct fb_metrics_input *in, int64_t r, int64_t flat)
{
    const struct fb_tensor *t = in->tensor;
    const int64_t width = t->shape[3];
    const double *reference = in->reference + r * width;
    const double *allowed = in->allowed ? in->allowed + r * width : NULL;
    struct row row = {.worst = -1};
    double got[STRETCH], atol, rtol;
    fb_metrics_band(in->band, &atol, &rtol);
    for (int64_t first = 0, count; first < width; first += count) {
        count = read_stretch(t, flat, first, got);
        for (int64_t n = 0; n < count; n++) {
            const double want = reference[first + n];
            add_element(in, &row, first + n, got[n], want, allowed ? allowed[first + n] : 0,
                        atol + rtol * fabs(want));
        }
    }
    return row;
}

static int64_t flat_row(const struct fb_metrics_input *in, int64_t r)
{
    return in->rows ? in->rows[r] : r;
}

static void add_row(const struct fb_tensor *t, const struct row *row, int64_t flat,
                    struct fb_metrics *m, struct row *sum)
{
    m->max_abs = fmax(m->max_abs, row->max_abs);
    m->band_ratio = fmax(m->band_ratio, row->band);
    if (row->worst >= 0 && (row->bound > m->bound_ratio || m->worst[0] < 0)) {
        index_of(t, flat, row->worst, m->worst);
        m->worst_got = row->worst_got;
        m->worst_want = row->worst_want;
    }
    m->bound_ratio = fmax(m->bound_ratio, row->bound);
    sum->error += row->error;
    sum->reference += row->reference;
    sum->got += row->got;
    sum->product += row->product;
    sum->correction += row->correction;
}

/* The worst row needs the norm of a typical row first. */
static void find_worst_row(const struct fb_metrics_input *in, const struct row *rows,
                           double reference, struct fb_metrics *m)
{
    const double typical = in->count > 0 ? reference / (double)in->count : 0;
    for (int64_t r = 0; r < in->count; r++) {
        const double off = norm_ratio(rows[r].error, fmax(rows[r].reference, typical));
        if (in->row_errors)
            in->row_errors[r] = rows[r].error;
        if (in->row_offs)
            in->row_offs[r] = off;
        if (off > m->row_rel_l2) {
            m->row_rel_l2 = off;
            m->worst_row = flat_row(in, r);
        }
    }
}

static void finish(struct fb_metrics *m, const struct row *sum)
{
    m->rel_l2 = norm_ratio(sum->error, sum->reference);
    if (!isfinite(sum->got)) { /* rel_l2 is infinite already: the others must not look good */
        m->rel_l2 = m->row_rel_l2 = m->norm_ratio = INFINITY;
        m->cosine = 0;
        return;
    }
    bool both_zero = sum->got == 0 && sum->reference == 0;
    m->norm_ratio = both_zero ? 1 : norm_ratio(sum->got, sum->reference);
    m->cosine = both_zero ? 1 : 0;
    if (sum->got > 0 && sum->reference > 0)
        m->cosine = sum->product / sqrt(sum->got) / sqrt(sum->reference);
}

/* ---- The whole tensor ---------------------------------------------------------------------------
 */

/* Column of the first NaN or infinity of a row, and how many there are; -1 where there is none. */
static int64_t row_nonfinite(const struct fb_tensor *t, bool lse, int64_t row, int64_t *count)
{
    int64_t found = -1;
    double got[STRETCH];
    for (int64_t first = 0, here; first < t->shape[3]; first += here) {
        here = read_stretch(t, row, first, got);
        for (int64_t n = 0; n < here; n++) {
            if (isfinite(got[n]) || (lse && got[n] == -INFINITY))
                continue;
            found = found < 0 ? first + n : found;
            ++*count;
        }
    }
    return found;
}

/* NaN and infinities of the whole tensor, and where the first one is. Compared rows that are right
 * about theirs are taken off again by their correction; an lse of -inf outside them is a row
 * without keys. */
static int64_t count_nonfinite(const struct fb_tensor *t, bool lse, int64_t first[4])
{
    const int64_t rows = rows_of(t);
    int64_t count = 0, row = rows, ignored = 0;
#pragma omp parallel for reduction(+ : count) reduction(min : row) if (rows > 4096)
    for (int64_t r = 0; r < rows; r++)
        if (row_nonfinite(t, lse, r, &count) >= 0 && r < row)
            row = r;
    if (row < rows)
        index_of(t, row, row_nonfinite(t, lse, row, &ignored), first);
    return count;
}

/* What is not finite where it should be can never look small. */
static void spoil(const struct fb_tensor *t, const int64_t first[4], struct fb_metrics *m)
{
    if (first[0] >= 0 && isfinite(m->worst_got)) {
        memcpy(m->worst, first, sizeof m->worst);
        const int64_t row = (first[0] * t->shape[1] + first[1]) * t->shape[2] + first[2];
        m->worst_got =
            fb_element_read(t->data, t->dtype, fb_tensor_row(t, row) + first[3] * t->stride[3]);
        m->worst_want = NAN;
    }
    m->bound_ratio = m->band_ratio = m->rel_l2 = m->max_abs = INFINITY;
}

enum fb_status fb_metrics_compare(const struct fb_metrics_input *in, struct fb_metrics *m)
{
    const struct fb_tensor *t = in->tensor;
    struct row *rows = malloc((size_t)(in->count + 1) * sizeof *rows), sum = {0};
    int64_t first[4] = {-1, -1, -1, -1};
    *m = (struct fb_metrics){
        .noise_ratio = NAN, .worst = {-1, -1, -1, -1}, .worst_row = -1, .elements = in->count};
    if (!rows)
        return fb_fail(FB_NO_MEMORY, "no memory to compare %lld rows", (long long)in->count);
    m->elements *= t->shape[3];
#pragma omp parallel for schedule(static) if (m->elements > 16384)
    for (int64_t r = 0; r < in->count; r++)
        rows[r] = compare_row(in, r, flat_row(in, r));
    for (int64_t r = 0; r < in->count; r++)
        add_row(t, &rows[r], flat_row(in, r), m, &sum);
    find_worst_row(in, rows, sum.reference, m);
    m->nonfinite = count_nonfinite(t, in->lse, first) + sum.correction;
    finish(m, &sum);
    if (m->nonfinite > 0)
        spoil(t, first, m);
    free(rows);
    return FB_OK;
}
