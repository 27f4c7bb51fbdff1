/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm90_forward.cu: the forward of all sm90 variants (kernels/sm90/fwd.cuh): its tile shapes by
 * head size and mask. d = 128: two warpgroups. d = 64 is bound by the exponentials: three, so that
 * two of them can be in their softmax. Short causal sequences there are bound by the beginnings and
 * ends of items: three CTAs an SM of one warpgroup each. d = 256: kernels/sm90/fwd_wide.cuh.
 */
#include "kernels/sm90/fwd_wide.cuh"
#include "variants/common/sm90.h"

namespace {

template <class T, int D, bool CAUSAL>
cudaError_t enqueue(const fb::sm90_call &call)
{
    if constexpr (D == 256) {
        return fb::wide_fwd_enqueue<T, CAUSAL>(call);
    } else {
        using config = fb::fwd_sm90_config<T, D, 128, D == 64 ? 3 : 2, CAUSAL>;
        if constexpr (D == 64 && CAUSAL)
            if (call.k.row <= 1024)
                return fb::fwd_sm90_enqueue<fb::fwd_sm90_config<T, 64, 64, 1, true>>(call, true);
        return fb::fwd_sm90_enqueue<config>(call, !CAUSAL || call.k.row <= (D == 64 ? 4096 : 2048));
    }
}

template <class T, int D>
cudaError_t by_mask(const struct fb_problem *p, const fb::sm90_call &call)
{
    return fb_sm90_is_causal(p) ? enqueue<T, D, true>(call) : enqueue<T, D, false>(call);
}

template <class T>
cudaError_t by_size(const struct fb_problem *p, const fb::sm90_call &call)
{
    if (p->d == 256)
        return by_mask<T, 256>(p, call);
    return p->d == 64 ? by_mask<T, 64>(p, call) : by_mask<T, 128>(p, call);
}

} // namespace

cudaError_t fb_sm90_forward_enqueue(const struct fb_problem *p, const fb::sm90_call &call)
{
    return p->dtype == FB_BF16 ? by_size<__nv_bfloat16>(p, call) : by_size<__half>(p, call);
}
