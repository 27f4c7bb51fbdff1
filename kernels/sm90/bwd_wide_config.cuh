/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shapes, shared-memory map and barriers of the key-major kernel for head size 256
 * (bwd_wide.cuh), as constants.
 *
 * Shared memory, KiB: K 32, V 32, Q ring 64, dO ring 64, P ring 32, LSE and delta 1: 225 of 227.
 * Registers of an MMA thread: 128 for its gradient, of 64 x 256 a warpgroup.
 */
#ifndef FB_KERNELS_SM90_BWD_WIDE_CONFIG_CUH
#define FB_KERNELS_SM90_BWD_WIDE_CONFIG_CUH

#include "kernels/sm90/bwd_config.cuh"

namespace fb {

template <class T_, bool CAUSAL_, int KEPT_ = 8>
struct wide_sm90_config {
    using T = T_;
    static constexpr int D = 256, M = 64, N = 64, KEPT = KEPT_;
    static constexpr bool CAUSAL = CAUSAL_;
    /* What the plan and the pre-pass ask of a key-major form. */
    static constexpr bool ORDERED = false, WITH_DQ = false, SHORT = false;
    static constexpr dq_form DQ = DQ_COLUMNS;
    static constexpr int DQ_ROUND = M, DQ_HALF = 0, PANELS = D / 64;

    static constexpr uint32_t Q_PANEL = M * 128, KV_PANEL = N * 128;
    static constexpr uint32_t Q_BYTES = PANELS * Q_PANEL, KV_BYTES = PANELS * KV_PANEL;
    static constexpr uint32_t P_BYTES = M * N * 4, STAT_BYTES = M * 4;

    struct map {
        char k[KV_BYTES], v[KV_BYTES];
        char q[2][Q_BYTES], dout[2][Q_BYTES], p[2][P_BYTES];
        char lse[2][STAT_BYTES], delta[2][STAT_BYTES];
        uint64_t q_full[2], q_empty[2], do_full[2], do_empty[2], p_full[2], p_empty[2];
        uint64_t k_empty, v_empty;
    };
    static constexpr uint32_t K_AT = offsetof(map, k), V_AT = offsetof(map, v);
    static constexpr uint32_t Q_AT = offsetof(map, q), DO_AT = offsetof(map, dout);
    static constexpr uint32_t P_AT = offsetof(map, p);
    static constexpr uint32_t LSE_AT = offsetof(map, lse), DELTA_AT = offsetof(map, delta);
    static constexpr uint32_t Q_FULL = offsetof(map, q_full), Q_EMPTY = offsetof(map, q_empty);
    static constexpr uint32_t DO_FULL = offsetof(map, do_full), DO_EMPTY = offsetof(map, do_empty);
    static constexpr uint32_t P_FULL = offsetof(map, p_full), P_EMPTY = offsetof(map, p_empty);
    static constexpr uint32_t K_EMPTY = offsetof(map, k_empty), V_EMPTY = offsetof(map, v_empty);
    static constexpr uint32_t SMEM_BYTES = sizeof(map);

    static_assert(KEPT >= 0 && KEPT <= D / 16, "16 steps of the first products");
    static_assert(SMEM_BYTES <= 232448, "shared memory of an sm_90 CTA");
};

template <class C>
__device__ __forceinline__ void wide_barriers_init(uint32_t smem)
{
    for (int i = 0; i < 2; i++) {
        mbarrier_init(smem + C::Q_FULL + 8 * i, 1);
        mbarrier_init(smem + C::Q_EMPTY + 8 * i, 8);
        mbarrier_init(smem + C::DO_FULL + 8 * i, 1);
        mbarrier_init(smem + C::DO_EMPTY + 8 * i, 8);
        mbarrier_init(smem + C::P_FULL + 8 * i, 4);
        mbarrier_init(smem + C::P_EMPTY + 8 * i, 4);
    }
    mbarrier_init(smem + C::K_EMPTY, 4);
    mbarrier_init(smem + C::V_EMPTY, 4);
}

} // namespace fb
#endif
