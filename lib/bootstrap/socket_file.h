/* SPDX-License-Identifier: BSD-3-Clause */
/* The file by which ranks meet: it has the id of rank 0, and exists while the
 * job starts. */
#ifndef RCX_BOOTSTRAP_SOCKET_FILE_H
#define RCX_BOOTSTRAP_SOCKET_FILE_H

#include "bootstrap/socket_id.h"

/* Put the id there, in place of what there is. False: see errno. */
bool rcx_socket_file_write(const char *path,
                           const struct rcx_socket_root *root);

/* Read the id. False: why says the reason. */
bool rcx_socket_file_read(const char *path, struct rcx_socket_root *root,
                          char *why, size_t bytes);

/* Remove the file if it has this secret. */
void rcx_socket_file_remove(const char *path, const struct rcx_socket_key *key);

#endif
