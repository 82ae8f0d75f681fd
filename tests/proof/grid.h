/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves an algorithm on a grid of cases, smallest first. */
#ifndef RCX_TESTS_PROOF_GRID_H
#define RCX_TESTS_PROOF_GRID_H

#include "prove.h"

enum proof_extent {
    PROOF_SMALL, /* for builds with sanitizers */
    PROOF_QUICK,
    PROOF_FULL
};

struct proof_summary {
    uint64_t cases, messages;
    uint64_t skipped;      /* cases whose schedules are too large for memory */
    char text[PROOF_TEXT]; /* description of the first failure */
};

/*
 * Prove algo on all cases of the grid. Stops at the first failure, which is
 * thus a smallest one. It is also a failure if algo states a level, and keeps a
 * better one in all cases with that statement.
 */
bool proof_grid_run(const struct rcx_algo *algo, enum proof_extent extent,
                    struct proof_summary *summary_p);

/* Store value number k of a parameter that proofs try. False: there is none. */
bool proof_param_value(const struct rcx_param *p, int k, int64_t *value_p);

#endif
