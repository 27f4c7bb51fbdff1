/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/kernels/sm80_order.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>
#include <vector>

/* What only a device has: words of CUDA, the sums themselves, and the waiting for turns. */
#define __device__
#define __forceinline__ inline
#define FB_KERNELS_SM80_DQ_SUM_CUH
#define FB_KERNELS_PTX_TURN_CUH
#include "kernels/sm80/args.h"
namespace fb {
using std::max;
using std::min;
static const struct {
    unsigned x;
} threadIdx = {0};
enum sm80_form { SM80_NO_DQ, SM80_ANY, SM80_ATOMIC, SM80_ORDERED, SM80_PARTIALS };
/* What a warp does, in its order: it waits for a turn in a word of another, tells of one in its
 * own, or adds to a block. */
struct event {
    enum { WAIT, TELL, ADD } what;
    const unsigned *word;
    unsigned turn;
    int64_t block;
};
static std::vector<event> *events;

inline unsigned turn_look(const unsigned *)
{
    return 0;
}
inline unsigned turn_look_warp(const unsigned *)
{
    return 0;
}
inline void turn_wait_warp(const unsigned *word, unsigned turn)
{
    events->push_back({event::WAIT, word, turn, -1});
}
inline unsigned turn_tell_warp(unsigned *word, unsigned turn, unsigned)
{
    events->push_back({event::TELL, word, turn, -1});
    return 0;
}
template <int, int>
void sm80_dq_fetch(const fb_sm80_args &, int64_t);
template <bool, int, int MT, int NT>
void sm80_dq_add(const fb_sm80_args &, int64_t, int, int, const float (&)[MT][NT][4], bool);
} // namespace fb
#include "kernels/sm80/key_tile.cuh"

using namespace fb;

namespace {

/* Tiles of M queries and N keys; so small that every entry of a problem can be looked at. */
template <int M_, int N_>
struct config {
    static constexpr int M = M_, N = N_, D = 64, WARPS = 8;
    static constexpr bool GENERAL = true;
    static constexpr sm80_form FORM = SM80_ANY;
};

int divide_up(int n, int by)
{
    return (n + by - 1) / by;
}

/* A block of dQ: the CTA that adds to it, whose it is, and the key tiles that have added. */
struct block {
    int cta = -1, head = -1, batch = -1, m = -1;
    std::set<int> tiles;
    bool read = false;
};

template <class C>
class shared_tiles {
  public:
    shared_tiles(const fb_sm80_args &args)
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

/* The CTAs of ordered additions, each as the events of one of its warps. */
template <class C>
class turns {
  public:
    turns(const fb_sm80_args &args)
        : p(args), words((size_t)(sm80_turn_rows<C>(args) * C::WARPS)),
          ctas((size_t)sm80_turn_rows<C>(args))
    {
        p.turns = words.data();
    }

    const char *fault()
    {
        for (size_t i = 0; !why && i < ctas.size(); i++) {
            events = &ctas[i];
            walk(sm80_own_key_tile<C>(p, (int64_t)i), (int)i);
        }
        for (size_t i = 0; !why && i < ctas.size(); i++)
            check_waits((int)i);
        for (const auto &block : adders)
            for (size_t i = 1; !why && i < block.second.size(); i++)
                if (!is_behind(block.second[i - 1], block.second[i], block.first))
                    why = "added before the key tile before it has";
        return why;
    }

  private:
    /* sm80_walk without its products. */
    void walk(const sm80_key_tile &w, int cta)
    {
        sm80_step now = sm80_step_first(w);
        unsigned seen = w.steps > 0 ? sm80_first_look<C>(p, w, now) : 0;
        cta_of[w.row] = cta;
        for (int i = 0; i <= w.steps && w.steps > 0; i++) {
            const sm80_step old = sm80_step_next(w, now, true);
            if (i > 0) {
                sm80_begin_turn<C>(p, w, old, seen);
                add(w, old, cta);
            }
            if (i < w.steps && i > 0)
                seen = sm80_tell_turn<C>(p, w, old, sm80_look<C>(p, w, old, now));
            else if (i > 0)
                sm80_tell_turn<C>(p, w, old, 0);
            now = sm80_step_next(w, now);
        }
    }

    /* CTAs are gone through as they are launched, which is the order of additions to a block. */
    void add(const sm80_key_tile &w, const sm80_step &at, int cta)
    {
        const int64_t block = sm80_dq_block<C>(p, w, at);
        const bool fresh = adders[block].empty();
        if (sm80_assigns<C>(p, w, at.m) != fresh)
            why = fresh ? "added to what nobody has assigned" : "assigned over what was added";
        events->push_back({event::ADD, nullptr, 0, block});
        adders[block].push_back(cta);
    }

    int cta_at(const unsigned *word) const
    {
        const auto found = cta_of.find((int)((word - p.turns) / C::WARPS));
        return found == cta_of.end() ? (int)ctas.size() : found->second;
    }

    /* Nobody waits for a CTA that starts later, nor for what is never told. */
    void check_waits(int cta)
    {
        for (const event &e : ctas[(size_t)cta]) {
            unsigned told = 0;
            if (e.what != event::WAIT)
                continue;
            if (cta_at(e.word) >= cta) {
                why = "waits for a CTA that starts later";
                return;
            }
            for (const event &f : ctas[(size_t)cta_at(e.word)])
                told = f.what == event::TELL ? max(told, f.turn) : told;
            if (told < e.turn)
                why = "waits for ever";
        }
    }

    /* Has CTA `before` added to the block by what CTA `after` has heard of it before it adds? */
    bool is_behind(int before, int after, int64_t block) const
    {
        unsigned heard = 0;
        bool added = false;
        for (const event &e : ctas[(size_t)after]) {
            if (e.what == event::ADD && e.block == block)
                break;
            if (e.what == event::WAIT && cta_at(e.word) == before)
                heard = max(heard, e.turn);
        }
        for (const event &e : ctas[(size_t)before]) {
            added = added || (e.what == event::ADD && e.block == block);
            if (heard > 0 && e.what == event::TELL && e.turn >= heard)
                return added;
        }
        return false;
    }

    fb_sm80_args p;
    std::vector<unsigned> words;
    std::vector<std::vector<event>> ctas;
    std::map<int, int> cta_of;                  /* by row of the words */
    std::map<int64_t, std::vector<int>> adders; /* by block */
    const char *why = nullptr;
};

template <class C>
const char *fault_in(const sm80_order_problem &o, fb_sm80_dq policy)
{
    fb_sm80_args p;
    memset(&p, 0, sizeof p);
    p.batch = o.batch, p.heads = o.heads, p.kv_heads = o.kv_heads, p.nq = o.nq, p.nk = o.nk;
    p.causal = o.causal, p.top_left = o.top_left;
    p.window_left = o.window_left, p.window_right = o.window_right;
    p.cu_q = o.cu_q, p.cu_k = o.cu_k, p.aligned = 1, p.dq_policy = policy;
    p.section = o.section, p.turn = o.turn, p.descend = o.descend;
    const int units = o.batch * o.kv_heads;
    p.shares = {units, divide_up(o.nk, C::N), o.ctas, std::gcd(units, o.ctas)};
    return policy == FB_SM80_DQ_PARTIALS ? shared_tiles<C>(p).fault() : turns<C>(p).fault();
}

/* What `run` says of tiles of the size that the problem asks for. */
template <class Run>
auto with_tiles(const sm80_order_problem &o, Run run)
{
    switch (o.tiles) {
    case 0:
        return run(config<4, 8>());
    case 1:
        return run(config<8, 8>());
    default:
        return run(config<8, 4>());
    }
}

const char *fault_of(const sm80_order_problem &o, fb_sm80_dq policy)
{
    return with_tiles(o, [&](auto size) { return fault_in<decltype(size)>(o, policy); });
}

} // namespace

int sm80_order_key_tiles(const sm80_order_problem *problem)
{
    return problem->batch * problem->kv_heads *
           with_tiles(*problem, [&](auto size) { return divide_up(problem->nk, size.N); });
}

const char *sm80_order_shared_fault(const sm80_order_problem *problem)
{
    return fault_of(*problem, FB_SM80_DQ_PARTIALS);
}

const char *sm80_order_turns_fault(const sm80_order_problem *problem)
{
    return fault_of(*problem, FB_SM80_DQ_ORDERED);
}
