/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that are not matched: aborts, deadlines, lost messages, and which
 * rank the error names. Also dumps, callbacks and lack of memory, and messages
 * of several threads.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"
#include "capture.h"
#include "core/run/fault/ctrl_msg.h"
#include "crew.h"

enum { RANKS = 3, ANY = RCX_ANY_SOURCE };
#define SECOND UINT64_C(1000000000)

static struct capture said[RANKS];
static struct job job;

static int open_job(void **state)
{
    (void)state;
    open_with(&job, RANKS, NULL, NULL, NULL);
    for (int i = 0; i < RANKS; i++) {
        said[i] = (struct capture){.host_lines = 0};
        job.contexts[i]->log.fn = capture_line;
        job.contexts[i]->log.arg = &said[i];
    }
    return 0;
}

static void progress(void)
{
    for (int turns = 0; turns < 100; turns++)
        for (int i = 0; i < RANKS; i++)
            assert_true(rcx_progress(job.contexts[i]) >= 0);
}

/* Skip ns nanoseconds in steps. All ranks make progress after each step. */
static void pass(uint64_t ns)
{
    for (uint64_t k = 0; k < ns / (SECOND / 4); k++) {
        for (int i = 0; i < RANKS; i++)
            job.contexts[i]->time.skipped_ns += SECOND / 4;
        progress();
    }
}

static rcx_request_t *start_recv(int at, int from, int tag)
{
    static int64_t words[2];
    rcx_request_t *request;

    assert_ok(rcx_irecv(words, 2, RCX_INT64, from, tag, world_of(&job, at),
                        &request));
    return request;
}

static rcx_request_t *start_send(int from, int to, int tag)
{
    static const int64_t words[2];
    rcx_request_t *request;

    assert_ok(rcx_isend(words, 2, RCX_INT64, to, tag, world_of(&job, from),
                        &request));
    return request;
}

static void expect(rcx_request_t **request, rcx_status_t status)
{
    int done = 0;

    assert_status(rcx_test(*request, &done), status);
    assert_true(done);
    assert_ok(rcx_request_free(request));
}

static void expect_error(int rank, rcx_status_t status, int culprit,
                         const char *words)
{
    rcx_error_info_t info;

    assert_ok(rcx_comm_error(world_of(&job, rank), &info));
    assert_status(info.status, status);
    assert_int_equal(info.rank_count, culprit >= 0);
    if (culprit >= 0)
        assert_int_equal(info.ranks[0], culprit);
    if (!strstr(info.text, words))
        fail_msg("\"%s\" has not \"%s\"", info.text, words);
}

/* ---- Failures ------------------------------------------------------------ */

static void an_abort_ends_messages_of_all_members(void **state)
{
    rcx_request_t *recv, *send, *other, *later;
    int word = 0;

    (void)state;
    recv = start_recv(0, 1, 4);
    send = start_send(0, 2, 4);
    other = start_recv(2, ANY, 5);
    assert_ok(
        rcx_send_init(&word, 1, RCX_INT, 1, 0, world_of(&job, 0), &later));
    assert_ok(rcx_comm_abort(world_of(&job, 1)));
    progress();
    expect(&recv, RCX_ERR_COMM_FAILED);
    expect(&send, RCX_ERR_COMM_FAILED);
    expect(&other, RCX_ERR_COMM_FAILED);
    assert_status(rcx_start(later), RCX_ERR_COMM_FAILED);
    assert_ok(rcx_request_free(&later));
    assert_status(rcx_recv(&word, 1, RCX_INT, 1, 0, world_of(&job, 0), NULL),
                  RCX_ERR_COMM_FAILED);
    job_abandon(&job);
}

/* A rank that finalizes after a failure receives what is sent to it, so that no
 * sender waits, and announces the failure before that. Rank 0's send must fail
 * if the announcement arrives before its completion. */
static void
a_send_fails_if_an_announcement_precedes_its_completion(void **state)
{
    struct rcx_ctrl_msg announcement = {.kind = RCX_CTRL_FAILED,
                                        .status = RCX_ERR_COMM_FAILED,
                                        .ranks = {1},
                                        .rank_count = 1};
    rcx_request_t *send = start_send(0, 1, 4), *recv;

    (void)state;
    progress();
    rcx_ctrl_send(world_of(&job, 1), 0, &announcement);
    recv = start_recv(1, 0, 4);
    for (int turns = 0; turns < 100; turns++)
        assert_true(rcx_progress(job.contexts[1]) >= 0);
    expect(&recv, RCX_OK);
    assert_int_equal(send->state, RCX_REQUEST_ACTIVE);
    progress();
    expect(&send, RCX_ERR_COMM_FAILED);
    assert_ok(rcx_comm_abort(world_of(&job, 1))); /* rank 1 has not failed */
    progress();
    job_abandon(&job);
}

static void a_deadline_names_the_peer_that_has_not_sent(void **state)
{
    rcx_request_t *late, *other, *early, *sent;

    (void)state;
    other = start_recv(1, 0, 9); /* no deadline */
    assert_ok(rcx_comm_set_timeout(world_of(&job, 0), (int64_t)SECOND));
    early = start_recv(0, 1, 3);
    late = start_recv(0, 2, 4);
    pass(SECOND / 2);
    assert_int_equal(early->state, RCX_REQUEST_ACTIVE);
    sent = start_send(1, 0, 3);
    progress();
    expect(&early, RCX_OK);
    expect(&sent, RCX_OK);
    pass(SECOND);
    expect(&late, RCX_ERR_TIMEOUT);
    expect_error(0, RCX_ERR_TIMEOUT, 2,
                 "receive of up to 2 int64 from rank 2, tag 4, message 2 on "
                 "communicator 1 (world): timed out after 1");
    expect_error(0, RCX_ERR_TIMEOUT, 2, "s: rank 2 has not sent it");
    expect(&other, RCX_ERR_TIMEOUT); /* by the announcement */
    job_abandon(&job);
}

static void a_deadline_of_any_source_names_no_rank(void **state)
{
    rcx_request_t *recv;

    (void)state;
    assert_ok(rcx_comm_set_timeout(world_of(&job, 0), (int64_t)SECOND));
    recv = start_recv(0, ANY, 4);
    pass(2 * SECOND);
    expect(&recv, RCX_ERR_TIMEOUT);
    expect_error(0, RCX_ERR_TIMEOUT, -1, "from any rank, tag 4");
    expect_error(0, RCX_ERR_TIMEOUT, -1, "no rank has sent it");
    job_abandon(&job);
}

static void a_deadline_names_the_peer_that_has_not_received(void **state)
{
    rcx_request_t *send;

    (void)state;
    assert_ok(rcx_comm_set_timeout(world_of(&job, 0), (int64_t)SECOND));
    send = start_send(0, 1, 4);
    pass(2 * SECOND);
    expect(&send, RCX_ERR_TIMEOUT);
    expect_error(0, RCX_ERR_TIMEOUT, 1, "send of 2 int64 to rank 1, tag 4");
    expect_error(0, RCX_ERR_TIMEOUT, 1, "rank 1 has not received it");
    job_abandon(&job);
}

/* Rank 0 waits in a collective for rank 1, which waits for a message of rank 2:
 * rank 2 must be named. */
static void a_rank_that_waits_for_a_message_is_not_named(void **state)
{
    static int64_t in, out;
    rcx_request_t *all, *recv;

    (void)state;
    assert_ok(rcx_comm_set_timeout(world_of(&job, 0), (int64_t)SECOND));
    recv = start_recv(1, 2, 4);
    recv->kind = RCX_REQUEST_INSIDE; /* as in rcx_recv() */
    assert_ok(rcx_iallreduce(&in, &out, 1, RCX_INT64, RCX_SUM,
                             world_of(&job, 0), &all));
    pass(2 * SECOND);
    expect(&all, RCX_ERR_TIMEOUT);
    expect_error(0, RCX_ERR_TIMEOUT, 2, "rank 2 has not called it");
    expect(&recv, RCX_ERR_TIMEOUT);
    job_abandon(&job);
}

/* Rank 0 waits for a message of rank 1, which waits for one of rank. The error
 * must name rank culprit, or none if it is negative. */
static void time_out_while_1_waits_for(int rank, int culprit, const char *words)
{
    rcx_request_t *recv, *other;

    assert_ok(rcx_comm_set_timeout(world_of(&job, 0), (int64_t)SECOND));
    other = start_recv(1, rank, 4);
    other->kind = RCX_REQUEST_INSIDE;
    recv = start_recv(0, 1, 4);
    pass(2 * SECOND);
    expect(&recv, RCX_ERR_TIMEOUT);
    expect_error(0, RCX_ERR_TIMEOUT, culprit, words);
    expect(&other, RCX_ERR_TIMEOUT);
    job_abandon(&job);
}

static void a_peer_that_waits_itself_is_not_named(void **state)
{
    (void)state;
    time_out_while_1_waits_for(
        2, 2, "rank 2 has not called what other ranks wait for");
}

static void ranks_that_wait_for_each_other_are_not_named(void **state)
{
    (void)state;
    time_out_while_1_waits_for(0, -1,
                               "rank 1 waits itself, for rank 0 of the world");
}

/* Rank 2 makes no progress, ranks 0 and 1 do: the error must name rank 2. */
static void a_deadline_of_any_source_names_a_silent_rank(void **state)
{
    rcx_request_t *recv;

    (void)state;
    assert_ok(rcx_comm_set_timeout(world_of(&job, 0), (int64_t)SECOND));
    recv = start_recv(0, ANY, 4);
    for (int tenths = 0; tenths < 30; tenths++) {
        job.contexts[0]->time.skipped_ns += SECOND / 10;
        for (int turns = 0; turns < 200; turns++)
            rcx_progress(job.contexts[turns % 2]);
    }
    expect(&recv, RCX_ERR_TIMEOUT);
    expect_error(0, RCX_ERR_TIMEOUT, 2, "rank 2 does not answer");
    job_abandon(&job);
}

static void
a_message_that_the_network_loses_breaks_the_communicator(void **state)
{
    const struct rcx_sim_fault fault = {.rank = 0, .fails = true};

    for (int sends = 0; sends < 2; sends++) {
        rcx_request_t *request;

        if (sends)
            open_job(state);
        rcx_sim_set_fault(job.sim, &fault);
        request = sends ? start_send(0, 1, 4) : start_recv(0, ANY, 4);
        progress();
        expect(&request, RCX_ERR_TRANSPORT);
        expect_error(0, RCX_ERR_TRANSPORT, sends ? 1 : -1, "tag 4");
        job_abandon(&job);
    }
}

/* A posted receive that no call waits for may stay for hours without a warning.
 * A receive that is waited for is warned of once. */
static void a_receive_that_is_waited_for_warns_once(void **state)
{
    rcx_request_t *posted, *awaited, *sends[2];

    (void)state;
    posted = start_recv(0, 1, 3);
    pass(100 * SECOND);
    assert_int_equal(said[0].host_lines, 0);
    awaited = start_recv(0, 2, 4);
    awaited->kind = RCX_REQUEST_INSIDE;
    pass(50 * SECOND);
    pass(50 * SECOND);
    assert_int_equal(said[0].host_lines, 1);
    assert_non_null(strstr(said[0].text,
                           "receive of up to 2 int64 from rank 2, tag 4, "
                           "message 2 on communicator 1 (world): has waited "));
    assert_non_null(strstr(said[0].text, "for rank 2; no deadline"));
    sends[0] = start_send(1, 0, 3);
    sends[1] = start_send(2, 0, 4);
    progress();
    expect(&posted, RCX_OK);
    expect(&awaited, RCX_OK);
    expect(&sends[0], RCX_OK);
    expect(&sends[1], RCX_OK);
    assert_ok(job_close(&job));
}

/* ---- Dumps, callbacks, memory -------------------------------------------- */

static void dump(rcx_context_t *context, char *text, size_t bytes)
{
    char path[] = "/tmp/rcx_p2p_XXXXXX";
    const int fd = mkstemp(path);
    FILE *file;

    require(fd >= 0);
    close(fd);
    require_ok(rcx_dump(context, path));
    file = fopen(path, "r");
    require(file != NULL);
    text[fread(text, 1, bytes - 1, file)] = '\0';
    fclose(file);
    remove(path);
}

static void a_dump_lists_messages(void **state)
{
    char text[4096];
    rcx_request_t *recv = start_recv(0, ANY, 4), *send, *to;

    (void)state;
    send = start_send(1, 0, 4);
    progress();
    to = start_send(0, 2, 8);
    dump(job.contexts[0], text, sizeof text);
    assert_non_null(strstr(
        text, "{\"sequence\": 1, \"call\": \"receive\", \"count\": 2, "
              "\"type\": {\"number\": 7, \"canonical\": 7, \"name\": "
              "\"int64\"}, \"peer\": null, \"tag\": 4, \"state\": \"done\", "
              "\"status\": \"RCX_OK\""));
    assert_non_null(strstr(
        text, "\"peer\": 2, \"tag\": 8, \"state\": \"started\", \"status\": "
              "\"RCX_IN_PROGRESS\""));
    expect(&recv, RCX_OK);
    expect(&send, RCX_OK);
    assert_ok(rcx_comm_abort(world_of(&job, 0)));
    expect(&to, RCX_ERR_COMM_FAILED);
    job_abandon(&job);
}

static void be_called(rcx_request_t *request, rcx_status_t status, void *arg)
{
    rcx_recv_info_t info;

    assert_ok(status);
    assert_ok(rcx_request_recv_info(request, &info));
    assert_int_equal(info.source, 2);
    assert_ok(rcx_request_free(&request));
    ++*(int *)arg;
}

static void messages_have_callbacks(void **state)
{
    rcx_request_t *recv = start_recv(0, ANY, 4), *send = start_send(2, 0, 4);
    int calls = 0;

    (void)state;
    assert_ok(rcx_request_set_callback(recv, be_called, &calls));
    progress();
    assert_int_equal(calls, 1);
    expect(&send, RCX_OK);
    assert_ok(job_close(&job));
}

/* A receive that fails for lack of memory must leave nothing posted, so that
 * the first one that succeeds gets the message. */
static void a_receive_without_memory_posts_nothing(void **state)
{
    struct rcx_heap *heap = &job.contexts[0]->heap;
    rcx_request_t *recv = NULL, *send;
    rcx_status_t status;
    int64_t word;
    int failures = 0;

    (void)state;
    for (uint64_t budget = 0; !recv; budget++) {
        heap->budget = budget;
        status = rcx_irecv(&word, 1, RCX_INT64, 1, 4, world_of(&job, 0), &recv);
        failures += status == RCX_ERR_NOMEM;
        assert_int_equal(status, recv ? RCX_OK : RCX_ERR_NOMEM);
    }
    heap->budget = UINT64_MAX;
    assert_true(failures >= 3);
    assert_int_equal(rcx_sim_unmatched(job.sim), 1);
    assert_ok(
        rcx_isend(&(int64_t){7}, 1, RCX_INT64, 0, 4, world_of(&job, 1), &send));
    progress();
    assert_int_equal(word, 7);
    expect(&recv, RCX_OK);
    expect(&send, RCX_OK);
    assert_ok(job_close(&job));
}

static void a_freed_communicator_ends_with_its_last_message(void **state)
{
    const struct job_options options = {.ucx = true}; /* a single process */
    int out = 0, in = 0;
    rcx_request_t *send, *recv;
    rcx_comm_t *comm;
    struct job one;

    (void)state;
    open_with(&one, 1, NULL, NULL, &options);
    assert_ok(rcx_comm_dup(world_of(&one, 0), &comm));
    assert_ok(rcx_send_init(&out, 1, RCX_INT, 0, 1, comm, &send));
    assert_ok(rcx_recv_init(&in, 1, RCX_INT, ANY, 1, comm, &recv));
    assert_ok(rcx_comm_free(&comm));
    for (out = 1; out < 5; out++) {
        assert_ok(rcx_start(send));
        assert_ok(rcx_start(recv));
        assert_ok(rcx_wait_all(2, (rcx_request_t *[]){send, recv}));
        assert_int_equal(in, out);
    }
    assert_ok(rcx_request_free(&send));
    assert_ok(rcx_request_free(&recv));
    assert_int_equal(one.contexts[0]->comms.live, 0);
    assert_ok(job_close(&one));
}

/* ---- Threads ------------------------------------------------------------- */

enum { TIMES = 60, THREADS = 3 };

struct pair {
    struct job *job;
    int rank;
};

/* Send and receive with a tag for each thread. The last thread calls
 * collectives. */
static void exchange_messages(int number, void *arg)
{
    const struct pair *pair = arg;
    rcx_comm_t *comm = world_of(pair->job, pair->rank);
    const int size = rcx_comm_size(comm), right = (pair->rank + 1) % size;

    for (int i = 0; i < TIMES; i++) {
        int out = 1000 * number + i, in = -1, sum;
        rcx_request_t *request;
        rcx_recv_info_t info;

        if (number == THREADS) {
            require_ok(rcx_allreduce(&i, &sum, 1, RCX_INT, RCX_SUM, comm));
            require(sum == size * i);
            continue;
        }
        require_ok(rcx_isend(&out, 1, RCX_INT, right, number, comm, &request));
        require_ok(rcx_recv(&in, 1, RCX_INT, ANY, number, comm, &info));
        require(in == out && info.source == (pair->rank + size - 1) % size);
        require_ok(rcx_wait(request));
        require_ok(rcx_request_free(&request));
    }
}

static void run_exchanges(struct job *crew, int rank, void *arg)
{
    struct pair pair = {crew, rank};

    (void)arg;
    crew_run(THREADS + 1, exchange_messages, &pair);
}

static void threads_exchange_messages_beside_collectives(void **state)
{
    (void)state;
    crew_job(3, RCX_THREAD_MULTIPLE, false, run_exchanges, NULL);
    crew_job(2, RCX_THREAD_MULTIPLE, true, run_exchanges, NULL);
}

static void ask(int number, void *arg)
{
    int five = 5, word = 0;

    if (number == 0) {
        require_ok(rcx_recv(&word, 1, RCX_INT, 0, 5, arg, NULL));
        require_ok(rcx_send(&word, 1, RCX_INT, 0, 6, arg));
    } else {
        require_ok(rcx_send(&five, 1, RCX_INT, 0, 5, arg));
        require_ok(rcx_recv(&word, 1, RCX_INT, 0, 6, arg, NULL));
        require(word == 5);
    }
}

/* Without a network, a thread that sleeps must be woken by the other thread's
 * message. */
static void threads_of_a_single_process_wake_each_other(void **state)
{
    const rcx_params_t params = {.field_mask = RCX_PARAM_THREADS,
                                 .threads = RCX_THREAD_MULTIPLE};
    const struct job_options options = {.params = &params, .ucx = true};
    static const char *const waits[] = {"block", "yield", "poll"};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct job one;

        open_with(&one, 1, "RCX_WAIT", waits[i], &options);
        for (int k = 0; k < 20; k++)
            crew_run(2, ask, world_of(&one, 0));
        assert_ok(job_close(&one));
    }
}

static void receive_three(int number, void *arg)
{
    int word = 0;

    (void)number;
    require_ok(rcx_recv(&word, 1, RCX_INT, 0, 3, arg, NULL));
    require(word == 3);
}

static void a_communicator_may_be_freed_while_a_thread_receives(void **state)
{
    const rcx_params_t params = {.field_mask = RCX_PARAM_THREADS,
                                 .threads = RCX_THREAD_MULTIPLE};
    const struct job_options options = {.params = &params, .ucx = true};
    const int three = 3;
    struct crew crew = {.size = 0};
    rcx_request_t *send;
    char text[4096] = "";
    rcx_comm_t *comm;
    struct job one;

    (void)state;
    open_with(&one, 1, NULL, NULL, &options);
    assert_ok(rcx_comm_dup(world_of(&one, 0), &comm));
    assert_ok(rcx_send_init(&three, 1, RCX_INT, 0, 3, comm, &send));
    crew_add(&crew, receive_three, comm);
    while (!strstr(text, "\"tag\": 3, \"state\": \"started\""))
        dump(one.contexts[0], text, sizeof text);
    assert_ok(rcx_comm_free(&comm));
    assert_ok(rcx_start(send));
    assert_ok(rcx_wait(send));
    crew_join(&crew);
    assert_ok(rcx_request_free(&send));
    assert_ok(rcx_comm_dup(world_of(&one, 0), &comm)); /* reuses its memory */
    assert_ok(rcx_comm_free(&comm));
    assert_ok(job_close(&one));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_abort_ends_messages_of_all_members, open_job),
        cmocka_unit_test_setup(
            a_send_fails_if_an_announcement_precedes_its_completion, open_job),
        cmocka_unit_test_setup(a_deadline_names_the_peer_that_has_not_sent,
                               open_job),
        cmocka_unit_test_setup(a_deadline_of_any_source_names_no_rank,
                               open_job),
        cmocka_unit_test_setup(a_deadline_names_the_peer_that_has_not_received,
                               open_job),
        cmocka_unit_test_setup(a_rank_that_waits_for_a_message_is_not_named,
                               open_job),
        cmocka_unit_test_setup(a_peer_that_waits_itself_is_not_named, open_job),
        cmocka_unit_test_setup(ranks_that_wait_for_each_other_are_not_named,
                               open_job),
        cmocka_unit_test_setup(a_deadline_of_any_source_names_a_silent_rank,
                               open_job),
        cmocka_unit_test_setup(
            a_message_that_the_network_loses_breaks_the_communicator, open_job),
        cmocka_unit_test_setup(a_receive_that_is_waited_for_warns_once,
                               open_job),
        cmocka_unit_test_setup(a_dump_lists_messages, open_job),
        cmocka_unit_test_setup(messages_have_callbacks, open_job),
        cmocka_unit_test_setup(a_receive_without_memory_posts_nothing,
                               open_job),
        cmocka_unit_test(a_freed_communicator_ends_with_its_last_message),
        cmocka_unit_test(threads_exchange_messages_beside_collectives),
        cmocka_unit_test(threads_of_a_single_process_wake_each_other),
        cmocka_unit_test(a_communicator_may_be_freed_while_a_thread_receives),
    };

    return cmocka_run_group_tests_name("p2p_ends", tests, NULL, NULL);
}
