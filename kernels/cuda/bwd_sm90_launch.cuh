/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host side of the sm_90a backward: workspace size and the three launches, in plain pointers and
 * 64-bit strides.
 *
 * Order of work.  A unit is one batch x key head.  With a full mask all key tiles cost the same and
 * a unit's tiles run together (section = 1).  Causal key tile 0 sees every query and the last one
 * almost none, so tiles run longest first: a section of units advances tile by tile, and is as
 * large as fits a share of the L2 with its q, dout and fp32 dQ.
 */
#ifndef FB_KERNELS_CUDA_BWD_SM90_LAUNCH_CUH
#define FB_KERNELS_CUDA_BWD_SM90_LAUNCH_CUH

#include "bwd_prepost.cuh"
#include "bwd_sm90.cuh"
#include "tensor_map.cuh"

namespace fb {

struct bwd_problem {
    tensor4 q, k, v, o, dout, dq, dk, dv;
    const float *lse; /* natural logarithm, [batch][head][nq] */
    float scale;
    void *workspace;
    cudaStream_t stream;
};

/* fp32 dQ accumulator, LSE in base 2, D, all in whole query tiles; then two counters a tile. */
template <class C>
inline size_t bwd_workspace_bytes(int batch, int heads, int nq)
{
    size_t tiles = (size_t)batch * heads * ((nq + C::M - 1) / C::M);
    return tiles * (C::M * (C::D + 2) * sizeof(float) + (C::ORDERED ? 2 * sizeof(unsigned) : 0));
}

template <class C>
inline int bwd_section(const bwd_problem &p)
{
    const double l2_share = 40e6;
    double bytes = (double)p.q.row * C::D * 8 * (p.q.head / p.k.head);
    int units = p.q.batch * p.k.head, section = 1;

    /* A small grid must be longest first as a whole, or its last long tiles start too late. */
    if (C::CAUSAL && units * ((p.k.row + C::N - 1) / C::N) <= 1024)
        return units;
    while (C::CAUSAL && 2 * section * bytes <= l2_share && section < units)
        section *= 2;
    return section;
}

inline rows4 rows4_of(const tensor4 &t)
{
    return {(char *)t.data, t.stride_batch, t.stride_head, t.stride_row};
}

template <class Kernel, class Args>
inline cudaError_t launch_dependent(Kernel kernel, dim3 grid, int threads, size_t smem,
                                    cudaStream_t stream, const Args &args)
{
    cudaLaunchAttribute overlap;
    cudaLaunchConfig_t config = {};

    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = grid, config.blockDim = dim3(threads), config.dynamicSmemBytes = smem;
    config.stream = stream, config.attrs = &overlap, config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, kernel, args);
}

template <class C>
inline bool bwd_maps_make(bwd_sm90_args *a, const bwd_problem &p)
{
    return tensor_map_make<typename C::T>(&a->q, p.q, C::M) &&
           tensor_map_make<typename C::T>(&a->dout, p.dout, C::M) &&
           tensor_map_make<typename C::T>(&a->k, p.k, C::N) &&
           tensor_map_make<typename C::T>(&a->v, p.v, C::N) &&
           tensor_map_make<typename C::T>(&a->dk, p.dk, 64) &&
           tensor_map_make<typename C::T>(&a->dv, p.dv, 64);
}

/* Enqueues the whole backward.  No allocation, no synchronisation. */
template <class C>
inline cudaError_t bwd_sm90_enqueue(const bwd_problem &p)
{
    bwd_sm90_args a;
    bwd_prepost_args s;
    cudaError_t error;

    a.batch = p.q.batch, a.heads = p.q.head, a.kv_heads = p.k.head;
    a.nq = p.q.row, a.nk = p.k.row;
    a.tiles_m = (a.nq + C::M - 1) / C::M, a.tiles_n = (a.nk + C::N - 1) / C::N;
    a.section = bwd_section<C>(p);
    a.scale = p.scale, a.scale_log2 = p.scale * 1.44269504088896f;
    int64_t rows = (int64_t)a.batch * a.heads * a.tiles_m * C::M;
    a.dq_acc = (float *)p.workspace;
    float *lse2 = a.dq_acc + rows * C::D, *delta = lse2 + rows;
    a.lse2 = lse2, a.delta = delta;
    a.turns = s.turns = (unsigned *)(delta + rows);
    s.o = rows4_of(p.o), s.dout = rows4_of(p.dout), s.dq = rows4_of(p.dq);
    s.lse = p.lse, s.lse2 = lse2, s.delta = delta, s.dq_acc = a.dq_acc;
    s.heads = a.heads, s.nq = a.nq, s.tiles_m = a.tiles_m, s.scale = p.scale;
    if (!bwd_maps_make<C>(&a, p))
        return cudaErrorInvalidValue;
    error = cudaFuncSetAttribute(bwd_sm90_main<C>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 C::SMEM_BYTES);
    if (error != cudaSuccess)
        return error;
    dim3 tiles(a.tiles_m, a.heads, a.batch);
    bwd_pre<C><<<tiles, 256, 0, p.stream>>>(s);
    error = launch_dependent(bwd_sm90_main<C>, dim3(a.tiles_n * a.batch * a.kv_heads), 384,
                             C::SMEM_BYTES, p.stream, a);
    if (error != cudaSuccess)
        return error;
    return launch_dependent(bwd_post<C>, tiles, 256, 0, p.stream, s);
}

} // namespace fb
#endif
