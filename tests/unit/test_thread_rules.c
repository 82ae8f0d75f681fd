/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What threads of a rank may not do concurrently (need 21): a second start on a
 * communicator, calls from inside an op, and freeing what another thread waits
 * for. Each must return RCX_ERR_BUSY and have no effect. An abort is allowed at
 * any time.
 */
#include "test.h"

#include <sched.h>
#include <string.h>

#include "crew.h"
#include "members.h"

/* ---- A second start ------------------------------------------------------ */

/* State that the threads of one rank share. */
struct scene {
    rcx_context_t *context;
    rcx_comm_t *comm, *other;
    rcx_request_t *idle;   /* persistent, on comm */
    rcx_request_t *active; /* on other */
    rcx_op_t op;
    int words[2]; /* buffers of idle and active */
    atomic_int tried;
    atomic_int inside; /* threads that are about to wait */
};

static void open_scene(struct scene *s, struct job *job, int rank)
{
    memset(s, 0, sizeof *s);
    s->context = job->contexts[rank];
    require_ok(rcx_comm_dup(world_of(job, rank), &s->comm));
    require_ok(rcx_comm_dup(world_of(job, rank), &s->other));
    require_ok(rcx_allreduce_init(RCX_IN_PLACE, &s->words[0], 1, RCX_INT,
                                  RCX_SUM, s->comm, &s->idle));
}

/* After the rejected calls, all communicators and requests must work. */
static void close_scene(struct scene *s, struct job *job, int rank)
{
    s->words[0] = rank + 1;
    require_ok(rcx_start(s->idle));
    require_ok(rcx_wait(s->idle));
    require(s->words[0] == job->size * (job->size + 1) / 2);
    require_ok(rcx_request_free(&s->idle));
    if (s->comm) { /* no rank has freed it early */
        members_check(s->comm, rank, in_order, job->size);
        require_ok(rcx_comm_free(&s->comm));
    }
    members_check(s->other, rank, in_order, job->size);
    require_ok(rcx_comm_free(&s->other));
}

/* Each of these calls starts something on comm. All must fail and write no
 * output. */
static void fail_to_start(rcx_comm_t *comm)
{
    rcx_request_t *request = NULL;
    rcx_comm_t *copy = NULL, *same = comm;
    void *memory = NULL;
    int x = 3, y = 4;
    const size_t blocks[MEMBERS_MOST] = {1};
    const struct arguments a = {.sendbuf = &x,
                                .recvbuf = &y,
                                .count = 1,
                                .blocks = blocks,
                                .sendcounts = blocks,
                                .type = RCX_INT,
                                .op = RCX_SUM,
                                .comm = comm};

    for (int i = 0; i < COLLECTIVES * FORMS; i++)
        require_status(collective_call((enum collective)(i / FORMS),
                                       (enum form)(i % FORMS), &a, &request),
                       RCX_ERR_BUSY);
    require_status(rcx_comm_dup(comm, &copy), RCX_ERR_BUSY);
    require_status(rcx_comm_split(comm, 0, 0, &copy), RCX_ERR_BUSY);
    require_status(rcx_comm_free(&same), RCX_ERR_BUSY);
    require_status(rcx_mem_alloc(comm, 64, &memory), RCX_ERR_BUSY);
    require(x == 3 && y == 4 && !request && !copy && same == comm && !memory);
}

static void run_blocking(int number, void *arg)
{
    struct scene *s = arg;
    int x = 1;

    (void)number;
    require_ok(rcx_allreduce(RCX_IN_PLACE, &x, 1, RCX_INT, RCX_SUM, s->comm));
    require(x == rcx_comm_size(s->comm));
}

/* A thread of rank 0 waits in a blocking call for the other ranks. */
static void disturb_a_wait(struct job *job, int rank, void *arg)
{
    struct crew crew = {.size = 0};
    struct scene s;
    int done = 0;

    (void)arg;
    open_scene(&s, job, rank);
    if (rank == 0) {
        crew_add(&crew, run_blocking, &s);
        while (!atomic_load(&s.comm->starting))
            sched_yield();
        fail_to_start(s.comm);
        require_status(rcx_start(s.idle), RCX_ERR_BUSY);
        require_ok(rcx_test(s.idle, &done));
        require(done);
    }
    for (int k = 0; k < 20; k++) /* other ranks do this first */
        crew_use(s.other, k);
    if (rank > 0)
        run_blocking(0, &s);
    crew_join(&crew);
    close_scene(&s, job, rank);
}

static void need_21_a_second_start_is_busy_beside_a_blocking_call(void **state)
{
    (void)state;
    for (int size = 2; size <= 4; size++)
        for (int thread = 0; thread <= 1; thread++)
            crew_job(size, RCX_THREAD_MULTIPLE, thread, disturb_a_wait, NULL);
}

static int add_ints(void *dst, const void *left, const void *right,
                    size_t count)
{
    const int *l = left, *r = right;
    int *d = dst;

    for (size_t i = 0; i < count; i++)
        d[i] = l[i] + r[i];
    return 0;
}

static void try_from_beside(int number, void *arg)
{
    (void)number;
    fail_to_start(((struct scene *)arg)->comm);
}

static int add_disturbed(void *dst, const void *left, const void *right,
                         size_t count, rcx_datatype_t type, void *arg)
{
    struct scene *s = arg;

    (void)type;
    crew_run(1, try_from_beside, s);
    atomic_fetch_add(&s->tried, 1);
    return add_ints(dst, left, right, count);
}

/* A second thread calls from inside the op of a first one, on any rank. */
static void disturb_an_op(struct job *job, int rank, void *arg)
{
    struct scene s;

    (void)arg;
    open_scene(&s, job, rank);
    require_ok(rcx_op_create(s.context, add_disturbed, 0, &s, &s.op));
    for (int k = 0; k < 10; k++) {
        int x = 1;

        require_ok(rcx_allreduce(RCX_IN_PLACE, &x, 1, RCX_INT, s.op, s.comm));
        require(x == job->size);
    }
    require(job->size != 2 || s.tried >= 10);
    require_ok(rcx_op_free(s.context, &s.op));
    close_scene(&s, job, rank);
}

static void a_second_start_is_busy_beside_an_op(void **state)
{
    (void)state;
    for (int size = 2; size <= 4; size++)
        for (int thread = 0; thread <= 1; thread++)
            crew_job(size, RCX_THREAD_MULTIPLE, thread, disturb_an_op, NULL);
}

/* ---- Concurrent starts --------------------------------------------------- */

enum { RACERS = 3, RACES = TIMES(600, 60), LANES = 50 };

struct race {
    rcx_comm_t *comm;
    atomic_int taken, refused;
};

/* Run one allreduce, by a blocking or a nonblocking call. */
static rcx_status_t start_one(rcx_comm_t *comm, bool blocking, int lanes[])
{
    rcx_request_t *request = NULL;
    rcx_status_t status;

    for (int i = 0; i < LANES; i++)
        lanes[i] = i * (rcx_comm_rank(comm) + 1);
    if (blocking)
        return rcx_allreduce(RCX_IN_PLACE, lanes, LANES, RCX_INT, RCX_SUM,
                             comm);
    status = rcx_iallreduce(RCX_IN_PLACE, lanes, LANES, RCX_INT, RCX_SUM, comm,
                            &request);
    if (status != RCX_OK)
        return status;
    require_ok(rcx_wait(request));
    return rcx_request_free(&request);
}

static void race(int number, void *arg)
{
    struct race *r = arg;
    const int size = rcx_comm_size(r->comm);

    while (atomic_fetch_add(&r->taken, 1) < RACES) {
        int lanes[LANES];
        rcx_status_t status;

        while ((status = start_one(r->comm, number == 0, lanes)) ==
               RCX_ERR_BUSY) {
            atomic_fetch_add(&r->refused, 1);
            sched_yield();
        }
        require_ok(status);
        for (int i = 0; i < LANES; i++)
            require(lanes[i] == i * size * (size + 1) / 2);
    }
}

/* Starts succeed in any order, so all threads make the same calls. */
static void race_all(struct job *job, int rank, void *arg)
{
    struct race r = {.comm = world_of(job, rank)};

    crew_run(RACERS, race, &r);
    members_check(r.comm, rank, in_order, job->size);
    atomic_fetch_add((atomic_int *)arg, r.refused);
}

static void need_21_starts_that_race_are_right_or_busy(void **state)
{
    atomic_int refused = 0;

    (void)state;
    for (int size = 1; size <= 3; size++)
        for (int thread = 0; thread <= 1; thread++)
            crew_job(size, RCX_THREAD_MULTIPLE, thread, race_all, &refused);
    print_message("# %d of %d starts were refused\n", refused,
                  refused + 2 * (1 + 2 + 3) * RACES);
}

/* ---- Calls from inside an op --------------------------------------------- */

static void fail_to_ask(struct scene *s)
{
    rcx_request_t *request = s->active;
    rcx_context_t *context = s->context;
    rcx_error_info_t info = {.status = RCX_ERR_ARG};
    rcx_datatype_t type = 0;
    rcx_op_t op = 0;
    int done = 7, fd = 7, x[] = {3, 4, 5};

    require(rcx_progress(context) == (int)RCX_ERR_BUSY);
    require_status(rcx_arm(context), RCX_ERR_BUSY);
    require_status(rcx_get_fd(context, &fd), RCX_ERR_BUSY);
    require_status(rcx_test(request, &done), RCX_ERR_BUSY);
    require_status(rcx_wait(request), RCX_ERR_BUSY);
    require_status(rcx_wait_all(1, &request), RCX_ERR_BUSY);
    require_status(rcx_start(s->idle), RCX_ERR_BUSY);
    require_status(rcx_request_free(&request), RCX_ERR_BUSY);
    require_status(rcx_op_create(context, add_disturbed, 0, NULL, &op),
                   RCX_ERR_BUSY);
    require_status(rcx_type_create(context, 4, &type), RCX_ERR_BUSY);
    require_status(
        rcx_reduce_local(context, &x[0], &x[1], &x[2], 1, RCX_INT, RCX_SUM),
        RCX_ERR_BUSY);
    require_status(rcx_comm_error(s->comm, &info), RCX_ERR_BUSY);
    require_status(rcx_comm_set_timeout(s->comm, 1), RCX_ERR_BUSY);
    require_status(rcx_finalize(&context), RCX_ERR_BUSY);
    require(request == s->active && context == s->context && !op && !type);
    require(done == 7 && fd == 7 && x[0] == 3 && info.status == RCX_ERR_ARG);
}

static int add_and_call(void *dst, const void *left, const void *right,
                        size_t count, rcx_datatype_t type, void *arg)
{
    struct scene *s = arg;

    (void)type;
    fail_to_start(s->comm);
    fail_to_start(s->other);
    fail_to_ask(s);
    atomic_fetch_add(&s->tried, 1);
    return add_ints(dst, left, right, count);
}

/* The op runs during a wait for a nonblocking call, and then during a blocking
 * call. */
static void call_from_op(struct job *job, int rank, void *arg)
{
    rcx_request_t *request;
    struct scene s;
    int x = 1;

    (void)arg;
    open_scene(&s, job, rank);
    require_ok(rcx_op_create(s.context, add_and_call, 0, &s, &s.op));
    require_ok(rcx_iallreduce(RCX_IN_PLACE, &s.words[1], 1, RCX_INT, RCX_SUM,
                              s.other, &s.active));
    require_ok(
        rcx_iallreduce(RCX_IN_PLACE, &x, 1, RCX_INT, s.op, s.comm, &request));
    require_ok(rcx_wait(request));
    require_ok(rcx_request_free(&request));
    require(x == job->size);
    require_ok(rcx_allreduce(RCX_IN_PLACE, &x, 1, RCX_INT, s.op, s.comm));
    require(x == job->size * job->size);
    require(job->size != 2 || s.tried >= 2);
    require_ok(rcx_wait(s.active));
    require_ok(rcx_request_free(&s.active));
    require_ok(rcx_op_free(s.context, &s.op));
    close_scene(&s, job, rank);
}

static void need_21_an_op_that_calls_rcx_gets_busy(void **state)
{
    (void)state;
    for (int size = 2; size <= 4; size++)
        for (int thread = 0; thread <= 1; thread++)
            for (int mode = 0; mode <= RCX_THREAD_MULTIPLE; mode++)
                crew_job(size, (rcx_thread_mode_t)mode, thread, call_from_op,
                         NULL);
}

/* ---- Frees of what another thread waits for ------------------------------ */

enum { WAITERS = 3 };

struct waits {
    struct scene scene;
    rcx_request_t *requests[WAITERS];
    int words[WAITERS];
    rcx_status_t expected;
};

static void await(int number, void *arg)
{
    struct waits *w = arg;

    atomic_fetch_add(&w->scene.inside, 1);
    require_status(rcx_wait(w->requests[number]), w->expected);
}

/* Start operations that other ranks enter late or never. With crew, a thread
 * waits for each. */
static void start_waits(struct waits *w, struct crew *crew, rcx_op_t op)
{
    for (int i = 0; i < WAITERS; i++) {
        w->words[i] = 1;
        require_ok(rcx_iallreduce(RCX_IN_PLACE, &w->words[i], 1, RCX_INT, op,
                                  w->scene.comm, &w->requests[i]));
    }
    for (int i = 0; crew && i < WAITERS; i++)
        crew_add(crew, await, w);
    crew_await(&w->scene.inside, crew ? WAITERS : 0);
}

static void free_waits(struct waits *w)
{
    for (int i = 0; i < WAITERS; i++)
        require_ok(rcx_request_free(&w->requests[i]));
}

static int add(void *dst, const void *left, const void *right, size_t count,
               rcx_datatype_t type, void *arg)
{
    (void)type, (void)arg;
    return add_ints(dst, left, right, count);
}

/* Both live until the last request is freed. */
static void free_both(struct scene *s)
{
    require_ok(rcx_comm_free(&s->comm));
    require_ok(rcx_op_free(s->context, &s->op));
    require(!s->comm && !s->op);
}

static void free_early(struct job *job, int rank, void *arg)
{
    struct crew crew = {.size = 0};
    struct waits w = {.expected = RCX_OK};
    struct scene *s = &w.scene;

    (void)arg;
    open_scene(s, job, rank);
    require_ok(
        rcx_op_create(s->context, add, RCX_OP_COMMUTATIVE, NULL, &s->op));
    if (rank == 0) {
        rcx_context_t *context = s->context;

        start_waits(&w, &crew, s->op);
        for (int i = 0; i < WAITERS; i++) {
            rcx_request_t *request = w.requests[i];

            require_status(rcx_request_free(&request), RCX_ERR_BUSY);
            require(request == w.requests[i]);
        }
        free_both(s);
        require_status(rcx_finalize(&context), RCX_ERR_BUSY);
        require(context == s->context);
    }
    for (int k = 0; k < 10; k++) /* other ranks do this first */
        crew_use(s->other, k);
    if (rank > 0)
        start_waits(&w, &crew, s->op);
    crew_join(&crew);
    for (int i = 0; i < WAITERS; i++)
        require(w.words[i] == job->size);
    free_waits(&w);
    if (rank > 0)
        free_both(s);
    close_scene(s, job, rank);
}

static void need_21_communicator_and_op_may_be_freed_during_a_wait(void **state)
{
    (void)state;
    for (int size = 2; size <= 3; size++)
        for (int thread = 0; thread <= 1; thread++)
            crew_job(size, RCX_THREAD_MULTIPLE, thread, free_early, NULL);
}

/* ---- Aborts -------------------------------------------------------------- */

static void give_up(int number, void *arg)
{
    struct waits *w = arg;

    (void)number;
    crew_await(&w->scene.inside, 1);
    require_ok(rcx_comm_abort(w->scene.comm));
}

/* Wait for an operation that never completes: in MULTIPLE on several
 * threads. */
static void wait_until_failure(struct waits *w, rcx_thread_mode_t mode)
{
    struct crew waiters = {.size = 0};
    int x = 1;

    if (mode == RCX_THREAD_MULTIPLE) {
        start_waits(w, &waiters, RCX_SUM);
        crew_join(&waiters);
        free_waits(w);
        return;
    }
    atomic_store(&w->scene.inside, 1);
    require_status(
        rcx_allreduce(RCX_IN_PLACE, &x, 1, RCX_INT, RCX_SUM, w->scene.comm),
        RCX_ERR_COMM_FAILED);
}

static void await_failure(rcx_context_t *context, rcx_comm_t *comm)
{
    rcx_error_info_t info;

    do {
        require(rcx_progress(context) >= 0);
        require_ok(rcx_comm_error(comm, &info));
    } while (info.status == RCX_OK);
    require_status(info.status, RCX_ERR_COMM_FAILED);
}

static void abort_one(struct job *job, int rank, void *arg)
{
    (void)arg;
    for (int k = 0; k < TIMES(20, 4); k++) {
        struct waits w = {.expected = RCX_ERR_COMM_FAILED};
        struct crew crew = {.size = 0};

        require_ok(rcx_comm_dup(world_of(job, rank), &w.scene.comm));
        if (rank == 0) { /* other ranks never enter */
            crew_add(&crew, give_up, &w);
            wait_until_failure(&w, job->contexts[0]->threads);
        } else {
            await_failure(job->contexts[rank], w.scene.comm);
        }
        crew_join(&crew);
        require_ok(rcx_comm_free(&w.scene.comm));
        members_run(world_of(job, rank), (uint64_t)k);
    }
    members_check(world_of(job, rank), rank, in_order, job->size);
}

static void need_21_any_thread_may_abort_in_any_mode(void **state)
{
    (void)state;
    for (int size = 2; size <= 3; size++)
        for (int thread = 0; thread <= 1; thread++)
            for (int mode = 0; mode <= RCX_THREAD_MULTIPLE; mode++)
                crew_job(size, (rcx_thread_mode_t)mode, thread, abort_one,
                         NULL);
}

/* ---- A single thread ----------------------------------------------------- */

/* All calls on one thread. The progress thread turns SINGLE into SERIALIZED. */
static void use_world(struct job *job, int rank, void *arg)
{
    const int progress_thread = *(int *)arg;

    require(job->contexts[rank]->threads ==
            (progress_thread ? RCX_THREAD_SERIALIZED : RCX_THREAD_SINGLE));
    for (int k = 0; k < TIMES(200, 40); k++)
        crew_use(world_of(job, rank), k);
}

static void need_21_single_is_one_thread_for_all(void **state)
{
    (void)state;
    for (int size = 1; size <= 3; size++)
        for (int thread = 0; thread <= 1; thread++)
            crew_job(size, RCX_THREAD_SINGLE, thread, use_world, &thread);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(need_21_a_second_start_is_busy_beside_a_blocking_call),
        cmocka_unit_test(a_second_start_is_busy_beside_an_op),
        cmocka_unit_test(need_21_starts_that_race_are_right_or_busy),
        cmocka_unit_test(need_21_an_op_that_calls_rcx_gets_busy),
        cmocka_unit_test(
            need_21_communicator_and_op_may_be_freed_during_a_wait),
        cmocka_unit_test(need_21_any_thread_may_abort_in_any_mode),
        cmocka_unit_test(need_21_single_is_one_thread_for_all),
    };

    return cmocka_run_group_tests_name("thread_rules", tests, NULL, NULL);
}
