/* SPDX-License-Identifier: BSD-3-Clause
 *
 * inputs.h: how the input tensors of a case are made from a recipe. The value of an element is a
 * function of (recipe, tensor, batch, head, row, column) and of the problem's d, dv, scale and head
 * group: not of b, h, n, dtype, layout, strides, threads or machine. A batch or a sequence of a
 * larger problem therefore holds the data of the smaller one. All values are exact in fp32, bf16
 * and fp16 at once: 8 significant bits, a multiple of 2^-24 and at most 65280 in magnitude.
 */
#ifndef FB_DATA_INPUTS_H
#define FB_DATA_INPUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/recipe/recipe.h"
#include "data/draw.h"
#include "flashback.h"

/* One element, where row counts inside its sequence. lse-shaped tensors have column 0; bias has
 * row = query and column = key; sink has its head only. */
double fb_input_value(const struct fb_recipe *recipe, const struct fb_problem *problem,
                      enum fb_input input, int64_t batch, int64_t head, int64_t row,
                      int64_t column);

/* Fills one strided tensor in host memory. Dimensions with stride 0 are written once, with the
 * values of index 0. */
void fb_input_fill(const struct fb_recipe *recipe, const struct fb_problem *problem,
                   enum fb_input input, const struct fb_tensor *tensor);

/* The ALiBi slopes are part of the problem, not of the recipe. Nothing where alibi has no data. */
void fb_input_fill_slopes(const struct fb_problem *problem, const struct fb_tensor *alibi);

/* Fills all inputs that args holds (data != NULL), the ALiBi slopes of the problem among them. */
void fb_inputs_fill(const struct fb_recipe *recipe, const struct fb_problem *problem,
                    const struct fb_args *args);

/* Do the gradients of this problem on these inputs come out bit for bit under standard numerics?
 * The recipe is dyadic, the scale a power of two, the tensors narrow (so that p and ds are rounded
 * to what they ought to be) and nothing else enters the scores. */
bool fb_inputs_exact(const struct fb_recipe *recipe, const struct fb_problem *problem);

/* value rounded to what bf16 and fp16 both hold; beyond 65280 it is clamped. */
double fb_input_round(double value);

#endif
