/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether the process of a peer on this node is alive. A process id alone does
 * not tell: the kernel gives it to another process once this one has ended.
 */
#ifndef RCX_TRANSPORT_NODE_PROCESS_H
#define RCX_TRANSPORT_NODE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct rcx_process {
    pid_t pid;        /* in this pid namespace */
    uint64_t address; /* of memory that it has until it ends */
    int fd;           /* pidfd where its memory may not be read; or -1 */
};

static inline void rcx_process_open(struct rcx_process *p, pid_t pid,
                                    uint64_t address)
{
    *p = (struct rcx_process){.pid = pid, .address = address, .fd = -1};
}

void rcx_process_close(struct rcx_process *p);

/* Whether it is alive and has memory at address. Where the kernel does not let
 * this process read that memory, a pidfd tells whether it is alive; where there
 * are none either, whether any process has that id. */
bool rcx_process_is_there(struct rcx_process *p);

#endif
