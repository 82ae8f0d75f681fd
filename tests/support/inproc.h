/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bootstrap for several ranks in one process, for tests. It is not in
 * rcx_boot_table: a test opens it for each rank and passes the struct rcx_boot
 * on.
 *
 * Only the barrier blocks. So one thread can open and publish for all ranks in
 * turn, but the barrier needs a thread per rank. Any thread may call any
 * function at any time.
 */
#ifndef RCX_TESTS_SUPPORT_INPROC_H
#define RCX_TESTS_SUPPORT_INPROC_H

#include "core/iface/bootstrap.h"

struct inproc;

/*
 * Create a job of size ranks; NULL: no memory. This struct and the blobs are
 * allocated from heap under a lock of the job, so no other thread may use heap.
 */
struct inproc *inproc_create(struct rcx_heap *heap, int size);
/* Destroy the job after all ranks have closed. NULL is allowed. */
void inproc_destroy(struct inproc *inproc);

/*
 * Join the job as rank. The boot is allocated from args->heap. A rank may join
 * and publish again after it has closed; earlier blobs stay valid. RCX_ERR_ARG:
 * rank is out of range, or open already. RCX_ERR_NOMEM.
 */
rcx_status_t inproc_open(struct inproc *inproc, int rank,
                         const struct rcx_boot_args *args,
                         struct rcx_boot **boot_p);

#endif
