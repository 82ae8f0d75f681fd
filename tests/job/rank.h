/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What small programs share that run as a rank of a job and test one thing
 * with real processes: exit status 0 and nothing printed is success.
 */
#ifndef RCX_TESTS_JOB_RANK_H
#define RCX_TESTS_JOB_RANK_H

#include <stdint.h>

#include "rcx/rcx.h"

#define SECOND_NS INT64_C(1000000000)
#define MS_NS INT64_C(1000000)

struct rank {
    rcx_context_t *context;
    rcx_comm_t *world;
    int rank, size;
    int errors;        /* that RCX has logged: they are kept, not printed */
    char error[512];   /* the first of them */
    char warning[256]; /* the last one */
};
extern struct rank me;

/* rcx_init(), with the log as above; the rest of me is there on success. */
rcx_status_t rank_open(const rcx_params_t *params);

/* Say what is wrong and exit with 1. */
_Noreturn void rank_fail(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void rank_expect(rcx_status_t status, rcx_status_t expected, const char *what);
void rank_require(rcx_status_t status, const char *what);

int64_t rank_now_ns(void);

/* A rank that waits for the others' word, without RCX, says so before threads
 * begin; signals carry it. */
void rank_will_be_told(void);
void rank_tell(int64_t pid);
void rank_wait_until_told(int times);

/* A host that is busy with others takes the cores away for a second now and
 * then: from rank_watch_machine() on, such time is lost, not RCX's. */
void rank_watch_machine(void);
int64_t rank_lost_ns(void);
int64_t rank_time_here(void); /* without it */

/* Sleep, without RCX. */
void rank_sleep_ms(int ms);

#endif
