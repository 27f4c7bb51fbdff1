/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The primitives of the mma.sync kernels against a plain loop in double: mma, ldmatrix in both
 * forms, cp.async, the tile's permutation, matrix_store, for both 16-bit types and every row length
 * that a kernel uses. Operands hold small integers over 8, so all products and sums are exact.
 */
#include "kernels/ptx/mbarrier.cuh"
#include "kernels/ptx/smem_tile.cuh"
#include "tests/device/check.cuh"

using namespace fb;

/* How an operand lies in shared memory: its rows as they are, or transposed. */
enum order { ROWS, TRANSPOSED };

template <class T>
__host__ __device__ T small(int i)
{
    return (T)(float)(((i * 37 + i / 13) % 31 - 15) / 8.0f);
}

/* A tile of ROWS x COLS from global memory, chunk by chunk, by cp.async. */
template <int COLS>
__device__ void tile_load(uint32_t tile, const void *from, int rows)
{
    for (int i = threadIdx.x; i < rows * COLS / 8; i += 32)
        cp_async_16(tile + smem_tile<COLS>::at(i / (COLS / 8), i % (COLS / 8)),
                    (const char *)from + 16 * i, true);
}

/*
 * One warp: d[32][N] = a[32][K] b[K][N], a stored [32][K] or [K][32], b stored [N][K] or [K][N],
 * then the 16-bit result through shared memory to out16, too.
 */
template <class T, int K, int N, int A, int B>
__global__ void __launch_bounds__(32) product(const T *a, const T *b, float *out, T *out16)
{
    extern __shared__ __align__(1024) char shared[];
    constexpr int A_COLS = A == ROWS ? K : 32, B_COLS = B == ROWS ? K : N;
    const uint32_t bar = shared_address(shared), at = bar + 128, bt = at + 32 * K * 2;
    const uint32_t dt = bt + K * N * 2;
    float acc[2][N / 8][4];
    if (threadIdx.x == 0)
        mbarrier_init(bar, 32);
    __syncthreads();
    tile_load<A_COLS>(at, a, 32 * K / A_COLS);
    tile_load<B_COLS>(bt, b, K * N / B_COLS);
    cp_async_arrive(bar);
    mbarrier_wait(bar, 0);

    acc_clear(acc);
    const operand_k<K, 16> a_rows = {lane_rows_first<K>(at, 0, 0)};
    const operand_mn<32, 16> a_cols = {lane_chunks_first<32>(at, 0, 0)};
    const operand_k<K, 16> b_rows = {lane_chunks_first<K>(bt, 0, 0)};
    const operand_mn<N, 16> b_cols = {lane_rows_first<N>(bt, 0, 0)};
    if constexpr (A == ROWS && B == ROWS)
        warp_product<T, K / 16>(acc, a_rows, b_rows);
    else if constexpr (A == ROWS)
        warp_product<T, K / 16>(acc, a_rows, b_cols);
    else if constexpr (B == ROWS)
        warp_product<T, K / 16>(acc, a_cols, b_rows);
    else
        warp_product<T, K / 16>(acc, a_cols, b_cols);

    acc_store<T, N, 16, 16>(lane_rows_first<N>(dt, 0, 0), acc, 0.5f);
    __syncthreads();
    for (int i = threadIdx.x; i < 32 * N; i += 32) {
        const char *from = shared + (dt - bar) + smem_tile<N>::at(i / N, i % N / 8);
        out16[i] = ((const T *)from)[i % 8];
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < N / 8; j++)
            for (int x = 0; x < 4; x++)
                out[(16 * i + threadIdx.x / 4 + x / 2 * 8) * N + 8 * j + threadIdx.x % 4 * 2 +
                    x % 2] = acc[i][j][x];
}

template <class T>
static T *upload(int count, int seed)
{
    T *host = new T[count], *device;
    for (int i = 0; i < count; i++)
        host[i] = small<T>(i + seed);
    CHECK_CUDA(cudaMalloc(&device, count * sizeof(T)));
    CHECK_CUDA(cudaMemcpy(device, host, count * sizeof(T), cudaMemcpyHostToDevice));
    delete[] host;
    return device;
}

template <class T, int K, int N, int A, int B>
static void check_product(const char *type)
{
    T *a = upload<T>(32 * K, 0), *b = upload<T>(K * N, 7), *out16;
    float *out, *host = new float[32 * N];
    T *host16 = new T[32 * N];
    double worst = 0;
    char text[100];
    const int smem = 128 + 2 * (32 * K + K * N + 32 * N);
    CHECK_CUDA(cudaMalloc(&out, 32 * N * 4));
    CHECK_CUDA(cudaMalloc(&out16, 32 * N * 2));
    CHECK_CUDA(cudaMemset(out16, 0xff, 32 * N * 2));
    CHECK_CUDA(cudaFuncSetAttribute(product<T, K, N, A, B>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, smem));
    product<T, K, N, A, B><<<1, 32, smem>>>(a, b, out, out16);
    CHECK_CUDA(cudaMemcpy(host, out, 32 * N * 4, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(host16, out16, 32 * N * 2, cudaMemcpyDeviceToHost));
    for (int m = 0; m < 32; m++)
        for (int n = 0; n < N; n++) {
            double sum = 0;
            for (int k = 0; k < K; k++)
                sum += (double)(float)small<T>(A == ROWS ? m * K + k : k * 32 + m) *
                       (double)(float)small<T>(7 + (B == ROWS ? n * K + k : k * N + n));
            double e = fabs(host[m * N + n] - sum);
            double half =
                fabs((double)(float)host16[m * N + n] - (double)(float)(T)(float)(sum / 2));
            worst = check_worse(worst, e);
            worst = check_worse(worst, half);
        }
    snprintf(text, sizeof text, "%s k%d n%d a %s b %s", type, K, N,
             A == ROWS ? "rows" : "transposed", B == ROWS ? "rows" : "transposed");
    check_report(worst == 0, text, worst);
    CHECK_CUDA(cudaFree(a));
    CHECK_CUDA(cudaFree(b));
    CHECK_CUDA(cudaFree(out));
    CHECK_CUDA(cudaFree(out16));
    delete[] host;
    delete[] host16;
}

template <class T, int K, int N>
static void check_orders(const char *type)
{
    check_product<T, K, N, ROWS, ROWS>(type);
    check_product<T, K, N, ROWS, TRANSPOSED>(type);
    check_product<T, K, N, TRANSPOSED, ROWS>(type);
    check_product<T, K, N, TRANSPOSED, TRANSPOSED>(type);
}

template <class T>
static void check_type(const char *type)
{
    check_orders<T, 64, 32>(type);
    check_orders<T, 96, 64>(type);
    check_orders<T, 128, 96>(type);
    check_orders<T, 192, 128>(type);
    check_orders<T, 256, 64>(type);
}

/* What every error here and in the other device tests goes through. */
static void check_nan()
{
    double worst = check_worse(check_worse(check_worse(0, 1), NAN), 2);
    check_report(isnan(worst), "an error that is no number outlasts those after it", worst);
    worst = check_worse(check_worse(check_worse(0, 1), 3), 2);
    check_report(worst == 3, "the largest error is kept", worst);
}

int main()
{
    check_nan();
    check_type<__nv_bfloat16>("bf16");
    check_type<__half>("fp16");
    return check_finish();
}
