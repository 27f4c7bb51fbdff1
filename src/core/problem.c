/* SPDX-License-Identifier: BSD-3-Clause
 *
 * problem.c: what follows from a problem: defaults, checks, copies, visible pairs. Its text form is
 * in problem_text.c.
 */
#include "core/problem.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"

void fb_problem_init(struct fb_problem *problem)
{
    memset(problem, 0, sizeof *problem);
    problem->b = -1;
    problem->h = 1;
    problem->nq = problem->nk = -1;
    problem->window_left = problem->window_right = FB_OPEN;
    problem->scale = NAN;
}

void fb_problem_free(struct fb_problem *problem)
{
    free(problem->alibi_slopes);
    free(problem->qlens);
    free(problem->klens);
    memset(problem, 0, sizeof *problem);
}

size_t fb_dtype_bytes(enum fb_dtype dtype)
{
    return dtype == FB_FP32 ? 4 : 2;
}

int64_t fb_tensor_row(const struct fb_tensor *t, int64_t row)
{
    const int64_t n = row % t->shape[2], h = row / t->shape[2] % t->shape[1];
    const int64_t b = row / t->shape[2] / t->shape[1];
    return b * t->stride[0] + h * t->stride[1] + n * t->stride[2];
}

/* ---- Copies and comparison ------------------------------------------------------------------- */

/* A copy of count elements of 8 bytes; false without memory. NULL stays NULL. */
static bool copy_array(void *to, const void *from, int64_t count)
{
    void *copy = NULL;
    if (from) {
        copy = malloc((size_t)(count ? count : 1) * 8);
        if (!copy)
            return false;
        memcpy(copy, from, (size_t)count * 8);
    }
    memcpy(to, &copy, sizeof copy);
    return true;
}

enum fb_status fb_problem_copy(struct fb_problem *to, const struct fb_problem *from)
{
    *to = *from;
    to->alibi_slopes = NULL;
    to->qlens = to->klens = NULL;
    if (copy_array(&to->alibi_slopes, from->alibi_slopes, from->h) &&
        copy_array(&to->qlens, from->qlens, from->b) &&
        copy_array(&to->klens, from->klens, from->b))
        return FB_OK;
    fb_problem_free(to);
    return fb_fail(FB_NO_MEMORY, "no memory for a problem");
}

static bool same_array(const void *a, const void *b, int64_t count)
{
    if (!a || !b)
        return !a && !b;
    return !memcmp(a, b, (size_t)count * 8);
}

/* Both unset (NaN) counts as equal, and so does 0 with -0. */
static bool same_real(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

bool fb_problem_equal(const struct fb_problem *a, const struct fb_problem *b)
{
    return a->b == b->b && a->h == b->h && a->hk == b->hk && a->nq == b->nq && a->nk == b->nk &&
           a->d == b->d && a->dv == b->dv && a->dtype == b->dtype && a->mask == b->mask &&
           a->window_left == b->window_left && a->window_right == b->window_right &&
           same_real(a->scale, b->scale) && same_real(a->softcap, b->softcap) &&
           a->alibi == b->alibi && same_array(a->alibi_slopes, b->alibi_slopes, a->h) &&
           a->bias == b->bias && same_real(a->dropout, b->dropout) &&
           a->dropout_seed == b->dropout_seed && a->dropout_offset == b->dropout_offset &&
           !a->sink == !b->sink && !a->dlse == !b->dlse && same_array(a->qlens, b->qlens, a->b) &&
           same_array(a->klens, b->klens, a->b) && a->layout == b->layout;
}

/* ---- Defaults -------------------------------------------------------------------------------- */

static int64_t longest(const int64_t *lens, int64_t count)
{
    int64_t most = 0;
    for (int64_t s = 0; s < count; s++)
        most = lens[s] > most ? lens[s] : most;
    return most;
}

/* One side of the packed lengths: the other's, where neither a list nor n was given for it. */
static enum fb_status derive_lens(struct fb_problem *p)
{
    int64_t **missing = p->qlens ? &p->klens : &p->qlens;
    const int64_t *given = p->qlens ? p->qlens : p->klens;
    if (!given || *missing || (p->qlens ? p->nk : p->nq) >= 0)
        return FB_OK;
    return copy_array(missing, given, p->b) ? FB_OK
                                            : fb_fail(FB_NO_MEMORY, "no memory for lengths");
}

static enum fb_status derive_length(int64_t *n, const char *name, const int64_t *lens, int64_t b)
{
    int64_t most = lens ? longest(lens, b) : *n;
    if (most < 0)
        return fb_status_about(fb_fail(FB_USAGE, "%s is missing: give n=, or nq= and nk=, 0..%d",
                                       name, FB_PROBLEM_MAX_N),
                               name);
    if (*n >= 0 && *n != most)
        return fb_status_about(
            fb_fail(FB_USAGE, "%s=%" PRId64 " is not the longest of the packed lengths, %" PRId64,
                    name, *n, most),
            name);
    *n = most;
    return FB_OK;
}

static enum fb_status derive(struct fb_problem *p)
{
    if (p->b < 0)
        p->b = 1;
    FB_TRY(derive_lens(p));
    FB_TRY(derive_length(&p->nq, "nq", p->qlens, p->b));
    FB_TRY(derive_length(&p->nk, "nk", p->klens, p->b));
    if (p->d == 0)
        return fb_status_about(fb_fail(FB_USAGE, "d is missing: give d=, 1..%d", FB_PROBLEM_MAX_D),
                               "d");
    if (p->hk == 0)
        p->hk = p->h;
    if (p->dv == 0)
        p->dv = p->d;
    if (isnan(p->scale))
        p->scale = 1 / sqrt((double)p->d);
    return FB_OK;
}

/* ---- Checks across items --------------------------------------------------------------------- */

static bool product_fits(const int64_t *factors, int count)
{
    int64_t product = 1;
    for (int i = 0; i < count; i++)
        if (factors[i] == 0)
            return true;
    for (int i = 0; i < count; i++)
        if (__builtin_mul_overflow(product, factors[i], &product))
            return false;
    return true;
}

/* Pairs and the bytes of fp32 scores and tensors all stay below 2^63. */
static enum fb_status check_products(const struct fb_problem *p)
{
    int64_t n = p->nq > p->nk ? p->nq : p->nk;
    int64_t d = p->d > p->dv ? p->d : p->dv;
    const int64_t scores[] = {p->b, p->h, p->nq, p->nk, 8};
    const int64_t tensor[] = {p->b, p->h + 2 * p->hk, n, d, 8};
    if (!product_fits(scores, 5) || !product_fits(tensor, 5))
        return fb_status_about(fb_fail(FB_USAGE,
                                       "b=%" PRId64 ", h=%" PRId64 ", nq=%" PRId64 ", nk=%" PRId64
                                       " together are larger than 64-bit sizes",
                                       p->b, p->h, p->nq, p->nk),
                               "b");
    return FB_OK;
}

static enum fb_status check_layout(const struct fb_problem *p)
{
    if (p->layout != FB_LAYOUT_PACKED_QKV)
        return FB_OK;
    if (p->nq != p->nk || p->d != p->dv || !same_array(p->qlens, p->klens, p->b))
        return fb_status_about(
            fb_fail(FB_USAGE, "layout=packed-qkv needs nq = nk and dv = d, since q, k and v "
                              "are slices of one buffer"),
            "layout");
    return FB_OK;
}

enum fb_status fb_problem_finish(struct fb_problem *problem)
{
    FB_TRY(derive(problem));
    if (problem->b < 0 || problem->nq < 0 || problem->nk < 0 || problem->h < 1 || problem->hk < 1 ||
        problem->d < 1 || problem->d > 256 || problem->dv < 1 ||
        problem->dv > 256) /* sizes that did not come as text */
        return fb_fail(FB_USAGE, "a size is out of range: b, nq, nk >= 0, h, hk >= 1, d and dv "
                                 "1..256");
    if (problem->hk > problem->h || problem->h % problem->hk)
        return fb_status_about(
            fb_fail(FB_USAGE, "h=%" PRId64 " is not a multiple of hk=%" PRId64 ": hk must divide h",
                    problem->h, problem->hk),
            "h");
    FB_TRY(check_layout(problem));
    return check_products(problem);
}

enum fb_status fb_problem_parse(struct fb_problem *problem, const char *text)
{
    enum fb_status status;
    fb_problem_init(problem);
    FB_TRY_OUT(fb_problem_merge(problem, text));
    FB_TRY_OUT(fb_problem_finish(problem));
out:
    if (status != FB_OK)
        fb_problem_free(problem);
    return status;
}

/* ---- What a query sees ----------------------------------------------------------------------- */

int64_t fb_problem_len_q(const struct fb_problem *problem, int64_t s)
{
    return problem->qlens ? problem->qlens[s] : problem->nq;
}

int64_t fb_problem_len_k(const struct fb_problem *problem, int64_t s)
{
    return problem->klens ? problem->klens[s] : problem->nk;
}

double fb_problem_slope(const struct fb_problem *problem, int64_t i)
{
    if (problem->alibi == FB_ALIBI_LIST)
        return problem->alibi_slopes[i];
    if (problem->alibi == FB_ALIBI_AUTO)
        return exp2(-8.0 * (double)(i + 1) / (double)problem->h);
    return 0;
}

void fb_problem_visible(const struct fb_problem *problem, int64_t nq, int64_t nk, int64_t i,
                        int64_t *lo, int64_t *hi)
{
    int64_t diagonal = i + nk - nq; /* the key that stands level with query i, bottom-right */
    int64_t first = 0, last = nk - 1;
    if (problem->mask == FB_MASK_CAUSAL && diagonal < last)
        last = diagonal;
    if (problem->mask == FB_MASK_CAUSAL_TOPLEFT && i < last)
        last = i;
    if (problem->window_right >= 0 && diagonal + problem->window_right < last)
        last = diagonal + problem->window_right;
    if (problem->window_left >= 0 && diagonal - problem->window_left > first)
        first = diagonal - problem->window_left;
    *lo = first;
    *hi = last;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : least(value, high);
}

/* The sum over i from 0 to rows - 1 of i + offset held between 0 and limit: zeros, then a rising
 * flight, then the limit. */
static int64_t sum_of_edge(int64_t rows, int64_t offset, int64_t limit)
{
    int64_t rise = clamp(-offset, 0, rows), top = clamp(limit - offset, rise, rows);
    return (top - rise) * (2 * offset + rise + top - 1) / 2 + (rows - top) * limit;
}

/* Without a loop over the rows, since a problem may be far too large to run and still be asked.
 * Both edges of what query i sees move with i: keys below i + end, and from i + first on. */
static int64_t pairs_of_sequence(const struct fb_problem *p, int64_t nq, int64_t nk)
{
    const int64_t level = nk - nq; /* key i + level stands level with query i, bottom-right */
    int64_t end = INT64_MAX, first = INT64_MIN, below, before = 0;
    if (p->mask == FB_MASK_CAUSAL)
        end = level + 1;
    if (p->mask == FB_MASK_CAUSAL_TOPLEFT)
        end = 1;
    if (p->window_right >= 0)
        end = least(end, level + 1 + p->window_right);
    if (p->window_left >= 0)
        first = level - p->window_left;
    if (end <= first)
        return 0;
    below = end == INT64_MAX ? nq * nk : sum_of_edge(nq, end, nk);
    if (first != INT64_MIN)
        before = sum_of_edge(nq, first, nk);
    return below - before;
}

int64_t fb_problem_pairs(const struct fb_problem *problem)
{
    int64_t pairs = 0;
    if (!problem->qlens && !problem->klens)
        return problem->b * problem->h * pairs_of_sequence(problem, problem->nq, problem->nk);
    for (int64_t s = 0; s < problem->b; s++)
        pairs +=
            pairs_of_sequence(problem, fb_problem_len_q(problem, s), fb_problem_len_k(problem, s));
    return problem->h * pairs;
}

int64_t fb_problem_rows_q(const struct fb_problem *problem)
{
    int64_t rows = 0;
    if (!problem->qlens)
        return problem->b * problem->nq;
    for (int64_t s = 0; s < problem->b; s++)
        rows += problem->qlens[s];
    return rows;
}

int64_t fb_problem_rows_k(const struct fb_problem *problem)
{
    int64_t rows = 0;
    if (!problem->klens)
        return problem->b * problem->nk;
    for (int64_t s = 0; s < problem->b; s++)
        rows += problem->klens[s];
    return rows;
}
