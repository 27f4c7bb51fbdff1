/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm90_common.h: what the sm90 variants share: refusals, the way from struct fb_args to a call of
 * the kernels, the forward, and the table through which a family finds its kernels by head size.
 */
#ifndef FB_VARIANTS_SM90_COMMON_H
#define FB_VARIANTS_SM90_COMMON_H

#include "flashback.h"
#include "kernels/sm90/call.cuh"

/* One family's kernels for one head size. All pointers are NULL where the family has none. */
struct fb_sm90_kernels {
    /* Bytes of workspace, and rows of a query tile and of a key tile. */
    size_t (*workspace)(const struct fb_problem *problem);
    int (*query_rows)(const struct fb_problem *problem);
    int key_rows;
    /* Enqueues the backward. */
    cudaError_t (*backward)(const struct fb_problem *problem, const fb::sm90_call &call);
};

/* A family: its kernels for each head size it was compiled for; ends with d = 0. */
struct fb_sm90_size {
    int d;
    const struct fb_sm90_kernels *kernels;
};

/* The reason the family, which has head size 256 if it is wide, does not compute this on this
 * machine, or NULL. */
const char *fb_sm90_refuse(const struct fb_sm90_size *sizes, bool wide,
                           const struct fb_problem *problem, const struct fb_numerics *numerics);

enum fb_status fb_sm90_sizes(const struct fb_sm90_size *sizes, const struct fb_problem *problem,
                             size_t *saved, size_t *workspace);
void fb_sm90_tiles(const struct fb_sm90_size *sizes, const struct fb_problem *problem, int64_t *bm,
                   int64_t *bn);
enum fb_status fb_sm90_backward(const struct fb_sm90_size *sizes, struct fb_context *ctx,
                                const struct fb_args *args);

/* fb_variant.forward of every sm90 variant. */
enum fb_status fb_sm90_forward(struct fb_context *ctx, void *state, const struct fb_args *args);

/* The functions of a descriptor whose family is SIZES. */
template <const struct fb_sm90_size *SIZES, bool WIDE>
struct fb_sm90_functions {
    static const char *why_not(const struct fb_problem *problem, const struct fb_numerics *numerics)
    {
        return fb_sm90_refuse(SIZES, WIDE, problem, numerics);
    }
    static enum fb_status sizes(const struct fb_problem *problem, const struct fb_numerics *,
                                size_t *saved, size_t *workspace)
    {
        return fb_sm90_sizes(SIZES, problem, saved, workspace);
    }
    static void tiles(const struct fb_problem *problem, const struct fb_numerics *, int64_t *bm,
                      int64_t *bn)
    {
        fb_sm90_tiles(SIZES, problem, bm, bn);
    }
    static enum fb_status backward(struct fb_context *ctx, void *, const struct fb_args *args)
    {
        return fb_sm90_backward(SIZES, ctx, args);
    }
};

/* The forward's launch (sm90_forward.cu). */
cudaError_t fb_sm90_forward_enqueue(const struct fb_problem *problem, const fb::sm90_call &call);

/* The descriptor of the family SIZES: what differs between families is said, the rest is theirs. */
template <const struct fb_sm90_size *SIZES, bool WIDE = false>
constexpr struct fb_variant fb_sm90_variant(const char *name, const char *summary,
                                            unsigned deterministic, int gemms)
{
    using functions = fb_sm90_functions<SIZES, WIDE>;
    return {
        .abi_version = FB_ABI_VERSION,
        .struct_size = sizeof(struct fb_variant),
        .name = name,
        .summary = summary,
        .backend = "sm90",
        .properties = {.deterministic = deterministic,
                       .gemms = gemms,
                       .saved_growth = FB_GROWTH_NONE,
                       .workspace_growth = FB_GROWTH_LINEAR},
        .why_not = functions::why_not,
        .sizes = functions::sizes,
        .tiles = functions::tiles,
        .prepare = NULL,
        .release = NULL,
        .forward = fb_sm90_forward,
        .backward = functions::backward,
        .accepts = 0,
        .roundings = 0,
    };
}

static inline bool fb_sm90_is_causal(const struct fb_problem *problem)
{
    return problem->mask != FB_MASK_FULL;
}

/*
 * A family's file is compiled once for each head size with FB_HEAD_DIM set, which defines
 * fb_sm90_<family>_d<size>, and once without, which gathers them. Two steps: names are glued only
 * after FB_HEAD_DIM has become a number.
 */
#define FB_SM90_NAME_(family, d) fb_sm90_##family##_d##d
#define FB_SM90_NAME(family, d) FB_SM90_NAME_(family, d)

/* The kernels of one head size, from the family's table for it; none where there are no kernels. */
template <template <int> class TABLE, int D>
constexpr struct fb_sm90_kernels fb_sm90_kernels_of()
{
    if constexpr (TABLE<D>::offered)
        return {TABLE<D>::workspace, TABLE<D>::query_rows, TABLE<D>::key_rows, TABLE<D>::backward};
    else
        return {};
}

#define FB_SM90_DEFINE_KERNELS(family, TABLE)                                                      \
    extern "C" {                                                                                   \
    extern const struct fb_sm90_kernels FB_SM90_NAME(family, FB_HEAD_DIM);                         \
    }                                                                                              \
    const struct fb_sm90_kernels FB_SM90_NAME(family, FB_HEAD_DIM) =                               \
        fb_sm90_kernels_of<TABLE, FB_HEAD_DIM>();

#endif
