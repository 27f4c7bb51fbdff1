/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host side of the sm_90a backward: workspace sizes and launches, of the one-kernel forms
 * (pre-pass, main kernel, conversion of dQ) and of the split form (pre-pass, dK and dV, dQ); then
 * the sums of dK and dV where CTAs share a group of query heads.
 *
 * Order of work.  A unit is one batch x key head x split of its group.  With a full mask all key
 * tiles cost the same and a unit's tiles run together (section = 1).  Causal key tile 0 sees every
 * query and the last one almost none, so tiles run longest first: a section of units advances tile
 * by tile, and is as large as fits a share of the L2 with its q, dout and fp32 dQ.  Ordered, as
 * many units as are resident together start tile by tile.  Full: the CTAs of a unit queue at its
 * first query tile, once; the next ones take over the stagger of those before.  Causal: sections
 * alternate between shortest and longest first (bwd_config.cuh).
 */
#ifndef FB_KERNELS_SM90_BWD_LAUNCH_CUH
#define FB_KERNELS_SM90_BWD_LAUNCH_CUH

#include "kernels/sm90/bwd_prepost.cuh"
#include "kernels/sm90/bwd.cuh"
#include "kernels/sm90/call.cuh"

namespace fb {

/*
 * How many CTAs share the query heads of a group.  One, if that makes enough CTAs: about one an SM
 * with a full mask; three where causal CTAs of unequal length must even out; many more where they
 * also start shortest first, as the ordered form's do.
 */
template <class C>
inline int group_splits(int64_t batch, int64_t heads, int64_t kv_heads, int64_t nk)
{
    const int64_t sms = device_sms, group = heads / kv_heads;
    const int64_t ctas = batch * kv_heads * ((nk + C::N - 1) / C::N);
    const int64_t goal = !C::CAUSAL ? sms * 9 / 10 : C::ORDERED ? 16 * sms : 3 * sms;
    int64_t splits = 1;

    while (splits < group && ctas * splits < goal)
        splits *= 2;
    return (int)(splits < group ? splits : group);
}

/* Rows of a head's fp32 dQ; rows of its statistics. */
template <class C>
inline int64_t acc_rows_of(int64_t nq)
{
    return (nq + C::DQ_ROUND - 1) / C::DQ_ROUND * C::DQ_ROUND;
}

template <class C>
inline int64_t stat_count_of(int64_t nq)
{
    return (nq + C::M - 1) / C::M * C::M;
}

/* Has dQ a row for each block of statistics, till it is written? */
template <class C>
inline bool stats_fit(int64_t nq)
{
    return C::WITH_DQ && stat_count_of<C>(nq) / stat_piece <= nq;
}

/*
 * Floats of the workspace, in its order: fp32 dQ (but for the split form); LSE and delta, if dQ has
 * no room for them; the parts of dV and dK; two counters a query tile.
 */
struct bwd_workspace {
    size_t dq, stats, parts, turns;
};

template <class C>
inline bwd_workspace bwd_workspace_plan(int64_t batch, int64_t heads, int64_t kv_heads, int64_t nq,
                                        int64_t nk)
{
    bwd_workspace w;
    const int64_t units = batch * heads, count = stat_count_of<C>(nq);
    const int64_t blocks = batch * kv_heads * ((nk + C::N - 1) / C::N);
    const int splits = group_splits<C>(batch, heads, kv_heads, nk);

    w.dq = C::WITH_DQ ? (size_t)(units * acc_rows_of<C>(nq)) * C::D : 0;
    w.stats = stats_fit<C>(nq) ? 0 : (size_t)(units * count) * 2;
    w.parts = splits > 1 ? (size_t)(blocks * splits) * (2 * C::N * C::D) : 0;
    w.turns = C::ORDERED ? 2 * (size_t)(units * (count / C::M)) : 0;
    return w;
}

template <class C>
inline size_t bwd_workspace_bytes(int64_t batch, int64_t heads, int64_t kv_heads, int64_t nq,
                                  int64_t nk)
{
    bwd_workspace w = bwd_workspace_plan<C>(batch, heads, kv_heads, nq, nk);
    return 4 * (w.dq + w.stats + w.parts + w.turns);
}

inline rows4 rows4_of(const tensor4 &t)
{
    return {(char *)t.data, t.stride_batch, t.stride_head, t.stride_row};
}

template <class C>
inline int bwd_section(const bwd_sm90_args &a)
{
    const int units = a.batch * a.kv_heads * a.splits;

    if (C::ORDERED)
        return a.tiles_n < device_sms ? device_sms / a.tiles_n : 1;
    if (!C::CAUSAL)
        return 1;
    return causal_section(units, a.tiles_n,
                          (double)a.nq * C::D * 8 * (a.heads / a.kv_heads) / a.splits);
}

/* Do the elements fill one stretch of memory? */
inline bool is_gapless(const tensor4 &t)
{
    const int64_t last = (t.batch - 1) * t.stride_batch + (t.head - 1) * t.stride_head +
                         (t.row - 1) * t.stride_row + t.col - 1;
    return last + 1 == (int64_t)t.batch * t.head * t.row * t.col;
}

/* Where LSE and delta stand (bwd_config.cuh). */
template <class C>
inline bwd_stats stats_place(const tensor4 &dq, float *workspace)
{
    const int64_t head = stat_count_of<C>(dq.row), rows = head * dq.head * dq.batch;
    const bool fit = stats_fit<C>(dq.row);
    float *at = fit ? (float *)dq.data : workspace;

    if (fit && !is_gapless(dq)) /* a float is two elements of dQ */
        return {at, at + stat_piece, dq.stride_batch / 2, dq.stride_head / 2, dq.stride_row / 2};
    return {at, at + rows, head * dq.head, head, stat_piece};
}

/* Sizes and workspace of both the main kernel's and the small passes' arguments. */
template <class C>
inline void bwd_args_fill(bwd_sm90_args &a, bwd_prepost_args &s, const sm90_call &p)
{
    bwd_workspace w = bwd_workspace_plan<C>(p.q.batch, p.q.head, p.k.head, p.q.row, p.k.row);

    a.batch = p.q.batch, a.heads = p.q.head, a.kv_heads = p.k.head;
    a.nq = p.q.row, a.nk = p.k.row, a.offset = p.offset;
    a.tiles_m = (a.nq + C::M - 1) / C::M, a.tiles_n = (a.nk + C::N - 1) / C::N;
    a.acc_rows = s.acc_rows = (int)acc_rows_of<C>(a.nq);
    a.splits = group_splits<C>(a.batch, a.heads, a.kv_heads, a.nk);
    a.section = bwd_section<C>(a);
    a.scale = p.scale, a.scale_log2 = p.scale * log2_e;
    a.dq_acc = s.dq_acc = (float *)p.workspace;
    a.stats = s.stats = stats_place<C>(p.dq, a.dq_acc + w.dq);
    a.parts = a.dq_acc + w.dq + w.stats;
    a.turns = s.turns = (unsigned *)(a.parts + w.parts);
    s.o = rows4_of(p.o), s.dout = rows4_of(p.dout), s.dq = rows4_of(p.dq);
    s.lse = p.lse, s.lse_batch = p.lse_batch, s.lse_head = p.lse_head, s.lse_row = p.lse_row;
    s.heads = a.heads, s.nq = a.nq, s.tiles_m = a.tiles_m, s.offset = a.offset, s.scale = p.scale;
}

template <class C>
inline bool bwd_maps_make(bwd_sm90_args &a, const sm90_call &p)
{
    return tensor_map_make<typename C::T>(&a.q, p.q, C::M) &&
           tensor_map_make<typename C::T>(&a.dout, p.dout, C::M) &&
           tensor_map_make<typename C::T>(&a.k, p.k, C::N) &&
           tensor_map_make<typename C::T>(&a.v, p.v, C::N) &&
           tensor_map_make<typename C::T>(&a.dk, p.dk, 64) &&
           tensor_map_make<typename C::T>(&a.dv, p.dv, 64);
}

/* The pre-pass and the key-major kernel. */
template <class C>
inline cudaError_t bwd_enqueue_keys(bwd_sm90_args &a, const bwd_prepost_args &s, const sm90_call &p,
                                    const char *phase)
{
    const bool gapped = a.stats.piece != stat_piece;
    const auto kernel = gapped ? bwd_sm90_main<C, C::WITH_DQ> : bwd_sm90_main<C, false>;
    cudaError_t error;

    if (!bwd_maps_make<C>(a, p))
        return cudaErrorInvalidValue;
    error = shared_memory_allow(kernel, C::SMEM_BYTES);
    if (error != cudaSuccess)
        return error;
    call_mark(p, "delta");
    bwd_pre<C><<<dim3(a.tiles_m, a.heads, a.batch), 256, 0, p.stream>>>(s);
    error = cudaGetLastError();
    if (error != cudaSuccess)
        return error;
    call_mark(p, phase);
    return launch_dependent(kernel, dim3(a.tiles_n * a.batch * a.kv_heads * a.splits), 384,
                            C::SMEM_BYTES, p.stream, a);
}

/* The sums of the parts of dV and dK, if there are any. */
template <class C>
inline cudaError_t bwd_enqueue_join(const bwd_sm90_args &a, const sm90_call &p)
{
    bwd_join_args j;

    if (a.splits == 1)
        return cudaSuccess;
    j.dk = rows4_of(p.dk), j.dv = rows4_of(p.dv), j.parts = a.parts;
    j.kv_heads = a.kv_heads, j.nk = a.nk, j.tiles_n = a.tiles_n, j.splits = a.splits;
    j.scale = a.scale;
    call_mark(p, "join");
    return launch_dependent(bwd_join<C>, dim3(a.tiles_n, a.kv_heads, 2 * a.batch), 256, 0, p.stream,
                            j);
}

/* Enqueues the whole backward, dQ by additions into a fp32 accumulator. */
template <class C>
inline cudaError_t bwd_sm90_enqueue(const sm90_call &p)
{
    bwd_sm90_args a;
    bwd_prepost_args s;
    cudaError_t error;

    bwd_args_fill<C>(a, s, p);
    error = bwd_enqueue_keys<C>(a, s, p, "main");
    if (error != cudaSuccess)
        return error;
    call_mark(p, "convert");
    error = launch_dependent(bwd_post<C>, dim3(a.tiles_m, a.heads, a.batch), 256, 0, p.stream, s);
    return error == cudaSuccess ? bwd_enqueue_join<C>(a, p) : error;
}

} // namespace fb
#endif
