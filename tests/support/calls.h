/* SPDX-License-Identifier: BSD-3-Clause */
/* One call of a whole job in this process: an attempt for each rank. */
#ifndef RCX_TESTS_SUPPORT_CALLS_H
#define RCX_TESTS_SUPPORT_CALLS_H

#include "attempt.h"
#include "context.h"

enum { MOST_RANKS = 17 };

struct calls {
    struct job *job;
    struct call call;
    struct attempt attempts[MOST_RANKS];
    rcx_request_t *requests[MOST_RANKS]; /* the attempts' */
};

void calls_open(struct calls *c, struct job *job, const struct call *call);
void calls_close(struct calls *c); /* frees requests, too */

/* Make every rank's request; nonblocking ones start. Aborts on errors. */
void calls_make(struct calls *c, bool persistent);
/* One rank's, into requests[rank]. */
rcx_status_t calls_make_one(struct calls *c, int rank, bool persistent);
/* One rank's blocking call. */
rcx_status_t calls_block(struct calls *c, int rank);

void calls_fill(struct calls *c); /* other operands than before */
void calls_start(struct calls *c);
void calls_wait(struct calls *c, rcx_status_t expected);
/* All memory of all ranks is as it has to be. */
void calls_check(struct calls *c);

/* Make, wait, check; persistent ones twice. */
void calls_run(struct job *job, const struct call *call, bool persistent);

/* Open over the simulated network; name=value in the environment meanwhile. */
void open_with(struct job *job, int size, const char *name, const char *value,
               const struct job_options *options);

#endif
