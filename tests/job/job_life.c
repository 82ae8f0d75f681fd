/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of job_main: contexts that are opened again and again, several contexts
 * at once, and ranks that finalize at different times. */
#include "job.h"

#include <stdio.h>
#include <unistd.h>

enum { CYCLES = 10, CONTEXTS = 3 };

static const struct kind sum = {.type = RCX_FLOAT64, .op = RCX_SUM};

static void use(struct member *m, uint64_t seed)
{
    for (uint64_t k = 0; k < 8; k++) {
        const struct call call =
            call_mixed(&sum, k == 5 ? 50000 : 10 * k, m->size, seed + k);

        job_call(m, &call);
    }
}

void job_cycles(struct member *m)
{
    for (uint64_t i = 0; i < CYCLES; i++) {
        job_open(m, NULL);
        use(m, i);
        job_close(m);
    }
    /* one context that is not used at all */
    job_open(m, NULL);
    job_close(m);
}

/* Contexts are opened in one order, used in all orders, and closed in
 * another. */
void job_contexts(struct member *m)
{
    static const char *const names[CONTEXTS] = {"alpha", "beta", "gamma"};
    struct member members[CONTEXTS];
    struct attempt attempts[CONTEXTS];

    for (int i = 0; i < CONTEXTS; i++) {
        members[i] = *m;
        job_open(&members[i], names[i]);
    }
    for (uint64_t i = 0; i < 2 * CONTEXTS; i++)
        use(&members[i * 2 % CONTEXTS], i);
    for (int i = 0; i < CONTEXTS; i++) {
        struct call call =
            call_mixed(&sum, 20000, members[0].size, (uint64_t)i);

        call.form = NONBLOCKING;
        attempt_open(&attempts[i], &call, members[i].comm);
        job_require(m, attempt_call(&attempts[i], members[i].comm), "call");
    }
    /* ranks wait for them in different orders: each context progresses */
    for (int k = 0, done = 0; done < CONTEXTS; k++) {
        struct attempt *a = &attempts[(k + members[0].rank) % CONTEXTS];
        int complete = 0;

        job_require(m, a->request ? rcx_test(a->request, &complete) : RCX_OK,
                    "rcx_test");
        if (!complete)
            continue;
        if (attempt_check(a))
            job_fail(&members[0], "%s", a->problem);
        job_require(m, rcx_request_free(&a->request), "rcx_request_free");
        done++;
    }
    for (int i = 0; i < CONTEXTS; i++) {
        attempt_close(&attempts[i]);
        job_close(&members[(i + 1) % CONTEXTS]);
    }
}

/* The first and the last rank finalize 300 ms apart. */
void job_skew(struct member *m)
{
    for (int late = 0; late < 2; late++) {
        job_open(m, NULL);
        use(m, (uint64_t)late);
        if (m->rank == (late ? m->size - 1 : 0))
            usleep(300 * 1000);
        job_close(m);
    }
}

/* ---- Launching ----------------------------------------------------------- */

int job_launch(void)
{
    rcx_context_t *context = NULL;
    double one = 1;
    rcx_status_t status;

    status = rcx_init(NULL, &context);
    if (status != RCX_OK)
        return context ? 100 : -(int)status;
    status = rcx_allreduce(RCX_IN_PLACE, &one, 1, RCX_DOUBLE, RCX_SUM,
                           rcx_world(context));
    if (status != RCX_OK || one != rcx_comm_size(rcx_world(context)))
        return 101;
    printf("%d of %d\n", rcx_comm_rank(rcx_world(context)),
           rcx_comm_size(rcx_world(context)));
    return -(int)rcx_finalize(&context);
}
