/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The attention backward in double on the device, one head at a time, P and dS materialised: slow,
 * obvious, and sharing nothing with the kernels under test.
 */
#ifndef FB_TESTS_DEVICE_REFERENCE_CUH
#define FB_TESTS_DEVICE_REFERENCE_CUH

#include <stdint.h>

#include "tests/device/check.cuh"

/* One head's operands: row pointers with strides in elements. */
template <class T>
struct head_view {
    T *data;
    int64_t row;
};

template <class T>
struct reference_head {
    head_view<T> q, k, v, o, dout;
    float *lse;
    double *p, *ds, *delta, *dq, *dk, *dv; /* dk and dv are added to (groups of query heads) */
    double *o64;                           /* o before it is rounded; may be null */
    int nq, nk, d, causal, offset;         /* causal: query i sees keys up to i + offset */
    double scale;
};

/* P, O, LSE, and D of the rounded O: one block a query row. */
template <class T>
__global__ void reference_forward(reference_head<T> h)
{
    __shared__ double part[256];
    int i = blockIdx.x, t = threadIdx.x;
    double *p = h.p + (int64_t)i * h.nk, top = -INFINITY, sum = 0;
    int seen = h.causal ? min(h.nk, max(0, i + 1 + h.offset)) : h.nk;

    for (int j = t; j < h.nk; j += 256) {
        double s = 0;
        for (int c = 0; c < h.d; c++)
            s +=
                (double)(float)h.q.data[i * h.q.row + c] * (double)(float)h.k.data[j * h.k.row + c];
        p[j] = j < seen ? s * h.scale : -INFINITY;
        top = fmax(top, p[j]);
    }
    part[t] = top;
    __syncthreads();
    for (int m = 0; m < 256; m++)
        top = fmax(top, part[m]);
    __syncthreads();
    for (int j = t; j < seen; j += 256)
        sum += exp(p[j] - top);
    part[t] = sum;
    __syncthreads();
    sum = 0;
    for (int m = 0; m < 256; m++)
        sum += part[m];
    for (int j = t; j < h.nk; j += 256)
        p[j] = j < seen ? exp(p[j] - top) / sum : 0;
    if (t == 0)
        h.lse[i] = seen ? (float)(top + log(sum)) : -INFINITY;
    __syncthreads();
    for (int c = t; c < h.d; c += 256) {
        double o = 0;
        for (int j = 0; j < seen; j++)
            o += p[j] * (double)(float)h.v.data[j * h.v.row + c];
        h.o.data[i * h.o.row + c] = (T)(float)o;
        if (h.o64)
            h.o64[(int64_t)i * h.d + c] = o;
        part[c] = (double)(float)h.o.data[i * h.o.row + c] *
                  (double)(float)h.dout.data[i * h.dout.row + c];
    }
    __syncthreads();
    if (t == 0) {
        double delta = 0;
        for (int c = 0; c < h.d; c++)
            delta += part[c];
        h.delta[i] = delta;
    }
}

/* D of another o, that of the forward under test: one warp a query row. */
template <class T>
__global__ void reference_delta(reference_head<T> h)
{
    int i = blockIdx.x, t = threadIdx.x;
    double sum = 0;

    for (int c = t; c < h.d; c += 32)
        sum += (double)(float)h.o.data[i * h.o.row + c] *
               (double)(float)h.dout.data[i * h.dout.row + c];
    for (int m = 16; m > 0; m /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, m);
    if (t == 0)
        h.delta[i] = sum;
}

template <class T>
__global__ void reference_scores(reference_head<T> h)
{
    int i = blockIdx.x;
    for (int j = threadIdx.x; j < h.nk; j += blockDim.x) {
        double dp = 0;
        int64_t at = (int64_t)i * h.nk + j;
        for (int c = 0; c < h.d; c++)
            dp += (double)(float)h.dout.data[i * h.dout.row + c] *
                  (double)(float)h.v.data[j * h.v.row + c];
        h.ds[at] = h.p[at] * (dp - h.delta[i]);
    }
}

template <class T>
__global__ void reference_dq(reference_head<T> h)
{
    int i = blockIdx.x, c = threadIdx.x;
    double sum = 0;
    for (int j = 0; j < h.nk; j++)
        sum += h.ds[(int64_t)i * h.nk + j] * (double)(float)h.k.data[j * h.k.row + c];
    h.dq[(int64_t)i * h.d + c] = sum * h.scale;
}

template <class T>
__global__ void reference_dkv(reference_head<T> h)
{
    int j = blockIdx.x, c = threadIdx.x;
    double k = 0, v = 0;
    for (int i = 0; i < h.nq; i++) {
        k += h.ds[(int64_t)i * h.nk + j] * (double)(float)h.q.data[i * h.q.row + c];
        v += h.p[(int64_t)i * h.nk + j] * (double)(float)h.dout.data[i * h.dout.row + c];
    }
    h.dk[(int64_t)j * h.d + c] += k * h.scale;
    h.dv[(int64_t)j * h.d + c] += v;
}

/* sums[0] += |x - ref|^2, sums[1] += |ref|^2; NaN in x makes sums[0] NaN. */
template <class T>
__global__ void reference_distance(head_view<T> x, const double *ref, int rows, int d, double *sums)
{
    double a = 0, b = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * d; i += gridDim.x * blockDim.x) {
        double r = ref[i], e = (double)(float)x.data[(i / d) * x.row + i % d] - r;
        a += e * e, b += r * r;
    }
    atomicAdd(&sums[0], a);
    atomicAdd(&sums[1], b);
}

#endif
