/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From scores to probabilities to their gradient, element by element, for the mma.sync kernels.
 *
 *     x = scale q.k;  x = cap tanh(x / cap), g = 1 - tanh^2;  x -= slope |distance|
 *     p = exp(x - lse), 0 where the key is not seen;  f = 0 (dropped) or 1 / (1 - rate)
 *     ds = p (f dp - delta) g
 *
 * dV needs p f, dQ and dK need ds. Entries are masked after the exponential, so that no scale, 0 or
 * negative, makes a NaN of minus infinity. Dropout words are Philox4x32-10 blocks of four entries,
 * numbered over [batch][heads][nq][nk] with the problem's lengths.
 */
#ifndef FB_KERNELS_SM80_SCORE_CUH
#define FB_KERNELS_SM80_SCORE_CUH

#include "kernels/ptx/elem.cuh"
#include "kernels/sm80/work.cuh"

namespace fb {

constexpr float log2_e = 1.44269504088896341f;

/* Word e % 4 of the block of entry e. */
__device__ __forceinline__ uint32_t philox_word(uint64_t seed, uint64_t offset, uint64_t entry)
{
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    uint32_t x0 = (uint32_t)offset, x1 = (uint32_t)(offset >> 32);
    uint32_t x2 = (uint32_t)(entry >> 2), x3 = (uint32_t)(entry >> 34);
#pragma unroll 1
    for (int round = 0; round < 10; round++) {
        const uint32_t high0 = __umulhi(0xD2511F53u, x0), low0 = 0xD2511F53u * x0;
        const uint32_t high2 = __umulhi(0xCD9E8D57u, x2), low2 = 0xCD9E8D57u * x2;
        x0 = high2 ^ x1 ^ key0, x1 = low2;
        x2 = high0 ^ x3 ^ key1, x3 = low0;
        key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
    }
    const uint32_t low = entry & 1 ? x1 : x0, high = entry & 1 ? x3 : x2;
    return entry & 2 ? high : low;
}

/* What the score terms of one head need. */
struct sm80_terms {
    float scale, cap, slope, keep_scale;
    int64_t entries; /* of the rows before this head's row 0 */
};

__device__ __forceinline__ sm80_terms sm80_terms_find(const fb_sm80_args &p, int batch, int head)
{
    sm80_terms t;
    t.scale = p.scale, t.cap = p.softcap, t.keep_scale = p.keep_scale;
    t.slope = p.alibi ? p.alibi[head] : 0;
    t.entries = ((int64_t)batch * p.heads + head) * p.nq * p.nk;
    return t;
}

/* x - the argument of the exponential, natural - of the dot product `dot`; *g as above. */
__device__ __forceinline__ float sm80_score(const sm80_terms &t, const sm80_sequence &s, float dot,
                                            int q, int k, float *g)
{
    float x = dot * t.scale;
    *g = 1;
    if (t.cap != 0) {
        const float tanh_x = tanhf(x / t.cap);
        x = t.cap * tanh_x;
        *g = 1 - tanh_x * tanh_x;
    }
    if (t.slope != 0)
        x -= t.slope * (float)abs(q + s.nk - s.nq - k);
    return x;
}

/* 0 where entry (q, k) is dropped, else 1 / (1 - rate). */
__device__ __forceinline__ float sm80_keep(const fb_sm80_args &p, const sm80_terms &t, int q, int k)
{
    const uint64_t entry = (uint64_t)(t.entries + (int64_t)q * p.nk + k);
    return philox_word(p.seed, p.offset, entry) < p.drop_threshold ? 0 : t.keep_scale;
}

/* The row and column of value x of accumulator tile (i, j): blocks of 16 rows MS apart, blocks of
 * 16 columns NS apart, from (row, column) of the warp's first. */
__device__ __forceinline__ int acc_row(int i, int x, int ms)
{
    return i * ms + threadIdx.x % 32 / 4 + x / 2 * 8;
}

__device__ __forceinline__ int acc_column(int j, int x, int ns)
{
    return j / 2 * ns + j % 2 * 8 + threadIdx.x % 4 * 2 + x % 2;
}

/* The usual case: scores to p, nothing masked. */
template <int MT, int NT>
__device__ __forceinline__ void sm80_exponentials(float (&s)[MT][NT][4], float scale_log2,
                                                  const float (&lse2)[MT][2])
{
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
            for (int x = 0; x < 4; x++)
                s[i][j][x] = exp2_approx(fmaf(s[i][j][x], scale_log2, -lse2[i][x / 2]));
}

/* Zeroes what is not seen; (q, k) belong to the warp's first block. */
template <int MS, int NS, int MT, int NT>
__device__ __forceinline__ void sm80_mask(float (&s)[MT][NT][4], const sm80_sequence &seq, int q,
                                          int k)
{
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
            for (int x = 0; x < 4; x++)
                if (!sm80_visible(seq, q + acc_row(i, x, MS), k + acc_column(j, x, NS)))
                    s[i][j][x] = 0;
}

/* ds over dp, with p in s. */
template <int MT, int NT>
__device__ __forceinline__ void sm80_gradients(const float (&s)[MT][NT][4], float (&dp)[MT][NT][4],
                                               const float (&delta)[MT][2])
{
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
            for (int x = 0; x < 4; x++)
                dp[i][j][x] = s[i][j][x] * (dp[i][j][x] - delta[i][x / 2]);
}

/* Everything at once: scores and dp to p f and ds. */
template <int MS, int NS, int MT, int NT>
__device__ __forceinline__ void sm80_general(const fb_sm80_args &p, const sm80_terms &t,
                                             const sm80_sequence &seq, float (&s)[MT][NT][4],
                                             float (&dp)[MT][NT][4], const float (&lse2)[MT][2],
                                             const float (&delta)[MT][2], int q, int k)
{
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
            for (int x = 0; x < 4; x++) {
                const int row = q + acc_row(i, x, MS), column = k + acc_column(j, x, NS);
                float g, f = 1, score = sm80_score(t, seq, s[i][j][x], row, column, &g);
                float e = exp2_approx(fmaf(score, log2_e, -lse2[i][x / 2]));
                if (!sm80_visible(seq, row, column))
                    e = 0;
                if (t.keep_scale != 0)
                    f = sm80_keep(p, t, row, column);
                s[i][j][x] = e * f;
                dp[i][j][x] = e * g * (f * dp[i][j][x] - delta[i][x / 2]);
            }
}

/* Rounds running sums to the declared type. */
template <int MT, int NT>
__device__ __forceinline__ void sm80_round(float (&acc)[MT][NT][4], fb_sm80_round to)
{
    if (to == FB_SM80_FP32)
        return;
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
            for (int x = 0; x < 4; x++)
                acc[i][j][x] = to == FB_SM80_BF16
                                   ? __bfloat162float(__float2bfloat16_rn(acc[i][j][x]))
                                   : __half2float(__float2half_rn(acc[i][j][x]));
}

} // namespace fb
#endif
