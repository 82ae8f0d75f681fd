/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Straggler query. A rank whose operation or message is overdue, or whose call
 * differs from another rank's, asks other members. A rank that is in RCX
 * answers at once. So an error names the ranks that are missing or that differ,
 * and no rank that waits itself (culprits.h).
 *
 * In a small communicator a rank asks all members. In a larger one it asks the
 * ranks that its operation waits for, at most 64. Those that wait in the same
 * operation ask in turn, and a rank that finds a missing one announces it. So a
 * rank sends O(log p) queries, over connections that mostly exist.
 */
#ifndef RCX_CORE_RUN_DETECT_STRAGGLER_H
#define RCX_CORE_RUN_DETECT_STRAGGLER_H

#include <stddef.h>

#include "core/base/clock.h"
#include "core/run/fault/ctrl_msg.h"

/* NOT_ASKED: in a large communicator alone. ENTERED: the rank has called the
 * operation. ELSEWHERE: it waits in another communicator or, where the query is
 * about a message, in any. */
enum rcx_straggler_answer {
    NOT_ASKED,
    NO_ANSWER,
    ENTERED,
    NOT_ENTERED,
    ELSEWHERE
};

struct rcx_straggler_member {
    uint8_t answer;
    int8_t call;         /* ENTERED: fingerprint of its call; -1: not known */
    uint32_t stalled_ms; /* ENTERED, ELSEWHERE: it did not run for so long */
    bool is_reached;     /* the message waits for it, maybe by others */
    int next;            /* the next to be reached from; -1: none */
    int waits;           /* ELSEWHERE: for so many of the context's ranks, */
    int waits_for[RCX_RANKS_LISTED];
};

struct rcx_straggler_query {
    uint64_t request;  /* key of the operation, */
    uint64_t sequence; /* and of the segment that is asked for */
    int differs;       /* the rank that seems to make another call; -1: it is
                          overdue */
    uint64_t until; /* when it is decided without those that are unanswered */
    uint64_t relayed_until; /* and without an announcement of a rank that was
                               asked and asks in turn */
    uint64_t seen, seen_before;  /* when this rank looked, last and before */
    bool has_grace;              /* once */
    int unanswered, not_entered; /* so many members */
    /* By rank. Aligned as the struct is: otherwise the first one would lie in
     * the struct's padding, which an assignment of the struct overwrites. */
    _Alignas(uint64_t) struct rcx_straggler_member members[];
};
_Static_assert(offsetof(struct rcx_straggler_query, members) ==
                   sizeof(struct rcx_straggler_query),
               "no padding before the members");

/* Fail comm if the deadline of an operation has passed, and members have had
 * time to answer (rcx_answer_ns()). In a large communicator half of that time
 * more, at least 150 ms, if no rank that was asked is missing. */
void rcx_straggler_check(struct rcx_comm *comm, const struct rcx_instant *now);
/* Member rank seems to make another call than segment number sequence of
 * operation r is. Fails comm for the ranks that differ from the majority. */
void rcx_straggler_compare_calls(const struct rcx_request *r, uint64_t sequence,
                                 int rank);
/* Answer the query of a member. comm: NULL if this rank does not have it. */
void rcx_straggler_answer(struct rcx_context *context, struct rcx_comm *comm,
                          const struct rcx_ctrl_msg *asked);
/* Record the answer of a member. */
void rcx_straggler_record(struct rcx_comm *comm,
                          const struct rcx_ctrl_msg *body);
void rcx_straggler_free(struct rcx_comm *comm);

#endif
