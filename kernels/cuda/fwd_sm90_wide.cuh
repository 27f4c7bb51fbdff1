/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The forward for head size 256 on sm_90a: the main loop of fwd_sm90.cuh with tiles of 128 queries
 * x 80 keys, two warpgroups. O leaves from the place of Q, so a CTA has one item and does not stay.
 *
 * Shared memory, KiB: Q (then O) 64, K ring 80, V ring 80: 224 of 227.
 * Registers of an MMA thread: O 128 + S 40 + P 20 = 188 of 240.
 */
#ifndef FB_KERNELS_CUDA_FWD_SM90_WIDE_CUH
#define FB_KERNELS_CUDA_FWD_SM90_WIDE_CUH

#include "wgmma_wide.cuh"

#include "fwd_sm90_launch.cuh"

namespace fb {

template <class T_, bool CAUSAL_>
struct wide_fwd_config {
    using T = T_;
    static constexpr int D = 256, N = 80, WGS = 2, M = 64 * WGS, STAGES = 2;
    static constexpr bool CAUSAL = CAUSAL_, PINGPONG = true;
    static constexpr int CTAS = 1, THREADS = 128 * (WGS + 1), PANELS = D / 64;
    static constexpr int REGISTERS = 240, LOADER_REGISTERS = 24;

    static constexpr uint32_t Q_PANEL = M * 128, KV_PANEL = N * 128;
    static constexpr uint32_t Q_BYTES = PANELS * Q_PANEL, KV_BYTES = PANELS * KV_PANEL;
    static constexpr uint32_t Q_AT = 0, O_AT = Q_AT;
    static constexpr uint32_t K_AT = Q_AT + Q_BYTES;
    static constexpr uint32_t V_AT = K_AT + STAGES * KV_BYTES;
    static constexpr uint32_t Q_FULL = V_AT + STAGES * KV_BYTES;
    static constexpr uint32_t Q_EMPTY = Q_FULL + 8;
    static constexpr uint32_t K_FULL = Q_FULL + 16;
    static constexpr uint32_t K_EMPTY = K_FULL + 8 * STAGES;
    static constexpr uint32_t V_FULL = K_EMPTY + 8 * STAGES;
    static constexpr uint32_t V_EMPTY = V_FULL + 8 * STAGES;
    static constexpr uint32_t SMEM_BYTES = V_EMPTY + 8 * STAGES;

    static_assert(SMEM_BYTES <= 232448, "shared memory of an sm_90 CTA");
};

template <class T, bool CAUSAL>
inline cudaError_t wide_fwd_enqueue(const sm90_call &p)
{
    return fwd_sm90_enqueue<wide_fwd_config<T, CAUSAL>>(p, false);
}

} // namespace fb
#endif
