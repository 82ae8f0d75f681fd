/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matching of messages among many ranks, communicators, tags and collectives.
 * All of these are started in random order, over a network that delivers in
 * random order. Each message contains its own description.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "core/base/random.h"
#include "core/run/plan/members.h"

enum {
    RANKS = 5,
    COMMS = 2,
    TAGS = 4,
    ANY_TAG = TAGS - 1, /* its receives are from any source */
    MESSAGES = 150,     /* capacity: sends, and receives */
    CALLS = 6,          /* collectives of each communicator */
    HEAD = 5,           /* words that describe a message */
    WORDS = HEAD + 3,
    GAP = -1
};

/* A send or a receive. number counts those of the same flow: communicator,
 * source, destination and tag. */
struct side {
    rcx_request_t *request;
    int comm, from, to, tag, number;
    int64_t words[WORDS];
};

static struct {
    struct job job;
    rcx_comm_t *comms[COMMS][RANKS];
    uint64_t random;
    struct side sends[MESSAGES], recvs[MESSAGES];
    int sent, received;
    /* Counts of sends and receives of each flow; receives from any source count
     * as from rank 0. */
    int sends_of[COMMS][RANKS][RANKS][TAGS];
    int recvs_of[COMMS][RANKS][RANKS][TAGS];
    int started[COMMS][RANKS];
    int64_t in[COMMS][CALLS][RANKS], out[COMMS][CALLS][RANKS];
    rcx_request_t *calls[COMMS][CALLS][RANKS];
} t;

static int draw(int n)
{
    return (int)(rcx_random(&t.random) % (uint64_t)n);
}

/* Open the world, and a communicator of the same ranks in reverse order. */
static void open_ranks(uint64_t seed, const char *check)
{
    const struct job_options options = {.seed = seed};

    memset(&t, 0, sizeof t);
    t.random = seed;
    open_with(&t.job, RANKS, "RCX_CHECK", check, &options);
    for (int r = 0; r < RANKS; r++) {
        struct rcx_context *context = t.job.contexts[r];
        int *ranks = rcx_heap_alloc(&context->heap, RANKS * sizeof *ranks);

        for (int i = 0; i < RANKS; i++)
            ranks[i] = RANKS - 1 - i;
        t.comms[0][r] = rcx_world(context);
        assert_true(rcx_comm_id_get(&context->comms.ids, 100));
        assert_ok(rcx_comm_create(context, 100, RANKS - 1 - r,
                                  rcx_members_create(context, RANKS, ranks),
                                  &t.comms[1][RANKS - 1 - r]));
    }
}

/* ---- Operations ---------------------------------------------------------- */

static size_t length_of(int number)
{
    return (size_t)(HEAD + number % (WORDS - HEAD + 1));
}

static void fill(struct side *s)
{
    const int64_t head[HEAD] = {s->comm, s->from, s->to, s->tag, s->number};

    memcpy(s->words, head, sizeof head);
    for (int i = HEAD; i < WORDS; i++)
        s->words[i] = s->number * 10 + i;
}

static void start_send(int comm, int from, int to, int tag)
{
    struct side *s = &t.sends[t.sent++];

    *s = (struct side){.comm = comm,
                       .from = from,
                       .to = to,
                       .tag = tag,
                       .number = t.sends_of[comm][from][to][tag]++};
    fill(s);
    assert_ok(rcx_isend(s->words, length_of(s->number), RCX_INT64, to, tag,
                        t.comms[comm][from], &s->request));
}

static void start_recv(int comm, int from, int to, int tag)
{
    const bool any = tag == ANY_TAG;
    struct side *s = &t.recvs[t.received++];

    *s = (struct side){.comm = comm,
                       .from = from,
                       .to = to,
                       .tag = tag,
                       .number = t.recvs_of[comm][any ? 0 : from][to][tag]++};
    for (int i = 0; i < WORDS; i++)
        s->words[i] = GAP;
    assert_ok(rcx_irecv(s->words, WORDS, RCX_INT64, any ? RCX_ANY_SOURCE : from,
                        tag, t.comms[comm][to], &s->request));
}

static void start_call(int comm, int rank)
{
    const int i = t.started[comm][rank]++;

    t.in[comm][i][rank] = 1 + 1000 * i + rank;
    assert_ok(rcx_iallreduce(&t.in[comm][i][rank], &t.out[comm][i][rank], 1,
                             RCX_INT64, RCX_SUM, t.comms[comm][rank],
                             &t.calls[comm][i][rank]));
}

static void do_something(void)
{
    const int comm = draw(COMMS), a = draw(RANKS), b = draw(RANKS);
    const int tag = draw(TAGS);

    switch (draw(8)) {
    case 0:
        if (t.started[comm][a] < CALLS)
            start_call(comm, a);
        break;
    case 1: rcx_progress(t.job.contexts[a]); break;
    case 2:
    case 3:
    case 4:
        if (t.sent < MESSAGES / 2)
            start_send(comm, a, b, tag);
        break;
    default:
        if (t.received < MESSAGES / 2)
            start_recv(comm, a, b, tag);
    }
}

/* Start what is missing: a receive for each send to rank to with tag, and a
 * send for each receive. */
static void even_out(int comm, int to, int tag)
{
    int sent = 0;

    for (int from = 0; from < RANKS; from++) {
        const int *sends = &t.sends_of[comm][from][to][tag];
        const int *recvs = &t.recvs_of[comm][from][to][tag];

        sent += *sends;
        while (tag != ANY_TAG && *sends < *recvs)
            start_send(comm, from, to, tag);
        while (tag != ANY_TAG && *recvs < *sends)
            start_recv(comm, from, to, tag);
    }
    while (tag == ANY_TAG && sent < t.recvs_of[comm][0][to][tag]) {
        start_send(comm, draw(RANKS), to, tag);
        sent++;
    }
    while (tag == ANY_TAG && t.recvs_of[comm][0][to][tag] < sent)
        start_recv(comm, 0, to, tag);
}

static void finish_all(void)
{
    for (int comm = 0; comm < COMMS; comm++) {
        for (int rank = 0; rank < RANKS; rank++) {
            while (t.started[comm][rank] < CALLS)
                start_call(comm, rank);
            for (int tag = 0; tag < TAGS; tag++)
                even_out(comm, rank, tag);
        }
    }
}

/* ---- Checks -------------------------------------------------------------- */

static void await(rcx_request_t *request)
{
    for (int turns = 0; turns < 100000; turns++) {
        int done;

        assert_ok(rcx_test(request, &done));
        if (done)
            return;
        rcx_progress(t.job.contexts[draw(RANKS)]);
    }
    fail_msg("an operation has no end");
}

/* A receive must contain message number of rank from, completely, and nothing
 * behind it. */
static void check_recv(const struct side *s, int from, int number)
{
    struct side right = {.comm = s->comm,
                         .from = from,
                         .to = s->to,
                         .tag = s->tag,
                         .number = number};
    rcx_recv_info_t info;

    fill(&right);
    for (size_t i = length_of(number); i < WORDS; i++)
        right.words[i] = GAP;
    for (int i = 0; i < WORDS; i++)
        assert_int_equal(s->words[i], right.words[i]);
    assert_ok(rcx_request_recv_info(s->request, &info));
    assert_int_equal(info.source, from);
    assert_int_equal(info.tag, s->tag);
    assert_int_equal(info.count, length_of(number));
}

static void check_recvs(void)
{
    int next[COMMS][RANKS][RANKS] = {{{0}}}; /* of any source: from, to */

    for (int i = 0; i < t.received; i++) {
        const struct side *s = &t.recvs[i];
        const int from = s->tag == ANY_TAG ? (int)s->words[1] : s->from;

        assert_in_range(from, 0, RANKS - 1);
        check_recv(s, from,
                   s->tag == ANY_TAG ? next[s->comm][from][s->to]++
                                     : s->number);
    }
}

static void check_calls(void)
{
    for (int comm = 0; comm < COMMS; comm++)
        for (int i = 0; i < CALLS; i++)
            for (int rank = 0; rank < RANKS; rank++) {
                await(t.calls[comm][i][rank]);
                assert_int_equal(t.out[comm][i][rank],
                                 RANKS * (1 + 1000 * i) +
                                     RANKS * (RANKS - 1) / 2);
                assert_ok(rcx_request_free(&t.calls[comm][i][rank]));
            }
}

static void run(uint64_t seed, const char *check)
{
    open_ranks(seed, check);
    for (int i = 0; i < 3 * MESSAGES; i++)
        do_something();
    finish_all();
    for (int i = 0; i < t.received; i++)
        await(t.recvs[i].request);
    for (int i = 0; i < t.sent; i++)
        await(t.sends[i].request);
    assert_int_equal(t.sent, t.received);
    check_calls();
    check_recvs();
    assert_int_equal(rcx_sim_unmatched(t.job.sim), 0);
    for (int i = 0; i < t.sent; i++) {
        assert_ok(rcx_request_free(&t.sends[i].request));
        assert_ok(rcx_request_free(&t.recvs[i].request));
    }
    assert_ok(job_close(&t.job));
}

static void each_receive_gets_its_message_in_the_order_of_sends(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++)
        run(seed, "cheap");
}

static void messages_keep_their_order_with_full_checks(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++)
        run(seed, "full");
}

/* More collectives than there are sequence numbers run while a receive is
 * posted. It must not occupy a number. */
static void a_receive_that_waits_holds_no_collective_up(void **state)
{
    static const struct rcx_tag_layout layout = {2, 2, 2, 2, 22};
    const struct job_options options = {.layout = &layout, .seed = 7};
    const struct call call = {.coll = ALLREDUCE, .count = 3, .kind = &sums};
    rcx_request_t *recv, *send;
    int64_t in = 0;
    const int64_t out = 8;
    struct job job;
    int done;

    (void)state;
    open_with(&job, 3, NULL, NULL, &options);
    assert_ok(rcx_irecv(&in, 1, RCX_INT64, 2, 63, world_of(&job, 0), &recv));
    for (int i = 0; i < 40; i++)
        calls_run(&job, &call, false);
    assert_ok(rcx_test(recv, &done));
    assert_false(done);
    assert_ok(rcx_isend(&out, 1, RCX_INT64, 0, 63, world_of(&job, 2), &send));
    for (int i = 0; i < 100 && !done; i++) {
        rcx_progress(job.contexts[2]);
        assert_ok(rcx_test(recv, &done));
    }
    assert_int_equal(in, 8);
    assert_ok(rcx_wait(send));
    assert_ok(rcx_request_free(&recv));
    assert_ok(rcx_request_free(&send));
    assert_ok(job_close(&job));
}

/* A rank that waits long in a collective probes for messages of other calls. A
 * p2p message must not look like one, whatever its tag is. */
static void a_message_is_not_taken_for_a_collective(void **state)
{
    const int64_t one = 1;
    rcx_request_t *all[2], *send, *recv;
    int64_t sum[2], got = 0;
    struct job job;
    int tag;

    (void)state;
    open_with(&job, 2, NULL, NULL, NULL);
    assert_ok(rcx_iallreduce(&one, &sum[0], 1, RCX_INT64, RCX_SUM,
                             world_of(&job, 0), &all[0]));
    tag = (int)(all[0]->slots[0]->tag_base >> 22 & RCX_TAG_MAX) ^ 1;
    assert_ok(rcx_isend(&one, 1, RCX_INT64, 0, tag, world_of(&job, 1), &send));
    for (int k = 0; k < 20; k++) {
        job.contexts[0]->time.skipped_ns += 50 * 1000 * 1000;
        for (int i = 0; i < 100; i++)
            assert_true(rcx_progress(job.contexts[0]) >= 0);
    }
    assert_int_equal(all[0]->state, RCX_REQUEST_ACTIVE);
    assert_ok(rcx_iallreduce(&one, &sum[1], 1, RCX_INT64, RCX_SUM,
                             world_of(&job, 1), &all[1]));
    assert_ok(job_wait(&job, all));
    assert_int_equal(sum[0] + sum[1], 4);
    assert_ok(rcx_irecv(&got, 1, RCX_INT64, 1, tag, world_of(&job, 0), &recv));
    assert_ok(job_wait(&job, (rcx_request_t *[]){recv, send}));
    assert_int_equal(got, 1);
    assert_ok(rcx_request_free(&send));
    assert_ok(rcx_request_free(&recv));
    assert_ok(rcx_request_free(&all[0]));
    assert_ok(rcx_request_free(&all[1]));
    assert_ok(job_close(&job));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_receive_gets_its_message_in_the_order_of_sends),
        cmocka_unit_test(messages_keep_their_order_with_full_checks),
        cmocka_unit_test(a_receive_that_waits_holds_no_collective_up),
        cmocka_unit_test(a_message_is_not_taken_for_a_collective),
    };

    return cmocka_run_group_tests_name("p2p_order", tests, NULL, NULL);
}
