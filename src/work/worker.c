/* SPDX-License-Identifier: BSD-3-Clause */
#include "work/worker.h"

#include <errno.h>
#include <fenv.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/log.h"
#include "core/status.h"
#include "work/plugin.h"

static enum fb_status open_worker(struct fb_worker *worker)
{
    worker->records = fdopen(FB_WORKER_RECORDS, "w");
    worker->beacon =
        mmap(NULL, sizeof *worker->beacon, PROT_READ | PROT_WRITE, MAP_SHARED, FB_WORKER_BEACON, 0);
    if (!worker->records || worker->beacon == MAP_FAILED)
        return fb_fail(FB_USAGE, "worker: started by 'flashback run' and 'check', not by hand");
    close(FB_WORKER_BEACON); /* the page stays; whoever writes into every file there is misses it */
    /* A call that forks and returns twice: the child ends where it marks the end of the call. */
    madvise(worker->beacon, sizeof *worker->beacon, MADV_DONTFORK);
    return FB_OK;
}

enum fb_status fb_worker_send(struct fb_worker *worker, size_t index,
                              const struct fb_record *record)
{
    char *json = fb_record_to_json(record);
    if (!json)
        return fb_fail(FB_NO_MEMORY, "no memory for a record");
    fprintf(worker->records, "record %zu %s\n", index, json);
    free(json);
    return fflush(worker->records)
               ? fb_fail(FB_IO, "worker: cannot send a record: %s", strerror(errno))
               : FB_OK;
}

enum fb_status fb_worker_unread(struct fb_worker *worker, const char *why)
{
    fprintf(worker->records, "unread %s\n", why);
    return fflush(worker->records) ? fb_fail(FB_IO, "worker: cannot report: %s", strerror(errno))
                                   : FB_OK;
}

enum fb_status fb_worker_leave(struct fb_worker *worker)
{
    fputs("leave\n", worker->records);
    if (fflush(worker->records))
        return fb_fail(FB_IO, "worker: cannot report: %s", strerror(errno));
    _exit(0); /* no exit handlers, no free: memory is not what it was */
}

/* Whoever asks gets the reason as an answer; else it is an error of this process. */
static enum fb_status load_plugins(struct fb_worker *worker, const char *const *plugins,
                                   size_t count, bool tell)
{
    enum fb_status status = FB_OK;
    fb_beacon_set(worker->beacon, -1, FB_STAGE_LOAD);
    for (size_t i = 0; i < count && status == FB_OK; i++)
        status = fb_plugin_load(plugins[i]);
    fesetenv(FE_DFL_ENV); /* an object linked with -ffast-math flushes subnormals from here on */
    fb_beacon_set(worker->beacon, -1, FB_STAGE_IDLE);
    if (!tell)
        return status;
    if (status == FB_OK)
        return fb_plugin_tell(worker->records);
    fprintf(worker->records, "refused %d %s\n", (int)status, fb_status_message());
    fflush(worker->records);
    fb_status_clear();
    return FB_OK;
}

enum fb_status fb_worker_serve(const char *const *plugins, size_t plugin_count, bool tell)
{
    struct fb_worker worker;
    /* Larger blocks come from and go back to the system, so that the peak of one case does not
     * hide in what the heap kept of the case before. */
    mallopt(M_MMAP_THRESHOLD, 1 << 16);
    FB_TRY(open_worker(&worker));
    FB_TRY(load_plugins(&worker, plugins, plugin_count, tell));
    while (!tell) {
        struct fb_group group;
        bool end;
        FB_TRY(fb_group_read(stdin, &group, &end));
        if (end)
            return FB_OK;
        fb_beacon_set(worker.beacon, -1, FB_STAGE_REFERENCE);
        enum fb_status status = fb_group_work(&worker, &group);
        fb_group_free(&group);
        FB_TRY(status);
        fb_beacon_set(worker.beacon, -1, FB_STAGE_IDLE);
        fputs("done\n", worker.records);
        if (fflush(worker.records))
            return fb_fail(FB_IO, "worker: cannot report: %s", strerror(errno));
    }
    return FB_OK;
}
