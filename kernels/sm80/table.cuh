/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tables of functions by which a host calls the mma.sync kernels of one head size: both 16-bit
 * types, the plain and the general kernel of each.
 *
 * A way to add up dQ has a plain kernel of its own where that was measured to be faster
 * (sm80_own_form), else it takes the one that knows any way. The tables are constants, so that an
 * object names exactly the kernels it holds.
 */
#ifndef FB_KERNELS_SM80_TABLE_CUH
#define FB_KERNELS_SM80_TABLE_CUH

#include "kernels/sm80/launch.cuh"

namespace fb {

/* Whether D has tiles of its own; other sizes are served by the next larger one. */
constexpr bool sm80_has_tiles(int d)
{
    return d == 32 || d == 64 || d == 96 || d == 128 || d == 192 || d == 256;
}

/* The form of the kernel for one way to add up dQ: its own where that was measured to be faster
 * (doc/sm80.md), else the one that takes any. */
constexpr sm80_form sm80_own_form(int d, bool rare, sm80_form form)
{
    const bool small = d <= 64, large = d > 128;
    const bool own = form == SM80_ORDERED ? large : small || large;
    return own && !rare ? form : SM80_ANY;
}

/* Calls Run<T, GENERAL>::run(p, stream) for the run-time choice of both. */
template <template <class, bool> class Run>
int sm80_choose(const fb_sm80_args *p, int bf16, int general, void *stream)
{
    if (bf16)
        return general ? Run<__nv_bfloat16, true>::run(p, stream)
                       : Run<__nv_bfloat16, false>::run(p, stream);
    return general ? Run<__half, true>::run(p, stream) : Run<__half, false>::run(p, stream);
}

template <int D, bool SMALL>
struct sm80_table {
    template <class T, bool GENERAL>
    struct forward {
        using config = sm80_fwd_config<T, D, GENERAL>;
        static int run(const fb_sm80_args *p, void *stream)
        {
            return sm80_run_forward<config>(p, stream);
        }
    };
    template <class T, bool GENERAL>
    struct key_major {
        template <sm80_form FORM>
        using own = sm80_config<T, D, GENERAL, sm80_own_form(D, GENERAL || SMALL, FORM), SMALL>;
        using config = own<SM80_ANY>;
        static int run(const fb_sm80_args *p, void *stream)
        {
            switch (p->dq_policy) {
            case FB_SM80_DQ_ATOMIC:
                return sm80_run_main<own<SM80_ATOMIC>>(p, stream);
            case FB_SM80_DQ_ORDERED:
                return sm80_run_main<own<SM80_ORDERED>>(p, stream);
            default:
                return sm80_run_main<own<SM80_PARTIALS>>(p, stream);
            }
        }
    };
    template <class T, bool GENERAL>
    struct split {
        using keys = sm80_config<T, D, GENERAL, SM80_NO_DQ, SMALL>;
        using queries = sm80_dq_config<T, D, GENERAL, SMALL>;
        static int run(const fb_sm80_args *p, void *stream)
        {
            return sm80_run_split<keys, queries>(p, stream);
        }
        static constexpr size_t smem(int stages)
        {
            return keys::smem_bytes(stages) > queries::smem_bytes(stages)
                       ? keys::smem_bytes(stages)
                       : queries::smem_bytes(stages);
        }
    };
    using shape = typename key_major<__half, true>::config;

    static int run_pre(const fb_sm80_args *p, int bf16, void *stream)
    {
        return bf16 ? sm80_run_pre<typename key_major<__nv_bfloat16, true>::config>(p, stream)
                    : sm80_run_pre<shape>(p, stream);
    }
    static int run_post(const fb_sm80_args *p, int bf16, void *stream)
    {
        return bf16 ? sm80_run_post<typename key_major<__nv_bfloat16, true>::config>(p, stream)
                    : sm80_run_post<shape>(p, stream);
    }
    static constexpr fb_sm80_kernels kernels()
    {
        return {D,
                shape::M,
                shape::N,
                shape::WARPS,
                {shape::smem_bytes(1), shape::smem_bytes(2)},
                run_pre,
                sm80_choose<key_major>,
                run_post};
    }
    static constexpr fb_sm80_split_kernels split_kernels()
    {
        return {D,
                split<__half, true>::queries::N,
                {split<__half, true>::smem(1), split<__half, true>::smem(2)},
                sm80_choose<split>};
    }
    static constexpr fb_sm80_forward_kernels forward_kernels()
    {
        return {D, forward<__half, true>::config::SMEM, sm80_choose<forward>};
    }
};

} // namespace fb
#endif
