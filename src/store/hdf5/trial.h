/* SPDX-License-Identifier: BSD-3-Clause
 *
 * trial.h: does a function survive a file? The HDF5 library (1.10.8) can run past its buffers in
 * damaged metadata; a file with a seal is known to be whole, one that another program rewrote is
 * tried by a child process first.
 */
#ifndef FB_STORE_HDF5_TRIAL_H
#define FB_STORE_HDF5_TRIAL_H

#include "flashback.h"

/* Runs attempt(path) in a child that says nothing, dumps no core and has a minute of processor
 * time. FB_CORRUPT when that ended it; what it returns does not matter, and where no child can be
 * had FB_OK. */
enum fb_status fb_trial(void (*attempt)(const char *path), const char *path);

#endif
