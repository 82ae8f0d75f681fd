/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that a user names, as tools read them. What the library reads and
 * writes is in core/base/file.h.
 */
#include "common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *file_open(const char *path)
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
