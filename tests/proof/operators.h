/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operators for proofs of algorithms. Their elements record how they were
 * combined, so that a result shows its operands and their order.
 *
 * Three operators work side by side on one element of constant size, the atom,
 * so that thousands of ranks are cheap:
 *
 *   interval  the combined ranks, while they are contiguous in rank order, and
 *             a hash of the bracketing; equal to the fixed tree's hash:
 *             CANONICAL
 *   bracket   a hash that is independent of which operand was left; equal on
 *             all ranks: SAME
 *   multiset  the number of operands and the sum of their random words: each
 *             operand of this very element once, in any order
 *
 * The fourth, the word, spells the bracketing out, for error messages.
 */
#ifndef RCX_TESTS_PROOF_OPERATORS_H
#define RCX_TESTS_PROOF_OPERATORS_H

#include <stdbool.h>

#include "core/exec/exec.h"

struct proof_operator {
    size_t elem_bytes;
    rcx_op_fn_t combine;
    /* Store the operand of rank at index of the vector. */
    void (*leaf)(void *elem, int rank, size_t index);
};

/* ---- Atoms --------------------------------------------------------------- */

enum { PROOF_DISORDER = -1 };

struct proof_atom {
    int32_t lo; /* first rank of [lo, lo + operands); or PROOF_DISORDER */
    uint32_t operands;
    uint64_t sum;     /* sum of the multiset's random words */
    uint64_t ordered; /* hash of the interval, h(l, r) != h(r, l) */
    uint64_t bracket; /* hash of the bracket, h(l, r) == h(r, l) */
};

extern const struct proof_operator proof_atoms;

/* The expected result of the operands of ranks lo to hi - 1. */
struct proof_target {
    int lo, hi;
    uint64_t weight;  /* sum of all their weights */
    uint64_t ordered; /* hash of the fixed tree */
};
struct proof_target proof_target_of(int lo, int hi);
/* Whether atom consists of the operand of each rank at index, once. */
bool proof_is_complete(const struct proof_target *target,
                       const struct proof_atom *atom, size_t index);

/* ---- Words --------------------------------------------------------------- */

enum {
    PROOF_WORD_SIZE_MAX = 62, /* ranks with distinct letters */
    PROOF_WORD_BYTES = 248    /* 4 p - 3 letters and brackets, and the NUL */
};

struct proof_word {
    int64_t index; /* of the vector; -1: of several elements */
    char text[PROOF_WORD_BYTES];
};

extern const struct proof_operator proof_words;

/* Return the word of the fixed tree over ranks lo to hi - 1. */
struct proof_word proof_word_of(int lo, int hi, size_t index);
/* Print any bytes as text of PROOF_WORD_BYTES bytes; unprintable ones become
 * '?'. */
void proof_word_print(const struct proof_word *word, char *text);

#endif
