/* SPDX-License-Identifier: BSD-3-Clause
 *
 * memory.c: struct fb_memory of a CUDA device. Large looks (hashes, elements never written)
 * are taken on the device, so that checking a large case does not wait for the bus.
 */
#include "measure/cuda/memory.h"

#include <cuda_runtime_api.h>

#include "core/status.h"
#include "core/tensor.h"
#include "measure/cuda/kernels.h"
#include "measure/cuda/scaling.h"
#include "measure/cuda/status.h"

static cudaStream_t stream_of(const struct fb_memory *memory)
{
    return memory->own;
}

/* Out of memory is not an error of the device: the next allocation may fit. */
static enum fb_status alloc(const struct fb_memory *memory, size_t bytes, void **out)
{
    (void)memory;
    cudaError_t error = cudaMalloc(out, bytes ? bytes : 1);
    if (error != cudaErrorMemoryAllocation)
        return fb_cuda_status((int)error, "cudaMalloc");
    cudaGetLastError();
    return fb_fail(FB_NO_MEMORY, "no device memory for %zu bytes", bytes);
}

static void release(const struct fb_memory *memory, void *data)
{
    (void)memory;
    cudaFree(data);
}

static enum fb_status copy(const struct fb_memory *memory, void *to, const void *from, size_t bytes,
                           enum cudaMemcpyKind kind)
{
    if (!bytes)
        return FB_OK;
    FB_TRY_CUDA(cudaMemcpyAsync(to, from, bytes, kind, stream_of(memory)), "copying");
    FB_TRY_CUDA(cudaStreamSynchronize(stream_of(memory)), "copying");
    return FB_OK;
}

static enum fb_status write(const struct fb_memory *memory, void *to, const void *from,
                            size_t bytes)
{
    return copy(memory, to, from, bytes, cudaMemcpyHostToDevice);
}

static enum fb_status read(const struct fb_memory *memory, void *to, const void *from, size_t bytes)
{
    return copy(memory, to, from, bytes, cudaMemcpyDeviceToHost);
}

static enum fb_status fill(const struct fb_memory *memory, void *to, int byte, size_t bytes)
{
    if (bytes)
        FB_TRY_CUDA(cudaMemsetAsync(to, byte, bytes, stream_of(memory)), "filling");
    return FB_OK;
}

static uint64_t available(const struct fb_memory *memory)
{
    size_t free = 0, total = 0;
    (void)memory;
    return cudaMemGetInfo(&free, &total) == cudaSuccess ? free : 0;
}

/* Runs `look` on one number in device memory that starts as *number, and fetches what became of
 * it. */
static enum fb_status with_number(const struct fb_memory *memory, uint64_t *number,
                                  int (*look)(const void *subject, uint64_t *number, void *stream),
                                  const void *subject)
{
    enum fb_status status;
    void *place = NULL;
    FB_TRY_OUT(alloc(memory, sizeof *number, &place));
    FB_TRY_OUT(write(memory, place, number, sizeof *number));
    FB_TRY_OUT(fb_cuda_status(look(subject, place, memory->own), "looking at buffers"));
    FB_TRY_OUT(read(memory, number, place, sizeof *number));
out:
    cudaFree(place);
    return status;
}

struct range {
    const void *from;
    uint64_t bytes;
};

static int look_hash(const void *subject, uint64_t *sum, void *stream)
{
    const struct range *range = subject;
    return fb_cuda_hash(range->from, range->bytes, sum, stream);
}

static enum fb_status hash(const struct fb_memory *memory, const void *from, size_t bytes,
                           uint64_t *out)
{
    const struct range range = {from, bytes};
    *out = 0x243F6A8885A308D3u;
    return with_number(memory, out, look_hash, &range);
}

static int look_ones(const void *subject, uint64_t *first, void *stream)
{
    return fb_cuda_find_ones(subject, first, stream);
}

static enum fb_status find_ones(const struct fb_memory *memory, const struct fb_tensor *tensor,
                                int64_t *first)
{
    uint64_t index = UINT64_MAX;
    FB_TRY(with_number(memory, &index, look_ones, tensor));
    *first = index == UINT64_MAX ? -1 : (int64_t)index;
    return FB_OK;
}

static enum fb_status scale(const struct fb_memory *memory, const struct fb_tensor *to,
                            const struct fb_tensor *from, const struct fb_factors *factors)
{
    const struct fb_tensor distinct = fb_tensor_distinct(to);
    return fb_cuda_status(fb_cuda_scale(&distinct, from, factors, memory->own), "scaling inputs");
}

static enum fb_status compare(const struct fb_memory *memory, const struct fb_tensor *got,
                              const struct fb_tensor *base, const struct fb_factors *factors,
                              struct fb_difference *difference)
{
    return fb_cuda_status(fb_cuda_compare(got, base, factors, difference, memory->own),
                          "comparing results");
}

struct fb_memory fb_cuda_memory(void *stream)
{
    return (struct fb_memory){.name = "cuda",
                              .alloc = alloc,
                              .free = release,
                              .write = write,
                              .read = read,
                              .fill = fill,
                              .available = available,
                              .hash = hash,
                              .find_ones = find_ones,
                              .scale = scale,
                              .compare = compare,
                              .own = stream};
}
