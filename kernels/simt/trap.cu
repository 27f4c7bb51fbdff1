/* SPDX-License-Identifier: BSD-3-Clause
 *
 * trap.cu: the key-major backward with a race, and a launch that no device takes.
 *
 * The race: blocks of different key tiles read an element of dQ, add to it and write it back, and
 * what another block wrote between is lost. Budget and barriers are those of backward.cuh at D
 * = 64, R = 32: 47,488 bytes of shared memory, which every device has. dQ is neither right nor
 * deterministic; dK and dV are both.
 */
#include "kernels/simt/backward.cuh"
#include "kernels/simt/trap.h"

namespace {

struct racy_dq {
    static constexpr bool wanted = true;
    template <int D, int R>
    static __device__ __forceinline__ void add(const float (&dq)[R / 16][D / 16],
                                               const fb_simt_call &call, int64_t b, int64_t h,
                                               int64_t i0, fb::simt_thread at)
    {
        float *head = call.grad_q.data + b * call.grad_q.stride[0] + h * call.grad_q.stride[1];
        for (int i = 0; i < R / 16; i++) {
            const int64_t row = i0 + at.y + 16 * i;
            if (row >= call.nq)
                continue;
#pragma unroll
            for (int w = 0; w < D / 16; w++) {
                const int column = fb::simt_column<D, R>(at.x, w);
                volatile float *to = head + row * call.grad_q.stride[2] + column;
                if (column < call.d)
                    *to = *to + call.scale * dq[i][w];
            }
        }
    }
};

__global__ void nobody()
{
}

} // namespace

extern "C" int fb_simt_trap_racy(const struct fb_simt_call *call, void *stream)
{
    constexpr int R = 32;
    const size_t bytes = sizeof(fb::simt_backward_shared<64, R>);
    const int64_t tiles = (call->nk + R - 1) / R, heads = call->b * call->hk;
    if (tiles == 0 || heads == 0)
        return cudaSuccess;
    if (tiles * heads > INT32_MAX || call->d > 64 || call->dv > 64)
        return cudaErrorInvalidValue;
    fb::simt_keys_kernel<64, R, racy_dq>
        <<<(unsigned)(tiles * heads), fb::simt_threads, bytes, (cudaStream_t)stream>>>(*call);
    return cudaGetLastError();
}

extern "C" void fb_simt_trap_launch(void *stream)
{
    nobody<<<1, 2048, 0, (cudaStream_t)stream>>>();
}
