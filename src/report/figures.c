/* SPDX-License-Identifier: BSD-3-Clause
 *
 * figures.c: the list of figures.
 */
#include "report/figures.h"

#include "report/figures/determinism.h"
#include "report/figures/drift.h"
#include "report/figures/memory.h"
#include "report/figures/speed.h"

const struct fb_figure fb_figures[] = {
    {"speed", "rate of the backward by length, head size and mask", fb_pick_speed},
    {"memory", "bytes beyond inputs and outputs against length", fb_pick_memory},
    {"drift", "error of the gradients against length, by accumulator", fb_pick_drift},
    {"determinism", "rate of each variant and whether its bits repeat", fb_pick_determinism},
};
const size_t fb_figure_count = sizeof fb_figures / sizeof *fb_figures;
