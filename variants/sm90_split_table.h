/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm90_split_table.h: the tile shapes of the split sm90 backward, and the table of one head size.
 */
#ifndef FB_VARIANTS_SM90_SPLIT_TABLE_H
#define FB_VARIANTS_SM90_SPLIT_TABLE_H

#include "kernels/cuda/bwd_sm90_launch.cuh"
#include "variants/sm90_common.h"

template <int D>
struct fb_sm90_split_table {
    /* Queries a step of the key-major kernel, keys a step of the query-major one. */
    template <bool CAUSAL>
    static constexpr int ROWS = D == 64  ? 128
                                : CAUSAL ? 64
                                         : 80;
    static constexpr int KEYS = D == 64 ? 128 : 80;

    template <class T, bool CAUSAL>
    using keys = fb::bwd_sm90_config<T, D, ROWS<CAUSAL>, CAUSAL,
                                     fb::schedule<0, D == 64 && !CAUSAL>, fb::DQ_NONE>;
    template <class T, bool CAUSAL>
    using queries = fb::dq_sm90_config<T, D, KEYS, CAUSAL, D == 128 || !CAUSAL>;

    template <class T>
    static cudaError_t enqueue(const struct fb_problem *p, const fb::sm90_call &call)
    {
        if (fb_sm90_is_causal(p))
            return fb::split_sm90_enqueue<keys<T, true>, queries<T, true>>(call);
        return fb::split_sm90_enqueue<keys<T, false>, queries<T, false>>(call);
    }

    static size_t workspace(const struct fb_problem *p)
    {
        if (fb_sm90_is_causal(p))
            return fb::bwd_workspace_bytes<keys<__half, true>>(p->b, p->h, p->hk, p->nq, p->nk);
        return fb::bwd_workspace_bytes<keys<__half, false>>(p->b, p->h, p->hk, p->nq, p->nk);
    }

    static int query_rows(const struct fb_problem *p)
    {
        return fb_sm90_is_causal(p) ? ROWS<true> : ROWS<false>;
    }

    static cudaError_t backward(const struct fb_problem *p, const fb::sm90_call &call)
    {
        return p->dtype == FB_BF16 ? enqueue<__nv_bfloat16>(p, call) : enqueue<__half>(p, call);
    }
};

#endif
