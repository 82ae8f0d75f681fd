/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Straggler query. A rank whose operation or message is overdue, or whose call is
 * not the one that another rank makes, asks all members; those that are in RCX answer at once.
 * So an error names ranks that are missing or differ, not ranks that wait
 * themselves.
 */
#ifndef RCX_CORE_RUN_DETECT_STRAGGLER_H
#define RCX_CORE_RUN_DETECT_STRAGGLER_H

#include "core/base/clock.h"
#include "core/run/fault/ctrl_msg.h"

/* Fail comm if the deadline of an operation has passed, and members have had
 * time to answer: half of the deadline, at least 20 ms, at most 0.5 s. */
void rcx_roll_watch(struct rcx_comm *comm, const struct rcx_instant *now);
/* Member rank seems to make another call than segment number sequence of
 * operation r is: fail comm by what most members make. */
void rcx_roll_compare(const struct rcx_request *r, uint64_t sequence, int rank);
/* A member asks; comm: NULL, this rank has not got it. */
void rcx_roll_answer(struct rcx_context *context, const struct rcx_comm *comm,
                     const struct rcx_note_body *asked);
/* A member answers. */
void rcx_roll_mark(struct rcx_comm *comm, const struct rcx_note_body *body);
void rcx_roll_free(struct rcx_comm *comm);

#endif
