/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sm90_key_major.h: the key-major sm90 backwards, which differ only in how CTAs add into dQ: the
 * choice of form, tile shape and schedule by head size, mask and length, and the kernels of one
 * head size. What fits the form for short sequences (kernels/sm90/bwd_short.h) takes it: it adds in
 * one order, for less than any other.
 */
#ifndef FB_VARIANTS_COMMON_SM90_KEY_MAJOR_H
#define FB_VARIANTS_COMMON_SM90_KEY_MAJOR_H

#include "kernels/sm90/bwd_launch.cuh"
#include "kernels/sm90/bwd_short.h"
#include "variants/common/sm90.h"

/*
 * The fastest configurations measured (doc/hopper.md). d = 128: 80 query rows a step for full
 * masks, 64 for causal ones and for short sequences, whose last tile is less of a waste. d = 64:
 * 128 rows.
 */
template <int D>
struct fb_sm90_shape {
    static constexpr int LONG_ROWS = D == 128 ? 80 : 128, SHORT_ROWS = D == 128 ? 64 : 128;

    static bool is_long(const struct fb_problem *p)
    {
        return !fb_sm90_is_causal(p) && p->nq > 512;
    }
    static bool is_brief(const struct fb_problem *p)
    {
        return fb::short_sm90<D>::fits(fb_sm90_is_causal(p), p->b, p->h, p->hk, p->nq, p->nk);
    }
};

/* Their schedules: of 80 rows, where dQ does not fit before dV; of 64; and of 128. */
template <int D, bool CAUSAL, bool ORDERED>
struct fb_sm90_schedule {
    using LONG =
        fb::schedule<1, false, !ORDERED, false, ORDERED ? fb::DS_BEHIND_DK : fb::DS_AT_ONCE>;
    using SHORT = fb::schedule<1, false, true, true>;
};

template <bool CAUSAL, bool ORDERED>
struct fb_sm90_schedule<64, CAUSAL, ORDERED> {
    using LONG = fb::schedule<1, false, CAUSAL || ORDERED, true, fb::DS_BEHIND_DV>;
    using SHORT = LONG;
};

template <class T, int D, fb::dq_policy POLICY>
struct fb_sm90_key_major {
    using shape = fb_sm90_shape<D>;
    template <bool CAUSAL>
    using order = fb_sm90_schedule<D, CAUSAL, POLICY == fb::DQ_ORDERED>;
    using full =
        fb::bwd_sm90_config<T, D, shape::LONG_ROWS, false, typename order<false>::LONG, POLICY>;
    using brief =
        fb::bwd_sm90_config<T, D, shape::SHORT_ROWS, false, typename order<false>::SHORT, POLICY>;
    using causal =
        fb::bwd_sm90_config<T, D, shape::SHORT_ROWS, true, typename order<true>::SHORT, POLICY>;

    static cudaError_t enqueue(const struct fb_problem *p, const fb::sm90_call &call)
    {
        if (fb_sm90_is_causal(p))
            return fb::bwd_sm90_enqueue<causal>(call);
        return shape::is_long(p) ? fb::bwd_sm90_enqueue<full>(call)
                                 : fb::bwd_sm90_enqueue<brief>(call);
    }
};

template <int D, fb::dq_policy POLICY>
struct fb_sm90_key_major_table {
    static constexpr bool offered = D == 64 || D == 128;
    static constexpr int key_rows = 128;

    template <class C>
    static size_t bytes(const struct fb_problem *p)
    {
        return fb::bwd_workspace_bytes<C>(p->b, p->h, p->hk, p->nq, p->nk);
    }

    static size_t workspace(const struct fb_problem *p)
    {
        using K = fb_sm90_key_major<__half, D, POLICY>;
        if (fb_sm90_shape<D>::is_brief(p))
            return fb::short_sm90<D>::workspace_bytes(p->b, p->h, p->nq);
        if (fb_sm90_is_causal(p))
            return bytes<typename K::causal>(p);
        return fb_sm90_shape<D>::is_long(p) ? bytes<typename K::full>(p)
                                            : bytes<typename K::brief>(p);
    }

    static int query_rows(const struct fb_problem *p)
    {
        using shape = fb_sm90_shape<D>;
        return !shape::is_brief(p) && shape::is_long(p) ? shape::LONG_ROWS : shape::SHORT_ROWS;
    }

    static const char *form(const struct fb_problem *p)
    {
        return fb_sm90_shape<D>::is_brief(p) ? ", one CTA a head" : ", one CTA a key tile";
    }

    static cudaError_t backward(const struct fb_problem *p, const fb::sm90_call &call)
    {
        if (fb_sm90_shape<D>::is_brief(p))
            return fb::short_sm90<D>::enqueue(p->dtype == FB_BF16, fb_sm90_is_causal(p), call);
        if (p->dtype == FB_BF16)
            return fb_sm90_key_major<__nv_bfloat16, D, POLICY>::enqueue(p, call);
        return fb_sm90_key_major<__half, D, POLICY>::enqueue(p, call);
    }
};

#endif
