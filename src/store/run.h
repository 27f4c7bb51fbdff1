/* SPDX-License-Identifier: BSD-3-Clause
 *
 * run.h: the facts about a run.
 */
#ifndef FB_STORE_RUN_H
#define FB_STORE_RUN_H

#include <stddef.h>

#include "flashback.h"

struct fb_json;
struct json_t;

#define FB_SCHEMA_NAME "flashback-results"
#define FB_SCHEMA_VERSION 2

/* One fact about a run, an attribute of /run: "host" = "node7". */
struct fb_fact {
    char *name;  /* lower case, digits, '_' */
    char *value; /* UTF-8, may hold line feeds (the experiment's text) */
};

/* The machine, the build and the command that made records. Facts every run has: program, version,
 * git_describe, argv, host, cpu_model, isa, threads, compiler, flags, hdf5_version, blas_version,
 * started, experiment (the file's name), experiment_text, question, shows, measure,
 * grid_hash, shard, shards. With a GPU: gpu_name, gpu_uuid, driver, cuda_runtime, and what else is
 * known. */
struct fb_run {
    struct fb_fact *facts;
    size_t fact_count;
};

void fb_run_init(struct fb_run *run);
void fb_run_free(struct fb_run *run);
/* Adds a fact or replaces the one of that name. */
enum fb_status fb_run_set(struct fb_run *run, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const char *fb_run_get(const struct fb_run *run, const char *name); /* "" if not there */

/* A run as JSON: the member `run` of a journal's line. FB_CORRUPT when it is none. */
void fb_run_write_json(const struct fb_run *run, struct fb_json *json);
enum fb_status fb_run_parse(struct fb_run *run, const struct json_t *object);

#endif
