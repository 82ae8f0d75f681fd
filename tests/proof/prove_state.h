/* SPDX-License-Identifier: BSD-3-Clause */
/* A proof in progress, for prove.c and prove_cost.c. */
#ifndef RCX_TESTS_PROOF_PROVE_STATE_H
#define RCX_TESTS_PROOF_PROVE_STATE_H

#include "prove.h"

#include "core/sched/params.h"
#include "memory.h"

struct proof {
    const struct proof_case *c;
    const struct proof_options *o;
    struct proof_report *report;
    struct simulated_call call;
    struct simulation s;
    struct proof_target target;
    size_t first_count;  /* elements of the first rank's result */
    uint64_t *first_run; /* hashes of the first run's results, by rank */
    uint64_t seed;       /* of the current run */
    enum simulated_sends sends;
};

static inline bool proof_is_barrier(const struct proof *p)
{
    return !rcx_coll_has_data(p->c->algo->coll);
}

/* Write what fails into the report, behind the case. Returns false. */
__attribute__((format(printf, 2, 3))) bool proof_fail(struct proof *p,
                                                      const char *format, ...);

/* Compare the stated cost with that of the simulation, and store the latter in
 * the report. False: they differ, and the report says how. */
bool proof_check_cost(struct proof *p);

#endif
