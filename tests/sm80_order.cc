/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/sm80_order.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>
#include <vector>

/* What only a device has: words of CUDA, the sums themselves, and the waiting for turns. */
#define __device__
#define __forceinline__ inline
#define FB_KERNELS_CUDA_SM80_DQ_SUM_CUH
#define FB_KERNELS_CUDA_TURN_CUH
#include "kernels/cuda/sm80_args.h"
namespace fb {
using std::max;
using std::min;
static const struct {
    unsigned x;
} threadIdx = {0};
enum sm80_form { SM80_NO_DQ, SM80_ANY, SM80_ATOMIC, SM80_ORDERED, SM80_PARTIALS };
template <int, int>
void sm80_dq_fetch(const fb_sm80_args &, int64_t);
template <bool, int, int MT, int NT>
void sm80_dq_add(const fb_sm80_args &, int64_t, int, int, const float (&)[MT][NT][4], bool);
} // namespace fb
#include "kernels/cuda/sm80_key_tile.cuh"

using namespace fb;

namespace {

/* Tiles of M queries and N keys; so small that every entry of a problem can be looked at. */
template <int M_, int N_>
struct config {
    static constexpr int M = M_, N = N_, D = 64, WARPS = 8;
    static constexpr bool GENERAL = true;
    static constexpr sm80_form FORM = SM80_PARTIALS;
};

int divide_up(int n, int by)
{
    return (n + by - 1) / by;
}

/* A block of dQ: the CTA that adds to it, and the key tiles that it has from whom it belongs to. */
struct block {
    int cta = -1, head = -1, batch = -1, m = -1;
    std::set<int> tiles;
    bool read = false;
};

template <class C>
class emulation {
  public:
    emulation(const fb_sm80_args &args)
        : p(args), group(args.heads / args.kv_heads), tiles_m(divide_up(args.nq, C::M)),
          blocks((size_t)(fb_sm80_copies(&args.shares) * group * tiles_m)),
          taken((size_t)args.shares.units * args.shares.tiles)
    {
    }

    const char *fault()
    {
        for (int cta = 0; !why && cta < p.shares.ctas; cta++) {
            const int start = fb_sm80_run_start(&p.shares, cta);
            for (int at = start; !why && at < fb_sm80_run_start(&p.shares, cta + 1); at++)
                walk(cta, sm80_shared_key_tile<C>(p, cta, start, at), at / p.shares.tiles);
        }
        for (size_t i = 0; !why && i < taken.size(); i++)
            if (!taken[i])
                why = "a key tile is not taken";
        for (int batch = 0; batch < p.batch; batch++)
            for (int head = 0; head < p.heads; head++)
                for (int m = 0; !why && m < tiles_m; m++)
                    sum(batch, head, m);
        for (size_t i = 0; !why && i < blocks.size(); i++)
            if (!blocks[i].tiles.empty() && !blocks[i].read)
                why = "a block is left out of the sum";
        return why;
    }

  private:
    /* The steps of one key tile: sm80_walk without its products. */
    void walk(int cta, const sm80_key_tile &w, int unit)
    {
        sm80_step at = sm80_step_first(w);
        if (taken[(size_t)unit * p.shares.tiles + w.n])
            why = "a key tile is taken twice";
        taken[(size_t)unit * p.shares.tiles + w.n] = true;
        for (int i = 0; !why && i < w.steps; i++) {
            const sm80_step next = sm80_step_next(w, at), back = sm80_step_next(w, next, true);
            if (back.head != at.head || back.m != at.m)
                why = "the step before the next one is another";
            else
                give(cta, w, at);
            at = next;
        }
    }

    void give(int cta, const sm80_key_tile &w, const sm80_step &at)
    {
        const int64_t number = sm80_dq_block<C>(p, w, at);
        if (number < 0 || number >= (int64_t)blocks.size() || at.m < 0 || at.m >= tiles_m) {
            why = "a block is out of range";
            return;
        }
        block &b = blocks[(size_t)number];
        const bool fresh = b.tiles.empty();
        if (!fresh && (b.cta != cta || b.head != at.head || b.batch != w.s.batch || b.m != at.m))
            why = "a block has two owners";
        else if (sm80_assigns<C>(p, w, at.m) != fresh)
            why = fresh ? "added to what nobody has assigned" : "assigned over what was added";
        else if (!b.tiles.insert(w.n).second)
            why = "a key tile adds twice";
        b.cta = cta, b.head = at.head, b.batch = w.s.batch, b.m = at.m;
    }

    /* The last pass of a query tile, against the key tiles that have an entry it sees. */
    void sum(int batch, int head, int m)
    {
        const sm80_sequence s = sm80_sequence_find(p, batch);
        const int first = sm80_first_key_tile(s, m, C::M, C::N);
        const int last = sm80_last_key_tile(s, m, C::M, C::N);
        const int unit = batch * p.kv_heads + head / group;
        std::set<int> found;
        if (m * C::M >= s.nq)
            return;
        for (int cta = 0; first <= last && cta < p.shares.ctas; cta++) {
            const fb_sm80_part part =
                fb_sm80_part_of(&p.shares, unit, fb_sm80_run_start(&p.shares, cta),
                                fb_sm80_run_start(&p.shares, cta + 1));
            if (part.first < part.last && fb_sm80_part_visits(&p.shares, &part, first, last))
                read(fb_sm80_copy_of(&p.shares, cta, unit), batch, head, m, &found);
        }
        for (int n = 0; !why && n < p.shares.tiles; n++)
            if (sees(s, m, n) && !found.count(n))
                why = "a key tile is missing in the sum";
    }

    void read(int copy, int batch, int head, int m, std::set<int> *found)
    {
        block &b = blocks[((size_t)copy * group + head % group) * tiles_m + m];
        if (b.tiles.empty())
            why = "read what nobody has assigned";
        else if (b.read)
            why = "a block is read twice";
        else if (b.batch != batch || b.head != head || b.m != m)
            why = "a block of others is read";
        for (int n : b.tiles)
            if (!found->insert(n).second)
                why = "a key tile is in two blocks of a sum";
        b.read = true;
    }

    static bool sees(const sm80_sequence &s, int m, int n)
    {
        for (int q = m * C::M; q < min(s.nq, (m + 1) * C::M); q++)
            for (int k = n * C::N; k < (n + 1) * C::N; k++)
                if (sm80_visible(s, q, k))
                    return true;
        return false;
    }

    const fb_sm80_args &p;
    const int group, tiles_m;
    std::vector<block> blocks;
    std::vector<bool> taken;
    const char *why = nullptr;
};

template <class C>
const char *fault_of(const sm80_order_problem &o)
{
    fb_sm80_args p;
    memset(&p, 0, sizeof p);
    p.batch = o.batch, p.heads = o.heads, p.kv_heads = o.kv_heads, p.nq = o.nq, p.nk = o.nk;
    p.causal = o.causal, p.top_left = o.top_left;
    p.window_left = o.window_left, p.window_right = o.window_right;
    p.cu_q = o.cu_q, p.cu_k = o.cu_k, p.aligned = 1, p.dq_policy = FB_SM80_DQ_PARTIALS;
    const int units = o.batch * o.kv_heads;
    p.shares = {units, divide_up(o.nk, C::N), o.ctas, std::gcd(units, o.ctas)};
    return emulation<C>(p).fault();
}

} // namespace

int sm80_order_key_tiles(const sm80_order_problem *problem)
{
    return problem->batch * problem->kv_heads * divide_up(problem->nk, problem->tiles == 2 ? 4 : 8);
}

const char *sm80_order_fault(const sm80_order_problem *problem)
{
    switch (problem->tiles) {
    case 0:
        return fault_of<config<4, 8>>(*problem);
    case 1:
        return fault_of<config<8, 8>>(*problem);
    default:
        return fault_of<config<8, 4>>(*problem);
    }
}
