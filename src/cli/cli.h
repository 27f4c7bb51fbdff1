/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cli.h: the sub-commands. Each gets its own argv (argv[0] is its name), prints results on stdout
 * and returns a status, whose message main.c prints; *exit_status is what the process ends with
 * when the status is FB_OK.
 */
#ifndef FB_CLI_CLI_H
#define FB_CLI_CLI_H

#include "core/status.h"

/* Exit statuses of the program. */
enum {
    FB_EXIT_OK = 0,
    FB_EXIT_FAILED = 1,  /* a failed verdict, a crash or a hang of a variant */
    FB_EXIT_USAGE = 2,   /* malformed or outside the language */
    FB_EXIT_NOTHING = 3, /* nothing that was asked for could run */
    FB_EXIT_IO = 4       /* input or output, a held lock */
};

/* An option that may be repeated may be given so often. */
enum { FB_CLI_TIMES = 64 };

enum fb_status fb_cmd_list(int argc, char **argv, int *exit_status);
enum fb_status fb_cmd_info(int argc, char **argv, int *exit_status);
enum fb_status fb_cmd_check(int argc, char **argv, int *exit_status);
enum fb_status fb_cmd_run(int argc, char **argv, int *exit_status);
enum fb_status fb_cmd_table(int argc, char **argv, int *exit_status);
enum fb_status fb_cmd_plot(int argc, char **argv, int *exit_status);
enum fb_status fb_cmd_export(int argc, char **argv, int *exit_status);
enum fb_status fb_cmd_merge(int argc, char **argv, int *exit_status);
enum fb_status fb_cmd_worker(int argc, char **argv, int *exit_status);

/* What an option that may be repeated was given. */
struct fb_cli_list {
    const char *value[FB_CLI_TIMES];
    size_t count;
};

/* One more of list[FB_CLI_TIMES]; FB_USAGE when it is full. */
enum fb_status fb_cli_add(const char **list, size_t *count, const char *value);

/* For getopt_long's '?' and ':' results, with opterr = 0 and optstring starting with ':': one line
 * that names the option and points to --help. */
enum fb_status fb_cli_bad_option(int result, char **argv);

#endif
