/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cmd_export.c: `flashback export`, a results file as plain columns on stdout.
 */
#include <getopt.h>
#include <stdio.h>

#include "cli/cli.h"
#include "core/log.h"
#include "report/export.h"

static const char usage[] =
    "Usage: flashback export FILE [--kind KIND]\n"
    "Prints a results file (NAME.h5 or NAME.jsonl) as columns parted by blanks, for gnuplot, awk "
    "or\n"
    "pandas. The first line names them; texts with blanks stand in quotes; NaN and -1 are "
    "unknown.\n\n"
    "  --kind KIND   records: a line a case, all columns (the default)\n"
    "                samples: a line a timed call\n"
    "                run: what is known about machine, build and command\n"
    "                columns: names, kinds, units and meanings of the columns\n";

static enum fb_status export_file(const char *path, enum fb_export_kind kind)
{
    struct fb_results results;
    FB_TRY(fb_results_read(&results, path));
    if (results.damage)
        fb_log_warn("%s", results.damage);
    enum fb_status status = fb_export(&results, kind);
    fb_results_free(&results);
    return status;
}

enum fb_status fb_cmd_export(int argc, char **argv, int *exit_status)
{
    static const struct option options[] = {{"kind", required_argument, NULL, 'k'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    enum fb_export_kind kind = FB_EXPORT_RECORDS;
    int option;
    *exit_status = FB_EXIT_OK;
    while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (option == 'k')
            FB_TRY(fb_export_kind_parse(&kind, optarg));
        else if (option == 'h') {
            fputs(usage, stdout);
            return FB_OK;
        } else
            return fb_cli_bad_option(option, argv);
    }
    if (optind + 1 != argc)
        return fb_fail(FB_USAGE, "export: name one results file; see flashback export --help");
    FB_TRY(export_file(argv[optind], kind));
    return FB_OK;
}
