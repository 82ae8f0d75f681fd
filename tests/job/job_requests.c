/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of job_main: many active requests at once, and persistent requests that
 * are started repeatedly. */
#include "job.h"

enum { OUTSTANDING = 100, STARTS = 100, LASTING = 4 };

static const struct kind sum = {.type = RCX_UINT64, .op = RCX_SUM};

static void check(struct member *m, struct attempt *a)
{
    if (attempt_check(a))
        job_fail(m, "%s", a->problem);
}

/* Make call k. If a forced algorithm does not suit it, make the next call that
 * it suits. */
static void make(struct member *m, struct attempt *a, enum form form,
                 size_t count, uint64_t k)
{
    struct call call = call_mixed(&sum, count, m->size, k);
    rcx_status_t status;

    call.form = form;
    attempt_open(a, &call, m->comm);
    status = attempt_call(a, m->comm);
    if (!job_does_not_suit(&call, status)) {
        job_require(m, status, "a request");
        return;
    }
    attempt_close(a);
    make(m, a, form, count, k + 1);
}

static void start_many(struct member *m, struct attempt attempts[])
{
    for (uint64_t k = 0; k < OUTSTANDING; k++) {
        /* most calls are short; every tenth needs several messages */
        const size_t count = k % 10 == 3 ? 40000 : serial_mix(k, 0, 0) % 300;

        make(m, &attempts[k], NONBLOCKING, count, k);
        job_delay(m);
    }
}

static void wait_by_test(struct member *m, struct attempt *a)
{
    int done = 0;

    while (!done)
        job_require(m, rcx_test(a->request, &done), "rcx_test");
}

/* Complete requests in reverse order, in three rounds: by rcx_wait(), some by
 * rcx_test(), or all by rcx_wait_all(). */
void job_outstanding(struct member *m)
{
    static struct attempt attempts[OUTSTANDING];
    rcx_request_t *requests[OUTSTANDING + 1] = {NULL};

    for (int round = 0; round < (m->brief ? 1 : 3); round++) {
        start_many(m, attempts);
        for (int k = OUTSTANDING - 1; k >= 0; k--) {
            requests[k] = attempts[k].request;
            if (round == 0)
                job_require(m, rcx_wait(attempts[k].request), "rcx_wait");
            else if (round == 1 && k % 3 == 0)
                wait_by_test(m, &attempts[k]);
        }
        job_require(m, rcx_wait_all(OUTSTANDING + 1, requests), "rcx_wait_all");
        for (int k = 0; k < OUTSTANDING; k++) {
            check(m, &attempts[k]);
            attempt_close(&attempts[k]);
        }
    }
}

/* Several persistent requests are active at once, and are started repeatedly
 * over the same buffers. */
void job_persistent(struct member *m)
{
    struct attempt attempts[LASTING];

    for (uint64_t k = 0; k < LASTING; k++)
        make(m, &attempts[k], PERSISTENT, k == 1 ? 30000 : 100 + k, k);
    for (uint64_t start = 0; start < STARTS; start++) {
        for (uint64_t k = 0; k < LASTING; k++) {
            attempt_load(&attempts[k], serial_mix(start, k, 5));
            job_require(m, rcx_start(attempts[k].request), "rcx_start");
            job_delay(m);
        }
        for (int k = LASTING - 1; k >= 0; k--) {
            job_require(m, rcx_wait(attempts[k].request), "rcx_wait");
            check(m, &attempts[k]);
        }
    }
    for (int k = 0; k < LASTING; k++)
        attempt_close(&attempts[k]);
}
