/* SPDX-License-Identifier: BSD-3-Clause */
#include "work/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/status.h"

enum fb_status fb_channel_open(struct fb_channel *channel)
{
    channel->records = fdopen(FB_WORKER_RECORDS, "w");
    channel->beacon = mmap(NULL, sizeof *channel->beacon, PROT_READ | PROT_WRITE, MAP_SHARED,
                           FB_WORKER_BEACON, 0);
    if (!channel->records || channel->beacon == MAP_FAILED)
        return fb_fail(FB_USAGE, "worker: started by 'flashback run' and 'check', not by hand");
    close(FB_WORKER_BEACON); /* the page stays; whoever writes into every file there is misses it */
    /* A call that forks and returns twice: the child ends where it marks the end of the call. */
    madvise(channel->beacon, sizeof *channel->beacon, MADV_DONTFORK);
    return FB_OK;
}

/* What was put into the channel goes now. */
static enum fb_status send_off(struct fb_channel *channel)
{
    return fflush(channel->records) ? fb_fail(FB_IO, "worker: cannot report: %s", strerror(errno))
                                    : FB_OK;
}

enum fb_status fb_channel_send(struct fb_channel *channel, size_t index,
                               const struct fb_record *record)
{
    char *json = fb_record_to_json(record);
    if (!json)
        return fb_fail(FB_NO_MEMORY, "no memory for a record");
    fb_word_put(channel->records, FB_WORD_RECORD, "%zu %s", index, json);
    free(json);
    return fflush(channel->records)
               ? fb_fail(FB_IO, "worker: cannot send a record: %s", strerror(errno))
               : FB_OK;
}

enum fb_status fb_channel_unread(struct fb_channel *channel, const char *why)
{
    fb_word_put(channel->records, FB_WORD_UNREAD, "%s", why);
    return send_off(channel);
}

enum fb_status fb_channel_leave(struct fb_channel *channel)
{
    fb_word_put(channel->records, FB_WORD_LEAVE, "%s", "");
    FB_TRY(send_off(channel));
    _exit(0); /* no exit handlers, no free: memory is not what it was */
}

enum fb_status fb_channel_done(struct fb_channel *channel)
{
    fb_word_put(channel->records, FB_WORD_DONE, "%s", "");
    return send_off(channel);
}

/* The supervisor wakes up on another processor, or on this one: it is given time for that, or it
 * would take it from the span. */
enum fb_status fb_channel_begin(struct fb_channel *channel, size_t index, enum fb_span span)
{
    fb_word_put(channel->records, FB_WORD_BEGIN, "%zu %d", index, (int)span);
    FB_TRY(send_off(channel));
    fb_clock_sleep(100e-6);
    return FB_OK;
}

enum fb_status fb_channel_end(struct fb_channel *channel, size_t index, enum fb_span span)
{
    fb_word_put(channel->records, FB_WORD_END, "%zu %d", index, (int)span);
    return send_off(channel);
}
