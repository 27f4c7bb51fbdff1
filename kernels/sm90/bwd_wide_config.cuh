/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shapes, shared-memory map and barriers of the key-major kernel for head size 256
 * (bwd_wide.cuh), as constants.
 *
 * Shared memory, KiB: K 32, V 32, Q ring 64, dO ring 64, P ring 32, LSE and D 1: 225 of 227.
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
    static constexpr bool ORDERED = false, WITH_DQ = false, UNIT = false;
    static constexpr dq_form DQ = DQ_COLUMNS;
    static constexpr int DQ_ROUND = M, DQ_HALF = 0, PANELS = D / 64;

    static constexpr uint32_t Q_PANEL = M * 128, KV_PANEL = N * 128;
    static constexpr uint32_t Q_BYTES = PANELS * Q_PANEL, KV_BYTES = PANELS * KV_PANEL;
    static constexpr uint32_t P_BYTES = M * N * 4, STAT_BYTES = M * 4;

    static constexpr uint32_t K_AT = 0;
    static constexpr uint32_t V_AT = K_AT + KV_BYTES;
    static constexpr uint32_t Q_AT = V_AT + KV_BYTES;
    static constexpr uint32_t DO_AT = Q_AT + 2 * Q_BYTES;
    static constexpr uint32_t P_AT = DO_AT + 2 * Q_BYTES;
    static constexpr uint32_t LSE_AT = P_AT + 2 * P_BYTES;
    static constexpr uint32_t DELTA_AT = LSE_AT + 2 * STAT_BYTES;

    static constexpr uint32_t Q_FULL = DELTA_AT + 2 * STAT_BYTES;
    static constexpr uint32_t Q_EMPTY = Q_FULL + 16;
    static constexpr uint32_t DO_FULL = Q_FULL + 32;
    static constexpr uint32_t DO_EMPTY = Q_FULL + 48;
    static constexpr uint32_t P_FULL = Q_FULL + 64;
    static constexpr uint32_t P_EMPTY = Q_FULL + 80;
    static constexpr uint32_t K_EMPTY = Q_FULL + 96;
    static constexpr uint32_t V_EMPTY = Q_FULL + 104;
    static constexpr uint32_t SMEM_BYTES = Q_FULL + 112;

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
