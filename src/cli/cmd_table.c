/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cmd_table.c: `flashback table`, a results file as tables.
 */
#include <getopt.h>
#include <stdio.h>

#include "cli/cli.h"
#include "core/log.h"
#include "report/table.h"

static const char usage[] =
    "Usage: flashback table FILE [-v NAME]... [--kind KIND] [--format FORMAT]\n"
    "                       [--baseline VARIANT]\n"
    "Prints what a results file (NAME.h5, or the journal NAME.jsonl) says.\n\n"
    "  -v, --variant NAME  only this variant; may be repeated\n"
    "  --kind KIND         all, speed, memory, error or determinism (all)\n"
    "  --format FORMAT     text, md, tex or csv (text); csv of one kind only\n"
    "  --baseline VARIANT  what relative speeds refer to (the first variant that was timed)\n";

static enum fb_status print_file(const char *path, const struct fb_cli_list *only,
                                 enum fb_table_kind kind, enum fb_format format,
                                 const char *baseline)
{
    struct fb_results results;
    FB_TRY(fb_results_read(&results, path));
    if (results.damage)
        fb_log_warn("%s", results.damage);
    enum fb_status status = fb_results_select(&results, only->value, only->count);
    if (status == FB_OK)
        status = fb_table_print(&results, kind, format, baseline);
    fb_results_free(&results);
    return status;
}

enum fb_status fb_cmd_table(int argc, char **argv, int *exit_status)
{
    static const struct option options[] = {
        {"variant", required_argument, NULL, 'v'}, {"kind", required_argument, NULL, 'k'},
        {"format", required_argument, NULL, 'f'},  {"baseline", required_argument, NULL, 'b'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    enum fb_table_kind kind = FB_TABLE_ALL;
    enum fb_format format = FB_FORMAT_TEXT;
    struct fb_cli_list only = {.count = 0};
    const char *baseline = NULL;
    int option;
    *exit_status = FB_EXIT_OK;
    while ((option = getopt_long(argc, argv, ":v:h", options, NULL)) != -1) {
        if (option == 'v')
            FB_TRY(fb_cli_add(only.value, &only.count, optarg));
        else if (option == 'k')
            FB_TRY(fb_table_kind_parse(&kind, optarg));
        else if (option == 'f')
            FB_TRY(fb_format_parse(&format, optarg));
        else if (option == 'b')
            baseline = optarg;
        else if (option == 'h') {
            fputs(usage, stdout);
            return FB_OK;
        } else
            return fb_cli_bad_option(option, argv);
    }
    if (optind + 1 != argc)
        return fb_fail(FB_USAGE, "table: name one results file; see flashback table --help");
    if (format == FB_FORMAT_CSV && kind == FB_TABLE_ALL) /* their columns differ */
        return fb_fail(FB_USAGE,
                       "format: csv holds one table; choose it with --kind speed, memory, "
                       "error or determinism");
    FB_TRY(print_file(argv[optind], &only, kind, format, baseline));
    return FB_OK;
}
