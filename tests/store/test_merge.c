/* SPDX-License-Identifier: BSD-3-Clause
 *
 * test_merge.c: shards and files become one set.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/status.h"
#include "store/journal.h"
#include "store/merge.h"
#include "tests/report/make_records.h"
#include "tests/tap.h"

static const char *variant = "cpu-split"; /* of what is put down next */
static char folder[] = "/tmp/flashback-merge-XXXXXX";

/* Records first to last - 1 of a run on a host, as folder/name; bwd_ms is `ms` where positive. */
static char *put(const char *name, const char *host, int shard, int shards, int first, int last,
                 double ms)
{
    struct fb_results results;
    struct fb_run run;
    char *path = NULL;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        exit(99);
    fb_results_init(&results);
    make_run(&run, host, shard, shards);
    fb_results_add_run(&results, &run);
    for (int i = first; i < last; i++) {
        struct fb_record record;
        make_numbered(&record, i, 3);
        fb_text_set(&record.variant, "%s", variant);
        record.run = 0;
        if (ms > 0)
            record.bwd.ms = ms;
        fb_results_add(&results, &record);
    }
    fb_results_write(&results, path);
    fb_results_free(&results);
    return path;
}

/* The files of a test, and what is merged. */
static char *one, *two, *three, *again, *rival, *other;
static struct fb_results all;
static char *notes;

static enum fb_status merge(const char *const *paths, size_t count, const char *const *variants,
                            size_t variant_count)
{
    fb_status_clear();
    return fb_results_merge(&all, paths, count, variants, variant_count, &notes);
}

static void forget(void)
{
    fb_results_free(&all);
    free(notes);
    notes = NULL;
}

static void test_shards(void)
{
    const char *const shards[] = {one, two, three}, *const part[] = {one, three};
    size_t wrong = 0;
    tap_ok(merge(shards, 3, NULL, 0) == FB_OK && all.record_count == 11 && !notes,
           "three shards make the whole");
    tap_ok(all.run_count == 3 && all.records[0].run == 0 && all.records[4].run == 1 &&
               all.records[10].run == 2 && !strcmp(fb_run_get(&all.runs[2], "host"), "there"),
           "each record keeps its run");
    for (int i = 0; i < 11; i++) {
        struct fb_record wanted;
        make_numbered(&wanted, i, 3);
        wanted.run = all.records[i].run;
        wrong += !same_record(&wanted, &all.records[i]);
        fb_record_free(&wanted);
    }
    tap_is_int((long long)wrong, 0, "and its values");
    forget();
    bool merged = merge(part, 2, NULL, 0) == FB_OK;
    tap_ok(merged && strstr(fb_text(notes), "1 of 3 shards are missing"),
           "a missing shard is told: %.*s", (int)strcspn(fb_text(notes), "\n"), fb_text(notes));
    forget();
}

static void test_twice(void)
{
    const char *const twice[] = {one, two, three, again}, *const rivals[] = {one, rival};
    tap_ok(merge(twice, 4, NULL, 0) == FB_OK && all.record_count == 11 &&
               all.records[3].bwd.ms == 7 && all.records[3].run == 3 && all.records[1].bwd.ms != 7,
           "a case measured again on the same machine replaces the older one");
    tap_ok(notes && strstr(notes, "2 cases replace"), "and that is told");
    forget();
    tap_ok(merge(rivals, 2, NULL, 0) == FB_USAGE && !notes &&
               strstr(fb_status_message(), "host: here, there"),
           "one case on two machines is refused: %s", fb_status_message());
    forget();
}

static void test_variants(void)
{
    const char *const mixed[] = {one, other}, *const named[] = {"cpu-ordered", "cpu-nobody"};
    bool merged = merge(mixed, 2, named, 1) == FB_OK;
    tap_ok(merged && !notes && all.record_count == 3 &&
               !strcmp(fb_text(all.records[0].variant), "cpu-ordered") && all.records[0].run == 1,
           "one variant of files that disagree about another; shards are not missed");
    forget();
    tap_ok(merge(mixed, 2, named, 2) == FB_USAGE && !notes && !all.record_count &&
               strstr(fb_status_message(), "cpu-nobody"),
           "a variant that no file has: %s", fb_status_message());
    forget();
}

static void test_absent(void)
{
    const char *const absent[] = {one, "/nonexistent.h5"};
    tap_ok(merge(absent, 2, NULL, 0) == FB_IO && !notes && !all.record_count,
           "a file that is not there: %s", fb_status_message());
    forget();
}

int main(void)
{
    if (!mkdtemp(folder))
        return 99;
    one = put("1.h5", "here", 0, 3, 0, 4, 0);
    two = put("2.h5", "here", 1, 3, 4, 9, 0);
    three = put("3.h5", "there", 2, 3, 9, 11, 0);
    again = put("4.h5", "here", 0, 3, 2, 4, 7);
    rival = put("5.h5", "there", 0, 3, 3, 4, 7);
    variant = "cpu-ordered";
    other = put("6.h5", "there", 0, 3, 1, 4, 7);
    test_shards();
    test_twice();
    test_variants();
    test_absent();
    char *const paths[] = {one, two, three, again, rival, other};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        unlink(paths[i]);
        free(paths[i]);
    }
    rmdir(folder);
    return tap_done();
}
