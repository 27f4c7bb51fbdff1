/* SPDX-License-Identifier: BSD-3-Clause
 *
 * split_kernels.cu: the split backward of one head size, FB_HEAD_DIM.
 *
 * Compiled once a size, apart from the others, so that make builds them side by side. Idea,
 * budgets, barriers and determinism stand in dq.cuh. A size without tiles of its own has an empty
 * table: its problems take the next larger size.
 */
#include "kernels/sm80/table.cuh"

#define SM80_PASTE(NAME, D) NAME##_##D
#define SM80_NAME(NAME, D) SM80_PASTE(NAME, D)

namespace {

template <int D, bool HAS>
struct sm80_unit {
    static constexpr fb_sm80_split_kernels split_kernels()
    {
        return fb::sm80_table<D, false>::split_kernels();
    }
};
/* A size without tiles has no kernels. */
template <int D>
struct sm80_unit<D, false> {
    static constexpr fb_sm80_split_kernels split_kernels()
    {
        return {};
    }
};
using unit = sm80_unit<FB_HEAD_DIM, fb::sm80_has_tiles(FB_HEAD_DIM)>;

} // namespace

extern "C" const struct fb_sm80_split_kernels SM80_NAME(fb_sm80_split_kernels,
                                                        FB_HEAD_DIM) = unit::split_kernels();
