/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * System V segments, which UCX uses for shared memory. A segment marked for
 * removal ends with the last process that has it attached.
 */
#ifndef RCX_TRANSPORT_NODE_SEGMENT_H
#define RCX_TRANSPORT_NODE_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Keep the segment that process pid has at address; *held_p is put back by
 * rcx_segment_put(). NULL if the memory is no such segment or cannot be seen.
 * False: there is nothing at this address any more. */
bool rcx_segment_get(pid_t pid, uint64_t address, void **held_p);
void rcx_segment_put(void *held);

/* Restrict to this user the segments without a key that this process has made,
 * attached, and marked for removal. UCX makes them accessible to the user's
 * group. */
void rcx_segment_make_all_private(void);

#endif
