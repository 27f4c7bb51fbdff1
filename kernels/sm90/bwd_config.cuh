/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shapes, shared-memory map and barriers of the sm_90a backward (bwd.cuh), as constants.
 *
 *   N = 128 keys a CTA, M query rows an iteration, D the head dimension; two MMA warpgroups own 64
 *   keys each.  dQ of one iteration (M x D) is computed by both warpgroups, each one half:
 *     DQ_COLUMNS   M = 64,  D = 128: a half is 64 rows x 64 columns of d, warpgroup w columns 64w..
 *     DQ_ROWS      M = 128, D = 64:  a half is 64 rows x 64 columns, warpgroup w rows 64w..
 *     DQ_SWAPPED   M = 80,  D = 128: dQ^T, 64 columns of d x 80 rows (80 is no multiple of 64)
 *
 * The fp32 dQ accumulator in global memory holds one block of M*D floats a query tile: half 0, half
 * 1, each in register order, floats 4c..4c+3 of thread t at 512c + 4t.  The post-pass undoes it.
 * Register order of DQ_SWAPPED goes by 8 query rows, so that there a head's last block ends with
 * the 8 rows that hold its last row, and nothing is kept for the rest of the tile.
 *
 * LSE in base 2 and delta, fp32, in whole query tiles, stand in the memory of the output dQ, which
 * the post-pass alone writes, all of it, behind the main kernel: in two dense arrays if dQ has no
 * gaps; else those of 16 query rows (stat_piece), 64 bytes each, fill the first 128 bytes of a row
 * of their head.  In the workspace, dense, if a head has fewer rows than it takes, and in the split
 * form, which writes dQ while others still read them.
 *
 * Shared memory, KiB:      K   V   Q ring   dO ring   dS ring   dQ   LSE, delta   total
 *   D=128 M=64            32  32     32       32        32      32     1      193
 *   D=128 M=80            32  32     40       40        40      40     1.3    225.4 of 227
 *   D=64  M=128           16  16     32       32        64      32     2      194
 * In any order (DQ_ANY_ORDER) dQ leaves from registers, and its column vanishes: 161, 185.4, 162.
 * Without dQ (DQ_NONE) the dS and dQ columns vanish: 129, 145.3 and 98.  A CTA that owns all of a
 * head (DQ_SHORT) has a tile of O besides, and LSE and delta of two heads: 224.2 for D=128 M=64 and
 * D=64.
 */
#ifndef FB_KERNELS_SM90_BWD_CONFIG_CUH
#define FB_KERNELS_SM90_BWD_CONFIG_CUH

#include <stddef.h>

#include "kernels/ptx/elem.cuh"
#include "kernels/ptx/mbarrier.cuh"
#include "kernels/ptx/tma.cuh"

namespace fb {

enum dq_form { DQ_COLUMNS, DQ_ROWS, DQ_SWAPPED };

/* When a warpgroup tells that its dS is stored: at once, behind dV, behind dK. */
enum ds_tell { DS_AT_ONCE, DS_BEHIND_DV, DS_BEHIND_DK };

/* The order in which one iteration issues its five products; see bwd_loop.cuh. */
template <int LAG_, bool EARLY_DV_, bool TURNS_ = false, bool DQ_FIRST_ = false,
          ds_tell TELL_ = DS_AT_ONCE>
struct schedule {
    static constexpr int LAG = LAG_;
    static constexpr bool EARLY_DV = EARLY_DV_, TURNS = TURNS_, DQ_FIRST = DQ_FIRST_;
    static constexpr ds_tell TELL = TELL_;
    static_assert(!DQ_FIRST || (LAG && !EARLY_DV), "only dQ of the iteration before is ready");
    static_assert(TELL != DS_BEHIND_DK || LAG, "dQ of the same iteration waits for it");
};

/* How CTAs add into dQ: in any order, each query tile in a fixed order of key tiles, not at all
 * (the split backward, whose dQ is bwd_dq.cuh's), or one CTA all of a head's
 * (bwd_short.cuh). */
enum dq_policy { DQ_ANY_ORDER, DQ_ORDERED, DQ_NONE, DQ_SHORT };

constexpr int short_rows = 1024; /* query rows of a head under DQ_SHORT, at most */
constexpr int stat_piece =
    16; /* query rows whose LSE, or delta, stand together wherever they are */

template <class T_, int D_, int M_, bool CAUSAL_, class SCHEDULE_, dq_policy POLICY_ = DQ_ANY_ORDER>
struct bwd_sm90_config {
    using T = T_;
    using SCHEDULE = SCHEDULE_;
    static constexpr int D = D_, M = M_, N = 128;
    static constexpr bool CAUSAL = CAUSAL_;
    static constexpr bool ORDERED = POLICY_ == DQ_ORDERED, WITH_DQ = POLICY_ != DQ_NONE;
    static constexpr bool SHORT = POLICY_ == DQ_SHORT;
    static constexpr bool DIRECT = POLICY_ == DQ_ANY_ORDER; /* dQ goes from registers to the L2 */
    static constexpr bool ADDS = DIRECT || ORDERED;         /* CTAs add into the same dQ */
    static constexpr dq_form DQ = M % 64 ? DQ_SWAPPED : D == 64 ? DQ_ROWS : DQ_COLUMNS;
    static constexpr int DQ_N = DQ == DQ_SWAPPED ? M : 64;    /* columns of a half's product */
    static constexpr int DQ_ROUND = DQ == DQ_SWAPPED ? 8 : M; /* rows of fp32 dQ a head, rounded */
    static constexpr int PANELS = D / 64;

    static constexpr uint32_t Q_PANEL = M * 128,
                              KV_PANEL = N * 128; /* bytes of a 64-column panel */
    static constexpr uint32_t Q_BYTES = PANELS * Q_PANEL, KV_BYTES = PANELS * KV_PANEL;
    /* M rows x 128 keys, a panel a warpgroup; one warpgroup's fp32 half of dQ. */
    static constexpr uint32_t DS_BYTES = WITH_DQ ? 2 * Q_PANEL : 0;
    static constexpr uint32_t DQ_HALF = WITH_DQ && !DIRECT ? M * D * 2 : 0;
    static constexpr uint32_t STAT_BYTES = M * 4;
    static constexpr uint32_t STATS_BYTES = SHORT ? 2 * short_rows * 4 : 2 * STAT_BYTES;

    /* What lies where in shared memory, which begins at a multiple of 1024 bytes, as all panels do.
     * Rings of two; dq, dq_full and dq_empty: one of each warpgroup. */
    struct map {
        char k[KV_BYTES], v[KV_BYTES];
        char q[2][Q_BYTES], dout[2][Q_BYTES];
        char ds[2][DS_BYTES], dq[2][DQ_HALF];
        char o[SHORT ? Q_BYTES : 0];
        char lse[STATS_BYTES], delta[STATS_BYTES];
        uint64_t q_full[2], q_empty[2], do_full[2], do_empty[2];
        uint64_t ds_full[2], ds_empty[2], dq_full[2], dq_empty[2];
        uint64_t stat_full[SHORT ? 2 : 0], o_full[SHORT], o_empty[SHORT], kv_empty[SHORT];
    };
    static constexpr uint32_t K_AT = offsetof(map, k), V_AT = offsetof(map, v);
    static constexpr uint32_t Q_AT = offsetof(map, q), DO_AT = offsetof(map, dout);
    static constexpr uint32_t DS_AT = offsetof(map, ds), DQ_AT = offsetof(map, dq);
    static constexpr uint32_t O_AT = offsetof(map, o);
    static constexpr uint32_t LSE_AT = offsetof(map, lse), DELTA_AT = offsetof(map, delta);
    static constexpr uint32_t Q_FULL = offsetof(map, q_full), Q_EMPTY = offsetof(map, q_empty);
    static constexpr uint32_t DO_FULL = offsetof(map, do_full), DO_EMPTY = offsetof(map, do_empty);
    static constexpr uint32_t DS_FULL = offsetof(map, ds_full), DS_EMPTY = offsetof(map, ds_empty);
    static constexpr uint32_t DQ_FULL = offsetof(map, dq_full), DQ_EMPTY = offsetof(map, dq_empty);
    static constexpr uint32_t STAT_FULL = offsetof(map, stat_full);
    static constexpr uint32_t O_FULL = offsetof(map, o_full), O_EMPTY = offsetof(map, o_empty);
    static constexpr uint32_t KV_EMPTY = offsetof(map, kv_empty);
    static constexpr uint32_t SMEM_BYTES = sizeof(map);

    static_assert(D == 64 || D == 128, "head dimensions of this kernel");
    static_assert(DQ != DQ_ROWS || M == 128, "split by rows needs 64 rows a warpgroup");
    static_assert(WITH_DQ || !SCHEDULE::LAG, "without dQ there is nothing to lag");
    static_assert(M % stat_piece == 0 && D >= 4 * stat_piece,
                  "LSE and delta of 16 rows fit a row of dQ");
    static_assert(!SHORT || (SCHEDULE::LAG && DQ != DQ_SWAPPED),
                  "shapes of the form for short sequences");
    static_assert(SMEM_BYTES <= 232448, "shared memory of an sm_90 CTA");
};

/* Where LSE in base 2 and delta stand, in whole query tiles; strides in floats, `piece` from 16
 * rows to the next. */
struct bwd_stats {
    float *lse2, *delta;
    int64_t batch, head, piece;
};

/* Rows of fp32 dQ that are kept of a query tile, of acc_rows a head. */
template <class C>
__device__ __forceinline__ int acc_tile_rows(int acc_rows, int tile)
{
    return C::DQ == DQ_SWAPPED ? min(C::M, acc_rows - tile * C::M) : C::M;
}

/* Half w of a query tile's fp32 dQ; unit = head of all batch entries. */
template <class C>
__device__ __forceinline__ float *acc_half(float *acc, int unit, int tiles_m, int acc_rows,
                                           int tile, int w)
{
    if (C::DQ == DQ_SWAPPED)
        return acc + ((int64_t)unit * acc_rows + tile * C::M) * C::D +
               w * acc_tile_rows<C>(acc_rows, tile) * (C::D / 2);
    return acc + (int64_t)(unit * tiles_m + tile) * (C::M * C::D) + w * (C::M * C::D / 2);
}

/* Arrivals: a thread that announces bytes, 8 MMA warps, or the 4 of one warpgroup. */
template <class C>
__device__ __forceinline__ void bwd_barriers_init(uint32_t smem)
{
    for (int i = 0; i < 2; i++) {
        mbarrier_init(smem + C::Q_FULL + 8 * i, 1);
        mbarrier_init(smem + C::Q_EMPTY + 8 * i, 8);
        mbarrier_init(smem + C::DO_FULL + 8 * i, 1);
        mbarrier_init(smem + C::DO_EMPTY + 8 * i, 8);
        mbarrier_init(smem + C::DS_FULL + 8 * i, 8);
        mbarrier_init(smem + C::DS_EMPTY + 8 * i, 8);
        mbarrier_init(smem + C::DQ_FULL + 8 * i, 4);
        mbarrier_init(smem + C::DQ_EMPTY + 8 * i, 1);
    }
}

/* ---- Which work a CTA does, in which order, and whose turn it is to add into dQ ---- */

/* What the host hands over; lengths in elements. */
struct bwd_sm90_args {
    CUtensorMap q, k, v, dout, dk, dv;
    bwd_stats stats;
    float *dq_acc, *parts; /* parts: fp32 dV and dK of each CTA, where a group is split */
    unsigned *turns;       /* DQ_ORDERED: additions done, [batch][head][query tile][half] */
    int batch, heads, kv_heads, nq, nk, tiles_m, tiles_n;
    int acc_rows; /* rows of fp32 dQ a head */
    int offset;   /* causal: query i sees keys up to i + offset */
    int splits;   /* CTAs that share the query heads of a group */
    int section;  /* batch x key head x split units launched together, key tile by key tile */
    float scale, scale_log2;
};

/* One CTA's work: 128 keys from `key`, query tiles [first, first + span) of the heads from `head`,
 * upwards or `down`. */
struct bwd_block {
    int batch, kv_head, split, head, key, tile_n, first, span, steps;
    bool down;
};

/* The first query tile of each head, and the next one; after the last the next head starts over. */
__device__ __forceinline__ int bwd_tile_start(const bwd_sm90_args &p, const bwd_block &b)
{
    return b.down ? p.tiles_m - 1 : b.first;
}

__device__ __forceinline__ int bwd_tile_next(const bwd_sm90_args &p, const bwd_block &b, int tile)
{
    if (b.down)
        return tile == b.first ? p.tiles_m - 1 : tile - 1;
    return tile + 1 == p.tiles_m ? b.first : tile + 1;
}

/*
 * Which work a CTA does.  Units of batch x key head x split of its group are launched in sections
 * (see the launcher).
 *
 * Ordered causal sections alternate.  Up: shortest key tiles first, each from its diagonal upwards.
 * Down: longest first, from the last query tile downwards.  The CTAs of an up section end in the
 * order of their lengths, those of the down section after it start as they do, and all end
 * together.  In both, a CTA waits for its turn only on CTAs launched before it.
 */
template <class C>
__device__ __forceinline__ bwd_block bwd_block_find(const bwd_sm90_args &p, int cta)
{
    bwd_block b;
    int units = p.batch * p.kv_heads * p.splits, group = p.heads / p.kv_heads;
    int section = cta / (p.section * p.tiles_n);
    int inside = cta - section * p.section * p.tiles_n;
    int width = min(p.section, units - section * p.section);
    int tile = inside / width;
    int unit = section * p.section + inside % width;

    b.down = C::ORDERED && C::CAUSAL && ((units - 1) / p.section - section) % 2 == 0;
    if (C::ORDERED && C::CAUSAL && !b.down)
        tile = p.tiles_n - 1 - tile;
    b.tile_n = tile;
    b.split = unit % p.splits;
    b.kv_head = unit / p.splits % p.kv_heads;
    b.batch = unit / p.splits / p.kv_heads;
    b.head = b.kv_head * group + b.split * group / p.splits;
    b.key = tile * C::N;
    b.first = C::CAUSAL ? max(0, b.key - p.offset) / C::M : 0;
    b.span = max(0, p.tiles_m - b.first);
    b.steps = ((b.split + 1) * group / p.splits - b.split * group / p.splits) * b.span;
    return b;
}

/*
 * How many key tiles add into query tile `tile` before this one (DQ_ORDERED).  Full or down: the
 * tiles before it.  Up: the visible tiles after it, so a CTA's first query tile, on its diagonal,
 * has rank 0 and nobody waits at the start.
 */
template <class C>
__device__ __forceinline__ unsigned bwd_rank(const bwd_sm90_args &p, const bwd_block &b, int tile)
{
    if (!C::CAUSAL || b.down)
        return b.tile_n;
    return min(p.tiles_n - 1, (tile * C::M + C::M - 1 + p.offset) / C::N) - b.tile_n;
}

} // namespace fb
#endif
