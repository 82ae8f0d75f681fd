/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives that are cancelled, at every moment of their message; probes; send
 * and receive at once; tests of all requests. Over the simulated network, and
 * in a job of one rank.
 */
#include "test.h"

#include "calls.h"
#include "capture.h"

enum { ANY = RCX_ANY_SOURCE, MOMENTS = 12, SEEDS = 6 };

static struct capture said = {.asks_for_name = true};

static void open_job(struct job *job, int size, uint64_t seed)
{
    const struct job_options options = {.seed = seed, .ucx = size == 1};

    open_with(job, size, NULL, NULL, &options);
    for (int i = 0; i < size; i++) {
        job->contexts[i]->log.fn = capture_line;
        job->contexts[i]->log.arg = &said;
    }
    said = (struct capture){.host_lines = 0};
}

static void progress(const struct job *job)
{
    for (int turns = 0; turns < 100; turns++)
        for (int i = 0; i < job->size; i++)
            assert_true(rcx_progress(job->contexts[i]) >= 0);
}

static rcx_request_t *start_recv(const struct job *job, int at, int from,
                                 int64_t *word)
{
    rcx_request_t *request;

    assert_ok(
        rcx_irecv(word, 1, RCX_INT64, from, 4, world_of(job, at), &request));
    return request;
}

static rcx_request_t *start_send(const struct job *job, int from, int to,
                                 const int64_t *words, size_t count)
{
    rcx_request_t *request;

    assert_ok(rcx_isend(words, count, RCX_INT64, to, 4, world_of(job, from),
                        &request));
    return request;
}

static rcx_status_t end(rcx_request_t **request)
{
    int done = 0;
    const rcx_status_t status = rcx_test(*request, &done);

    assert_true(done);
    assert_ok(rcx_request_free(request));
    return status;
}

/* ---- Cancel -------------------------------------------------------------- */

static void a_receive_without_a_message_is_cancelled(void **state)
{
    const int64_t seven = 7;

    (void)state;
    for (int size = 1; size <= 2; size++)
        for (int any = 0; any < 2; any++) {
            int64_t first = 0, second = 0;
            rcx_request_t *recv, *send;
            rcx_recv_info_t info;
            struct job job;

            open_job(&job, size, 1);
            recv = start_recv(&job, 0, any ? ANY : size - 1, &first);
            assert_ok(rcx_cancel(recv));
            assert_status(rcx_wait(recv), RCX_ERR_CANCELED);
            assert_refused(&said, rcx_request_recv_info(recv, &info),
                           RCX_ERR_ARG, "no message yet");
            assert_ok(rcx_cancel(recv)); /* no effect */
            assert_status(end(&recv), RCX_ERR_CANCELED);
            recv = start_recv(&job, 0, size - 1, &second);
            send = start_send(&job, size - 1, 0, &seven, 1);
            progress(&job);
            assert_ok(end(&recv));
            assert_ok(end(&send));
            assert_int_equal(first, 0);
            assert_int_equal(second, 7);
            assert_ok(job_close(&job));
        }
}

/* Cancel after some polls: the message is in one of the two receives. Returns
 * whether the first one was cancelled. */
static bool cancel_at(int moment, uint64_t seed, int source)
{
    const int64_t seven = 7;
    int64_t first = 0, second = 0;
    rcx_request_t *recvs[2], *send;
    rcx_status_t status;
    struct job job;

    open_job(&job, 2, seed);
    if (moment % 2)
        send = start_send(&job, 1, 0, &seven, 1);
    recvs[0] = start_recv(&job, 0, source, &first);
    recvs[1] = start_recv(&job, 0, 1, &second);
    if (moment % 2 == 0)
        send = start_send(&job, 1, 0, &seven, 1);
    for (int i = 0; i < moment / 2; i++)
        rcx_progress(job.contexts[i % 2]);
    assert_ok(rcx_cancel(recvs[0]));
    progress(&job);
    status = end(&recvs[0]);
    if (status == RCX_OK)
        assert_ok(rcx_cancel(recvs[1]));
    assert_status(end(&recvs[1]), status == RCX_OK ? RCX_ERR_CANCELED : RCX_OK);
    assert_ok(end(&send));
    assert_int_equal(first, status == RCX_OK ? 7 : 0);
    assert_int_equal(second, status == RCX_OK ? 0 : 7);
    assert_int_equal(rcx_sim_unmatched(job.sim), 0);
    assert_ok(job_close(&job));
    return status == RCX_ERR_CANCELED;
}

static void
a_message_is_received_once_whenever_its_receive_is_cancelled(void **state)
{
    int matched = 0;

    (void)state;
    for (int moment = 0; moment < MOMENTS; moment++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++)
            for (int any = 0; any < 2; any++)
                matched += !cancel_at(moment, seed, any ? ANY : 1);
    assert_true(matched > 0);
}

static void a_cancelled_persistent_receive_is_started_again(void **state)
{
    const int64_t seven = 7;
    int64_t word = 0;
    rcx_request_t *recv, *send;
    struct job job;

    (void)state;
    open_job(&job, 2, 1);
    assert_ok(
        rcx_recv_init(&word, 1, RCX_INT64, ANY, 4, world_of(&job, 0), &recv));
    assert_ok(rcx_cancel(recv)); /* not started: no effect */
    for (int i = 0; i < 3; i++) {
        assert_ok(rcx_start(recv));
        assert_ok(rcx_cancel(recv));
        assert_status(rcx_wait(recv), RCX_ERR_CANCELED);
        assert_ok(rcx_start(recv));
        send = start_send(&job, 1, 0, &seven, 1);
        progress(&job);
        assert_ok(end(&send));
        assert_ok(rcx_wait(recv));
        assert_int_equal(word, 7);
        word = 0;
    }
    assert_ok(end(&recv));
    assert_ok(job_close(&job));
}

static void be_called(rcx_request_t *request, rcx_status_t status, void *arg)
{
    (void)request;
    *(rcx_status_t *)arg = status;
}

static void callbacks_and_waits_report_a_cancellation(void **state)
{
    rcx_status_t called = RCX_OK;
    rcx_request_t *recvs[2];
    int64_t words[2];
    struct job job;
    size_t index;

    (void)state;
    open_job(&job, 2, 1);
    for (int i = 0; i < 2; i++)
        recvs[i] = start_recv(&job, 0, ANY, &words[i]);
    assert_ok(rcx_request_set_callback(recvs[1], be_called, &called));
    assert_ok(rcx_cancel(recvs[1]));
    assert_status(rcx_wait_any(2, recvs, &index), RCX_ERR_CANCELED);
    assert_int_equal(index, 1);
    assert_status(called, RCX_ERR_CANCELED);
    assert_ok(rcx_cancel(recvs[0]));
    assert_status(rcx_wait_all(2, recvs), RCX_ERR_CANCELED);
    assert_status(end(&recvs[0]), RCX_ERR_CANCELED);
    assert_status(end(&recvs[1]), RCX_ERR_CANCELED);
    assert_ok(job_close(&job));
}

static void only_receives_are_cancelled(void **state)
{
    const int64_t seven = 7;
    int64_t word = 0, sum = 0;
    rcx_request_t *requests[3];
    struct job job;

    (void)state;
    open_job(&job, 2, 1);
    requests[0] = start_send(&job, 0, 1, &seven, 1);
    assert_refused(&said, rcx_cancel(requests[0]), RCX_ERR_ARG,
                   "rcx_cancel: request=", "is not a receive");
    for (int i = 0; i < 2; i++)
        assert_ok(rcx_iallreduce(&seven, i ? &word : &sum, 1, RCX_INT64,
                                 RCX_SUM, world_of(&job, i), &requests[1 + i]));
    assert_refused(&said, rcx_cancel(requests[1]), RCX_ERR_ARG,
                   "is not a receive");
    assert_status(rcx_cancel(NULL), RCX_ERR_ARG);
    progress(&job);
    assert_ok(end(&requests[1]));
    assert_ok(end(&requests[2]));
    requests[1] = start_recv(&job, 1, 0, &word);
    progress(&job);
    assert_ok(end(&requests[0]));
    assert_ok(end(&requests[1]));
    assert_int_equal(sum, 14);
    assert_int_equal(word, 7);
    assert_ok(job_close(&job));
}

/* A failure of the communicator that came first is what the receive reports. */
static void a_receive_of_a_failed_communicator_reports_the_failure(void **state)
{
    rcx_request_t *recv;
    int64_t word;
    struct job job;
    int flag = 5;

    (void)state;
    open_job(&job, 2, 1);
    recv = start_recv(&job, 0, 1, &word);
    assert_ok(rcx_comm_abort(world_of(&job, 1)));
    progress(&job);
    assert_ok(rcx_cancel(recv));
    assert_status(end(&recv), RCX_ERR_COMM_FAILED);
    assert_status(rcx_iprobe(1, 4, world_of(&job, 0), &flag, NULL),
                  RCX_ERR_COMM_FAILED);
    assert_status(rcx_sendrecv(&word, 0, RCX_INT64, 1, 4, &word, 1, RCX_INT64,
                               1, 4, world_of(&job, 0), NULL),
                  RCX_ERR_COMM_FAILED);
    assert_int_equal(flag, 5);
    job_abandon(&job);
}

/* ---- Probes -------------------------------------------------------------- */

static bool probe(const struct job *job, int source, int tag,
                  rcx_recv_info_t *info)
{
    int flag = -1;

    for (int i = 0; i < 50 && flag != 1; i++)
        assert_ok(rcx_iprobe(source, tag, world_of(job, 0), &flag, info));
    assert_true(flag == 0 || flag == 1);
    return flag;
}

static void a_probe_finds_what_the_next_receive_receives(void **state)
{
    const int64_t words[3] = {7, 8, 9};

    (void)state;
    for (int size = 1; size <= 3; size++) {
        rcx_recv_info_t info = {.source = -1}, got;
        rcx_request_t *send;
        int64_t in[3] = {0};
        struct job job;

        open_job(&job, size, 1);
        assert_false(probe(&job, ANY, 4, &info));
        assert_int_equal(info.source, -1);
        send = start_send(&job, size - 1, 0, words, 3);
        assert_false(probe(&job, size - 1, 5, &info));
        if (size > 1)
            assert_false(probe(&job, 0, 4, &info));
        for (int any = 0; any < 2; any++) {
            assert_true(probe(&job, any ? ANY : size - 1, 4, &info));
            assert_int_equal(info.source, size - 1);
            assert_int_equal(info.tag, 4);
            assert_int_equal(info.count, sizeof words);
        }
        assert_true(probe(&job, ANY, 4, NULL));
        assert_ok(rcx_recv(in, 3, RCX_INT64, info.source, info.tag,
                           world_of(&job, 0), &got));
        assert_int_equal(got.count, 3);
        assert_memory_equal(in, words, sizeof words);
        assert_false(probe(&job, ANY, 4, NULL));
        progress(&job);
        assert_ok(end(&send));
        assert_ok(job_close(&job));
    }
}

static void wrong_arguments_of_a_probe_are_named(void **state)
{
    struct job job;
    int flag = 5;

    (void)state;
    open_job(&job, 2, 1);
    assert_refused(&said, rcx_iprobe(2, 0, world_of(&job, 0), &flag, NULL),
                   RCX_ERR_ARG, "rcx_iprobe: source=2", "RCX_ANY_SOURCE");
    assert_refused(&said, rcx_iprobe(1, -1, world_of(&job, 0), &flag, NULL),
                   RCX_ERR_ARG, "rcx_iprobe: tag=-1");
    assert_refused(&said, rcx_iprobe(1, 0, world_of(&job, 0), NULL, NULL),
                   RCX_ERR_ARG, "rcx_iprobe: flag_p=NULL");
    assert_int_equal(flag, 5);
    assert_ok(job_close(&job));
}

/* ---- Both at once -------------------------------------------------------- */

static void a_rank_exchanges_with_itself(void **state)
{
    const int64_t out[2] = {7, 8};
    int64_t in[2] = {0};
    rcx_recv_info_t info;
    rcx_comm_t *comm;
    struct job job;

    (void)state;
    open_job(&job, 1, 1);
    comm = world_of(&job, 0);
    assert_ok(rcx_sendrecv(out, 2, RCX_INT64, 0, 4, in, 2, RCX_INT64, ANY, 4,
                           comm, &info));
    assert_memory_equal(in, out, sizeof out);
    assert_int_equal(info.count, 2);
    assert_status(rcx_sendrecv(out, 2, RCX_INT64, 0, 4, in, 1, RCX_INT64, 0, 4,
                               comm, NULL),
                  RCX_ERR_TRUNCATED);
    assert_refused(&said,
                   rcx_sendrecv(in, 2, RCX_INT64, 0, 4, in + 1, 1, RCX_INT64, 0,
                                4, comm, NULL),
                   RCX_ERR_ARG, "rcx_sendrecv: sendbuf and recvbuf overlap");
    assert_refused(&said,
                   rcx_sendrecv(out, 2, RCX_INT64, 1, 4, in, 2, RCX_INT64, 0, 4,
                                comm, NULL),
                   RCX_ERR_ARG, "rcx_sendrecv: dest=1");
    assert_refused(&said,
                   rcx_sendrecv(out, 2, RCX_INT64, 0, 4, in, 2, RCX_INT64, 1, 4,
                                comm, NULL),
                   RCX_ERR_ARG, "rcx_sendrecv: source=1");
    assert_int_equal(job.contexts[0]->requests.live, 0);
    assert_ok(job_close(&job));
}

/* ---- Tests of all -------------------------------------------------------- */

static void test_all_is_done_when_all_are(void **state)
{
    const int64_t words[2] = {7, 8};
    int64_t in[2];
    rcx_request_t *requests[3] = {NULL, NULL, NULL}, *sends[2];
    struct job job;
    int done = 5;

    (void)state;
    open_job(&job, 2, 1);
    assert_ok(rcx_test_all(0, NULL, &done));
    assert_int_equal(done, 1);
    assert_ok(rcx_test_all(3, requests, &done));
    assert_int_equal(done, 1);
    requests[0] = start_recv(&job, 0, 1, &in[0]);
    requests[2] = start_recv(&job, 0, 1, &in[1]);
    sends[0] = start_send(&job, 1, 0, words, 2); /* too long */
    progress(&job);
    assert_ok(rcx_test_all(3, requests, &done));
    assert_int_equal(done, 0);
    sends[1] = start_send(&job, 1, 0, words, 1);
    progress(&job);
    assert_status(rcx_test_all(3, requests, &done), RCX_ERR_TRUNCATED);
    assert_int_equal(done, 1);
    assert_status(rcx_test_all(3, requests, NULL), RCX_ERR_ARG);
    assert_status(rcx_test_all(3, NULL, &done), RCX_ERR_ARG);
    assert_status(end(&requests[0]), RCX_ERR_TRUNCATED);
    assert_ok(end(&requests[2]));
    assert_ok(end(&sends[0]));
    assert_ok(end(&sends[1]));
    assert_ok(job_close(&job));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_receive_without_a_message_is_cancelled),
        cmocka_unit_test(
            a_message_is_received_once_whenever_its_receive_is_cancelled),
        cmocka_unit_test(a_cancelled_persistent_receive_is_started_again),
        cmocka_unit_test(callbacks_and_waits_report_a_cancellation),
        cmocka_unit_test(only_receives_are_cancelled),
        cmocka_unit_test(
            a_receive_of_a_failed_communicator_reports_the_failure),
        cmocka_unit_test(a_probe_finds_what_the_next_receive_receives),
        cmocka_unit_test(wrong_arguments_of_a_probe_are_named),
        cmocka_unit_test(a_rank_exchanges_with_itself),
        cmocka_unit_test(test_all_is_done_when_all_are),
    };

    return cmocka_run_group_tests_name("p2p_cancel", tests, NULL, NULL);
}
