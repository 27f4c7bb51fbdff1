/* SPDX-License-Identifier: BSD-3-Clause
 *
 * threads.c: parallel regions, tickets and waiting. Without OpenMP everything runs in one thread.
 */
#include "kernels/cpu/threads.h"

#include <sched.h>

#ifdef _OPENMP
#include <omp.h>
#endif

void fb_cpu_tickets_init(struct fb_cpu_tickets *tickets, int64_t count)
{
    atomic_init(&tickets->next, 0);
    tickets->count = count;
}

int64_t fb_cpu_ticket(struct fb_cpu_tickets *tickets)
{
    int64_t ticket = atomic_fetch_add_explicit(&tickets->next, 1, memory_order_relaxed);
    return ticket < tickets->count ? ticket : -1;
}

void fb_cpu_parallel(int threads, void (*body)(void *argument, int slot), void *argument)
{
#ifdef _OPENMP
    if (threads > 1) {
#pragma omp parallel num_threads(threads)
        body(argument, omp_get_thread_num());
        return;
    }
#endif
    (void)threads;
    body(argument, 0);
}

int fb_cpu_threads_max(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

void fb_cpu_relax(int *spins)
{
    if (++*spins < 256) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    } else {
        *spins = 0;
        sched_yield();
    }
}
