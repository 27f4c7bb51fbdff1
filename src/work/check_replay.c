/* SPDX-License-Identifier: BSD-3-Clause
 *
 * check_replay.c: the case again with other inputs, of which part must make no difference.
 *
 *   Batch invariance. Each item of a batch alone, then the batch in reversed order: the bits of an
 *   item's gradients are those that it had in the batch, or the variant is not batch invariant.
 * That is a property and no fault; it has a column of its own.
 *
 *   Future perturbation. Under a causal mask keys from the middle on change their sign; o, lse and
 * dq of the queries that see none of them keep their bits, or the variant looks where it must not.
 */
#include "work/check_replay.h"

#include <stdlib.h>
#include <string.h>

#include "core/cost.h"
#include "core/problem.h"
#include "core/status.h"
#include "core/tensor.h"
#include "measure/memory_host.h"
#include "verify/sample.h"

/* Of larger batches the first ones, the last and one in the middle go alone. */
#define MOST_ITEMS 4

/* Another problem's worth of inputs, and the variant on them. */
struct replay {
    struct fb_shared shared;
    struct fb_bench bench;
};

/* ---- Slices -------------------------------------------------------------------------------------
 */

/* Where one item of a batch lies in a tensor. */
struct slice {
    int64_t b, row, rows;
};

static struct slice slice_of(const struct fb_tensor *t, const int64_t *cu, int64_t item)
{
    if (cu)
        return (struct slice){0, cu[item], cu[item + 1] - cu[item]};
    return (struct slice){t->shape[0] > 1 ? item : 0, 0, t->shape[2]};
}

static char *element(const struct fb_tensor *t, const struct slice *s, int64_t h, int64_t n)
{
    return (char *)t->data +
           (size_t)fb_tensor_offset(t, s->b, h, s->row + n, 0) * fb_dtype_bytes(t->dtype);
}

static void copy_slice(const struct fb_tensor *to, const int64_t *to_cu, int64_t to_item,
                       const struct fb_tensor *from, const int64_t *from_cu, int64_t from_item)
{
    if (!to->data || !from->data)
        return;
    const struct slice a = slice_of(to, to_cu, to_item), b = slice_of(from, from_cu, from_item);
    for (int64_t h = 0; h < to->shape[1]; h++)
        for (int64_t n = 0; n < a.rows; n++)
            memcpy(element(to, &a, h, n), element(from, &b, h, n),
                   (size_t)to->shape[3] * fb_dtype_bytes(to->dtype));
}

static bool same_slice(const struct fb_tensor *x, const int64_t *x_cu, int64_t x_item,
                       const struct fb_tensor *y, const int64_t *y_cu, int64_t y_item)
{
    const struct slice a = slice_of(x, x_cu, x_item), b = slice_of(y, y_cu, y_item);
    for (int64_t h = 0; h < x->shape[1]; h++)
        for (int64_t n = 0; n < a.rows; n++)
            if (memcmp(element(x, &a, h, n), element(y, &b, h, n),
                       (size_t)x->shape[3] * fb_dtype_bytes(x->dtype)))
                return false;
    return true;
}

static void copy_item(const struct fb_args *to, int64_t to_item, const struct fb_args *from,
                      int64_t from_item)
{
    const int64_t *tq = to->cu_qlens, *tk = to->cu_klens, *fq = from->cu_qlens,
                  *fk = from->cu_klens;
    copy_slice(&to->q, tq, to_item, &from->q, fq, from_item);
    copy_slice(&to->k, tk, to_item, &from->k, fk, from_item);
    copy_slice(&to->v, tk, to_item, &from->v, fk, from_item);
    copy_slice(&to->dout, tq, to_item, &from->dout, fq, from_item);
    copy_slice(&to->dlse, tq, to_item, &from->dlse, fq, from_item);
    copy_slice(&to->bias, NULL, to_item, &from->bias, NULL, from_item);
    copy_slice(&to->sink, NULL, 0, &from->sink, NULL, 0);
    copy_slice(&to->alibi, NULL, 0, &from->alibi, NULL, 0);
}

static bool same_item(const struct fb_args *x, int64_t x_item, const struct fb_args *y,
                      int64_t y_item)
{
    return same_slice(&x->dq, x->cu_qlens, x_item, &y->dq, y->cu_qlens, y_item) &&
           same_slice(&x->dk, x->cu_klens, x_item, &y->dk, y->cu_klens, y_item) &&
           same_slice(&x->dv, x->cu_klens, x_item, &y->dv, y->cu_klens, y_item);
}

/* ---- Another problem ----------------------------------------------------------------------------
 */

static int64_t *pick(const int64_t *lengths, const int64_t *items, int64_t count, int64_t *longest)
{
    int64_t *picked = malloc((size_t)(count + 1) * sizeof *picked);
    *longest = 0;
    for (int64_t i = 0; picked && i < count; i++) {
        picked[i] = lengths[items[i]];
        *longest = picked[i] > *longest ? picked[i] : *longest;
    }
    return picked;
}

/* The problem of some items of a batch, in that order. */
static enum fb_status problem_of(struct fb_problem *to, const struct fb_problem *from,
                                 const int64_t *items, int64_t count)
{
    FB_TRY(fb_problem_copy(to, from));
    to->b = count;
    if (from->qlens) {
        free(to->qlens);
        to->qlens = pick(from->qlens, items, count, &to->nq);
    }
    if (from->klens) {
        free(to->klens);
        to->klens = pick(from->klens, items, count, &to->nk);
    }
    return (from->qlens && !to->qlens) || (from->klens && !to->klens)
               ? fb_fail(FB_NO_MEMORY, "no memory for %lld lengths", (long long)count)
               : FB_OK;
}

static void close_replay(struct replay *r, struct fb_bench *bench)
{
    bench->torn |= r->bench.torn;
    fb_bench_close(&r->bench);
    fb_record_free(&r->bench.record);
    fb_buffers_free(&r->shared.inputs);
    fb_problem_free(&r->shared.problem);
}

static enum fb_status open_replay(struct replay *r, const struct fb_bench *bench,
                                  const int64_t *items, int64_t count)
{
    const struct fb_buffers_options plain = {0};
    const struct fb_args *from = &bench->shared->inputs.args;
    *r = (struct replay){
        .shared = {.channel = bench->shared->channel,
                   .measure = bench->shared->measure,
                   .keep = bench->shared->keep, /* only whole batches come with dropout */
                   .threads = bench->shared->threads},
        .bench = {.index = bench->index, .variant = bench->variant, .numerics = bench->numerics}};
    r->bench.shared = &r->shared;
    fb_record_init(&r->bench.record);
    FB_TRY(problem_of(&r->shared.problem, &bench->shared->problem, items, count));
    FB_TRY(fb_buffers_make(&r->shared.inputs, &fb_memory_host, &r->shared.problem,
                           &r->bench.numerics, &plain));
    for (int64_t i = 0; i < count; i++)
        copy_item(&r->shared.inputs.args, i, from, items[i]);
    return FB_OK;
}

/* Forward and backward on the inputs as they are now; outputs are valid until the next call. */
static enum fb_status call_replay(struct replay *r, struct fb_findings *findings,
                                  struct fb_args *outputs)
{
    FB_TRY(fb_bench_ask(&r->bench));
    FB_TRY(fb_bench_open(&r->bench));
    FB_TRY(fb_check_call(&r->bench, FB_PASS_FORWARD, findings));
    FB_TRY(fb_check_call(&r->bench, FB_PASS_BACKWARD, findings));
    FB_TRY(fb_bench_fetch(&r->bench, FB_PASS_FORWARD, outputs));
    return fb_bench_fetch(&r->bench, FB_PASS_BACKWARD, outputs);
}

/* ---- Batch invariance ---------------------------------------------------------------------------
 */

/* Are the items, in this order, what they are in the whole batch? */
static enum fb_status compare_items(struct fb_bench *bench, const struct fb_args *whole,
                                    const int64_t *items, int64_t count,
                                    struct fb_findings *findings, bool *same)
{
    struct replay r;
    struct fb_args outputs;
    enum fb_status status;
    FB_TRY_OUT(open_replay(&r, bench, items, count));
    FB_TRY_OUT(call_replay(&r, findings, &outputs));
    for (int64_t i = 0; i < count; i++)
        *same = *same && same_item(&outputs, i, whole, items[i]);
out:
    close_replay(&r, bench);
    return status;
}

static enum fb_status try_batch(struct fb_bench *bench, const struct fb_args *whole,
                                struct fb_findings *findings, bool *same)
{
    const int64_t b = bench->shared->problem.b;
    int64_t *reversed = malloc((size_t)b * sizeof *reversed);
    enum fb_status status = reversed ? FB_OK : fb_fail(FB_NO_MEMORY, "no memory for an order");
    for (int64_t i = 0; status == FB_OK && i < b; i++) {
        bool alone = b <= MOST_ITEMS || i < 2 || i == b / 2 || i == b - 1;
        reversed[i] = b - 1 - i;
        if (alone && *same)
            status = compare_items(bench, whole, &i, 1, findings, same);
    }
    if (status == FB_OK && *same)
        status = compare_items(bench, whole, reversed, b, findings, same);
    free(reversed);
    return status;
}

/* Dropout draws by position in the batch, so that an item elsewhere is another problem. A variant
 * that refuses the smaller problem leaves the column empty. */
static enum fb_status check_batch(struct fb_bench *bench, const struct fb_args *whole,
                                  struct fb_findings *findings, const bool held[3])
{
    const struct fb_problem *p = &bench->shared->problem;
    bool same = held[0] && held[1] && held[2];
    if (p->b < 2 || p->dropout > 0)
        return FB_OK;
    enum fb_status status = try_batch(bench, whole, findings, &same);
    if (status == FB_REFUSED || status == FB_NO_MEMORY) {
        fb_status_clear();
        return FB_OK;
    }
    FB_TRY(status);
    bench->record.batch_invariant = same;
    return FB_OK;
}

/* ---- Future perturbation ------------------------------------------------------------------------
 */

static void negate_keys(const struct fb_tensor *t, int64_t first)
{
    const size_t bytes = fb_dtype_bytes(t->dtype);
    for (int64_t b = 0; b < t->shape[0]; b++)
        for (int64_t h = 0; h < t->shape[1]; h++)
            for (int64_t n = first; n < t->shape[2]; n++)
                for (int64_t c = 0; c < t->shape[3]; c++) /* the sign is the last byte's top bit */
                    ((char *)t->data)[(size_t)(fb_tensor_offset(t, b, h, n, c) + 1) * bytes - 1] ^=
                        (char)0x80;
}

/* Queries 0 to this see no key from `first` on. */
static int64_t blind_queries(const struct fb_problem *p, int64_t first)
{
    int64_t blind = 0, lo, hi;
    for (; blind < p->nq; blind++) {
        fb_problem_visible(p, p->nq, p->nk, blind, &lo, &hi);
        if (lo <= hi && hi >= first)
            break;
    }
    return blind;
}

static bool same_rows(const struct fb_tensor *x, const struct fb_tensor *y, int64_t rows)
{
    for (int64_t b = 0; b < x->shape[0]; b++) {
        const struct slice a = {b, 0, rows};
        for (int64_t h = 0; h < x->shape[1]; h++)
            for (int64_t n = 0; n < rows; n++)
                if (memcmp(element(x, &a, h, n), element(y, &a, h, n),
                           (size_t)x->shape[3] * fb_dtype_bytes(x->dtype)))
                    return false;
    }
    return true;
}

static void judge_future(const struct fb_args *whole, const struct fb_args *now, int64_t rows,
                         bool dq_held, struct fb_findings *findings)
{
    const char *moved = !same_rows(&whole->o, &now->o, rows)                ? "o"
                        : !same_rows(&whole->lse, &now->lse, rows)          ? "lse"
                        : dq_held && !same_rows(&whole->dq, &now->dq, rows) ? "dq"
                                                                            : "";
    if (!*moved)
        return;
    fb_findings_note(findings, "%s of a query changes with keys that it does not see", moved);
    findings->declared = findings->standard = FB_VERDICT_FAIL;
}

static enum fb_status check_future(struct fb_bench *bench, const struct fb_args *whole,
                                   struct fb_findings *findings, const bool held[3])
{
    const struct fb_problem *p = &bench->shared->problem;
    const int64_t first = p->nk / 2, rows = p->qlens || p->klens ? 0 : blind_queries(p, first);
    int64_t *items = rows && rows < p->nq ? malloc((size_t)(p->b + 1) * sizeof *items) : NULL;
    struct replay r;
    struct fb_args outputs;
    enum fb_status status;
    if (!items)
        return FB_OK;
    for (int64_t i = 0; i < p->b; i++)
        items[i] = i;
    FB_TRY_OUT(open_replay(&r, bench, items, p->b));
    negate_keys(&r.shared.inputs.args.k, first);
    negate_keys(&r.shared.inputs.args.v, first);
    FB_TRY_OUT(call_replay(&r, findings, &outputs));
    /* Bits that repeated by luck alone accuse nobody: dq's have to be promised. */
    const bool promised = bench->variant->properties.deterministic & FB_DET_DQ;
    judge_future(whole, &outputs, rows, held[0] && promised, findings);
out:
    close_replay(&r, bench);
    free(items);
    return status;
}

enum fb_status fb_check_replay(struct fb_bench *bench, struct fb_findings *findings,
                               const bool held[3])
{
    const struct fb_measure *measure = bench->shared->measure;
    struct fb_args whole;
    /* A dropout mask from outside belongs to these inputs alone. */
    if (bench->shared->keep)
        return FB_OK;
    /* Long problems cost too much for what shorter ones show as well, unless runs were asked for.
     */
    if (!(measure->what & FB_WHAT_DETERMINISM) || bench->torn ||
        (measure->det_runs < 10 && fb_cost_is_long(&bench->shared->problem)))
        return FB_OK;
    FB_TRY(fb_bench_fetch(bench, FB_PASS_FORWARD, &whole));
    FB_TRY(fb_bench_fetch(bench, FB_PASS_BACKWARD, &whole));
    FB_TRY(check_batch(bench, &whole, findings, held));
    return check_future(bench, &whole, findings, held);
}
