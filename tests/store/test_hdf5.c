/* SPDX-License-Identifier: BSD-3-Clause
 *
 * test_hdf5.c: the HDF5 file: what is written reads back, damage is told, an older file
 * survives every failure.
 */
#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/status.h"
#include "store/files.h"
#include "store/hdf5/read.h"
#include "store/journal.h"
#include "tests/report/make_records.h"
#include "tests/tap.h"

static char folder[] = "/tmp/flashback-hdf5-XXXXXX";
static char path[128], temporary[160];

static void put_bytes(const char *text, size_t length)
{
    FILE *file = fopen(path, "wb");
    if (file) {
        fwrite(text, 1, length, file);
        fclose(file);
    }
}

static void make_many(struct fb_results *results, int count, size_t samples)
{
    struct fb_run run;
    fb_results_init(results);
    make_run(&run, "here", 0, 1);
    fb_results_add_run(results, &run);
    for (int i = 0; i < count; i++) {
        struct fb_record record;
        make_numbered(&record, i, samples);
        record.run = 0;
        fb_results_add(results, &record);
    }
}

static bool same_runs(const struct fb_results *a, const struct fb_results *b)
{
    bool same = a->run_count == b->run_count;
    for (size_t i = 0; i < a->run_count && same; i++) {
        same = a->runs[i].fact_count == b->runs[i].fact_count;
        for (size_t at = 0; at < a->runs[i].fact_count && same; at++)
            same = !strcmp(fb_run_get(&b->runs[i], a->runs[i].facts[at].name),
                           a->runs[i].facts[at].value);
    }
    return same;
}

static bool same_results(const struct fb_results *a, const struct fb_results *b)
{
    bool same = a->record_count == b->record_count && same_runs(a, b);
    for (size_t i = 0; i < a->record_count && same; i++)
        same = same_record(&a->records[i], &b->records[i]);
    return same;
}

/* Does the file at path read as these results? */
static bool file_holds(const struct fb_results *wanted)
{
    struct fb_results found;
    fb_status_clear();
    bool same = fb_results_read(&found, path) == FB_OK && same_results(wanted, &found);
    fb_results_free(&found);
    return same;
}

/* Objects of the HDF5 library that are open: 0 between the calls of the store. */
static int open_objects(void)
{
    return (int)H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL);
}

static void test_round_trip(void)
{
    struct fb_results results;
    struct fb_run second;
    make_results(&results, "all");
    make_run(&second, "there", 1, 2);
    fb_run_set(&second, "gpu_name", "a \"name\"\nwith \xc3\xa4 line");
    fb_results_add_run(&results, &second);
    struct fb_record *record = &results.records[1];
    record->run = 1;
    record->seed = UINT64_MAX - 1;
    record->pairs = INT64_MAX;
    record->tensor.dq.max_abs = INFINITY;
    record->tensor.dv.max_abs = 1.5249285751529568e-05;
    record->tensor.dk.rel_l2 = nextafter(0x1p-4, 0);
    record->bwd.samples[3] = NAN;
    char *longer = calloc(5001, 1);
    memset(longer, 'x', 5000);
    fb_text_set(&record->problem, "%s", longer);
    free(longer);
    tap_ok(fb_results_write(&results, path) == FB_OK, "%zu records and 2 runs are written",
           results.record_count);
    tap_ok(file_holds(&results), "and read back, every bit");
    tap_ok(access(temporary, F_OK) != 0, "no temporary file is left");
    tap_ok(open_objects() == 0, "no HDF5 object is left open");
    fb_text_set(&record->reason, "caf\xc3\xa9");
    fb_results_write(&results, path);
    struct fb_results found;
    fb_results_read(&found, path);
    tap_ok(found.record_count && !strcmp(found.records[1].reason, "caf??"),
           "what is not ASCII becomes '?'");
    tap_ok(fb_results_find(&found, results.records[7].key) == &found.records[7],
           "a record is found by its key");
    tap_ok(!fb_results_find(&found, "no such key"), "a key that is not there is not");
    fb_results_free(&found);
    fb_results_free(&results);
}

static void test_few(void)
{
    for (int count = 0; count <= 2; count++)
        for (size_t samples = 0; samples <= 1; samples++) {
            struct fb_results results;
            make_many(&results, count, samples);
            tap_ok(fb_results_write(&results, path) == FB_OK && file_holds(&results),
                   "%d records with %zu samples", count, samples);
            fb_results_free(&results);
        }
    struct fb_results nothing;
    fb_results_init(&nothing);
    tap_ok(fb_results_write(&nothing, path) == FB_OK, "no run at all is written");
    tap_ok(file_holds(&nothing) == false && open_objects() == 0, "and reads with an empty run");
}

static long resident_kb(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%*d %ld", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages * 4;
}

static void test_many(void)
{
    struct fb_results results;
    struct timespec start, end;
    make_many(&results, 10000, 50);
    fb_results_write(&results, path);
    long before = resident_kb();
    clock_gettime(CLOCK_MONOTONIC, &start);
    tap_ok(fb_results_write(&results, path) == FB_OK, "10000 records are written again");
    clock_gettime(CLOCK_MONOTONIC, &end);
    long grown = resident_kb() - before;
    tap_note("%.0f ms, resident memory +%ld KiB",
             1e3 * (double)(end.tv_sec - start.tv_sec) +
                 1e-6 * (double)(end.tv_nsec - start.tv_nsec),
             grown);
    tap_ok(open_objects() == 0, "no object is left open");
    tap_ok(file_holds(&results), "and they read back");
    fb_results_free(&results);
}

static void expect_corrupt(const char *what)
{
    struct fb_results found;
    fb_status_clear();
    enum fb_status status = fb_results_read(&found, path);
    tap_ok(status == FB_CORRUPT && strstr(fb_status_message(), path), "%s: %s", what,
           fb_status_message());
    fb_results_free(&found);
}

/* Runs a test in a child that leaves without tidying up: HDF5 1.10.8 itself leaks when it meets a
 * damaged file, which is not what a leak checker is to tell us. */
static bool in_child(bool (*work)(const struct fb_results *), const struct fb_results *results)
{
    int result = 1;
    fflush(stdout);
    pid_t child = fork();
    if (!child)
        _exit(work(results) ? 0 : 1);
    return waitpid(child, &result, 0) == child && result == 0;
}

/* Cut off anywhere, the file is told to be damaged. */
static bool every_cut_is_told(const struct fb_results *results)
{
    struct fb_results found;
    char *text;
    size_t length, wrong = 0;
    fb_results_write(results, path);
    fb_file_read(path, &text, &length);
    for (size_t cut = 8; cut < length; cut += 397) {
        put_bytes(text, cut);
        fb_status_clear();
        wrong += fb_results_read(&found, path) != FB_CORRUPT;
        fb_results_free(&found);
    }
    free(text);
    return !wrong;
}

/* Any flipped bit is told, but for those of the mark before the checksum: then there is none. */
static bool flips_are_told(const struct fb_results *results)
{
    struct fb_results found;
    char *text;
    size_t length, wrong = 0;
    fb_results_write(results, path);
    fb_file_read(path, &text, &length);
    size_t mark = length - strlen("\nflashback-crc32 01234567\n"), digits = length - 9;
    srand(7);
    for (int i = 0; i < 600; i++) {
        size_t at = i < 300 ? (size_t)rand() % length : length - 1 - (size_t)(i - 300) % 40;
        char bit = (char)(1 << rand() % 8);
        text[at] ^= bit;
        put_bytes(text, length);
        fb_status_clear();
        enum fb_status status = fb_results_read(&found, path);
        bool none = at >= mark && at < digits;
        wrong += status != (none ? FB_OK : FB_CORRUPT) || open_objects() != 0;
        fb_results_free(&found);
        text[at] ^= bit;
    }
    free(text);
    return !wrong;
}

static bool half_a_file_is_told(const struct fb_results *results)
{
    struct fb_results found;
    char *text;
    size_t length;
    fb_results_write(results, path);
    fb_file_read(path, &text, &length);
    put_bytes(text, length / 2);
    free(text);
    fb_status_clear();
    bool told = fb_results_read(&found, path) == FB_CORRUPT && strstr(fb_status_message(), path);
    tap_note("%s", fb_status_message());
    return told;
}

static void test_damage(void)
{
    struct fb_results results;
    char *text;
    size_t length;
    make_many(&results, 20, 5);
    tap_ok(in_child(every_cut_is_told, &results), "cut off anywhere, it is told to be damaged");
    tap_ok(in_child(flips_are_told, &results), "a flipped bit anywhere is told");
    tap_ok(in_child(half_a_file_is_told, &results), "half a file is told, with its name");
    fb_results_write(&results, path);
    fb_file_read(path, &text, &length);
    char *at = memmem(text, length, FB_SCHEMA_NAME, strlen(FB_SCHEMA_NAME));
    put_bytes(text, length - 1);
    tap_ok(file_holds(&results), "without its checksum it reads as well");
    memcpy(at, "another", 7);
    put_bytes(text, length);
    expect_corrupt("a changed word");
    put_bytes(text, length - 1);
    expect_corrupt("another schema");
    free(text);
    fb_text_set(&results.records[3].key, "%s", "");
    fb_results_write(&results, path);
    expect_corrupt("a case without its key");
    fb_results_free(&results);
}

/* A newer file that cannot be written leaves the older one, whatever the size at which it fails. */
static void test_no_room(void)
{
    struct fb_results older, newer;
    struct rlimit limit, all;
    size_t wrong = 0, tries = 0;
    make_many(&older, 3, 2);
    make_many(&newer, 40, 20);
    fb_results_write(&older, path);
    getrlimit(RLIMIT_FSIZE, &all);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t size = 0; size < 60000; size += 1511, tries++) {
        pid_t child = fork();
        if (!child) {
            limit = all;
            limit.rlim_cur = size;
            setrlimit(RLIMIT_FSIZE, &limit);
            fb_status_clear();
            _exit(fb_results_write(&newer, path) == FB_IO && *fb_status_message() ? 0 : 1);
        }
        int result;
        waitpid(child, &result, 0);
        wrong += result != 0 || !file_holds(&older) || access(temporary, F_OK) == 0;
    }
    tap_is_int((long long)wrong, 0,
               "no room, at %zu sizes: an error, the older file whole, no temporary file", tries);
    fb_results_free(&older);
    fb_results_free(&newer);
}

static void test_unwritable(void)
{
    struct fb_results results;
    make_many(&results, 2, 2);
    fb_status_clear();
    tap_ok(fb_results_write(&results, "/nonexistent/x.h5") == FB_IO, "no folder: %s",
           fb_status_message());
    fb_status_clear();
    tap_ok(fb_results_write(&results, "/dev/null") == FB_IO, "a device is not replaced: %s",
           fb_status_message());
    char name[160];
    snprintf(name, sizeof name, "%s/is-a-folder.h5", folder);
    mkdir(name, 0777);
    fb_status_clear();
    tap_ok(fb_results_write(&results, name) == FB_IO, "a folder of that name: %s",
           fb_status_message());
    rmdir(name);
    fb_results_free(&results);
}

/* Killed at any moment of a rewrite, the file is the older or the newer one, whole. */
static void test_kills(void)
{
    struct fb_results sets[2];
    size_t wrong = 0;
    make_many(&sets[0], 30, 5);
    make_many(&sets[1], 31, 5);
    fb_results_write(&sets[0], path);
    srand(99);
    for (int round = 0; round < 30; round++) {
        pid_t child = fork();
        if (!child)
            for (int i = 1;; i++)
                fb_results_write(&sets[i % 2], path);
        struct timespec time = {0, 1000000 + rand() % 60000000};
        nanosleep(&time, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        wrong += !file_holds(&sets[0]) && !file_holds(&sets[1]);
    }
    tap_is_int((long long)wrong, 0, "30 kills while rewriting: the file is always whole");
    tap_ok(fb_results_write(&sets[0], path) == FB_OK && file_holds(&sets[0]) &&
               access(temporary, F_OK) != 0,
           "a temporary file left by a kill is no hindrance");
    fb_results_free(&sets[0]);
    fb_results_free(&sets[1]);
}

static void test_publish(void)
{
    struct fb_results results, found;
    struct fb_journal *journal;
    char *journal_path = fb_journal_path(path);
    make_many(&results, 5, 3);
    fb_journal_open(&journal, journal_path, &results.runs[0], FB_JOURNAL_REPLACE, NULL);
    for (size_t i = 0; i < results.record_count; i++)
        fb_journal_append(journal, &results.records[i]);
    tap_ok(fb_journal_publish(journal_path, path) == FB_OK && file_holds(&results),
           "a journal becomes an HDF5 file");
    fb_journal_close(journal);
    fb_results_read(&found, journal_path);
    tap_ok(same_results(&results, &found), "both read as the same results");
    fb_results_free(&found);
    fb_results_free(&results);
    unlink(journal_path);
    free(journal_path);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 99;
    snprintf(path, sizeof path, "%s/x.h5", folder);
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    test_round_trip();
    test_few();
    test_many();
    test_damage();
    test_no_room();
    test_unwritable();
    test_kills();
    test_publish();
    unlink(path);
    rmdir(folder);
    return tap_done();
}
