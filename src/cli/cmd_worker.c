/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cmd_worker.c: the hidden `flashback worker`, the process that calls variants. See
 * cases/protocol.h.
 */
#include <string.h>

#include "cli/cli.h"
#include "work/worker.h"

enum fb_status fb_cmd_worker(int argc, char **argv, int *exit_status)
{
    const char *plugins[FB_CLI_TIMES];
    size_t count = 0;
    bool tell = false;
    (void)exit_status;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--plugin") && i + 1 < argc && count < FB_CLI_TIMES)
            plugins[count++] = argv[++i];
        else if (!strcmp(argv[i], "--tell"))
            tell = true;
        else
            return fb_fail(FB_USAGE, "worker: unexpected argument '%s'", argv[i]);
    }
    return fb_worker_serve(plugins, count, tell);
}
