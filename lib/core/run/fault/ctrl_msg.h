/* SPDX-License-Identifier: BSD-3-Clause */
/* Control messages: what ranks tell each other outside of collectives. */
#ifndef RCX_CORE_RUN_FAULT_CTRL_MSG_H
#define RCX_CORE_RUN_FAULT_CTRL_MSG_H

#include "core/run/object/comm.h"

enum rcx_ctrl_kind {
    RCX_CTRL_FAILED,  /* the communicator has failed, with status, for ranks */
    RCX_CTRL_QUERY,   /* has the receiver called operation number sequence? */
    RCX_CTRL_ENTERED, /* answer: it has, or waits in an earlier one */
    RCX_CTRL_NOT_ENTERED,   /* answer: it has not, but is alive */
    RCX_CTRL_ELSEWHERE,     /* answer: it has not, and waits in another
                           communicator for ranks */
    RCX_CTRL_FINALIZES,     /* the sender finalizes after a failure; it is not
                           dead */
    RCX_CTRL_FINALIZES_ACK, /* reply to RCX_CTRL_FINALIZES */
    RCX_CTRL_CALL,  /* the sender waits for the receiver in a call whose tags
                     begin with sequence */
    RCX_CTRL_AGREE, /* of agreement number sequence; a struct rcx_agree_msg
                     follows */
    RCX_CTRL_PING,  /* does the receiver take part in agreement number
                      sequence? */
    RCX_CTRL_PONG,  /* answer: it does, or has decided */
    RCX_CTRL_GONE   /* reply to RCX_CTRL_AGREE: the sender does not have the
                     communicator; with RCX_ERR_EXCLUDED: others have agreed
                     that the receiver has failed */
};

enum { RCX_NEIGHBOURS_MOST = 64 };

/* At most 64 bytes, so that a transport sends a copy: the sender may have
 * exited when it is read. Further bytes may follow, which then may be lost. */
struct rcx_ctrl_msg {
    uint64_t sequence; /* FAILED: how many ranks earlier messages have named */
    int32_t from;      /* rank in the context */
    uint32_t comm_id;
    uint32_t group; /* tells communicators with this id apart */
    int8_t kind;
    int8_t status;
    int8_t rank_count;
    int8_t tells_on; /* FAILED: not all members could be told; tell them */
    int16_t tag;
    uint32_t value; /* answers: ms without running; groups in the making: the
                       attempt; FINALIZES: messages of agreements so far */
    int32_t ranks[RCX_RANKS_LISTED];
};
_Static_assert(sizeof(struct rcx_ctrl_msg) <= 64, "a transport sends a copy");

/* Send to a rank of the context. Sets from. */
void rcx_ctrl_reply(struct rcx_context *context, int to,
                    struct rcx_ctrl_msg *body);
/* Send to a rank of comm. Sets from, comm_id, tag and group. */
void rcx_ctrl_send(struct rcx_comm *comm, int rank, struct rcx_ctrl_msg *body);
/* The same for a message with further bytes behind it. */
void rcx_ctrl_send_more(struct rcx_comm *comm, int rank,
                        struct rcx_ctrl_msg *body, size_t more);
/* Send to all other members. */
void rcx_ctrl_send_all(struct rcx_comm *comm, struct rcx_ctrl_msg *body);
/* Whether a rank may send to all other members: they are at most 31. In a
 * larger communicator a rank sends O(log p) control messages. */
bool rcx_ctrl_is_small(const struct rcx_comm *comm);
/* Write the members at distances of powers of two, both ways: 2 ceil(lg p) at
 * most. Returns how many. If each of them forwards a message in the same way,
 * all members receive it although up to lg p of them are dead or not in RCX. */
int rcx_ctrl_neighbours(const struct rcx_comm *comm,
                        int ranks[RCX_NEIGHBOURS_MOST]);
/* Whether a member sent it about comm: earlier communicators of other members
 * may have had the same id. */
bool rcx_ctrl_is_about(const struct rcx_ctrl_msg *body,
                       const struct rcx_comm *comm);

#endif
