/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rival.c: the second load on a device. A thread of its own enqueues bursts of 1 block to two
 * for each SM, 10 to 140 us long, on a stream of its own, with pauses of a length that changes: the
 * blocks of a variant find now these SMs taken, now those, and start in ever new orders.
 */
#include "measure/cuda/rival.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "core/status.h"
#include "kernels/cuda/device.h"
#include "measure/cuda/kernels.h"
#include "measure/cuda/status.h"

/* As large as the L2 of a large device, so that bursts evict what others have in it; less where a
 * case has left less. */
#define MOST_BYTES ((size_t)64 << 20)
#define LEAST_BYTES ((size_t)64 << 10)

struct cuda_rival {
    struct fb_rival base;
    atomic_int stop;
    pthread_t thread;
    cudaStream_t stream;
    void *memory;
    size_t bytes;
};

static uint32_t draw(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static void *work(void *argument)
{
    struct cuda_rival *rival = argument;
    const int widest = 2 * fb_cuda_device()->sms;
    uint32_t state = 1;
    cudaSetDevice(fb_cuda_device()->ordinal);
    while (!atomic_load_explicit(&rival->stop, memory_order_relaxed)) {
        struct timespec pause = {0, draw(&state) % 100000};
        fb_cuda_burst(rival->memory, rival->bytes, 1 + (int)(draw(&state) % (uint32_t)widest),
                      10 + (int)(draw(&state) % 130), rival->stream);
        if (cudaStreamSynchronize(rival->stream) != cudaSuccess)
            return NULL; /* the variant has failed: its own wait says how */
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void release(struct cuda_rival *rival)
{
    if (rival->stream)
        cudaStreamDestroy(rival->stream);
    cudaFree(rival->memory);
    free(rival);
}

static void end(struct fb_rival *base)
{
    struct cuda_rival *rival = (struct cuda_rival *)base;
    atomic_store(&rival->stop, 1);
    pthread_join(rival->thread, NULL);
    release(rival);
}

static enum fb_status find_memory(struct cuda_rival *rival, const struct fb_memory *memory)
{
    rival->bytes = MOST_BYTES;
    enum fb_status status = memory->alloc(memory, rival->bytes, &rival->memory);
    while (status == FB_NO_MEMORY && rival->bytes > LEAST_BYTES) {
        fb_status_clear();
        rival->bytes /= 2;
        status = memory->alloc(memory, rival->bytes, &rival->memory);
    }
    return status;
}

enum fb_status fb_cuda_rival(struct fb_device *device, struct fb_rival **out)
{
    struct cuda_rival *rival = calloc(1, sizeof *rival);
    enum fb_status status;
    *out = NULL;
    if (!rival)
        return fb_fail(FB_NO_MEMORY, "no memory for a second load");
    rival->base.end = end;
    FB_TRY_OUT(find_memory(rival, device->memory));
    FB_TRY_OUT(device->memory->fill(device->memory, rival->memory, 0, rival->bytes));
    FB_TRY_OUT(fb_cuda_status((int)cudaStreamCreateWithFlags(&rival->stream, cudaStreamNonBlocking),
                              "a second load"));
    /* A load that cannot be launched is told here; and its code is on the device before the first
     * call that it is to disturb. */
    FB_TRY_OUT(fb_cuda_status(fb_cuda_burst(rival->memory, rival->bytes, 1, 10, rival->stream),
                              "a second load"));
    if (pthread_create(&rival->thread, NULL, work, rival))
        status = fb_fail(FB_DEVICE, "no thread can be started for a second load");
out:
    if (status == FB_OK)
        *out = &rival->base;
    else
        release(rival);
    return status;
}
