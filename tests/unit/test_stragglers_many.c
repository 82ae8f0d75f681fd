/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Straggler queries and announcements in communicators of more than 32 ranks,
 * over the simulated network on one thread. Checks the ranks that errors name,
 * and how many control messages each rank sends.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "core/run/fault/failure.h"
#include "times.h"

#define MS UINT64_C(1000000)
#define DEADLINE_NS INT64_C(1000000000)

struct many {
    struct job job;
    rcx_request_t **requests; /* by rank; NULL: the rank has made no call */
    unsigned *sent;           /* control messages by rank */
    int silent;               /* this rank makes no progress; -1: none */
    uint64_t ns;              /* time of all ranks */
};

/* ---- Counting ------------------------------------------------------------ */

static struct {
    const struct rcx_transport_ops *ops; /* of the simulated network */
    unsigned *count; /* of the rank that makes progress, or NULL */
} counter;

static void count_ctrl(struct rcx_transport *t, int peer, const void *note,
                       size_t bytes)
{
    if (counter.count)
        ++*counter.count;
    counter.ops->send_ctrl(t, peer, note, bytes);
}

static struct rcx_transport_ops counting;

static void count_messages(struct many *m)
{
    counter.ops = m->job.contexts[0]->transport->ops;
    counting = *counter.ops;
    counting.send_ctrl = count_ctrl;
    for (int i = 0; i < m->job.size; i++)
        m->job.contexts[i]->transport->ops = &counting;
}

/* ---- A job --------------------------------------------------------------- */

static void open_many(struct many *m, int size, const char *name,
                      const char *value)
{
    const rcx_params_t params = {.field_mask = RCX_PARAM_LOG,
                                 .log = lines_discard};

    open_with(&m->job, size, name, value,
              &(struct job_options){.params = &params, .seed = 7});
    m->requests = calloc((size_t)size, sizeof *m->requests);
    m->sent = calloc((size_t)size, sizeof *m->sent);
    m->silent = -1;
    assert_non_null(m->requests);
    assert_non_null(m->sent);
    count_messages(m);
}

static void close_many(struct many *m)
{
    for (int i = 0; i < m->job.size; i++)
        if (m->requests[i]) {
            m->requests[i]->kind &= (uint8_t)~RCX_REQUEST_INSIDE;
            assert_ok(rcx_request_free(&m->requests[i]));
        }
    for (int i = 0; i < m->job.size; i++)
        if (!rcx_comm_is_failed(world_of(&m->job, i)))
            mark_failed(world_of(&m->job, i));
    job_abandon(&m->job);
    free(m->requests);
    free(m->sent);
}

static void progress_one(struct many *m, int rank)
{
    counter.count = &m->sent[rank];
    assert_true(rcx_progress(m->job.contexts[rank]) >= 0);
    counter.count = NULL;
}

/* All ranks make progress at the job's time, which does not depend on how fast
 * this process runs. If it does not run for a while, the ranks have stopped
 * together: one of them that alone were ahead would announce a failure late. */
static void progress_all(struct many *m)
{
    for (int i = 0; i < m->job.size; i++) {
        const uint64_t start = rcx_now_ns();
        uint64_t took;

        m->job.contexts[i]->time.skipped_ns = m->ns - start;
        if (i != m->silent)
            progress_one(m, i);
        took = rcx_now_ns() - start;
        m->ns += took > 100 * MS ? took : 0;
    }
}

static void let_pass(struct many *m, uint64_t ns)
{
    for (uint64_t left = ns / (5 * MS); left > 0; left--, m->ns += 5 * MS)
        progress_all(m);
}

/* The deadlines pass, and the time for answers. */
static void let_deadlines_pass(struct many *m)
{
    m->ns = rcx_now_ns();
    let_pass(m, 3 * DEADLINE_NS);
}

static void set_deadline(struct many *m, int rank)
{
    assert_ok(rcx_comm_set_timeout(world_of(&m->job, rank), DEADLINE_NS));
}

static void set_deadlines(struct many *m)
{
    for (int i = 0; i < m->job.size; i++)
        set_deadline(m, i);
}

static void start_allreduce(struct many *m, int rank, rcx_op_t op)
{
    static const int64_t in[64];
    static int64_t out[64];

    assert_ok(rcx_iallreduce(in, out, 64, RCX_INT64, op,
                             world_of(&m->job, rank), &m->requests[rank]));
}

/* The sum of all ranks but this one. */
static void start_all_but(struct many *m, int missing)
{
    for (int i = 0; i < m->job.size; i++)
        if (i != missing)
            start_allreduce(m, i, RCX_SUM);
}

static void start_bcast(struct many *m, int rank)
{
    static int64_t vector[64];

    assert_ok(rcx_ibcast(vector, 64, RCX_INT64, 0, world_of(&m->job, rank),
                         &m->requests[rank]));
}

/* Receive a message as rcx_recv() does: the rank waits for it. */
static void receive(struct many *m, int rank, int from)
{
    static int x;

    assert_ok(rcx_irecv(&x, 1, RCX_INT32, from, 0, world_of(&m->job, rank),
                        &m->requests[rank]));
    m->requests[rank]->kind |= RCX_REQUEST_INSIDE;
}

/* Check that rank's world has failed for exactly these ranks. */
static void assert_failed_for(const struct many *m, int rank,
                              rcx_status_t status, const int ranks[], int n)
{
    const struct rcx_comm *world = world_of(&m->job, rank);

    assert_status(rcx_comm_failure(world), status);
    assert_non_null(world->why);
    if (world->why->rank_count != n ||
        memcmp(world->why->ranks, ranks, (size_t)n * sizeof *ranks) != 0)
        fail_msg("rank %d names %d ranks, the first is %d: %s", rank,
                 world->why->rank_count, world->why->ranks[0],
                 world->why->text);
}

static void assert_all_failed_for(const struct many *m, int missing)
{
    for (int i = 0; i < m->job.size; i++)
        if (i != m->silent)
            assert_failed_for(m, i, RCX_ERR_TIMEOUT, &missing, 1);
}

/* ---- Missing ranks ------------------------------------------------------- */

static const char *const algorithms[] = {"ring", "recursive_doubling",
                                         "rabenseifner", "circulant", "tree"};

/* One rank has not called the operation. It answers queries, or is silent. */
static void one_rank_is_missing(int size, int missing, bool is_silent,
                                const char *algorithm)
{
    struct many m;

    open_many(&m, size, "RCX_ALLREDUCE", algorithm);
    m.silent = is_silent ? missing : -1;
    set_deadlines(&m);
    start_all_but(&m, missing);
    let_deadlines_pass(&m);
    assert_all_failed_for(&m, missing);
    close_many(&m);
}

static void all_ranks_name_the_missing_rank(void **state)
{
    static const int sizes[] = {33, 100};

    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++)
            for (int is_silent = 0; is_silent < 2; is_silent++) {
                const int size = sizes[s];

                one_rank_is_missing(size, 0, is_silent, algorithms[a]);
                one_rank_is_missing(size, size / 2 + 1, is_silent,
                                    algorithms[a]);
            }
}

/* The host stops before all answers have arrived, until after all times that
 * ranks wait for answers and for announcements. */
static void a_stop_of_all_ranks_hides_no_missing_rank(void **state)
{
    enum { SIZE = 40, STOP_MS = 2000 };

    (void)state;
    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++) {
        struct many m;

        open_many(&m, SIZE, "RCX_ALLREDUCE", algorithms[a]);
        m.silent = 0;
        set_deadlines(&m);
        start_all_but(&m, 0);
        m.ns = rcx_now_ns();
        let_pass(&m, DEADLINE_NS + DEADLINE_NS / 4);
        m.ns += STOP_MS * MS;
        let_pass(&m, DEADLINE_NS);
        assert_all_failed_for(&m, 0);
        close_many(&m);
    }
}

/* Only one rank has a deadline. The missing rank is many hops away from it in
 * the graph of which rank waits for which. */
static void one_deadline_finds_a_distant_missing_rank(void **state)
{
    enum { SIZE = 48, MISSING = 29 };

    (void)state;
    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++) {
        struct many m;

        open_many(&m, SIZE, "RCX_ALLREDUCE", algorithms[a]);
        set_deadline(&m, 5);
        start_all_but(&m, MISSING);
        let_deadlines_pass(&m);
        assert_all_failed_for(&m, MISSING);
        close_many(&m);
    }
}

/* Rank 3 waits in an earlier call than the others, for rank 0, which has not
 * called it. */
static void a_rank_that_waits_in_an_earlier_call_is_not_named(void **state)
{
    enum { SIZE = 40 };
    struct many m;
    rcx_request_t *first = NULL;

    (void)state;
    open_many(&m, SIZE, "RCX_BCAST", "tree");
    set_deadlines(&m);
    start_bcast(&m, 3);
    first = m.requests[3];
    for (int i = 1; i < SIZE; i++)
        start_bcast(&m, i);
    let_deadlines_pass(&m);
    assert_all_failed_for(&m, 0);
    assert_ok(rcx_request_free(&first));
    close_many(&m);
}

/* Each rank receives from the next one, and the last one sends nothing. */
static void a_message_names_the_end_of_a_chain_of_receives(void **state)
{
    enum { SIZE = 40 };
    const int last = SIZE - 1;
    struct many m;

    (void)state;
    open_many(&m, SIZE, NULL, NULL);
    set_deadline(&m, 0);
    for (int i = 0; i < last; i++)
        receive(&m, i, i + 1);
    let_deadlines_pass(&m);
    assert_all_failed_for(&m, last);
    close_many(&m);
}

/* A sample of the members decides which call is the usual one. */
static void a_rank_with_another_call_is_named(void **state)
{
    enum { SIZE = 40, OTHER = 17 };
    const int other = OTHER;
    struct many m;

    (void)state;
    open_many(&m, SIZE, "RCX_ALLREDUCE", "recursive_doubling");
    for (int i = 0; i < SIZE; i++)
        start_allreduce(&m, i, i == OTHER ? RCX_MAX : RCX_SUM);
    let_deadlines_pass(&m);
    for (int i = 0; i < SIZE; i++)
        assert_failed_for(&m, i, RCX_ERR_MISMATCH, &other, 1);
    close_many(&m);
}

/* All ranks wait for each other in messages: no rank is missing. */
static void no_rank_is_named_if_all_wait(void **state)
{
    enum { SIZE = 40 };
    struct many m;

    (void)state;
    open_many(&m, SIZE, NULL, NULL);
    for (int i = 0; i < SIZE; i++) {
        set_deadline(&m, i);
        receive(&m, i, (i + 1) % SIZE);
    }
    let_deadlines_pass(&m);
    for (int i = 0; i < SIZE; i++)
        assert_failed_for(&m, i, RCX_ERR_TIMEOUT, &i, 0);
    close_many(&m);
}

/* ---- Cost ---------------------------------------------------------------- */

/* Of 4096 ranks (512 with sanitizers) one is missing. Each other rank asks
 * those that it waits for, answers those that wait for it, and announces the
 * failure to 2 lg p neighbours: 12 lg p messages are more than any rank
 * sends. */
static void a_rank_sends_few_control_messages(void **state)
{
    enum { SIZE = TIMES(4096, 512), LOG = TIMES(12, 9), MISSING = 234 };
    unsigned most = 0;
    struct many m;

    (void)state;
    open_many(&m, SIZE, "RCX_ALLREDUCE", "recursive_doubling");
    set_deadlines(&m);
    start_all_but(&m, MISSING);
    let_deadlines_pass(&m);
    assert_all_failed_for(&m, MISSING);
    for (int i = 0; i < SIZE; i++)
        most = m.sent[i] > most ? m.sent[i] : most;
    print_message("# at most %u control messages a rank\n", most);
    assert_in_range(most, 2 * LOG, 12 * LOG);
    close_many(&m);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ranks_name_the_missing_rank),
        cmocka_unit_test(a_stop_of_all_ranks_hides_no_missing_rank),
        cmocka_unit_test(one_deadline_finds_a_distant_missing_rank),
        cmocka_unit_test(a_rank_that_waits_in_an_earlier_call_is_not_named),
        cmocka_unit_test(a_message_names_the_end_of_a_chain_of_receives),
        cmocka_unit_test(a_rank_with_another_call_is_named),
        cmocka_unit_test(no_rank_is_named_if_all_wait),
        cmocka_unit_test(a_rank_sends_few_control_messages),
    };

    return cmocka_run_group_tests_name("stragglers_many", tests, NULL, NULL);
}
