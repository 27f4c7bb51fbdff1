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
 * LSE in base 2 and D, fp32, in whole query tiles, stand in the memory of the output dQ, which the
 * post-pass alone writes, all of it, behind the main kernel: in two dense arrays if dQ has no gaps;
 * else those of 16 query rows (stat_piece), 64 bytes each, fill the first 128 bytes of a row of
 * their head.  In the workspace, dense, if a head has fewer rows than it takes, and in the split
 * form, which writes dQ while others still read them.
 *
 * Shared memory, KiB:      K   V   Q ring   dO ring   dS ring   dQ   LSE, D   total
 *   D=128 M=64            32  32     32       32        32      32     1      193
 *   D=128 M=80            32  32     40       40        40      40     1.3    225.4 of 227
 *   D=64  M=128           16  16     32       32        64      32     2      194
 * Without dQ (DQ_NONE) the dS and dQ columns vanish: 129, 145.3 and 98.  A CTA that owns all of a
 * head (DQ_UNIT) has a tile of O besides, and LSE and D of two heads: 224.2 for D=128 M=64 and
 * D=64.
 */
#ifndef FB_KERNELS_SM90_BWD_CONFIG_CUH
#define FB_KERNELS_SM90_BWD_CONFIG_CUH

#include "kernels/ptx/elem.cuh"
#include "kernels/ptx/mbarrier.cuh"

namespace fb {

enum dq_form { DQ_COLUMNS, DQ_ROWS, DQ_SWAPPED };

/* The order in which one iteration issues its five products; see bwd_loop.cuh. */
template <int LAG_, bool EARLY_DV_>
struct schedule {
    static constexpr int LAG = LAG_;
    static constexpr bool EARLY_DV = EARLY_DV_;
};

/* How CTAs add into dQ: in any order, each query tile in a fixed order of key tiles, not at all
 * (the split backward, whose dQ is bwd_dq.cuh's), or one CTA all of a head's
 * (bwd_unit.cuh). */
enum dq_policy { DQ_ANY_ORDER, DQ_ORDERED, DQ_NONE, DQ_UNIT };

constexpr int unit_rows = 1024; /* query rows of a head under DQ_UNIT, at most */
constexpr int stat_piece = 16;  /* query rows whose LSE, or D, stand together wherever they are */

template <class T_, int D_, int M_, bool CAUSAL_, class SCHEDULE_, dq_policy POLICY_ = DQ_ANY_ORDER>
struct bwd_sm90_config {
    using T = T_;
    using SCHEDULE = SCHEDULE_;
    static constexpr int D = D_, M = M_, N = 128;
    static constexpr bool CAUSAL = CAUSAL_;
    static constexpr bool ORDERED = POLICY_ == DQ_ORDERED, WITH_DQ = POLICY_ != DQ_NONE;
    static constexpr bool UNIT = POLICY_ == DQ_UNIT;
    static constexpr dq_form DQ = M % 64 ? DQ_SWAPPED : D == 64 ? DQ_ROWS : DQ_COLUMNS;
    static constexpr int DQ_N = DQ == DQ_SWAPPED ? M : 64;    /* columns of a half's product */
    static constexpr int DQ_ROUND = DQ == DQ_SWAPPED ? 8 : M; /* rows of fp32 dQ a head, rounded */
    static constexpr int PANELS = D / 64;

    static constexpr uint32_t Q_PANEL = M * 128,
                              KV_PANEL = N * 128; /* bytes of a 64-column panel */
    static constexpr uint32_t Q_BYTES = PANELS * Q_PANEL, KV_BYTES = PANELS * KV_PANEL;
    /* M rows x 128 keys, a panel a warpgroup; one warpgroup's fp32 half of dQ. */
    static constexpr uint32_t DS_BYTES = WITH_DQ ? 2 * Q_PANEL : 0;
    static constexpr uint32_t DQ_HALF = WITH_DQ ? M * D * 2 : 0;
    static constexpr uint32_t STAT_BYTES = M * 4;
    static constexpr uint32_t STATS_BYTES = UNIT ? 2 * unit_rows * 4 : 2 * STAT_BYTES;

    static constexpr uint32_t K_AT = 0;
    static constexpr uint32_t V_AT = K_AT + KV_BYTES;
    static constexpr uint32_t Q_AT = V_AT + KV_BYTES;
    static constexpr uint32_t DO_AT = Q_AT + 2 * Q_BYTES;
    static constexpr uint32_t DS_AT = DO_AT + 2 * Q_BYTES;
    static constexpr uint32_t DQ_AT = DS_AT + 2 * DS_BYTES;
    static constexpr uint32_t O_AT = DQ_AT + 2 * DQ_HALF;
    static constexpr uint32_t LSE_AT = O_AT + (UNIT ? Q_BYTES : 0);
    static constexpr uint32_t DELTA_AT = LSE_AT + STATS_BYTES;

    /* Barriers, 8 bytes each; rings of two: +8 for stage (or warpgroup) 1. */
    static constexpr uint32_t Q_FULL = DELTA_AT + STATS_BYTES;
    static constexpr uint32_t Q_EMPTY = Q_FULL + 16;
    static constexpr uint32_t DO_FULL = Q_FULL + 32;
    static constexpr uint32_t DO_EMPTY = Q_FULL + 48;
    static constexpr uint32_t DS_FULL = Q_FULL + 64;
    static constexpr uint32_t DS_EMPTY = Q_FULL + 80;
    static constexpr uint32_t DQ_FULL = Q_FULL + 96;
    static constexpr uint32_t DQ_EMPTY = Q_FULL + 112;
    /* DQ_UNIT alone. */
    static constexpr uint32_t STAT_FULL = Q_FULL + 128;
    static constexpr uint32_t O_FULL = Q_FULL + 144;
    static constexpr uint32_t O_EMPTY = Q_FULL + 152;
    static constexpr uint32_t KV_EMPTY = Q_FULL + 160;
    static constexpr uint32_t SMEM_BYTES = Q_FULL + (UNIT ? 168 : 128);

    static_assert(D == 64 || D == 128, "head dimensions of this kernel");
    static_assert(DQ != DQ_ROWS || M == 128, "split by rows needs 64 rows a warpgroup");
    static_assert(WITH_DQ || !SCHEDULE::LAG, "without dQ there is nothing to lag");
    static_assert(M % stat_piece == 0 && D >= 4 * stat_piece,
                  "LSE and D of 16 rows fit a row of dQ");
    static_assert(!UNIT || (SCHEDULE::LAG && DQ != DQ_SWAPPED), "shapes of the unit form");
    static_assert(SMEM_BYTES <= 232448, "shared memory of an sm_90 CTA");
};

/* Where LSE in base 2 and D stand, in whole query tiles; strides in floats, `piece` from 16 rows to
 * the next. */
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
    return acc + (int64_t)(unit * tiles_m + tile) * (C::M * C::D) + w * (C::DQ_HALF / 4);
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

} // namespace fb
#endif
