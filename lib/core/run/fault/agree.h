/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Uniform agreement of the members of a communicator on a word and on the
 * members that have failed, whatever fails meanwhile. A state machine without
 * clock, network or communicator: its owner delivers messages, reports failed
 * members and says when a wait has lasted too long.
 *
 * Without failures (ballot 0): two disseminations of ceil(lg p) rounds each. In
 * the first one every member learns the AND of all words, and accepts it. In
 * the second one it learns that all members have accepted, and decides: 2
 * ceil(lg p) rounds, as many messages of each member.
 *
 * Otherwise single-decree Paxos, in which member c is the coordinator of ballot
 * c + 1, and of no other one. A member joins the lowest member that it does not
 * take for failed, and then refuses lower ballots. The coordinator waits for
 * all members that it does not take for failed, proposes the value accepted in
 * the highest ballot, or else the AND of all words and the failed members, and
 * decides when these members have accepted it.
 *
 * A value is proposed or decided by a quorum alone: all members that are not
 * dead; or more than half of all members; or half of them, with member 0. Dead
 * means that the process has ended, or has left, and that all it sent to this
 * member has been received. Two quorums have a common member that is not dead,
 * so no two members ever decide differently, although living members may be
 * taken for failed: such a member learns that it is excluded. A part that has
 * no quorum does not decide.
 *
 * A member that decides may be dead afterwards for one that it takes for
 * failed. So it sends the decision to these first: when it decides, to those
 * that could receive it after its death; when it leaves, to all.
 *
 * Memory: 7 sets of p bits, and a message with 3 of them. Sources: Lamport,
 * Paxos made simple, 2001; the task is that of Herault et al. 2015, early
 * returning agreement; dissemination: Hensgen, Finkel, Manber 1988; quorums:
 * design.
 */
#ifndef RCX_CORE_RUN_FAULT_AGREE_H
#define RCX_CORE_RUN_FAULT_AGREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/heap.h"

/* IDLE: not entered. FAST: ballot 0. RECOVER: a later ballot. DECIDED, EXCLUDED
 * (the others have decided that this member has failed) and CUT_OFF (no quorum)
 * are final. */
enum rcx_agree_state {
    RCX_AGREE_IDLE,
    RCX_AGREE_FAST,
    RCX_AGREE_RECOVER,
    RCX_AGREE_DECIDED,
    RCX_AGREE_EXCLUDED,
    RCX_AGREE_CUT_OFF
};

enum rcx_agree_kind {
    RCX_AGREE_ROUND,   /* ballot 0: the word, or that this member accepted */
    RCX_AGREE_COLLECT, /* the sender is the coordinator */
    RCX_AGREE_JOIN,    /* reply to the coordinator, or unasked */
    RCX_AGREE_PROPOSE,
    RCX_AGREE_ACCEPT,
    RCX_AGREE_DECIDE,
    RCX_AGREE_CUT /* the coordinator has no quorum */
};

/* Sets of a message, by position. */
enum { RCX_AGREE_FAILED, RCX_AGREE_DEAD, RCX_AGREE_VALUE, RCX_AGREE_SETS };

struct rcx_agree_msg {
    uint8_t kind;
    uint8_t round;  /* ROUND */
    int32_t ballot; /* PROPOSE, ACCEPT; JOIN: of the accepted value, or -1 */
    uint64_t word;  /* ROUND, JOIN: of members; PROPOSE, DECIDE: the value's */
    uint64_t accepted; /* JOIN: the word of the accepted value */
    uint64_t sets[];   /* RCX_AGREE_SETS of rcx_agree_words() each: what the
                         sender takes for failed; for dead; the failed members
                         of the value */
};

static inline size_t rcx_agree_words(int size)
{
    return ((size_t)size + 63) / 64;
}
static inline size_t rcx_agree_msg_bytes(int size)
{
    return sizeof(struct rcx_agree_msg) +
           RCX_AGREE_SETS * rcx_agree_words(size) * sizeof(uint64_t);
}

typedef void (*rcx_agree_send_t)(int to, const struct rcx_agree_msg *msg,
                                 void *arg);

struct rcx_agree_setting {
    int size, rank;
    bool accepts_minority; /* a part without a quorum decides by itself: two
                              parts may decide differently */
    rcx_agree_send_t send;
    /* Whether a member can see that this one's process has ended, and receives
     * then what it had sent */
    bool (*is_near)(int rank, void *arg);
    void *arg;
};

struct rcx_agree;

/* NULL: no memory. The setting is copied. */
struct rcx_agree *rcx_agree_create(struct rcx_heap *heap,
                                   const struct rcx_agree_setting *setting);
void rcx_agree_destroy(struct rcx_agree *a);

/* This member takes part, with word. Once. Messages may have come before. */
void rcx_agree_enter(struct rcx_agree *a, uint64_t word);
/* Member rank has failed: is_dead, its process has ended or has left, and all
 * that it sent has been received; otherwise it or its connection is silent. */
void rcx_agree_fail(struct rcx_agree *a, int rank, bool is_dead);
void rcx_agree_receive(struct rcx_agree *a, int from,
                       const struct rcx_agree_msg *msg);
/* This member has waited too long. The first time it leaves ballot 0. From then
 * on it takes the members that it waits for as failed. A coordinator whose
 * members have replied, and are no quorum, is cut off. */
void rcx_agree_overdue(struct rcx_agree *a);
/* Member from has decided in ballot 0 and keeps nothing of it. All members have
 * accepted that value, so this member decides it. No effect if it has not
 * accepted in ballot 0: then from says so of something else. */
void rcx_agree_gone(struct rcx_agree *a);
/* The others have decided that this member has failed. */
void rcx_agree_exclude(struct rcx_agree *a);
/* This member leaves: it sends what it has decided to those that may not know
 * it, and will not answer any more. */
void rcx_agree_leave(struct rcx_agree *a);
/* Whether it waits for several members, as the coordinator. */
bool rcx_agree_leads(const struct rcx_agree *a);
/* Whether it does, and has the replies of all that it does not take for failed,
 * but these are no quorum. */
bool rcx_agree_lacks_quorum(const struct rcx_agree *a);
/* Whether this member takes member rank for failed. */
bool rcx_agree_is_suspect(const struct rcx_agree *a, int rank);
/* The only member that it waits for; -1: none, or several. */
int rcx_agree_awaited(const struct rcx_agree *a);

enum rcx_agree_state rcx_agree_state(const struct rcx_agree *a);
/* DECIDED: the value. */
uint64_t rcx_agree_word(const struct rcx_agree *a);
bool rcx_agree_has_failed(const struct rcx_agree *a, int rank);
/* Whether it is known that its process has ended. */
bool rcx_agree_is_dead(const struct rcx_agree *a, int rank);
/* DECIDED: in ballot 0, so every member has accepted the value. */
bool rcx_agree_is_fast(const struct rcx_agree *a);

#endif
