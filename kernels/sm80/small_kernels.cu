/* SPDX-License-Identifier: BSD-3-Clause
 *
 * small_kernels.cu: both backwards of one head size, FB_HEAD_DIM, for devices with 99 KiB of
 * shared memory a block.
 *
 * The same kernels with the smaller tiles of config.cuh; empty for devices of 9.0 and later, which
 * have more. Idea, budgets, barriers and determinism stand in bwd.cuh and dq.cuh.
 */
#include "kernels/sm80/table.cuh"

#define SM80_PASTE(NAME, D) NAME##_##D
#define SM80_NAME(NAME, D) SM80_PASTE(NAME, D)

namespace {

template <int D, bool HAS>
struct sm80_unit {
    static constexpr fb_sm80_kernels kernels()
    {
        return fb::sm80_table<D, true>::kernels();
    }
    static constexpr fb_sm80_split_kernels split_kernels()
    {
        return fb::sm80_table<D, true>::split_kernels();
    }
};
/* A size without tiles has no kernels. */
template <int D>
struct sm80_unit<D, false> {
    static constexpr fb_sm80_kernels kernels()
    {
        return {};
    }
    static constexpr fb_sm80_split_kernels split_kernels()
    {
        return {};
    }
};
using unit = sm80_unit<FB_HEAD_DIM, fb::sm80_has_tiles(FB_HEAD_DIM)>;

} // namespace

extern "C" const struct fb_sm80_kernels SM80_NAME(fb_sm80_small_kernels,
                                                  FB_HEAD_DIM) = unit::kernels();
extern "C" const struct fb_sm80_split_kernels SM80_NAME(fb_sm80_small_split_kernels,
                                                        FB_HEAD_DIM) = unit::split_kernels();
