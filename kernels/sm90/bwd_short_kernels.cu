/* SPDX-License-Identifier: BSD-3-Clause
 *
 * bwd_short_kernels.cu: the sm_90a backward of short sequences for one head size, FB_HEAD_DIM.
 *
 * When the form fits, its workspace and its launch; idea, budgets, barriers and determinism stand
 * in bwd_short.cuh. An object of its own: beside other kernels in one file ptxas spilled registers
 * of this one.
 */
#include "kernels/sm90/bwd_short.cuh"
#include "kernels/sm90/bwd_short.h"

namespace fb {

[[maybe_unused]] static inline int short_ctas(int64_t units)
{
    return (int)(units < device_sms ? units : device_sms);
}

/* The fp32 dQ of one unit for each CTA. */
template <int D>
size_t short_sm90<D>::workspace_bytes(int64_t batch, int64_t heads, int64_t nq)
{
    return (size_t)short_ctas(batch * heads) * ((nq + M - 1) / M) * (M * D * 4);
}

/*
 * A key head for every query head; two query tiles or more, and as many as the statistics have room
 * for; no more rounds than CTAs of a key tile each would make, or hardly; and q, dout and fp32 dQ
 * of the units in work at home in the L2, but that causal units come by half of them at a time.
 */
template <int D>
bool short_sm90<D>::fits(bool causal, int64_t batch, int64_t heads, int64_t kv_heads, int64_t nq,
                         int64_t nk)
{
    const int64_t units = batch * heads, tiles_m = (nq + M - 1) / M, tiles_n = (nk + 127) / 128;
    const int64_t l2_share = causal ? 72000000 : 36000000;

    if (heads != kv_heads || tiles_m < 2 || tiles_m * M > short_rows || nk == 0)
        return false;
    const int64_t rounds = (units + device_sms - 1) / device_sms * tiles_n;
    const int64_t key_rounds = (units * tiles_n + device_sms - 1) / device_sms;
    return 8 * rounds <= 9 * key_rounds && short_ctas(units) * tiles_m * (M * D * 8) <= l2_share;
}

template <class C>
static bool short_maps_make(bwd_short_args &a, const sm90_call &p)
{
    using T = typename C::T;
    return tensor_map_make<T>(&a.q, p.q, C::M) && tensor_map_make<T>(&a.o, p.o, C::M) &&
           tensor_map_make<T>(&a.dout, p.dout, C::M) && tensor_map_make<T>(&a.k, p.k, C::N) &&
           tensor_map_make<T>(&a.v, p.v, C::N) && tensor_map_make<T>(&a.dq, p.dq, 64) &&
           tensor_map_make<T>(&a.dk, p.dk, 64) && tensor_map_make<T>(&a.dv, p.dv, 64);
}

template <class T, int D, bool CAUSAL>
static cudaError_t short_enqueue(const sm90_call &p)
{
    using C = bwd_sm90_config<T, D, short_sm90<D>::M, CAUSAL, schedule<1, D == 128>, DQ_SHORT>;
    bwd_short_args a;
    cudaError_t error;

    a.units = p.q.batch * p.q.head, a.heads = p.q.head;
    a.nq = p.q.row, a.nk = p.k.row, a.offset = p.offset;
    a.tiles_m = (a.nq + C::M - 1) / C::M, a.tiles_n = (a.nk + C::N - 1) / C::N;
    a.lse = p.lse, a.lse_batch = p.lse_batch, a.lse_head = p.lse_head, a.lse_row = p.lse_row;
    a.scale = p.scale, a.scale_log2 = p.scale * log2_e;
    a.dq_acc = (float *)p.workspace;
    if (!short_maps_make<C>(a, p))
        return cudaErrorInvalidValue;
    error = shared_memory_allow(bwd_sm90_short<C>, C::SMEM_BYTES);
    if (error != cudaSuccess)
        return error;
    call_mark(p, "main");
    bwd_sm90_short<C><<<short_ctas(a.units), 384, C::SMEM_BYTES, p.stream>>>(a);
    return cudaGetLastError();
}

template <int D>
cudaError_t short_sm90<D>::enqueue(bool bf16, bool causal, const sm90_call &p)
{
    if (bf16)
        return causal ? short_enqueue<__nv_bfloat16, D, true>(p)
                      : short_enqueue<__nv_bfloat16, D, false>(p);
    return causal ? short_enqueue<__half, D, true>(p) : short_enqueue<__half, D, false>(p);
}

#if FB_HEAD_DIM == 64 || FB_HEAD_DIM == 128
template struct short_sm90<FB_HEAD_DIM>;
#endif

} // namespace fb
