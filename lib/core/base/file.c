/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files in folders that other users may write to. See the header.
 */
#include "core/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"

enum { PATIENCE_MS = 1000 };

static bool fail(int error)
{
    errno = error;
    return false;
}

/* ---- Reading ------------------------------------------------------------- */

static uint64_t time_up(void)
{
    return rcx_now_ns() + PATIENCE_MS * UINT64_C(1000) * UINT64_C(1000);
}

/* False: not ready by then. */
static bool wait_for(int fd, short events, uint64_t until)
{
    struct pollfd at = {.fd = fd, .events = events};

    if (rcx_now_ns() >= until)
        return fail(ETIMEDOUT);
    poll(&at, 1, PATIENCE_MS / 10);
    return true;
}

static ssize_t read_in_time(int fd, char *text, size_t bytes)
{
    const uint64_t until = time_up();
    size_t used = 0;

    while (used < bytes) {
        const ssize_t n = read(fd, text + used, bytes - used);

        if (n == 0)
            break;
        if (n > 0)
            used += (size_t)n;
        else if (errno == EAGAIN ? !wait_for(fd, POLLIN, until)
                                 : errno != EINTR)
            return -1;
    }
    return (ssize_t)used;
}

ssize_t rcx_file_read(const char *path, char *text, size_t bytes)
{
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t n;
    int error;

    if (fd < 0)
        return -1;
    n = read_in_time(fd, text, bytes);
    error = errno;
    close(fd);
    errno = error;
    return n;
}

/* ---- New files ----------------------------------------------------------- */

static bool write_in_time(int fd, const char *text, size_t bytes)
{
    const uint64_t until = time_up();

    while (bytes > 0) {
        const ssize_t n = write(fd, text, bytes);

        if (n > 0) {
            text += n;
            bytes -= (size_t)n;
        } else if (n < 0 && (errno == EAGAIN ? !wait_for(fd, POLLOUT, until)
                                             : errno != EINTR)) {
            return false;
        }
    }
    return true;
}

/* Write all, and close fd. False: see errno; close() may report that there is
 * no room, too. */
static bool write_and_close(int fd, const char *text, size_t bytes)
{
    const bool good = write_in_time(fd, text, bytes);
    const int error = errno;

    if (close(fd) == 0)
        return good || fail(error);
    return good ? false : fail(error);
}

static bool name_young(const char *path, char young[], size_t bytes)
{
    const int length = snprintf(young, bytes, "%s.new.%d", path, (int)gettid());

    return length >= 0 && (size_t)length < bytes;
}

/* Create the file that will replace path: "PATH.new.TID", mode 0600. Returns
 * -1: see errno. */
static int begin(const char *path, char young[], size_t bytes)
{
    if (!name_young(path, young, bytes)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    unlink(young); /* of a process with this number that died while writing */
    return open(young, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                S_IRUSR | S_IWUSR);
}

bool rcx_file_replace(const char *path, const char *text, size_t bytes)
{
    char young[4096];
    const int fd = begin(path, young, sizeof young);
    int error;

    if (fd < 0)
        return false;
    if (write_and_close(fd, text, bytes) && rename(young, path) == 0)
        return true;
    error = errno;
    unlink(young);
    return fail(error);
}

/* ---- Pipes and devices --------------------------------------------------- */

/* Open path if it is a pipe or device; else *fd_p is -1. False: it is one, and
 * cannot be opened. */
static bool open_stream(const char *path, int *fd_p)
{
    struct stat s;
    int fd;

    *fd_p = -1;
    if (stat(path, &s) != 0)
        return true;
    if (S_ISDIR(s.st_mode))
        return fail(EISDIR);
    if (!S_ISFIFO(s.st_mode) && !S_ISCHR(s.st_mode))
        return true;
    fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return false; /* ENXIO: no process reads the pipe */
    if (fstat(fd, &s) != 0 || S_ISREG(s.st_mode)) { /* replaced meanwhile */
        close(fd);
        return fail(EINVAL);
    }
    *fd_p = fd;
    return true;
}

bool rcx_file_write(const char *path, const char *text, size_t bytes)
{
    int fd;

    if (!open_stream(path, &fd))
        return false;
    return fd >= 0 ? write_and_close(fd, text, bytes)
                   : rcx_file_replace(path, text, bytes);
}

/* ---- Printed text -------------------------------------------------------- */

void rcx_file_text_open(struct rcx_file_text *t)
{
    *t = (struct rcx_file_text){.text = NULL};
    t->to = open_memstream(&t->text, &t->bytes);
}

bool rcx_file_text_close(struct rcx_file_text *t, const char *path,
                         bool (*write)(const char *path, const char *text,
                                       size_t bytes))
{
    bool good;
    int error;

    if (!t->to)
        return fail(ENOMEM);
    good = fclose(t->to) == 0 && write(path, t->text, t->bytes);
    error = errno;
    free(t->text);
    return good || fail(error);
}

/* ---- Reasons ------------------------------------------------------------- */

void rcx_file_why(const char *path, int error, char *text, size_t bytes)
{
    char young[4096];
    struct stat s;

    /* of the rename, or of the creation */
    if (error == EEXIST && name_young(path, young, sizeof young))
        path = young;
    if ((error == EPERM || error == EEXIST) && lstat(path, &s) == 0 &&
        s.st_uid != geteuid())
        snprintf(text, bytes,
                 "%s belongs to user %u, and nobody else can replace it in "
                 "this folder",
                 path, (unsigned)s.st_uid);
    else
        snprintf(text, bytes, "%s", strerror(error));
}
