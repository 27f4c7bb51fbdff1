/* SPDX-License-Identifier: BSD-3-Clause
 *
 * delta.cu: the host side of the delta pre-pass: looks at types and alignment, chooses the kernel
 * and launches it. The kernels, with idea and budgets, are in delta.cuh. Compiled for every
 * architecture of the build.
 *
 * Chosen here: the width of a load, 16 bytes where all bases and strides allow it, else an element;
 * and how many lanes share a row, a power of two that covers its loads, a warp at most.
 */
#include "kernels/dense/delta.cuh"

namespace {

constexpr int load_bytes = 16;
constexpr int64_t most_blocks_x = 1 << 16; /* the kernel's loops take the rest */
constexpr int64_t most_blocks_y = 65535;   /* what a grid may have in y */

bool aligned(const void *base, const int64_t (&stride)[3], int width)
{
    return (uintptr_t)base % load_bytes == 0 && stride[0] % width == 0 && stride[1] % width == 0 &&
           stride[2] % width == 0;
}

/* The smallest power of two that covers `loads`, one warp at most. */
int lanes_for(int64_t loads)
{
    int lanes = 1;
    while (lanes < loads && lanes < 32)
        lanes *= 2;
    return lanes;
}

template <class T, int Width>
cudaError_t launch(const struct fb_cuda_delta &call, cudaStream_t stream)
{
    const int lanes = lanes_for((call.d + Width - 1) / Width);
    const int64_t teams = fb::delta_threads / lanes;
    const int64_t blocks = (call.n - 1) / teams + 1, heads = call.b * call.h;
    const dim3 grid((unsigned)(blocks < most_blocks_x ? blocks : most_blocks_x),
                    (unsigned)(heads < most_blocks_y ? heads : most_blocks_y));
    fb::delta_kernel<T, Width><<<grid, fb::delta_threads, 0, stream>>>(call, lanes);
    return cudaGetLastError();
}

template <class T>
cudaError_t choose(const struct fb_cuda_delta &call, cudaStream_t stream)
{
    constexpr int width = load_bytes / sizeof(T);
    const bool wide =
        aligned(call.dout, call.dout_stride, width) && aligned(call.o, call.o_stride, width);
    return wide ? launch<T, width>(call, stream) : launch<T, 1>(call, stream);
}

} // namespace

extern "C" int fb_cuda_delta(const struct fb_cuda_delta *call, void *stream)
{
    if (call->b < 0 || call->h < 0 || call->n < 0 || call->d < 1 || call->d > 256)
        return cudaErrorInvalidValue;
    if (call->b == 0 || call->h == 0 || call->n == 0)
        return cudaSuccess;
    switch (call->element) {
    case FB_CUDA_FP32:
        return choose<float>(*call, (cudaStream_t)stream);
    case FB_CUDA_BF16:
        return choose<__nv_bfloat16>(*call, (cudaStream_t)stream);
    case FB_CUDA_FP16:
        return choose<__half>(*call, (cudaStream_t)stream);
    }
    return cudaErrorInvalidValue;
}
