/* SPDX-License-Identifier: BSD-3-Clause
 *
 * results.c: the set of records in memory. A hash table over the keys keeps adding linear.
 */
#include "store/results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/status.h"
#include "store/files.h"
#include "store/hdf5/read.h"
#include "store/hdf5/seal.h"
#include "store/hdf5/trial.h"
#include "store/hdf5/write.h"
#include "store/journal_read.h"

void fb_results_init(struct fb_results *results)
{
    memset(results, 0, sizeof *results);
}

void fb_results_free(struct fb_results *results)
{
    for (size_t i = 0; i < results->run_count; i++)
        fb_run_free(&results->runs[i]);
    for (size_t i = 0; i < results->record_count; i++)
        fb_record_free(&results->records[i]);
    free(results->runs);
    free(results->records);
    free(results->damage);
    free(results->index);
    fb_results_init(results);
}

enum fb_status fb_results_add_run(struct fb_results *results, struct fb_run *run)
{
    struct fb_run *runs = realloc(results->runs, (results->run_count + 1) * sizeof *runs);
    if (!runs)
        return fb_fail(FB_NO_MEMORY, "out of memory for a run");
    results->runs = runs;
    runs[results->run_count++] = *run;
    fb_run_init(run);
    return FB_OK;
}

/* FNV-1a. */
static size_t hash_of(const char *key)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * 0x100000001b3u;
    return (size_t)hash;
}

/* The place of the key in the table: its own, or the free one it would take. */
static size_t *place_of(const struct fb_results *results, const char *key)
{
    size_t mask = results->index_size - 1;
    size_t at = hash_of(key) & mask;
    while (results->index[at] &&
           strcmp(fb_text(results->records[results->index[at] - 1].key), key) != 0)
        at = (at + 1) & mask;
    return &results->index[at];
}

enum fb_status fb_results_index(struct fb_results *results)
{
    size_t room = 64;
    while (room <= results->record_count)
        room *= 2;
    struct fb_record *records = realloc(results->records, room * sizeof *records);
    if (!records)
        return fb_fail(FB_NO_MEMORY, "out of memory for %zu records", room);
    results->records = records;
    size_t *index = calloc(2 * room, sizeof *index); /* at most half full */
    if (!index)
        return fb_fail(FB_NO_MEMORY, "out of memory for %zu records", room);
    free(results->index);
    results->index = index;
    results->index_size = 2 * room;
    results->record_room = room;
    for (size_t i = 0; i < results->record_count; i++)
        *place_of(results, fb_text(results->records[i].key)) = i + 1;
    return FB_OK;
}

enum fb_status fb_results_add(struct fb_results *results, struct fb_record *record)
{
    if (results->record_count == results->record_room)
        FB_TRY(fb_results_index(results));
    size_t *place = place_of(results, fb_text(record->key));
    if (*place) {
        fb_record_free(&results->records[*place - 1]);
    } else {
        *place = ++results->record_count;
    }
    results->records[*place - 1] = *record;
    fb_record_init(record);
    return FB_OK;
}

/* The first record of the variant; record_count where there is none. */
static size_t find_variant(const struct fb_results *results, const char *variant)
{
    size_t i = 0;
    while (i < results->record_count && strcmp(fb_text(results->records[i].variant), variant) != 0)
        i++;
    return i;
}

enum fb_status fb_results_need(const struct fb_results *results, const char *option,
                               const char *variant)
{
    char names[400] = "";
    size_t used = 0;
    if (find_variant(results, variant) < results->record_count)
        return FB_OK;
    for (size_t i = 0; i < results->record_count && used < sizeof names; i++) {
        const char *name = fb_text(results->records[i].variant);
        if (find_variant(results, name) == i)
            used +=
                (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", name);
    }
    return fb_fail(FB_USAGE, "%s: no record of a variant '%s'; there are records of: %s", option,
                   variant, used ? names : "none");
}

static bool is_named(const struct fb_record *record, const char *const *names, size_t count)
{
    bool named = false;
    for (size_t n = 0; n < count; n++)
        named |= !strcmp(fb_text(record->variant), names[n]);
    return named;
}

enum fb_status fb_results_keep(struct fb_results *results, const char *const *variants,
                               size_t count)
{
    size_t kept = 0;
    if (!count)
        return FB_OK;
    for (size_t i = 0; i < results->record_count; i++) {
        if (is_named(&results->records[i], variants, count))
            results->records[kept++] = results->records[i];
        else
            fb_record_free(&results->records[i]);
    }
    results->record_count = kept;
    return fb_results_index(results);
}

enum fb_status fb_results_select(struct fb_results *results, const char *const *variants,
                                 size_t count)
{
    for (size_t n = 0; n < count; n++)
        FB_TRY(fb_results_need(results, "--variant", variants[n]));
    return fb_results_keep(results, variants, count);
}

const struct fb_record *fb_results_find(const struct fb_results *results, const char *key)
{
    if (!results->record_count)
        return NULL;
    size_t place = *place_of(results, key);
    return place ? &results->records[place - 1] : NULL;
}

/* ---- Files ------------------------------------------------------------------------------------
 */

static void read_and_forget(const char *path)
{
    struct fb_results results;
    fb_results_init(&results);
    fb_hdf5_read(&results, path);
}

enum fb_status fb_results_read(struct fb_results *results, const char *path)
{
    bool is_hdf5, sealed;
    fb_results_init(results);
    FB_TRY(fb_hdf5_recognise(path, &is_hdf5));
    if (!is_hdf5) {
        FB_TRY(fb_journal_read(results, path));
        return FB_OK;
    }
    FB_TRY(fb_seal_check(path, &sealed));
    if (!sealed)
        FB_TRY(fb_trial(read_and_forget, path));
    FB_TRY(fb_hdf5_read(results, path));
    return FB_OK;
}

enum fb_status fb_results_check_target(const char *path)
{
    struct stat about;
    bool is_hdf5 = false;
    const size_t length = strlen(path), ending = strlen(".jsonl");
    if (stat(path, &about)) { /* where it cannot be, the journal's opening says so */
        if (length > ending && !strcmp(path + length - ending, ".jsonl"))
            return fb_fail(FB_USAGE, "%s is a journal's name; results are HDF5: name them .h5",
                           path);
        return FB_OK;
    }
    if (!S_ISREG(about.st_mode))
        return fb_fail(FB_IO, "cannot write %s: not a regular file", path);
    if (!about.st_size)
        return FB_OK;
    FB_TRY(fb_hdf5_recognise(path, &is_hdf5));
    return is_hdf5 ? FB_OK
                   : fb_fail(FB_USAGE,
                             "%s is no results file; it is not replaced: choose "
                             "another name",
                             path);
}

enum fb_status fb_results_write(const struct fb_results *results, const char *path)
{
    char *bytes;
    size_t length;
    FB_TRY(fb_hdf5_image(results, &bytes, &length));
    enum fb_status status = fb_seal_append(&bytes, &length);
    if (status == FB_OK)
        status = fb_file_write(path, bytes, length);
    free(bytes);
    return status == FB_OK ? FB_OK : fb_status_pass(__FILE__, __LINE__, status);
}
