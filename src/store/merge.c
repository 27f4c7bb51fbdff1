/* SPDX-License-Identifier: BSD-3-Clause
 *
 * merge.c: one set of results out of several files.
 */
#include "store/merge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/status.h"

static enum fb_status add_note(char **notes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static enum fb_status add_note(char **notes, const char *format, ...)
{
    va_list arguments;
    char *line = NULL, *joined = NULL;
    va_start(arguments, format);
    int length = vasprintf(&line, format, arguments);
    va_end(arguments);
    if (length < 0)
        return fb_fail(FB_NO_MEMORY, "out of memory merging");
    length = asprintf(&joined, "%s%s\n", fb_text(*notes), line);
    free(line);
    if (length < 0)
        return fb_fail(FB_NO_MEMORY, "out of memory merging");
    free(*notes);
    *notes = joined;
    return FB_OK;
}

/* The fact that tells the machines of two runs apart; NULL if they are one. */
static const char *other_machine(const struct fb_run *a, const struct fb_run *b)
{
    static const char *const names[] = {"host", "cpu_model", "gpu_uuid"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(fb_run_get(a, names[i]), fb_run_get(b, names[i])) != 0)
            return names[i];
    return NULL;
}

static enum fb_status two_machines(const char *path, const struct fb_record *record,
                                   const struct fb_run *a, const struct fb_run *b)
{
    const char *name = other_machine(a, b), *one = fb_run_get(a, name),
               *other = fb_run_get(b, name);
    return fb_fail(FB_USAGE, "%s: the case %s was measured on another machine too (%s: %s, %s)",
                   path, fb_text(record->key), name, *one ? one : "none", *other ? other : "none");
}

static const struct fb_run *run_of(const struct fb_results *results, const struct fb_record *record)
{
    static const struct fb_run unknown;
    bool known = record->run >= 0 && (size_t)record->run < results->run_count;
    return known ? &results->runs[record->run] : &unknown;
}

/* Moves the file's records into the set. */
static enum fb_status take_records(struct fb_results *all, struct fb_results *file,
                                   const char *path, size_t first_run, char **notes)
{
    size_t replaced = 0;
    for (size_t i = 0; i < file->record_count; i++) {
        struct fb_record *record = &file->records[i];
        const struct fb_record *older = fb_results_find(all, fb_text(record->key));
        record->run += (int64_t)first_run;
        if (older && other_machine(run_of(all, older), run_of(all, record)))
            return two_machines(path, record, run_of(all, older), run_of(all, record));
        replaced += older != NULL;
        FB_TRY(fb_results_add(all, record));
    }
    if (replaced)
        FB_TRY(
            add_note(notes, "%s: %zu cases replace those of files named before", path, replaced));
    return FB_OK;
}

static enum fb_status take_file(struct fb_results *all, const char *path,
                                const char *const *variants, size_t variant_count, char **notes)
{
    struct fb_results file;
    size_t first_run = all->run_count;
    FB_TRY(fb_results_read(&file, path));
    enum fb_status status = FB_OK;
    if (file.cut_short) /* what is merged is often thrown away */
        FB_TRY_OUT(fb_fail(FB_CORRUPT, "%s; those behind it would be lost", file.damage));
    if (file.damage)
        FB_TRY_OUT(add_note(notes, "%s", file.damage));
    FB_TRY_OUT(fb_results_keep(&file, variants, variant_count));
    for (size_t i = 0; i < file.run_count; i++)
        FB_TRY_OUT(fb_results_add_run(all, &file.runs[i]));
    FB_TRY_OUT(take_records(all, &file, path, first_run, notes));
out:
    fb_results_free(&file);
    return status;
}

static bool same_fact(const struct fb_run *a, const struct fb_run *b, const char *name)
{
    return !strcmp(fb_run_get(a, name), fb_run_get(b, name));
}

/* Runs of the same grid, dealt out into as many shards. */
static bool same_deal(const struct fb_run *a, const struct fb_run *b)
{
    return same_fact(a, b, "grid_hash") && same_fact(a, b, "shards");
}

/* Is run i the first of its deal, or (with `shard`) the first with its shard of the deal? */
static bool is_first(const struct fb_results *all, size_t i, bool shard)
{
    for (size_t before = 0; before < i; before++)
        if (same_deal(&all->runs[before], &all->runs[i]) &&
            (!shard || same_fact(&all->runs[before], &all->runs[i], "shard")))
            return false;
    return true;
}

/* A note for each grid that was dealt out and of which shards are not here. */
static enum fb_status tell_missing(const struct fb_results *all, char **notes)
{
    for (size_t i = 0; i < all->run_count; i++) {
        const struct fb_run *run = &all->runs[i];
        int64_t shards, missing;
        if (!fb_number_int(fb_run_get(run, "shards"), &shards) || !is_first(all, i, false))
            continue;
        missing = shards;
        for (size_t other = i; other < all->run_count; other++)
            missing -= same_deal(&all->runs[other], run) && is_first(all, other, true);
        if (missing > 0)
            FB_TRY(add_note(notes, "%s: %lld of %lld shards are missing",
                            fb_run_get(run, "experiment"), (long long)missing, (long long)shards));
    }
    return FB_OK;
}

enum fb_status fb_results_merge(struct fb_results *results, const char *const *paths, size_t count,
                                const char *const *variants, size_t variant_count, char **notes)
{
    enum fb_status status = FB_OK;
    fb_results_init(results);
    *notes = NULL;
    for (size_t i = 0; i < count; i++)
        FB_TRY_OUT(take_file(results, paths[i], variants, variant_count, notes));
    for (size_t n = 0; n < variant_count; n++)
        FB_TRY_OUT(fb_results_need(results, "--variant", variants[n]));
    if (!variant_count)
        FB_TRY_OUT(tell_missing(results, notes));
    return FB_OK;
out:
    fb_results_free(results);
    free(*notes);
    *notes = NULL;
    return status;
}
