/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Common parts of small programs that run as a rank of a job and test one
 * feature with real processes. Success is exit status 0 and no output.
 */
#ifndef RCX_TESTS_JOB_RANK_H
#define RCX_TESTS_JOB_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include "rcx/rcx.h"

#define SECOND_NS INT64_C(1000000000)
#define MS_NS INT64_C(1000000)

struct rank {
    rcx_context_t *context;
    rcx_comm_t *world;
    int rank, size;
    int errors;           /* number of errors that RCX has logged */
    char error[512];      /* the first of them */
    char last_error[512]; /* the last of several */
    char warning[256];    /* the last warning */
    /* gets all log lines, if not NULL; set before rank_open() or later */
    void (*on_line)(const char *text);
};
extern struct rank me;

/* Call rcx_init() with a log function that keeps errors and warnings in me, and
 * set me on success. */
rcx_status_t rank_open(const rcx_params_t *params);

/* Print an error and exit with 1. */
_Noreturn void rank_fail(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void rank_expect(rcx_status_t status, rcx_status_t expected, const char *what);
void rank_require(rcx_status_t status, const char *what);

int64_t rank_now_ns(void);

/* Signals between ranks, without RCX: rank_signal() sends one. They are blocked
 * from rank_open() or rank_watch_machine() on. */
void rank_signal(int64_t pid);
void rank_await_signals(int times);

/* A rank of comm that leaves a collective operation and dies may take messages
 * with it that the others still wait for. All ranks call rank_leave_last()
 * after the operation: process PID returns when all others have left. */
void rank_leave_last(rcx_comm_t *comm, int64_t pid);
/* A barrier that rank LAST leaves after all others. */
void rank_barrier_left_last(rcx_comm_t *comm, int last);

/* On a busy machine a process may get no core for a second.
 * rank_watch_machine() starts to measure such time; rank_lost_ns() returns
 * it. */
void rank_watch_machine(void);
int64_t rank_lost_ns(void);
int64_t rank_time_here(void); /* rank_now_ns() without it */

/* The limit of what takes at most ns on a free core: as many times longer as
 * processes of this machine took when the test began (tap.sh). */
int64_t rank_limit_ns(int64_t ns);

/* What this process has: entries of a folder of /proc/self, and pages of
 * memory. */
int rank_entries(const char *folder);
struct rank_pages {
    long size, resident, shared;
};
struct rank_pages rank_pages(void);

/* The next number of a sequence whose state is not 0 (xorshift). */
uint64_t rank_random(uint64_t *state);

/* A process that is stopped cannot continue itself, so a child does: it stops
 * this process, so many microseconds after it has read an int from the returned
 * descriptor, and continues it after stop_ms. Forked before rank_open(), the
 * child holds none of RCX's descriptors. It ends with this process. */
int rank_fork_stopper(int stop_ms);

/* Sleep outside of RCX. */
void rank_sleep_ms(int ms);

#endif
