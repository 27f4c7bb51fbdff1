/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory seen from outside: a child takes and drops memory, the parent reads it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/status.h"
#include "measure/memory.h"
#include "tests/tap.h"

enum { BLOCK = 48 << 20 };

/* Takes a block, touches it and drops it; then says so and waits for the end of its input. */
static void child(int ready, int go)
{
    char byte = 0;
    volatile char *block =
        mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < BLOCK; i += 4096)
        block[i] = 1;
    munmap((void *)block, BLOCK);
    if (write(ready, &byte, 1) == 1)
        while (read(go, &byte, 1) > 0)
            ;
    _exit(0);
}

int main(void)
{
    struct fb_process_memory before, after, own;
    int ready[2], go[2];
    char byte;
    if (pipe(ready) || pipe(go))
        return 99;
    pid_t pid = fork();
    if (!pid) {
        close(go[1]);
        child(ready[1], go[0]);
    }
    bool told = read(ready[0], &byte, 1) == 1;
    tap_ok(told && fb_process_memory(pid, &before) == FB_OK, "a child's memory can be read");
    tap_ok(before.peak >= before.resident + BLOCK - (4 << 20), "what it dropped is in its peak");
    if (fb_process_peak_reset(pid) == FB_OK) {
        tap_ok(fb_process_memory(pid, &after) == FB_OK && after.peak < before.peak - BLOCK / 2,
               "the peak can be reset from outside");
    } else {
        tap_skip("%s", fb_status_message());
        fb_status_clear();
    }
    close(go[1]);
    waitpid(pid, NULL, 0);
    tap_ok(fb_process_memory(pid, &after) == FB_IO && strstr(fb_status_message(), "cannot read"),
           "a process that is gone is an error");
    fb_status_clear();
    tap_ok(fb_process_memory(0, &own) == FB_OK && own.resident > 0 && own.peak >= own.resident,
           "0 is this process");
    tap_ok(fb_memory_total() > 0 && fb_memory_available() <= fb_memory_total(),
           "available memory is a part of all memory");
    return tap_done();
}
