/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether the process of a peer on this node is alive. The process id alone
 * does not tell, as the kernel reuses it.
 */
#ifndef RCX_TRANSPORT_NODE_PROCESS_H
#define RCX_TRANSPORT_NODE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct rcx_process {
    pid_t pid;        /* in this pid namespace */
    uint64_t address; /* of memory that it keeps until it ends */
    int fd;           /* pidfd, if its memory may not be read; else -1 */
};

static inline void rcx_process_open(struct rcx_process *p, pid_t pid,
                                    uint64_t address)
{
    *p = (struct rcx_process){.pid = pid, .address = address, .fd = -1};
}

void rcx_process_close(struct rcx_process *p);

/* Whether it is alive and has memory at address. If this process may not read
 * that memory, a pidfd tells whether it is alive; without pidfds, whether any
 * process has the id. */
bool rcx_process_is_there(struct rcx_process *p);

#endif
