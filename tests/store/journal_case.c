/* SPDX-License-Identifier: BSD-3-Clause
 *
 * journal_case.c: journals of numbered records.
 */
#include "tests/store/journal_case.h"

#include <time.h>

#include "core/status.h"
#include "tests/report/make_records.h"

enum { SAMPLES = 5 };

enum fb_status journal_case_open(const char *path, struct fb_journal **journal,
                                 enum fb_journal_mode mode, int shard, struct fb_results *done)
{
    struct fb_run run;
    make_run(&run, "here", shard, 2);
    fb_status_clear();
    enum fb_status status = fb_journal_open(journal, path, &run, mode, done);
    fb_run_free(&run);
    return status;
}

enum fb_status journal_case_append(struct fb_journal *journal, int number)
{
    struct fb_record record;
    make_numbered(&record, number, SAMPLES);
    enum fb_status status = fb_journal_append(journal, &record);
    fb_record_free(&record);
    return status;
}

bool journal_case_holds(const struct fb_results *results, size_t count)
{
    bool good = results->record_count == count;
    for (size_t i = 0; i < count && good; i++) {
        struct fb_record wanted;
        make_numbered(&wanted, (int)i, SAMPLES);
        wanted.run = results->records[i].run;
        good = same_record(&wanted, &results->records[i]);
        fb_record_free(&wanted);
    }
    return good;
}

void journal_case_pause(long us)
{
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}
