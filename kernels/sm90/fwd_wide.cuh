/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The forward for head size 256 on sm_90a: the main loop of fwd.cuh with tiles of 128 queries
 * x 80 keys, two warpgroups. O leaves from the place of Q, so a CTA has one item and does not stay.
 *
 * Shared memory, KiB: Q (then O) 64, K ring 80, V ring 80: 224 of 227.
 * Registers of an MMA thread: O 128 + S 40 + P 20 = 188 of 240.
 */
#ifndef FB_KERNELS_SM90_FWD_WIDE_CUH
#define FB_KERNELS_SM90_FWD_WIDE_CUH

#include "kernels/sm90/fwd_launch.cuh"

namespace fb {

template <class T, bool CAUSAL>
using wide_fwd_config = fwd_sm90_config<T, 256, 80, 2, CAUSAL, false>;

template <class T, bool CAUSAL>
inline cudaError_t wide_fwd_enqueue(const sm90_call &p)
{
    return fwd_sm90_enqueue<wide_fwd_config<T, CAUSAL>>(p, false);
}

} // namespace fb
#endif
