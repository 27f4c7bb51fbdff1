/* SPDX-License-Identifier: BSD-3-Clause
 *
 * test_trial.c: a file that nothing vouches for is tried by a child first, so that what kills
 * the HDF5 library is one line and not the end of the program.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/status.h"
#include "store/files.h"
#include "store/hdf5/trial.h"
#include "store/results.h"
#include "tests/report/make_records.h"
#include "tests/tap.h"

static char folder[] = "/tmp/flashback-trial-XXXXXX";
static char path[128];

static void live(const char *given)
{
    FILE *file = fopen(given, "w");
    fputs("touched", file);
    fclose(file);
    puts("not ok - a child is heard"); /* it is not */
    fflush(stdout);
}

static void fall(const char *given)
{
    (void)given;
    raise(SIGSEGV);
}

static void leave(const char *given)
{
    (void)given;
    _exit(3);
}

static void test_ends(void)
{
    char *bytes = NULL;
    size_t length = 0;
    fb_status_clear();
    tap_ok(fb_trial(live, path) == FB_OK && fb_file_read(path, &bytes, &length) == FB_OK &&
               length == 7,
           "what lives is run, and not heard");
    free(bytes);
    signal(SIGSEGV, SIG_IGN); /* the parent's ways are not the child's */
    tap_ok(fb_trial(fall, path) == FB_CORRUPT && strstr(fb_status_message(), path) &&
               strstr(fb_status_message(), "Segmentation"),
           "what dies is damage: %s", fb_status_message());
    signal(SIGSEGV, SIG_DFL);
    fb_status_clear();
    tap_ok(fb_trial(leave, path) == FB_CORRUPT && strstr(fb_status_message(), "ended the process"),
           "and so is what leaves: %s", fb_status_message());
}

/* The file without its seal, as other programs leave it; of its first heap the size is `heap` bytes
 * where that is not 0. */
static void unseal(const char *bytes, size_t length, unsigned char heap)
{
    char *copy = malloc(length + 1);
    memcpy(copy, bytes, length);
    while (length && memcmp(copy + length, "\nflashback-crc32", 16) != 0)
        length--;
    for (size_t at = 0; heap && at + 16 < length; at++)
        if (!memcmp(copy + at, "GCOL", 4)) {
            memset(copy + at + 8, 0, 8);
            copy[at + 8] = (char)heap;
            break;
        }
    fb_file_write(path, copy, length);
    free(copy);
}

static void test_heap(void)
{
    struct fb_results results, found;
    char *bytes;
    size_t length;
    make_results(&results, "speed");
    fb_results_write(&results, path);
    if (fb_file_read(path, &bytes, &length) != FB_OK) {
        tap_ok(false, "the file is there");
        return;
    }
    unseal(bytes, length, 0);
    tap_ok(fb_results_read(&found, path) == FB_OK && found.record_count == results.record_count &&
               same_record(&found.records[3], &results.records[3]),
           "a file without a seal reads as it is");
    fb_results_free(&found);
    unseal(bytes, length, 16);
    fb_status_clear();
    tap_ok(fb_results_read(&found, path) == FB_CORRUPT && strstr(fb_status_message(), path),
           "one with a heap that ends before its first object is damage: %s", fb_status_message());
    fb_results_free(&found);
    fb_results_free(&results);
    free(bytes);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 99;
    snprintf(path, sizeof path, "%s/x.h5", folder);
    test_ends();
    test_heap();
    unlink(path);
    rmdir(folder);
    return tap_done();
}
