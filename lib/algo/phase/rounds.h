/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which step a rank does in each round of a factorized reduction, and its
 * partners (Rabenseifner, Traeff 2004, 3.2 to 3.6), in O(1) per round.
 *
 * Before a round the ranks are in groups of neighbours, numbered in rank order.
 * Each has as many active members, numbered alike: its lanes. The round merges
 * neighbouring groups; their members of one lane meet.
 *
 * p = 2^n q1 q2 ... qh: the factors of two are butterfly steps, the odd prime
 * factors up to ring_max, in ascending order, are rings, and the rest, q, is
 * one elimination, which leaves 2^k = floor of q groups' members active. Of q
 * groups, numbered as units:
 *
 *   overlapping      as long as there is more than one group: if their number
 *                    is odd the lowest three do a 3-2 step, which takes two
 *                    rounds; the others, or all, meet in pairs. The late group
 *                    is always group 0, which has nothing to do in the first
 *                    half of a 3-2 step, so that no member waits for it.
 *   non-overlapping  the same once; then as many of the other groups meet in
 *                    2-1 steps as leave a power of two, while group 0 is late.
 *
 * A group but the lowest is a row of width neighbouring units as long as no 2-1
 * step has made it, and lane i is its unit i.
 */
#ifndef RCX_ALGO_PHASE_ROUNDS_H
#define RCX_ALGO_PHASE_ROUNDS_H

#include "core/sched/algo.h"

enum rcx_protocol { RCX_PROTOCOL_OVERLAPPING, RCX_PROTOCOL_NONOVERLAPPING };

enum rcx_meeting_kind {
    RCX_MEETING_SWAP,      /* all with all: a butterfly step or a ring */
    RCX_MEETING_THREE_TWO, /* place 2 is eliminated */
    RCX_MEETING_TWO_ONE,   /* place 1 is eliminated */
    RCX_MEETING_NONE       /* others have a 2-1 step */
};

/* The members that meet, in rank order. */
struct rcx_meeting {
    enum rcx_meeting_kind kind;
    int size;
    int place; /* mine */
    int group; /* place 0 is a member of it, place 1 of the next, ... */
    int zero, one, stride; /* places 0, 1, and how far apart from there on */
};

static inline int rcx_meeting_rank(const struct rcx_meeting *m, int place)
{
    return place == 0 ? m->zero : m->one + (place - 1) * m->stride;
}

static inline bool rcx_meeting_eliminates(const struct rcx_meeting *m,
                                          int place)
{
    return (m->kind == RCX_MEETING_THREE_TWO && place == 2) ||
           (m->kind == RCX_MEETING_TWO_ONE && place == 1);
}

/* A rank's way through the rounds. */
struct rcx_rounds {
    int groups;
    int group, lane; /* mine */
    int width;       /* lanes of a group; in an elimination, in units */
    int ring_max;
    int factor; /* none below is left */
    enum rcx_protocol protocol;
    int units;      /* q, once the elimination has begun; else 0 */
    int unit_width; /* ranks of a unit */
    int unit_lane;  /* mine in my unit */
    int absorbed;   /* groups that 2-1 steps have eliminated */
};

enum { RCX_ROUNDS_MAX = 33 };

/* ring_max < 3: no rings */
void rcx_rounds_begin(struct rcx_rounds *r, int size, int rank, int ring_max,
                      enum rcx_protocol protocol);
/*
 * The next round; false: there is none. A rank that is eliminated does not meet
 * others any more, but its group continues.
 */
bool rcx_rounds_next(struct rcx_rounds *r, struct rcx_meeting *m);
/* The rank that is a group's active member of this lane, of all its lanes. */
int rcx_rounds_rank(const struct rcx_rounds *r, int group, int lane);

#endif
