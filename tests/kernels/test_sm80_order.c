/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The order of dQ in the deterministic forms of the mma.sync backward, on random problems, by the
 * kernel's own functions: each block is assigned once, before anything is added. Partials: by one
 * CTA; the last pass reads each block once, none that nobody wrote, and so every key tile that a
 * query tile sees. Ordered: what a CTA waits for makes it add behind the one before it, and nobody
 * waits for what does not come.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tests/tap.h"

#ifndef HAVE_CUDA

int main(void)
{
    tap_skip("sm80 order: built without CUDA");
    return tap_done();
}

#else

#include "tests/random_tensor.h"
#include "tests/kernels/sm80_order.h"

enum { PROBLEMS = 2000, MOST = 4 };

static int between(int low, int high)
{
    const int x = low + (int)((draw() + 1) / 2 * (high - low + 1));
    return x > high ? high : x;
}

/* Mostly up to nine tiles, at times next to nothing. */
static int length(void)
{
    return between(0, 5) ? between(1, 72) : between(0, 3);
}

static int side(void)
{
    return between(0, 3) ? between(0, between(0, 2) ? 24 : 80) : -1;
}

/* Lengths of up to `most` rows a sequence, some of none; the longest is returned. */
static int pack(int batch, int most, int64_t cu[MOST + 1])
{
    int longest = 0;
    cu[0] = 0;
    for (int i = 0; i < batch; i++) {
        const int rows = between(0, 3) ? between(0, most) : 0;
        cu[i + 1] = cu[i] + rows;
        longest = rows > longest ? rows : longest;
    }
    return longest;
}

enum mask { FULL, CAUSAL, TOP_LEFT, WINDOW, CAUSAL_WINDOW, MASKS };
static const char *const mask_names[] = {"full", "causal", "causal from the top left", "windows",
                                         "windows under a causal mask"};

static void draw_problem(struct sm80_order_problem *p, enum mask mask)
{
    const int group = between(1, 3);
    *p = (struct sm80_order_problem){.batch = between(1, MOST), .kv_heads = between(1, 4)};
    p->heads = p->kv_heads * group;
    p->nq = length();
    p->nk = length();
    p->causal = mask == CAUSAL || mask == TOP_LEFT || mask == CAUSAL_WINDOW;
    p->top_left = mask == TOP_LEFT || (mask == CAUSAL_WINDOW && between(0, 1));
    p->window_left = mask >= WINDOW ? side() : -1;
    p->window_right = mask >= WINDOW ? side() : -1;
    p->tiles = between(0, SM80_ORDER_TILES - 1);
    p->section = between(1, p->batch * p->kv_heads);
    p->turn = between(0, 3);
    p->descend = between(0, 1);
}

/* As many CTAs as a machine may have: often a whole number a head. */
static int draw_ctas(const struct sm80_order_problem *p)
{
    const int all = sm80_order_key_tiles(p), units = p->batch * p->kv_heads;
    if (all == 0)
        return 0;
    return between(0, 3) ? between(1, all) : units * between(1, all / units);
}

/* A form of the backward: how its order is gone through. */
struct form {
    const char *name;
    const char *(*fault)(const struct sm80_order_problem *);
};

static void test_problems(const struct form *form, enum mask mask, bool packed)
{
    struct sm80_order_problem p;
    int64_t cu_q[MOST + 1], cu_k[MOST + 1];
    const char *why = NULL;
    int tried = 0;

    for (; !why && tried < PROBLEMS; tried++) {
        draw_problem(&p, mask);
        if (packed) {
            p.nq = pack(p.batch, p.nq, cu_q);
            p.nk = pack(p.batch, p.nk, cu_k);
            p.cu_q = cu_q;
            p.cu_k = cu_k;
        }
        p.ctas = draw_ctas(&p);
        why = form->fault(&p);
    }
    tap_ok(!why, "%s, %s%s: %d problems%s%s", form->name, packed ? "packed, " : "",
           mask_names[mask], tried, why ? ": " : "", why ? why : "");
    if (why)
        tap_note("b=%d h=%d hk=%d nq=%d nk=%d causal=%d top_left=%d window=%d:%d tiles=%d, "
                 "ctas=%d or section=%d turn=%d descend=%d",
                 p.batch, p.heads, p.kv_heads, p.nq, p.nk, p.causal, p.top_left, p.window_left,
                 p.window_right, p.tiles, p.ctas, p.section, p.turn, p.descend);
}

int main(void)
{
    static const struct form partials = {"partials", sm80_order_shared_fault};
    static const struct form ordered = {"ordered", sm80_order_turns_fault};
    for (int mask = 0; mask < MASKS; mask++) {
        test_problems(&partials, (enum mask)mask, false);
        test_problems(&partials, (enum mask)mask, true);
        test_problems(&ordered, (enum mask)mask, false);
        test_problems(&ordered, (enum mask)mask, true);
    }
    return tap_done();
}

#endif
