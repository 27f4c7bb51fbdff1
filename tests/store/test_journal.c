/* SPDX-License-Identifier: BSD-3-Clause
 *
 * test_journal.c: the journal's lines, torn tails, flipped bits, other files and rivals.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/status.h"
#include "store/crc.h"
#include "store/files.h"
#include "store/journal_read.h"
#include "tests/report/make_records.h"
#include "tests/store/journal_case.h"
#include "tests/tap.h"

static char folder[] = "/tmp/flashback-journal-XXXXXX";
static char path[128];

/* Stands before the C library's: a file system without locks is one that says so. */
static int flock_errno;

int flock(int fd, int operation)
{
    if (!flock_errno)
        return (int)syscall(SYS_flock, fd, operation);
    errno = flock_errno;
    return -1;
}

/* A new journal with the records 0 to count - 1; its bytes. */
static void write_journal(int count, char **text, size_t *length)
{
    struct fb_journal *journal;
    journal_case_open(path, &journal, FB_JOURNAL_REPLACE, 0, NULL);
    for (int i = 0; i < count; i++)
        journal_case_append(journal, i);
    fb_journal_close(journal);
    fb_file_read(path, text, length);
}

static void put_bytes(const char *text, size_t length)
{
    FILE *file = fopen(path, "wb");
    if (file) {
        fwrite(text, 1, length, file);
        fclose(file);
    }
}

static bool holds_bytes(const char *text, size_t length)
{
    char *found;
    size_t found_length;
    fb_file_read(path, &found, &found_length);
    bool same = found && found_length == length && !memcmp(found, text, length);
    free(found);
    return same;
}

static bool file_holds(size_t count)
{
    struct fb_results results;
    bool good = fb_journal_read(&results, path) == FB_OK && journal_case_holds(&results, count);
    fb_results_free(&results);
    return good;
}

/* Where line `number` starts. */
static size_t line_start(const char *text, int number)
{
    const char *at = text;
    while (number--)
        at = strchr(at, '\n') + 1;
    return (size_t)(at - text);
}

static void test_plain(void)
{
    char *text;
    size_t length;
    struct fb_journal *journal;
    struct fb_results done;
    write_journal(4, &text, &length);
    tap_ok(file_holds(4), "four records are written and read");
    tap_ok(journal_case_open(path, &journal, FB_JOURNAL_CREATE, 0, NULL) == FB_USAGE && !journal,
           "a new run over them is refused: %s", fb_status_message());
    tap_ok(holds_bytes(text, length), "and leaves them");
    tap_ok(journal_case_open(path, &journal, FB_JOURNAL_RESUME, 1, NULL) == FB_USAGE,
           "another shard is refused: %s", fb_status_message());
    tap_ok(holds_bytes(text, length), "and leaves them");
    tap_ok(journal_case_open(path, &journal, FB_JOURNAL_RESUME, 0, &done) == FB_OK &&
               journal_case_holds(&done, 4) && !done.damage,
           "resuming gives the four");
    fb_results_free(&done);
    journal_case_append(journal, 4);
    journal_case_append(journal, 4);
    fb_journal_close(journal);
    struct fb_results results;
    fb_journal_read(&results, path);
    tap_ok(journal_case_holds(&results, 5), "a record written twice counts once");
    tap_ok(results.run_count == 2 && results.records[3].run == 0 && results.records[4].run == 1,
           "each record knows its run");
    fb_results_free(&results);
    free(text);
    char *name = fb_journal_path("a.b/c.h5"), *other = fb_journal_path("c");
    tap_ok(!strcmp(name, "a.b/c.jsonl") && !strcmp(other, "c.jsonl"), "names of journals");
    free(name);
    free(other);
}

static void test_torn_tail(void)
{
    char *text;
    size_t length, wrong_read = 0, wrong_resume = 0;
    write_journal(3, &text, &length);
    size_t third = line_start(text, 3);
    for (size_t cut = third; cut < length; cut++) {
        struct fb_results done;
        struct fb_journal *journal;
        put_bytes(text, cut);
        fb_journal_read(&done, path);
        wrong_read += !journal_case_holds(&done, 2) || (cut > third) != (done.damage != NULL);
        fb_results_free(&done);
        bool resumed = journal_case_open(path, &journal, FB_JOURNAL_RESUME, 0, &done) == FB_OK;
        if (resumed && journal_case_holds(&done, 2) && journal_case_append(journal, 2) == FB_OK) {
            fb_journal_close(journal);
            wrong_resume += !file_holds(3);
        } else {
            wrong_resume++;
        }
        fb_results_free(&done);
    }
    tap_ok(!wrong_read, "cut at each of %zu bytes of the last record, the others read",
           length - third);
    tap_ok(!wrong_resume, "and resuming cuts the tail off and goes on");
    size_t wrong_header = 0, first = line_start(text, 1);
    for (size_t cut = 0; cut < first; cut++) {
        struct fb_journal *journal;
        put_bytes(text, cut);
        wrong_header += journal_case_open(path, &journal, FB_JOURNAL_RESUME, 0, NULL) != FB_OK;
        fb_journal_close(journal);
    }
    tap_ok(!wrong_header, "cut at each byte of its first line, a journal starts anew");
    free(text);
}

static void test_flipped_bits(void)
{
    char *text;
    size_t length, wrong = 0;
    write_journal(3, &text, &length);
    size_t second = line_start(text, 2), third = line_start(text, 3);
    for (size_t bit = 8 * second; bit < 8 * third; bit++) {
        struct fb_journal_scan scan = {0};
        text[bit / 8] ^= (char)(1 << bit % 8);
        wrong += fb_journal_scan(&scan, text, length, path) != FB_OK ||
                 scan.results.record_count != 1 || !scan.results.damage || scan.good != second;
        fb_results_free(&scan.results);
        text[bit / 8] ^= (char)(1 << bit % 8);
    }
    tap_is_int((long long)wrong, 0, "each of %zu bits flipped, reading stops exactly there",
               8 * (third - second));
    struct fb_journal *journal;
    text[second + 40] ^= 1;
    put_bytes(text, length);
    tap_ok(journal_case_open(path, &journal, FB_JOURNAL_RESUME, 0, NULL) == FB_CORRUPT && !journal,
           "damage with intact lines after it is not cut off: %s", fb_status_message());
    tap_ok(holds_bytes(text, length), "and the file is left");
    free(text);
}

static void test_other_files(void)
{
    static const char letter[] = "Dear Sir,\nthis is no journal.\n";
    struct fb_journal *journal;
    struct fb_results results;
    put_bytes(letter, sizeof letter - 1);
    for (int mode = FB_JOURNAL_CREATE; mode <= FB_JOURNAL_RESUME; mode++)
        tap_ok(journal_case_open(path, &journal, (enum fb_journal_mode)mode, 0, NULL) == FB_CORRUPT,
               "a letter is no journal (mode %d): %s", mode, fb_status_message());
    tap_ok(holds_bytes(letter, sizeof letter - 1), "and is left as it was");
    fb_status_clear();
    tap_ok(fb_results_read(&results, path) == FB_CORRUPT, "nor results: %s", fb_status_message());
    put_bytes("", 0);
    fb_status_clear();
    tap_ok(fb_results_read(&results, path) == FB_CORRUPT, "nor is nothing: %s",
           fb_status_message());
    fb_status_clear();
    tap_ok(fb_results_read(&results, "/nonexistent/x.jsonl") == FB_IO, "no file: %s",
           fb_status_message());
    char longer[160];
    snprintf(longer, sizeof longer, "%s/none/x.jsonl", folder);
    struct fb_run run;
    make_run(&run, "here", 0, 1);
    fb_status_clear();
    tap_ok(fb_journal_open(&journal, longer, &run, FB_JOURNAL_CREATE, NULL) == FB_IO,
           "no folder: %s", fb_status_message());
    fb_run_free(&run);
}

static void test_rivals(void)
{
    char *text;
    size_t length;
    int ready[2], go[2];
    struct fb_journal *journal;
    write_journal(3, &text, &length);
    if (pipe(ready) || pipe(go))
        return;
    pid_t child = fork();
    if (!child) {
        char byte = 0;
        if (journal_case_open(path, &journal, FB_JOURNAL_RESUME, 0, NULL) != FB_OK ||
            write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1)
            _exit(1);
        journal_case_append(journal, 3);
        fb_journal_close(journal);
        _exit(0);
    }
    char byte;
    if (read(ready[0], &byte, 1) != 1)
        return;
    free(text);
    fb_file_read(path, &text, &length);
    for (int mode = FB_JOURNAL_CREATE; mode <= FB_JOURNAL_RESUME; mode++)
        tap_ok(journal_case_open(path, &journal, (enum fb_journal_mode)mode, 0, NULL) == FB_LOCKED,
               "held by another (mode %d): %s", mode, fb_status_message());
    tap_ok(holds_bytes(text, length), "and not touched");
    int result = 1;
    if (write(go[1], &byte, 1) != 1 || waitpid(child, &result, 0) != child)
        result = 1;
    tap_ok(!result && file_holds(4), "the holder goes on");
    free(text);
}

static void test_eight(void)
{
    pid_t child[8];
    size_t good = 0, refused = 0;
    char *text;
    size_t length;
    write_journal(0, &text, &length);
    free(text);
    for (int i = 0; i < 8; i++)
        if (!(child[i] = fork())) {
            struct fb_journal *journal;
            enum fb_status status = journal_case_open(path, &journal, FB_JOURNAL_RESUME, 0, NULL);
            if (status == FB_OK)
                status = journal_case_append(journal, i);
            journal_case_pause(20000);
            _exit((int)status);
        }
    for (int i = 0; i < 8; i++) {
        int result;
        waitpid(child[i], &result, 0);
        good += WEXITSTATUS(result) == FB_OK;
        refused += WEXITSTATUS(result) == FB_LOCKED;
    }
    struct fb_results results;
    fb_journal_read(&results, path);
    tap_ok(good && good + refused == 8 && results.record_count == good && !results.damage,
           "of eight at once %zu wrote and %zu were refused; %zu records", good, refused,
           results.record_count);
    fb_results_free(&results);
}

/* A line whose checksum holds, of a case that nothing tells apart from others. */
static void test_no_key(void)
{
    static const char entry[] = "{\"case\":{\"variant\":\"cpu-split\"}}";
    struct fb_results results;
    char *text;
    size_t length;
    write_journal(1, &text, &length);
    free(text);
    FILE *file = fopen(path, "a");
    fprintf(file, "%08x %s\n", fb_crc32(entry, sizeof entry - 1), entry);
    fclose(file);
    fb_status_clear();
    tap_ok(fb_journal_read(&results, path) == FB_CORRUPT &&
               strstr(fb_status_message(), "line 3: a case without its key"),
           "a case without its key: %s", fb_status_message());
    fb_results_free(&results);
    unlink(path);
}

/* A flipped bit in a line with intact ones behind it: what the message says brings them back. */
static void test_damaged_line(void)
{
    struct fb_journal *journal;
    struct fb_results done;
    char *text;
    size_t length;
    write_journal(4, &text, &length);
    char *line = text, *end;
    for (int i = 0; i < 3; i++) /* past the run and two records */
        line = strchr(line, '\n') + 1;
    end = strchr(line, '\n') + 1;
    line[20] ^= 1;
    put_bytes(text, length);
    fb_status_clear();
    tap_ok(journal_case_open(path, &journal, FB_JOURNAL_RESUME, 0, NULL) == FB_CORRUPT &&
               strstr(fb_status_message(), "line 4 is damaged") &&
               strstr(fb_status_message(), "delete the damaged one"),
           "%s", fb_status_message());
    tap_ok(holds_bytes(text, length), "and the file is as it was");
    memmove(line, end, length - (size_t)(end - text));
    put_bytes(text, length - (size_t)(end - line));
    bool opened = journal_case_open(path, &journal, FB_JOURNAL_RESUME, 0, &done) == FB_OK;
    tap_ok(opened && done.record_count == 3, "without that line the others are gone on with");
    if (opened) {
        fb_journal_close(journal);
        fb_results_free(&done);
    }
    free(text);
}

static void test_no_locks(void)
{
    static const int codes[] = {ENOLCK, ENOSYS, EOPNOTSUPP};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        struct fb_journal *journal;
        flock_errno = codes[i];
        bool opened = journal_case_open(path, &journal, FB_JOURNAL_REPLACE, 0, NULL) == FB_OK;
        flock_errno = 0;
        tap_ok(opened && journal_case_append(journal, 0) == FB_OK, "flock says '%s': it works",
               strerror(codes[i]));
        fb_journal_close(journal);
    }
}

/* The checksum is the one that zip and every language's library compute. All byte values: a short
 * text does not meet every entry of the table. */
static void test_checksum(void)
{
    unsigned char all[256];
    for (int i = 0; i < 256; i++)
        all[i] = (unsigned char)i;
    tap_ok(fb_crc32("123456789", 9) == 0xcbf43926, "the CRC-32 of 123456789");
    tap_ok(fb_crc32(all, sizeof all) == 0x29058c73, "the CRC-32 of all byte values");
}

int main(void)
{
    if (!mkdtemp(folder))
        return 99;
    snprintf(path, sizeof path, "%s/x.jsonl", folder);
    test_checksum();
    test_plain();
    test_torn_tail();
    test_flipped_bits();
    test_other_files();
    test_rivals();
    test_eight();
    test_no_key();
    test_damaged_line();
    test_no_locks();
    unlink(path);
    rmdir(folder);
    return tap_done();
}
