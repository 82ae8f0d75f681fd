/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The high-level algorithm of Rabenseifner and Traeff (2004, Fig. 1), with
 * butterfly, ring and elimination steps as its rounds. In the reduction phase,
 * rounds split the vector as long as it is longer than b. The routing phase
 * goes back through these rounds.
 *
 * Let m be the elements of the part of the vector that a rank works on. A step
 * splits this part if it has more than b bytes. The steps send, with a split or
 * without one:
 *
 *   butterfly    m/2 each way and back; or m each way
 *   ring of r    parts of m/r pairwise, back by a Bruck allgather; or all
 *                vectors by a Bruck allgather, combined locally
 *   step of up   the same, but parts go back and whole vectors are exchanged by
 *   to radix     a message to each other member, all of them at once
 *   3-2 step     of p0, p1, p2: p1 and p2 exchange halves, then p2 sends its
 *                half to p0, and p0 the other one to p1: m/2 twice, and back;
 *                or m twice, and p2 gets the result from p1
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
    struct rcx_factoring how;
};

/* A round of the reduction phase, as the routing phase needs it. */
struct rcx_factorized_round {
    struct rcx_meeting meeting;
    struct rcx_span part; /* part of the result that the meeting works on */
    bool splits;
    int only; /* the only place that combines all of part; ALL: all do */
    int root; /* the root's place, if its group is one of those that meet */
};
struct rcx_factorized_stack {
    struct rcx_factorized_round rounds[RCX_ROUNDS_MAX];
    int depth;
};

/* Values of root. ALL: no root. PARTS: of a cost, the reduction phase alone. */
enum { RCX_FACTORIZED_ALL = -1, RCX_FACTORIZED_PARTS = -2 };
/*
 * Reduction phase. result, as long as operand, has room for partial results. In
 * the end each member that is not eliminated has its part of the whole there.
 * With a root, only those members have it from which the root receives parts,
 * so that whole vectors do not travel both ways. Scratch: a vector for b = 0,
 * else two; for unlimited b r vectors in a ring or step of r.
 */
void rcx_factorized_reduce(struct rcx_builder *b,
                           const struct rcx_factorized *f, int root,
                           struct rcx_span operand, struct rcx_span result,
                           struct rcx_factorized_stack *stack);
/* Routing phase: every member gets all of result. */
void rcx_factorized_allgather(struct rcx_builder *b,
                              const struct rcx_factorized *f,
                              const struct rcx_factorized_stack *stack);

/* Routing phase as a gather: the root gets all of result. */
void rcx_factorized_gather(struct rcx_builder *b,
                           const struct rcx_factorized *f,
                           const struct rcx_factorized_stack *stack);
/* Reduction phase and allgather, from IN to OUT. */
void rcx_factorized_allreduce(struct rcx_builder *b,
                              const struct rcx_factorized *f);

/* Return into how many parts a step splits a part that is 1/parts of the
 * vector; 1: no split. */
int rcx_factorized_ways(const struct rcx_factorized *f,
                        const struct rcx_shape *s, const struct rcx_meeting *m,
                        int parts);
/* Return the cost of both phases; with PARTS, of the reduction phase alone. */
struct rcx_cost rcx_factorized_cost(const struct rcx_factorized *f,
                                    const struct rcx_shape *s, int root);
rcx_order_t rcx_factorized_order(const struct rcx_factorized *f);
/* Whether the vectors of a ring can be addressed. */
bool rcx_factorized_fits(const struct rcx_shape *s);
#define RCX_FACTORIZED_NEEDS "2 p n elements of scratch can be addressed"

/* The parameters b and ring_max. */
extern const int64_t rcx_factorized_b_proved[];
int64_t rcx_factorized_b_candidate(const struct rcx_shape *s, int i);
/* clang-format off */
#define RCX_FACTORIZED_B \
    {.name = "b", \
     .doc = "longest vector, in bytes, that is exchanged as a whole; longer " \
            "ones are exchanged in parts", \
     .most = INT64_MAX, .usual = RCX_PARAM_AUTO, \
     .proved = rcx_factorized_b_proved, \
     .candidate = rcx_factorized_b_candidate}
/* clang-format on */
extern const int64_t rcx_factorized_ring_max_proved[];
int64_t rcx_factorized_ring_max_candidate(const struct rcx_shape *s, int i);
/* clang-format off */
#define RCX_FACTORIZED_RING_MAX \
    {.name = "ring_max", \
     .doc = "odd prime factors of p up to this one are rings", \
     .most = INT_MAX, .usual = RCX_PARAM_AUTO, \
     .proved = rcx_factorized_ring_max_proved, \
     .candidate = rcx_factorized_ring_max_candidate}
/* clang-format on */
extern const int64_t rcx_factorized_radix_proved[];
int64_t rcx_factorized_radix_candidate(const struct rcx_shape *s, int i);
/* clang-format off */
#define RCX_FACTORIZED_RADIX \
    {.name = "radix", \
     .doc = "a step joins factors of p up to this product, in which each " \
            "rank sends to all others at once; 2: steps are prime", \
     .least = 2, .most = INT_MAX, .usual = RCX_PARAM_AUTO, \
     .proved = rcx_factorized_radix_proved, \
     .candidate = rcx_factorized_radix_candidate}
/* clang-format on */
/* Return the steps that values of ring_max and radix make. For auto, which one
 * has as long as the other is chosen, steps of primes up to 5. */
struct rcx_factoring rcx_factorized_how(int64_t ring_max, int64_t radix);

#endif
