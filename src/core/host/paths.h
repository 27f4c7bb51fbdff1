/* SPDX-License-Identifier: BSD-3-Clause
 *
 * paths.h: where the installed data (plots, experiments) lies.
 */
#ifndef FB_CORE_HOST_PATHS_H
#define FB_CORE_HOST_PATHS_H

/* FLASHBACK_DATADIR if set, else the source tree this program was built in while that exists and
 * the program has not been installed, else the configured package data folder. */
const char *fb_datadir(void);

#endif
