/* SPDX-License-Identifier: BSD-3-Clause
 *
 * main.c: picks the sub-command, prints the one line of a failure and sets the exit status. The
 * only place that exits.
 */
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

struct command {
    const char *name;
    enum fb_status (*run)(int argc, char **argv, int *exit_status);
    const char *help; /* NULL: not shown */
};

static const struct command commands[] = {
    {"list", fb_cmd_list, "list                   variants and whether they run here"},
    {"info", fb_cmd_info, "info                   build, machine, libraries"},
    {"check", fb_cmd_check, "check [EXPERIMENT]     judge variants against the fp64 reference"},
    {"run", fb_cmd_run, "run EXPERIMENT         check, measure and log a grid of cases"},
    {"table", fb_cmd_table, "table FILE             tables of a results file"},
    {"plot", fb_cmd_plot, "plot FILE              figures of a results file"},
    {"export", fb_cmd_export, "export FILE            columns for gnuplot and others"},
    {"merge", fb_cmd_merge, "merge OUT FILE...      one results file of several"},
    {"worker", fb_cmd_worker, NULL},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(void)
{
    puts("Usage: flashback COMMAND [ARGUMENT]...\n"
         "Run, judge and measure backward passes of attention.\n\n"
         "Commands:");
    for (int i = 0; i < COMMANDS; i++)
        if (commands[i].help)
            printf("  %s\n", commands[i].help);
    puts("\n"
         "Options:\n"
         "  --help                 this text; 'flashback COMMAND --help' tells more\n"
         "  --version              version and licence\n\n"
         "Exit status: 0 fine, 1 a failed verdict or a crash of a variant, 2 usage, 3 nothing\n"
         "that was asked for could run, 4 input or output, 128 and the signal's number after an\n"
         "interrupt, which saves.");
}

static void print_version(void)
{
    puts(PACKAGE_NAME
         " (" PACKAGE_TARNAME ") " PACKAGE_VERSION "\n"
         "Copyright (c) 2026 the Flashback authors\n"
         "Licence BSD-3-Clause: free to change and redistribute; there is NO WARRANTY.");
}

static int exit_of(enum fb_status status)
{
    switch (status) {
    case FB_OK:
        return FB_EXIT_OK;
    case FB_USAGE:
        return FB_EXIT_USAGE;
    case FB_REFUSED:
        return FB_EXIT_NOTHING;
    case FB_IO:
    case FB_LOCKED:
    case FB_CORRUPT:
        return FB_EXIT_IO;
    default:
        return FB_EXIT_FAILED;
    }
}

static void print_failure(enum fb_status status)
{
    const char *message = fb_status_message();
    fprintf(stderr, "flashback: %s\n", *message ? message : fb_status_name(status));
    if (status == FB_INTERNAL || getenv("FLASHBACK_TRAIL"))
        fprintf(stderr, "flashback: at %s\n", fb_status_trail());
}

enum fb_status fb_cli_add(const char **list, size_t *count, const char *value)
{
    if (*count == FB_CLI_TIMES)
        return fb_fail(FB_USAGE, "'%s' is one too many: an option may be repeated up to %d times",
                       value, FB_CLI_TIMES);
    list[(*count)++] = value;
    return FB_OK;
}

/* A long option with a value that it does not take? getopt tells it by its letter, as it tells an
 * unknown one, which may stand in a word that is not passed yet. */
static bool has_vain_value(const char *word, const char *next)
{
    bool ahead = next && next[0] == '-' && next[1] != '-' && strchr(next, optopt);
    return optopt && !strncmp(word, "--", 2) && strchr(word, '=') && !ahead;
}

enum fb_status fb_cli_bad_option(int result, char **argv)
{
    char letter[3] = {'-', (char)optopt, '\0'};
    const char *word = argv[optind - 1]; /* not that of an unknown letter with others behind it */
    if (result == '?' && has_vain_value(word, argv[optind]))
        return fb_fail(FB_USAGE, "%s: option %.*s takes no value; see 'flashback %s --help'",
                       argv[0], (int)strcspn(word, "="), word, argv[0]);
    bool spelled = !optopt || optopt >= 256 || (result == ':' && !strncmp(word, "--", 2));
    const char *option = spelled ? word : letter;
    return fb_fail(FB_USAGE,
                   result == ':' ? "%s: option %s needs a value; see 'flashback %s --help'"
                                 : "%s: unknown option %s; see 'flashback %s --help'",
                   argv[0], option, argv[0]);
}

/* Results may not vanish unnoticed. said: a failure has its line already. */
static int end_output(int exit_status, bool said)
{
    if (!fflush(stdout) && !ferror(stdout))
        return exit_status;
    if (!said)
        fputs("flashback: cannot write to standard output\n", stderr);
    return FB_EXIT_IO;
}

static int run_command(const struct command *command, int argc, char **argv)
{
    int exit_status = FB_EXIT_OK;
    opterr = 0;
    enum fb_status status = command->run(argc, argv, &exit_status);
    if (status != FB_OK) {
        print_failure(status);
        exit_status = exit_of(status);
    }
    return end_output(exit_status, status != FB_OK);
}

/* A file opened while one of the three is closed would take its number, and what is printed would
 * go into it. A closed stdout stays one that cannot be written: results may not vanish unnoticed.
 */
static bool open_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return false;
    return true;
}

int main(int argc, char **argv)
{
    if (!open_standard_files())
        return FB_EXIT_IO;
    signal(SIGXFSZ, SIG_IGN); /* a file too large is a failed write, which has a message */
    if (argc < 2) {
        fputs("flashback: no command; 'flashback --help' lists them\n", stderr);
        return FB_EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        print_help();
        return end_output(FB_EXIT_OK, false);
    }
    if (!strcmp(argv[1], "--version")) {
        print_version();
        return end_output(FB_EXIT_OK, false);
    }
    for (int i = 0; i < COMMANDS; i++)
        if (!strcmp(argv[1], commands[i].name))
            return run_command(&commands[i], argc - 1, argv + 1);
    fprintf(stderr, "flashback: unknown command '%s'; 'flashback --help' lists them\n", argv[1]);
    return FB_EXIT_USAGE;
}
