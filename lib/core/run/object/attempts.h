/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failed attempts to make groups. Members of a group agree by messages that
 * carry the user's tag, so messages of a failed attempt must not match those of
 * the next one. Each failure moves all members to the next attempt number,
 * which is part of the tags and of control messages.
 *
 * If a member rejected the group (it was busy, lacked memory, or its parent had
 * failed), the matching calls of the other members fail as well, also those
 * that come later. If a member's deadline passed while it waited, a later call
 * of the others is a new attempt.
 */
#ifndef RCX_CORE_RUN_OBJECT_ATTEMPTS_H
#define RCX_CORE_RUN_OBJECT_ATTEMPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "rcx/rcx.h"

struct rcx_attempt;

struct rcx_attempts {
    struct rcx_attempt *first; /* one for each group that ever failed */
    struct rcx_attempt *spare; /* for a failure caused by a lack of memory */
};

/* False: no memory. */
bool rcx_attempts_open(struct rcx_attempts *attempts, struct rcx_heap *heap);
void rcx_attempts_close(struct rcx_attempts *attempts, struct rcx_heap *heap);
/* The number of the next attempt. */
uint32_t rcx_attempts_next(const struct rcx_attempts *attempts, int tag,
                           uint32_t group);
/* Attempt number has failed, unless that is known. owed: the status that the
 * next call of this rank returns; RCX_OK: it is a new attempt. False: no memory
 * to keep it. */
bool rcx_attempts_fail(struct rcx_attempts *attempts, struct rcx_heap *heap,
                       int tag, uint32_t group, uint32_t number,
                       rcx_status_t owed);
/* The status that the next call must return, once. */
rcx_status_t rcx_attempts_take(struct rcx_attempts *attempts, int tag,
                               uint32_t group);

#endif
