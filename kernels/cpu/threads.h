/* SPDX-License-Identifier: BSD-3-Clause
 *
 * threads.h: the only place that knows of OpenMP. Work is handed out by tickets: a thread that is
 * free takes the next number, so that tasks *start* in ascending order, which the ordered
 * reduction relies on (variants/cpu_ordered.c).
 */
#ifndef FB_CPU_THREADS_H
#define FB_CPU_THREADS_H

#include <stdatomic.h>
#include <stdint.h>

struct fb_cpu_tickets {
    _Atomic int64_t next;
    int64_t count;
};

void fb_cpu_tickets_init(struct fb_cpu_tickets *tickets, int64_t count);

/* 0, 1, 2 ... once each over all threads; -1 when all are taken. */
int64_t fb_cpu_ticket(struct fb_cpu_tickets *tickets);

/* Runs body(argument, slot) in `threads` threads, slots 0 to threads - 1, and waits for all. */
void fb_cpu_parallel(int threads, void (*body)(void *argument, int slot), void *argument);

/* The most threads a kernel runs: what OpenMP is set to (OMP_NUM_THREADS, omp_set_num_threads). Set
 * it before `sizes`: workspaces are planned for as many, and a later call never runs more. */
int fb_cpu_threads_max(void);

/* Tells the processor, and after a while the scheduler, that this thread only waits. */
void fb_cpu_relax(int *spins);

#endif
