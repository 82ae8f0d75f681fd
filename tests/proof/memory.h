/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers of the ranks of a simulated call, with guards around each. */
#ifndef RCX_TESTS_PROOF_MEMORY_H
#define RCX_TESTS_PROOF_MEMORY_H

#include "operators.h"
#include "sim/simulate.h"

struct proof_memory {
    const struct proof_operator *op;
    struct simulation *s;
    char *arena;
    size_t bytes;
};

/* Lay the buffers of s's ranks out in one arena. False: s lacks memory. */
bool proof_memory_open(struct proof_memory *m, struct simulation *s,
                       const struct proof_operator *op);
void proof_memory_close(struct proof_memory *m);

/* Write operands into IN, and garbage everywhere else. */
void proof_memory_fill(struct proof_memory *m);

/* Return the index in the whole result of a rank, whose shape is whole, of
 * element i of the first segment of row. i counts the elements of the segment
 * in an algorithm's order. */
size_t proof_out_element(const struct rcx_row *row,
                         const struct rcx_shape *whole, size_t i);

/* Return element i of the result of rank in the segment. */
const void *proof_memory_result(const struct proof_memory *m, int rank,
                                size_t i);

/* Whether only permitted elements were written; if not, text describes the
 * first other one. */
bool proof_memory_check(const struct proof_memory *m, char *text, size_t bytes);

#endif
