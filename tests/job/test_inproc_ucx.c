/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All ranks of a job in this process, over real UCX. One thread drives all
 * ranks by nonblocking calls, or each rank makes blocking calls in a thread of
 * its own.
 */
#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "core/run/fault/ctrl_msg.h"
#include "core/sched/params.h"

enum { USUAL_RANKS = 9 };

static const struct kind sum_float = {.type = RCX_FLOAT32, .op = RCX_SUM};
static const struct kind average = {.type = RCX_FLOAT32, .op = RCX_AVG};
static const struct kind last = {.type = RCX_INT16, .op = RCX_REPLACE};
static const struct kind sum_word = {.type = RCX_UINT64, .op = RCX_SUM};

static void open_job(struct job *job, int size,
                     const struct rcx_tag_layout *layout)
{
    const struct job_options options = {.ucx = true, .layout = layout};

    assert_ok(job_open(job, size, &options));
}

/* Start the call of every rank on this thread; a persistent request starts
 * once. */
static void begin(struct job *job, const struct call *call, struct calls *c)
{
    const bool persistent = call->form == PERSISTENT;

    calls_open(c, job, call);
    calls_make(c, persistent);
    if (persistent)
        calls_start(c);
}

static void finish(struct calls *c)
{
    calls_wait(c, RCX_OK);
    calls_check(c);
    calls_close(c);
}

static void run(struct job *job, struct call call)
{
    struct calls c;

    begin(job, &call, &c);
    finish(&c);
}

/* Make call k of the product of all collectives and places, with this count. */
static void run_one(struct job *job, const struct kind *kind, size_t count,
                    int k)
{
    struct call call = call_mixed(kind, count, job->size, (uint64_t)k);

    call.place = (enum place)(k / COLLECTIVES);
    if (collective_takes(call.coll, kind->op))
        run(job, call);
}

static void run_all(struct job *job, const struct kind *kind, size_t count)
{
    for (int k = 0; k < COLLECTIVES * PLACES; k++)
        run_one(job, kind, count, k);
}

static void run_counts(struct job *job)
{
    const size_t p = (size_t)job->size;
    const size_t counts[] = {0, 1, 2, p - 1, p, p + 1, 7 * p + 3, 5000};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        run_all(job, &sum_float, counts[i]);
}

static void need_13_all_collectives_at_every_size_of_job(void **state)
{
    (void)state;
    for (int size = 1; size <= USUAL_RANKS; size++) {
        struct job job;

        open_job(&job, size, NULL);
        run_counts(&job);
        run_all(&job, &last, 3 * (size_t)size + 1);
        assert_ok(job_close(&job));
    }
}

/* ---- Small and odd sizes ------------------------------------------------- */

/* Create the same user-defined type and op on all ranks. The op refers to
 * *kind. */
static void create_kind(struct job *job, size_t extent, struct kind *kind)
{
    *kind = (struct kind){.extent = extent};
    for (int i = 0; i < job->size; i++) {
        assert_ok(rcx_type_create(job->contexts[i], extent, &kind->type));
        assert_ok(rcx_op_create(job->contexts[i], serial_user_op,
                                extent % 2 ? RCX_OP_NO_FAIL : 0, kind,
                                &kind->op));
    }
}

static void free_kind(struct job *job, const struct kind *kind)
{
    for (int i = 0; i < job->size; i++) {
        struct kind mine = *kind;

        assert_ok(rcx_op_free(job->contexts[i], &mine.op));
        assert_ok(rcx_type_free(job->contexts[i], &mine.type));
    }
}

/* Make calls with vectors, and with blocks, of 0 to 2 p + 1 elements. */
static void run_few(struct job *job, const struct kind *kind)
{
    const size_t p = (size_t)job->size, most = 2 * p + 1;

    for (size_t count = 0; count <= most; count++) {
        run_all(job, kind, count);
        for (uint64_t k = 0; k < COLLECTIVES; k++) {
            struct call call = call_mixed(kind, count, job->size, k);

            call.place = MIXED;
            run(job, call);
        }
    }
    for (size_t count = 0; count <= most; count++)
        run(job, (struct call){.coll = REDUCE_SCATTER_BLOCK,
                               .form = PERSISTENT,
                               .place = (enum place)(count % (PLACES + 1)),
                               .kind = kind,
                               .count = count,
                               .seed = count});
}

/* All buffers have canaries at both ends. A pointer is NULL if no data is
 * there. */
static void need_18_few_elements_change_no_neighbouring_memory(void **state)
{
    static const size_t extents[] = {1, 2, 3, 12, 100, 1000};
    static const struct kind predefined[] = {
        {.type = RCX_UINT8, .op = RCX_SUM},
        {.type = RCX_INT16, .op = RCX_MAX},
        {.type = RCX_SHORT_INT, .op = RCX_MINLOC},
        {.type = RCX_COMPLEX_DOUBLE, .op = RCX_PROD}};

    (void)state;
    for (int size = 2; size <= 5; size++) {
        struct job job;

        open_job(&job, size, NULL);
        for (size_t i = 0; i < sizeof predefined / sizeof *predefined; i++)
            run_few(&job, &predefined[i]);
        for (size_t i = 0; i < sizeof extents / sizeof *extents; i++) {
            struct kind kind;

            create_kind(&job, extents[i], &kind);
            run_few(&job, &kind);
            free_kind(&job, &kind);
        }
        assert_ok(job_close(&job));
    }
}

static void count_line(rcx_log_level_t level, const char *text, void *arg)
{
    (void)text;
    assert_int_equal(level, RCX_LOG_ERROR);
    ++*(int *)arg;
}

/* Make the call with many elements, far more than the buffers hold. It must be
 * rejected. */
static void refuse(struct job *job, struct call call, size_t many, int *lines)
{
    const size_t blocks[] = {many, 0};
    struct arguments arguments;
    struct attempt a;

    if (collectives[call.coll].gets == EXTENT_NONE)
        return;
    attempt_open(&a, &call, world_of(job, 0));
    arguments = a.arguments;
    arguments.comm = world_of(job, 0);
    arguments.count = many;
    arguments.blocks = arguments.sendcounts = blocks;
    *lines = 0;
    assert_status(collective_call(call.coll, call.form, &arguments, &a.request),
                  RCX_ERR_ARG);
    assert_int_equal(*lines, 1);
    assert_null(a.request);
    attempt_close(&a);
}

static void need_18_more_bytes_than_there_can_be_are_refused(void **state)
{
    static const size_t extents[] = {1, 2, 3, 12, 100, 1000};
    int lines = 0;
    const rcx_params_t params = {
        .field_mask = RCX_PARAM_LOG, .log = count_line, .log_arg = &lines};
    const struct job_options options = {.ucx = true, .params = &params};
    struct job job;

    (void)state;
    assert_ok(job_open(&job, 2, &options));
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++) {
        struct kind kind;
        const size_t many[] = {
            PTRDIFF_MAX / extents[i] + 1, SIZE_MAX / extents[i],
            SIZE_MAX / extents[i] + (extents[i] > 1), SIZE_MAX};

        create_kind(&job, extents[i], &kind);
        for (int k = 0; k < 4 * COLLECTIVES * FORMS; k++)
            refuse(&job,
                   (struct call){
                       .coll = (enum collective)(k % COLLECTIVES),
                       /* blocking last: one that is accepted hangs */
                       .form = (enum form)((k / COLLECTIVES + 1) % FORMS),
                       .place = (enum place)((k + k / COLLECTIVES) % PLACES),
                       .kind = &kind,
                       .count = 2},
                   many[k / (COLLECTIVES * FORMS)], &lines);
        run_all(&job, &kind, 5); /* the communicator still works */
        assert_int_equal(lines, 1);
        free_kind(&job, &kind);
    }
    assert_ok(job_close(&job));
}

/* ---- Every algorithm ----------------------------------------------------- */

/* Whether a collective's name begins with that of coll: allgather is also
 * allgatherv. */
static bool may_be_of(enum rcx_coll coll, enum collective called)
{
    const char *name = rcx_coll_name(coll);

    return strncmp(collectives[called].name, name, strlen(name)) == 0;
}

static void run_forced(struct job *job, const struct rcx_algo *algo,
                       size_t segment_bytes)
{
    struct rcx_shape shape = {.coll = algo->coll,
                              .size = job->size,
                              .count = 1,
                              .elem_bytes = 4,
                              .commutative = true};
    const bool prefix = rcx_colls[algo->coll].is_prefix; /* no average */

    rcx_params_reset(algo, shape.params);
    rcx_params_settle(algo, &shape);
    if (!rcx_algo_fits(algo, &shape))
        return;
    job_force(job, algo, segment_bytes);
    for (int k = 0; k < COLLECTIVES * PLACES; k++)
        if (may_be_of(algo->coll, (enum collective)(k % COLLECTIVES)))
            run_one(job, prefix ? &sum_float : &average, 17000, k);
    job_unforce(job, algo->coll);
}

/* Long vectors. test_algorithms.c has short vectors and other sizes of job. */
static void every_algorithm_when_forced(void **state)
{
    struct job job;

    (void)state;
    open_job(&job, 5, NULL);
    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++) {
        if (!rcx_coll_has_data((*a)->coll))
            continue;
        run_forced(&job, *a, SIZE_MAX);
        run_forced(&job, *a, 2048);
    }
    assert_ok(job_close(&job));
}

/* ---- Messages ------------------------------------------------------------ */

static void need_2_both_sides_of_the_rendezvous_threshold(void **state)
{
    static const size_t kib[] = {8, 16, 64, 128, 256, 1024};
    const int sizes[] = {2, 5};
    uint64_t k = 0;

    (void)state;
    for (int s = 0; s < 2; s++) {
        struct job job;

        open_job(&job, sizes[s], NULL);
        for (size_t i = 0; i < 6; i++)
            for (size_t at = 0; at < 3; at++, k++)
                run(&job,
                    call_mixed(&sum_float, kib[i] * 256 + at - 1, sizes[s], k));
        assert_ok(job_close(&job));
    }
}

/* ---- Connections --------------------------------------------------------- */

static int most_endpoints(const struct job *job)
{
    int most = 0;

    for (int i = 0; i < job->size; i++) {
        const int n = job->contexts[i]->transport->endpoints;

        most = n > most ? n : most;
    }
    return most;
}

/* No operation waits for a control message. So the error of a control message
 * that cannot be sent must not stay as the last error of the transport. */
static void a_control_message_that_fails_sets_no_last_error(void **state)
{
    const struct rcx_ctrl_msg body = {.kind = RCX_CTRL_ENTERED};
    struct rcx_transport *t;
    struct job job;

    (void)state;
    setenv("UCX_TLS", "self", 1);
    open_job(&job, 2, NULL);
    unsetenv("UCX_TLS");
    t = job.contexts[0]->transport;
    for (int i = 0; i < 2; i++) { /* the second does not retry */
        t->ops->send_ctrl(t, 1, &body, sizeof body);
        assert_string_equal(t->last_error, "");
    }
    assert_status(t->ops->reach(t, 1), RCX_ERR_TRANSPORT);
    assert_non_null(strstr(t->last_error, " to rank 1 on "));
    for (int i = 0; i < 2; i++)
        assert_ok(rcx_comm_abort(world_of(&job, i)));
    job_abandon(&job);
}

/* Completion acknowledgements begin at the size that UCX_RNDV_THRESH sets.
 * These are texts that UCX accepts. */
static void acks_begin_at_the_users_rendezvous_threshold(void **state)
{
    enum { MOST = 16384, UCX_CHOOSES = 1024 };
    static const struct {
        const char *text;
        size_t bytes;
    } cases[] = {
        {"0", 0},      {"1", 1},         {"700", 700},
        {"700b", 700}, {"2k", 2048},     {"2K", 2048},
        {"2KB", 2048}, {"16383", 16383}, {"16384", MOST},
        {"64K", MOST}, {"0M", 0},        {"1m", MOST},
        {"1MB", MOST}, {"1G", MOST},     {"inf", MOST},
        {"INF", MOST}, {"-1", MOST},     {"auto", UCX_CHOOSES},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job job;

        setenv("UCX_RNDV_THRESH", cases[i].text, 1);
        setenv("RCX_LANES", "ucp", 1);
        open_job(&job, 2, NULL);
        unsetenv("UCX_RNDV_THRESH");
        unsetenv("RCX_LANES");
        if (job.contexts[1]->ack_bytes != cases[i].bytes)
            fail_msg("UCX_RNDV_THRESH=%s: credits from %zu bytes on, not %zu",
                     cases[i].text, job.contexts[1]->ack_bytes, cases[i].bytes);
        assert_ok(job_close(&job));
    }
}

/* Without either variable acknowledgements begin at the upper limit.
 * RCX_UCX_RNDV_THRESH overrides UCX_RNDV_THRESH. */
static void acks_begin_at_the_limit_without_a_users_threshold(void **state)
{
    struct job job;

    (void)state;
    setenv("RCX_LANES", "ucp", 1);
    unsetenv("RCX_UCX_RNDV_THRESH");
    unsetenv("UCX_RNDV_THRESH");
    open_job(&job, 2, NULL);
    assert_int_equal(job.contexts[0]->ack_bytes, 16384);
    assert_ok(job_close(&job));
    setenv("UCX_RNDV_THRESH", "4K", 1);
    setenv("RCX_UCX_RNDV_THRESH", "8K", 1);
    open_job(&job, 2, NULL);
    unsetenv("UCX_RNDV_THRESH");
    unsetenv("RCX_UCX_RNDV_THRESH");
    assert_int_equal(job.contexts[0]->ack_bytes, 8192);
    assert_ok(job_close(&job));
    unsetenv("RCX_LANES");
}

static void need_28_few_endpoints_and_none_before_first_use(void **state)
{
    static const struct {
        int size, rounds;
    } cases[] = {{3, 2}, {8, 3}, {16, 4}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int size = cases[i].size;
        struct job job;

        open_job(&job, size, NULL);
        assert_int_equal(most_endpoints(&job), 0);
        run(&job, (struct call){.coll = ALLREDUCE,
                                .kind = &sum_word,
                                .count = 1,
                                .form = NONBLOCKING});
        assert_in_range(most_endpoints(&job), 1, 2 * cases[i].rounds + 2);
        assert_ok(job_close(&job));
    }
}

/* ---- Many operations in flight ------------------------------------------- */

/* Start count operations, and complete them in reverse order. */
static void run_outstanding(struct job *job, int count)
{
    struct calls *rounds = calloc((size_t)count, sizeof *rounds);

    assert_non_null(rounds);
    for (int k = 0; k < count; k++) {
        const size_t elements = k % 10 == 3 ? 20000 : (size_t)k * 3;
        struct call call =
            call_mixed(&sum_word, elements, job->size, (uint64_t)k);

        call.form = NONBLOCKING;
        begin(job, &call, &rounds[k]);
    }
    for (int k = count - 1; k >= 0; k--)
        finish(&rounds[k]);
    free(rounds);
}

static void need_24_a_hundred_outstanding_operations(void **state)
{
    const int sizes[] = {2, 3, 4, 7};

    (void)state;
    for (int s = 0; s < 4; s++) {
        struct job job;

        open_job(&job, sizes[s], NULL);
        run_outstanding(&job, 100);
        assert_ok(job_close(&job));
    }
}

/* Every number in a tag repeats after four. */
static void tags_of_two_bits(void **state)
{
    static const struct rcx_tag_layout layout = {2, 2, 2, 2, 22};
    const int sizes[] = {2, 3, 5, 8};

    (void)state;
    for (int s = 0; s < 4; s++) {
        struct job job;

        open_job(&job, sizes[s], &layout);
        run_outstanding(&job, 40);
        run_all(&job, &sum_float, 100000);
        assert_ok(job_close(&job));
    }
}

/* ---- Blocking ------------------------------------------------------------ */

struct side {
    pthread_t thread;
    struct job *job;
    int rank;
    rcx_status_t status;
    char problem[256];
};

static void *block(void *arg)
{
    struct side *side = arg;
    rcx_comm_t *comm = rcx_world(side->job->contexts[side->rank]);

    for (uint64_t k = 0; k < 200 && side->status == RCX_OK; k++) {
        struct call call =
            call_mixed(&sum_word, k % 16 == 7 ? 40000 : k, side->job->size, k);

        call.form = BLOCKING;
        side->status = call_run(&call, comm, side->problem);
    }
    return NULL;
}

static void blocking_calls_with_a_thread_per_rank(void **state)
{
    const int sizes[] = {1, 2, 3, 4, 6};

    (void)state;
    for (int s = 0; s < 5; s++) {
        struct side sides[MOST_RANKS] = {{.rank = 0}};
        struct job job;

        open_job(&job, sizes[s], NULL);
        for (int i = 0; i < job.size; i++) {
            sides[i].job = &job;
            sides[i].rank = i;
            pthread_create(&sides[i].thread, NULL, block, &sides[i]);
        }
        for (int i = 0; i < job.size; i++)
            pthread_join(sides[i].thread, NULL);
        for (int i = 0; i < job.size; i++)
            if (sides[i].status != RCX_OK)
                fail_msg("rank %d of %d: %s", i, job.size, sides[i].problem);
        assert_ok(job_close(&job));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(need_13_all_collectives_at_every_size_of_job),
        cmocka_unit_test(need_18_few_elements_change_no_neighbouring_memory),
        cmocka_unit_test(need_18_more_bytes_than_there_can_be_are_refused),
        cmocka_unit_test(every_algorithm_when_forced),
        cmocka_unit_test(need_2_both_sides_of_the_rendezvous_threshold),
        cmocka_unit_test(a_control_message_that_fails_sets_no_last_error),
        cmocka_unit_test(acks_begin_at_the_users_rendezvous_threshold),
        cmocka_unit_test(acks_begin_at_the_limit_without_a_users_threshold),
        cmocka_unit_test(need_28_few_endpoints_and_none_before_first_use),
        cmocka_unit_test(need_24_a_hundred_outstanding_operations),
        cmocka_unit_test(tags_of_two_bits),
        cmocka_unit_test(blocking_calls_with_a_thread_per_rank),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
