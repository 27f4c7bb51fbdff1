/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The split backward for head size 256: tiles of its dQ kernel, the sums of parts where CTAs share
 * a group of query heads, and the launches. Plan and pre-pass are those of bwd_launch.cuh.
 *
 * Differs from the smaller sizes: CTAs of the keys kernel stay for further tiles with full masks
 * and short causal ones; there is no dQ in fp32 and no order to keep. Deterministic.
 */
#ifndef FB_KERNELS_SM90_BWD_WIDE_LAUNCH_CUH
#define FB_KERNELS_SM90_BWD_WIDE_LAUNCH_CUH

#include "kernels/sm90/bwd_split_launch.cuh"
#include "kernels/sm90/bwd_wide.cuh"

namespace fb {

/*
 * The dQ kernel (bwd_dq.cuh) at D = 256: 128 queries, 64 keys a step, dQ of a tile before the
 * next S. V has one stage: its next tile is asked for once dP is there and wanted only behind the
 * next S.  Shared memory, KiB: Q 64, dO 64, K ring 64, V 32: 224.  Registers of an MMA thread:
 * dQ 128 + S 32 + dP 32 + dS 16 (in their place) + Q 12 of 232; a fourth step of Q would not fit.
 */
template <class T, bool CAUSAL>
using wide_dq_config = dq_sm90_config<T, 256, 64, CAUSAL, false, 1, 3>;

/* Sums the parts of 64 keys in the order of the splits: dV, then (which = 1) dK. A warp
 * takes a row. */
template <class C>
__global__ void __launch_bounds__(256) wide_join(bwd_join_args p)
{
    const int head = blockIdx.y, batch = blockIdx.z / 2, which = blockIdx.z % 2;
    const int column = 8 * (threadIdx.x % 32);
    const rows4 out = which ? p.dk : p.dv;
    const int64_t block = ((int64_t)batch * p.kv_heads + head) * p.tiles_n + blockIdx.x;
    const float *parts = p.parts + (block * p.splits * 2 + which) * (C::N * C::D) + column;
    char *to = out.data + 2 * (batch * out.batch + head * out.head + column);

    grid_dependency_wait();
    for (int r = threadIdx.x / 32; r < C::N; r += 8) {
        const int64_t row = (int64_t)blockIdx.x * C::N + r;
        float4 x = make_float4(0, 0, 0, 0), y = x;
        uint32_t packed[4];

        if (row >= p.nk)
            return;
        for (int i = 0; i < p.splits; i++) {
            const float4 *at = (const float4 *)(parts + (int64_t)i * (2 * C::N * C::D) + r * C::D);
            const float4 u = at[0], v = at[1];
            x.x += u.x, x.y += u.y, x.z += u.z, x.w += u.w;
            y.x += v.x, y.y += v.y, y.z += v.z, y.w += v.w;
        }
        post_pack<C>(packed, x, y, which ? p.scale : 1.0f);
        *(uint4 *)(to + 2 * row * out.row) = make_uint4(packed[0], packed[1], packed[2], packed[3]);
    }
}

template <class Q>
inline bool wide_dq_maps_make(dq_sm90_args &d, const sm90_call &p)
{
    using T = typename Q::T;
    return tensor_map_make<T>(&d.q, p.q, Q::M) && tensor_map_make<T>(&d.dout, p.dout, Q::M) &&
           tensor_map_make<T>(&d.k, p.k, Q::N) && tensor_map_make<T>(&d.v, p.v, Q::N) &&
           tensor_map_make<T>(&d.dq, p.dq, 64);
}

template <class K>
inline cudaError_t wide_enqueue_join(const bwd_sm90_args &a, const sm90_call &p)
{
    bwd_join_args j;

    if (a.splits == 1)
        return cudaSuccess;
    j.dk = rows4_of(p.dk), j.dv = rows4_of(p.dv), j.parts = a.parts;
    j.kv_heads = a.kv_heads, j.nk = a.nk, j.tiles_n = a.tiles_n, j.splits = a.splits;
    j.scale = a.scale;
    call_mark(p, "join");
    return launch_dependent(wide_join<K>, dim3(a.tiles_n, a.kv_heads, 2 * a.batch), 256, 0,
                            p.stream, j);
}

/* Enqueues the whole backward, dK and dV by K's kernel and dQ by Q's. most: CTAs of K's kernel,
 * which stay for all items, at most; 0: one an item. */
template <class K, class Q>
inline cudaError_t wide_sm90_enqueue(const sm90_call &p, int most)
{
    bwd_sm90_args a;
    bwd_prepost_args s;
    dq_sm90_args d;
    cudaError_t error;

    bwd_args_fill<K>(a, s, p);
    if (K::CAUSAL && most)
        a.section =
            causal_section(a.batch * a.kv_heads * a.splits, a.tiles_n,
                           (double)a.nq * K::D * 4 * (a.heads / a.kv_heads) / a.splits, most);
    d.work = q_major_plan<Q::M, Q::CAUSAL>(p);
    d.lse2 = a.stats.lse2, d.delta = a.stats.delta, d.stat_rows = stat_count_of<K>(a.nq);
    d.scale = a.scale, d.scale_log2 = a.scale_log2;
    if (!bwd_maps_make<K>(a, p) || !wide_dq_maps_make<Q>(d, p))
        return cudaErrorInvalidValue;
    if ((error = shared_memory_allow(wide_sm90_main<K>, K::SMEM_BYTES)) != cudaSuccess ||
        (error = shared_memory_allow(dq_sm90_main<Q>, Q::SMEM_BYTES)) != cudaSuccess)
        return error;
    call_mark(p, "delta");
    bwd_pre<K><<<dim3(a.tiles_m, a.heads, a.batch), 256, 0, p.stream>>>(s);
    if ((error = cudaGetLastError()) != cudaSuccess)
        return error;
    call_mark(p, "keys");
    const int items = a.tiles_n * a.batch * a.kv_heads * a.splits;
    error = launch_dependent(wide_sm90_main<K>, dim3(most && most < items ? most : items), 384,
                             K::SMEM_BYTES, p.stream, a);
    if (error != cudaSuccess)
        return error;
    call_mark(p, "queries");
    error = launch_dependent(dq_sm90_main<Q>, dim3(d.work.items), 384, Q::SMEM_BYTES, p.stream, d);
    return error == cudaSuccess ? wide_enqueue_join<K>(a, p) : error;
}

} // namespace fb
#endif
