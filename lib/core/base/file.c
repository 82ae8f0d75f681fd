/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files in folders that other users may write to. See the header.
 */
#include "core/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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

FILE *rcx_file_open(const char *path)
{
    /* a pipe would wait for a writer */
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat s;
    FILE *file;
    int error;

    if (fd < 0)
        return NULL;
    error = fstat(fd, &s) != 0    ? errno
            : S_ISDIR(s.st_mode)  ? EISDIR
            : !S_ISREG(s.st_mode) ? EINVAL
                                  : 0;
    file = error == 0 ? fdopen(fd, "r") : NULL;
    if (file)
        return file;
    close(fd);
    if (error != 0)
        errno = error;
    return NULL;
}

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

static bool name_young(const char *path, char young[], size_t bytes)
{
    const int length = snprintf(young, bytes, "%s.new.%d", path, (int)gettid());

    return length >= 0 && (size_t)length < bytes;
}

FILE *rcx_file_begin(const char *path, char young[], size_t bytes)
{
    FILE *file;
    int fd;

    if (!name_young(path, young, bytes)) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    unlink(young); /* of a process with this number that died while writing */
    fd = open(young, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
              S_IRUSR | S_IWUSR);
    file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!file && fd >= 0) {
        close(fd);
        unlink(young);
    }
    return file;
}

bool rcx_file_end(FILE *file, const char *young, const char *path)
{
    bool good;
    int error;

    errno = EIO; /* unless errno is set */
    good = !ferror(file);
    good &= fclose(file) == 0;
    if (good && rename(young, path) == 0)
        return true;
    error = errno;
    unlink(young);
    return fail(error);
}

/* ---- Pipes and devices --------------------------------------------------- */

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
    char young[4096];
    FILE *file;
    bool good;
    int fd, error;

    if (!open_stream(path, &fd))
        return false;
    if (fd >= 0) {
        good = write_in_time(fd, text, bytes);
        error = errno;
        close(fd);
        return good || fail(error);
    }
    file = rcx_file_begin(path, young, sizeof young);
    if (!file)
        return false;
    fwrite(text, 1, bytes, file);
    return rcx_file_end(file, young, path);
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
