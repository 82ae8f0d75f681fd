/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cross-memory attach: whether it works here. What it costs is measured with
 * the other figures of the node (pair_bench.c).
 */
#include "transport/node/cma.h"

#include <sys/uio.h>
#include <unistd.h>

bool rcx_cma_works(void)
{
    char from = 1, to;
    const struct iovec here = {.iov_base = &to, .iov_len = 1};
    const struct iovec there = {.iov_base = &from, .iov_len = 1};

    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}
