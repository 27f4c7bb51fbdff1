/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cmd_plot.c: `flashback plot`, a results file as figures.
 */
#include <getopt.h>
#include <stdio.h>

#include "cli/cli.h"
#include "core/log.h"
#include "report/figures.h"
#include "report/plot.h"

static const char usage[] =
    "Usage: flashback plot FILE [-v NAME]... [-o DIR] [--format FORMAT] [--figure NAME]\n"
    "Draws all figures that the records of FILE (NAME.h5 or NAME.jsonl) can fill, with gnuplot, "
    "and\n"
    "lists those it skips and why. Next to each picture lies the script that draws it again.\n\n"
    "  -v, --variant NAME only this variant; may be repeated\n"
    "  -o, --output DIR   where pictures and scripts go (the current folder)\n"
    "  --format FORMAT    svg, png or pdf (svg)\n"
    "  --figure NAME      one figure only:\n";

static void print_usage(void)
{
    fputs(usage, stdout);
    for (size_t i = 0; i < fb_figure_count; i++)
        printf("      %-13s %s\n", fb_figures[i].name, fb_figures[i].shows);
}

static enum fb_status plot_file(const char *path, const struct fb_cli_list *only,
                                const struct fb_plot_options *options)
{
    struct fb_results results;
    size_t drawn = 0;
    FB_TRY(fb_plot_check(options));
    FB_TRY(fb_results_read(&results, path));
    if (results.damage)
        fb_log_warn("%s", results.damage);
    enum fb_status status = fb_results_select(&results, only->value, only->count);
    if (status == FB_OK)
        status = fb_plot(&results, options, &drawn);
    if (status == FB_OK && !drawn)
        fb_log_warn("%s: no figure can be drawn from these records", path);
    fb_results_free(&results);
    return status;
}

enum fb_status fb_cmd_plot(int argc, char **argv, int *exit_status)
{
    static const struct option long_options[] = {
        {"variant", required_argument, NULL, 'v'}, {"output", required_argument, NULL, 'o'},
        {"format", required_argument, NULL, 'f'},  {"figure", required_argument, NULL, 'g'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    struct fb_cli_list only = {.count = 0};
    struct fb_plot_options options = {.folder = ".", .format = "svg"};
    int option;
    *exit_status = FB_EXIT_OK;
    while ((option = getopt_long(argc, argv, ":v:o:h", long_options, NULL)) != -1) {
        if (option == 'v')
            FB_TRY(fb_cli_add(only.value, &only.count, optarg));
        else if (option == 'o')
            options.folder = optarg;
        else if (option == 'f')
            options.format = optarg;
        else if (option == 'g')
            options.figure = optarg;
        else if (option == 'h') {
            print_usage();
            return FB_OK;
        } else
            return fb_cli_bad_option(option, argv);
    }
    if (optind + 1 != argc)
        return fb_fail(FB_USAGE, "plot: name one results file; see flashback plot --help");
    FB_TRY(plot_file(argv[optind], &only, &options));
    return FB_OK;
}
