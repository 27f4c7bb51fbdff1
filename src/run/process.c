/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/status.h"
#include "core/host/blas.h"

/* Twice a record with a million samples. */
#define LONGEST_LINE ((size_t)1 << 26)

struct channels {
    int orders[2]; /* [0] read by the worker */
    int records[2];
    int beacon;
};

/* ---- Strays ------------------------------------------------------------------------------------
 * A process that a variant starts may leave the worker's process group and lose its parents. It
 * becomes a child of this process then, which asks for such orphans.
 */

enum { CHILDREN = 64 };

/* Lists the children of this process; none where the system does not tell. */
static size_t list_children(int children[CHILDREN])
{
    char path[64];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    while (file && count < CHILDREN && fscanf(file, "%d", &children[count]) == 1)
        count++;
    if (file)
        fclose(file);
    return count;
}

/* Those that were there before the first worker, of a shell that became this program. */
static int own_children[CHILDREN];
static size_t own_count;

static void adopt_orphans(void)
{
    static bool adopting;
    if (adopting)
        return;
    own_count = list_children(own_children);
    adopting = !prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static bool is_own(int child)
{
    for (size_t i = 0; i < own_count; i++)
        if (own_children[i] == child)
            return true;
    return false;
}

/* What a stray has started comes here when the stray ends, and goes in the next round. */
static void kill_strays(void)
{
    int children[CHILDREN];
    bool found = true;
    for (int round = 0; found && round < 100; round++) {
        const size_t count = list_children(children);
        found = false;
        for (size_t i = 0; i < count; i++) {
            if (is_own(children[i]) || kill(children[i], SIGKILL))
                continue;
            waitpid(children[i], NULL, 0);
            found = true;
        }
    }
}

/* ---- The channels ------------------------------------------------------------------------------
 */

static void close_all(struct channels *channels)
{
    int all[] = {channels->orders[0], channels->orders[1], channels->records[0],
                 channels->records[1], channels->beacon};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] >= 0)
            close(all[i]);
}

/* Moves a descriptor out of the way of those that a worker finds its channels at, so that after the
 * fork nothing is left that can fail. */
static bool move_up(int *fd)
{
    int moved = fcntl(*fd, F_DUPFD_CLOEXEC, 10);
    if (moved < 0) {
        errno = errno == EINVAL ? EMFILE : errno; /* a limit of 10 or less */
        return false;
    }
    close(*fd);
    *fd = moved;
    return true;
}

static enum fb_status open_channels(struct channels *channels)
{
    *channels = (struct channels){{-1, -1}, {-1, -1}, -1};
    channels->beacon = memfd_create("flashback-beacon", MFD_CLOEXEC);
    if (channels->beacon < 0 || ftruncate(channels->beacon, sizeof(struct fb_beacon)) ||
        pipe2(channels->orders, O_CLOEXEC) || pipe2(channels->records, O_CLOEXEC) ||
        !move_up(&channels->orders[0]) || !move_up(&channels->records[1]) ||
        !move_up(&channels->beacon)) {
        int cause = errno;
        close_all(channels);
        return fb_fail(FB_IO, "cannot set up a worker: %s", strerror(cause));
    }
    return FB_OK;
}

/* Only calls what is safe after fork. */
static void become_worker(const struct channels *channels, pid_t supervisor,
                          const char *const *arguments)
{
    sigset_t none;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor) /* it died before the line above */
        _exit(127);
    setpgid(0, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    dup2(channels->orders[0], STDIN_FILENO);
    dup2(channels->records[1], FB_WORKER_RECORDS);
    dup2(channels->beacon, FB_WORKER_BEACON);
    dup2(STDERR_FILENO, STDOUT_FILENO); /* what a variant prints must not mix with results */
    execv("/proc/self/exe", (char *const *)arguments);
    _exit(127);
}

static enum fb_status keep_ends(struct fb_process *process, struct channels *channels)
{
    process->beacon = mmap(NULL, sizeof *process->beacon, PROT_READ | PROT_WRITE, MAP_SHARED,
                           channels->beacon, 0);
    process->orders = fdopen(channels->orders[1], "w");
    if (process->beacon == MAP_FAILED || !process->orders) {
        process->beacon = NULL;
        return fb_fail(FB_IO, "cannot set up a worker: %s", strerror(errno));
    }
    channels->orders[1] = -1;
    process->records = channels->records[0];
    channels->records[0] = -1;
    fcntl(process->records, F_SETFL, O_NONBLOCK);
    atomic_store(&process->beacon->index, -1);
    return FB_OK;
}

enum fb_status fb_process_start(struct fb_process *process, const char *const *plugins,
                                size_t plugin_count, bool tell)
{
    struct channels channels;
    enum fb_status status;
    pid_t supervisor = getpid();
    const char **arguments = calloc(4 + 2 * plugin_count, sizeof *arguments);

    fb_blas_choose_core(); /* takes effect in what is started from here */
    adopt_orphans();
    memset(process, 0, sizeof *process);
    process->records = -1;
    if (!arguments)
        return fb_fail(FB_NO_MEMORY, "no memory for a worker");
    arguments[0] = "flashback";
    arguments[1] = "worker";
    for (size_t i = 0; i < plugin_count; i++) {
        arguments[2 + 2 * i] = "--plugin";
        arguments[3 + 2 * i] = plugins[i];
    }
    if (tell)
        arguments[2 + 2 * plugin_count] = "--tell";
    status = open_channels(&channels);
    if (status != FB_OK) {
        free(arguments);
        return status;
    }
    FB_TRY_OUT(keep_ends(process, &channels));
    process->pid = fork();
    if (process->pid == 0)
        become_worker(&channels, supervisor, arguments);
    if (process->pid > 0)
        setpgid(process->pid, process->pid); /* whoever comes first: parent or child */
    if (process->pid < 0) {
        process->pid = 0;
        status = fb_fail(FB_IO, "cannot start a worker: %s", strerror(errno));
    }
out:
    free(arguments);
    close_all(&channels);
    if (status != FB_OK)
        fb_process_stop(process, true, NULL, 0);
    return status;
}

/* ---- Lines -------------------------------------------------------------------------------------
 */

static enum fb_status make_room(struct fb_process *process)
{
    if (process->room - process->used >= 65536)
        return FB_OK;
    size_t room = process->room ? 2 * process->room : 131072;
    char *grown = realloc(process->buffer, room);
    if (!grown)
        return fb_fail(FB_NO_MEMORY, "no memory for %zu bytes of records", room);
    process->buffer = grown;
    process->room = room;
    return FB_OK;
}

/* The line given last stays at the front of the buffer until the next call. */
static void drop_given(struct fb_process *process)
{
    if (!process->given)
        return;
    process->used -= process->given;
    memmove(process->buffer, process->buffer + process->given, process->used);
    process->given = process->looked = 0;
}

/* Where the first line ends; NULL while it does not. One longer than any record is cut: it is a
 * flood that has to end, and its pieces are no records. */
static char *find_end(struct fb_process *process)
{
    char *end = NULL;
    if (process->used > process->looked)
        end = memchr(process->buffer + process->looked, '\n', process->used - process->looked);
    process->looked = process->used;
    if (!end && process->used >= LONGEST_LINE)
        end = process->buffer + process->used - 1;
    return end;
}

enum fb_status fb_process_line(struct fb_process *process, char **line, bool *closed)
{
    *line = NULL;
    *closed = false;
    drop_given(process);
    for (;;) {
        char *end = find_end(process);
        if (end) {
            *end = '\0';
            *line = process->buffer;
            process->given = (size_t)(end + 1 - process->buffer);
            return FB_OK;
        }
        FB_TRY(make_room(process));
        ssize_t got =
            read(process->records, process->buffer + process->used, process->room - process->used);
        if (got > 0) {
            process->used += (size_t)got;
        } else if (got == 0) {
            *closed = true;
            return FB_OK;
        } else if (errno == EAGAIN) {
            return FB_OK;
        } else if (errno != EINTR) {
            return fb_fail(FB_IO, "cannot read from a worker: %s", strerror(errno));
        }
    }
}

/* ---- The end -----------------------------------------------------------------------------------
 */

static void describe(int wait_status, char *ending, size_t size)
{
    if (WIFSIGNALED(wait_status))
        snprintf(ending, size, "killed by signal %d (%s)", WTERMSIG(wait_status),
                 strsignal(WTERMSIG(wait_status)));
    else
        snprintf(ending, size, "exited with status %d", WEXITSTATUS(wait_status));
}

bool fb_process_alive(const struct fb_process *process)
{
    siginfo_t info = {0};
    return process->pid > 0 &&
           !waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOHANG | WNOWAIT) && !info.si_pid;
}

/* An idle worker leaves by itself at the end of its input; a variant's exit handler may not let it:
 * false. */
static bool await_leave(const struct fb_process *process)
{
    const struct timespec step = {0, 5000000};
    for (int i = 0; i < 400 && fb_process_alive(process); i++)
        nanosleep(&step, NULL);
    return !fb_process_alive(process);
}

bool fb_process_stop(struct fb_process *process, bool kill_it, char *ending, size_t ending_size)
{
    int wait_status = 0;
    bool stays = false;
    if (process->orders)
        fclose(process->orders);
    if (process->pid > 0) {
        stays = !kill_it && !await_leave(process);
        kill(process->pid, SIGKILL);
        kill(-process->pid, SIGKILL); /* and what a variant may have started */
        while (waitpid(process->pid, &wait_status, 0) < 0 && errno == EINTR)
            continue;
        kill_strays();
        if (ending && stays)
            snprintf(ending, ending_size, "not ended after 2 s");
        else if (ending)
            describe(wait_status, ending, ending_size);
    }
    if (process->records >= 0)
        close(process->records);
    if (process->beacon)
        munmap(process->beacon, sizeof *process->beacon);
    free(process->buffer);
    memset(process, 0, sizeof *process);
    process->records = -1;
    return !stays && wait_status == 0;
}
