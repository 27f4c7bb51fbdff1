/* SPDX-License-Identifier: BSD-3-Clause
 *
 * run.h: an experiment from its file to the results file: cases through workers, each record into
 * the journal as soon as it is there, the HDF5 file anew from time to time and at the end.
 */
#ifndef FB_RUN_RUN_H
#define FB_RUN_RUN_H

#include "run/options.h"

/* *exit_status: 0, 1 or 3 as tally.h says, 128 + the signal after an interrupt. */
enum fb_status fb_run_experiment(const struct fb_run_options *options, int *exit_status);

#endif
