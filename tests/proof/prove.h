/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Proves one case: an algorithm on one shape, on all ranks.
 *
 * A proof shows the following. Every element of the result combines the operand
 * of each rank once, in the order level that the algorithm states, and in the
 * same way in every run, whatever the order of arrival. There is no deadlock,
 * and no message is left over. The operand is not written; in place, nothing
 * that the user keeps is written. Nothing around IN, OUT and TMP is written.
 * Rounds, volume and combines are those of the algorithm's cost. All ranks
 * agree on fits, order and cost. In a barrier, no rank leaves before all have
 * entered.
 */
#ifndef RCX_TESTS_PROOF_PROVE_H
#define RCX_TESTS_PROOF_PROVE_H

#include "maps.h"
#include "operators.h"
#include "sim/simulate.h"

enum proof_place {
    PROOF_APART,
    PROOF_IN_PLACE, /* OUT is IN, or its start */
    PROOF_IN_BLOCK, /* OUT is the own block of IN, or the reverse */
    PROOF_MIXED,    /* differs between ranks */
    PROOF_PLACES
};

enum proof_blocks {
    PROOF_EQUAL,  /* equal, or nearly; exactly equal if the call requires it */
    PROOF_MOD_3,  /* rank i has i mod 3 elements, count is ignored */
    PROOF_ONE,    /* one rank has all elements */
    PROOF_HUGE,   /* one rank has count elements, the others 1 */
    PROOF_RANDOM, /* 0 to 24, a third are 0; count is ignored */
    PROOF_BLOCKS
};

/* Positions of blocks in the caller's buffers, of collectives with places. */
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
    /* Elements of a segment; 0: one piece. Each kind of segment is proved
     * separately, without its cost. Only collectives with blocks are cut. */
    size_t segment;
    enum proof_blocks blocks;
    enum proof_place place;
    enum proof_gaps gaps;
    enum proof_map map;
    int per_node; /* ranks per node; 0: the map's default */
    bool commutative;
    int64_t params[RCX_PARAMS]; /* auto is resolved as in the library */
    /* Tags have only two bits to number messages; costs are not checked. */
    bool narrow;
    const struct simulated_frame *frame; /* of size ranks; NULL: none */
};

static inline const struct rcx_coll_row *proof_coll(const struct proof_case *c)
{
    return &rcx_colls[c->algo->coll];
}

struct proof_options {
    uint64_t seed;
    int runs; /* sends of the first run are rendezvous, of the others mixed */
    const struct simulation_hooks *hooks; /* NULL: none */
    struct rcx_heap *heap;                /* NULL: one of its own */
};

/* PROOF_SHARES: a factor of counts which the shares of up to three ranks of a
 * node divide. */
enum { PROOF_TEXT = 1600, PROOF_SHARES = 6 };

struct proof_report {
    rcx_order_t stated;
    rcx_order_t held; /* the strongest level that the result keeps */
    struct rcx_cost cost;
    uint64_t messages;
    bool lacks_memory;     /* no memory; says nothing about the algorithm */
    char text[PROOF_TEXT]; /* of a failure: the case, and the error */
};

/* Prove a case. False: report_p->text says why. */
bool proof_prove(const struct proof_case *c, const struct proof_options *o,
                 struct proof_report *report_p);

/* Whether the algorithm supports the case; true if there is no memory to find
 * out. */
bool proof_applies(const struct proof_case *c);
/* Whether calls of its collective can have such a place, or such blocks. */
bool proof_has_place(const struct proof_case *c, enum proof_place place);
bool proof_has_blocks(const struct proof_case *c, enum proof_blocks blocks);
/* Whether two cases have the same schedules, so that proving one proves
 * both. */
bool proof_same_schedules(const struct proof_case *a,
                          const struct proof_case *b);

/*
 * Return the call of a case, on all ranks, also for tools that simulate without
 * proving. c must stay until the call is freed. Only proof_call_free() frees
 * what the call points to. Without memory the call has no algorithm, and equal
 * blocks.
 */
struct simulated_call proof_call_of(const struct proof_case *c,
                                    struct rcx_heap *heap);
void proof_call_free(struct simulated_call *call);

#endif
