/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The copy engine and its barriers: a tile of a strided 4-D tensor lands swizzled and zero-filled,
 * a byte range lands, a stored tile clips at the last row, an fp32 bulk reduction adds to what a
 * bulk store has put there, stmatrix puts fragments where the swizzle says, and what one warp hands
 * to two through one place arrives, round after round, by mbarriers and by named barriers.
 */
#include "kernels/ptx/mbarrier.cuh"
#include "kernels/sm90/call.cuh"
#include "kernels/ptx/tma.cuh"
#include "kernels/ptx/warpgroup.cuh"
#include "tests/device/check.cuh"

using namespace fb;
using T = __nv_bfloat16;

enum { ROWS = 100, HEADS = 3, BATCH = 2, COLS = 128, BOX = 80, FIRST = 40 };

/* Loads rows FIRST.. of head 2, batch 1, second panel; writes it out row by row, then back. */
__global__ void tile(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap to,
                     const float *line, float *seen, float *sum)
{
    __shared__ __align__(1024) char panel[BOX * 128];
    __shared__ __align__(16) float numbers[256];
    __shared__ uint64_t barrier;
    uint32_t bar = shared_address(&barrier), at = shared_address(panel);
    int t = threadIdx.x;

    if (t == 0) {
        mbarrier_init(bar, 1);
        mbarrier_init_fence();
    }
    __syncthreads();
    if (t == 0) {
        mbarrier_arrive_expect(bar, BOX * 128 + 1024);
        tma_load(at, &in, bar, 64, FIRST, 2, 1, l2_evict_last());
        bulk_load(shared_address(numbers), line, 1024, bar);
    }
    mbarrier_wait(bar, 0);
    for (int i = t; i < BOX * 64; i += blockDim.x) {
        int r = i / 64, c = i % 64;
        seen[i] = (float)*(T *)(panel + swizzle_offset(r, c / 8) + c % 8 * 2);
    }
    for (int i = t; i < 256; i += blockDim.x)
        numbers[i] += 1;
    fence_proxy_async();
    __syncthreads();
    if (t == 0) {
        tma_store(&to, at, 64, FIRST, 2, 1);
        bulk_store(sum, shared_address(numbers), 1024, l2_evict_last());
        bulk_commit();
        bulk_wait<0>();
        bulk_reduce_add(sum, shared_address(numbers), 1024, l2_evict_last());
        bulk_commit();
        bulk_wait<0>();
    }
}

/* One warp stores fragments of a 16 x 16 block, value = 100 row + col, plain and transposed. */
__global__ void fragments(float *plain, float *transposed)
{
    __shared__ __align__(1024) char panel[2][16 * 128];
    int l = threadIdx.x, mi = l / 8;
    uint32_t r[4];

    for (int i = 0; i < 4; i++) {
        int row = l / 4 + 8 * (i % 2), col = 2 * (l % 4) + 8 * (i / 2);
        r[i] = elem<T>::pack(16 * row + col, 16 * row + col + 1);
    }
    uint32_t p = shared_address(panel[0]) + swizzle_offset(8 * (mi % 2) + l % 8, mi / 2);
    uint32_t q = shared_address(panel[1]) + swizzle_offset(8 * (mi / 2) + l % 8, mi % 2);
    stmatrix_x4(p, r[0], r[1], r[2], r[3]);
    stmatrix_x4_trans(q, r[0], r[1], r[2], r[3]);
    __syncwarp();
    for (int i = l; i < 256; i += 32) {
        uint32_t at = swizzle_offset(i / 16, i % 16 / 8) + i % 8 * 2;
        plain[i] = (float)*(T *)(panel[0] + at);
        transposed[i] = (float)*(T *)(panel[1] + at);
    }
}

enum { ROUNDS = 1000, HANDED = 96 };

/* What the reader of number `i` makes of it in one round. */
__host__ __device__ static unsigned mixed(unsigned sum, unsigned round, unsigned i)
{
    return 31 * sum + 32 * round + i;
}

/* Warp 0 writes 32 numbers a round, warps 1 and 2 read them; there is room for one round. */
template <bool NAMED>
__global__ void hand(unsigned *sums)
{
    enum { FULL = 1, EMPTY };
    __shared__ unsigned numbers[32];
    __shared__ uint64_t barrier[2];
    const uint32_t full = shared_address(barrier), empty = full + 8;
    const unsigned t = threadIdx.x;
    unsigned sum = 0;

    if (t == 0) {
        mbarrier_init(full, 1);
        mbarrier_init(empty, 2);
        mbarrier_init_fence();
    }
    __syncthreads();
    for (unsigned round = 0; round < ROUNDS; round++) {
        if (t < 32) {
            if (round > 0 && NAMED)
                named_barrier_sync(EMPTY, HANDED);
            else if (round > 0)
                mbarrier_wait(empty, (round - 1) & 1);
            numbers[t] = mixed(0, round, t);
            if (NAMED)
                named_barrier_arrive(FULL, HANDED);
            else
                mbarrier_arrive_warp(full);
        } else {
            if (NAMED)
                named_barrier_sync(FULL, HANDED);
            else
                mbarrier_wait(full, round & 1);
            sum = 31 * sum + numbers[31 - t % 32];
            if (round + 1 < ROUNDS && NAMED)
                named_barrier_arrive(EMPTY, HANDED);
            else if (round + 1 < ROUNDS)
                mbarrier_arrive_warp(empty);
        }
    }
    sums[t] = sum;
}

static float value(int b, int h, int r, int c)
{
    return (float)((b * 5 + h * 3 + r * 7 + c) % 251 - 125);
}

static void check_tile()
{
    size_t count = (size_t)BATCH * ROWS * HEADS * COLS;
    T *in, *to;
    float *line, *seen, *sum;
    CUtensorMap map_in, map_to;
    double worst_load = 0, worst_store = 0, worst_sum = 0;

    CHECK_CUDA(cudaMallocManaged(&in, count * 2));
    CHECK_CUDA(cudaMallocManaged(&to, count * 2));
    CHECK_CUDA(cudaMallocManaged(&line, 1024));
    CHECK_CUDA(cudaMallocManaged(&sum, 1024));
    CHECK_CUDA(cudaMallocManaged(&seen, BOX * 64 * 4));
    for (size_t i = 0; i < count; i++) {
        int c = i % COLS, h = i / COLS % HEADS, r = i / COLS / HEADS % ROWS;
        in[i] = (T)value(i / COLS / HEADS / ROWS, h, r, c);
        to[i] = (T)-1.0f;
    }
    for (int i = 0; i < 256; i++)
        line[i] = i, sum[i] = NAN;
    tensor4 shape = {in, BATCH, HEADS, ROWS, COLS, ROWS * HEADS * COLS, COLS, HEADS * COLS};
    bool made = tensor_map_make<T>(&map_in, shape, BOX);
    shape.data = to;
    made = made && tensor_map_make<T>(&map_to, shape, BOX);
    check_report(made, "tensor maps encode", 0);
    tile<<<1, 128>>>(map_in, map_to, line, seen, sum);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < BOX * 64; i++) {
        int r = FIRST + i / 64;
        float want = r < ROWS ? value(1, 2, r, 64 + i % 64) : 0.0f;
        worst_load = check_worse(worst_load, fabs(want - seen[i]));
    }
    for (size_t i = 0; i < count; i++) {
        int c = i % COLS, h = i / COLS % HEADS, r = i / COLS / HEADS % ROWS;
        int b = i / COLS / HEADS / ROWS;
        bool inside = b == 1 && h == 2 && r >= FIRST && c >= 64;
        double want = inside ? value(b, h, r, c) : -1.0f;
        worst_store = check_worse(worst_store, fabs((float)to[i] - want));
    }
    for (int i = 0; i < 256; i++)
        worst_sum += fabs(sum[i] - 2 * (i + 1.0)); /* NaN stays */
    check_report(worst_load == 0, "strided tile load, swizzled, zero fill", worst_load);
    check_report(worst_store == 0, "tile store, clipped", worst_store);
    check_report(worst_sum == 0, "bulk load, store and fp32 reduction", worst_sum);
}

static void check_fragments()
{
    float *out;
    double worst = 0, worst_trans = 0;

    CHECK_CUDA(cudaMallocManaged(&out, 512 * 4));
    fragments<<<1, 32>>>(out, out + 256);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 256; i++) {
        worst = check_worse(worst, fabs(out[i] - i));
        worst_trans = check_worse(worst_trans, fabs(out[256 + i] - (16 * (i % 16) + i / 16)));
    }
    check_report(worst == 0, "stmatrix", worst);
    check_report(worst_trans == 0, "stmatrix transposed", worst_trans);
}

template <bool NAMED>
static void check_handing(const char *what)
{
    unsigned *sums;
    int wrong = 0;

    CHECK_CUDA(cudaMallocManaged(&sums, HANDED * sizeof *sums));
    hand<NAMED><<<1, HANDED>>>(sums);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (unsigned t = 32; t < HANDED; t++) {
        unsigned want = 0;
        for (unsigned round = 0; round < ROUNDS; round++)
            want = mixed(want, round, 31 - t % 32);
        wrong += want != sums[t];
    }
    check_report(wrong == 0, what, wrong);
}

int main()
{
    check_tile();
    check_fragments();
    check_handing<false>("handed on by mbarriers");
    check_handing<true>("handed on by named barriers");
    return check_finish();
}
