/* SPDX-License-Identifier: BSD-3-Clause */
/* What identifies a machine, and the part of it whose processes share memory.
 * A host name does not: containers of one machine have one each. */
#ifndef RCX_CORE_BASE_HOST_H
#define RCX_CORE_BASE_HOST_H

#include <stddef.h>
#include <stdint.h>

/* The kernel's boot id, equal on one machine. A kernel that tells none has its
 * host name, as nothing else tells it from others. */
void rcx_kernel_id(char *text, size_t bytes);

/* Equal for processes on one kernel, in one IPC namespace: they share memory.
 * rcx_boot_node() is the node of a rank. */
uint64_t rcx_host_node(void);

#endif
