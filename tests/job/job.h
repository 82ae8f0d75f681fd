/* SPDX-License-Identifier: BSD-3-Clause */
/* The program that runs as a rank of a real job; see job_main.c. */
#ifndef RCX_TESTS_JOB_JOB_H
#define RCX_TESTS_JOB_JOB_H

#include "attempt.h"

struct member {
    rcx_context_t *context;
    rcx_comm_t *comm;
    int rank, size;
    bool forced;     /* the environment forces some collective's algorithm */
    bool brief;      /* fewer of everything */
    bool expect_log; /* keep log lines from stderr, and count them */
    int lines;
    uint64_t delays; /* state of random numbers */
};

/* Say what went wrong, and end the whole job. */
_Noreturn void job_fail(const struct member *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
#define job_require(m, status, what)                                           \
    do {                                                                       \
        const rcx_status_t required_ = (status);                               \
        if (required_ != RCX_OK)                                               \
            job_fail(m, "%s: %s", what, rcx_status_string(required_));         \
    } while (0)

/* Open with a log function of the job's own, and name where it is not NULL. */
void job_open(struct member *m, const char *name);
void job_close(struct member *m);

/* The status of a call whose algorithm is forced, and does not suit it. */
bool job_does_not_suit(const struct call *call, rcx_status_t status);

/* Run it, and check that it is right. */
void job_call(struct member *m, const struct call *call);

/* Sometimes let others run first. */
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
/* job_stress.c: */
void job_stress(struct member *m);
/* job_huge.c; only: one collective's name, or NULL: */
void job_huge(struct member *m, const char *only);
void job_sums(struct member *m, const char *only);
void job_long(struct member *m, const char *only);
/* job_mixed.c: */
void job_mixed(struct member *m);
/* job_life.c; without a context before: */
void job_cycles(struct member *m);
void job_contexts(struct member *m);
void job_skew(struct member *m);
int job_launch(void);

#endif
