/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocation of communicator ids (need 22): many communicators in sequence and
 * at once, until ids run out, and by several threads concurrently. All ranks
 * are threads of one process over the simulated network.
 */
#include "test.h"

#include <pthread.h>
#include <string.h>

#include "context.h"
#include "crew.h"
#include "members.h"
#include "overlaps.h"

enum { MOST = TIMES(9, 4) };

static void open_job(struct job *job, int size, uint64_t seed,
                     const struct rcx_tag_layout *layout,
                     rcx_thread_mode_t threads)
{
    const rcx_params_t params = {.field_mask =
                                     RCX_PARAM_LOG | RCX_PARAM_THREADS,
                                 .log = lines_discard,
                                 .threads = threads};
    const struct job_options options = {
        .params = &params, .layout = layout, .threaded = true, .seed = seed};

    assert_ok(job_open(job, size, &options));
}

static int sum_of(rcx_comm_t *comm, int x)
{
    require_ok(rcx_allreduce(RCX_IN_PLACE, &x, 1, RCX_INT, RCX_SUM, comm));
    return x;
}

/* ---- One after another --------------------------------------------------- */

enum { CYCLES = TIMES(10000, 150), WARM_UP = 100 };

static void cycle(struct job *job, int rank, void *arg)
{
    struct rcx_context *context = job->contexts[rank];
    const size_t ids = rcx_comm_ids_bytes(&context->comms.ids);
    unsigned char *used = malloc(ids);
    uint64_t live = 0;

    (void)arg;
    memcpy(used, context->comms.ids.used, ids);
    for (int i = 0; i < CYCLES; i++) {
        rcx_comm_t *comm = members_make(world_of(job, rank), i);

        require(sum_of(comm, rank + i) ==
                job->size * (job->size - 1) / 2 + job->size * i);
        require_ok(rcx_comm_free(&comm));
        if (i == WARM_UP)
            live = context->heap.live;
        require(i < WARM_UP || context->heap.live == live);
        require(memcmp(used, context->comms.ids.used, ids) == 0);
    }
    free(used);
}

static void need_22_ten_thousand_cycles_leave_nothing_behind(void **state)
{
    (void)state;
    for (int size = 1; size <= 3; size++) {
        struct job job;

        open_job(&job, size, 7, NULL, RCX_THREAD_SERIALIZED);
        job_each(&job, cycle, NULL);
        assert_ok(job_close(&job));
    }
}

/* ---- Many at once -------------------------------------------------------- */

enum { LIVE = TIMES(4096, 256) };

static void hold_many(struct job *job, int rank, void *arg)
{
    rcx_comm_t **comms = calloc(LIVE, sizeof *comms);
    rcx_request_t **requests = calloc(LIVE, sizeof *requests);
    int *values = calloc(LIVE, sizeof *values);
    int *order = calloc(LIVE, sizeof *order);
    uint64_t random = (uint64_t)rank;

    (void)arg;
    for (int i = 0; i < LIVE; i++)
        require_ok(rcx_comm_dup(world_of(job, rank), &comms[i]));
    for (int i = 0; i < LIVE; i++) {
        values[i] = rank * LIVE + i;
        require_ok(rcx_iallreduce(RCX_IN_PLACE, &values[i], 1, RCX_INT, RCX_SUM,
                                  comms[i], &requests[i]));
    }
    require_ok(rcx_wait_all(LIVE, requests));
    members_shuffle(&random, order, LIVE);
    for (int i = 0; i < LIVE; i++) {
        require(values[order[i]] == LIVE + 2 * order[i]);
        require_ok(rcx_request_free(&requests[order[i]]));
        require_ok(rcx_comm_free(&comms[order[i]]));
    }
    free(comms);
    free(requests);
    free(values);
    free(order);
}

static void need_22_four_thousand_communicators_live_at_once(void **state)
{
    struct job job;

    (void)state;
    open_job(&job, 2, 1, NULL, RCX_THREAD_SERIALIZED);
    job_each(&job, hold_many, NULL);
    assert_ok(job_close(&job));
}

/* ---- Until ids run out --------------------------------------------------- */

static const struct rcx_tag_layout few = {3, 13, 10, 6, 22};
enum { FEW = (1 << 3) - RCX_COMM_ID_FIRST };

static void exhaust(struct job *job, int rank, void *arg)
{
    rcx_comm_t *comms[FEW], *one_more = NULL, *world = world_of(job, rank);

    (void)arg;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < FEW; i++)
            require_ok(rcx_comm_dup(world, &comms[i]));
        require_status(rcx_comm_dup(world, &one_more), RCX_ERR_LIMIT);
        require_status(rcx_comm_split(world, rank % 2, 0, &one_more),
                       RCX_ERR_LIMIT);
        require_status(
            rcx_comm_create_group(world, job->size, in_order, 1, &one_more),
            RCX_ERR_LIMIT);
        require(!one_more);
        for (int i = 0; i < FEW; i++)
            members_check(comms[i], rank, in_order, job->size);
        require_ok(rcx_comm_free(&comms[round]));
        require_ok(rcx_comm_dup(world, &comms[round]));
        members_check(comms[round], rank, in_order, job->size);
        for (int i = 0; i < FEW; i++)
            require_ok(rcx_comm_free(&comms[i]));
    }
}

static void need_22_all_members_learn_that_numbers_ran_out(void **state)
{
    (void)state;
    for (int size = 1; size <= 5; size++) {
        struct job job;

        open_job(&job, size, 3, &few, RCX_THREAD_SERIALIZED);
        job_each(&job, exhaust, NULL);
        assert_ok(job_close(&job));
    }
}

/* Ranks 0 and 1 use all ids in groups of their own. Then each of them frees one
 * id, but not the same: an id must be free on all members, so a dup of world
 * must fail until both have freed the same one. */
static void exhaust_one(struct job *job, int rank, void *arg)
{
    rcx_comm_t *comms[FEW], *all = NULL, *world = world_of(job, rank);
    const int pair[2] = {rank / 2 * 2, rank / 2 * 2 + 1};

    (void)arg;
    for (int i = 0; i < FEW && rank < 2; i++)
        require_ok(rcx_comm_create_group(world, 2, pair, i, &comms[i]));
    require_status(rcx_comm_dup(world, &all), RCX_ERR_LIMIT);
    if (rank >= 2) { /* these have free ids of their own */
        require_ok(rcx_comm_create_group(world, 2, pair, 0, &comms[0]));
        members_check(comms[0], rank, pair, 2);
        require_ok(rcx_comm_free(&comms[0]));
    } else {
        require_ok(rcx_comm_free(&comms[rank])); /* a different id on each */
    }
    require_status(rcx_comm_dup(world, &all), RCX_ERR_LIMIT);
    if (rank < 2)
        require_ok(rcx_comm_free(&comms[1 - rank]));
    require_ok(rcx_comm_dup(world, &all));
    members_check(all, rank, in_order, job->size);
    require_ok(rcx_comm_free(&all));
    for (int i = 2; i < FEW && rank < 2; i++)
        require_ok(rcx_comm_free(&comms[i]));
}

static void a_number_has_to_be_free_on_all_members(void **state)
{
    struct job job;

    (void)state;
    open_job(&job, 4, 5, &few, RCX_THREAD_SERIALIZED);
    job_each(&job, exhaust_one, NULL);
    assert_ok(job_close(&job));
}

/* ---- Overlapping communicators, all in use ------------------------------- */

static void use_overlaps(struct job *job, int rank, void *arg)
{
    overlaps_use(world_of(job, rank), *(uint64_t *)arg, 160);
}

static void need_22_64_overlapping_ones_are_used_in_any_order(void **state)
{
    (void)state;
    for (int size = 2; size <= MOST; size++) {
        uint64_t seed = 100 + (uint64_t)size;
        struct job job;

        open_job(&job, size, seed, NULL, RCX_THREAD_SERIALIZED);
        job_each(&job, use_overlaps, &seed);
        assert_ok(job_close(&job));
    }
}

/* ---- Made concurrently --------------------------------------------------- */

enum { MAKERS = 3, ROUNDS = TIMES(40, 10) };

/* A thread of a rank. Threads with the same number on all ranks make
 * communicators together. */
struct maker {
    pthread_t thread;
    struct job *job;
    pthread_barrier_t *together; /* barrier of this rank's threads */
    rcx_comm_t *parent;
    int rank, number;
    void (*make)(struct maker *m, int round, rcx_comm_t **comm_p);
};

static void make_by_dup(struct maker *m, int round, rcx_comm_t **comm_p)
{
    (void)round;
    require_ok(rcx_comm_dup(m->parent, comm_p));
}

/* Make groups of the same ranks. Only their tags differ, and are neighbours. */
static void make_by_group(struct maker *m, int round, rcx_comm_t **comm_p)
{
    require_ok(rcx_comm_create_group(world_of(m->job, m->rank), m->job->size,
                                     in_order, 2 * (round % 2) + m->number,
                                     comm_p));
}

static void make_by_either(struct maker *m, int round, rcx_comm_t **comm_p)
{
    (m->number % 2 ? make_by_dup : make_by_group)(m, round, comm_p);
}

static void *run_maker(void *arg)
{
    struct maker *m = arg;

    for (int round = 0; round < ROUNDS; round++) {
        struct attempt attempts[4];
        rcx_comm_t *comm = NULL;

        pthread_barrier_wait(m->together);
        m->make(m, round, &comm);
        for (uint64_t k = 0; k < 4; k++) /* data differs by thread */
            members_start(&attempts[k], comm, k,
                          serial_mix(k, (uint64_t)m->number, 0));
        for (int k = 0; k < 4; k++)
            members_finish(&attempts[k]);
        members_check(comm, m->rank, in_order, m->job->size);
        require_ok(rcx_comm_free(&comm));
    }
    return NULL;
}

static void make_at_once(struct job *job, int rank, void *arg)
{
    struct maker makers[MAKERS];
    pthread_barrier_t together;

    pthread_barrier_init(&together, NULL, MAKERS);
    for (int i = 0; i < MAKERS; i++) {
        makers[i] = (struct maker){
            .job = job, .together = &together, .rank = rank, .number = i};
        memcpy(&makers[i].make, arg, sizeof makers[i].make);
        require_ok(rcx_comm_dup(world_of(job, rank), &makers[i].parent));
    }
    for (int i = 0; i < MAKERS; i++)
        pthread_create(&makers[i].thread, NULL, run_maker, &makers[i]);
    for (int i = 0; i < MAKERS; i++) {
        pthread_join(makers[i].thread, NULL);
        require_ok(rcx_comm_free(&makers[i].parent));
    }
    pthread_barrier_destroy(&together);
}

static void run_makers(void (*make)(struct maker *m, int round,
                                    rcx_comm_t **comm_p))
{
    for (int size = 2; size <= 4; size++) {
        struct job job;

        open_job(&job, size, (uint64_t)size, NULL, RCX_THREAD_MULTIPLE);
        job_each(&job, make_at_once, &make);
        assert_ok(job_close(&job));
    }
}

static void need_22_threads_make_communicators_at_once(void **state)
{
    (void)state;
    run_makers(make_by_dup);
}

static void need_22_groups_with_different_tags_are_made_at_once(void **state)
{
    (void)state;
    run_makers(make_by_group);
    setenv("RCX_CHECK", "full", 1);
    run_makers(make_by_group);
    unsetenv("RCX_CHECK");
}

/* A tag layout with just as many ids as the threads need. */
static const struct rcx_tag_layout scarce = {4, 13, 10, 6, 22};
enum { SPARE = (1 << 4) - RCX_COMM_ID_FIRST - 2 * MAKERS };

static void hold_some(struct job *job, int rank, void *arg)
{
    rcx_comm_t **comms = arg;

    for (int i = 0; i < SPARE; i++)
        require_ok(rcx_comm_dup(world_of(job, rank), &comms[rank * SPARE + i]));
}

static void drop_some(struct job *job, int rank, void *arg)
{
    rcx_comm_t **comms = arg;

    (void)job;
    for (int i = 0; i < SPARE; i++)
        require_ok(rcx_comm_free(&comms[rank * SPARE + i]));
}

static void threads_that_make_communicators_share_the_last_numbers(void **state)
{
    void (*make)(struct maker * m, int round, rcx_comm_t **comm_p) =
        make_by_either;
    rcx_comm_t *comms[2 * SPARE];
    struct job job;

    (void)state;
    open_job(&job, 2, 1, &scarce, RCX_THREAD_MULTIPLE);
    job_each(&job, hold_some, comms);
    job_each(&job, make_at_once, &make);
    job_each(&job, drop_some, comms);
    assert_ok(job_close(&job));
}

/* ---- A delayed allocation ------------------------------------------------ */

/*
 * Two groups try to allocate the last id concurrently: ranks 0 and 1, and ranks
 * 0 and 2. The first group reserves it at rank 0. At rank 1 another
 * communicator takes it, so the first group has to return it. Before that, as
 * rank 1 is slow, the second group finds no free id. It must look again, and
 * get the id.
 */
enum { LAST = RCX_COMM_ID_FIRST + FEW - 1 };

static struct {
    struct rcx_transport_ops ops[3]; /* by rank */
    rcx_status_t (*send)(struct rcx_transport *t, int peer, const void *buffer,
                         size_t bytes, uint64_t tag, struct rcx_message *m);
    struct rcx_comm_ids *ids; /* of rank 1 */
    atomic_int is_consumed;   /* rank 0 has reserved the id for pair 1 */
    atomic_int looks;         /* allocations begun by rank 2 */
} held;

static uint32_t id_in(uint64_t tag)
{
    return (uint32_t)(tag >> (few.sequence_bits + few.message_bits +
                              few.fingerprint_bits + few.rank_bits));
}

static rcx_status_t send_from_0(struct rcx_transport *t, int peer,
                                const void *buffer, size_t bytes, uint64_t tag,
                                struct rcx_message *m)
{
    if (id_in(tag) == RCX_COMM_ID_SETTLE)
        atomic_store(&held.is_consumed, 1);
    return held.send(t, peer, buffer, bytes, tag, m);
}

static rcx_status_t send_from_1(struct rcx_transport *t, int peer,
                                const void *buffer, size_t bytes, uint64_t tag,
                                struct rcx_message *m)
{
    if (id_in(tag) == RCX_COMM_ID_GROUP)
        rcx_comm_id_get(held.ids, LAST);
    if (id_in(tag) == RCX_COMM_ID_SETTLE)
        crew_await(&held.looks, 2);
    return held.send(t, peer, buffer, bytes, tag, m);
}

static rcx_status_t send_from_2(struct rcx_transport *t, int peer,
                                const void *buffer, size_t bytes, uint64_t tag,
                                struct rcx_message *m)
{
    if (id_in(tag) == RCX_COMM_ID_GROUP)
        atomic_fetch_add(&held.looks, 1);
    return held.send(t, peer, buffer, bytes, tag, m);
}

static void listen_to_sends(struct job *job)
{
    for (int i = 0; i < 3; i++) {
        held.ops[i] = *job->contexts[i]->transport->ops;
        held.send = held.ops[i].send;
        job->contexts[i]->transport->ops = &held.ops[i];
    }
    held.ops[0].send = send_from_0;
    held.ops[1].send = send_from_1;
    held.ops[2].send = send_from_2;
    held.ids = &job->contexts[1]->comms.ids;
}

/* Make the group of ranks 0 and number. */
static void make_held(int number, void *world)
{
    const int pair[] = {0, number};
    rcx_comm_t *comm = NULL;
    rcx_status_t status;

    if (number == 2 && rcx_comm_rank(world) == 0)
        crew_await(&held.is_consumed, 1);
    status = rcx_comm_create_group(world, 2, pair, number, &comm);
    if (number == 2)
        atomic_fetch_add(&held.looks, 2); /* rank 1 must not wait for more */
    require_status(status, number == 2 ? RCX_OK : RCX_ERR_LIMIT);
    if (!comm)
        return;
    members_check(comm, rcx_comm_rank(world), pair, 2);
    require_ok(rcx_comm_free(&comm));
}

static void *make_second(void *world)
{
    make_held(2, world);
    return NULL;
}

static void want_the_last(struct job *job, int rank, void *arg)
{
    rcx_comm_t *comms[FEW], *world = world_of(job, rank);
    pthread_t thread;

    (void)arg;
    for (int i = 0; i < FEW - 1; i++)
        require_ok(rcx_comm_dup(world, &comms[i]));
    if (rank == 0)
        pthread_create(&thread, NULL, make_second, world);
    make_held(rank == 0 ? 1 : rank, world);
    if (rank == 0)
        pthread_join(thread, NULL);
    if (rank == 1)
        rcx_comm_id_put(held.ids, LAST);
    require(sum_of(comms[0], 1) == job->size);
    require_ok(rcx_comm_dup(world, &comms[FEW - 1]));
    for (int i = 0; i < FEW; i++)
        require_ok(rcx_comm_free(&comms[i]));
}

static void a_number_that_may_come_free_is_waited_for(void **state)
{
    struct job job;

    (void)state;
    open_job(&job, 3, 1, &few, RCX_THREAD_MULTIPLE);
    listen_to_sends(&job);
    job_each(&job, want_the_last, NULL);
    assert_ok(job_close(&job));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(need_22_ten_thousand_cycles_leave_nothing_behind),
        cmocka_unit_test(need_22_four_thousand_communicators_live_at_once),
        cmocka_unit_test(need_22_all_members_learn_that_numbers_ran_out),
        cmocka_unit_test(a_number_has_to_be_free_on_all_members),
        cmocka_unit_test(need_22_64_overlapping_ones_are_used_in_any_order),
        cmocka_unit_test(need_22_threads_make_communicators_at_once),
        cmocka_unit_test(need_22_groups_with_different_tags_are_made_at_once),
        cmocka_unit_test(a_number_that_may_come_free_is_waited_for),
        cmocka_unit_test(
            threads_that_make_communicators_share_the_last_numbers),
    };

    return cmocka_run_group_tests_name("comm_ids", tests, NULL, NULL);
}
