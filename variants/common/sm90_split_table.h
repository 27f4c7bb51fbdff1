/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm90_split_table.h: the tile shapes of the split sm90 backward, and the table of one head size.
 */
#ifndef FB_VARIANTS_COMMON_SM90_SPLIT_TABLE_H
#define FB_VARIANTS_COMMON_SM90_SPLIT_TABLE_H

#include "kernels/sm90/bwd_wide_launch.cuh"
#include "variants/common/sm90.h"

template <int D>
struct fb_sm90_split_shape {
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

    template <class T, bool CAUSAL>
    static cudaError_t enqueue(const fb::sm90_call &call)
    {
        return fb::split_sm90_enqueue<keys<T, CAUSAL>, queries<T, CAUSAL>>(call);
    }
};

/* Head size 256 has a key-major kernel of its own, with 64 keys a tile. Its CTAs stay where all
 * have the same work, and where a short causal sequence is more start and end than steps. */
template <>
struct fb_sm90_split_shape<256> {
    template <class T, bool CAUSAL>
    using keys = fb::wide_sm90_config<T, CAUSAL>;

    template <class T, bool CAUSAL>
    static cudaError_t enqueue(const fb::sm90_call &call)
    {
        const int most = !CAUSAL || call.k.row <= 1024 ? fb::device_sms : 0;
        return fb::wide_sm90_enqueue<keys<T, CAUSAL>, fb::wide_dq_config<T, CAUSAL>>(call, most);
    }
};

template <int D>
struct fb_sm90_split_table {
    using shape = fb_sm90_split_shape<D>;
    static constexpr bool offered = D == 64 || D == 128 || D == 256;
    static constexpr int key_rows = D == 256 ? 64 : 128;

    template <bool CAUSAL>
    static size_t bytes(const struct fb_problem *p)
    {
        using keys = typename shape::template keys<__half, CAUSAL>;
        return fb::bwd_workspace_bytes<keys>(p->b, p->h, p->hk, p->nq, p->nk);
    }

    static size_t workspace(const struct fb_problem *p)
    {
        return fb_sm90_is_causal(p) ? bytes<true>(p) : bytes<false>(p);
    }

    static int query_rows(const struct fb_problem *p)
    {
        return fb_sm90_is_causal(p) ? shape::template keys<__half, true>::M
                                    : shape::template keys<__half, false>::M;
    }

    static const char *form(const struct fb_problem *)
    {
        return ", dQ by another kernel";
    }

    template <class T>
    static cudaError_t enqueue(const struct fb_problem *p, const fb::sm90_call &call)
    {
        return fb_sm90_is_causal(p) ? shape::template enqueue<T, true>(call)
                                    : shape::template enqueue<T, false>(call);
    }

    static cudaError_t backward(const struct fb_problem *p, const fb::sm90_call &call)
    {
        return p->dtype == FB_BF16 ? enqueue<__nv_bfloat16>(p, call) : enqueue<__half>(p, call);
    }
};

#endif
