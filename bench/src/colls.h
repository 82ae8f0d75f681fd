/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ranks give and get in each collective, and the operands that each
 * element of a result is made of. All of it is stated here, from rcx.h, and
 * nothing is taken from the library under test.
 */
#ifndef RCX_BENCH_COLLS_H
#define RCX_BENCH_COLLS_H

#include <stddef.h>

#include "loop.h"

/* Lengths: of the vector, of the rank's own block, or of all blocks. */
enum loop_extent { LOOP_NONE, LOOP_VECTOR, LOOP_BLOCK, LOOP_BLOCKS };

enum loop_getters { LOOP_ALL, LOOP_ROOT, LOOP_NOT_ROOT }; /* rank 0 is root */

struct loop_shape {
    int rank, size;
    const size_t *displs; /* of each block, and their sum */
};

/* The sum of the operands of ranks lo to hi - 1 at an index. */
struct loop_expected {
    int lo, hi;
    size_t index;
};

extern const struct loop_coll_row {
    const char *name;
    enum loop_extent gives, gets;
    enum loop_getters getters;
    int has_counts; /* takes a count for each block */
    int is_local;   /* ranks have different counts; the index is within the
                       block that the sender has for this rank */
    struct loop_expected (*expect)(const struct loop_shape *s, size_t i);
} loop_colls[LOOP_COLLS];

int loop_coll_has_blocks(enum loop_coll coll);

/* Whether the rank gets a result. */
int loop_coll_gets(enum loop_coll coll, int rank);

#endif
