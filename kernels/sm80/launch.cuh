/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host side of the mma.sync kernels: grids, shared memory and launches of one head size. Functions
 * enqueue on a stream and return the cudaError_t of the launch.
 *
 * A launch without blocks is a success; more than 2^31 - 1 are refused. A kernel that needs more
 * than 48 KiB of shared memory asks for it at each launch: no state is kept.
 */
#ifndef FB_KERNELS_SM80_LAUNCH_CUH
#define FB_KERNELS_SM80_LAUNCH_CUH

#include "kernels/sm80/bwd.cuh"
#include "kernels/sm80/dq.cuh"
#include "kernels/sm80/fwd.cuh"
#include "kernels/sm80/prepost.cuh"

namespace fb {

template <class Kernel>
inline int sm80_start(Kernel kernel, int64_t blocks, int threads, size_t smem, void *stream,
                      const fb_sm80_args &p)
{
    cudaError_t error = cudaSuccess;
    if (blocks == 0)
        return cudaSuccess;
    if (blocks > INT32_MAX)
        return cudaErrorInvalidConfiguration;
    if (smem > 48 << 10)
        error =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)smem);
    if (error != cudaSuccess)
        return error;
    kernel<<<(unsigned)blocks, threads, smem, (cudaStream_t)stream>>>(p);
    return cudaGetLastError();
}

template <class C>
inline int64_t sm80_query_tiles(const fb_sm80_args *p)
{
    return (int64_t)p->batch * p->heads * ((p->nq + C::M - 1) / C::M);
}

template <class C>
inline int sm80_run_pre(const fb_sm80_args *p, void *stream)
{
    const int error = sm80_start(sm80_pre<C>, sm80_query_tiles<C>(p), 256, 0, stream, *p);
    if (error != cudaSuccess || !p->dsink)
        return error;
    sm80_sink<<<p->heads, 256, 0, (cudaStream_t)stream>>>(*p, C::M);
    return cudaGetLastError();
}

template <class C>
inline int sm80_run_main(const fb_sm80_args *p, void *stream)
{
    const int64_t tiles_n = (p->nk + C::N - 1) / C::N, units = (int64_t)p->batch * p->kv_heads;
    const bool partials = p->dq_policy == FB_SM80_DQ_PARTIALS;
    return sm80_start(sm80_key_major<C>, partials ? p->shares.ctas : units * tiles_n, C::THREADS,
                      C::smem_bytes(p->stages), stream, *p);
}

template <class C, class Q>
inline int sm80_run_split(const fb_sm80_args *p, void *stream)
{
    const int64_t keys = (p->nk + C::N - 1) / C::N, tiles_m = (p->nq + Q::M - 1) / Q::M;
    const int64_t blocks = p->batch * (p->kv_heads * keys + p->heads * tiles_m);
    const int key_bytes = C::smem_bytes(p->stages), query_bytes = Q::smem_bytes(p->stages);
    return sm80_start(sm80_split<C, Q>, blocks, C::THREADS,
                      key_bytes > query_bytes ? key_bytes : query_bytes, stream, *p);
}

template <class F>
inline int sm80_run_forward(const fb_sm80_args *p, void *stream)
{
    const int64_t tiles = (p->nq + F::M - 1) / F::M;
    return sm80_start(sm80_fwd<F>, (int64_t)p->batch * p->heads * tiles, F::THREADS, F::SMEM,
                      stream, *p);
}

template <class C>
inline int sm80_run_post(const fb_sm80_args *p, void *stream)
{
    return sm80_start(sm80_post<C>, sm80_query_tiles<C>(p), C::THREADS, 0, stream, *p);
}

} // namespace fb
#endif
