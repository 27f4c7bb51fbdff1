/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rival.c: the second load on the host.
 */
#include "measure/rival.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/status.h"

/* Larger than a core's own caches, so that the shared one and the memory take part. */
#define BYTES ((size_t)8 << 20)

struct host_rival {
    struct fb_rival base;
    atomic_int stop;
    int threads;
    pthread_t *thread;
};

/* Bursts of work of some 100 us with pauses of a length that changes, so that it keeps step with
 * nobody. */
static void *work(void *argument)
{
    struct host_rival *rival = argument;
    char *memory = malloc(BYTES);
    uint32_t state = 1;
    for (int turn = 0; memory && !atomic_load_explicit(&rival->stop, memory_order_relaxed);
         turn++) {
        struct timespec pause = {0, 0};
        size_t half = BYTES / 2, at = (size_t)turn % 8 * (half / 8);
        memset(memory + half, turn, half / 8);
        memcpy(memory + at, memory + half, half / 8);
        state = state * 1664525 + 1013904223;
        pause.tv_nsec = state >> 15;
        nanosleep(&pause, NULL);
    }
    free(memory);
    return NULL;
}

static void end(struct fb_rival *base)
{
    struct host_rival *rival = (struct host_rival *)base;
    atomic_store(&rival->stop, 1);
    for (int i = 0; i < rival->threads; i++)
        pthread_join(rival->thread[i], NULL);
    free(rival->thread);
    free(rival);
}

enum fb_status fb_rival_start(struct fb_rival **out, int threads)
{
    struct host_rival *rival = calloc(1, sizeof *rival);
    *out = NULL;
    if (rival)
        rival->thread = calloc((size_t)threads + 1, sizeof *rival->thread);
    if (!rival || !rival->thread) {
        free(rival);
        return fb_fail(FB_NO_MEMORY, "no memory for a second load");
    }
    rival->base.end = end;
    while (rival->threads < threads &&
           !pthread_create(&rival->thread[rival->threads], NULL, work, rival))
        rival->threads++;
    if (!rival->threads) {
        end(&rival->base);
        return fb_fail(FB_DEVICE, "no thread can be started for a second load");
    }
    *out = &rival->base;
    return FB_OK;
}
