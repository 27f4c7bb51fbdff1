/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cmd_run.c: `flashback run`.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "core/numbers.h"
#include "run/run.h"

static const char usage[] =
    "Usage: flashback run EXPERIMENT [OPTION]...\n"
    "Check, measure and log the grid of cases of an experiment file.\n\n"
    "  -o, --output FILE     results file (default: the experiment's name with .h5, here);\n"
    "                        its journal lies beside it with the ending .jsonl\n"
    "  -v, --variant NAME    only this variant of the grid; may be repeated\n"
    "  -s, --set KEY=VALUE   over the file's value, in [measure] or in every grid; repeatable\n"
    "      --plugin FILE     a shared object with variants of your own; name them with\n"
    "                        --set variant=\"mine cpu-split\"; may be repeated\n"
    "      --resume          go on with what FILE holds already\n"
    "      --replace         start over, whatever FILE holds\n"
    "      --shard I/N       the I-th of N parts of the grid, to be joined by 'merge'\n"
    "      --dry-run         print the grid with its refusals; run nothing\n"
    "  -q, --quiet           no progress\n"
    "      --help            this text\n";

enum { OPTION_RESUME = 256, OPTION_REPLACE, OPTION_SHARD, OPTION_DRY, OPTION_PLUGIN };

struct arguments {
    struct fb_run_options run;
    const char *variants[FB_CLI_TIMES], *settings[FB_CLI_TIMES], *plugins[FB_CLI_TIMES];
    bool help;
};

static enum fb_status parse_shard(struct fb_run_options *run, const char *text)
{
    char first[24];
    const char *slash = strchr(text, '/');
    int64_t shard, shards;
    if (!slash || (size_t)(slash - text) >= sizeof first)
        return fb_fail(FB_USAGE, "--shard %s is not I/N", text);
    snprintf(first, sizeof first, "%.*s", (int)(slash - text), text);
    if (!fb_number_int(first, &shard) || !fb_number_int(slash + 1, &shards) || shards < 1 ||
        shards > 100000 || shard < 1 || shard > shards)
        return fb_fail(FB_USAGE, "--shard %s is not I/N with 1 <= I <= N <= 100000", text);
    run->shard = (int)shard;
    run->shards = (int)shards;
    return FB_OK;
}

static enum fb_status take_option(struct arguments *a, int option, char **argv)
{
    switch (option) {
    case 'o':
        a->run.output = optarg;
        return FB_OK;
    case 'v':
        return fb_cli_add(a->variants, &a->run.variant_count, optarg);
    case 's':
        return fb_cli_add(a->settings, &a->run.setting_count, optarg);
    case 'q':
        a->run.quiet = true;
        return FB_OK;
    case OPTION_PLUGIN:
        return fb_cli_add(a->plugins, &a->run.plugin_count, optarg);
    case OPTION_RESUME:
        a->run.resume = true;
        return FB_OK;
    case OPTION_REPLACE:
        a->run.replace = true;
        return FB_OK;
    case OPTION_DRY:
        a->run.dry_run = true;
        return FB_OK;
    case OPTION_SHARD:
        return parse_shard(&a->run, optarg);
    case 'h':
        a->help = true;
        return FB_OK;
    default:
        return fb_cli_bad_option(option, argv);
    }
}

enum fb_status fb_cmd_run(int argc, char **argv, int *exit_status)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"variant", required_argument, NULL, 'v'},
                                            {"set", required_argument, NULL, 's'},
                                            {"plugin", required_argument, NULL, OPTION_PLUGIN},
                                            {"resume", no_argument, NULL, OPTION_RESUME},
                                            {"replace", no_argument, NULL, OPTION_REPLACE},
                                            {"shard", required_argument, NULL, OPTION_SHARD},
                                            {"dry-run", no_argument, NULL, OPTION_DRY},
                                            {"quiet", no_argument, NULL, 'q'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    struct arguments a = {.run = {.shard = 1, .shards = 1, .argc = argc, .argv = argv}};
    int option;
    a.run.variants = a.variants;
    a.run.settings = a.settings;
    a.run.plugins = a.plugins;
    while ((option = getopt_long(argc, argv, ":o:v:s:qh", options, NULL)) != -1)
        FB_TRY(take_option(&a, option, argv));
    if (a.help)
        return fputs(usage, stdout), FB_OK;
    if (argc - optind != 1)
        return fb_fail(FB_USAGE, "run: expected one EXPERIMENT; see 'flashback run --help'");
    if (a.run.resume && a.run.replace)
        return fb_fail(FB_USAGE, "run: --resume and --replace exclude each other");
    a.run.experiment = argv[optind];
    return fb_run_experiment(&a.run, exit_status);
}
