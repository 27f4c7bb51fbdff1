/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cmd_worker.c: the hidden `flashback worker`, the process that calls variants. See
 * run/protocol.h.
 */
#include "cli/cli.h"
#include "run/worker.h"

enum fb_status fb_cmd_worker(int argc, char **argv, int *exit_status)
{
    (void)exit_status;
    if (argc > 1)
        return fb_fail(FB_USAGE, "worker: unexpected argument '%s'", argv[1]);
    return fb_worker_serve();
}
