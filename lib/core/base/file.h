/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that a user or a variable names, in folders that other users may write
 * to. None of these functions waits for another process for more than a second,
 * follows a link to a regular file, or leaves a file that other users can read.
 * A file or link of another user is replaced, unless the folder is sticky.
 */
#ifndef RCX_CORE_BASE_FILE_H
#define RCX_CORE_BASE_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Read up to bytes from a file, or from a pipe or device in a second at most.
 * Returns how many; -1: see errno, which is ETIMEDOUT if a pipe's writer keeps
 * it waiting. */
ssize_t rcx_file_read(const char *path, char *text, size_t bytes);

/* Write text to a new file, mode 0600, which replaces what is at path when it
 * is complete: "PATH.new.TID" until then. False: see errno; path is
 * unchanged. */
bool rcx_file_replace(const char *path, const char *text, size_t bytes);

/* The same, but a pipe or a character device at path gets the text, in a second
 * at most. */
bool rcx_file_write(const char *path, const char *text, size_t bytes);

enum { RCX_FILE_WHY = 512 };

/* Write why a file could not be written at path: what error says, or the user
 * whose file or link is in its place. */
void rcx_file_why(const char *path, int error, char *text, size_t bytes);

/* A text that is printed first and written then: stdio does not keep why a file
 * could not be written. */
struct rcx_file_text {
    FILE *to; /* NULL: no memory */
    char *text;
    size_t bytes;
};

void rcx_file_text_open(struct rcx_file_text *t);
/* Write it to path by one of the functions above, and release it. False: see
 * errno. */
bool rcx_file_text_close(struct rcx_file_text *t, const char *path,
                         bool (*write)(const char *path, const char *text,
                                       size_t bytes));

#endif
