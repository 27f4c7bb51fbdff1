/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The delta pre-pass against an fp64 loop: every element type, odd head sizes and lengths, strides
 * of all kinds, rows beyond one grid and offsets beyond 32 bits. Skipped by name without a device.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tests/tap.h"

#ifndef HAVE_CUDA

int main(void)
{
    tap_skip("cuda delta: built without CUDA");
    return tap_done();
}

#else

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "kernels/dense/delta.h"
#include "kernels/cuda/device.h"

/* A row's sum is at most 9 products deep in a lane, 5 additions of the team and the subtraction of
 * dlse; each rounds once, so the error is at most 15 u / (1 - 15 u) of the terms' magnitudes. */
#define DEPTH 15
static const double unit = 1.0 / (1 << 24);

/* How a tensor lies in memory, by name. */
enum lie { BHND, BNHD, PADDED, SHIFTED, EXPANDED, BACKWARD };

struct shape {
    int64_t b, h, n, d;
};

struct view {
    int64_t stride[3], offset, count; /* elements; count is the size of the whole buffer */
};

static struct view view_of(enum lie lie, struct shape s)
{
    int64_t row = lie == PADDED ? (s.d + 15) / 8 * 8 : s.d;
    struct view v = {{s.h * s.n * row, s.n * row, row}, 0, s.b * s.h * s.n * row};
    if (lie == BNHD) {
        v.stride[0] = s.n * s.h * row;
        v.stride[1] = row;
        v.stride[2] = s.h * row;
    } else if (lie == SHIFTED) {
        v.offset = 1; /* an address that no 16-byte load may touch */
        v.count += 1;
    } else if (lie == EXPANDED) {
        memset(v.stride, 0, sizeof v.stride);
        v.count = row;
    } else if (lie == BACKWARD) {
        v.offset = (s.n - 1) * row;
        v.stride[2] = -row;
    }
    return v;
}

static int64_t at(const struct view *v, int64_t b, int64_t h, int64_t i)
{
    return v->offset + b * v->stride[0] + h * v->stride[1] + i * v->stride[2];
}

static enum fb_dtype dtype_of(enum fb_cuda_element element)
{
    return element == FB_CUDA_FP32 ? FB_FP32 : element == FB_CUDA_BF16 ? FB_BF16 : FB_FP16;
}

static size_t bytes_of(enum fb_cuda_element element)
{
    return element == FB_CUDA_FP32 ? 4 : 2;
}

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    printf("Bail out! %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

/* A reproducible value in [-1, 1). */
static double draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)*state / 9223372036854775808.0;
}

static void *random_elements(enum fb_dtype dtype, int64_t count, uint64_t seed)
{
    void *host = malloc((size_t)count * (dtype == FB_FP32 ? 4 : 2));
    if (!host)
        must(cudaErrorMemoryAllocation, "host memory");
    for (int64_t i = 0; i < count; i++)
        fb_element_write(host, dtype, i, draw(&seed));
    return host;
}

static void *to_device(const void *host, size_t bytes)
{
    void *device;
    must(cudaMalloc(&device, bytes), "cudaMalloc");
    must(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "copy to the device");
    return device;
}

/* One comparison: the tensors on both sides and the call that reads them. */
struct trial {
    struct shape shape;
    enum fb_cuda_element element;
    struct view dout_view, o_view, dlse_view, delta_view;
    void *dout, *o;
    float *dlse, *delta; /* delta holds what the device wrote; dlse may be NULL */
    struct fb_cuda_delta call;
};

static void trial_open(struct trial *t, struct shape shape, enum fb_cuda_element element,
                       enum lie dout, enum lie o, int with_dlse)
{
    enum fb_dtype dtype = dtype_of(element);
    struct shape row = {shape.b, shape.h, shape.n, 1};
    *t = (struct trial){.shape = shape, .element = element};
    t->dout_view = view_of(dout, shape);
    t->o_view = view_of(o, shape);
    t->dlse_view = view_of(BNHD, row);
    t->delta_view = view_of(PADDED, row); /* with gaps, which must stay as they were */
    t->dout = random_elements(dtype, t->dout_view.count, 1);
    t->o = random_elements(dtype, t->o_view.count, 2);
    t->dlse = with_dlse ? random_elements(FB_FP32, t->dlse_view.count, 3) : NULL;
    t->delta = malloc((size_t)t->delta_view.count * sizeof *t->delta);
    memset(t->delta, 0xff, (size_t)t->delta_view.count * sizeof *t->delta);
}

static void trial_upload(struct trial *t)
{
    size_t bytes = bytes_of(t->element);
    struct fb_cuda_delta *c = &t->call;
    c->element = t->element;
    c->b = t->shape.b;
    c->h = t->shape.h;
    c->n = t->shape.n;
    c->d = t->shape.d;
    c->dout = (char *)to_device(t->dout, (size_t)t->dout_view.count * bytes) +
              (size_t)t->dout_view.offset * bytes;
    c->o =
        (char *)to_device(t->o, (size_t)t->o_view.count * bytes) + (size_t)t->o_view.offset * bytes;
    c->dlse = t->dlse ? to_device(t->dlse, (size_t)t->dlse_view.count * sizeof(float)) : NULL;
    c->delta = to_device(t->delta, (size_t)t->delta_view.count * sizeof(float));
    memcpy(c->dout_stride, t->dout_view.stride, sizeof c->dout_stride);
    memcpy(c->o_stride, t->o_view.stride, sizeof c->o_stride);
    memcpy(c->dlse_stride, t->dlse_view.stride, sizeof c->dlse_stride);
    memcpy(c->delta_stride, t->delta_view.stride, sizeof c->delta_stride);
}

static void trial_run(struct trial *t)
{
    must((cudaError_t)fb_cuda_delta(&t->call, NULL), "fb_cuda_delta");
    must(cudaDeviceSynchronize(), "the delta kernel");
    must(cudaMemcpy(t->delta, t->call.delta, (size_t)t->delta_view.count * sizeof(float),
                    cudaMemcpyDeviceToHost),
         "copy from the device");
}

static void trial_close(struct trial *t)
{
    size_t bytes = bytes_of(t->element);
    cudaFree((char *)t->call.dout - (size_t)t->dout_view.offset * bytes);
    cudaFree((char *)t->call.o - (size_t)t->o_view.offset * bytes);
    cudaFree((void *)t->call.dlse);
    cudaFree(t->call.delta);
    free(t->dout);
    free(t->o);
    free(t->dlse);
    free(t->delta);
}

/* The error of one row over its bound; NaN counts as infinitely wrong. */
static double row_error(const struct trial *t, int64_t b, int64_t h, int64_t i)
{
    enum fb_dtype dtype = dtype_of(t->element);
    int64_t dout = at(&t->dout_view, b, h, i), o = at(&t->o_view, b, h, i);
    double lse_term = t->dlse ? t->dlse[at(&t->dlse_view, b, h, i)] : 0;
    double sum = -lse_term, magnitude = fabs(lse_term);
    for (int64_t c = 0; c < t->shape.d; c++) {
        double term =
            fb_element_read(t->dout, dtype, dout + c) * fb_element_read(t->o, dtype, o + c);
        sum += term;
        magnitude += fabs(term);
    }
    double error = fabs(t->delta[at(&t->delta_view, b, h, i)] - sum);
    double bound = DEPTH * unit / (1 - DEPTH * unit) * magnitude + 1e-300;
    return isnan(error) ? INFINITY : error / bound;
}

static double worst_error(const struct trial *t)
{
    double worst = 0;
    for (int64_t b = 0; b < t->shape.b; b++)
        for (int64_t h = 0; h < t->shape.h; h++)
            for (int64_t i = 0; i < t->shape.n; i++)
                worst = fmax(worst, row_error(t, b, h, i));
    return worst;
}

/* Elements of delta that hold a number: exactly one a row, the gaps keep their NaN. */
static int64_t written(const struct trial *t)
{
    int64_t count = 0;
    for (int64_t i = 0; i < t->delta_view.count; i++)
        count += !isnan(t->delta[i]);
    return count;
}

static void compare(struct shape shape, enum fb_cuda_element element, enum lie dout, enum lie o,
                    int with_dlse)
{
    static const char *const types[] = {"fp32", "bf16", "fp16"};
    static const char *const lies[] = {"bhnd", "bnhd", "padded", "shifted", "expanded", "backward"};
    struct trial t;
    trial_open(&t, shape, element, dout, o, with_dlse);
    trial_upload(&t);
    trial_run(&t);
    double worst = worst_error(&t);
    int64_t rows = shape.b * shape.h * shape.n, count = written(&t);
    tap_ok(worst <= 1 && count == rows,
           "%s b=%lld h=%lld n=%lld d=%lld dout %s, o %s%s: %.2f of the bound, %lld of %lld rows",
           types[element], (long long)shape.b, (long long)shape.h, (long long)shape.n,
           (long long)shape.d, lies[dout], lies[o], with_dlse ? ", dlse" : "", worst,
           (long long)count, (long long)rows);
    trial_close(&t);
}

static void test_shapes(void)
{
    static const int64_t sizes[] = {1, 2, 3, 7, 8, 31, 33, 40, 64, 100, 128, 129, 192, 255, 256};
    for (int element = FB_CUDA_FP32; element <= FB_CUDA_FP16; element++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            compare((struct shape){2, 3, 67, sizes[i]}, (enum fb_cuda_element)element, BHND, BHND,
                    i % 2);
}

static void test_layouts(void)
{
    for (int element = FB_CUDA_FP32; element <= FB_CUDA_FP16; element++)
        for (int dout = BHND; dout <= BACKWARD; dout++)
            for (int d = 64; d <= 100; d += 36)
                compare((struct shape){2, 3, 33, d}, (enum fb_cuda_element)element, (enum lie)dout,
                        dout % 2 ? PADDED : BNHD, 1);
}

/* More heads, and more rows a head, than a grid has blocks. */
static void test_beyond_a_grid(void)
{
    compare((struct shape){1, 70001, 1, 8}, FB_CUDA_BF16, BHND, BHND, 0);
    compare((struct shape){1, 1, (1 << 24) + 300, 1}, FB_CUDA_FP16, BHND, EXPANDED, 0);
}

static void test_same_bits(void)
{
    struct trial t;
    trial_open(&t, (struct shape){2, 4, 1000, 128}, FB_CUDA_BF16, BHND, BHND, 1);
    trial_upload(&t);
    trial_run(&t);
    size_t bytes = (size_t)t.delta_view.count * sizeof *t.delta;
    float *first = malloc(bytes);
    int same = first != NULL;
    if (first)
        memcpy(first, t.delta, bytes);
    for (int run = 0; same && run < 20; run++) {
        trial_run(&t);
        same = !memcmp(first, t.delta, bytes);
    }
    tap_ok(same, "twenty runs give the same bits");
    free(first);
    trial_close(&t);
}

/* Two batches of o more than 2^31 elements apart. */
static void test_wide_offsets(void)
{
    const int64_t far = ((int64_t)1 << 31) + 64, d = 64;
    char *sparse;
    struct trial t;
    trial_open(&t, (struct shape){2, 1, 5, d}, FB_CUDA_BF16, BHND, BHND, 0);
    if (cudaMalloc((void **)&sparse, (size_t)(far + 5 * d) * 2) != cudaSuccess) {
        cudaGetLastError();
        tap_skip("offsets beyond 2^31 elements: the device has no 4.3 GB to spare");
        return;
    }
    trial_upload(&t);
    const char *dense = t.call.o;
    must(cudaMemcpy(sparse, dense, (size_t)(5 * d) * 2, cudaMemcpyDeviceToDevice), "copy");
    must(cudaMemcpy(sparse + far * 2, dense + 5 * d * 2, (size_t)(5 * d) * 2,
                    cudaMemcpyDeviceToDevice),
         "copy");
    t.call.o = sparse;
    t.call.o_stride[0] = far;
    trial_run(&t);
    t.call.o = dense;
    double worst = worst_error(&t);
    tap_ok(worst <= 1, "offsets beyond 2^31 elements: %.2f of the bound", worst);
    cudaFree(sparse);
    trial_close(&t);
}

static void test_arguments(void)
{
    struct fb_cuda_delta call = {.element = FB_CUDA_FP32, .b = 1, .h = 1, .n = 0, .d = 64};
    tap_ok(fb_cuda_delta(&call, NULL) == cudaSuccess, "n=0 is a success");
    call.n = 1;
    call.d = 0;
    tap_ok(fb_cuda_delta(&call, NULL) == cudaErrorInvalidValue, "d=0 is refused");
    call.d = 257;
    tap_ok(fb_cuda_delta(&call, NULL) == cudaErrorInvalidValue, "d=257 is refused");
}

int main(void)
{
    test_arguments();
    if (fb_cuda_device()->ordinal < 0) {
        tap_skip("cuda delta: %s", fb_cuda_device()->why);
        return tap_done();
    }
    test_shapes();
    test_layouts();
    test_beyond_a_grid();
    test_same_bits();
    test_wide_offsets();
    return tap_done();
}

#endif
