/* SPDX-License-Identifier: BSD-3-Clause
 *
 * kernels.cu: the fp32 kernels for one head size, FB_HEAD_DIM, and their launches. Compiled
 * once a size; simt.c chooses. Idea, budgets and barriers are told in forward.cuh and
 * backward.cuh.
 *
 * Where all blocks run at once, two an SM, the kernel is told (call.paired) and gives an SM a long
 * and a short tile of a causal problem (tile.cuh).
 */
#include "kernels/simt/forward.cuh"

namespace {

constexpr int D = FB_HEAD_DIM;

/* Do so many blocks run at once, and some of them as the second of their SM? */
template <int R>
int all_in_pairs(int64_t blocks)
{
    int device = 0, sms = 0;
    if (fb::simt_shape<D, R>::ctas < 2 || cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
        return 0;
    return blocks > sms && blocks <= 2 * sms;
}

template <int R, class Kernel>
int launch(Kernel *kernel, size_t bytes, struct fb_simt_call call, int64_t tiles, int64_t heads,
           void *stream)
{
    const int64_t blocks = tiles * heads;
    if (blocks == 0)
        return cudaSuccess;
    if (blocks > INT32_MAX) /* of 16 rows or more: no device holds the tensors */
        return cudaErrorInvalidConfiguration;
    const cudaError_t error = cudaFuncSetAttribute(
        (const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error != cudaSuccess)
        return error;
    call.paired = all_in_pairs<R>(blocks);
    kernel<<<(unsigned)blocks, fb::simt_threads, bytes, (cudaStream_t)stream>>>(call);
    return cudaGetLastError();
}

template <int R>
int launch_rows(enum fb_simt_kernel which, const struct fb_simt_call &call, void *stream)
{
    if constexpr (fb::simt_compiled(D, R)) {
        const size_t bytes = sizeof(fb::simt_backward_shared<D, R>);
        const int64_t q_tiles = (call.nq + R - 1) / R, k_tiles = (call.nk + R - 1) / R;
        switch (which) {
        case FB_SIMT_FORWARD:
            return launch<R>(fb::simt_forward_kernel<D, R>, sizeof(fb::simt_forward_shared<D, R>),
                             call, q_tiles, call.b * call.h, stream);
        case FB_SIMT_KEYS:
            return launch<R>(fb::simt_keys_kernel<D, R, fb::simt_no_dq>, bytes, call, k_tiles,
                             call.b * call.hk, stream);
        case FB_SIMT_KEYS_ADD_Q:
            return launch<R>(fb::simt_keys_kernel<D, R, fb::simt_atomic_dq>, bytes, call, k_tiles,
                             call.b * call.hk, stream);
        case FB_SIMT_QUERIES:
            return launch<R>(fb::simt_queries_kernel<D, R>, bytes, call, q_tiles, call.b * call.h,
                             stream);
        default:
            break;
        }
    }
    return cudaErrorInvalidValue;
}

} // namespace

#define JOIN(a, b) a##b
#define NAMED(name, size) JOIN(name, size)

extern "C" size_t NAMED(fb_simt_bytes_d, FB_HEAD_DIM)(int rows)
{
    const size_t bytes = rows == 64   ? sizeof(fb::simt_backward_shared<D, 64>)
                         : rows == 48 ? sizeof(fb::simt_backward_shared<D, 48>)
                         : rows == 32 ? sizeof(fb::simt_backward_shared<D, 32>)
                                      : sizeof(fb::simt_backward_shared<D, 16>);
    return fb::simt_compiled(D, rows) ? bytes : 0;
}

extern "C" int NAMED(fb_simt_launch_d, FB_HEAD_DIM)(enum fb_simt_kernel which,
                                                    const struct fb_simt_call *call, int rows,
                                                    void *stream)
{
    return rows == 64   ? launch_rows<64>(which, *call, stream)
           : rows == 48 ? launch_rows<48>(which, *call, stream)
           : rows == 32 ? launch_rows<32>(which, *call, stream)
                        : launch_rows<16>(which, *call, stream);
}
