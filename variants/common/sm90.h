/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm90.h: what the sm90 variants share: offer, the way from struct fb_args to a call of
 * the kernels, the forward, and the table through which a family finds its kernels by head size.
 */
#ifndef FB_VARIANTS_COMMON_SM90_H
#define FB_VARIANTS_COMMON_SM90_H

#include "flashback.h"
#include "kernels/sm90/call.cuh"

/* One family's kernels for one head size. All pointers are NULL where the family has none. */
struct fb_sm90_kernels {
    /* Bytes of workspace, and rows of a query tile and of a key tile. */
    size_t (*workspace)(const struct fb_problem *problem);
    int (*query_rows)(const struct fb_problem *problem);
    int key_rows;
    /* Words that follow the tiles: ", one CTA a head". */
    const char *(*form)(const struct fb_problem *problem);
    /* Enqueues the backward. */
    cudaError_t (*backward)(const struct fb_problem *problem, const fb::sm90_call &call);
};

/* A family: its kernels for each head size it was compiled for; ends with d = 0. */
struct fb_sm90_size {
    int d;
    const struct fb_sm90_kernels *kernels;
};

/* The functions of a descriptor, whose family is an array of these. */
const char *fb_sm90_why_not(const struct fb_variant *self, const struct fb_problem *problem,
                            const struct fb_numerics *numerics);
enum fb_status fb_sm90_sizes(const struct fb_variant *self, const struct fb_problem *problem,
                             const struct fb_numerics *numerics, size_t *saved, size_t *workspace);
void fb_sm90_describe(const struct fb_variant *self, const struct fb_problem *problem,
                      const struct fb_numerics *numerics, struct fb_description *what);
enum fb_status fb_sm90_forward(const struct fb_variant *self, struct fb_context *ctx, void *state,
                               const struct fb_args *args);
enum fb_status fb_sm90_backward(const struct fb_variant *self, struct fb_context *ctx, void *state,
                                const struct fb_args *args);

/* The forward's launch (sm90_forward.cu). */
cudaError_t fb_sm90_forward_enqueue(const struct fb_problem *problem, const fb::sm90_call &call);

/* The descriptor of a family: what differs between families is said, the rest is theirs. The copy
 * engine takes no stride of 0, and it does not matter when sums in fp32 are rounded. */
constexpr struct fb_variant fb_sm90_variant(const char *name, const char *summary,
                                            unsigned deterministic, int gemms,
                                            const struct fb_sm90_size *sizes,
                                            const struct fb_head_sizes &d)
{
    return {
        .abi_version = FB_ABI_VERSION,
        .struct_size = sizeof(struct fb_variant),
        .name = name,
        .summary = summary,
        .backend = "sm90",
        .properties = {.deterministic = deterministic,
                       .gemms = gemms,
                       .saved_growth = FB_GROWTH_NONE,
                       .workspace_growth = FB_GROWTH_LINEAR,
                       .roundings = 0,
                       .role = 0},
        .offer = {.dtypes = FB_BIT(FB_BF16) | FB_BIT(FB_FP16),
                  .masks = FB_MASKS_KNOWN,
                  .terms = FB_BIT(FB_TERM_GROUPS),
                  .biases = 0,
                  .layouts = FB_ANY & ~FB_BIT(FB_LAYOUT_EXPANDED_DOUT),
                  .d = d,
                  .dkv = 0,
                  .dq = 0,
                  .ps = 0,
                  .delta = 0,
                  .lse = 0,
                  .round = FB_ANY},
        .family = sizes,
        .why_not = fb_sm90_why_not,
        .sizes = fb_sm90_sizes,
        .describe = fb_sm90_describe,
        .prepare = NULL,
        .release = NULL,
        .forward = fb_sm90_forward,
        .backward = fb_sm90_backward,
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
        return {TABLE<D>::workspace, TABLE<D>::query_rows, TABLE<D>::key_rows, TABLE<D>::form,
                TABLE<D>::backward};
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
