/* SPDX-License-Identifier: BSD-3-Clause
 *
 * test_crash.c: the journal when its writer is killed at any moment or its disk is full.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/status.h"
#include "store/files.h"
#include "store/journal_read.h"
#include "tests/report/make_records.h"
#include "tests/store/journal_case.h"
#include "tests/tap.h"

static char folder[] = "/tmp/flashback-journal-XXXXXX";
static char path[128];

/* A new journal without records. */
static void new_journal(void)
{
    struct fb_journal *journal;
    journal_case_open(path, &journal, FB_JOURNAL_REPLACE, 0, NULL);
    fb_journal_close(journal);
}

static bool file_holds(size_t count)
{
    struct fb_results results;
    bool good = fb_journal_read(&results, path) == FB_OK && journal_case_holds(&results, count);
    fb_results_free(&results);
    return good;
}

/* ---- Kills ------------------------------------------------------------------------------------
 */

static void write_until_killed(int acknowledge)
{
    struct fb_journal *journal;
    struct fb_results done;
    if (journal_case_open(path, &journal, FB_JOURNAL_RESUME, 0, &done) != FB_OK)
        _exit(1);
    for (int number = (int)done.record_count;; number++) {
        if (journal_case_append(journal, number) != FB_OK)
            _exit(2);
        if (write(acknowledge, &number, sizeof number) != sizeof number)
            _exit(3);
    }
}

static void test_kills(void)
{
    size_t wrong = 0, last = 0;
    new_journal();
    srand(12345);
    for (int round = 0; round < 40; round++) {
        int told[2], number, result;
        if (pipe(told))
            return;
        pid_t child = fork();
        if (!child)
            write_until_killed(told[1]);
        close(told[1]);
        journal_case_pause(2000 + rand() % 15000);
        kill(child, SIGKILL);
        waitpid(child, &result, 0);
        while (read(told[0], &number, sizeof number) == sizeof number)
            last = (size_t)number + 1;
        close(told[0]);
        struct fb_results results;
        wrong += !WIFSIGNALED(result) || fb_journal_read(&results, path) != FB_OK ||
                 results.record_count < last || results.record_count > last + 1 ||
                 !journal_case_holds(&results, results.record_count);
        last = results.record_count;
        fb_results_free(&results);
    }
    tap_ok(!wrong && last, "40 kills: all acknowledged records are there and right, %zu at the end",
           last);
}

static void test_reading_while_writing(void)
{
    size_t reads = 0, wrong = 0, last = 0;
    int told[2];
    new_journal();
    if (pipe(told))
        return;
    fcntl(told[1], F_SETFL, O_NONBLOCK);
    pid_t child = fork();
    if (!child)
        write_until_killed(told[1]);
    close(told[1]);
    for (; last < 300 && reads < 100000; reads++) {
        struct fb_results results;
        wrong += fb_journal_read(&results, path) != FB_OK || results.record_count < last ||
                 !journal_case_holds(&results, results.record_count);
        last = results.record_count;
        fb_results_free(&results);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(told[0]);
    tap_ok(!wrong && last >= 300, "%zu reads while it is written, up to %zu records: never wrong",
           reads, last);
}

/* ---- Full disks -------------------------------------------------------------------------------
 */

static void test_dev_full(void)
{
    struct fb_journal *journal;
    struct fb_run run;
    if (access("/dev/full", W_OK)) {
        tap_skip("/dev/full is not here");
        return;
    }
    make_run(&run, "here", 0, 1);
    fb_status_clear();
    tap_ok(fb_journal_open(&journal, "/dev/full", &run, FB_JOURNAL_CREATE, NULL) == FB_IO &&
               !journal,
           "/dev/full: %s", fb_status_message());
    fb_run_free(&run);
}

/* Appends until it fails; the number of records that counted. */
static int fill(struct fb_journal *journal, enum fb_status *status)
{
    int number = 0;
    fb_status_clear();
    while (number < 1000 && (*status = journal_case_append(journal, number)) == FB_OK)
        number++;
    return number;
}

static void test_file_limit(void)
{
    struct rlimit limit, all;
    struct fb_journal *journal;
    enum fb_status status;
    getrlimit(RLIMIT_FSIZE, &all);
    journal_case_open(path, &journal, FB_JOURNAL_REPLACE, 0, NULL);
    signal(SIGXFSZ, SIG_IGN);
    limit = all;
    limit.rlim_cur = 9000;
    setrlimit(RLIMIT_FSIZE, &limit);
    int number = fill(journal, &status);
    tap_ok(status == FB_IO && number > 5, "no room after %d records: %s", number,
           fb_status_message());
    setrlimit(RLIMIT_FSIZE, &all);
    struct fb_results results;
    fb_journal_read(&results, path);
    tap_ok(journal_case_holds(&results, (size_t)number) && !results.damage,
           "those are there, and nothing of the one that failed");
    fb_results_free(&results);
    tap_ok(journal_case_append(journal, number) == FB_OK && file_holds((size_t)number + 1),
           "with room again the run goes on");
    fb_journal_close(journal);
}

static void test_tiny_disk(void)
{
    char mount_point[64], before[sizeof path];
    enum fb_status status = FB_OK;
    struct fb_journal *journal;
    snprintf(mount_point, sizeof mount_point, "%s/disk", folder);
    mkdir(mount_point, 0777);
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("tmpfs", mount_point, "tmpfs", 0, "size=32k")) {
        tap_skip("a tiny tmpfs cannot be mounted here: %s", strerror(errno));
        return;
    }
    strcpy(before, path);
    snprintf(path, sizeof path, "%s/x.jsonl", mount_point);
    journal_case_open(path, &journal, FB_JOURNAL_CREATE, 0, NULL);
    int number = fill(journal, &status);
    tap_ok(status == FB_IO && number > 5, "disk full after %d records: %s", number,
           fb_status_message());
    tap_ok(file_holds((size_t)number), "those are there");
    mount("tmpfs", mount_point, "tmpfs", MS_REMOUNT, "size=128k");
    tap_ok(journal_case_append(journal, number) == FB_OK && file_holds((size_t)number + 1),
           "with room again the run goes on");
    fb_journal_close(journal);
    umount(mount_point);
    strcpy(path, before);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 99;
    snprintf(path, sizeof path, "%s/x.jsonl", folder);
    test_kills();
    test_reading_while_writing();
    test_dev_full();
    test_file_limit();
    test_tiny_disk();
    unlink(path);
    char mount_point[64];
    snprintf(mount_point, sizeof mount_point, "%s/disk", folder);
    rmdir(mount_point);
    rmdir(folder);
    return tap_done();
}
