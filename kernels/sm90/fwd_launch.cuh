/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host side of the sm_90a forward: one launch, of one CTA an item, or of as many as run at once and
 * stay for all items.
 *
 * Full masks and short causal ones stay. Long causal items are left to the order of the hardware,
 * longest first in L2 sections: staying CTAs lost 7 to 16 % there. Deterministic either way.
 */
#ifndef FB_KERNELS_SM90_FWD_LAUNCH_CUH
#define FB_KERNELS_SM90_FWD_LAUNCH_CUH

#include "kernels/sm90/call.cuh"
#include "kernels/sm90/fwd.cuh"

namespace fb {

template <class C>
inline cudaError_t fwd_sm90_enqueue(const sm90_call &p, bool stay)
{
    fwd_sm90_args a;
    cudaError_t error;

    const int most = C::CTAS * device_sms;
    a.work = q_major_plan<C::M, C::CAUSAL>(p, stay ? most : 0);
    a.lse = p.lse;
    a.lse_batch = p.lse_batch, a.lse_head = p.lse_head, a.lse_row = p.lse_row;
    a.scale = p.scale, a.scale_log2 = p.scale * log2_e;
    if (!tensor_map_make<typename C::T>(&a.q, p.q, C::M) ||
        !tensor_map_make<typename C::T>(&a.k, p.k, C::N) ||
        !tensor_map_make<typename C::T>(&a.v, p.v, C::N) ||
        !tensor_map_make<typename C::T>(&a.o, p.o, 64))
        return cudaErrorInvalidValue;
    error = shared_memory_allow(fwd_sm90_main<C>, C::SMEM_BYTES);
    if (error != cudaSuccess)
        return error;
    int ctas = stay && a.work.items > most ? most : a.work.items;
    call_mark(p, "main");
    fwd_sm90_main<C><<<ctas, C::THREADS, C::SMEM_BYTES, p.stream>>>(a);
    return cudaGetLastError();
}

} // namespace fb
#endif
