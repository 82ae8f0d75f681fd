/* SPDX-License-Identifier: BSD-3-Clause */
/* What identifies a machine, and the part of it that processes share. */
#ifndef RCX_CORE_BASE_HOST_H
#define RCX_CORE_BASE_HOST_H

#include <stddef.h>
#include <stdint.h>

/* The kernel's boot id, equal on one machine; "" if not known. */
void rcx_kernel_id(char *text, size_t bytes);

/* A hash that is equal for processes on one kernel with one host name, in one
 * IPC namespace: such processes share memory. */
uint64_t rcx_host_hash(const char *host, const char *boot_id);

#endif
