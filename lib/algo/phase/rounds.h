/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The step of a rank in each round of a factorized reduction, and its partners
 * (Rabenseifner, Traeff 2004, 3.2 to 3.6), in O(1) per round.
 *
 * Before a round the ranks are in groups of neighbours, numbered in rank order.
 * Each group has equally many active members, numbered alike: its lanes. A
 * round merges neighbouring groups. In it, their members of one lane meet: they
 * exchange data.
 *
 * Let p = 2^n q1 q2 ... qh. Factors of two are butterfly steps. Odd prime
 * factors up to ring_max or radix, in ascending order, are rings. With a radix
 * above 2, adjacent factors are joined to one step as long as their product is
 * at most radix: 24 = 2 2 2 3 becomes 4 6 for radix 6. The rest, q, is one
 * elimination, which leaves members of 2^floor(lg q) of the q groups active.
 * These q groups are numbered as units. There are two protocols:
 *
 *   overlapping      as long as there is more than one group: if their number
 *                    is odd, the lowest three do a 3-2 step, which takes two
 *                    rounds; the others, or all, meet in pairs. The late group
 *                    is always group 0, which has nothing to do in the first
 *                    half of a 3-2 step, so that no member waits for it.
 *   non-overlapping  the same once; then as many of the other groups meet in
 *                    2-1 steps as leave a power of two, while group 0 is late.
 *
 * A group other than group 0 is a row of width neighbouring units, and its lane
 * i is its unit i, unless a 2-1 step has made it.
 */
#ifndef RCX_ALGO_PHASE_ROUNDS_H
#define RCX_ALGO_PHASE_ROUNDS_H

#include "core/sched/algo.h"

enum rcx_protocol { RCX_PROTOCOL_OVERLAPPING, RCX_PROTOCOL_NONOVERLAPPING };

enum rcx_meeting_kind {
    RCX_MEETING_SWAP,      /* all with all: a butterfly step or a ring */
    RCX_MEETING_THREE_TWO, /* place 2 is eliminated */
    RCX_MEETING_TWO_ONE,   /* place 1 is eliminated */
    RCX_MEETING_NONE       /* idle, while others have a 2-1 step */
};

/* Which steps a reduction takes. */
struct rcx_factoring {
    int ring_max; /* < 3: no rings above radix */
    int radix;    /* < 3: each prime factor is a step of its own */
    enum rcx_protocol protocol;
};

/* The members that meet in a round, numbered by places in rank order. */
struct rcx_meeting {
    enum rcx_meeting_kind kind;
    int size;
    int place; /* of this rank */
    int group; /* of place 0; place 1 is a member of the next, ... */
    int zero, one, stride; /* ranks of places 0, 1; then the distance */
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

/* The state of a rank between rounds. */
struct rcx_rounds {
    int groups;
    int group, lane; /* of this rank */
    int width;       /* lanes of a group; in an elimination, in units */
    struct rcx_factoring how;
    int factor;     /* no odd factor below is left */
    int units;      /* q, once the elimination has begun; else 0 */
    int unit_width; /* ranks of a unit */
    int unit_lane;  /* this rank's lane in its unit */
    int absorbed;   /* groups that 2-1 steps have eliminated */
};

enum { RCX_ROUNDS_MAX = 33 };

/* Begin before the first round. */
void rcx_rounds_begin(struct rcx_rounds *r, int size, int rank,
                      const struct rcx_factoring *how);
/*
 * Go to the next round, and store its meeting in *m; false: there is none. An
 * eliminated rank does not meet others any more, but its group continues.
 */
bool rcx_rounds_next(struct rcx_rounds *r, struct rcx_meeting *m);
/* Return the rank that is a group's active member number lane, counting all its
 * lanes. */
int rcx_rounds_rank(const struct rcx_rounds *r, int group, int lane);

#endif
