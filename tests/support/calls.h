/* SPDX-License-Identifier: BSD-3-Clause */
/* The same call on every rank of a job in one process: an attempt for each
 * rank. */
#ifndef RCX_TESTS_SUPPORT_CALLS_H
#define RCX_TESTS_SUPPORT_CALLS_H

#include "attempt.h"
#include "context.h"

enum { MOST_RANKS = 65 };

struct calls {
    struct job *job;
    struct call call;
    struct attempt attempts[MOST_RANKS];
    rcx_request_t *requests[MOST_RANKS]; /* those of the attempts */
};

void calls_open(struct calls *c, struct job *job, const struct call *call);
void calls_close(struct calls *c); /* frees the requests as well */

/* Create every rank's request; nonblocking requests start. Fails the test on an
 * error. */
void calls_make(struct calls *c, bool persistent);
/* Create the request of one rank, in requests[rank]. */
rcx_status_t calls_make_one(struct calls *c, int rank, bool persistent);
/* Make the blocking call of one rank. */
rcx_status_t calls_block(struct calls *c, int rank);

void calls_fill(struct calls *c); /* with another seed than before */
void calls_start(struct calls *c);
void calls_wait(struct calls *c, rcx_status_t expected);
/* Check result and memory of all ranks. */
void calls_check(struct calls *c);

/* Make, wait for and check a call. A persistent request is started twice. */
void calls_run(struct job *job, const struct call *call, bool persistent);

/* Open a job over the simulated network, with name=value in the environment
 * during the opening. name may be NULL. */
void open_with(struct job *job, int size, const char *name, const char *value,
               const struct job_options *options);

#endif
