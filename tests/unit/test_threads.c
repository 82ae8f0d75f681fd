/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What threads of a rank may do concurrently (need 21): use different
 * communicators, wait for requests that another thread has started, make
 * progress for each other, and serialized calls. Each test also runs with the
 * progress thread, and under ThreadSanitizer if the build has it.
 */
#include "test.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "crew.h"
#include "members.h"

enum { LARGEST = 3 };

/* Run fn in jobs of all sizes, without and with the progress thread. */
static void run_everywhere(crew_fn_t *fn)
{
    for (int size = 1; size <= LARGEST; size++)
        for (int thread = 0; thread <= 1; thread++)
            crew_job(size, RCX_THREAD_MULTIPLE, thread, fn, NULL);
}

/* ---- A communicator for each thread -------------------------------------- */

enum { OWNERS = 3, ROUNDS = TIMES(200, 20), PER_OP = 10 };

struct owners {
    rcx_context_t *context;
    rcx_comm_t *comms[OWNERS];
};

static int subtract_words(void *dst, const void *left, const void *right,
                          size_t count, rcx_datatype_t type, void *arg)
{
    const uint32_t *l = left, *r = right;
    uint32_t *d = dst;

    (void)type;
    for (size_t i = 0; i < count; i++)
        d[i] = l[i] + r[i] - *(uint32_t *)arg;
    return 0;
}

/* Use an op and a type that only this thread knows. */
static void use_own_op(const struct owners *o, int number, rcx_comm_t *comm)
{
    const uint32_t size = (uint32_t)rcx_comm_size(comm);
    uint32_t less = (uint32_t)number, sum = 0;
    const uint32_t one = 1000;
    rcx_datatype_t type;
    rcx_op_t op;

    require_ok(rcx_op_create(o->context, subtract_words, RCX_OP_COMMUTATIVE,
                             &less, &op));
    require_ok(rcx_type_create(o->context, sizeof one, &type));
    require_ok(rcx_reduce_local(o->context, &sum, &one, &one, 1, type, op));
    require(sum == 2 * one - less);
    require_ok(rcx_allreduce(&one, &sum, 1, type, op, comm));
    require(sum == size * one - (size - 1) * less);
    require_ok(rcx_op_free(o->context, &op));
    require_ok(rcx_type_free(o->context, &type));
}

static void use_own(int number, void *arg)
{
    const struct owners *o = arg;
    rcx_comm_t *comm = o->comms[number];
    rcx_error_info_t info;

    for (int k = 0; k < ROUNDS; k++) {
        crew_use(comm, 5 * k + number);
        require_ok(rcx_comm_error(comm, &info));
        require_ok(info.status);
        require_ok(rcx_comm_set_timeout(comm, k % 2 * INT64_C(60000000000)));
        if (k % PER_OP == number)
            use_own_op(o, number, comm);
    }
}

static void use_all(struct job *job, int rank, void *arg)
{
    struct owners o = {.context = job->contexts[rank]};
    rcx_comm_t *world = world_of(job, rank);

    (void)arg;
    require_ok(rcx_comm_dup(world, &o.comms[0]));
    require_ok(rcx_comm_split(world, 0, -rank, &o.comms[1]));
    require_ok(rcx_comm_split(world, rank % 2, 0, &o.comms[2]));
    crew_run(OWNERS, use_own, &o);
    for (int i = 0; i < OWNERS; i++)
        require_ok(rcx_comm_free(&o.comms[i]));
}

static void need_21_threads_use_communicators_of_their_own_at_once(void **state)
{
    (void)state;
    run_everywhere(use_all);
}

/* ---- One thread starts, another one waits -------------------------------- */

enum { DEPTH = 6, STARTS = TIMES(800, 150), PAIRS = 2 };

struct pipe {
    rcx_comm_t *comm;
    struct attempt attempts[DEPTH];
    atomic_int started, finished;
};

static void wait_for(struct attempt *a, int k)
{
    int done = k % 2;

    while (!done) {
        require_ok(rcx_test(a->request, &done));
        sched_yield();
    }
    require_ok(rcx_wait(a->request));
}

static void launch(struct pipe *p)
{
    for (int k = 0; k < STARTS; k++) {
        crew_await(&p->finished, k - DEPTH + 1);
        members_start(&p->attempts[k % DEPTH], p->comm, (uint64_t)k,
                      (uint64_t)k);
        atomic_store(&p->started, k + 1);
    }
}

static void await(struct pipe *p)
{
    for (int k = 0; k < STARTS; k++) {
        struct attempt *a = &p->attempts[k % DEPTH];

        crew_await(&p->started, k + 1);
        wait_for(a, k);
        members_finish(a);
        atomic_store(&p->finished, k + 1);
    }
}

static void work_on_pipe(int number, void *arg)
{
    struct pipe *pipes = arg;

    (number % 2 ? await : launch)(&pipes[number / 2]);
}

static void run_pipes(struct job *job, int rank, void *arg)
{
    struct pipe *pipes = calloc(PAIRS, sizeof *pipes);

    (void)arg;
    for (int i = 0; i < PAIRS; i++)
        require_ok(rcx_comm_dup(world_of(job, rank), &pipes[i].comm));
    crew_run(2 * PAIRS, work_on_pipe, pipes);
    for (int i = 0; i < PAIRS; i++)
        require_ok(rcx_comm_free(&pipes[i].comm));
    free(pipes);
}

static void need_21_one_thread_starts_what_another_waits_for(void **state)
{
    (void)state;
    run_everywhere(run_pipes);
}

/* The same with persistent requests, which are started again after
 * completion. */
static void relaunch(struct pipe *p)
{
    for (int k = 0; k < STARTS; k++) {
        struct attempt *a = &p->attempts[k % DEPTH];

        crew_await(&p->finished, k - DEPTH + 1);
        attempt_load(a, (uint64_t)k);
        require_ok(rcx_start(a->request));
        atomic_store(&p->started, k + 1);
    }
}

static void await_again(struct pipe *p)
{
    for (int k = 0; k < STARTS; k++) {
        struct attempt *a = &p->attempts[k % DEPTH];

        crew_await(&p->started, k + 1);
        wait_for(a, k);
        members_verify(a);
        atomic_store(&p->finished, k + 1);
    }
}

static void work_on_restarts(int number, void *arg)
{
    (number ? await_again : relaunch)(arg);
}

static void run_restarts(struct job *job, int rank, void *arg)
{
    static const struct kind sum = {.type = RCX_INT64, .op = RCX_SUM};
    struct pipe *p = calloc(1, sizeof *p);

    (void)arg;
    p->comm = world_of(job, rank);
    for (int i = 0; i < DEPTH; i++) {
        const struct call call = {.coll = (enum collective)(i % (REDUCE + 1)),
                                  .form = PERSISTENT,
                                  .kind = &sum,
                                  .count = (size_t)i * 40};

        attempt_open(&p->attempts[i], &call, p->comm);
        require_ok(attempt_call(&p->attempts[i], p->comm));
    }
    crew_run(2, work_on_restarts, p);
    for (int i = 0; i < DEPTH; i++)
        attempt_close(&p->attempts[i]);
    free(p);
}

static void
one_thread_starts_requests_again_that_another_waits_for(void **state)
{
    (void)state;
    run_everywhere(run_restarts);
}

/* ---- Several waiting threads --------------------------------------------- */

enum { WAITERS = 4, BATCHES = TIMES(300, 40) };

struct batch {
    struct attempt attempts[WAITERS];
    atomic_int started, finished;
};

static void finish_own(int number, void *arg)
{
    struct batch *b = arg;

    for (int k = 0; k < BATCHES; k++) {
        crew_await(&b->started, k + 1);
        members_finish(&b->attempts[number]);
        atomic_fetch_add(&b->finished, 1);
    }
}

static void run_batches(struct job *job, int rank, void *arg)
{
    struct batch b = {.started = 0};
    struct crew crew = {.size = 0};

    (void)arg;
    for (int i = 0; i < WAITERS; i++)
        crew_add(&crew, finish_own, &b);
    for (int k = 0; k < BATCHES; k++) {
        crew_await(&b.finished, k * WAITERS);
        for (int i = 0; i < WAITERS; i++)
            members_start(&b.attempts[i], world_of(job, rank),
                          (uint64_t)(k + i), (uint64_t)k);
        atomic_store(&b.started, k + 1);
    }
    crew_join(&crew);
}

static void need_21_each_of_many_threads_waits_for_its_own_request(void **state)
{
    (void)state;
    run_everywhere(run_batches);
}

/* With RCX_WAIT=block these threads sleep on one descriptor. */
static void many_threads_may_sleep_while_they_wait(void **state)
{
    (void)state;
    setenv("RCX_WAIT", "block", 1);
    run_everywhere(run_batches);
    unsetenv("RCX_WAIT");
}

/* ---- Progress and callbacks ---------------------------------------------- */

enum { CALLED = TIMES(500, 50), CHAINS = 3, LINKS = TIMES(300, 40) };

struct helper {
    rcx_context_t *context;
    atomic_int called, all;
};

static void make_progress(int number, void *arg)
{
    struct helper *h = arg;

    (void)number;
    while (!atomic_load(&h->all)) {
        require(rcx_progress(h->context) >= 0);
        sched_yield(); /* threads outnumber cores */
    }
}

static void count(rcx_request_t *request, rcx_status_t status, void *arg)
{
    struct helper *h = arg;

    (void)request;
    require_ok(status);
    atomic_fetch_add(&h->called, 1);
}

/* This thread only starts operations; the other one makes all progress. */
static void let_others_progress(struct job *job, int rank, void *arg)
{
    struct helper h = {.context = job->contexts[rank]};
    struct crew crew = {.size = 0};

    (void)arg;
    crew_add(&crew, make_progress, &h);
    for (int k = 0; k < CALLED; k++) {
        struct attempt a;

        members_start(&a, world_of(job, rank), (uint64_t)k, (uint64_t)k);
        require_ok(rcx_request_set_callback(a.request, count, &h));
        crew_await(&h.called, k + 1);
        members_finish(&a);
    }
    atomic_store(&h.all, 1);
    crew_join(&crew);
    require(h.called == CALLED);
}

static void need_21_another_thread_makes_all_the_progress(void **state)
{
    (void)state;
    run_everywhere(let_others_progress);
}

/* A chain of operations, each started by the callback of the previous one. */
struct chain {
    rcx_comm_t *comm;
    struct attempt attempt;
    int length;
    atomic_int *inside; /* callbacks in progress, of all chains */
    atomic_int *ended;
};

static void go_on(rcx_request_t *request, rcx_status_t status, void *arg);

static void start_link(struct chain *c)
{
    const uint64_t k = (uint64_t)c->length;

    members_start(&c->attempt, c->comm, k, k);
    require_ok(rcx_request_set_callback(c->attempt.request, go_on, c));
}

static void go_on(rcx_request_t *request, rcx_status_t status, void *arg)
{
    struct chain *c = arg;
    const int length = c->length + 1;

    require_ok(status);
    require(request == c->attempt.request);
    require(atomic_fetch_add(c->inside, 1) == 0);
    members_verify(&c->attempt);
    attempt_close(&c->attempt);
    c->length = length;
    if (length < LINKS)
        start_link(c);
    require(atomic_fetch_sub(c->inside, 1) == 1);
    if (length == LINKS)
        atomic_fetch_add(c->ended, 1);
}

static void run_chains(struct job *job, int rank, void *arg)
{
    struct helper h = {.context = job->contexts[rank]};
    struct owners o = {.context = job->contexts[rank]};
    struct chain chains[CHAINS];
    struct crew crew = {.size = 0};
    atomic_int inside = 0;

    (void)arg;
    for (int i = 0; i < OWNERS; i++) /* for the threads in use_own() */
        require_ok(rcx_comm_dup(world_of(job, rank), &o.comms[i]));
    for (int i = 0; i < CHAINS; i++) {
        chains[i] = (struct chain){.inside = &inside, .ended = &h.called};
        require_ok(rcx_comm_dup(world_of(job, rank), &chains[i].comm));
    }
    for (int i = 0; i < OWNERS; i++)
        crew_add(&crew, use_own, &o);
    crew_add(&crew, make_progress, &h);
    for (int i = 0; i < CHAINS; i++)
        start_link(&chains[i]);
    crew_await(&h.called, CHAINS);
    atomic_store(&h.all, 1);
    crew_join(&crew);
    for (int i = 0; i < CHAINS; i++)
        require_ok(rcx_comm_free(&chains[i].comm));
    for (int i = 0; i < OWNERS; i++)
        require_ok(rcx_comm_free(&o.comms[i]));
}

static void need_21_callbacks_start_and_free_while_others_wait(void **state)
{
    (void)state;
    run_everywhere(run_chains);
}

/* ---- An event loop of the host ------------------------------------------- */

enum { EVENTS = TIMES(1000, 150), IN_FLIGHT = 4 };

struct loop {
    rcx_context_t *context;
    int epoll, wakeup_fd;
    atomic_int done, count;
};

struct event {
    struct attempt attempt;
    struct loop *loop;
};

static void handle(rcx_request_t *request, rcx_status_t status, void *arg)
{
    struct event *e = arg;
    struct loop *loop = e->loop;

    (void)request;
    require_ok(status);
    members_verify(&e->attempt);
    attempt_close(&e->attempt);
    free(e);
    atomic_fetch_add(&loop->done, 1);
    eventfd_write(loop->wakeup_fd, 1);
    atomic_fetch_add(&loop->count, 1); /* loop may be closed */
}

static void watch(const struct loop *loop, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    require(epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) == 0);
}

static void sleep_once(struct loop *loop)
{
    const int seen = atomic_load(&loop->done);
    struct epoll_event event;
    rcx_status_t status;
    eventfd_t count;

    do
        require(rcx_progress(loop->context) >= 0);
    while ((status = rcx_arm(loop->context)) == RCX_IN_PROGRESS);
    require_ok(status);
    if (atomic_load(&loop->done) == seen)
        epoll_wait(loop->epoll, &event, 1, -1);
    eventfd_read(loop->wakeup_fd, &count);
}

static void run_loop(int number, void *arg)
{
    struct loop *loop = arg;
    int fd = -1;

    (void)number;
    require_ok(rcx_get_fd(loop->context, &fd));
    watch(loop, fd);
    watch(loop, loop->wakeup_fd);
    while (atomic_load(&loop->done) < EVENTS)
        sleep_once(loop);
}

static void start_for_loop(struct job *job, int rank, void *arg)
{
    struct loop loop = {.context = job->contexts[rank],
                        .epoll = epoll_create1(EPOLL_CLOEXEC),
                        .wakeup_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    struct crew crew = {.size = 0};

    (void)arg;
    crew_add(&crew, run_loop, &loop);
    for (int k = 0; k < EVENTS; k++) {
        struct event *e = malloc(sizeof *e);

        e->loop = &loop;
        crew_await(&loop.done, k - IN_FLIGHT + 1);
        members_start(&e->attempt, world_of(job, rank), (uint64_t)k,
                      (uint64_t)k);
        require_ok(rcx_request_set_callback(e->attempt.request, handle, e));
    }
    crew_join(&crew);
    crew_await(&loop.count, EVENTS);
    close(loop.epoll);
    close(loop.wakeup_fd);
}

static void need_21_a_loop_sleeps_while_another_thread_starts(void **state)
{
    (void)state;
    run_everywhere(start_for_loop);
}

/* ---- Serialized calls ---------------------------------------------------- */

enum { STEPS = TIMES(600, 90) };

struct baton {
    pthread_mutex_t mutex;
    rcx_comm_t *comm;
    struct attempt attempts[2];
    int step;
};

/* The thread that holds the mutex starts two operations, or waits for one that
 * another thread has started. Then it runs a blocking one. */
static void make_step(struct baton *b)
{
    const int k = b->step++;

    if (k % 3 == 0)
        for (int i = 0; i < 2; i++)
            members_start(&b->attempts[i], b->comm, (uint64_t)(k + i),
                          (uint64_t)(k + i));
    else
        members_finish(&b->attempts[k % 3 == 1]);
    members_run(b->comm, (uint64_t)k);
}

static void take_turns(int number, void *arg)
{
    struct baton *b = arg;
    bool goes_on = true;

    (void)number;
    while (goes_on) {
        pthread_mutex_lock(&b->mutex);
        goes_on = b->step < STEPS;
        if (goes_on)
            make_step(b);
        pthread_mutex_unlock(&b->mutex);
    }
}

static void pass_baton(struct job *job, int rank, void *arg)
{
    struct baton b = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                      .comm = world_of(job, rank)};

    (void)arg;
    crew_run(3, take_turns, &b);
    require(b.step == STEPS);
}

static void need_21_serialized_calls_come_from_any_thread(void **state)
{
    (void)state;
    for (int size = 1; size <= LARGEST; size++)
        for (int thread = 0; thread <= 1; thread++)
            crew_job(size, RCX_THREAD_SERIALIZED, thread, pass_baton, NULL);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            need_21_threads_use_communicators_of_their_own_at_once),
        cmocka_unit_test(need_21_one_thread_starts_what_another_waits_for),
        cmocka_unit_test(
            one_thread_starts_requests_again_that_another_waits_for),
        cmocka_unit_test(
            need_21_each_of_many_threads_waits_for_its_own_request),
        cmocka_unit_test(many_threads_may_sleep_while_they_wait),
        cmocka_unit_test(need_21_another_thread_makes_all_the_progress),
        cmocka_unit_test(need_21_callbacks_start_and_free_while_others_wait),
        cmocka_unit_test(need_21_a_loop_sleeps_while_another_thread_starts),
        cmocka_unit_test(need_21_serialized_calls_come_from_any_thread),
    };

    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
