/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Proves one case: an algorithm on one shape, on all ranks.
 *
 * What is proved: every element of the result is each rank's operand once, in
 * the order level that the algorithm states, and combined in the same way in
 * every run, whatever came first; no deadlock, no message left over; the
 * operand is not written, in place nothing that the user keeps; nothing around
 * IN, OUT and TMP is written; rounds, volume and combines are what the
 * algorithm's cost says; all ranks agree on fits, order and cost.
 * For a barrier: nobody leaves before everybody has come.
 */
#ifndef RCX_TESTS_PROOF_PROVE_H
#define RCX_TESTS_PROOF_PROVE_H

#include "maps.h"
#include "operators.h"
#include "sim/simulate.h"

enum proof_place {
    PROOF_APART,
    PROOF_IN_PLACE, /* OUT is IN, or its start */
    PROOF_IN_BLOCK, /* OUT is the own block of IN, or the other way round */
    PROOF_MIXED,    /* ranks differ in it */
    PROOF_PLACES
};

enum proof_blocks {
    PROOF_EQUAL,  /* or nearly so; quite, where calls have no others */
    PROOF_MOD_3,  /* that of rank i has i mod 3, whatever count says */
    PROOF_ONE,    /* one has all */
    PROOF_HUGE,   /* one has count, the others 1 */
    PROOF_RANDOM, /* 0 to 24, a third none, whatever count says */
    PROOF_BLOCKS
};

/* Where callers have blocks, of collectives with places. */
enum proof_gaps {
    PROOF_SIDE_BY_SIDE,
    PROOF_GAPS,     /* with one element behind each */
    PROOF_REVERSED, /* and in reverse order, on every second rank */
    PROOF_GAPS_ALL
};

struct proof_case {
    const struct rcx_algo *algo;
    int size;
    int root;
    size_t count;
    /* Elements of a segment; 0: one piece. Each kind of segment is proved by
     * itself; costs are not checked. Only what has blocks is cut. */
    size_t segment;
    enum proof_blocks blocks;
    enum proof_place place;
    enum proof_gaps gaps;
    enum proof_map map;
    int per_node; /* ranks of one; 0: as the map has it */
    bool commutative;
    int64_t params[RCX_PARAMS]; /* auto is settled as the library does */
    /* Tags that number messages by two bits only; costs are not checked. */
    bool narrow;
    const struct simulated_frame *frame; /* of size ranks; NULL: none */
};

static inline const struct rcx_coll_row *proof_coll(const struct proof_case *c)
{
    return &rcx_colls[c->algo->coll];
}

struct proof_options {
    uint64_t seed;
    int runs; /* sends of the first are rendezvous, of the next mixed */
    const struct simulation_hooks *hooks; /* NULL: none */
    struct rcx_heap *heap;                /* NULL: one of its own */
};

/* PROOF_SHARES: what as many ranks of a node as are tried divide. */
enum { PROOF_TEXT = 1600, PROOF_SHARES = 6 };

struct proof_report {
    rcx_order_t stated;
    rcx_order_t held; /* the strongest level that the result keeps */
    struct rcx_cost cost;
    uint64_t messages;
    bool lacks_memory;     /* nothing is known of the algorithm */
    char text[PROOF_TEXT]; /* of a failure: the case, and what is wrong */
};

/* False: report_p->text says why. */
bool proof_prove(const struct proof_case *c, const struct proof_options *o,
                 struct proof_report *report_p);

/* Whether the case can be asked of the algorithm at all; true where there is no
 * memory to tell. */
bool proof_applies(const struct proof_case *c);
/* Whether its collective can be called so at all. */
bool proof_has_place(const struct proof_case *c, enum proof_place place);
bool proof_has_blocks(const struct proof_case *c, enum proof_blocks blocks);
/* Whether two cases lead to the same schedules, so that one proves both. */
bool proof_same_schedules(const struct proof_case *a,
                          const struct proof_case *b);

/*
 * The call that a case is, on all ranks: for tools that simulate without
 * proving; c stays until it is freed. Frees nothing that the call points to but
 * by proof_call_free(). Without memory for it, it has no algorithm, and its
 * blocks are equal ones.
 */
struct simulated_call proof_call_of(const struct proof_case *c,
                                    struct rcx_heap *heap);
void proof_call_free(struct simulated_call *call);

#endif
