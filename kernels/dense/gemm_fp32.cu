/* SPDX-License-Identifier: BSD-3-Clause
 *
 * gemm_fp32.cu: the textbook GEMM: a block of 16 x 16 threads owns a 64 x 64 tile of c, walks k in
 * steps of 16 through shared memory, and each thread keeps 4 x 4 sums. Here as the baseline that a
 * fused kernel is held against, not as the fastest.
 *
 * Shared memory: 2 x 16 x 68 floats, 8,704 bytes (68: the 4 x 4 of neighbours fall on different
 * banks, and rows stay aligned to 16 bytes). Registers: 16 sums, 8 operands.
 * Barriers: after a step is loaded, and before the next overwrites it. Deterministic: k in order.
 */
#include "kernels/dense/gemm_fp32.h"

namespace {

constexpr int side = 64, step = 16, threads = 256, ld = side + 4;
constexpr int64_t most_batches = 65535;

/* 64 rows of op(x) and 16 of k, as [k][row]; 0 outside. Neighbouring threads read what is next to
 * each other in memory: along k where x is stored [row, k] (k_inside), along rows otherwise. */
__device__ __forceinline__ void load(float *tile, const float *x, int64_t stride, bool k_inside,
                                     int64_t row0, int64_t rows, int64_t k0, int64_t ks)
{
    for (int at = threadIdx.x; at < side * step; at += threads) {
        const int k = k_inside ? at % step : at / side, row = k_inside ? at / step : at % side;
        const int64_t i = row0 + row, j = k0 + k;
        const bool inside = i < rows && j < ks;
        tile[k * ld + row] = inside ? x[k_inside ? i * stride + j : j * stride + i] : 0;
    }
}

__global__ void __launch_bounds__(threads)
    gemm_kernel(const __grid_constant__ struct fb_cublas_gemm g)
{
    __shared__ __align__(16) float a[step * ld], b[step * ld];
    const int tx = threadIdx.x % 16 * 4, ty = threadIdx.x / 16 * 4;
    const int64_t m0 = (int64_t)blockIdx.y * side, n0 = (int64_t)blockIdx.x * side;
    for (int64_t batch = blockIdx.z; batch < g.batch; batch += gridDim.z) {
        float sum[4][4] = {};
        for (int64_t k0 = 0; k0 < g.k; k0 += step) {
            load(a, (const float *)g.a + batch * g.step_a, g.lda, !g.a_turned, m0, g.m, k0, g.k);
            load(b, (const float *)g.b + batch * g.step_b, g.ldb, g.b_turned, n0, g.n, k0, g.k);
            __syncthreads();
#pragma unroll
            for (int k = 0; k < step; k++) {
                const float4 u = *(const float4 *)(a + k * ld + ty);
                const float4 v = *(const float4 *)(b + k * ld + tx);
                const float x[4] = {u.x, u.y, u.z, u.w}, y[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
                for (int i = 0; i < 4; i++)
#pragma unroll
                    for (int j = 0; j < 4; j++)
                        sum[i][j] = fmaf(x[i], y[j], sum[i][j]);
            }
            __syncthreads();
        }
        float *c = (float *)g.c + batch * g.step_c;
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                if (m0 + ty + i < g.m && n0 + tx + j < g.n) {
                    float *to = c + (m0 + ty + i) * g.ldc + n0 + tx + j;
                    const float old = g.beta != 0 ? (float)g.beta * *to : 0;
                    *to = fmaf((float)g.alpha, sum[i][j], old);
                }
    }
}

} // namespace

extern "C" int fb_gemm_fp32(const struct fb_cublas_gemm *g, void *stream)
{
    const int64_t rows = (g->m + side - 1) / side, columns = (g->n + side - 1) / side;
    if (g->m == 0 || g->n == 0 || g->batch == 0)
        return cudaSuccess;
    if (g->type != FB_CUBLAS_FP32 || g->type_c != FB_CUBLAS_FP32 || rows > 65535)
        return cudaErrorInvalidValue;
    const dim3 grid((unsigned)columns, (unsigned)rows,
                    (unsigned)(g->batch < most_batches ? g->batch : most_batches));
    gemm_kernel<<<grid, threads, 0, (cudaStream_t)stream>>>(*g);
    return cudaGetLastError();
}
