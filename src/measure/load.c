/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/load.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/status.h"

/* Larger than a core's own caches, so that the shared one and the memory take part. */
#define BYTES ((size_t)8 << 20)

struct fb_load {
    atomic_int stop;
    int threads;
    pthread_t *thread;
};

/* Bursts of work of some 100 us with pauses of a length that changes, so that it keeps step with
 * nobody. */
static void *work(void *argument)
{
    struct fb_load *load = argument;
    char *memory = malloc(BYTES);
    uint32_t state = 1;
    for (int turn = 0; memory && !atomic_load_explicit(&load->stop, memory_order_relaxed); turn++) {
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

enum fb_status fb_load_start(struct fb_load **out, int threads)
{
    struct fb_load *load = calloc(1, sizeof *load);
    if (load)
        load->thread = calloc((size_t)threads + 1, sizeof *load->thread);
    if (!load || !load->thread) {
        free(load);
        return fb_fail(FB_NO_MEMORY, "no memory for a second load");
    }
    while (load->threads < threads &&
           !pthread_create(&load->thread[load->threads], NULL, work, load))
        load->threads++;
    *out = load;
    if (load->threads)
        return FB_OK;
    fb_load_stop(load);
    *out = NULL;
    return fb_fail(FB_DEVICE, "no thread can be started for a second load");
}

void fb_load_stop(struct fb_load *load)
{
    if (!load)
        return;
    atomic_store(&load->stop, 1);
    for (int i = 0; i < load->threads; i++)
        pthread_join(load->thread[i], NULL);
    free(load->thread);
    free(load);
}
