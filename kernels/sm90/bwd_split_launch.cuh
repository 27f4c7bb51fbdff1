/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host side of the split sm_90a backward: pre-pass, dK and dV key-major (bwd.cuh without its dQ),
 * dQ query-major (bwd_dq.cuh), and the sums of dK and dV where CTAs share a group of query heads.
 *
 * Differs from bwd_launch.cuh, whose plan and pre-pass it uses, in: no fp32 dQ, no turns and no
 * post-pass; LSE and delta always stand in the workspace, since dQ is written while others read
 * them.  The second kernel starts while the first one drains (bwd_dq.cuh says when).
 */
#ifndef FB_KERNELS_SM90_BWD_SPLIT_LAUNCH_CUH
#define FB_KERNELS_SM90_BWD_SPLIT_LAUNCH_CUH

#include "kernels/sm90/bwd_dq.cuh"
#include "kernels/sm90/bwd_launch.cuh"

namespace fb {

/* Enqueues the whole backward, dK and dV by K's kernel and dQ by Q's. */
template <class K, class Q>
inline cudaError_t split_sm90_enqueue(const sm90_call &p)
{
    bwd_sm90_args a;
    bwd_prepost_args s;
    dq_sm90_args d;
    cudaError_t error;

    bwd_args_fill<K>(a, s, p);
    d.work = q_major_plan<Q::M, Q::CAUSAL>(p);
    d.lse2 = a.stats.lse2, d.delta = a.stats.delta, d.stat_rows = stat_count_of<K>(a.nq);
    d.scale = a.scale, d.scale_log2 = a.scale_log2;
    if (!tensor_map_make<typename Q::T>(&d.q, p.q, Q::M) ||
        !tensor_map_make<typename Q::T>(&d.dout, p.dout, Q::M) ||
        !tensor_map_make<typename Q::T>(&d.k, p.k, Q::N) ||
        !tensor_map_make<typename Q::T>(&d.v, p.v, Q::N) ||
        !tensor_map_make<typename Q::T>(&d.dq, p.dq, 64))
        return cudaErrorInvalidValue;
    error = shared_memory_allow(dq_sm90_main<Q>, Q::SMEM_BYTES);
    if (error == cudaSuccess)
        error = bwd_enqueue_keys<K>(a, s, p, "keys");
    if (error != cudaSuccess)
        return error;
    call_mark(p, "queries");
    error = launch_dependent(dq_sm90_main<Q>, dim3(d.work.items), 384, Q::SMEM_BYTES, p.stream, d);
    return error == cudaSuccess ? bwd_enqueue_join<K>(a, p) : error;
}

} // namespace fb
#endif
