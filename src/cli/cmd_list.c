/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cmd_list.c: `flashback list`, the variants and whether they run here.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "core/json.h"
#include "core/numerics.h"
#include "core/problem.h"
#include "core/registry.h"
#include "measure/devices.h"

static const char usage[] =
    "Usage: flashback list [--json] [--traps]\n"
    "The variants built into this program and whether they run on this machine.\n\n"
    "  --json     machine readable\n"
    "  --traps    the negative controls too: variants that make a classic mistake on purpose\n";

/* The smallest problem that nobody has a reason to refuse but the machine. */
static const char *const probes[] = {"n=128,d=64,dtype=fp32", "n=128,d=64,dtype=bf16",
                                     "n=128,d=64,dtype=fp16"};

/* NULL when the variant takes at least one of the probes, else its reason for the first. */
static const char *why_not_here(const struct fb_variant *variant, char *reason, size_t size)
{
    reason[0] = '\0';
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        struct fb_problem problem;
        if (fb_problem_parse(&problem, probes[i]) != FB_OK)
            return "the probe cannot be read";
        const char *why = fb_variant_why_not(variant, &problem, &fb_numerics_standard);
        if (why && !*reason)
            snprintf(reason, size, "%s", why);
        fb_problem_free(&problem);
        if (!why)
            return NULL;
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
    fb_json_end(json);
}

static enum fb_status print_list(bool as_json, bool traps)
{
    const struct fb_variant *variant;
    struct fb_json json;
    char reason[512];
    fb_json_init(&json);
    fb_json_begin(&json, NULL, '[');
    if (!as_json)
        printf("%-22s %-5s %-9s %5s  %s\n", "variant", "here", "same bits", "GEMMs",
               "what it is, or why it does not run here");
    for (int i = 0; (variant = fb_registry_at(i)); i++) {
        if (fb_variant_is_trap(variant) && !traps)
            continue;
        const char *why = why_not_here(variant, reason, sizeof reason);
        if (as_json)
            print_json(&json, variant, why);
        else
            print_text(variant, why);
    }
    fb_json_end(&json);
    const char *text = fb_json_text(&json);
    if (as_json && text)
        puts(text);
    fb_json_free(&json);
    return text ? FB_OK : fb_fail(FB_NO_MEMORY, "no memory for the list");
}

enum fb_status fb_cmd_list(int argc, char **argv, int *exit_status)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'},
                                            {"traps", no_argument, NULL, 't'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    bool as_json = false, traps = false;
    int option;
    (void)exit_status;
    while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (option == 'h')
            return fputs(usage, stdout), FB_OK;
        if (option == 'j')
            as_json = true;
        else if (option == 't')
            traps = true;
        else
            return fb_cli_bad_option(option, argv);
    }
    if (optind < argc)
        return fb_fail(FB_USAGE, "list: unexpected argument '%s'", argv[optind]);
    return print_list(as_json, traps);
}
