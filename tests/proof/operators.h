/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operators that prove algorithms. Their elements record how they came to
 * be, so that a single result tells what was combined and in which order.
 *
 * Three operators work side by side on one element, the atom, of constant
 * size, so that thousands of ranks are cheap:
 *
 *   interval  the ranks combined, as long as they stay neighbours in rank
 *             order, and a hash of the bracketing; equal to the fixed tree's
 *             hash: CANONICAL
 *   bracket   a hash that does not see which operand was left: equal on all
 *             ranks: SAME
 *   multiset  the number of operands and the sum of their random words: each
 *             operand of this very element once, in any order
 *
 * The fourth, the word, spells the bracketing out, for people.
 */
#ifndef RCX_TESTS_PROOF_OPERATORS_H
#define RCX_TESTS_PROOF_OPERATORS_H

#include <stdbool.h>

#include "core/exec/exec.h"

struct proof_operator {
    size_t elem_bytes;
    rcx_op_fn_t combine;
    /* The operand that rank has at index of the vector. */
    void (*leaf)(void *elem, int rank, size_t index);
};

/* ---- Atoms --------------------------------------------------------------- */

enum { PROOF_DISORDER = -1 };

struct proof_atom {
    int32_t lo; /* ranks [lo, lo + operands); or PROOF_DISORDER */
    uint32_t operands;
    uint64_t sum;     /* multiset */
    uint64_t ordered; /* interval's hash, h(l, r) != h(r, l) */
    uint64_t bracket; /* h(l, r) == h(r, l) */
};

extern const struct proof_operator proof_atoms;

/* What a result of the operands of ranks lo to hi - 1 should be. */
struct proof_target {
    int lo, hi;
    uint64_t weight;  /* of all of them */
    uint64_t ordered; /* the fixed tree's */
};
struct proof_target proof_target_of(int lo, int hi);
/* Whether atom is each one's operand at index, once. */
bool proof_is_complete(const struct proof_target *target,
                       const struct proof_atom *atom, size_t index);

/* ---- Words --------------------------------------------------------------- */

enum {
    PROOF_WORD_SIZE_MAX = 62, /* ranks with a letter of their own */
    PROOF_WORD_BYTES = 248    /* 4 p - 3 letters and brackets, and the end */
};

struct proof_word {
    int64_t index; /* of the vector; -1: of several */
    char text[PROOF_WORD_BYTES];
};

extern const struct proof_operator proof_words;

/* The word of the fixed tree over ranks lo to hi - 1. */
struct proof_word proof_word_of(int lo, int hi, size_t index);
/* Text of any bytes, garbage included, into PROOF_WORD_BYTES bytes. */
void proof_word_print(const struct proof_word *word, char *text);

#endif
