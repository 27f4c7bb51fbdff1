/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mask.c: who sees whom. fb_ref_visible is the definition; fb_ref_keys is the same as a range, and
 * a test compares the two on every small shape.
 */
#include "reference/reference.h"

/* Keys are numbered so that the last query stands beside the last key: query i is at i + nk - nq.
 */
bool fb_ref_visible(const struct fb_problem *problem, int64_t nq, int64_t nk, int64_t i, int64_t j)
{
    int64_t at = i + nk - nq;
    if (problem->mask == FB_MASK_CAUSAL && j > at)
        return false;
    if (problem->mask == FB_MASK_CAUSAL_TOPLEFT && j > i)
        return false;
    if (problem->window_left != FB_OPEN && j < at - problem->window_left)
        return false;
    if (problem->window_right != FB_OPEN && j > at + problem->window_right)
        return false;
    return i >= 0 && i < nq && j >= 0 && j < nk;
}

void fb_ref_keys(const struct fb_problem *problem, int64_t nq, int64_t nk, int64_t i, int64_t *lo,
                 int64_t *hi)
{
    int64_t at = i + nk - nq;
    int64_t first = 0, end = nk;
    if (problem->mask == FB_MASK_CAUSAL && end > at + 1)
        end = at + 1;
    if (problem->mask == FB_MASK_CAUSAL_TOPLEFT && end > i + 1)
        end = i + 1;
    if (problem->window_left != FB_OPEN && first < at - problem->window_left)
        first = at - problem->window_left;
    if (problem->window_right != FB_OPEN && end > at + 1 + problem->window_right)
        end = at + 1 + problem->window_right;
    *lo = first;
    *hi = end > first ? end : first;
}
