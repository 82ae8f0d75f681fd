/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_comm_create_group() by several threads of each rank concurrently (need
 * 21): equal and different groups, with one tag or a tag per thread.
 */
#include "test.h"

#include "crew.h"
#include "members.h"

enum { MAKERS = 3, ROUNDS = TIMES(60, 10) };

/* The groups that a rank's threads make; statuses by thread, round and rank. */
struct making {
    rcx_comm_t *world;
    int rank, size;
    int tags;    /* 1: one tag for all threads; else one each */
    bool nested; /* the group of thread i lacks the last i ranks */
    rcx_status_t (*statuses)[ROUNDS][MEMBERS_MOST];
};

static void make_groups(int number, void *arg)
{
    const struct making *m = arg;
    const int n = m->size - (m->nested ? number : 0);

    for (int k = 0; k < ROUNDS && m->rank < n; k++) {
        rcx_comm_t *comm = NULL;

        m->statuses[number][k][m->rank] = rcx_comm_create_group(
            m->world, n, in_order, k * m->tags + number % m->tags, &comm);
        if (!comm)
            continue;
        members_check(comm, m->rank, in_order, n);
        require_ok(rcx_comm_free(&comm));
    }
}

static void make_at_once(struct job *job, int rank, void *arg)
{
    struct making m = *(const struct making *)arg;

    m.world = world_of(job, rank);
    m.rank = rank;
    m.size = job->size;
    crew_run(MAKERS, make_groups, &m);
    members_check(m.world, rank, in_order, job->size);
}

static rcx_status_t made[MAKERS][ROUNDS][MEMBERS_MOST];

static void need_21_equal_groups_are_made_at_once_under_one_tag(void **state)
{
    (void)state;
    for (int size = 2; size <= 4; size++) {
        struct making m = {.tags = 1, .statuses = made};

        crew_job(size, RCX_THREAD_MULTIPLE, size == 3, make_at_once, &m);
        for (int i = 0; i < MAKERS * ROUNDS * size; i++)
            assert_ok(
                made[i % MAKERS][i / MAKERS % ROUNDS][i / MAKERS / ROUNDS]);
    }
}

/* Make pairs with only rank 0 in common. */
static void make_pairs(int number, void *arg)
{
    const struct making *m = arg;
    const int pair[] = {0, number + 1};

    for (int k = 0; k < ROUNDS && (m->rank == 0 || m->rank == pair[1]); k++) {
        rcx_comm_t *comm;

        require_ok(rcx_comm_create_group(m->world, 2, pair, k, &comm));
        members_check(comm, m->rank, pair, 2);
        require_ok(rcx_comm_free(&comm));
    }
}

static void make_pairs_at_once(struct job *job, int rank, void *arg)
{
    struct making m = {.world = world_of(job, rank), .rank = rank};

    (void)arg;
    crew_run(job->size - 1, make_pairs, &m);
}

static void
need_21_groups_that_share_one_rank_are_made_at_once_under_one_tag(void **state)
{
    (void)state;
    for (int size = 3; size <= 4; size++)
        crew_job(size, RCX_THREAD_MULTIPLE, false, make_pairs_at_once, NULL);
}

static void
need_21_groups_are_made_at_once_under_tags_of_their_own(void **state)
{
    (void)state;
    for (int nested = 0; nested <= 1; nested++) {
        struct making m = {.tags = MAKERS, .nested = nested, .statuses = made};

        crew_job(4, RCX_THREAD_MULTIPLE, nested, make_at_once, &m);
        for (int i = 0; i < MAKERS; i++)
            for (int k = 0; k < ROUNDS; k++)
                for (int rank = 0; rank < 4 - (nested ? i : 0); rank++)
                    assert_ok(made[i][k][rank]);
    }
}

/* Each group must be made on all of its members or on none. RCX_ERR_BUSY:
 * another group with its tag and some of its members is being made.
 * RCX_ERR_COMM_FAILED: another member's attempt was busy. */
static void
need_21_groups_that_share_tag_and_members_are_all_or_busy(void **state)
{
    struct making m = {.tags = 1, .nested = true, .statuses = made};

    (void)state;
    crew_job(4, RCX_THREAD_MULTIPLE, false, make_at_once, &m);
    for (int i = 0; i < MAKERS; i++) {
        for (int k = 0; k < ROUNDS; k++) {
            for (int rank = 0; rank < 4 - i; rank++) {
                const rcx_status_t status = made[i][k][rank];

                assert_true(status == RCX_OK || status == RCX_ERR_BUSY ||
                            status == RCX_ERR_COMM_FAILED);
                assert_int_equal(status == RCX_OK, made[i][k][0] == RCX_OK);
            }
        }
    }
}

/* Ranks pass the same members in a different order. That is another group, as
 * they would disagree about ranks in it, so both must time out. */
static void make_in_own_order(struct job *job, int rank, void *arg)
{
    static const int orders[][2] = {{0, 1}, {1, 0}};
    rcx_status_t *statuses = arg;
    rcx_comm_t *comm, *world = world_of(job, rank);

    require_ok(rcx_comm_set_timeout(world, INT64_C(200000000)));
    statuses[rank] = rcx_comm_create_group(world, 2, orders[rank], 0, &comm);
}

static void
need_21_the_same_members_in_another_order_are_another_group(void **state)
{
    rcx_status_t statuses[2];

    (void)state;
    crew_job(2, RCX_THREAD_SERIALIZED, false, make_in_own_order, statuses);
    for (int rank = 0; rank < 2; rank++)
        assert_status(statuses[rank], RCX_ERR_TIMEOUT);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            need_21_the_same_members_in_another_order_are_another_group),
        cmocka_unit_test(
            need_21_groups_that_share_one_rank_are_made_at_once_under_one_tag),
        cmocka_unit_test(need_21_equal_groups_are_made_at_once_under_one_tag),
        cmocka_unit_test(
            need_21_groups_are_made_at_once_under_tags_of_their_own),
        cmocka_unit_test(
            need_21_groups_that_share_tag_and_members_are_all_or_busy),
    };

    return cmocka_run_group_tests_name("groups", tests, NULL, NULL);
}
