/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which tiles of the score matrix a CTA of the mma.sync kernels works on, and which of their
 * entries count.
 *
 * Query i sees key j when i + lo <= j <= i + hi and j < nk; an open side is far enough out that it
 * can be added to. Key tile n is visited by the query tiles first(n) to last(n), both of which
 * never decrease with n, so that the key tiles that visit one query tile are neighbours, too.
 * Query tiles are visited upwards.
 *
 * Launch order. A unit is one batch entry and key head. Units go in sections that share the L2;
 * within a section the tile is the slow index. Key tiles are launched from the first one on, which
 * under a causal mask is the longest first, or, where the host says so, from the last one: a CTA
 * may only wait for CTAs launched before it, so this is also the order of ordered additions to dQ.
 */
#ifndef FB_KERNELS_SM80_WORK_CUH
#define FB_KERNELS_SM80_WORK_CUH

#include "kernels/sm80/args.h"

namespace fb {

constexpr int sm80_open = 1 << 30; /* twice this is still an int */

/* One sequence of one batch entry: lengths, first rows, and the band of the mask. */
struct sm80_sequence {
    int batch, nq, nk, lo, hi;
    int64_t q_row, k_row; /* of the sequence within its tensors; 0 unless packed */
    int q_batch;          /* the index for batch strides: 0 where sequences are packed */
};

__device__ __forceinline__ sm80_sequence sm80_sequence_find(const fb_sm80_args &p, int batch)
{
    sm80_sequence s = {batch, p.nq, p.nk, -sm80_open, sm80_open, 0, 0, batch};
    if (p.cu_q) {
        s.q_row = p.cu_q[batch], s.k_row = p.cu_k[batch], s.q_batch = 0;
        s.nq = (int)(p.cu_q[batch + 1] - s.q_row);
        s.nk = (int)(p.cu_k[batch + 1] - s.k_row);
    }
    const int shift = s.nk - s.nq;
    if (p.causal)
        s.hi = p.top_left ? 0 : shift;
    if (p.window_left >= 0)
        s.lo = shift - p.window_left;
    if (p.window_right >= 0)
        s.hi = min(s.hi, shift + p.window_right);
    if (s.lo > s.hi)
        s.hi = -sm80_open; /* nobody sees anything: no tile is visited */
    return s;
}

/* The query tiles that key tile n (bn keys from n * bn) is visited by; none if last < first. */
__device__ __forceinline__ int sm80_first_query_tile(const sm80_sequence &s, int n, int bm, int bn)
{
    return max(0, n * bn - s.hi) / bm;
}

__device__ __forceinline__ int sm80_last_query_tile(const sm80_sequence &s, int n, int bm, int bn)
{
    const int last = min(s.nq - 1, n * bn + bn - 1 - s.lo);
    return last < 0 ? -1 : last / bm;
}

/* The key tiles that query tile m visits, by the same band; none if last < first. */
__device__ __forceinline__ int sm80_first_key_tile(const sm80_sequence &s, int m, int bm, int bn)
{
    return max(0, m * bm + s.lo) / bn;
}

__device__ __forceinline__ int sm80_last_key_tile(const sm80_sequence &s, int m, int bm, int bn)
{
    const int last = min(s.nk - 1, m * bm + bm - 1 + s.hi);
    return last < 0 ? -1 : last / bn;
}

/* Are all entries of queries q.. and keys k.. visible? (Queries beyond the last have p = 0.) */
__device__ __forceinline__ bool sm80_all_visible(const sm80_sequence &s, int q, int k, int bm,
                                                 int bn)
{
    return k + bn <= s.nk && k + bn - 1 <= q + s.hi && k >= q + bm - 1 + s.lo;
}

__device__ __forceinline__ bool sm80_visible(const sm80_sequence &s, int q, int k)
{
    return k < s.nk && k <= q + s.hi && k >= q + s.lo;
}

/* The bits of a query tile's number within its turn of ordered additions. */
__device__ __forceinline__ int sm80_turn_mask(const fb_sm80_args &p)
{
    return (1 << p.turn) - 1;
}

/* Turns that a key tile takes in one head. */
__device__ __forceinline__ int sm80_turns(const fb_sm80_args &p, int bm)
{
    return (((p.nq + bm - 1) / bm - 1) >> p.turn) + 1;
}

/* The unit and the slow index of CTA `index`: `tiles` CTAs a unit, sections of `section` units. A
 * rest of less than half a section joins the last one: alone, its longest tiles would start when
 * all else is done. */
__device__ __forceinline__ void sm80_place(int units, int section, int64_t index, int tiles,
                                           int *unit, int *tile)
{
    const int sections = max(1, (2 * units / section + 1) / 2);
    const int number = min((int)(index / ((int64_t)section * tiles)), sections - 1);
    const int first = number * section;
    const int inside = (int)(index - (int64_t)first * tiles);
    const int width = number == sections - 1 ? units - first : section;
    *tile = inside / width;
    *unit = first + inside % width;
}

template <class T>
__device__ __forceinline__ char *sm80_row(const fb_sm80_tensor &t, int batch, int head, int64_t row)
{
    return t.data + sizeof(T) * (batch * t.batch + head * t.head + row * t.row);
}

} // namespace fb
#endif
