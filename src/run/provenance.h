/* SPDX-License-Identifier: BSD-3-Clause
 *
 * provenance.h: the facts of a run that results carry: machine, build, command, experiment.
 */
#ifndef FB_RUN_PROVENANCE_H
#define FB_RUN_PROVENANCE_H

#include "cases/experiment.h"
#include "run/options.h"
#include "store/results.h"

/* FB_USAGE when an environment variable that steers a run holds what it may not, or two built-in
 * variants have one name. */
enum fb_status fb_facts_check_environment(void);

enum fb_status fb_facts_collect(struct fb_run *facts, const struct fb_run_options *options,
                                const struct fb_experiment *experiment);

#endif
