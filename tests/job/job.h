/* SPDX-License-Identifier: BSD-3-Clause */
/* The program that runs as a rank of a real job; job_main.c has its options. */
#ifndef RCX_TESTS_JOB_JOB_H
#define RCX_TESTS_JOB_JOB_H

#include "attempt.h"

struct member {
    rcx_context_t *context;
    rcx_comm_t *comm;
    int rank, size;
    bool forced;     /* the environment forces some collective's algorithm */
    bool brief;      /* run fewer calls */
    bool expect_log; /* count log lines, and do not print them */
    int lines;
    uint64_t delays; /* state of the random numbers of job_delay() */
};

/* Print an error, and end the whole job. */
_Noreturn void job_fail(const struct member *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
#define job_require(m, status, what)                                           \
    do {                                                                       \
        const rcx_status_t required_ = (status);                               \
        if (required_ != RCX_OK)                                               \
            job_fail(m, "%s: %s", what, rcx_status_string(required_));         \
    } while (0)

/* Open a context with a log function of the test. name: of the context; NULL:
 * none. */
void job_open(struct member *m, const char *name);
void job_close(struct member *m);

/* Whether status is that of a call whose forced algorithm does not suit it. */
bool job_does_not_suit(const struct call *call, rcx_status_t status);

/* Make the call, and check its result. */
void job_call(struct member *m, const struct call *call);

/* Sometimes sleep or yield, so that other ranks run first. */
void job_delay(struct member *m);

/* Parts of the test; each is collective. job_grid.c: */
void job_types_and_ops(struct member *m);
void job_counts(struct member *m);
void job_thresholds(struct member *m);
/* job_requests.c: */
void job_outstanding(struct member *m);
void job_persistent(struct member *m);
/* job_ops.c: */
void job_user_ops(struct member *m);
void job_failing_op(struct member *m);
void job_same_bits(struct member *m);
/* job_exact.c: */
void job_exact(struct member *m);
void job_exact_vectors(struct member *m);
/* job_stress.c: */
void job_stress(struct member *m);
/* job_huge.c; only: the name of the one collective to call; NULL: all: */
void job_huge(struct member *m, const char *only);
void job_sums(struct member *m, const char *only);
void job_long(struct member *m, const char *only);
/* job_nodes.c: */
void job_nodes(struct member *m);
/* job_mixed.c: */
void job_mixed(struct member *m);
/* job_life.c; m has no context yet: */
void job_cycles(struct member *m);
void job_contexts(struct member *m);
void job_skew(struct member *m);
int job_launch(void);

#endif
