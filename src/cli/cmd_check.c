/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cmd_check.c: `flashback check`.
 */
#include <getopt.h>
#include <stdio.h>

#include "cli/cli.h"
#include "core/numbers.h"
#include "run/check.h"
#include "run/self_test.h"

static const char usage[] =
    "Usage: flashback check [EXPERIMENT] [OPTION]...\n"
    "Judge variants element by element against an exact fp64 reference. Without EXPERIMENT,\n"
    "-p and --golden: a default set of problems and the golden data.\n\n"
    "  -p, --problem TEXT    this problem, as b=1,h=8,n=512,d=64,causal; may be repeated\n"
    "  -v, --variant NAME    only this variant; may be repeated\n"
    "  -n, --numerics TEXT   declared numerics of the problems, as dkv=bf16,dq=fp32\n"
    "  -r, --recipe TEXT     how their inputs are made, as randn@1, or file:x.h5@bnhd\n"
    "  -s, --set KEY=VALUE   over the experiment's value; may be repeated\n"
    "      --plugin FILE     a shared object with variants of your own; without -v they alone are\n"
    "                        judged; may be repeated\n"
    "      --golden FILE     every group of a file of exact gradients; the reference is judged\n"
    "                        on it too\n"
    "      --runs R          backward calls of the determinism test (10; 2 of the default set's\n"
    "                        long problems; 2 with --long)\n"
    "      --long            the default set and a pairwise covering array of sizes, masks,\n"
    "                        terms, layouts, types and data: half an hour on two cores\n"
    "      --self-test       the negative controls: kernels that make a classic mistake, and the\n"
    "                        judge itself; takes no other option but --quiet\n"
    "      --json FILE       all rows, machine and build as JSON\n"
    "  -q, --quiet           no remarks on stderr\n"
    "      --help            this text\n\n"
    "A problem is items joined by commas: n (or nq, nk) and d; b, h, hk, dv; "
    "dtype=fp32|bf16|fp16;\n"
    "causal or mask=full|causal|causal-topleft; window=L:R; scale=, softcap=, alibi=, bias=,\n"
    "dropout=P@SEED:OFFSET, sink, dlse, qlens=, klens=, layout=. Numerics: dkv=, dq= (fp32, bf16,\n"
    "bf16-stochastic, bf16-truncate, fp16, fp32-kahan, bf16-kahan, fp64), ps=in|fp32, delta=, "
    "lse=,\n"
    "round=tile|row. A wrong word is answered with the allowed ones.\n";

enum {
    OPTION_GOLDEN = 256,
    OPTION_RUNS,
    OPTION_JSON,
    OPTION_SELF_TEST,
    OPTION_PLUGIN,
    OPTION_LONG
};

struct arguments {
    struct fb_check_options check;
    const char *problems[FB_CLI_TIMES], *variants[FB_CLI_TIMES], *settings[FB_CLI_TIMES],
        *plugins[FB_CLI_TIMES];
    bool help, self_test;
};

static enum fb_status parse_runs(int *runs, const char *text)
{
    int64_t number;
    if (!fb_number_int(text, &number) || number < 2 || number > 1000000)
        return fb_fail(FB_USAGE, "--runs %s is not a count from 2 to 1000000", text);
    *runs = (int)number;
    return FB_OK;
}

static enum fb_status take_option(struct arguments *a, int option, char **argv)
{
    switch (option) {
    case 'p':
        return fb_cli_add(a->problems, &a->check.problem_count, optarg);
    case 'v':
        return fb_cli_add(a->variants, &a->check.variant_count, optarg);
    case 's':
        return fb_cli_add(a->settings, &a->check.setting_count, optarg);
    case 'n':
        a->check.numerics = optarg;
        return FB_OK;
    case 'r':
        a->check.recipe = optarg;
        return FB_OK;
    case 'q':
        a->check.quiet = true;
        return FB_OK;
    case OPTION_GOLDEN:
        a->check.golden = optarg;
        return FB_OK;
    case OPTION_JSON:
        a->check.json = optarg;
        return FB_OK;
    case OPTION_RUNS:
        return parse_runs(&a->check.runs, optarg);
    case OPTION_PLUGIN:
        return fb_cli_add(a->plugins, &a->check.plugin_count, optarg);
    case OPTION_LONG:
        a->check.is_long = true;
        return FB_OK;
    case OPTION_SELF_TEST:
        a->self_test = true;
        return FB_OK;
    case 'h':
        a->help = true;
        return FB_OK;
    default:
        return fb_cli_bad_option(option, argv);
    }
}

static enum fb_status run_self_test(const struct arguments *a, const char *experiment,
                                    int *exit_status)
{
    const struct fb_check_options *o = &a->check;
    if (experiment || o->problem_count || o->variant_count || o->setting_count || o->golden ||
        o->plugin_count || o->json || o->recipe || *o->numerics || o->runs || o->is_long)
        return fb_fail(FB_USAGE,
                       "check: --self-test chooses its own cases; only --quiet goes with it");
    return fb_self_test(o->quiet, exit_status);
}

enum fb_status fb_cmd_check(int argc, char **argv, int *exit_status)
{
    static const struct option options[] = {{"problem", required_argument, NULL, 'p'},
                                            {"variant", required_argument, NULL, 'v'},
                                            {"numerics", required_argument, NULL, 'n'},
                                            {"recipe", required_argument, NULL, 'r'},
                                            {"set", required_argument, NULL, 's'},
                                            {"golden", required_argument, NULL, OPTION_GOLDEN},
                                            {"runs", required_argument, NULL, OPTION_RUNS},
                                            {"json", required_argument, NULL, OPTION_JSON},
                                            {"long", no_argument, NULL, OPTION_LONG},
                                            {"plugin", required_argument, NULL, OPTION_PLUGIN},
                                            {"self-test", no_argument, NULL, OPTION_SELF_TEST},
                                            {"quiet", no_argument, NULL, 'q'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    struct arguments a = {.check = {.numerics = "", .argc = argc, .argv = argv}};
    int option;
    a.check.problems = a.problems;
    a.check.variants = a.variants;
    a.check.settings = a.settings;
    a.check.plugins = a.plugins;
    while ((option = getopt_long(argc, argv, ":p:v:n:r:s:qh", options, NULL)) != -1)
        FB_TRY(take_option(&a, option, argv));
    if (a.help)
        return fputs(usage, stdout), FB_OK;
    if (argc - optind > 1)
        return fb_fail(FB_USAGE, "check: unexpected argument '%s'", argv[optind + 1]);
    if (a.self_test)
        return run_self_test(&a, argv[optind], exit_status);
    a.check.experiment = argv[optind];
    return fb_check_cases(&a.check, exit_status);
}
