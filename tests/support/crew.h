/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs over the simulated network whose ranks have several threads each. Errors
 * on these threads end the process by require().
 */
#ifndef RCX_TESTS_SUPPORT_CREW_H
#define RCX_TESTS_SUPPORT_CREW_H

#include <stdatomic.h>

#include "context.h"

typedef void crew_fn_t(struct job *job, int rank, void *arg);

/* Run fn for every rank of a job of size ranks, each on its own thread, with or
 * without the progress thread. */
void crew_job(int size, rcx_thread_mode_t threads, bool progress_thread,
              crew_fn_t *fn, void *arg);

/* The same with the caller's params. */
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

/* Start one more thread. */
void crew_add(struct crew *crew, void (*fn)(int number, void *arg), void *arg);
/* Join all threads. */
void crew_join(struct crew *crew);
/* Run fn on n threads concurrently, and join them. */
void crew_run(int n, void (*fn)(int number, void *arg), void *arg);

/* Yield, outside of RCX, until *number is at least least. */
void crew_await(atomic_int *number, int least);

/* Run four nonblocking collectives and a blocking one on comm. k selects
 * them. */
void crew_use(rcx_comm_t *comm, int k);

#endif
