/* SPDX-License-Identifier: BSD-3-Clause
 *
 * metrics.c: one pass over the compared rows, one over the whole tensor for non-finite values.
 * Comparisons are written so that a NaN fails them.
 */
#include "verify/metrics.h"

#include <math.h>
#include <string.h>

#include "core/half.h"

/* Running sums over rows. */
struct sums {
    double error, reference, got, product; /* squares, and got times reference */
};

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

static double element(const struct fb_tensor *t, const int64_t at[4])
{
    int64_t index = 0;
    for (int axis = 0; axis < 4; axis++)
        index += at[axis] * t->stride[axis];
    return fb_element_read(t->data, t->dtype, index);
}

/* Flat row r of [b, h, n] as an index. */
static void index_of_row(const struct fb_tensor *t, int64_t row, int64_t at[4])
{
    at[2] = row % t->shape[2];
    at[1] = row / t->shape[2] % t->shape[1];
    at[0] = row / t->shape[2] / t->shape[1];
    at[3] = 0;
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

static void remember(struct fb_metrics *m, const int64_t at[4], double got, double want)
{
    for (int axis = 0; axis < 4; axis++)
        m->worst[axis] = at[axis];
    m->worst_got = got;
    m->worst_want = want;
}

static void add_element(const struct fb_metrics_input *in, struct fb_metrics *m, struct sums *sums,
                        const int64_t at[4], int64_t n)
{
    double got = element(in->tensor, at), want = in->reference[n];
    bool equal = agrees(got, want, in->tensor->dtype);
    double error = equal ? 0 : fabs(got - want), atol, rtol;
    if (!isfinite(error))
        error = INFINITY;
    double bound = in->allowed ? ratio(error, in->allowed[n]) : 0;
    fb_metrics_band(in->band, &atol, &rtol);
    m->max_abs = fmax(m->max_abs, error);
    m->band_ratio = fmax(m->band_ratio, ratio(error, atol + rtol * fabs(want)));
    if (bound > m->bound_ratio || m->elements == 0)
        remember(m, at, got, want);
    m->bound_ratio = fmax(m->bound_ratio, bound);
    m->elements++;
    if (equal && !isfinite(want))
        return; /* nothing that a norm could hold */
    sums->error += error * error;
    sums->reference += want * want;
    sums->got += got * got;
    sums->product += got * want;
}

/* Column of the first NaN or infinity of a row, and how many there are; -1 where there is none. */
static int64_t row_nonfinite(const struct fb_tensor *t, bool lse, int64_t at[4], int64_t *count)
{
    int64_t first = -1;
    for (at[3] = 0; at[3] < t->shape[3]; at[3]++) {
        double got = element(t, at);
        if (isfinite(got) || (lse && got == -INFINITY))
            continue;
        first = first < 0 ? at[3] : first;
        ++*count;
    }
    return first;
}

/* NaN and infinities of the whole tensor. Compared rows that are right about theirs are taken off
 * again by the caller; an lse of -inf outside them is a row without keys. */
static int64_t count_nonfinite(const struct fb_tensor *t, bool lse, int64_t first[4])
{
    const int64_t rows = t->shape[0] * t->shape[1] * t->shape[2];
    int64_t count = 0, row = rows, at[4];
#pragma omp parallel for reduction(+ : count) reduction(min : row) if (rows > 4096)
    for (int64_t r = 0; r < rows; r++) {
        int64_t here[4];
        index_of_row(t, r, here);
        if (row_nonfinite(t, lse, here, &count) >= 0 && r < row)
            row = r;
    }
    if (row == rows)
        return 0;
    int64_t ignored = 0;
    index_of_row(t, row, at);
    at[3] = row_nonfinite(t, lse, at, &ignored);
    memcpy(first, at, sizeof at);
    return count;
}

/* Non-finite values in the compared rows: those that are right (they were counted above), and an
 * lse of -inf that is not. */
static int64_t correct_nonfinite(const struct fb_metrics_input *in)
{
    int64_t correction = 0, at[4];
    for (int64_t r = 0; r < in->count; r++) {
        index_of_row(in->tensor, in->rows ? in->rows[r] : r, at);
        for (int64_t c = 0; c < in->tensor->shape[3]; c++) {
            at[3] = c;
            double got = element(in->tensor, at);
            double want = in->reference[r * in->tensor->shape[3] + c];
            if (isfinite(got))
                continue;
            bool counted = !(in->lse && got == -INFINITY);
            bool right = agrees(got, want, in->tensor->dtype);
            correction += counted && right ? -1 : !counted && !right ? 1 : 0;
        }
    }
    return correction;
}

static double norm_ratio(double part, double whole)
{
    if (part == 0)
        return 0;
    return whole > 0 ? sqrt(part) / sqrt(whole) : INFINITY;
}

static void finish(struct fb_metrics *m, const struct sums *s)
{
    m->rel_l2 = norm_ratio(s->error, s->reference);
    if (!isfinite(s->got)) { /* rel_l2 is infinite already: the others must not look good */
        m->rel_l2 = m->row_rel_l2 = m->norm_ratio = INFINITY;
        m->cosine = 0;
        return;
    }
    bool both_zero = s->got == 0 && s->reference == 0;
    m->norm_ratio = both_zero ? 1 : norm_ratio(s->got, s->reference);
    m->cosine = both_zero ? 1 : 0;
    if (s->got > 0 && s->reference > 0)
        m->cosine = s->product / sqrt(s->got) / sqrt(s->reference);
}

/* The worst row needs the norm of a typical row first. */
static void worst_row(const struct fb_metrics_input *in, struct fb_metrics *m, double reference)
{
    double typical = in->count > 0 ? reference / (double)in->count : 0;
    for (int64_t r = 0; r < in->count; r++) {
        struct sums row = {0};
        struct fb_metrics ignored = {0};
        int64_t at[4], width = in->tensor->shape[3];
        index_of_row(in->tensor, in->rows ? in->rows[r] : r, at);
        for (at[3] = 0; at[3] < width; at[3]++)
            add_element(in, &ignored, &row, at, r * width + at[3]);
        if (in->row_errors)
            in->row_errors[r] = row.error;
        m->row_rel_l2 = fmax(m->row_rel_l2, norm_ratio(row.error, fmax(row.reference, typical)));
    }
}

void fb_metrics_compare(const struct fb_metrics_input *in, struct fb_metrics *m)
{
    struct sums sums = {0};
    int64_t at[4], first[4] = {-1, -1, -1, -1}, width = in->tensor->shape[3];
    *m = (struct fb_metrics){.noise_ratio = NAN, .worst = {-1, -1, -1, -1}};
    for (int64_t r = 0; r < in->count; r++) {
        index_of_row(in->tensor, in->rows ? in->rows[r] : r, at);
        for (at[3] = 0; at[3] < width; at[3]++)
            add_element(in, m, &sums, at, r * width + at[3]);
    }
    worst_row(in, m, sums.reference);
    m->nonfinite = count_nonfinite(in->tensor, in->lse, first) + correct_nonfinite(in);
    finish(m, &sums);
    if (m->nonfinite > 0) {
        if (first[0] >= 0 && isfinite(m->worst_got))
            remember(m, first, element(in->tensor, first), NAN);
        m->bound_ratio = m->band_ratio = m->rel_l2 = m->max_abs = INFINITY;
    }
}
