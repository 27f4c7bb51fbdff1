/* SPDX-License-Identifier: BSD-3-Clause
 *
 * test_blocks.c: the device reference's walk over blocks of queries, on the host: its
 * GEMMs and its softmax are plain loops here. For any room the blocks follow on one another, hold
 * all keys that their queries see and no more, fit, and give what the CPU's reference gives.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/reference/ref_world.h"
#include "tests/tap.h"

/* A program with CUDA has functions of these names already. */
#define fb_cublas_gemm loops_gemm
#define fb_ref_device_softmax loops_softmax
#define fb_ref_device_gradient loops_gradient
#define fb_ref_device_run loops_run
#include "verify/device/blocks.c"

/* What the walk did. */
static struct {
    int64_t blocks, next; /* next: the first query that has not been in a block */
    bool sound;
} walk;

/* ---- In place of the device -------------------------------------------------------------------
 */

int fb_cublas_gemm(void *handle, const struct fb_cublas_gemm *g)
{
    (void)handle;
    for (int64_t e = 0; e < g->batch * g->m * g->n; e++) {
        const int64_t batch = e / (g->m * g->n), row = e / g->n % g->m, column = e % g->n;
        const double *a = (const double *)g->a + batch * g->step_a;
        const double *b = (const double *)g->b + batch * g->step_b;
        double *c = (double *)g->c + batch * g->step_c + row * g->ldc + column, sum = 0;
        for (int64_t k = 0; k < g->k; k++)
            sum += a[g->a_turned ? k * g->lda + row : row * g->lda + k] *
                   b[g->b_turned ? column * g->ldb + k : k * g->ldb + column];
        *c = g->alpha * sum + (g->beta == 0 ? 0 : g->beta * *c);
    }
    return 0;
}

static bool is_sound(const struct fb_ref_device_call *call, const struct fb_ref_device_block *block)
{
    int64_t from = call->nk, end = 0;
    for (int64_t i = block->first; i < block->first + block->rows; i++)
        if (call->host_lo[i] < call->host_hi[i]) {
            from = call->host_lo[i] < from ? call->host_lo[i] : from;
            end = call->host_hi[i] > end ? call->host_hi[i] : end;
        }
    const bool fits = block->rows * block->keys * call->key_heads <= call->room;
    return fits && block->rows > 0 && block->first + block->rows <= call->nq &&
           (from < end ? block->from == from && block->keys == end - from : block->keys == 0);
}

/* Once for each member of a group, whose blocks are the same. */
static void look(const struct fb_ref_device_call *call, const struct fb_ref_device_block *block)
{
    const int64_t first = block->member ? walk.next - block->rows : walk.next;
    walk.sound = walk.sound && is_sound(call, block) && block->first == first;
    walk.blocks += block->member == 0;
    walk.next = block->first + block->rows;
}

int fb_ref_device_softmax(const struct fb_ref_device_call *call,
                          const struct fb_ref_device_block *block)
{
    look(call, block);
    for (int64_t r = 0; r < call->key_heads * block->rows; r++) {
        const int64_t i = block->first + r % block->rows;
        const int64_t head = r / block->rows * (call->heads / call->key_heads) + block->member;
        const double *s = call->product + r * block->keys;
        double *p = call->p + r * block->keys, sum = 0;
        for (int64_t j = 0; j < block->keys; j++) {
            const int64_t key = block->from + j;
            p[j] = key >= call->lo[i] && key < call->hi[i] ? exp(call->scale * s[j]) : 0;
            sum += p[j];
        }
        for (int64_t j = 0; j < block->keys; j++)
            p[j] = sum > 0 ? p[j] / sum : 0;
        call->lse[head * call->nq + i] = log(sum);
    }
    return 0;
}

int fb_ref_device_gradient(const struct fb_ref_device_call *call,
                           const struct fb_ref_device_block *block)
{
    for (int64_t r = 0; r < call->key_heads * block->rows; r++) {
        const int64_t i = block->first + r % block->rows;
        const int64_t head = r / block->rows * (call->heads / call->key_heads) + block->member;
        const int64_t at = (head * call->nq + i) * call->dv_width;
        double delta = 0;
        for (int64_t c = 0; c < call->dv_width; c++)
            delta += call->dout[at + c] * call->o[at + c];
        for (int64_t n = r * block->keys; n < (r + 1) * block->keys; n++)
            call->dp[n] = call->p[n] * (call->dp[n] - delta);
    }
    return 0;
}

/* ---- Problems ---------------------------------------------------------------------------------
 */

static double *zeros(int64_t count)
{
    return calloc((size_t)count + 1, sizeof(double));
}

/* The keys that the queries see, first and one past the last. */
static int64_t *bounds(const struct fb_problem *p, bool upper)
{
    int64_t *bound = malloc((size_t)(p->nq + 1) * sizeof *bound);
    for (int64_t i = 0; i < p->nq; i++) {
        const int64_t at = i + p->nk - p->nq;
        int64_t lo = p->window_left == FB_OPEN ? 0 : at - p->window_left;
        int64_t hi = p->mask == FB_MASK_CAUSAL    ? at + 1
                     : p->window_right == FB_OPEN ? p->nk
                                                  : at + p->window_right + 1;
        lo = lo > 0 ? lo : 0;
        hi = hi < p->nk ? hi : p->nk;
        bound[i] = upper ? hi : lo;
    }
    return bound;
}

static struct fb_ref_device_call open_call(const struct ref_world *w, int64_t room)
{
    const struct fb_problem *p = &w->p;
    const int64_t q = p->b * p->h * p->nq, k = p->b * p->hk * p->nk;
    const int64_t all = p->b * p->hk * p->nq * p->nk; /* a block too large is told, not felt */
    const int64_t *lo = bounds(p, false), *hi = bounds(p, true);
    return (struct fb_ref_device_call){.q = w->in.q.data,
                                       .k = w->in.k.data,
                                       .v = w->in.v.data,
                                       .dout = w->in.dout.data,
                                       .o = zeros(q * p->dv),
                                       .lse = zeros(q),
                                       .dq = zeros(q * p->d),
                                       .dk = zeros(k * p->d),
                                       .dv = zeros(k * p->dv),
                                       .lo = lo,
                                       .hi = hi,
                                       .host_lo = lo,
                                       .host_hi = hi,
                                       .product = zeros(all),
                                       .p = zeros(all),
                                       .dp = zeros(all),
                                       .room = room,
                                       .h = p->h,
                                       .heads = p->b * p->h,
                                       .key_heads = p->b * p->hk,
                                       .nq = p->nq,
                                       .nk = p->nk,
                                       .d = p->d,
                                       .dv_width = p->dv,
                                       .scale = p->scale};
}

static void close_call(struct fb_ref_device_call *call)
{
    double *const owned[] = {call->o,  call->lse,     call->dq, call->dk,
                             call->dv, call->product, call->p,  call->dp};
    for (size_t n = 0; n < sizeof owned / sizeof *owned; n++)
        free(owned[n]);
    free((void *)call->lo);
    free((void *)call->hi);
}

static bool near(const double *got, const double *want, int64_t count)
{
    for (int64_t n = 0; n < count; n++)
        if (!(got[n] == want[n] || fabs(got[n] - want[n]) <= 1e-12 * (1 + fabs(want[n]))))
            return false;
    return true;
}

/* Blocks that a room of so many rows of all keys makes; 0 where anything is wrong. */
static int64_t blocks_of(const struct ref_world *w, int64_t rows)
{
    const struct fb_ref_tensors *want = &w->out;
    struct fb_ref_device_call call = open_call(w, rows * w->p.b * w->p.hk * w->p.nk);
    walk.blocks = walk.next = 0;
    walk.sound = true;
    const bool good = loops_run(&call) == 0 && walk.sound && walk.next == call.nq &&
                      near(call.o, want->o, want->q_count * call.dv_width) &&
                      near(call.lse, want->lse, want->q_count) &&
                      near(call.dq, want->dq, want->q_count * call.d) &&
                      near(call.dk, want->dk, want->k_count * call.d) &&
                      near(call.dv, want->dv, want->k_count * call.dv_width);
    close_call(&call);
    return good ? walk.blocks : 0;
}

static void test_problem(const char *text, int64_t with_room_for_four)
{
    struct ref_world w;
    int64_t last = 0;
    bool good = true;
    ref_world_make(&w, text, 1, 0);
    good = ref_world_compute(&w);
    for (int64_t rows = 1; rows <= w.p.nq + 1 && good; rows++) {
        const int64_t blocks = blocks_of(&w, rows);
        good = blocks > 0 && (rows == 1 || blocks <= last);
        last = blocks;
    }
    tap_ok(good && last == 1, "%s: right in any room, in one block at last", text);
    const int64_t four = blocks_of(&w, 4);
    tap_ok(four == with_room_for_four,
           "... with room for four rows of all keys in %lld blocks (%lld)", (long long)four,
           (long long)with_room_for_four);
    ref_world_drop(&w);
}

/* Blocks with room for four rows, by hand: 23 = 5 * 4 + 3; r rows from the diagonal's f-th on want
 * r (f + r) <= 96: 9, 6, 4, 4, 1; 31 rows without a key and the next, 5, 3; 15, 13, 13, 13, 10
 * under the window; 28 rows without a key and the next, 6, 5. */
int main(void)
{
    test_problem("b=2,h=4,hk=2,nq=23,nk=31,d=6,dv=5,dtype=fp32", 6);
    test_problem("b=1,h=4,hk=2,nq=24,nk=24,d=6,causal,dtype=fp32", 5);
    test_problem("b=2,h=2,hk=1,nq=40,nk=9,d=4,causal,dtype=fp32", 3);
    test_problem("b=1,h=2,nq=64,nk=64,d=4,window=3:2,dtype=fp32", 5);
    test_problem("b=1,h=2,nq=40,nk=12,d=4,window=3:0,dtype=fp32", 3);
    return tap_done();
}
