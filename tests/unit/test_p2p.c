/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Point-to-point messages over the simulated network: contents, errors of
 * single messages, persistent requests, rejected arguments. All ranks share a
 * thread. Matching order is in test_p2p_order.c, failures in test_p2p_ends.c.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "capture.h"

enum { ANY = RCX_ANY_SOURCE };

static struct capture said = {.asks_for_name = true};

/* Open a job; the lines of all ranks go to said. */
static void open_job(struct job *job, int size, uint64_t seed)
{
    const struct job_options options = {.seed = seed};

    open_with(job, size, NULL, NULL, &options);
    for (int i = 0; i < size; i++) {
        job->contexts[i]->log.fn = capture_line;
        job->contexts[i]->log.arg = &said;
    }
    said = (struct capture){.host_lines = 0};
}

static void progress(const struct job *job)
{
    for (int i = 0; i < job->size; i++)
        for (int k = 0; k < 70; k++)
            assert_true(rcx_progress(job->contexts[i]) >= 0);
}

static rcx_status_t wait_for(const struct job *job, rcx_request_t *request)
{
    int done = 0;

    for (int turns = 0; turns < 100; turns++) {
        const rcx_status_t status = rcx_test(request, &done);

        if (done)
            return status;
        progress(job);
    }
    return RCX_IN_PROGRESS;
}

/* Wait for a request to complete with status, and free it. */
static void expect(const struct job *job, rcx_request_t **request,
                   rcx_status_t status)
{
    assert_status(wait_for(job, *request), status);
    assert_ok(rcx_request_free(request));
}

static void expect_info(rcx_request_t *request, int source, int tag,
                        size_t count)
{
    rcx_recv_info_t info;

    assert_ok(rcx_request_recv_info(request, &info));
    assert_int_equal(info.source, source);
    assert_int_equal(info.tag, tag);
    assert_int_equal(info.count, count);
}

static rcx_request_t *send_words(const struct job *job, int from, int to,
                                 int tag, const int64_t *words, size_t count)
{
    rcx_request_t *request;

    assert_ok(rcx_isend(words, count, RCX_INT64, to, tag, world_of(job, from),
                        &request));
    return request;
}

static rcx_request_t *recv_words(const struct job *job, int at, int from,
                                 int tag, int64_t *words, size_t count)
{
    rcx_request_t *request;

    assert_ok(rcx_irecv(words, count, RCX_INT64, from, tag, world_of(job, at),
                        &request));
    return request;
}

/* ---- Lengths and sources ------------------------------------------------- */

static void empty_messages_are_messages(void **state)
{
    rcx_request_t *sends[3], *recvs[3];
    struct job job;

    (void)state;
    open_job(&job, 2, 1);
    for (int i = 0; i < 3; i++)
        sends[i] = send_words(&job, 0, 1, 5, NULL, 0);
    recvs[0] = recv_words(&job, 1, 0, 5, NULL, 0);
    recvs[1] = recv_words(&job, 1, ANY, 5, (int64_t[4]){0}, 4);
    assert_status(wait_for(&job, recvs[0]), RCX_OK);
    assert_status(wait_for(&job, recvs[1]), RCX_OK);
    assert_int_equal(sends[2]->state, RCX_REQUEST_ACTIVE); /* no receive yet */
    recvs[2] = recv_words(&job, 1, 0, 5, NULL, 0);
    for (int i = 0; i < 3; i++) {
        assert_status(wait_for(&job, recvs[i]), RCX_OK);
        expect_info(recvs[i], 0, 5, 0);
        expect(&job, &recvs[i], RCX_OK);
        expect(&job, &sends[i], RCX_OK);
    }
    assert_ok(job_close(&job));
}

static void a_shorter_message_leaves_the_rest_of_the_buffer_alone(void **state)
{
    int64_t words[4] = {1, 2, 3, 4};
    const int64_t sent[2] = {11, 12}, right[4] = {11, 12, 3, 4};
    rcx_request_t *send, *recv;
    struct job job;

    (void)state;
    open_job(&job, 3, 1);
    recv = recv_words(&job, 2, ANY, 0, words, 4);
    send = send_words(&job, 1, 2, 0, sent, 2);
    assert_status(wait_for(&job, recv), RCX_OK);
    expect_info(recv, 1, 0, 2);
    assert_memory_equal(words, right, sizeof words);
    expect(&job, &recv, RCX_OK);
    expect(&job, &send, RCX_OK);
    assert_ok(job_close(&job));
}

/* Send a message of bytes for which count elements are no valid receive. Only
 * that receive may fail, with status and a line that contains word; later
 * messages and calls must work. */
static void receive_bad(size_t bytes, size_t count, rcx_status_t status,
                        const char *word)
{
    const char sent[64] = "0123456789012345678901234567890123456789";
    rcx_request_t *sends[2], *recvs[2];
    int64_t words[3], last = 0;
    const int64_t one = 1;
    struct job job;

    open_job(&job, 2, 1);
    for (int before = 0; before < 2; before++) { /* receive first, or last */
        if (before)
            recvs[0] = recv_words(&job, 1, ANY, 7, words, count);
        assert_ok(rcx_isend(sent, bytes, RCX_BYTE, 1, 7, world_of(&job, 0),
                            &sends[0]));
        sends[1] = send_words(&job, 0, 1, 7, &one, 1);
        if (!before)
            recvs[0] = recv_words(&job, 1, 0, 7, words, count);
        recvs[1] = recv_words(&job, 1, 0, 7, &last, 1);
        said = (struct capture){.host_lines = 0};
        assert_status(wait_for(&job, recvs[0]), status);
        assert_status(wait_for(&job, recvs[1]), RCX_OK);
        assert_int_equal(said.host_lines, 1);
        assert_non_null(strstr(said.text, word));
        assert_non_null(strstr(said.text, "tag 7"));
        assert_int_equal(last, one);
        expect_info(recvs[0], 0, 7, bytes / 8);
        for (int i = 0; i < 2; i++) {
            expect(&job, &sends[i], RCX_OK);
            expect(&job, &recvs[i], i == 0 ? status : RCX_OK);
        }
        calls_run(&job,
                  &(struct call){.coll = ALLREDUCE, .count = 3, .kind = &sums},
                  false);
    }
    assert_ok(job_close(&job));
}

static void a_message_that_is_too_long_fails_one_receive(void **state)
{
    (void)state;
    receive_bad(24, 2, RCX_ERR_TRUNCATED, "24 bytes");
    receive_bad(1, 0, RCX_ERR_TRUNCATED, "1 bytes");
}

static void a_partial_element_fails_one_receive(void **state)
{
    (void)state;
    receive_bad(15, 3, RCX_ERR_MISMATCH, "15 bytes");
}

static void a_rank_sends_to_itself(void **state)
{
    for (int size = 1; size <= 3; size++) {
        const int64_t sent[] = {5, 6};
        int64_t got[2][2] = {{0}};
        rcx_request_t *send[2], *recv[2];
        const int me = size - 1;
        struct job job;

        (void)state;
        if (size > 1)
            open_job(&job, size, 1);
        else /* as in any single process */
            open_with(&job, 1, NULL, NULL, &(struct job_options){.ucx = true});
        recv[0] = recv_words(&job, me, ANY, 1, got[0], 2);
        send[0] = send_words(&job, me, me, 1, sent, 2);
        send[1] = send_words(&job, me, me, RCX_TAG_MAX, sent, 1);
        recv[1] = recv_words(&job, me, me, RCX_TAG_MAX, got[1], 2);
        for (int i = 0; i < 2; i++) {
            assert_status(wait_for(&job, recv[i]), RCX_OK);
            expect_info(recv[i], me, i ? RCX_TAG_MAX : 1, i ? 1 : 2);
            expect(&job, &recv[i], RCX_OK);
            expect(&job, &send[i], RCX_OK);
            assert_memory_equal(got[i], sent, i ? 8 : 16);
        }
        assert_ok(job_close(&job));
    }
}

/* ---- Persistent requests ------------------------------------------------- */

static void persistent_messages_are_started_repeatedly(void **state)
{
    int64_t out = 0, in = 0;
    rcx_request_t *send, *recv, *any;
    struct job job;

    (void)state;
    open_job(&job, 2, 1);
    assert_ok(
        rcx_send_init(&out, 1, RCX_INT64, 1, 3, world_of(&job, 0), &send));
    assert_ok(rcx_recv_init(&in, 1, RCX_INT64, 0, 3, world_of(&job, 1), &recv));
    assert_ok(
        rcx_recv_init(&in, 1, RCX_INT64, ANY, 3, world_of(&job, 1), &any));
    for (int i = 0; i < 100; i++) {
        rcx_request_t *mine = i % 2 ? any : recv;

        out = i;
        assert_ok(rcx_start(i % 3 ? mine : send));
        assert_ok(rcx_start(i % 3 ? send : mine));
        assert_refused(&said, rcx_start(mine), RCX_ERR_BUSY, "active");
        assert_ok(wait_for(&job, mine));
        assert_ok(wait_for(&job, send));
        expect_info(mine, 0, 3, 1);
        assert_int_equal(in, i);
    }
    expect(&job, &send, RCX_OK);
    expect(&job, &recv, RCX_OK);
    expect(&job, &any, RCX_OK);
    assert_ok(job_close(&job));
}

static void only_the_first_message_allocates(void **state)
{
    int64_t in = 0;
    struct job job;

    (void)state;
    open_job(&job, 2, 1);
    for (int64_t i = 0; i < 20; i++) {
        rcx_request_t *send = send_words(&job, 0, 1, (int)i, &i, 1);
        rcx_request_t *recv =
            recv_words(&job, 1, i % 2 ? ANY : 0, (int)i, &in, 1);

        expect(&job, &recv, RCX_OK);
        expect(&job, &send, RCX_OK);
        assert_int_equal(in, i);
        for (int k = 0; k < 2; k++)
            job.contexts[k]->heap.budget = 0;
    }
    for (int k = 0; k < 2; k++)
        job.contexts[k]->heap.budget = UINT64_MAX;
    assert_ok(job_close(&job));
}

/* ---- Wrong arguments ----------------------------------------------------- */

static void refuse_peers_and_tags(rcx_comm_t *comm)
{
    rcx_request_t *request;
    int word = 0;

    assert_refused(&said, rcx_send(&word, 1, RCX_INT, 2, 0, comm), RCX_ERR_ARG,
                   "rcx_send: dest=2", "0..1");
    assert_refused(&said, rcx_send(&word, 1, RCX_INT, ANY, 0, comm),
                   RCX_ERR_ARG, "dest=-2", "0..1");
    assert_refused(&said, rcx_recv(&word, 1, RCX_INT, -1, 0, comm, NULL),
                   RCX_ERR_ARG, "rcx_recv: source=-1", "0..1",
                   "RCX_ANY_SOURCE");
    assert_refused(&said, rcx_isend(&word, 1, RCX_INT, 1, -1, comm, &request),
                   RCX_ERR_ARG, "tag=-1", "0..268435455");
    assert_refused(
        &said, rcx_irecv(&word, 1, RCX_INT, 1, RCX_TAG_MAX + 1, comm, &request),
        RCX_ERR_ARG, "tag=268435456");
}

static void refuse_buffers(rcx_comm_t *comm)
{
    rcx_request_t *request;
    int word = 0;

    assert_refused(&said, rcx_send(NULL, 1, RCX_INT, 1, 0, comm), RCX_ERR_ARG,
                   "buf=NULL");
    assert_refused(
        &said, rcx_recv_init(RCX_IN_PLACE, 1, RCX_INT, 1, 0, comm, &request),
        RCX_ERR_ARG, "buf=RCX_IN_PLACE");
    assert_refused(&said, rcx_send(&word, SIZE_MAX / 2, RCX_INT, 1, 0, comm),
                   RCX_ERR_ARG, "count=");
    assert_refused(&said, rcx_send_init(&word, 1, 99, 1, 0, comm, &request),
                   RCX_ERR_ARG, "datatype=99");
    assert_refused(&said, rcx_irecv(&word, 1, RCX_INT, 1, 0, comm, NULL),
                   RCX_ERR_ARG, "request_p=NULL");
}

static void wrong_arguments_are_named_and_nothing_is_sent(void **state)
{
    rcx_request_t *request, *send;
    rcx_recv_info_t info;
    int word = 0;
    struct job job;

    (void)state;
    open_job(&job, 2, 1);
    refuse_peers_and_tags(world_of(&job, 0));
    refuse_buffers(world_of(&job, 0));
    assert_int_equal(rcx_sim_unmatched(job.sim), 0);
    assert_ok(
        rcx_recv_init(&word, 1, RCX_INT, 1, 0, world_of(&job, 0), &request));
    assert_refused(&said, rcx_request_recv_info(request, &info), RCX_ERR_ARG,
                   "no message yet");
    assert_ok(rcx_start(request));
    assert_refused(&said, rcx_request_recv_info(request, &info), RCX_ERR_BUSY,
                   "active");
    send = send_words(&job, 1, 0, 0, NULL, 0);
    assert_refused(&said, rcx_request_recv_info(send, &info), RCX_ERR_ARG,
                   "not a receive");
    expect(&job, &request, RCX_OK);
    expect(&job, &send, RCX_OK);
    assert_ok(job_close(&job));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_messages_are_messages),
        cmocka_unit_test(a_shorter_message_leaves_the_rest_of_the_buffer_alone),
        cmocka_unit_test(a_message_that_is_too_long_fails_one_receive),
        cmocka_unit_test(a_partial_element_fails_one_receive),
        cmocka_unit_test(a_rank_sends_to_itself),
        cmocka_unit_test(persistent_messages_are_started_repeatedly),
        cmocka_unit_test(only_the_first_message_allocates),
        cmocka_unit_test(wrong_arguments_are_named_and_nothing_is_sent),
    };

    return cmocka_run_group_tests_name("p2p", tests, NULL, NULL);
}
