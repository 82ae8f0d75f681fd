/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a start ends without success: deadlines, ranks that are missing or have
 * ended, and what ranks tell each other about it. Parts of the tree's steps.
 */
#ifndef RCX_BOOTSTRAP_SOCKET_END_H
#define RCX_BOOTSTRAP_SOCKET_END_H

#include "bootstrap/socket_tree.h"

/* Whether the parts of all ranks below have arrived. */
bool rcx_socket_has_all_below(const struct rcx_socket_tree *t);
/* Whether all that this step sends to link is sent. */
bool rcx_socket_is_served(const struct rcx_socket_tree *t,
                          const struct rcx_socket_link *link);

/* Handle events of guests, until until_ns or an event of any kind. */
void rcx_socket_tree_wait(struct rcx_socket_tree *t, uint64_t until_ns);

/* Do what is due by deadlines. Returns when that is to be called again. */
uint64_t rcx_socket_check_time(struct rcx_socket_tree *t);

/* A frame other than those of parts is complete. */
void rcx_socket_take_word(struct rcx_socket_tree *t,
                          struct rcx_socket_link *link);

/* Why the start fails: */
void rcx_socket_fail_ended(struct rcx_socket_tree *t,
                           struct rcx_socket_link *link);
void rcx_socket_fail_garbled(struct rcx_socket_tree *t,
                             const struct rcx_socket_link *link);
void rcx_socket_fail_memory(struct rcx_socket_tree *t, size_t bytes);

/* Name the ranks that have not come to rank 0. */
void rcx_socket_name_missing(const struct rcx_socket_tree *t, char *text,
                             size_t bytes);

#endif
