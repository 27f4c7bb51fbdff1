/* SPDX-License-Identifier: BSD-3-Clause
 *
 * gnuplot.c: gnuplot and fc-list as child processes. Their words are read through a pipe and come
 * back as one line.
 */
#include "report/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "core/status.h"

#define FONT "DejaVu Sans"
#define NOT_INSTALLED 127 /* what the child ends with when exec fails, as in a shell */
#define KILLED 128        /* and beyond it the signal that ended it */

/* The child: never returns. */
static void become(const char *folder, char *const argv[], int output)
{
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0)
        _exit(126);
    if (folder && chdir(folder))
        _exit(126);
    setenv("LC_ALL", "C.UTF-8", 1); /* numbers as in C, names in UTF-8 */
    unsetenv("GNUTERM");
    unsetenv("DISPLAY");
    execvp(argv[0], argv);
    _exit(NOT_INSTALLED);
}

/* Keeps the start of what comes and reads the rest away. */
static void drain(int fd, char *text, size_t room)
{
    char rest[512];
    size_t length = 0;
    for (;;) {
        bool full = length + 1 >= room;
        ssize_t got =
            full ? read(fd, rest, sizeof rest) : read(fd, text + length, room - length - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        length += full ? 0 : (size_t)got;
    }
    text[length] = '\0';
}

/* Runs a program; its exit status, or -1 with errno. The start of its output goes to `text`. */
static int run_program(const char *folder, char *const argv[], char *text, size_t room)
{
    int ends[2], status = 0;
    text[0] = '\0';
    if (pipe2(ends, O_CLOEXEC))
        return -1;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        close(ends[0]);
        close(ends[1]);
        return -1;
    }
    if (!child)
        become(folder, argv, ends[1]);
    close(ends[1]);
    drain(ends[0], text, room);
    close(ends[0]);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : KILLED + WTERMSIG(status);
}

enum fb_status fb_gnuplot_check_font(void)
{
    char *const argv[] = {"fc-list", FONT, "family", NULL};
    char text[512];
    int result = run_program(NULL, argv, text, sizeof text);
    if (result == NOT_INSTALLED) {
        fb_log_warn("fc-list is not installed: cannot see whether the font %s is there", FONT);
        return FB_OK;
    }
    if (result || !strstr(text, FONT))
        return fb_fail(FB_IO, "the font %s is not installed (Debian: fonts-dejavu-core)", FONT);
    return FB_OK;
}

/* The first line that says something; gnuplot shows the place with a caret before it. */
static const char *complaint(char *text)
{
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (!strstr(line, "warning:") &&
            (strstr(line, "line ") || strstr(line, "annot") || strstr(line, "unknown")))
            return line;
    return "no message";
}

enum fb_status fb_gnuplot_run(const char *folder, const char *script, const char *format,
                              const char *output)
{
    char variables[512], text[4096];
    snprintf(variables, sizeof variables, "FORMAT = '%s'; OUTPUT = '%s'", format, output);
    char *const argv[] = {"gnuplot", "-d", "-e", variables, (char *)script, NULL};
    int result = run_program(folder, argv, text, sizeof text);
    if (!result)
        return FB_OK;
    if (result == NOT_INSTALLED)
        return fb_fail(FB_IO, "gnuplot is not installed (Debian: gnuplot-nox)");
    if (result > KILLED)
        return fb_fail(FB_IO, "gnuplot was killed by a signal (%s) on %s",
                       strsignal(result - KILLED), script);
    return fb_fail(FB_IO, "gnuplot failed on %s: %s", script,
                   result < 0 ? strerror(errno) : complaint(text));
}
