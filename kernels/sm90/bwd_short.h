/* SPDX-License-Identifier: BSD-3-Clause
 *
 * bwd_short.h: the sm_90a backward of short sequences (bwd_short.cuh) as host code calls it. It
 * is compiled once a head size (bwd_short_kernels.cu) and shared by the variants whose claims it
 * meets.
 */
#ifndef FB_KERNELS_SM90_BWD_UNIT_H
#define FB_KERNELS_SM90_BWD_UNIT_H

#include "kernels/sm90/call.cuh"

namespace fb {

template <int D>
struct short_sm90 {
    static constexpr int M = D == 128 ? 64 : 128; /* rows of a query tile */

    /* Is this the faster form of these sizes? It computes no others. */
    static bool fits(bool causal, int64_t batch, int64_t heads, int64_t kv_heads, int64_t nq,
                     int64_t nk);
    static size_t workspace_bytes(int64_t batch, int64_t heads, int64_t nq);
    static cudaError_t enqueue(bool bf16, bool causal, const sm90_call &call);
};

} // namespace fb
#endif
