/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Deadlines. A rank whose deadline passes calls the roll: members that are in
 * RCX answer at once whether they have called the operation. So it can name who
 * is missing, not only whom it waits for, who may wait for somebody in turn.
 */
#ifndef RCX_CORE_RUN_ROLL_H
#define RCX_CORE_RUN_ROLL_H

#include "core/base/clock.h"
#include "core/run/note.h"

/* Fail comm if the deadline of an operation has passed, and the roll was
 * called. */
void rcx_roll_watch(struct rcx_comm *comm, const struct rcx_instant *now);
/* A member calls the roll; comm: NULL, this rank has not got it. */
void rcx_roll_answer(struct rcx_context *context, const struct rcx_comm *comm,
                     const struct rcx_note_body *asked);
/* A member answers. */
void rcx_roll_mark(struct rcx_comm *comm, const struct rcx_note_body *body);
void rcx_roll_free(struct rcx_comm *comm);

#endif
