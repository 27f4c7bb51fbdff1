/* SPDX-License-Identifier: BSD-3-Clause
 *
 * group.h: the cases that share inputs and reference, from their orders to their records.
 */
#ifndef FB_WORK_GROUP_H
#define FB_WORK_GROUP_H

#include "work/channel.h"

/* Works one group and sends a record for each of its cases; an error is one of the harness. */
enum fb_status fb_group_work(struct fb_channel *channel, const struct fb_group *group);

#endif
