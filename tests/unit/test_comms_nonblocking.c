/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_comm_idup(), isplit() and icreate_group(): the same communicators as
 * those of the blocking calls, many at once, while the parent is used, freed,
 * or fails. All ranks are threads of one process over the simulated network.
 */
#include "test.h"

#include "context.h"
#include "crew.h"
#include "members.h"

enum { MOST = TIMES(6, 4), SEEDS = TIMES(6, 2), MANY = 16 };

static void open_job(struct job *job, int size, uint64_t seed)
{
    const rcx_params_t params = {.field_mask = RCX_PARAM_LOG,
                                 .log = lines_discard};
    const struct job_options options = {
        .params = &params, .threaded = true, .seed = seed};

    assert_ok(job_open(job, size, &options));
}

static void run(int smallest, crew_fn_t *fn)
{
    for (int size = smallest; size <= MOST; size++) {
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct job job;

            open_job(&job, size, seed);
            job_each(&job, fn, &seed);
            assert_ok(job_close(&job));
        }
    }
}

static void finish(rcx_request_t **request_p)
{
    require_ok(rcx_wait(*request_p));
    require_ok(rcx_request_free(request_p));
}

static void check_and_free(rcx_comm_t *comm, int rank, const int ranks[], int n)
{
    members_check(comm, rank, ranks, n);
    require_ok(rcx_comm_free(&comm));
}

/* ---- The same communicators ---------------------------------------------- */

/* Ranks in reverse order, the odd ones apart; the last rank is in none. */
static void split_one(rcx_comm_t *world, int rank, int size)
{
    const int color = rank == size - 1 ? RCX_UNDEFINED : rank % 2;
    rcx_comm_t *comm = world;
    rcx_request_t *request;
    int members[MEMBERS_MOST], n = 0;

    for (int i = size - 2; i >= 0; i--)
        if (i % 2 == color)
            members[n++] = i;
    require_ok(rcx_comm_isplit(world, color, -rank, &comm, &request));
    finish(&request);
    require((comm == NULL) == (color == RCX_UNDEFINED));
    if (comm)
        check_and_free(comm, rank, members, n);
}

static void group_one(rcx_comm_t *world, int rank, int size)
{
    int members[MEMBERS_MOST];
    rcx_comm_t *comm;
    rcx_request_t *request;

    for (int i = 0; i < size; i++)
        members[i] = (size - i) % size;
    for (int tag = 0; tag < 3; tag++) {
        require_ok(
            rcx_comm_icreate_group(world, size, members, tag, &comm, &request));
        finish(&request);
        check_and_free(comm, rank, members, size);
    }
}

static void make_each(struct job *job, int rank, void *arg)
{
    rcx_comm_t *world = world_of(job, rank), *comm;
    rcx_request_t *request;

    (void)arg;
    require_ok(rcx_comm_idup(world, &comm, &request));
    finish(&request);
    check_and_free(comm, rank, in_order, job->size);
    split_one(world, rank, job->size);
    group_one(world, rank, job->size);
    members_check(world, rank, in_order, job->size);
}

static void they_make_what_the_blocking_calls_make(void **state)
{
    (void)state;
    run(1, make_each);
}

/* ---- Operations meanwhile ------------------------------------------------ */

static void use_meanwhile(struct job *job, int rank, void *arg)
{
    uint64_t random = *(uint64_t *)arg + 77;
    rcx_comm_t *parent, *comms[MANY];
    rcx_request_t *requests[MANY];
    struct attempt calls[MANY];
    int order[2 * MANY];

    require_ok(rcx_comm_dup(world_of(job, rank), &parent));
    for (int i = 0; i < MANY; i++) {
        require_ok(rcx_comm_idup(parent, &comms[i], &requests[i]));
        members_start(&calls[i], parent, (uint64_t)i, (uint64_t)i);
    }
    random += (uint64_t)rank; /* each rank waits in another order */
    members_shuffle(&random, order, 2 * MANY);
    for (int i = 0; i < 2 * MANY; i++) {
        if (order[i] < MANY)
            finish(&requests[order[i]]);
        else
            members_finish(&calls[order[i] - MANY]);
    }
    for (int i = 0; i < MANY; i++)
        check_and_free(comms[i], rank, in_order, job->size);
    require_ok(rcx_comm_free(&parent));
}

static void operations_of_the_parent_go_on_meanwhile(void **state)
{
    (void)state;
    run(1, use_meanwhile);
}

/* Each rank starts them in an order of its own, so that ids collide. */
static void make_from_many(struct job *job, int rank, void *arg)
{
    uint64_t random = *(uint64_t *)arg + 5 * (uint64_t)rank;
    rcx_comm_t *parents[MANY], *comms[MANY], *one;
    rcx_request_t *requests[MANY];
    int order[MANY];

    for (int i = 0; i < MANY; i++)
        require_ok(rcx_comm_dup(world_of(job, rank), &parents[i]));
    members_shuffle(&random, order, MANY);
    for (int k = 0; k < MANY; k++) {
        const int i = order[k];

        if (i % 4 == 3)
            require_ok(rcx_comm_icreate_group(parents[i], job->size, in_order,
                                              i, &comms[i], &requests[i]));
        else
            require_ok(
                rcx_comm_isplit(parents[i], 7, rank, &comms[i], &requests[i]));
    }
    require_ok(rcx_comm_dup(world_of(job, rank), &one)); /* blocks */
    members_shuffle(&random, order, MANY);
    for (int k = 0; k < MANY; k++)
        finish(&requests[order[k]]);
    for (int i = 0; i < MANY; i++) {
        for (int k = 0; k < i; k++)
            require(comms[i]->id != comms[k]->id);
        members_check(comms[i], rank, in_order, job->size);
        require_ok(rcx_comm_free(&parents[i]));
    }
    for (int i = 0; i < MANY; i++)
        check_and_free(comms[i], rank, in_order, job->size);
    check_and_free(one, rank, in_order, job->size);
}

static void many_are_made_at_once_in_any_order(void **state)
{
    (void)state;
    run(1, make_from_many);
}

/* ---- Parents that go, callbacks ------------------------------------------ */

static void check_made(rcx_request_t *request, rcx_status_t status, void *arg)
{
    rcx_comm_t *const *comm_p = arg;

    (void)request;
    require_ok(status);
    require(*comm_p);
    require(rcx_comm_size(*comm_p) > 0);
}

static void free_parents(struct job *job, int rank, void *arg)
{
    rcx_comm_t *parents[3], *comms[3];
    rcx_request_t *requests[3];

    (void)arg;
    for (int i = 0; i < 3; i++)
        require_ok(rcx_comm_dup(world_of(job, rank), &parents[i]));
    require_ok(rcx_comm_idup(parents[0], &comms[0], &requests[0]));
    require_ok(rcx_comm_isplit(parents[1], 1, 0, &comms[1], &requests[1]));
    require_ok(rcx_comm_icreate_group(parents[2], job->size, in_order, 9,
                                      &comms[2], &requests[2]));
    for (int i = 0; i < 3; i++) {
        require_ok(
            rcx_request_set_callback(requests[i], check_made, &comms[i]));
        require_ok(rcx_comm_free(&parents[i]));
    }
    for (int i = 2; i >= 0; i--) {
        finish(&requests[i]);
        check_and_free(comms[i], rank, in_order, job->size);
    }
}

static void the_parent_may_be_freed_meanwhile(void **state)
{
    (void)state;
    run(1, free_parents);
}

/* ---- Equal groups -------------------------------------------------------- */

static atomic_int busy; /* ranks that have seen it */

static void make_equal_groups(struct job *job, int rank, void *arg)
{
    rcx_comm_t *world = world_of(job, rank), *comm, *other = world;
    rcx_request_t *request, *second = NULL;

    (void)arg;
    if (rank == 0) /* until then the group of the others is in the making */
        crew_await(&busy, job->size - 1);
    require_ok(
        rcx_comm_icreate_group(world, job->size, in_order, 4, &comm, &request));
    if (rank > 0) {
        require(rcx_comm_icreate_group(world, job->size, in_order, 4, &other,
                                       &second) == RCX_ERR_BUSY);
        require(other == world && !second);
        atomic_fetch_add(&busy, 1);
    }
    /* the blocking call waits for the first one */
    require_ok(rcx_comm_create_group(world, job->size, in_order, 4, &other));
    check_and_free(other, rank, in_order, job->size);
    require_ok(rcx_wait(request));
    /* its request is not freed yet */
    require_ok(
        rcx_comm_icreate_group(world, job->size, in_order, 4, &other, &second));
    finish(&second);
    check_and_free(other, rank, in_order, job->size);
    require_ok(rcx_request_free(&request));
    check_and_free(comm, rank, in_order, job->size);
}

static void equal_groups_are_made_one_after_the_other(void **state)
{
    (void)state;
    for (int size = 2; size <= MOST; size++) {
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct job job;

            atomic_store(&busy, 0);
            open_job(&job, size, seed);
            job_each(&job, make_equal_groups, &seed);
            assert_ok(job_close(&job));
        }
    }
}

/* ---- Failures ------------------------------------------------------------ */

static void miss_the_deadline(struct job *job, int rank, void *arg)
{
    rcx_comm_t *parent, *comm = NULL;
    rcx_request_t *request;

    (void)arg;
    require_ok(rcx_comm_dup(world_of(job, rank), &parent));
    if (rank > 0)
        require_ok(rcx_comm_set_timeout(parent, INT64_C(50000000)));
    if (rank > 1) { /* a blocking call that fails leaves comm as it was */
        comm = parent;
        require(rcx_comm_dup(parent, &comm) == RCX_ERR_TIMEOUT);
        require(comm == parent);
    } else if (rank > 0) {
        require_ok(rcx_comm_idup(parent, &comm, &request));
        require(rcx_wait(request) == RCX_ERR_TIMEOUT);
        require(!comm);
        require_ok(rcx_request_free(&request));
    } else {
        rcx_error_info_t info = {.status = RCX_OK};

        while (info.status == RCX_OK) {
            rcx_progress(job->contexts[rank]);
            require_ok(rcx_comm_error(parent, &info));
        }
        require(rcx_comm_idup(parent, &comm, &request) == RCX_ERR_COMM_FAILED);
    }
    require_ok(rcx_comm_free(&parent));
    members_check(world_of(job, rank), rank, in_order, job->size);
}

static void a_rank_that_does_not_call_is_missed_at_the_deadline(void **state)
{
    (void)state;
    run(2, miss_the_deadline);
}

/* The group fails on all that have called, its parent does not. */
static void abort_parents(struct job *job, int rank, void *arg)
{
    rcx_comm_t *parent, *comms[2];
    rcx_request_t *requests[2];

    (void)arg;
    require_ok(rcx_comm_dup(world_of(job, rank), &parent));
    if (rank == 0) {
        require_ok(rcx_comm_abort(parent));
        require_ok(rcx_comm_free(&parent));
        return;
    }
    if (rcx_comm_icreate_group(parent, job->size, in_order, 1, &comms[0],
                               &requests[0]) == RCX_OK) {
        require(rcx_wait(requests[0]) == RCX_ERR_COMM_FAILED);
        require(!comms[0]);
        require_ok(rcx_request_free(&requests[0]));
    }
    if (rcx_comm_idup(parent, &comms[1], &requests[1]) == RCX_OK) {
        require(rcx_wait(requests[1]) == RCX_ERR_COMM_FAILED);
        require(!comms[1]);
        require_ok(rcx_request_free(&requests[1]));
    }
    require_ok(rcx_comm_free(&parent));
}

static void creations_end_if_their_parent_fails(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2 * SEEDS; seed++) {
        struct job job;

        open_job(&job, MOST, seed);
        job_each(&job, abort_parents, &seed);
        job_close(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_make_what_the_blocking_calls_make),
        cmocka_unit_test(operations_of_the_parent_go_on_meanwhile),
        cmocka_unit_test(many_are_made_at_once_in_any_order),
        cmocka_unit_test(the_parent_may_be_freed_meanwhile),
        cmocka_unit_test(equal_groups_are_made_one_after_the_other),
        cmocka_unit_test(a_rank_that_does_not_call_is_missed_at_the_deadline),
        cmocka_unit_test(creations_end_if_their_parent_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
