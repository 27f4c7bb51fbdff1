/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/provenance.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/backends.h"
#include "core/host/blas.h"
#include "core/host/clock.h"
#include "core/json.h"
#include "core/registry.h"
#include "core/status.h"
#include "kernels/cpu/hot/ops.h" /* which copy of the kernels runs: part of provenance */
#include "measure/machine.h"
#include "store/hdf5/read.h"

static enum fb_status add_machine(struct fb_run *facts)
{
    struct fb_machine_facts machine;
    char library[32];
    fb_machine_facts(&machine);
    for (size_t i = 0; i < machine.count; i++)
        FB_TRY(fb_run_set(facts, machine.fact[i].key, "%s", machine.fact[i].value));
    fb_hdf5_library_version(library);
    fb_blas_choose_core(); /* the workers', which is what is measured */
    if (getenv("OPENBLAS_CORETYPE"))
        FB_TRY(fb_run_set(facts, "blas_core", "%s", getenv("OPENBLAS_CORETYPE")));
    FB_TRY(fb_run_set(facts, "isa", "%s", fb_cpu_isa_name()));
    FB_TRY(fb_run_set(facts, "warning", "%s", machine.warning));
    return fb_run_set(facts, "hdf5_version", "%s", library);
}

/* Which of the vendor's libraries run, or why not. */
static enum fb_status add_libraries(struct fb_run *facts)
{
    const struct fb_backend *backend;
    for (int i = 0; (backend = fb_backend_at(i)); i++) {
        const char *library = fb_backend_library(backend);
        if (library)
            FB_TRY(fb_run_set(facts, backend->name, "%s", library));
    }
    return FB_OK;
}

/* Where a path begins in an argument whose folders are nobody else's affair: that of the output,
 * and any from the root, whole or behind "-o", "--golden=" or "recipe=file:". NULL: there is none.
 */
static const char *private_path(const char *argument, const char *output)
{
    const char *slash = strchr(argument, '/');
    if (!slash)
        return NULL;
    for (const char *c = argument; output && c <= slash; c++)
        if (c == output)
            return output;
    bool short_option = slash == argument + 2 && argument[0] == '-' && argument[1] != '-';
    return slash == argument || slash[-1] == '=' || slash[-1] == ':' || short_option ? slash : NULL;
}

/* "FORMER ARGUMENT", of a private path the base name only. Frees former; NULL without memory. */
static char *add_argument(char *former, const char *argument, const char *output)
{
    const char *path = private_path(argument, output), *base = path ? strrchr(path, '/') + 1 : "";
    const size_t kept = path ? (size_t)(path - argument) : strlen(argument);
    char *line = NULL;
    if (asprintf(&line, "%s %.*s%s", former, (int)kept, argument, base) < 0)
        line = NULL;
    free(former);
    return line;
}

static enum fb_status add_command(struct fb_run *facts, const struct fb_run_options *options)
{
    char *line = strdup("flashback"), stamp[FB_CLOCK_STAMP];
    for (int i = 0; line && i < options->argc; i++)
        line = add_argument(line, options->argv[i], options->output);
    if (!line)
        return fb_fail(FB_NO_MEMORY, "no memory for the command line");
    enum fb_status status = fb_run_set(facts, "argv", "%s", line);
    free(line);
    FB_TRY(status);
    fb_clock_stamp(stamp);
    FB_TRY(fb_run_set(facts, "started", "%s", stamp));
    return fb_run_set(facts, "program", "flashback");
}

/* Names the grid: two journals may only be joined or gone on with if they cut up the same one. */
static uint64_t grid_hash(const struct fb_experiment *experiment)
{
    uint64_t hash = FB_CASE_HASH;
    for (size_t i = 0; i < experiment->case_count; i++)
        hash = fb_case_hash(hash, &experiment->cases[i]);
    return hash;
}

/* "what = speed; warmup = 1; ...": how it was measured, a --set taken into account. */
static enum fb_status add_measure(struct fb_run *facts, const struct fb_measure *measure)
{
    char text[FB_MEASURE_KEYS * (FB_MEASURE_TEXT + 32)] = "", value[FB_MEASURE_TEXT];
    for (int i = 0, used = 0; i < FB_MEASURE_KEYS; i++) {
        fb_measure_print(measure, i, value);
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%s = %s", i ? "; " : "",
                         fb_measure_key(i), value);
    }
    return fb_run_set(facts, "measure", "%s", text);
}

static enum fb_status add_experiment(struct fb_run *facts, const struct fb_run_options *options,
                                     const struct fb_experiment *e)
{
    FB_TRY(fb_run_set(facts, "experiment", "%s", e->name));
    FB_TRY(fb_run_set(facts, "experiment_text", "%s", e->text));
    FB_TRY(fb_run_set(facts, "question", "%s", e->question ? e->question : ""));
    FB_TRY(add_measure(facts, &e->measure));
    FB_TRY(fb_run_set(facts, "shows", "%s", e->shows ? e->shows : ""));
    FB_TRY(fb_run_set(facts, "grid_hash", "%016llx", (unsigned long long)grid_hash(e)));
    FB_TRY(fb_run_set(facts, "shard", "%d", options->shard));
    return fb_run_set(facts, "shards", "%d", options->shards);
}

enum fb_status fb_facts_check_environment(void)
{
    const char *error = fb_cpu_isa_error();
    return error ? fb_fail(FB_USAGE, "%s", error) : fb_registry_check();
}

enum fb_status fb_facts_collect(struct fb_run *facts, const struct fb_run_options *options,
                                const struct fb_experiment *experiment)
{
    FB_TRY(add_command(facts, options));
    FB_TRY(add_machine(facts));
    FB_TRY(add_libraries(facts));
    return experiment ? add_experiment(facts, options, experiment) : FB_OK;
}
