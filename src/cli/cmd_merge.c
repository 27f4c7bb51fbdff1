/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cmd_merge.c: `flashback merge`, shards or experiments as one results file.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/log.h"
#include "store/journal.h"
#include "store/merge.h"
#include "store/results.h"

static const char usage[] =
    "Usage: flashback merge [-v NAME]... OUT FILE...\n"
    "Writes the records of all files (NAME.h5 or NAME.jsonl) to OUT.h5. A case that two files of\n"
    "one machine hold is taken from the file named later; of two machines it is an error.\n\n"
    "  -v, --variant NAME  only the records of this variant; may be repeated\n";

static void print_notes(char *notes)
{
    for (char *line = notes ? strtok(notes, "\n") : NULL; line; line = strtok(NULL, "\n"))
        fb_log_note("%s", line);
}

/* A run that owns OUT would write it anew from its journal, and the merged records were gone. */
static enum fb_status check_out(const char *out)
{
    FB_TRY(fb_results_check_target(out));
    char *journal = fb_journal_path(out);
    if (!journal)
        return fb_fail(FB_NO_MEMORY, "no memory for a file name");
    bool owned = !access(journal, F_OK);
    free(journal);
    return owned ? fb_fail(FB_USAGE,
                           "merge: %s belongs to a run (it has a journal); choose another "
                           "OUT",
                           out)
                 : FB_OK;
}

enum fb_status fb_cmd_merge(int argc, char **argv, int *exit_status)
{
    static const struct option options[] = {{"variant", required_argument, NULL, 'v'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    struct fb_cli_list only = {.count = 0};
    struct fb_results results;
    char *notes;
    int option;
    *exit_status = FB_EXIT_OK;
    while ((option = getopt_long(argc, argv, ":v:h", options, NULL)) != -1) {
        if (option == 'v') {
            FB_TRY(fb_cli_add(only.value, &only.count, optarg));
            continue;
        }
        if (option != 'h')
            return fb_cli_bad_option(option, argv);
        fputs(usage, stdout);
        return FB_OK;
    }
    if (optind + 2 > argc)
        return fb_fail(FB_USAGE,
                       "merge: name OUT and at least one file; see flashback merge --help");
    FB_TRY(check_out(argv[optind]));
    const char *const *files = (const char *const *)argv + optind + 1;
    FB_TRY(fb_results_merge(&results, files, (size_t)(argc - optind - 1), only.value, only.count,
                            &notes));
    print_notes(notes);
    enum fb_status status = fb_results_write(&results, argv[optind]);
    if (status == FB_OK)
        fb_log_note("%s: %zu records of %zu run%s", argv[optind], results.record_count,
                    results.run_count, results.run_count == 1 ? "" : "s");
    free(notes);
    fb_results_free(&results);
    return status;
}
