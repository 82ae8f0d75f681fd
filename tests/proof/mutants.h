/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wrong schedules, each a correct one with a single mistake, to see that the
 * proofs find it.
 */
#ifndef RCX_TESTS_PROOF_MUTANTS_H
#define RCX_TESTS_PROOF_MUTANTS_H

#include "prove.h"

enum mutation {
    MUTATION_SWAP_OPERANDS,
    MUTATION_WRONG_PEER,
    MUTATION_DROP_STEP,
    MUTATION_REPEAT_STEP,
    MUTATION_SHIFT_DST,
    MUTATION_SHIFT_LEFT,
    MUTATION_SHIFT_RIGHT,
    MUTATION_SWAP_MESSAGES, /* with the next one of its direction */
    MUTATION_CLEAR_EDGE,    /* a dependency that core inferred */
    MUTATIONS
};

/* A mutation of step at of rank's schedule. */
struct mutant {
    enum mutation mutation;
    int rank;
    uint32_t at;
    uint32_t edge; /* of the step's successors */
};

enum verdict {
    MUTANT_NONE, /* the step cannot have this mutation */
    MUTANT_CAUGHT,
    MUTANT_EQUIVALENT,
    MUTANT_MISSED
};

/* Why a mutant that the proofs accept is right to be accepted. */
enum excuse {
    EXCUSE_COMMUTES,   /* operands swapped where the level lets them commute */
    EXCUSE_IDEMPOTENT, /* a local step done twice */
    EXCUSE_ORDERED,    /* the cleared edge's order follows from other edges */
    EXCUSE_POSTED,     /* the cleared edge bounds what is posted, no more */
    EXCUSE_BARRIER,    /* every rank still waits, step by step, for all */
    EXCUSES
};

struct verdict_of {
    enum verdict verdict;
    enum excuse excuse;    /* of an equivalent one */
    char text[PROOF_TEXT]; /* how it was caught, or what was missed */
};

const char *mutation_name(enum mutation mutation);
const char *excuse_name(enum excuse excuse);
struct verdict_of mutant_try(const struct proof_case *c,
                             const struct mutant *mutant);

#endif
