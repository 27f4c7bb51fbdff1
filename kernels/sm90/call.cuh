/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host side: what a call of the sm_90a kernels is given, in plain pointers and 64-bit strides, and
 * the launch that may overlap with the kernel before it.  Enqueue functions allocate nothing, do
 * not synchronise, and return the error of the launch.
 */
#ifndef FB_KERNELS_SM90_CALL_CUH
#define FB_KERNELS_SM90_CALL_CUH

#include <numeric>

#include "kernels/sm90/q_major.cuh"
#include "kernels/sm90/tensor_map.cuh"

namespace fb {

struct sm90_call {
    tensor4 q, k, v, o, dout, dq, dk, dv;
    float *lse;                           /* natural logarithm */
    int64_t lse_batch, lse_head, lse_row; /* strides in elements */
    int offset;                           /* causal: query i sees keys up to i + offset */
    float scale;                          /* > 0 */
    void *workspace;
    cudaStream_t stream;
    void (*mark)(void *owner, const char *phase); /* told before each launch; may be null */
    void *owner;
};

constexpr int device_sms = 132; /* of an H100 or H200; on another device a matter of speed alone */
constexpr float log2_e = 1.44269504088896f;

inline void call_mark(const sm90_call &p, const char *phase)
{
    if (p.mark)
        p.mark(p.owner, phase);
}

/*
 * How many units (heads, or key heads) advance together, tile by tile, when causal tiles run
 * longest first: as many as fit a share of the L2 with `bytes` each, a power of two.  A small grid
 * is longest first as a whole, or its last long tiles would start too late.
 *
 * Where `stay` CTAs stay for all tiles: the fewest units that fill whole rounds of them, if those
 * fit.  Every round then has long and short tiles and its share of the keys that nobody has read
 * yet, and two rounds, up and down, give all CTAs the same work.
 */
inline int causal_section(int units, int tiles, double bytes, int stay = 0)
{
    const double l2_share = 40e6;
    int section = 1;

    if ((int64_t)units * tiles <= 1024)
        return units;
    if (stay) {
        const int whole = stay / std::gcd(stay, tiles);
        if (whole <= units && whole * bytes <= l2_share)
            return whole;
    }
    while (2 * section * bytes <= l2_share && section < units)
        section *= 2;
    return section;
}

/* The work of a query-major launch with tiles of M rows; stay: CTAs that stay for all items, as
 * many at once, or 0. */
template <int M, bool CAUSAL>
inline q_major_work q_major_plan(const sm90_call &p, int stay = 0)
{
    q_major_work w;

    w.batch = p.q.batch, w.heads = p.q.head, w.kv_heads = p.k.head;
    w.nq = p.q.row, w.nk = p.k.row, w.offset = p.offset;
    w.tiles_m = (w.nq + M - 1) / M;
    w.items = w.tiles_m * w.heads * w.batch;
    w.section = 1;
    if (CAUSAL)
        w.section = causal_section(w.batch * w.heads, w.tiles_m, (double)w.nk * p.q.col * 4, stay);
    return w;
}

/* Enqueues a kernel that may start while the one before it drains; it says itself when it must
 * wait (griddepcontrol.wait). */
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

template <class Kernel>
inline cudaError_t shared_memory_allow(Kernel kernel, size_t bytes)
{
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
}

} // namespace fb
#endif
