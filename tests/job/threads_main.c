/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * threads_main WHAT
 *
 * One rank of a job with several threads, over real UCX (need 21).
 *
 *   multiple     three threads use a communicator of their own each. Two more
 *                share one: one starts operations, the other waits for them.
 *                All run at once
 *   serialized   three threads take turns, on one communicator
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "../times.h"
#include "rank.h"
#include "attempt.h"

enum {
    OWNERS = 3,
    ROUNDS = TIMES(300, 40),
    DEPTH = 6,
    STARTS = TIMES(600, 80),
    STEPS = TIMES(300, 60),
    GUARD_SECONDS = 50
};

static const struct kind sum = {.type = RCX_UINT64, .op = RCX_SUM};

static void check(struct attempt *a)
{
    if (attempt_check(a))
        rank_fail("%s", a->problem);
}

/* Return the number of elements of call k; now and then it needs rendezvous. */
static size_t count_of(uint64_t k)
{
    return k % 16 == 15 ? 20000 : 13 * k % 900;
}

static void start(struct attempt *a, rcx_comm_t *comm, uint64_t k)
{
    struct call call = call_mixed(&sum, count_of(k), me.size, k);

    call.form = NONBLOCKING;
    attempt_open(a, &call, comm);
    rank_require(attempt_call(a, comm), "a nonblocking call");
}

static void finish(struct attempt *a)
{
    rank_require(rcx_wait(a->request), "rcx_wait");
    check(a);
    attempt_close(a);
}

static void run_one(rcx_comm_t *comm, uint64_t k)
{
    const struct call call = call_mixed(&sum, count_of(k), me.size, k);
    char problem[256];
    const rcx_status_t status = call_run(&call, comm, problem);

    if (status != RCX_OK)
        rank_fail("%s", problem);
}

static void open_for(rcx_thread_mode_t threads)
{
    const rcx_params_t params = {.field_mask = RCX_PARAM_THREADS,
                                 .threads = threads};

    rank_require(rank_open(&params), "rcx_init");
    alarm((unsigned)(rank_limit_ns(GUARD_SECONDS * SECOND_NS) / SECOND_NS));
}

/* ---- Threads that call at once ------------------------------------------- */

struct worker {
    pthread_t thread;
    rcx_comm_t *comm;
    struct pipe *pipe; /* shared by the last two */
};

struct pipe {
    struct attempt attempts[DEPTH];
    atomic_int started, finished;
};

static void await(atomic_int *number, int least)
{
    while (atomic_load(number) < least)
        sched_yield();
}

static void *use_own(void *arg)
{
    const struct worker *w = arg;
    struct attempt attempts[3];

    for (uint64_t k = 0; k < ROUNDS; k++) {
        for (uint64_t i = 0; i < 3; i++)
            start(&attempts[i], w->comm, k + i);
        run_one(w->comm, k);
        for (uint64_t i = 0; i < 3; i++)
            finish(&attempts[(k + i) % 3]);
    }
    return NULL;
}

static void *launch(void *arg)
{
    const struct worker *w = arg;

    for (int k = 0; k < STARTS; k++) {
        await(&w->pipe->finished, k - DEPTH + 1);
        start(&w->pipe->attempts[k % DEPTH], w->comm, (uint64_t)k);
        atomic_store(&w->pipe->started, k + 1);
    }
    return NULL;
}

static void *wait_for_launched(void *arg)
{
    const struct worker *w = arg;

    for (int k = 0; k < STARTS; k++) {
        struct attempt *a = &w->pipe->attempts[k % DEPTH];
        int done = k % 2;

        await(&w->pipe->started, k + 1);
        while (!done)
            rank_require(rcx_test(a->request, &done), "rcx_test");
        finish(a);
        atomic_store(&w->pipe->finished, k + 1);
    }
    return NULL;
}

static void begin(struct worker *w, void *(*fn)(void *))
{
    if (pthread_create(&w->thread, NULL, fn, w) != 0)
        rank_fail("no thread");
}

static void try_multiple(void)
{
    static struct pipe pipe;
    struct worker workers[OWNERS + 2];
    rcx_comm_t *comms[OWNERS + 1];

    open_for(RCX_THREAD_MULTIPLE);
    for (int i = 0; i <= OWNERS; i++)
        rank_require(i % 2 ? rcx_comm_split(me.world, 0, -me.rank, &comms[i])
                           : rcx_comm_dup(me.world, &comms[i]),
                     "a communicator");
    for (int i = 0; i < OWNERS + 2; i++)
        workers[i] = (struct worker){.comm = comms[i < OWNERS ? i : OWNERS],
                                     .pipe = &pipe};
    for (int i = 0; i < OWNERS; i++)
        begin(&workers[i], use_own);
    begin(&workers[OWNERS], launch);
    begin(&workers[OWNERS + 1], wait_for_launched);
    for (int i = 0; i < OWNERS + 2; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i <= OWNERS; i++)
        rank_require(rcx_comm_free(&comms[i]), "rcx_comm_free");
}

/* ---- Threads that take turns --------------------------------------------- */

static pthread_mutex_t baton = PTHREAD_MUTEX_INITIALIZER;
static struct attempt kept; /* started by the previous holder */
static uint64_t step;

static void make_step(void)
{
    if (step % 2 == 0)
        start(&kept, me.world, step);
    else
        finish(&kept);
    run_one(me.world, step++);
}

static void *take_turns(void *arg)
{
    int goes_on = 1;

    while (goes_on) {
        pthread_mutex_lock(&baton);
        goes_on = step < STEPS;
        if (goes_on)
            make_step();
        pthread_mutex_unlock(&baton);
        sched_yield();
    }
    return arg;
}

static void try_serialized(void)
{
    struct worker workers[OWNERS];

    open_for(RCX_THREAD_SERIALIZED);
    for (int i = 0; i < OWNERS; i++)
        begin(&workers[i], take_turns);
    for (int i = 0; i < OWNERS; i++)
        pthread_join(workers[i].thread, NULL);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "multiple") == 0)
        try_multiple();
    else if (strcmp(what, "serialized") == 0)
        try_serialized();
    else
        return 2;
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
    return 0;
}
