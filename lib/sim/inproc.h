/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several ranks in one process, for tests. Not in rcx_boot_table: a test opens
 * it by hand for each rank, and passes the struct rcx_boot on.
 *
 * Nothing but the barrier blocks, so one thread may open and publish for all
 * ranks one after another; the barrier needs a thread per rank. Any thread may
 * call any of this at any time.
 */
#ifndef RCX_SIM_INPROC_H
#define RCX_SIM_INPROC_H

#include "core/iface/bootstrap.h"

struct rcx_inproc;

/*
 * A job of size ranks; NULL when memory ran out. heap pays for this struct and
 * for the blobs, under a lock of its own: no other thread may use it.
 */
struct rcx_inproc *rcx_inproc_create(struct rcx_heap *heap, int size);
/* After all ranks closed. NULL is fine. */
void rcx_inproc_destroy(struct rcx_inproc *inproc);

/*
 * Join as rank. args->heap pays for the boot. A rank may join again after it
 * closed, and publish again; what it published before stays readable.
 * RCX_ERR_ARG for a rank out of range or open already; RCX_ERR_NOMEM.
 */
rcx_status_t rcx_inproc_open(struct rcx_inproc *inproc, int rank,
                             const struct rcx_boot_args *args,
                             struct rcx_boot **boot_p);

#endif
