/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that a user names. */
#ifndef RCX_TOOLS_COMMON_FILE_H
#define RCX_TOOLS_COMMON_FILE_H

#include <stdio.h>

/* Open a regular file for reading. NULL: see errno, which is EISDIR or EINVAL
 * for other files. */
FILE *file_open(const char *path);

#endif
