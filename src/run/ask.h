/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ask.h: whether variants take cases, asked through workers: the supervisor calls no variant.
 */
#ifndef FB_RUN_ASK_H
#define FB_RUN_ASK_H

#include "cases/case.h"
#include "run/plugins.h"

/* reasons[i] for cases[todo[i]], todo ascending: malloc'd, "" where it is taken; NULL where a
 * signal, left in *signal, came before the answer. */
enum fb_status fb_ask_why_not(const struct fb_plugins *plugins, const struct fb_case *cases,
                              const size_t *todo, size_t count, char **reasons, int *signal);

#endif
