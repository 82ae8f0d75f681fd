/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * System V segments of other processes: what UCX's shared memory is, which goes with the
 * last process that has it.
 */
#ifndef RCX_TRANSPORT_NODE_SEGMENT_H
#define RCX_TRANSPORT_NODE_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Keep the segment that process pid has at address from going with it; *held_p is to be
 * dropped. NULL where the memory is no such segment, or not to be seen. False: nothing is
 * there any more. */
bool rcx_segment_hold(pid_t pid, uint64_t address, void **held_p);
void rcx_segment_drop(void *held);

/* Let no other user attach the segments that this process has made, without a key, has
 * attached, and has marked for removal: UCX's, made for the user's group as well. */
void rcx_segments_make_private(void);

#endif
