/* SPDX-License-Identifier: BSD-3-Clause */
/* What engines tell each other outside of collectives. */
#ifndef RCX_CORE_RUN_FAULT_CTRL_MSG_H
#define RCX_CORE_RUN_FAULT_CTRL_MSG_H

#include "core/run/object/comm.h"

enum rcx_note_kind {
    RCX_NOTE_FAILED, /* the communicator has, with status, ranks and text */
    RCX_NOTE_ROLL,   /* who has called the operation of this sequence number? */
    RCX_NOTE_PRESENT,   /* I have, or wait in an earlier one */
    RCX_NOTE_ABSENT,    /* I have not, but I am alive */
    RCX_NOTE_ELSEWHERE, /* I have not, and wait in another communicator, for
                           the rank of the context that is named */
    RCX_NOTE_LEFT,      /* I finalize, since something failed; I am not dead */
    RCX_NOTE_SEEN,      /* I know that you do */
    RCX_NOTE_CALL       /* I wait for you in a call whose tags begin so */
};

/* Short enough for a transport to need none of the sender's memory: it may be
 * gone when the note is read. */
struct rcx_note_body {
    uint64_t sequence; /* or what tags begin with; FAILED: how many ranks the
                          notes before this one named */
    int32_t from;      /* the context's rank */
    uint32_t comm_id;
    uint32_t group; /* and tag: tell groups in the making apart */
    int8_t kind;
    int8_t status;
    int8_t rank_count;
    int16_t tag;
    uint32_t
        value; /* of an answer: ms; of a group in the making: its attempt */
    int32_t ranks[RCX_RANKS_TOLD];
};
_Static_assert(sizeof(struct rcx_note_body) <= 64, "notes are short");

/* To a rank of the context: whom it is from is filled in. */
void rcx_note_answer(struct rcx_context *context, int to,
                     struct rcx_note_body *body);
/* To a rank of comm: whom it is from and about is filled in. */
void rcx_note_send(struct rcx_comm *comm, int rank, struct rcx_note_body *body);
/* To all other members. */
void rcx_note_send_all(struct rcx_comm *comm, struct rcx_note_body *body);
/* What a member says of comm: others may have had its id before. */
bool rcx_note_is_about(const struct rcx_note_body *body,
                       const struct rcx_comm *comm);

#endif
