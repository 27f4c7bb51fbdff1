/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ops.c: which copy of the hot files runs here. The levels are those of the x86-64 psABI, best
 * first; the generic copy is always there.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/hot/ops.h"

extern const struct fb_cpu_ops fb_cpu_ops_generic;
#ifdef HAVE_ISA_V2
extern const struct fb_cpu_ops fb_cpu_ops_v2;
#endif
#ifdef HAVE_ISA_V3
extern const struct fb_cpu_ops fb_cpu_ops_v3;
#endif
#ifdef HAVE_ISA_V4
extern const struct fb_cpu_ops fb_cpu_ops_v4;
#endif

/* The builtins want literal names, hence one macro a level. AVX levels include that the system
 * saves the wide registers: __builtin_cpu_supports checks that too. */
#define HAS(feature) (__builtin_cpu_supports(feature) != 0)
/* F16C, LZCNT and MOVBE belong to the level too; clang 14 has no names for them here. */
#if defined __clang__ || __GNUC__ < 12
#define HAS_LEVEL_3 1
#else
#define HAS_LEVEL_3 HAS("x86-64-v3")
#endif

static const struct fb_cpu_ops *level_v3(void)
{
#ifdef HAVE_ISA_V3
    if (HAS("avx2") && HAS("fma") && HAS("bmi") && HAS("bmi2") && HAS_LEVEL_3)
        return &fb_cpu_ops_v3;
#endif
    return NULL;
}

static const struct fb_cpu_ops *level_v4(void)
{
#ifdef HAVE_ISA_V4
    if (level_v3() && HAS("avx512f") && HAS("avx512bw") && HAS("avx512cd") && HAS("avx512dq") &&
        HAS("avx512vl"))
        return &fb_cpu_ops_v4;
#endif
    return NULL;
}

static const struct fb_cpu_ops *level_v2(void)
{
#ifdef HAVE_ISA_V2
    if (HAS("sse4.2") && HAS("ssse3") && HAS("popcnt"))
        return &fb_cpu_ops_v2;
#endif
    return NULL;
}

static const struct fb_cpu_ops *level_generic(void)
{
    return &fb_cpu_ops_generic;
}

static const struct {
    const char *name;
    const struct fb_cpu_ops *(*table)(void);
} levels[] = {{"v4", level_v4}, {"v3", level_v3}, {"v2", level_v2}, {"generic", level_generic}};

const struct fb_cpu_ops *fb_cpu_ops(void)
{
    const char *asked = getenv("FLASHBACK_ISA");
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        if (asked && *asked && strcmp(asked, levels[i].name) != 0)
            continue;
        const struct fb_cpu_ops *ops = levels[i].table();
        if (ops || (asked && *asked))
            return ops;
    }
    return NULL;
}

const char *fb_cpu_isa_name(void)
{
    const struct fb_cpu_ops *ops = fb_cpu_ops();
    return ops ? ops->isa : "none";
}

const char *fb_cpu_isa_error(void)
{
    if (fb_cpu_ops())
        return NULL;
    return "FLASHBACK_ISA must be v4, v3, v2 or generic, and one that this machine has";
}
