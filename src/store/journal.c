/* SPDX-License-Identifier: BSD-3-Clause
 *
 * journal.c: the journal's writer. Order at opening: open, lock, and only then look and change, so
 * that a second writer touches nothing of the first one's file.
 */
#include "store/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "core/status.h"
#include "store/crc.h"
#include "store/files.h"
#include "store/journal_read.h"

struct fb_journal {
    int fd;
    char *path;
    off_t end; /* bytes of whole lines */
};

static enum fb_status fail_io(const char *what, const char *path)
{
    return fb_fail(FB_IO, "cannot %s %s: %s", what, path, strerror(errno));
}

static bool write_durably(int fd, const char *text, size_t length)
{
    if (!fb_file_put(fd, text, length))
        return false;
    return !fdatasync(fd) || errno == EINVAL || errno == EROFS; /* EINVAL: a pipe or a device */
}

/* Appends one entry; takes the JSON text over. */
static enum fb_status append_entry(struct fb_journal *journal, struct fb_json *json)
{
    const char *entry = fb_json_text(json);
    char *line = NULL;
    int length = entry ? asprintf(&line, "%08x %s\n", fb_crc32(entry, json->length), entry) : -1;
    fb_json_free(json);
    if (length < 0)
        return fb_fail(FB_NO_MEMORY, "out of memory for a line of %s", journal->path);
    bool written = write_durably(journal->fd, line, (size_t)length);
    free(line);
    if (written) {
        journal->end += length;
        return FB_OK;
    }
    enum fb_status status = fail_io("write", journal->path);
    if (ftruncate(journal->fd, journal->end) && errno != EINVAL)
        fb_log_warn("%s: its last line is torn; it will be cut off when the run is resumed",
                    journal->path);
    return status;
}

static enum fb_status append_run(struct fb_journal *journal, const struct fb_run *run)
{
    struct fb_json json;
    fb_json_init(&json);
    fb_json_begin(&json, NULL, '{');
    fb_run_write_json(run, &json);
    fb_json_end(&json);
    return append_entry(journal, &json);
}

enum fb_status fb_journal_append(struct fb_journal *journal, const struct fb_record *record)
{
    struct fb_json json;
    fb_json_init(&json);
    fb_json_begin(&json, NULL, '{');
    fb_record_write_json(record, &json, "case");
    fb_json_end(&json);
    FB_TRY(append_entry(journal, &json));
    return FB_OK;
}

/* A pipe would block the run when nobody reads, and could not be gone on with. */
static enum fb_status refuse_pipe(int fd, const char *path)
{
    struct stat about;
    if (fstat(fd, &about))
        return fail_io("read", path);
    if (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode))
        return fb_fail(FB_IO, "%s is a pipe; a journal is a file", path);
    return FB_OK;
}

static enum fb_status lock_file(int fd, const char *path)
{
    int failed;
    do
        failed = flock(fd, LOCK_EX | LOCK_NB);
    while (failed && errno == EINTR);
    if (!failed)
        return FB_OK;
    if (errno == EWOULDBLOCK)
        return fb_fail(FB_LOCKED, "%s is being written by another run; choose another -o", path);
    if (errno != ENOLCK && errno != ENOSYS && errno != EOPNOTSUPP)
        return fail_io("lock", path);
    fb_log_warn("%s: this file system has no locks (%s): let no second run write there", path,
                strerror(errno));
    return FB_OK;
}

static bool has_item(const char *list, const char *item, size_t length)
{
    for (; list; list = strchr(list, ';')) {
        list += strspn(list, "; ");
        if (!strncmp(list, item, length) && (list[length] == ';' || !list[length]))
            return true;
    }
    return false;
}

/* Says which items of "a = 1; b = 2" are others than before. */
static void warn_changed(const char *path, const char *was, const char *is)
{
    char changed[512] = "";
    for (size_t length; *is; is += length) {
        is += strspn(is, "; ");
        length = strcspn(is, ";");
        const size_t used = strlen(changed);
        if (length && !has_item(was, is, length))
            snprintf(changed + used, sizeof changed - used, "%s%.*s", used ? "; " : "", (int)length,
                     is);
    }
    fb_log_warn("%s: what follows is measured in another way than before (%s)", path, changed);
}

/* A resumed run must go on with the same grid and the same part of it. */
static enum fb_status same_grid(const struct fb_results *there, const struct fb_run *run,
                                const char *path)
{
    static const char *const names[] = {"grid_hash", "shard", "shards"};
    if (!there->run_count)
        return FB_OK;
    const struct fb_run *last = &there->runs[there->run_count - 1];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *was = fb_run_get(last, names[i]), *is = fb_run_get(run, names[i]);
        if (strcmp(was, is) != 0)
            return fb_fail(FB_USAGE, "%s cannot be resumed: its %s is %s, this run's is %s", path,
                           names[i], *was ? was : "unset", *is ? is : "unset");
    }
    const char *was = fb_run_get(last, "measure"), *is = fb_run_get(run, "measure");
    if (*was && strcmp(was, is) != 0)
        warn_changed(path, was, is);
    return FB_OK;
}

/* Decides what of the file stays, and cuts the rest off. */
static enum fb_status settle(struct fb_journal *journal, const struct fb_journal_scan *scan,
                             size_t length, const struct fb_run *run, enum fb_journal_mode mode)
{
    size_t keep = mode == FB_JOURNAL_RESUME ? scan->good : 0;
    if (mode == FB_JOURNAL_CREATE && scan->results.record_count)
        return fb_fail(
            FB_USAGE, "%s holds %zu record%s: pass --resume or --replace, or choose another -o",
            journal->path, scan->results.record_count, scan->results.record_count == 1 ? "" : "s");
    if (mode != FB_JOURNAL_REPLACE && scan->good < length && !scan->torn_tail)
        return fb_fail(FB_CORRUPT,
                       "%s, but intact lines follow: delete the damaged one, or move the file",
                       scan->results.damage);
    if (mode == FB_JOURNAL_RESUME)
        FB_TRY(same_grid(&scan->results, run, journal->path));
    if (keep < length && ftruncate(journal->fd, (off_t)keep))
        return fail_io("cut", journal->path);
    journal->end = (off_t)keep;
    return FB_OK;
}

/* Reads what is there (nothing from a device or a pipe) and settles what stays. */
static enum fb_status look_and_settle(struct fb_journal *journal, const struct fb_run *run,
                                      enum fb_journal_mode mode, struct fb_results *done)
{
    struct fb_journal_scan scan = {0};
    char *text = NULL;
    size_t length = 0;
    struct stat about;
    enum fb_status status = FB_OK;
    if (fstat(journal->fd, &about))
        return fail_io("read", journal->path);
    if (S_ISREG(about.st_mode)) {
        FB_TRY_OUT(fb_file_read(journal->path, &text, &length));
        FB_TRY_OUT(fb_journal_scan(&scan, text, length, journal->path));
        FB_TRY_OUT(settle(journal, &scan, length, run, mode));
    }
    if (done && mode == FB_JOURNAL_RESUME) {
        *done = scan.results;
        fb_results_init(&scan.results);
    }
out:
    fb_results_free(&scan.results);
    free(text);
    return status;
}

enum fb_status fb_journal_open(struct fb_journal **out, const char *path, const struct fb_run *run,
                               enum fb_journal_mode mode, struct fb_results *done)
{
    enum fb_status status = FB_OK;
    struct fb_journal *journal = calloc(1, sizeof *journal);
    *out = NULL;
    if (done)
        fb_results_init(done);
    if (!journal)
        return fb_fail(FB_NO_MEMORY, "out of memory opening %s", path);
    journal->path = strdup(path);
    journal->fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (journal->fd < 0)
        FB_TRY_OUT(fail_io("open", path));
    if (!journal->path)
        FB_TRY_OUT(fb_fail(FB_NO_MEMORY, "out of memory opening %s", path));
    FB_TRY_OUT(refuse_pipe(journal->fd, path));
    FB_TRY_OUT(lock_file(journal->fd, path));
    FB_TRY_OUT(look_and_settle(journal, run, mode, done));
    FB_TRY_OUT(append_run(journal, run));
    *out = journal;
    return FB_OK;
out:
    fb_journal_close(journal);
    if (done)
        fb_results_free(done);
    return status;
}

void fb_journal_close(struct fb_journal *journal)
{
    if (!journal)
        return;
    if (journal->fd >= 0)
        close(journal->fd); /* and with it goes the lock */
    free(journal->path);
    free(journal);
}

char *fb_journal_path(const char *results_path)
{
    size_t length = strlen(results_path);
    char *path;
    if (length > 3 && !strcmp(results_path + length - 3, ".h5"))
        length -= 3;
    return asprintf(&path, "%.*s.jsonl", (int)length, results_path) < 0 ? NULL : path;
}

enum fb_status fb_journal_publish(const char *journal_path, const char *results_path)
{
    struct fb_results results;
    FB_TRY(fb_journal_read(&results, journal_path));
    enum fb_status status = results.damage ? fb_fail(FB_CORRUPT, "%s; %s is left as it was",
                                                     results.damage, results_path)
                                           : fb_results_write(&results, results_path);
    fb_results_free(&results);
    return status;
}
