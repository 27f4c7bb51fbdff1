/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tiles and warps of the mma.sync backward (bwd.cuh) for each head size, as constants.
 *
 *   M query rows a step, N keys a CTA, 8 warps. Three layouts of the warps, rows x columns:
 *   S_* over S and dP [M][N], KV_* over dK and dV [N][D], Q_* over dQ [M][D].
 *
 * Registers a thread for accumulators: dK and dV live throughout, S and dP or dQ beside them.
 * Shared memory: K, V; two stages of Q, dO and statistics; P, dS. In KiB (one stage in brackets):
 *
 *     D     M x N     S, dP   dK, dV   dQ   K+V   Q+dO      P+dS   total
 *     64   128 x 128   64+64   32+32   32    32    64 (32)   64    162 (129)
 *     96    64 x 128   32+32   48+48   24    48    48 (24)   32    129 (104.5)
 *     128   64 x 128   32+32   64+64   32    64    64 (32)   32    161 (128.5)
 *     192   64 x 64    16+16   48+48   48    48    96 (48)   16    161 (112.5)
 *     256   64 x 64    16+16   64+64   64    64   128 (64)   16    209 (144.5)
 *
 * An A100 has 163 KiB a block, an H100 227. Devices with 99 KiB (8.6, 8.9) take small tiles:
 *
 *     64    64 x 64    32+32   32+32   32    16    32 (16)   16     65 (48.5)
 *     96    64 x 64    32+32   48+48   48    24    48 (24)   16     89 (64.5)
 *     128   64 x 64    32+32   64+64   64    32    64 (32)   16    113 (80.5)
 *     192   32 x 64     8+8    48+48   24    48    48 (24)    8    105 (80.5)
 *     256   32 x 32     8+8    64+64   64    32    64 (32)    4    101 (68.5)
 */
#ifndef FB_KERNELS_SM80_CONFIG_CUH
#define FB_KERNELS_SM80_CONFIG_CUH

#include "kernels/ptx/smem_tile.cuh"

namespace fb {

template <int DIM, bool SMALL>
struct sm80_tiles; /* M, N, warps, CTAs an SM and the three layouts */

template <>
struct sm80_tiles<32, false> {
    static constexpr int M = 128, N = 128, WARPS = 8, CTAS = 1;
    static constexpr int S_M = 4, S_N = 2, KV_N = 4, KV_D = 2, Q_M = 4, Q_D = 2;
};
template <>
struct sm80_tiles<64, false> {
    static constexpr int M = 128, N = 128, WARPS = 8, CTAS = 1;
    static constexpr int S_M = 4, S_N = 2, KV_N = 4, KV_D = 2, Q_M = 4, Q_D = 2;
};
template <>
struct sm80_tiles<96, false> {
    static constexpr int M = 64, N = 128, WARPS = 8, CTAS = 1;
    static constexpr int S_M = 2, S_N = 4, KV_N = 4, KV_D = 2, Q_M = 4, Q_D = 2;
};
template <>
struct sm80_tiles<128, false> {
    static constexpr int M = 64, N = 128, WARPS = 8, CTAS = 1;
    static constexpr int S_M = 2, S_N = 4, KV_N = 4, KV_D = 2, Q_M = 2, Q_D = 4;
};
template <>
struct sm80_tiles<192, false> {
    static constexpr int M = 64, N = 64, WARPS = 8, CTAS = 1;
    static constexpr int S_M = 4, S_N = 2, KV_N = 2, KV_D = 4, Q_M = 2, Q_D = 4;
};
template <>
struct sm80_tiles<256, false> {
    static constexpr int M = 64, N = 64, WARPS = 8, CTAS = 1;
    static constexpr int S_M = 4, S_N = 2, KV_N = 2, KV_D = 4, Q_M = 2, Q_D = 4;
};

template <>
struct sm80_tiles<32, true> {
    static constexpr int M = 64, N = 64, WARPS = 4, CTAS = 1;
    static constexpr int S_M = 2, S_N = 2, KV_N = 2, KV_D = 2, Q_M = 4, Q_D = 1;
};
template <>
struct sm80_tiles<64, true> {
    static constexpr int M = 64, N = 64, WARPS = 4, CTAS = 1;
    static constexpr int S_M = 2, S_N = 2, KV_N = 2, KV_D = 2, Q_M = 2, Q_D = 2;
};
template <>
struct sm80_tiles<96, true> {
    static constexpr int M = 64, N = 64, WARPS = 4, CTAS = 1;
    static constexpr int S_M = 2, S_N = 2, KV_N = 2, KV_D = 2, Q_M = 2, Q_D = 2;
};
template <>
struct sm80_tiles<128, true> {
    static constexpr int M = 64, N = 64, WARPS = 4, CTAS = 1;
    static constexpr int S_M = 2, S_N = 2, KV_N = 2, KV_D = 2, Q_M = 2, Q_D = 2;
};
template <>
struct sm80_tiles<192, true> {
    static constexpr int M = 32, N = 64, WARPS = 8, CTAS = 1;
    static constexpr int S_M = 2, S_N = 4, KV_N = 2, KV_D = 4, Q_M = 2, Q_D = 4;
};
template <>
struct sm80_tiles<256, true> {
    static constexpr int M = 32, N = 32, WARPS = 4, CTAS = 1;
    static constexpr int S_M = 2, S_N = 2, KV_N = 2, KV_D = 2, Q_M = 2, Q_D = 2;
};

/* Small tiles are compiled for devices before 9.0 alone: of later ones only such as
 * run from PTX have so little shared memory, and the host refuses those. */
#if __CUDA_ARCH__ >= 900
constexpr bool sm80_small_compiled = false;
#else
constexpr bool sm80_small_compiled = true;
#endif

/* What a kernel does about dQ: nothing, adds in the way that it is told to, or in one way alone,
 * which leaves it registers that others' turns and shares would take. */
enum sm80_form { SM80_NO_DQ, SM80_ANY, SM80_ATOMIC, SM80_ORDERED, SM80_PARTIALS };

/* TYPE: the 16-bit type; DIM: columns, padded; GENERAL: the kernel that knows everything; SMALL:
 * for devices with 99 KiB a block. */
template <class TYPE, int DIM, bool GENERAL_, sm80_form FORM_, bool SMALL_ = false>
struct sm80_config : sm80_tiles<DIM, SMALL_> {
    using T = TYPE;
    using tiles = sm80_tiles<DIM, SMALL_>;
    using tiles::KV_D;
    using tiles::KV_N;
    using tiles::M;
    using tiles::N;
    using tiles::Q_D;
    using tiles::Q_M;
    using tiles::S_M;
    using tiles::S_N;
    using tiles::WARPS;
    static constexpr int D = DIM, THREADS = 32 * WARPS;
    static constexpr bool GENERAL = GENERAL_, WITH_DQ = FORM_ != SM80_NO_DQ, SMALL = SMALL_;
    static constexpr sm80_form FORM = FORM_;
    static constexpr bool COMPILED = !SMALL || sm80_small_compiled;
    static_assert(S_M * S_N == WARPS && KV_N * KV_D == WARPS && Q_M * Q_D == WARPS, "all warps");

    /* A warp's accumulators: blocks of 16 rows, blocks of 8 columns. */
    static constexpr int S_MT = M / S_M / 16, S_NT = N / S_N / 8;
    static constexpr int KV_MT = N / KV_N / 16, KV_NT = D / KV_D / 8;
    /* dQ is made this many parts of the columns after each other, where the whole leaves too few
     * registers to load fragments ahead: 5 % at D = 256. */
    static constexpr int Q_PARTS = D == 256 ? 2 : 1;
    static constexpr int Q_MT = M / Q_M / 16, Q_NT = D / Q_D / Q_PARTS / 8;
    static_assert(S_MT * 16 * S_M == M && S_NT * 8 * S_N == N && S_NT % 2 == 0, "S");
    static_assert(KV_MT * 16 * KV_N == N && KV_NT * 8 * KV_D == D && KV_NT % 2 == 0, "dK, dV");
    static_assert(Q_MT * 16 * Q_M == M && Q_NT * 8 * Q_D * Q_PARTS == D && Q_NT % 2 == 0, "dQ");

    /* Shared memory, in bytes from its start: two barrier rings and one barrier, then tiles. */
    static constexpr int Q_BYTES = M * D * 2, KV_BYTES = N * D * 2, S_BYTES = M * N * 2;
    static constexpr int STAT_BYTES = M * 4;
    static constexpr int FULL_AT = 0, FREE_AT = 16, PLACE_AT = 24, K_AT = 128;
    static constexpr int V_AT = K_AT + KV_BYTES, P_AT = V_AT + KV_BYTES, DS_AT = P_AT + S_BYTES;
    static constexpr int STAGE_AT = DS_AT + S_BYTES; /* q, dout, lse2, delta; as often as stages */
    static constexpr int STAGE_BYTES = 2 * Q_BYTES + 2 * STAT_BYTES;
    static constexpr int smem_bytes(int stages)
    {
        return STAGE_AT + stages * STAGE_BYTES;
    }
};

} // namespace fb
#endif
