/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The high-level algorithm of Rabenseifner and Traeff (2004, Fig. 1), into
 * which butterfly, ring and elimination steps are plugged: a reduction phase,
 * whose rounds halve the vector as long as it is longer than b, and a routing
 * phase, which goes back through those rounds.
 *
 * m: elements of the part of the vector that a rank deals with; a step splits
 * it if it has more than b bytes.
 *
 *   butterfly    m/2 each way and back; or m each way
 *   ring of r    parts of m/r pairwise, back by a Bruck allgather; or all
 *                vectors by a Bruck allgather, combined locally
 *   3-2 step     of p0, p1, p2: p1 and p2 exchange halves, then p2 hands its
 *                half on to p0, and p0 the other one to p1: m/2 twice, and
 *                back; or m twice, and p2 gets the result from p1
 *   2-1 step     m, and back
 *
 * Operands are combined in rank order, by the fixed tree within a ring.
 */
#ifndef RCX_ALGO_PHASE_FACTORIZED_H
#define RCX_ALGO_PHASE_FACTORIZED_H

#include <limits.h>

#include "algo/phase/rounds.h"

#define RCX_FACTORIZED_ALWAYS (-2)

struct rcx_factorized {
    struct rcx_group group;
    int64_t b; /* bytes; RCX_FACTORIZED_ALWAYS: all steps split the vector */
    int ring_max;
    enum rcx_protocol protocol;
};

/* What the routing phase pops. */
struct rcx_factorized_round {
    struct rcx_meeting meeting;
    struct rcx_span part; /* of the result, that the meeting deals with */
    bool splits;
    int only; /* the only place that combines all of part; or all do */
    int root; /* root's place, if it is in one of the groups that meet */
};
struct rcx_factorized_stack {
    struct rcx_factorized_round rounds[RCX_ROUNDS_MAX];
    int depth;
};

/* instead of a root; and, of a cost, no routing phase */
enum { RCX_FACTORIZED_ALL = -1, RCX_FACTORIZED_PARTS = -2 };
/*
 * Reduction phase. result, as long as operand, has room for partial results; in
 * the end, a member that is not eliminated has its part of the whole there.
 * With a root, only the members that the root receives its parts from: whole
 * vectors do not travel both ways then. Scratch: a vector without b, two with;
 * r in a ring of r without end.
 */
void rcx_factorized_reduce(struct rcx_builder *b,
                           const struct rcx_factorized *f, int root,
                           struct rcx_span operand, struct rcx_span result,
                           struct rcx_factorized_stack *stack);
/* Routing phase: every member gets all of result. */
void rcx_factorized_allgather(struct rcx_builder *b,
                              const struct rcx_factorized *f,
                              const struct rcx_factorized_stack *stack);

/* Routing phase that is a gather: root gets all of result. */
void rcx_factorized_gather(struct rcx_builder *b,
                           const struct rcx_factorized *f,
                           const struct rcx_factorized_stack *stack);
/* Reduction phase and allgather, from IN to OUT. */
void rcx_factorized_allreduce(struct rcx_builder *b,
                              const struct rcx_factorized *f);

/* Into how many parts a step splits what is a parts-th of the vector; 1: it
 * deals with all of that. */
int rcx_factorized_ways(const struct rcx_factorized *f,
                        const struct rcx_shape *s, const struct rcx_meeting *m,
                        int parts);
/* Of both phases; with PARTS, of the reduction phase. */
struct rcx_cost rcx_factorized_cost(const struct rcx_factorized *f,
                                    const struct rcx_shape *s, int root);
rcx_order_t rcx_factorized_order(const struct rcx_factorized *f);
/* Whether the vectors of a ring can be addressed. */
bool rcx_factorized_fits(const struct rcx_shape *s);
#define RCX_FACTORIZED_NEEDS "2 p n elements of scratch can be addressed"

/* The parameters. */
extern const int64_t rcx_factorized_b_proved[];
int64_t rcx_factorized_b_candidate(const struct rcx_shape *s, int i);
/* clang-format off */
#define RCX_FACTORIZED_B \
    {.name = "b", \
     .doc = "exchange vectors of up to as many bytes whole, longer ones in " \
            "parts", \
     .most = INT64_MAX, .usual = RCX_PARAM_AUTO, \
     .proved = rcx_factorized_b_proved, \
     .candidate = rcx_factorized_b_candidate}
/* clang-format on */
extern const int64_t rcx_factorized_ring_max_proved[];
int64_t rcx_factorized_ring_max_candidate(const struct rcx_shape *s, int i);
/* clang-format off */
#define RCX_FACTORIZED_RING_MAX \
    {.name = "ring_max", \
     .doc = "odd prime factors of p up to it are rings", \
     .most = INT_MAX, .usual = RCX_PARAM_AUTO, \
     .proved = rcx_factorized_ring_max_proved, \
     .candidate = rcx_factorized_ring_max_candidate}
/* clang-format on */

#endif
