/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mutants: correct schedules with a single mistake each, to show that the
 * proofs find mistakes.
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
    MUTATION_SWAP_MESSAGES, /* with the next one of the same direction */
    MUTATION_CLEAR_EDGE,    /* remove an inferred dependency */
    MUTATIONS
};

/* A mutation of step number at of the schedule of rank. */
struct mutant {
    enum mutation mutation;
    int rank;
    uint32_t at;
    uint32_t edge; /* index among the step's successors */
};

enum verdict {
    MUTANT_NONE, /* the mutation does not apply to the step */
    MUTANT_CAUGHT,
    MUTANT_EQUIVALENT,
    MUTANT_MISSED
};

/* Why a proof is right to accept a mutant. */
enum excuse {
    EXCUSE_COMMUTES,   /* operands swapped, and the level lets them commute */
    EXCUSE_IDEMPOTENT, /* a local step that is done twice */
    EXCUSE_ORDERED,    /* other edges imply the cleared one */
    EXCUSE_POSTED,     /* the cleared edge only limits what is posted */
    EXCUSE_BARRIER,    /* each rank still waits for all others */
    EXCUSES
};

struct verdict_of {
    enum verdict verdict;
    enum excuse excuse;    /* of an equivalent mutant */
    char text[PROOF_TEXT]; /* how it was caught, or what was missed */
};

const char *mutation_name(enum mutation mutation);
const char *excuse_name(enum excuse excuse);
struct verdict_of mutant_try(const struct proof_case *c,
                             const struct mutant *mutant);

#endif
