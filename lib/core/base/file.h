/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that are named by a user or a variable, in folders that other users may
 * write to. None of these functions waits for another process for longer than a
 * second, follows a link to a regular file, or leaves a file that other users
 * can read.
 */
#ifndef RCX_CORE_BASE_FILE_H
#define RCX_CORE_BASE_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Open a regular file to read; NULL: errno says why, EISDIR or EINVAL where it
 * is no regular file. */
FILE *rcx_file_open(const char *path);

/* Read up to bytes from a file, or from a pipe or device in a second at most.
 * How many; -1: errno says why, ETIMEDOUT where a pipe's writer keeps it
 * waiting. */
ssize_t rcx_file_read(const char *path, char *text, size_t bytes);

/* A new file that takes the place of path once it is whole: "PATH.new.TID",
 * mode 0600. NULL: errno says why. */
FILE *rcx_file_begin(const char *path, char young[], size_t bytes);
/* Close it and put it in place; or remove it, where it could not be written
 * whole. False: errno says why. */
bool rcx_file_end(FILE *file, const char *young, const char *path);

/* Write text to path: to a pipe or a character device, in a second at most, or
 * as a new file in the place of whatever else is there. False: errno says
 * why. */
bool rcx_file_write(const char *path, const char *text, size_t bytes);

#endif
