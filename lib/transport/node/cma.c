/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cross-memory attach: whether it works here, and whether it is faster than
 * copying.
 */
#include "transport/node/cma.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/base/clock.h"

/*
 * The system call pins each page before it copies it. The cost depends on the
 * kernel's mitigations and on the hypervisor: 64 KB took from two to five times
 * as long as a copy on machines seen (docs/results/index.md). Between cores,
 * both the two copies of the other way and this one are slower than measured
 * here.
 */
enum { BYTES = 64 << 10, TRIES = 12, WORTH_COPIES = 3 };

struct block {
    char bytes[BYTES];
};

static uint64_t time_of_copy(struct block *to, const struct block *from)
{
    const uint64_t start = rcx_now_ns();

    memcpy(to, from, sizeof *to);
    __asm__ volatile("" ::"r"(to) : "memory"); /* keep the copy */
    return rcx_now_ns() - start;
}

static bool read_self(void *to, void *from, size_t bytes)
{
    const struct iovec here = {.iov_base = to, .iov_len = bytes};
    const struct iovec there = {.iov_base = from, .iov_len = bytes};

    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

bool rcx_cma_works(void)
{
    char from = 1, to;

    return read_self(&to, &from, sizeof from);
}

static uint64_t time_of_read(struct block *to, struct block *from)
{
    const uint64_t start = rcx_now_ns();

    return read_self(to, from, sizeof *from) ? rcx_now_ns() - start
                                             : UINT64_MAX;
}

bool rcx_cma_pays(struct rcx_heap *heap)
{
    struct block *blocks = rcx_heap_zalloc(heap, 2 * sizeof *blocks);
    uint64_t copy = UINT64_MAX, read = UINT64_MAX;

    if (!blocks)
        return false;
    memset(blocks, 1, 2 * sizeof *blocks); /* distinct pages */
    for (int i = 0; i < TRIES; i++) {
        const uint64_t one_copy = time_of_copy(&blocks[0], &blocks[1]);
        const uint64_t one_read = time_of_read(&blocks[0], &blocks[1]);

        copy = one_copy < copy ? one_copy : copy;
        read = one_read < read ? one_read : read;
    }
    rcx_heap_free(heap, blocks);
    return read / WORTH_COPIES < copy;
}
