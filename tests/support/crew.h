/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs over the simulated network whose ranks have several threads each. These
 * fail by require(), which ends the process.
 */
#ifndef RCX_TESTS_SUPPORT_CREW_H
#define RCX_TESTS_SUPPORT_CREW_H

#include <stdatomic.h>

#include "context.h"

typedef void crew_fn_t(struct job *job, int rank, void *arg);

/* fn for every rank of a job of that many ranks, each on a thread of its own;
 * with the progress thread, or without. */
void crew_job(int size, rcx_thread_mode_t threads, bool progress_thread,
              crew_fn_t *fn, void *arg);

/* The same with params of the caller's. */
void crew_job_with(int size, const rcx_params_t *params, crew_fn_t *fn,
                   void *arg);

enum { CREW_MOST = 8 };

struct crew_member {
    pthread_t thread;
    void (*fn)(int number, void *arg);
    int number; /* from 0 */
    void *arg;
};

struct crew {
    struct crew_member members[CREW_MOST];
    int size;
};

/* One thread more. */
void crew_add(struct crew *crew, void (*fn)(int number, void *arg), void *arg);
/* Returns when all are done. */
void crew_join(struct crew *crew);
/* n threads, at once. */
void crew_run(int n, void (*fn)(int number, void *arg), void *arg);

/* Stay here, outside of RCX, until *number is at least that much. */
void crew_await(atomic_int *number, int least);

/* Four collectives on comm, nonblocking, then a blocking one; the k-th time. */
void crew_use(rcx_comm_t *comm, int k);

#endif
