/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file by which ranks meet. The folder may be one that other users write
 * to: a file is taken from this user only, and never through a link.
 */
#include "bootstrap/socket_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"

bool rcx_socket_file_write(const char *path, const struct rcx_socket_root *root)
{
    char text[RCX_SOCKET_ID_BYTES], young[RCX_SOCKET_PATH + 32];
    FILE *file = rcx_file_begin(path, young, sizeof young);

    if (!file)
        return false;
    rcx_socket_root_print(root, text);
    fprintf(file, "%s\n", text);
    return rcx_file_end(file, young, path);
}

/* Open a file of this user that only it can write. -1: why says the reason. */
static int open_own(const char *path, char *why, size_t bytes)
{
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat s;

    if (fd < 0) {
        snprintf(why, bytes, "%s",
                 errno == ELOOP ? "it is a link" : strerror(errno));
        return -1;
    }
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() &&
        (s.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return fd;
    snprintf(why, bytes, "it is not a file that this user alone can write");
    close(fd);
    return -1;
}

bool rcx_socket_file_read(const char *path, struct rcx_socket_root *root,
                          char *why, size_t bytes)
{
    const int fd = open_own(path, why, bytes);
    char text[RCX_SOCKET_ID_BYTES + 2] = "";
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n > 0 && text[n - 1] == '\n' &&
        memchr(text, '\n', (size_t)n) == text + n - 1) {
        text[n - 1] = '\0';
        if (rcx_socket_root_parse(text, root) && root->by == RCX_SOCKET_BY_ID)
            return true;
    }
    snprintf(why, bytes, "it is not what rank 0 writes");
    return false;
}

void rcx_socket_file_remove(const char *path, const struct rcx_socket_key *key)
{
    struct rcx_socket_root root;
    char why[RCX_SOCKET_TEXT];

    if (rcx_socket_file_read(path, &root, why, sizeof why) &&
        rcx_socket_same(&root.key, key))
        unlink(path);
}
