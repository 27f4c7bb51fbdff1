/* SPDX-License-Identifier: BSD-3-Clause
 *
 * files.c: whole files.
 */
#include "store/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/status.h"

/* Reads to the end, growing: the size that stat gives may be out of date before it is used. */
static enum fb_status read_all(int fd, const char *path, char **text, size_t *length)
{
    size_t capacity = 1 << 16;
    char *buffer = malloc(capacity);
    *length = 0;
    while (buffer) {
        ssize_t got = read(fd, buffer + *length, capacity - *length - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            free(buffer);
            return fb_fail(FB_IO, "cannot read %s: %s", path, strerror(errno));
        }
        *length += (size_t)got;
        if (got == 0) {
            buffer[*length] = '\0';
            *text = buffer;
            return FB_OK;
        }
        if (capacity - *length < 2) {
            char *grown = realloc(buffer, capacity * 2);
            if (!grown)
                free(buffer);
            buffer = grown;
            capacity *= 2;
        }
    }
    return fb_fail(FB_NO_MEMORY, "out of memory reading %s", path);
}

enum fb_status fb_file_read(const char *path, char **text, size_t *length)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *text = NULL;
    if (fd < 0)
        return fb_fail(FB_IO, "cannot open %s: %s", path, strerror(errno));
    enum fb_status status = read_all(fd, path, text, length);
    close(fd);
    return status;
}

static int sync_path(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int failed = fsync(fd);
    if (failed && (errno == EINVAL || errno == EROFS)) /* nothing there to be synced */
        failed = 0;
    int saved = errno;
    close(fd);
    errno = saved;
    return failed;
}

static int sync_folder_of(const char *path)
{
    char *folder = strdup(path);
    if (!folder)
        return -1;
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    int failed = sync_path(slash ? folder : ".", O_RDONLY | O_DIRECTORY);
    free(folder);
    return failed;
}

enum fb_status fb_file_publish(const char *from, const char *to)
{
    if (sync_path(from, O_RDONLY) || rename(from, to)) {
        enum fb_status status = fb_fail(FB_IO, "cannot write %s: %s", to, strerror(errno));
        unlink(from);
        return status;
    }
    if (sync_folder_of(to))
        return fb_fail(FB_IO, "cannot sync the folder of %s: %s", to, strerror(errno));
    return FB_OK;
}

int fb_file_put(int fd, const char *bytes, size_t length)
{
    while (length) {
        ssize_t done = write(fd, bytes, length);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return 0;
        bytes += done;
        length -= (size_t)done;
    }
    return 1;
}

/* A file that is written: what a link leads to (else the link would be replaced, /dev/stdout for
 * one), and the name that is written first. Both malloc'd. */
struct target {
    char *path, *temporary;
};

static void free_target(struct target *target)
{
    free(target->path);
    free(target->temporary);
}

static bool is_link(const char *path)
{
    struct stat about;
    return !lstat(path, &about) && S_ISLNK(about.st_mode);
}

/* Is the file there one that can be replaced? One that does not exist is. */
static enum fb_status check_target(const char *path, const char *given)
{
    struct stat about, output;
    if (stat(path, &about))
        return FB_OK;
    if (!S_ISREG(about.st_mode))
        return fb_fail(FB_IO, "cannot write %s: not a regular file", given);
    if (!fstat(STDOUT_FILENO, &output) && about.st_dev == output.st_dev &&
        about.st_ino == output.st_ino)
        return fb_fail(FB_IO, "cannot write %s: standard output goes there", given);
    return FB_OK;
}

static enum fb_status name_target(const char *path, struct target *target)
{
    *target = (struct target){NULL, NULL};
    if (!*path)
        return fb_fail(FB_IO, "cannot write a file without a name");
    target->path = is_link(path) ? realpath(path, NULL) : strdup(path);
    if (!target->path)
        return fb_fail(FB_IO, "cannot write %s: %s", path, strerror(errno));
    FB_TRY(check_target(target->path, path));
    if (asprintf(&target->temporary, "%s.tmp", target->path) >= 0)
        return FB_OK;
    target->temporary = NULL;
    return fb_fail(FB_NO_MEMORY, "out of memory writing %s", path);
}

/* Is the open file still the one of that name? Its writer before us renames it. */
static bool is_still(int fd, const char *path)
{
    struct stat open_one, named;
    return !fstat(fd, &open_one) && !lstat(path, &named) && open_one.st_dev == named.st_dev &&
           open_one.st_ino == named.st_ino;
}

/* 1: locked; 0: somebody else's; -1: failed. A file system without locks has one writer at most. */
static int lock_temporary(int fd)
{
    if (!flock(fd, LOCK_EX | LOCK_NB))
        return 1;
    if (errno == EWOULDBLOCK || errno == EINTR)
        return 0;
    return errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP ? 1 : -1;
}

/* Opens the temporary file for this process alone, else one of two writers would cut off what the
 * other is about to publish. Not through a link: what that leads to is not ours. */
static enum fb_status open_temporary(const struct target *target, int *fd)
{
    enum { TRIES = 1000 }; /* 10 ms apart: a writer takes less than a second */
    for (int i = 0; i < TRIES; i++) {
        *fd =
            open(target->temporary, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
        if (*fd < 0 && errno == ELOOP)
            return fb_fail(FB_IO, "cannot write %s: the symbolic link %s is in the way",
                           target->path, target->temporary);
        if (*fd < 0)
            return fb_fail(FB_IO, "cannot write %s: %s", target->path, strerror(errno));
        int locked = lock_temporary(*fd);
        if (locked > 0 && is_still(*fd, target->temporary))
            return FB_OK;
        int cause = errno;
        close(*fd);
        if (locked < 0)
            return fb_fail(FB_IO, "cannot write %s: %s", target->path, strerror(cause));
        if (!locked)
            usleep(10000);
    }
    return fb_fail(FB_LOCKED, "%s is being written by another program", target->path);
}

enum fb_status fb_file_probe(const char *path)
{
    struct target target;
    int fd;
    enum fb_status status = name_target(path, &target);
    if (status == FB_OK)
        status = open_temporary(&target, &fd);
    if (status == FB_OK) {
        unlink(target.temporary);
        close(fd);
    }
    free_target(&target);
    return status;
}

/* The file stays open, and with it locked, until it has its name. */
static enum fb_status write_target(const struct target *target, const char *bytes, size_t length)
{
    int fd;
    FB_TRY(open_temporary(target, &fd));
    enum fb_status status = FB_OK;
    if (ftruncate(fd, 0) || !fb_file_put(fd, bytes, length)) {
        status = fb_fail(FB_IO, "cannot write %s: %s", target->path, strerror(errno));
        unlink(target->temporary);
    } else {
        status = fb_file_publish(target->temporary, target->path);
    }
    close(fd);
    return status;
}

enum fb_status fb_file_write(const char *path, const char *bytes, size_t length)
{
    struct target target;
    enum fb_status status = name_target(path, &target);
    if (status == FB_OK)
        status = write_target(&target, bytes, length);
    free_target(&target);
    return status;
}

enum fb_status fb_file_check_input(const char *path)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return fb_fail(FB_IO, "%s: cannot be opened for reading: %s", path, strerror(errno));
    bool regular = !fstat(fd, &about) && S_ISREG(about.st_mode);
    close(fd);
    return regular ? FB_OK : fb_fail(FB_IO, "%s: not a regular file", path);
}
