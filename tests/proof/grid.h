/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases that prove an algorithm, smallest first. */
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
    uint64_t skipped;      /* schedules too large for memory */
    char text[PROOF_TEXT]; /* of the first failure */
};

/*
 * Prove algo on all cases of the grid; stops at the first failure, which is
 * thus a smallest one. It is a failure, too, if a level is stated where a
 * better one is kept in every single case.
 */
bool proof_grid_run(const struct rcx_algo *algo, enum proof_extent extent,
                    struct proof_summary *summary_p);

/* Value number k of a parameter that is worth a proof. False: there is none. */
bool proof_param_value(const struct rcx_param *p, int k, int64_t *value_p);

#endif
