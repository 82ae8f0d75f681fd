/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attempts to make a group that failed. Members of a group agree by messages
 * that carry the user's tag, so those of an attempt that failed must not meet
 * the next attempt's: each failure moves all members on to the next number,
 * which is in the tags of messages and in notes.
 *
 * Where a member was refused the group (it was busy, it had no memory, its
 * parent had failed), the calls of the others that belong to that one fail as
 * well, also those that come later. Where one only waited for others until its
 * deadline passed, a later call of theirs is a new attempt.
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
    struct rcx_attempt *spare; /* for a failure that is a lack of memory */
};

/* False: no memory. */
bool rcx_attempts_open(struct rcx_attempts *attempts, struct rcx_heap *heap);
void rcx_attempts_close(struct rcx_attempts *attempts, struct rcx_heap *heap);
/* The number of the next attempt. */
uint32_t rcx_attempts_next(const struct rcx_attempts *attempts, int tag,
                           uint32_t group);
/* Attempt number has failed, unless that is known. owed: the status with which
 * the next call of this rank ends; RCX_OK: it is a new attempt. False: no memory
 * to keep it. */
bool rcx_attempts_fail(struct rcx_attempts *attempts, struct rcx_heap *heap,
                       int tag, uint32_t group, uint32_t number,
                       rcx_status_t owed);
/* What the next call owes, once. */
rcx_status_t rcx_attempts_take(struct rcx_attempts *attempts, int tag,
                               uint32_t group);

#endif
