/* SPDX-License-Identifier: BSD-3-Clause */
/* What rank 0 finds out about ranks that do not come. */
#ifndef RCX_BOOTSTRAP_SOCKET_CLUE_H
#define RCX_BOOTSTRAP_SOCKET_CLUE_H

#include "bootstrap/socket_tree.h"

/* Store what follows the names of missing ranks: "; ..." with what may keep
 * them away, or "". Asks the name service, for half a second. */
void rcx_socket_clue(const struct rcx_socket_tree *t, char *text, size_t bytes);

#endif
