/* SPDX-License-Identifier: BSD-3-Clause
 *
 * arena.h: how a kernel lays out the one block of workspace it is given. The same layout function
 * runs twice: over an arena without memory to learn the size, and over the real block to get the
 * pointers. What `sizes` plans and what a call uses can therefore not drift apart.
 */
#ifndef FB_CPU_ARENA_H
#define FB_CPU_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct fb_cpu_arena {
    char *base; /* NULL: only count */
    size_t used;
};

/* count items of `size` bytes, on a cache line of their own; NULL from a counting arena. */
static inline void *fb_cpu_take(struct fb_cpu_arena *arena, int64_t count, size_t size)
{
    void *memory = arena->base ? arena->base + arena->used : NULL;
    arena->used += ((size_t)count * size + 63) / 64 * 64;
    return memory;
}

static inline float *fb_cpu_take_floats(struct fb_cpu_arena *arena, int64_t count)
{
    return fb_cpu_take(arena, count, sizeof(float));
}

#endif
