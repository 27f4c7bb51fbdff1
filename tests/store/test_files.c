/* SPDX-License-Identifier: BSD-3-Clause
 *
 * test_files.c: whole files: several writers of one name, and what else has the name that is
 * written first.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/status.h"
#include "store/files.h"
#include "tests/tap.h"

enum { WRITERS = 4, TIMES = 40, LONGEST = 1 << 20 };

static char folder[] = "/tmp/flashback-files-XXXXXX";
static char path[128], temporary[132], other[128];

/* A writer's file: its letter throughout, and a length of its own. */
static size_t length_of(int writer)
{
    return (size_t)LONGEST / (size_t)(writer + 1);
}

static void write_often(int writer)
{
    static char bytes[LONGEST];
    memset(bytes, 'a' + writer, sizeof bytes);
    for (int i = 0; i < TIMES; i++)
        if (fb_file_write(path, bytes, length_of(writer)) != FB_OK ||
            fb_file_probe(path) != FB_OK) {
            fprintf(stderr, "# %s\n", fb_status_message());
            _exit(1);
        }
    _exit(0);
}

/* Is what stands there one writer's file, whole? */
static bool is_whole(void)
{
    char *text;
    size_t length;
    if (fb_file_read(path, &text, &length) != FB_OK)
        return false;
    const int writer = *text - 'a';
    bool whole = writer >= 0 && writer < WRITERS && length == length_of(writer) &&
                 strspn(text, (char[]){*text, '\0'}) == length;
    free(text);
    return whole;
}

static void test_writers(void)
{
    pid_t children[WRITERS];
    int running = WRITERS, failed = 0, status;
    size_t read = 0, torn = 0;
    fb_file_write(path, "a", 0);
    for (int i = 0; i < WRITERS; i++)
        if (!(children[i] = fork()))
            write_often(i);
    while (running) {
        if (waitpid(-1, &status, WNOHANG) > 0) {
            running--;
            failed += status != 0;
        }
        struct stat about;
        if (!stat(path, &about) && about.st_size) {
            read++;
            torn += !is_whole();
        }
    }
    tap_is_int((long long)failed, 0, "%d writers of one name all succeed", WRITERS);
    tap_ok(read && !torn, "and each of %zu reads finds the whole file of one of them", read);
    tap_ok(access(temporary, F_OK) != 0, "and nothing is left over");
}

static void test_left_over(void)
{
    FILE *file = fopen(temporary, "w");
    fputs("longer than what is written, and of a program that was killed", file);
    fclose(file);
    tap_is_int(fb_file_write(path, "aaa", 3), FB_OK, "a killed writer's rest is no hindrance");
    char *text;
    size_t length;
    fb_file_read(path, &text, &length);
    tap_ok(length == 3 && !memcmp(text, "aaa", 3), "and nothing of it is in the file");
    free(text);
}

static bool stays(const char *name, const char *wanted)
{
    char *text;
    size_t length;
    if (fb_file_read(name, &text, &length) != FB_OK)
        return false;
    bool same = !strcmp(text, wanted);
    free(text);
    return same;
}

static void test_in_the_way(void)
{
    fb_file_write(path, "old", 3);
    fb_file_write(other, "precious", 8);
    tap_ok(!symlink(other, temporary), "a link has the name that is written first");
    fb_status_clear();
    tap_ok(fb_file_write(path, "new", 3) == FB_IO && strstr(fb_status_message(), temporary),
           "it is told: %s", fb_status_message());
    tap_is_int(fb_file_probe(path), FB_IO, "before the work, too");
    tap_ok(stays(other, "precious") && stays(path, "old"), "and both files are as they were");
    unlink(temporary);
    tap_ok(!mkfifo(temporary, 0600), "a pipe has the name");
    alarm(20);
    fb_status_clear();
    tap_ok(fb_file_write(path, "new", 3) == FB_IO && stays(path, "old"),
           "it is told, and not waited for: %s", fb_status_message());
    alarm(0);
    unlink(temporary);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 99;
    snprintf(path, sizeof path, "%s/x", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    test_writers();
    test_left_over();
    test_in_the_way();
    unlink(path);
    unlink(other);
    rmdir(folder);
    return tap_done();
}
