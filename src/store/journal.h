/* SPDX-License-Identifier: BSD-3-Clause
 *
 * journal.h: the log that a run writes as it goes, NAME.jsonl beside NAME.h5. One line an entry,
 *
 *     crc32-in-8-hex-digits SPACE compact-json LF
 *
 * built in memory, written by one write() to an O_APPEND descriptor and made durable by fdatasync,
 * so that a kill at any moment costs at most the line being written. Entries are {"run":{...}} (the
 * machine, the build and the command: the first line, and one more each time a run is resumed) and
 * {"case":{...}} (a record, belonging to the run line before it). Reading stops at the first
 * damaged line and says so; resuming cuts the damaged tail off before it appends.
 */
#ifndef FB_STORE_JOURNAL_H
#define FB_STORE_JOURNAL_H

#include "store/results.h"

enum fb_journal_mode {
    FB_JOURNAL_CREATE,  /* FB_USAGE when the journal holds records already: resume, or replace it */
    FB_JOURNAL_REPLACE, /* what was there is dropped, once the lock is held */
    FB_JOURNAL_RESUME   /* goes on; creates it where there is none */
};

struct fb_journal;

/* Opens and locks the journal and appends the run's line. With FB_JOURNAL_RESUME, *done gets what
 * is there (the caller frees it; done may be NULL); the torn tail, if any, is cut off and
 * done->damage says so. Another grid_hash, shard or shards than the journal's is FB_USAGE.
 * FB_LOCKED: another run holds it; nothing was touched. FB_IO: one line with the name and errno's
 * text. Where the file system has no locks (ENOLCK, ENOSYS) it goes on after a warning. */
enum fb_status fb_journal_open(struct fb_journal **out, const char *path, const struct fb_run *run,
                               enum fb_journal_mode mode, struct fb_results *done);

/* Appends a record, durably. On FB_IO (disk full) the record does not count: what was written of
 * it is cut off again, and a later append may succeed. */
enum fb_status fb_journal_append(struct fb_journal *journal, const struct fb_record *record);

void fb_journal_close(struct fb_journal *journal); /* NULL is fine */

/* "out/quick.h5" to "out/quick.jsonl" (malloc'd; NULL without memory). */
char *fb_journal_path(const char *results_path);

/* Reads the journal and writes the HDF5 file anew: what a run does every few seconds and at its
 * end. */
enum fb_status fb_journal_publish(const char *journal_path, const char *results_path);

#endif
