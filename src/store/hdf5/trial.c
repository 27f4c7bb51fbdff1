/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/hdf5/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/status.h"

/* The child: never returns. What a signal does here is what it does by default. */
static void become(void (*attempt)(const char *path), const char *path)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXCPU};
    const struct rlimit no_core = {0, 0}, minute = {60, 60};
    const int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3 && nothing >= 0; fd++)
        dup2(nothing, fd);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        signal(fatal[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &no_core);
    setrlimit(RLIMIT_CPU, &minute);
    attempt(path);
    _exit(0);
}

enum fb_status fb_trial(void (*attempt)(const char *path), const char *path)
{
    int ended;
    fflush(NULL);
    const pid_t child = fork();
    if (child < 0)
        return FB_OK;
    if (!child)
        become(attempt, path);
    while (waitpid(child, &ended, 0) < 0)
        if (errno != EINTR)
            return FB_OK;
    if (WIFEXITED(ended) && !WEXITSTATUS(ended))
        return FB_OK;
    return fb_fail(FB_CORRUPT, "%s is damaged: the HDF5 library does not survive it (%s)", path,
                   WIFSIGNALED(ended) ? strsignal(WTERMSIG(ended)) : "it ended the process");
}
