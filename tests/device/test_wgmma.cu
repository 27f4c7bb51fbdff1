/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every wgmma form that the sm_90 backward uses, one descriptor form at a time, against a plain
 * loop in double.  Tiles are written to shared memory with swizzle_offset(), so this also pins the
 * swizzle.  Operands hold small integers over 8, so all products and sums are exact.
 */
#include <cuda.h>

#include "kernels/ptx/mbarrier.cuh"
#include "kernels/ptx/warpgroup.cuh"
#include "kernels/ptx/wgmma.cuh"
#include "tests/device/check.cuh"

using namespace fb;

/* A product d[64][N] = a[64][K] b[K][N]; A comes from: */
enum source { A_K, A_MN, A_REG };

template <class T>
__device__ T small(int i)
{
    return (T)(float)(((i * 37 + i / 13) % 31 - 15) / 8.0f);
}

/*
 * Logical a[m][k] and b[k][n].  In shared memory a K-major operand is stored [mn][k], an MN-major
 * one [k][mn], in panels of 64 columns and all rows.
 */
template <class T>
__device__ void store_tile(char *tile, int rows, int row, int col, T value)
{
    uint32_t at = (col / 64) * rows * 128 + swizzle_offset(row, (col % 64) / 8) + (col % 8) * 2;
    *(T *)(tile + at) = value;
}

template <class T, int N, int K, int SOURCE, int B_MN>
__global__ void __launch_bounds__(128) product(float *out)
{
    extern __shared__ __align__(1024) char smem[];
    char *a_tile = smem, *b_tile = smem + 32768;
    int t = threadIdx.x, w = t / 32, l = t % 32;
    float acc[N / 2];

    for (int i = t; i < 64 * K; i += 128) {
        int m = i / K, k = i % K;
        if (SOURCE == A_K)
            store_tile(a_tile, 64, m, k, small<T>(i));
        else
            store_tile(a_tile, K, k, m, small<T>(i));
    }
    for (int i = t; i < K * N; i += 128) {
        int k = i / N, n = i % N;
        if (B_MN)
            store_tile(b_tile, K, k, n, small<T>(i + 7));
        else
            store_tile(b_tile, N, n, k, small<T>(i + 7));
    }
    fence_proxy_async();
    __syncthreads();
    uint32_t a = shared_address(a_tile), b = shared_address(b_tile);
    uint32_t frag[K / 4];
#pragma unroll
    for (int i = 0; i < K / 4; i++) {
        int m = 16 * w + l / 4 + 8 * (i % 2), k = 16 * (i / 4) + 8 * (i / 2 % 2) + 2 * (l % 4);
        frag[i] = elem<T>::pack((float)small<T>(m * K + k), (float)small<T>(m * K + k + 1));
    }
    registers_pin(frag);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < K / 16; k++) {
        uint32_t bk = B_MN ? b + k * 2048 : b + (k / 4) * N * 128 + (k % 4) * 32;
        uint64_t db = B_MN ? wgmma_desc_mn(bk, K * 128) : wgmma_desc_k(bk);
        uint64_t da = SOURCE == A_K ? wgmma_desc_k(a + (k / 4) * 64 * 128 + (k % 4) * 32)
                                    : wgmma_desc_mn(a + k * 2048, K * 128);
        if constexpr (SOURCE == A_REG)
            wgmma_rs<T, N, B_MN>(acc, frag + 4 * k, db, k > 0);
        else
            wgmma_ss<T, N, SOURCE == A_MN, B_MN>(acc, da, db, k > 0);
    }
    wgmma_commit();
    wgmma_wait<0>();
    registers_pin(acc);
#pragma unroll
    for (int i = 0; i < N / 2; i++) {
        int row = 16 * w + l / 4 + 8 * (i / 2 % 2), col = 8 * (i / 4) + 2 * (l % 4) + i % 2;
        out[row * N + col] = acc[i];
    }
}

static double small_value(int i)
{
    return ((i * 37 + i / 13) % 31 - 15) / 8.0;
}

template <class T, int N, int K, int SOURCE, int B_MN>
static void check_form(const char *what)
{
    static float host[64 * 256];
    double worst = 0;
    float *out;

    CHECK_CUDA(cudaMalloc(&out, sizeof host));
    CHECK_CUDA(cudaMemset(out, 0xff, sizeof host));
    CHECK_CUDA(cudaFuncSetAttribute(product<T, N, K, SOURCE, B_MN>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, 98304));
    product<T, N, K, SOURCE, B_MN><<<1, 128, 98304>>>(out);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaFree(out));
    for (int m = 0; m < 64; m++)
        for (int n = 0; n < N; n++) {
            double sum = 0;
            for (int k = 0; k < K; k++)
                sum += small_value(m * K + k) * small_value(k * N + n + 7);
            worst = check_worse(worst, fabs(sum - host[m * N + n]));
        }
    check_report(worst == 0, what, worst);
}

template <class T>
static void check_type(const char *type)
{
    printf("# %s\n", type);
    check_form<T, 64, 128, A_K, 0>("S, dP  d128 64x128: m64n64 A K-major, B K-major");
    check_form<T, 80, 128, A_K, 0>("S, dP  d128 80x128: m64n80 A K-major, B K-major");
    check_form<T, 96, 128, A_K, 0>("S, dP  d128 96x128: m64n96 A K-major, B K-major");
    check_form<T, 128, 64, A_K, 0>("S, dP  d64 128x128: m64n128 A K-major, B K-major");
    check_form<T, 128, 64, A_REG, 1>("dV, dK d128: m64n128 A registers, B MN-major, two panels");
    check_form<T, 128, 80, A_REG, 1>("dV, dK d128 M=80: the same with 80 rows");
    check_form<T, 64, 128, A_REG, 1>("dV, dK d64: m64n64 A registers, B MN-major");
    check_form<T, 176, 128, A_K, 0>("S      forward d128: m64n176 A K-major, B K-major");
    check_form<T, 128, 176, A_REG, 1>(
        "O      forward d128: m64n128 A registers, B MN-major, 176 rows");
    check_form<T, 128, 96, A_REG, 1>("dQ     split d128: m64n128 A registers, B MN-major, 96 rows");
    check_form<T, 64, 128, A_K, 1>("dQ     m64n64 A K-major, B MN-major");
    check_form<T, 80, 128, A_MN, 0>("dQ^T   m64n80 A MN-major, B K-major");
    check_form<T, 64, 256, A_K, 0>("S, dP  d256 64x64: m64n64 A K-major, B K-major, four panels");
    check_form<T, 80, 256, A_K, 0>("S      forward d256: m64n80 the same");
    check_form<T, 64, 256, A_REG, 0>("S, dP  d256: m64n64 A registers, B K-major");
    check_form<T, 256, 64, A_REG, 1>(
        "dV, dK, dQ d256: m64n256 A registers, B MN-major, four panels");
    check_form<T, 256, 80, A_REG, 1>("O      forward d256: the same with 80 rows");
}

int main()
{
    check_type<__nv_bfloat16>("bf16");
    check_type<__half>("fp16");
    return check_finish();
}
