/* SPDX-License-Identifier: BSD-3-Clause
 *
 * results.h: a set of records with the runs that made them, in memory and as an HDF5 file. The file
 * is written whole, to a temporary name, and renamed: never appended to, never changed in place.
 * src/store/ is the only code that includes hdf5.h.
 */
#ifndef FB_STORE_RESULTS_H
#define FB_STORE_RESULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "store/record.h"
#include "store/run.h"

struct fb_results {
    struct fb_run *runs; /* at least one; record.run is an index into it */
    size_t run_count;
    struct fb_record *records; /* one a key */
    size_t record_count;
    char *damage;   /* NULL, or one line: where a journal stopped being readable */
    bool cut_short; /* ... though lines behind the damage are intact */
    size_t *index;  /* hash table of the keys: record number + 1, 0 is free; private */
    size_t index_size, record_room;
};

void fb_results_init(struct fb_results *results);
void fb_results_free(struct fb_results *results);

/* Take what is given over (and leave it empty). A record with a key that is there already replaces
 * the older one in its place. */
enum fb_status fb_results_add_run(struct fb_results *results, struct fb_run *run);
enum fb_status fb_results_add(struct fb_results *results, struct fb_record *record);

/* Rebuilds the hash table after records were put into place by other means. */
enum fb_status fb_results_index(struct fb_results *results);

const struct fb_record *fb_results_find(const struct fb_results *results, const char *key);

/* FB_USAGE, with the option that asked and the variants there are, when none is of this one. */
enum fb_status fb_results_need(const struct fb_results *results, const char *option,
                               const char *variant);

/* Keeps the records of these variants alone, in the order they have. No names: all stay. */
enum fb_status fb_results_keep(struct fb_results *results, const char *const *variants,
                               size_t count);

/* The same; FB_USAGE names a variant that has none. */
enum fb_status fb_results_select(struct fb_results *results, const char *const *variants,
                                 size_t count);

/* Reads FILE.h5 or NAME.jsonl, whichever it is by its first bytes. FB_IO: cannot be opened;
 * FB_CORRUPT: truncated, not HDF5, not ours, of a later schema, or damaged so that the HDF5 library
 * does not survive it (hdf5/trial.h). One line each, with the name. */
enum fb_status fb_results_read(struct fb_results *results, const char *path);

/* May results be put at path? FB_OK where nothing is, or an empty or an HDF5 file; FB_IO for a
 * folder or a device, FB_USAGE for any other file, which is somebody's and not to be replaced, and
 * for a new one with a journal's ending. */
enum fb_status fb_results_check_target(const char *path);

/* Writes path.tmp, syncs it, renames it to path and syncs the folder. FB_IO leaves an older file
 * at path as it was. */
enum fb_status fb_results_write(const struct fb_results *results, const char *path);

#endif
