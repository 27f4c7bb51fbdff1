/* SPDX-License-Identifier: BSD-3-Clause
 *
 * channel.h: the worker's end of what joins it to the supervisor: the pipe that records go out by,
 * and the beacon. The words are those of cases/protocol.h.
 */
#ifndef FB_WORK_CHANNEL_H
#define FB_WORK_CHANNEL_H

#include <stdio.h>

#include "cases/protocol.h"
#include "store/record.h"

struct fb_channel {
    FILE *records;
    struct fb_beacon *beacon;
};

/* Takes the file descriptors that the supervisor left open. FB_USAGE where there are none. */
enum fb_status fb_channel_open(struct fb_channel *channel);

/* Sends the finished record of the case at `index` of its group. */
enum fb_status fb_channel_send(struct fb_channel *channel, size_t index,
                               const struct fb_record *record);

/* Tells the supervisor that a file of inputs could not be read, and why. */
enum fb_status fb_channel_unread(struct fb_channel *channel, const char *why);

/* Tells the supervisor that a timed span is about to begin, and waits until it will have looked at
 * its clock; or that it has ended. Spans that hold nothing (FB_SPAN_EMPTY) show what the telling
 * takes. */
enum fb_status fb_channel_begin(struct fb_channel *channel, size_t index, enum fb_span span);
enum fb_status fb_channel_end(struct fb_channel *channel, size_t index, enum fb_span span);

/* Tells the supervisor that the group is done. */
enum fb_status fb_channel_done(struct fb_channel *channel);

/* Tells the supervisor that this process ends here and the rest of its cases are to go to a fresh
 * one, and ends it. Returns only when the message cannot be sent. */
enum fb_status fb_channel_leave(struct fb_channel *channel);

#endif
