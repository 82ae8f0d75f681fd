/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Liveness of a peer's process on this node.
 */
#include "transport/node/process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef SYS_pidfd_open /* for headers before Linux 5.3 */
#define SYS_pidfd_open 434
#endif

void rcx_process_close(struct rcx_process *p)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
}

/* 0, or the errno of the failed read. */
static int read_memory(const struct rcx_process *p)
{
    char byte;
    const struct iovec here = {.iov_base = &byte, .iov_len = sizeof byte};
    const struct iovec there = {.iov_base = (void *)(uintptr_t)p->address,
                                .iov_len = sizeof byte};

    return process_vm_readv(p->pid, &here, 1, &there, 1, 0) == sizeof byte
               ? 0
               : errno;
}

bool rcx_process_is_there(struct rcx_process *p)
{
    if (p->fd < 0) {
        const int error = read_memory(p);

        if (error == 0 || error == ESRCH || error == EFAULT)
            return error == 0;
        p->fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
    }
    if (p->fd >= 0) /* readable once the process has ended */
        return poll(&(struct pollfd){.fd = p->fd, .events = POLLIN}, 1, 0) <= 0;
    /* Ranks that map each other's memory belong to one user. EPERM means that
     * another user's process has this id now. */
    return kill(p->pid, 0) == 0;
}
