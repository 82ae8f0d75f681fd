/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicator ids in agreements: what members offer, and that ids of failed
 * communicators come back after a shrink (guarantee A7). Ranks are threads of
 * one process over the simulated network.
 */
#include "test.h"

#include "context.h"
#include "crew.h"
#include "members.h"

/* ---- Recovery ------------------------------------------------------------ */

/* SLACK: allocations of communicators that are kept for a moment, with the
 * barrier of their shrinks. */
enum { RECOVERIES = TIMES(2000, 50), WARM_UP = 20, SLACK = 100 };

/* Revoked communicators are shrunk, more of them than there are ids. */
static void recover(struct job *job, int rank, void *arg)
{
    struct rcx_context *context = job->contexts[rank];
    rcx_comm_t *comm, *next;
    uint64_t live = 0;

    (void)arg;
    require_ok(rcx_comm_dup(world_of(job, rank), &comm));
    for (int i = 0; i < RECOVERIES; i++) {
        if (rank == i % job->size)
            require_ok(rcx_comm_revoke(comm));
        while (rcx_barrier(comm) == RCX_OK)
            continue;
        require_ok(rcx_comm_shrink(comm, 0, &next));
        require_ok(rcx_comm_free(&comm));
        comm = next;
        require(rcx_comm_size(comm) == job->size);
        if (i == WARM_UP)
            live = context->heap.live;
        require(i <= WARM_UP || context->heap.live <= live + SLACK);
    }
    require_ok(rcx_barrier(comm));
    require_ok(rcx_comm_free(&comm));
}

/* Whether a member has learned the decision early or late is not known to the
 * others: so all do the same after it. */
static void shrink(struct job *job, int rank, void *arg)
{
    rcx_comm_t *next;

    (void)arg;
    require_ok(rcx_comm_shrink(world_of(job, rank), 0, &next));
    require(next->window.next == 1);
    require_ok(rcx_comm_free(&next));
}

static void a_shrink_ends_with_a_barrier(void **state)
{
    struct job job;
    const struct job_options options = {.threaded = true, .seed = 3};

    (void)state;
    assert_ok(job_open(&job, 4, &options));
    job_each(&job, shrink, NULL);
    assert_ok(job_close(&job));
}

static void recoveries_use_ids_again(void **state)
{
    static const struct rcx_tag_layout some = {5, 13, 10, 6, 20};
    struct job job;
    const rcx_params_t params = {.field_mask = RCX_PARAM_LOG,
                                 .log = lines_discard};
    const struct job_options options = {
        .params = &params, .layout = &some, .threaded = true, .seed = 3};

    (void)state;
    assert_ok(job_open(&job, 5, &options));
    job_each(&job, recover, NULL);
    assert_ok(job_close(&job));
}

/* ---- Offers of an agreement ---------------------------------------------- */

/* Each free id is in the offer of one window, and no other id is. */
static void offers_have_each_free_id_once(void **state)
{
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct rcx_comm_ids ids = {0};
    unsigned char seen[1 << 8] = {0};

    (void)state;
    assert_true(rcx_comm_ids_open(&ids, &heap, 8));
    for (uint32_t id = RCX_COMM_ID_FIRST; id < 1 << 8; id += 3)
        rcx_comm_id_get(&ids, id);
    for (uint32_t w = 0; w < rcx_comm_ids_windows(&ids); w++)
        for (uint64_t offer = rcx_comm_ids_offer(&ids, w); offer;
             offer &= offer - 1)
            seen[rcx_comm_ids_lowest(offer, w)]++;
    for (uint32_t id = 0; id < 1 << 8; id++)
        assert_int_equal(seen[id], id >= RCX_COMM_ID_FIRST &&
                                       (id - RCX_COMM_ID_FIRST) % 3 != 0);
    rcx_comm_ids_free(&ids, &heap);
}

/* Ids that are offered are taken meanwhile, and free afterwards. */
static void offers_are_reserved(void **state)
{
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct rcx_comm_ids ids = {0};
    uint64_t offer;

    (void)state;
    assert_true(rcx_comm_ids_open(&ids, &heap, 8));
    offer = rcx_comm_ids_offer(&ids, 1);
    assert_true(offer == (UINT64_C(1) << 63) - 1);
    rcx_comm_ids_set(&ids, offer, 1, true);
    assert_true(rcx_comm_ids_offer(&ids, 1) == 0);
    rcx_comm_ids_set(&ids, offer, 1, false);
    assert_true(rcx_comm_ids_offer(&ids, 1) == offer);
    assert_int_equal(rcx_comm_ids_lowest(0, 1), 0);
    rcx_comm_ids_free(&ids, &heap);
}

/* A communicator that was freed is told from a later one with its id. */
static void freed_communicators_are_known(void **state)
{
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct rcx_comm_ids ids = {0};

    (void)state;
    assert_true(rcx_comm_ids_open(&ids, &heap, 8));
    assert_false(rcx_comm_id_was_freed(&ids, 5, 7));
    rcx_comm_id_note_freed(&ids, &heap, 5, 7);
    assert_true(rcx_comm_id_was_freed(&ids, 5, 7));
    assert_false(rcx_comm_id_was_freed(&ids, 5, 8));
    assert_false(rcx_comm_id_was_freed(&ids, 6, 7));
    assert_false(rcx_comm_id_was_freed(&ids, 1 << 8, 0));
    rcx_comm_ids_free(&ids, &heap);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(recoveries_use_ids_again),
        cmocka_unit_test(a_shrink_ends_with_a_barrier),
        cmocka_unit_test(offers_have_each_free_id_once),
        cmocka_unit_test(offers_are_reserved),
        cmocka_unit_test(freed_communicators_are_known),
    };

    return cmocka_run_group_tests_name("comm_offers", tests, NULL, NULL);
}
