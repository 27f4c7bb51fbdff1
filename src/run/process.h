/* SPDX-License-Identifier: BSD-3-Clause
 *
 * process.h: one worker process, as the supervisor holds it: fork and exec of `flashback worker`
 * with pipes and the beacon page.
 */
#ifndef FB_RUN_PROCESS_H
#define FB_RUN_PROCESS_H

#include <sys/types.h>

#include "cases/protocol.h"

struct fb_process {
    pid_t pid;    /* 0: not running */
    FILE *orders; /* to the worker's stdin */
    int records;  /* from the worker's fd 3, non-blocking */
    struct fb_beacon *beacon;
    char *buffer; /* bytes received that do not make a line yet */
    size_t used, room;
    size_t looked; /* of them no end of a line among so many */
    size_t given;  /* length of the line given last, its end included; still at the front */
};

/* Starts a worker with these plug-ins; with `tell` it tells their variants (plugin.h) and leaves,
 * else it takes groups. It dies with the supervisor, even with a killed one, and is in a process
 * group of its own, so that Ctrl-C reaches the supervisor alone. */
enum fb_status fb_process_start(struct fb_process *process, const char *const *plugins,
                                size_t plugin_count, bool tell);

/* Takes what has arrived. Each call gives at most one line without its end in *line (valid until
 * the next call), or NULL; *closed is set once the worker has closed its end and all was given. */
enum fb_status fb_process_line(struct fb_process *process, char **line, bool *closed);

/* False once it has ended, also where a child of it still holds the pipe open. */
bool fb_process_alive(const struct fb_process *process);

/* Ends it (at once with kill_it, else it is given 2 s to leave) and what it started, be it in a
 * process group or session of its own, waits, and frees all. One worker at a time. `ending` (may be
 * NULL) gets how it ended: "killed by signal 11 (Segmentation fault)", "exited with status 3", "not
 * ended after 2 s". True where it left by itself with status 0, and where none was running, which
 * leaves `ending` as it was. */
bool fb_process_stop(struct fb_process *process, bool kill_it, char *ending, size_t ending_size);

#endif
