/* SPDX-License-Identifier: BSD-3-Clause */
#include "work/worker.h"

#include <fenv.h>
#include <malloc.h>

#include "core/status.h"
#include "work/channel.h"
#include "work/group.h"
#include "work/plugin.h"

/* Whoever asks gets the reason as an answer; else it is an error of this process. */
static enum fb_status load_plugins(struct fb_channel *channel, const char *const *plugins,
                                   size_t count, bool tell)
{
    enum fb_status status = FB_OK;
    fb_beacon_set(channel->beacon, -1, FB_STAGE_LOAD);
    for (size_t i = 0; i < count && status == FB_OK; i++)
        status = fb_plugin_load(plugins[i]);
    fesetenv(FE_DFL_ENV); /* an object linked with -ffast-math flushes subnormals from here on */
    fb_beacon_set(channel->beacon, -1, FB_STAGE_IDLE);
    if (!tell)
        return status;
    if (status == FB_OK)
        return fb_plugin_tell(channel->records);
    fb_word_put(channel->records, FB_WORD_REFUSED, "%d %s", (int)status, fb_status_message());
    fflush(channel->records);
    fb_status_clear();
    return FB_OK;
}

enum fb_status fb_worker_serve(const char *const *plugins, size_t plugin_count, bool tell)
{
    struct fb_channel channel;
    /* Larger blocks come from and go back to the system, so that the peak of one case does not
     * hide in what the heap kept of the case before. */
    mallopt(M_MMAP_THRESHOLD, 1 << 16);
    FB_TRY(fb_channel_open(&channel));
    FB_TRY(load_plugins(&channel, plugins, plugin_count, tell));
    while (!tell) {
        struct fb_group group;
        bool end;
        FB_TRY(fb_group_read(stdin, &group, &end));
        if (end)
            return FB_OK;
        fb_beacon_set(channel.beacon, -1, FB_STAGE_REFERENCE);
        enum fb_status status = fb_group_work(&channel, &group);
        fb_group_free(&group);
        FB_TRY(status);
        fb_beacon_set(channel.beacon, -1, FB_STAGE_IDLE);
        FB_TRY(fb_channel_done(&channel));
    }
    return FB_OK;
}
