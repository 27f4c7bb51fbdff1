/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cmd_list.c: `flashback list`, the variants: whether they run here, what they take, and what would
 * run for a problem.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/list_offers.h"
#include "core/json.h"
#include "core/numerics.h"
#include "core/problem.h"
#include "core/registry.h"
#include "measure/devices.h"

static const char usage[] =
    "Usage: flashback list [--json] [--traps] [-p PROBLEM]\n"
    "       flashback list --offers [--format FORMAT] [--traps]\n"
    "The variants built into this program and whether they run on this machine.\n\n"
    "  --json              machine readable\n"
    "  --traps             the negative controls too: variants that make a classic mistake on "
    "purpose\n"
    "  -p, --problem PROBLEM  whether they take this problem, and what would run\n"
    "  --offers            what each variant takes: types, masks, terms, head sizes, numerics\n"
    "  --format FORMAT     of the offers: text, md or json (text)\n";

enum format { TEXT, MARKDOWN, JSON };

struct options {
    bool help, traps, offers, formatted;
    enum format format;
    const char *problem; /* NULL: none is given */
};

/* ---- Does it run here? --------------------------------------------------------------------------
 */

/* The smallest problem of head size d that a variant's offer holds. */
static void make_probe(struct fb_problem *probe, const struct fb_offer *offer, int64_t d)
{
    fb_problem_init(probe);
    probe->b = 1;
    probe->hk = probe->h;
    probe->nq = probe->nk = 128;
    probe->d = probe->dv = d;
    probe->scale = 1;
    while (offer->dtypes && !(offer->dtypes >> probe->dtype & 1))
        probe->dtype++;
    while (offer->masks && !(offer->masks >> probe->mask & 1))
        probe->mask++;
    while (offer->layouts && !(offer->layouts >> probe->layout & 1))
        probe->layout++;
}

/* NULL when the variant takes the smallest problem of some head size that it offers, else its
 * reason for the first: only what the machine or the build lacks is left to say. */
static const char *why_not_here(const struct fb_variant *variant, char *reason, size_t size)
{
    const struct fb_head_sizes *d = &variant->offer.d;
    const int64_t only[8] = {d->multiple > d->least ? d->multiple : d->least ? d->least : 1};
    const int64_t *sizes = d->list[0] ? d->list : only;
    reason[0] = '\0';
    for (int i = 0; i < 8 && sizes[i]; i++) {
        struct fb_problem probe;
        make_probe(&probe, &variant->offer, sizes[i]);
        const char *why = fb_variant_why_not(variant, &probe, &fb_numerics_standard);
        if (!why)
            return NULL;
        if (!*reason)
            snprintf(reason, size, "%s", why);
    }
    return reason;
}

static const char *determinism_text(unsigned deterministic)
{
    if (deterministic == FB_DET_ALL)
        return "dq dk dv";
    if (deterministic == (FB_DET_DK | FB_DET_DV))
        return "dk dv";
    return deterministic ? "partly" : "none";
}

static void print_text(const struct fb_variant *variant, const char *why)
{
    printf("%-22s %-5s %-9s %5d  %s\n", variant->name, why ? "no" : "yes",
           determinism_text(variant->properties.deterministic), variant->properties.gemms,
           why ? why : variant->summary);
}

static void print_json(struct fb_json *json, const struct fb_variant *variant, const char *why)
{
    fb_json_begin(json, NULL, '{');
    fb_json_string(json, "name", variant->name);
    fb_json_string(json, "backend", variant->backend);
    fb_json_string(json, "summary", variant->summary);
    fb_json_bool(json, "runs_here", !why);
    fb_json_string(json, "reason", why);
    fb_json_string(json, "deterministic", determinism_text(variant->properties.deterministic));
    fb_json_int(json, "gemms", variant->properties.gemms);
    fb_list_offer_json(json, &variant->offer);
    fb_json_end(json);
}

static enum fb_status print_list(const struct options *options)
{
    const struct fb_variant *variant;
    struct fb_json json;
    char reason[512];
    fb_json_init(&json);
    fb_json_begin(&json, NULL, '[');
    if (options->format != JSON)
        printf("%-22s %-5s %-9s %5s  %s\n", "variant", "here", "same bits", "GEMMs",
               "what it is, or why it does not run here");
    for (int i = 0; (variant = fb_registry_at(i)); i++) {
        if (fb_variant_is_trap(variant) && !options->traps)
            continue;
        const char *why = why_not_here(variant, reason, sizeof reason);
        if (options->format == JSON)
            print_json(&json, variant, why);
        else
            print_text(variant, why);
    }
    fb_json_end(&json);
    const char *text = fb_json_text(&json);
    if (options->format == JSON && text)
        puts(text);
    fb_json_free(&json);
    return text ? FB_OK : fb_fail(FB_NO_MEMORY, "no memory for the list");
}

/* ---- What would run? ----------------------------------------------------------------------------
 */

static void print_kernel(const struct fb_variant *variant, const struct fb_problem *problem)
{
    struct fb_description what = {0};
    size_t saved = 0, workspace = 0;
    const char *why = fb_variant_why_not(variant, problem, &fb_numerics_standard);
    if (!why && variant->sizes(variant, problem, &fb_numerics_standard, &saved, &workspace))
        why = fb_status_message();
    if (!why && variant->describe)
        variant->describe(variant, problem, &fb_numerics_standard, &what);
    if (why)
        printf("%-22s no    %12s %12s  %s\n", variant->name, "-", "-", why);
    else
        printf("%-22s yes   %12zu %12zu  %s\n", variant->name, saved, workspace, what.text);
    fb_status_clear();
}

static enum fb_status print_problem(const struct options *options)
{
    const struct fb_variant *variant;
    struct fb_problem problem;
    FB_TRY(fb_problem_parse(&problem, options->problem));
    printf("%-22s %-5s %12s %12s  %s\n", "variant", "takes", "saved", "workspace",
           "what runs, or why it is refused");
    for (int i = 0; (variant = fb_registry_at(i)); i++)
        if (options->traps || !fb_variant_is_trap(variant))
            print_kernel(variant, &problem);
    fb_problem_free(&problem);
    return FB_OK;
}

/* ---- The command --------------------------------------------------------------------------------
 */

static enum fb_status read_format(struct options *options, const char *text)
{
    static const char *const names[] = {"text", "md", "json"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(names[i], text)) {
            options->format = (enum format)i;
            options->formatted = true;
            return FB_OK;
        }
    return fb_fail(FB_USAGE, "list: --format=%s is not one of text, md, json", text);
}

static enum fb_status read_options(struct options *options, int argc, char **argv)
{
    static const struct option known[] = {{"json", no_argument, NULL, 'j'},
                                          {"traps", no_argument, NULL, 't'},
                                          {"offers", no_argument, NULL, 'o'},
                                          {"format", required_argument, NULL, 'f'},
                                          {"problem", required_argument, NULL, 'p'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    int option;
    while ((option = getopt_long(argc, argv, ":hp:", known, NULL)) != -1) {
        if (option == 'h')
            options->help = true;
        else if (option == 'j')
            options->format = JSON;
        else if (option == 't')
            options->traps = true;
        else if (option == 'o')
            options->offers = true;
        else if (option == 'p')
            options->problem = optarg;
        else if (option == 'f')
            FB_TRY(read_format(options, optarg));
        else
            return fb_cli_bad_option(option, argv);
    }
    if (optind < argc)
        return fb_fail(FB_USAGE, "list: unexpected argument '%s'", argv[optind]);
    if (options->formatted && !options->offers)
        return fb_fail(FB_USAGE, "list: --format goes with --offers");
    if (options->problem && (options->offers || options->format == JSON))
        return fb_fail(FB_USAGE, "list: --problem goes with neither --offers nor --json");
    return FB_OK;
}

enum fb_status fb_cmd_list(int argc, char **argv, int *exit_status)
{
    struct options options = {.format = TEXT};
    (void)exit_status;
    FB_TRY(read_options(&options, argc, argv));
    if (options.help)
        return fputs(usage, stdout), FB_OK;
    if (options.problem)
        return print_problem(&options);
    if (!options.offers || options.format == JSON)
        return print_list(&options);
    fb_list_offers(options.format == MARKDOWN, options.traps);
    return FB_OK;
}
