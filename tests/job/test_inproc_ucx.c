/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All ranks of a job in this process, over real UCX: one thread drives them by
 * nonblocking calls, or each rank blocks in a thread of its own.
 */
#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "context.h"
#include "core/sched/params.h"
#include "trial.h"

enum { MOST_RANKS = 16, USUAL_RANKS = 9 };

static const struct serial_kind sum_float = {RCX_FLOAT32, RCX_SUM, 0};
static const struct serial_kind average = {RCX_FLOAT32, RCX_AVG, 0};
static const struct serial_kind last = {RCX_INT16, RCX_REPLACE, 0};
static const struct serial_kind sum_word = {RCX_UINT64, RCX_SUM, 0};

static void open_job(struct job *job, int size,
                     const struct rcx_tag_layout *layout)
{
    const struct job_options options = {.ucx = true, .layout = layout};

    assert_ok(job_open(job, size, &options));
}

/* One trial on all ranks, on this thread. */
struct round {
    struct attempt attempts[MOST_RANKS];
    rcx_request_t *requests[MOST_RANKS];
};

static void begin(struct job *job, const struct trial *trial,
                  struct round *round)
{
    for (int i = 0; i < job->size; i++) {
        struct attempt *a = &round->attempts[i];
        rcx_comm_t *comm = rcx_world(job->contexts[i]);
        struct trial mine = *trial;

        if (mine.place == TRIAL_PLACES) /* one of its own for each rank */
            mine.place =
                (enum trial_place)((trial->seed + (uint64_t)i) % TRIAL_PLACES);
        attempt_open(a, &mine, comm);
        assert_ok(attempt_call(a, comm));
        if (trial->form == TRIAL_PERSISTENT)
            assert_ok(rcx_start(a->request));
        round->requests[i] = a->request;
    }
}

static void finish(struct job *job, struct round *round)
{
    assert_ok(job_wait(job, round->requests));
    for (int i = 0; i < job->size; i++) {
        if (attempt_check(&round->attempts[i]))
            fail_msg("rank %d of %d: %s", i, job->size,
                     round->attempts[i].problem);
        attempt_close(&round->attempts[i]);
    }
}

static void run(struct job *job, struct trial trial)
{
    struct round round;

    if (trial.form == TRIAL_BLOCKING)
        trial.form = TRIAL_NONBLOCKING;
    begin(job, &trial, &round);
    finish(job, &round);
}

/* All collectives and places, for a count. */
static void run_all(struct job *job, const struct serial_kind *kind,
                    size_t count)
{
    for (int k = 0; k < TRIAL_COLLS * TRIAL_PLACES; k++) {
        struct trial trial = trial_mixed(kind, count, job->size, (uint64_t)k);

        trial.place = (enum trial_place)(k / TRIAL_COLLS);
        run(job, trial);
    }
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

/* ---- Little and odd ------------------------------------------------------ */

/* The same type and op of the user's on all ranks. */
static struct serial_kind create_kind(struct job *job, size_t *extent)
{
    struct serial_kind kind = {.extent = *extent};

    for (int i = 0; i < job->size; i++) {
        assert_ok(rcx_type_create(job->contexts[i], *extent, &kind.type));
        assert_ok(rcx_op_create(job->contexts[i], serial_user_op,
                                *extent % 2 ? RCX_OP_NO_FAIL : 0, extent,
                                &kind.op));
    }
    return kind;
}

static void free_kind(struct job *job, const struct serial_kind *kind)
{
    for (int i = 0; i < job->size; i++) {
        struct serial_kind mine = *kind;

        assert_ok(rcx_op_free(job->contexts[i], &mine.op));
        assert_ok(rcx_type_free(job->contexts[i], &mine.type));
    }
}

/* As vectors, and as blocks, of up to so many elements. */
static void run_few(struct job *job, const struct serial_kind *kind)
{
    const size_t p = (size_t)job->size, most = 2 * p + 1;

    for (size_t count = 0; count <= most; count++) {
        run_all(job, kind, count);
        for (uint64_t k = 0; k < TRIAL_COLLS; k++) {
            struct trial trial = trial_mixed(kind, count, job->size, k);

            trial.place = TRIAL_PLACES;
            run(job, trial);
        }
    }
    for (size_t count = 0; count <= most; count++)
        run(job, (struct trial){.coll = TRIAL_REDUCE_SCATTER_BLOCK,
                                .form = TRIAL_PERSISTENT,
                                .place = count % (TRIAL_PLACES + 1),
                                .kind = *kind,
                                .count = count * p,
                                .seed = count});
}

/* Canaries lie at both ends of all buffers; NULL where nothing is. */
static void need_18_few_elements_leave_their_neighbours_alone(void **state)
{
    static size_t extents[] = {1, 2, 3, 12, 100, 1000};
    static const struct serial_kind predefined[] = {
        {RCX_UINT8, RCX_SUM, 0},
        {RCX_INT16, RCX_MAX, 0},
        {RCX_SHORT_INT, RCX_MINLOC, 0},
        {RCX_COMPLEX_DOUBLE, RCX_PROD, 0}};

    (void)state;
    for (int size = 2; size <= 5; size++) {
        struct job job;

        open_job(&job, size, NULL);
        for (size_t i = 0; i < sizeof predefined / sizeof *predefined; i++)
            run_few(&job, &predefined[i]);
        for (size_t i = 0; i < sizeof extents / sizeof *extents; i++) {
            const struct serial_kind kind = create_kind(&job, &extents[i]);

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

/* The call of an attempt, but of many more elements than there are. */
static void refuse(struct job *job, struct trial trial, size_t many, int *lines)
{
    rcx_comm_t *comm = rcx_world(job->contexts[0]);
    struct attempt a;

    attempt_open(&a, &trial, comm);
    a.trial.count = a.out_count = a.blocks[0] = many;
    *lines = 0;
    assert_status(attempt_call(&a, comm), RCX_ERR_ARG);
    assert_int_equal(*lines, 1);
    assert_null(a.request);
    attempt_close(&a);
}

static void need_18_more_bytes_than_there_can_be_are_refused(void **state)
{
    static size_t extents[] = {1, 2, 3, 12, 100, 1000};
    int lines = 0;
    const rcx_params_t params = {
        .field_mask = RCX_PARAM_LOG, .log = count_line, .log_arg = &lines};
    const struct job_options options = {.ucx = true, .params = &params};
    struct job job;

    (void)state;
    assert_ok(job_open(&job, 2, &options));
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++) {
        const struct serial_kind kind = create_kind(&job, &extents[i]);
        const size_t many[] = {
            PTRDIFF_MAX / extents[i] + 1, SIZE_MAX / extents[i],
            SIZE_MAX / extents[i] + (extents[i] > 1), SIZE_MAX};

        for (int k = 0; k < 4 * TRIAL_COLLS * TRIAL_FORMS; k++)
            refuse(
                &job,
                (struct trial){.coll = (enum trial_coll)(k % TRIAL_COLLS),
                               /* a blocking one that is accepted hangs: last */
                               .form = (enum trial_form)((k / TRIAL_COLLS + 1) %
                                                         TRIAL_FORMS),
                               .place = k % TRIAL_PLACES,
                               .kind = kind,
                               .count = 2},
                many[k / (TRIAL_COLLS * TRIAL_FORMS)], &lines);
        run_all(&job, &kind, 5); /* nothing is broken */
        assert_int_equal(lines, 1);
        free_kind(&job, &kind);
    }
    assert_ok(job_close(&job));
}

/* ---- Every algorithm ----------------------------------------------------- */

static void run_forced(struct job *job, const struct rcx_algo *algo,
                       size_t segment_bytes)
{
    struct rcx_shape shape = {.coll = algo->coll,
                              .size = job->size,
                              .count = 1,
                              .elem_bytes = 4,
                              .commutative = true};

    rcx_params_reset(algo, shape.params);
    rcx_params_settle(algo, &shape, &rcx_machine_usual);
    if (!rcx_algo_fits(algo, &shape))
        return;
    job_force(job, algo, segment_bytes);
    run_all(job, &average, 17000);
    job_unforce(job, algo->coll);
}

/* Long vectors; short ones and other sizes of job are test_algorithms.c's. */
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
                run(&job, trial_mixed(&sum_float, kib[i] * 256 + at - 1,
                                      sizes[s], k));
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
        run(&job, (struct trial){.coll = TRIAL_ALLREDUCE,
                                 .kind = sum_word,
                                 .count = 1,
                                 .form = TRIAL_NONBLOCKING});
        assert_in_range(most_endpoints(&job), 1, 2 * cases[i].rounds + 2);
        assert_ok(job_close(&job));
    }
}

/* ---- Many ---------------------------------------------------------------- */

/* Many operations under way at once, finished in reverse order. */
static void run_outstanding(struct job *job, int count)
{
    struct round *rounds = calloc((size_t)count, sizeof *rounds);

    assert_non_null(rounds);
    for (int k = 0; k < count; k++) {
        const size_t elements = k % 10 == 3 ? 20000 : (size_t)k * 3;
        struct trial trial =
            trial_mixed(&sum_word, elements, job->size, (uint64_t)k);

        trial.form = TRIAL_NONBLOCKING;
        begin(job, &trial, &rounds[k]);
    }
    for (int k = count - 1; k >= 0; k--)
        finish(job, &rounds[k]);
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
        struct trial trial =
            trial_mixed(&sum_word, k % 16 == 7 ? 40000 : k, side->job->size, k);

        trial.form = TRIAL_BLOCKING;
        side->status = trial_run(&trial, comm, side->problem);
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
        cmocka_unit_test(need_18_few_elements_leave_their_neighbours_alone),
        cmocka_unit_test(need_18_more_bytes_than_there_can_be_are_refused),
        cmocka_unit_test(every_algorithm_when_forced),
        cmocka_unit_test(need_2_both_sides_of_the_rendezvous_threshold),
        cmocka_unit_test(need_28_few_endpoints_and_none_before_first_use),
        cmocka_unit_test(need_24_a_hundred_outstanding_operations),
        cmocka_unit_test(tags_of_two_bits),
        cmocka_unit_test(blocking_calls_with_a_thread_per_rank),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
