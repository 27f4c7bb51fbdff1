/* SPDX-License-Identifier: BSD-3-Clause
 *
 * device_kernel.cu: o, lse and the gradients in double precision, obvious before fast.
 *
 * A block of 16 x 16 threads owns 16 rows of one side and walks the other side 16 rows at a time:
 * thread (y, x) makes the dot product of its row y and their row x from 32 columns at a time, and
 * then holds the columns x, x + 16, ... of its row's result. In the forward maximum and sum run
 * along, so that no row of scores is kept; the sink is one more term of the sum at the end. dq is
 * made by blocks of queries, dk and dv by blocks of keys, which take the query heads of their group
 * in turn.
 *
 * Shared memory: 2 x 16 x 33 and 2 x 16 x 17 doubles, 12,800 bytes. Registers: 16 doubles a result.
 * Barriers: before and after each load of 32 columns, and around p and ds. Loops' bounds depend on
 * the block alone. Deterministic: sums run in one order, nothing is atomic.
 */
#include <math_constants.h>

#include "reference/device_kernel.h"

namespace {

constexpr int side = 16, columns = 32, most = 256 / side;
using call_type = fb_ref_device_call;

/* Rows of one head: [n, width]. */
struct rows {
    const double *data;
    int64_t n;
    int width;
};

__device__ rows rows_of(const double *data, int64_t head, int64_t n, int width)
{
    return {data + head * n * width, n, width};
}

/* sum_c a[a0 + y][c] b[b0 + x][c]; rows beyond the end count as 0. */
__device__ double dot(const rows &a, int64_t a0, const rows &b, int64_t b0)
{
    __shared__ double as[side][columns + 1], bs[side][columns + 1];
    const int x = threadIdx.x, y = threadIdx.y;
    double sum = 0;
    for (int c0 = 0; c0 < a.width; c0 += columns) {
        __syncthreads();
        for (int c = x; c < columns; c += side) {
            const bool inside = c0 + c < a.width;
            as[y][c] = inside && a0 + y < a.n ? a.data[(a0 + y) * a.width + c0 + c] : 0;
            bs[y][c] = inside && b0 + y < b.n ? b.data[(b0 + y) * b.width + c0 + c] : 0;
        }
        __syncthreads();
        for (int c = 0; c < columns; c++)
            sum = fma(as[y][c], bs[x][c], sum);
    }
    return sum;
}

/* out[m] += sum_t weight[y][t] b[b0 + t][x + 16 m]. weight is whole, and not written until the next
 * barrier. */
__device__ void add_product(double (&out)[most], const double (&weight)[side][side + 1],
                            const rows &b, int64_t b0)
{
    const int x = threadIdx.x, y = threadIdx.y;
#pragma unroll 1
    for (int t = 0; t < side && b0 + t < b.n; t++) {
        const double *row = b.data + (b0 + t) * b.width;
        const double w = weight[y][t];
#pragma unroll
        for (int m = 0; m < most; m++)
            if (x + side * m < b.width)
                out[m] = fma(w, row[x + side * m], out[m]);
    }
}

__device__ void store(double *to, const double (&out)[most], int width, double factor)
{
#pragma unroll
    for (int m = 0; m < most; m++) {
        const int c = threadIdx.x + side * m;
        if (c < width)
            to[c] = factor * out[m];
    }
}

/* The score of a pair, and the derivative of the softcap. */
__device__ double score(const call_type &call, double product, double slope, int64_t i, int64_t j,
                        double *derivative)
{
    double s = call.scale * product;
    *derivative = 1;
    if (call.softcap != 0) {
        const double t = tanh(s / call.softcap);
        *derivative = 1 - t * t;
        s = call.softcap * t;
    }
    return slope == 0 ? s : s - slope * fabs((double)(i + call.nk - call.nq - j));
}

/* The largest, or the sum, of the 16 threads of a row. */
__device__ double over_row(double x, bool sum)
{
    for (int step = side / 2; step > 0; step /= 2) {
        const double other = __shfl_xor_sync(~0u, x, step);
        x = sum ? x + other : fmax(x, other);
    }
    return x;
}

/* Keys from .. end - 1 that any of the queries from i0 on sees. */
__device__ void key_range(const call_type &call, int64_t i0, int64_t *from, int64_t *end)
{
    *from = call.nk;
    *end = 0;
    for (int64_t i = i0; i < i0 + side && i < call.nq; i++)
        if (call.lo[i] < call.hi[i]) {
            *from = call.lo[i] < *from ? call.lo[i] : *from;
            *end = call.hi[i] > *end ? call.hi[i] : *end;
        }
    *from = *from / side * side;
}

/* ---- Forward ------------------------------------------------------------------------------------
 */

struct running {
    double top, sum;
};

__device__ void add_keys(const rows &v, double s, int64_t j0, running *row, double (&o)[most])
{
    __shared__ double p[side][side + 1];
    const double top = fmax(row->top, over_row(s, false));
    const double base = top == -CUDART_INF ? 0 : top, rescale = exp(row->top - base);
    const double mine = exp(s - base);
    row->top = top;
    row->sum = row->sum * rescale + over_row(mine, true);
#pragma unroll
    for (int m = 0; m < most; m++)
        o[m] *= rescale;
    __syncthreads();
    p[threadIdx.y][threadIdx.x] = mine;
    __syncthreads();
    add_product(o, p, v, j0);
}

__global__ void __launch_bounds__(side *side)
    forward_kernel(const __grid_constant__ fb_ref_device_call call)
{
    const int64_t head = blockIdx.y, key_head = head / (call.h / call.hk);
    const int64_t i0 = (int64_t)blockIdx.x * side, i = i0 + threadIdx.y;
    const rows q = rows_of(call.q, head, call.nq, call.d);
    const rows k = rows_of(call.k, key_head, call.nk, call.d);
    const rows v = rows_of(call.v, key_head, call.nk, call.width_v);
    const int64_t lo = i < call.nq ? call.lo[i] : 0, hi = i < call.nq ? call.hi[i] : 0;
    int64_t from, end;
    key_range(call, i0, &from, &end);
    running row = {-CUDART_INF, 0};
    double o[most] = {}, derivative;
    for (int64_t j0 = from; j0 < end; j0 += side) {
        const int64_t j = j0 + threadIdx.x;
        const double product = dot(q, i0, k, j0);
        const double s = score(call, product, call.slope[head], i, j, &derivative);
        add_keys(v, j >= lo && j < hi ? s : -CUDART_INF, j0, &row, o);
    }
    if (i >= call.nq)
        return;
    const double top = lo < hi ? fmax(row.top, call.sink[head]) : -CUDART_INF;
    const double base = top == -CUDART_INF ? 0 : top, rescale = exp(row.top - base);
    const double sum = row.sum * rescale + (lo < hi ? exp(call.sink[head] - base) : 0);
    store(call.o + (head * call.nq + i) * call.width_v, o, call.width_v,
          sum > 0 ? rescale / sum : 0);
    if (threadIdx.x == 0)
        call.lse[head * call.nq + i] = sum > 0 ? top + log(sum) : -CUDART_INF;
}

/* ---- Backward -----------------------------------------------------------------------------------
 */

/* p and ds of a pair; both 0 where it is not visible. */
struct pair {
    double p, ds;
};

__device__ pair pair_of(const call_type &call, double product, double dp, int64_t head, int64_t i,
                        int64_t j)
{
    if (i >= call.nq || j < call.lo[i] || j >= call.hi[i])
        return {0, 0};
    double derivative;
    const double s = score(call, product, call.slope[head], i, j, &derivative);
    const double p = exp(s - call.lse[head * call.nq + i]);
    return {p, p * (dp - call.delta[head * call.nq + i]) * derivative};
}

__global__ void __launch_bounds__(side *side)
    queries_kernel(const __grid_constant__ fb_ref_device_call call)
{
    __shared__ double ds[side][side + 1];
    const int64_t head = blockIdx.y, key_head = head / (call.h / call.hk);
    const int64_t i0 = (int64_t)blockIdx.x * side, i = i0 + threadIdx.y;
    const rows q = rows_of(call.q, head, call.nq, call.d);
    const rows dout = rows_of(call.dout, head, call.nq, call.width_v);
    const rows k = rows_of(call.k, key_head, call.nk, call.d);
    const rows v = rows_of(call.v, key_head, call.nk, call.width_v);
    int64_t from, end;
    key_range(call, i0, &from, &end);
    double dq[most] = {};
    for (int64_t j0 = from; j0 < end; j0 += side) {
        const double product = dot(q, i0, k, j0), dp = dot(dout, i0, v, j0);
        const pair mine = pair_of(call, product, dp, head, i, j0 + threadIdx.x);
        __syncthreads();
        ds[threadIdx.y][threadIdx.x] = mine.ds;
        __syncthreads();
        add_product(dq, ds, k, j0);
    }
    if (i < call.nq)
        store(call.dq + (head * call.nq + i) * call.d, dq, call.d, call.scale);
}

/* Here the rows are keys, y, and what is walked are queries, x. */
__device__ void add_queries(const call_type &call, int64_t head, const rows &k, const rows &v,
                            int64_t j0, double (&dk)[most], double (&dv)[most])
{
    __shared__ double ps[side][side + 1], ds[side][side + 1];
    const rows q = rows_of(call.q, head, call.nq, call.d);
    const rows dout = rows_of(call.dout, head, call.nq, call.width_v);
    const int64_t j = j0 + threadIdx.y;
    for (int64_t i0 = 0; i0 < call.nq; i0 += side) {
        const int64_t i = i0 + threadIdx.x;
        const bool seen = i < call.nq && j < call.nk && j >= call.lo[i] && j < call.hi[i];
        if (!__syncthreads_or(seen))
            continue;
        const double product = dot(k, j0, q, i0), dp = dot(v, j0, dout, i0);
        const pair mine = seen ? pair_of(call, product, dp, head, i, j) : pair{0, 0};
        __syncthreads();
        ps[threadIdx.y][threadIdx.x] = mine.p;
        ds[threadIdx.y][threadIdx.x] = mine.ds;
        __syncthreads();
        add_product(dv, ps, dout, i0);
        add_product(dk, ds, q, i0);
    }
}

__global__ void __launch_bounds__(side *side)
    keys_kernel(const __grid_constant__ fb_ref_device_call call)
{
    const int64_t key_head = blockIdx.y, group = call.h / call.hk;
    const int64_t j0 = (int64_t)blockIdx.x * side, j = j0 + threadIdx.y;
    const rows k = rows_of(call.k, key_head, call.nk, call.d);
    const rows v = rows_of(call.v, key_head, call.nk, call.width_v);
    double dk[most] = {}, dv[most] = {};
    for (int64_t head = key_head * group; head < (key_head + 1) * group; head++)
        add_queries(call, head, k, v, j0, dk, dv);
    if (j >= call.nk)
        return;
    store(call.dk + (key_head * call.nk + j) * call.d, dk, call.d, call.scale);
    store(call.dv + (key_head * call.nk + j) * call.width_v, dv, call.width_v, 1);
}

int launch(void (*kernel)(fb_ref_device_call), const call_type &call, int64_t n, int64_t heads)
{
    const dim3 grid((unsigned)((n + side - 1) / side), (unsigned)heads);
    if (n == 0 || heads == 0)
        return cudaSuccess;
    if (heads > 65535)
        return cudaErrorInvalidValue;
    kernel<<<grid, dim3(side, side)>>>(call);
    const cudaError_t error = cudaGetLastError();
    return error != cudaSuccess ? error : cudaDeviceSynchronize();
}

} // namespace

extern "C" int fb_ref_device_forward(const struct fb_ref_device_call *call)
{
    return launch(forward_kernel, *call, call->nq, call->h);
}

extern "C" int fb_ref_device_backward(const struct fb_ref_device_call *call)
{
    const int error = launch(queries_kernel, *call, call->nq, call->h);
    return error ? error : launch(keys_kernel, *call, call->nk, call->hk);
}
