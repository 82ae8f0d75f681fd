/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The failure detector: messages about operations that do not complete (their
 * text, and when they are logged), probes of reachability, and failures whose
 * cause another rank knows. Ranks share a thread over the simulated network;
 * time is skipped.
 */
#include "listening.h"

/* ---- Numbers and names --------------------------------------------------- */

/* rcx_comm_error() of rank must name rank blamed of the world, and no other. */
static void assert_names(struct job *job, int rank, int culprit)
{
    rcx_error_info_t info;

    assert_ok(rcx_comm_error(world_of(job, rank), &info));
    assert_int_equal(info.rank_count, 1);
    assert_int_equal(info.ranks[0], culprit);
}

static void need_4_a_mismatch_names_type_op_and_the_calls_number(void **state)
{
    rcx_request_t *requests[RANKS];
    struct job job;

    (void)state;
    open_listening(&job, "cheap");
    reduce_often(&job);
    start(&job, 0, RCX_SUM, &requests[0]);
    start(&job, 1, RCX_MAX, &requests[1]);
    start(&job, 2, RCX_SUM, &requests[2]);
    pass(&job, 2);
    assert_says(1, RCX_LOG_ERROR,
                "reduce of 24 int64, max, root 1, number 5 "
                "on communicator 1 (world): rank 1 made a different call");
    for (int i = 0; i < RANKS; i++)
        assert_names(&job, i, 1);
    assert_int_equal(recorded(&job), CALLS + 1);
    abandon(&job, requests, RANKS);
}

/* In a chain, a rank may send to the same neighbour whatever the root is. So a
 * different root on rank 1 must still be a mismatch. */
static void a_call_with_another_root_is_another_one(void **state)
{
    int64_t in[1] = {1}, out[RANKS][1];
    rcx_request_t *requests[RANKS];
    struct job job;

    (void)state;
    open_with(&job, RANKS, "RCX_REDUCE", "tree:topology=chain", NULL);
    job_listen(&job, said);
    for (int i = 0; i < RANKS; i++) {
        assert_ok(rcx_ireduce(in, out[i], 1, RCX_INT64, RCX_SUM, i == 1 ? 2 : 1,
                              world_of(&job, i), &requests[i]));
    }
    pass(&job, 2);
    for (int i = 0; i < RANKS; i++)
        assert_status(requests[i]->status, RCX_ERR_MISMATCH);
    abandon(&job, requests, RANKS);
}

static void a_deadline_names_type_op_and_the_calls_number(void **state)
{
    rcx_request_t *request;
    struct job job;

    (void)state;
    open_listening(&job, "off");
    reduce_often(&job);
    assert_ok(rcx_comm_set_timeout(world_of(&job, 1), (int64_t)SECOND));
    start(&job, 1, RCX_SUM, &request);
    pass(&job, 2);
    assert_says(1, RCX_LOG_ERROR,
                "reduce of 24 int64, sum, root 1, number 5 "
                "on communicator 1 (world): timed out after ");
    assert_non_null(strstr(said[1].last, " s: rank 0 has not called it, rank 2 "
                                         "has not called it"));
    abandon(&job, &request, 1);
}

static void need_4_the_full_check_gives_the_same_number(void **state)
{
    rcx_request_t *requests[RANKS];
    struct job job;

    (void)state;
    open_listening(&job, "full");
    reduce_often(&job);
    for (int i = 0; i < RANKS; i++)
        start(&job, i, i == 2 ? RCX_MAX : RCX_SUM, &requests[i]);
    assert_status(job_wait(&job, requests), RCX_ERR_MISMATCH);
    assert_says(0, RCX_LOG_ERROR,
                "reduce of 24 int64, sum, root 1, number 5 on "
                "communicator 1 (world): op is sum on rank 0 and max "
                "on rank 2");
    assert_int_equal(recorded(&job), CALLS + 1);
    for (int i = 0; i < RANKS; i++)
        assert_ok(rcx_request_free(&requests[i]));
    assert_ok(job_close(&job));
}

/* ---- Stall warnings ------------------------------------------------------ */

/* Reset the skipped time, so that a call of that rank begins now. */
static void begin_anew(struct job *job, int rank)
{
    job->contexts[rank]->time.skipped_ns = 0;
    job->contexts[rank]->detector.next_ns = 0;
}

/* Rank 2 enters a reduction seconds after the others. Rank 1, the root, waits
 * for it. */
static void wait_for_rank_2(struct job *job, int seconds)
{
    rcx_request_t *requests[RANKS];

    for (int i = 0; i < RANKS; i++)
        begin_anew(job, i);
    start(job, 0, RCX_SUM, &requests[0]);
    start(job, 1, RCX_SUM, &requests[1]);
    pass(job, seconds);
    begin_anew(job, 2);
    start(job, 2, RCX_SUM, &requests[2]);
    assert_ok(job_wait(job, requests));
    for (int i = 0; i < RANKS; i++)
        assert_ok(rcx_request_free(&requests[i]));
}

static void a_rank_that_waits_30_s_warns_once(void **state)
{
    struct job job;

    (void)state;
    open_listening(&job, "cheap");
    reduce_often(&job);
    wait_for_rank_2(&job, 25);
    assert_silent(1);
    wait_for_rank_2(&job, 32);
    assert_says(1, RCX_LOG_WARN,
                "reduce of 24 int64, sum, root 1, number 6 on "
                "communicator 1 (world): has waited 3");
    assert_non_null(strstr(said[1].last, " s for rank 2; no deadline is set "
                                         "(RCX_TIMEOUT)"));
    assert_silent(2);
    wait_for_rank_2(&job, 45); /* the next warning is due after 60 s */
    assert_says(1, RCX_LOG_WARN, "number 6");
    said[1].count = 0;
    wait_for_rank_2(&job, 150);
    assert_says(1, RCX_LOG_WARN,
                "number 8 on communicator 1 (world): has waited 6");
    assert_ok(job_close(&job));
}

/* The start began so long ago that its next warning is minutes away. */
static void a_start_that_measures_says_for_which_ranks_it_waits(void **state)
{
    const uint64_t begin = rcx_now_ns() - 700 * SECOND;
    struct rcx_context *context;
    rcx_request_t *requests[RANKS];
    int64_t in = 1, out;
    struct job job;

    (void)state;
    open_listening(&job, "off");
    context = job.contexts[1];
    assert_ok(rcx_ireduce(&in, &out, 1, RCX_INT64, RCX_SUM, 1,
                          context->internal, &requests[1]));
    pass(&job, 31);
    assert_says(1, RCX_LOG_WARN, "has waited 3");
    said[1].count = 0;
    rcx_start_wait_begin(&context->start_wait, &context->log, begin);
    pass(&job, 61); /* one mechanism warns at a time */
    assert_silent(1);
    context->start_wait.next_ns = 0;
    pass(&job, 1);
    assert_says(1, RCX_LOG_WARN,
                " s: it measures the network between nodes, which waits for "
                "rank ");
    rcx_start_wait_end(&context->start_wait);
    for (int i = 0; i < RANKS; i += 2)
        assert_ok(rcx_ireduce(&in, NULL, 1, RCX_INT64, RCX_SUM, 1,
                              job.contexts[i]->internal, &requests[i]));
    assert_ok(job_wait(&job, requests));
    for (int i = 0; i < RANKS; i++)
        assert_ok(rcx_request_free(&requests[i]));
    assert_ok(job_close(&job));
}

static void a_deadline_or_a_log_level_prevents_stall_warnings(void **state)
{
    struct job job;

    (void)state;
    open_listening(&job, "cheap");
    for (int i = 0; i < RANKS; i++)
        assert_ok(
            rcx_comm_set_timeout(world_of(&job, i), 100 * (int64_t)SECOND));
    wait_for_rank_2(&job, 40);
    for (int i = 0; i < RANKS; i++) {
        assert_ok(rcx_comm_set_timeout(world_of(&job, i), 0));
        job.contexts[i]->log.level = RCX_LOG_ERROR;
    }
    wait_for_rank_2(&job, 40);
    for (int i = 0; i < RANKS; i++)
        assert_silent(i);
    assert_ok(job_close(&job));
}

/* An hour passes during an operation, while no rank is in RCX: no warning. */
static void time_outside_of_rcx_does_not_count_as_waiting(void **state)
{
    rcx_request_t *requests[RANKS];
    struct job job;

    (void)state;
    open_listening(&job, "cheap");
    for (int i = 0; i < 2; i++)
        start(&job, i, RCX_SUM, &requests[i]);
    progress(&job);
    for (int i = 0; i < RANKS; i++)
        job.contexts[i]->time.skipped_ns += 3600 * SECOND;
    progress(&job);
    start(&job, 2, RCX_SUM, &requests[2]);
    assert_ok(job_wait(&job, requests));
    for (int i = 0; i < RANKS; i++) {
        assert_silent(i);
        assert_ok(rcx_request_free(&requests[i]));
    }
    assert_ok(job_close(&job));
}

/* ---- Unreachable peers --------------------------------------------------- */

static int probes[RANKS]; /* probes of each peer */

static rcx_status_t fail_to_reach_0(struct rcx_transport *t, int peer)
{
    probes[peer]++;
    if (peer > 0)
        return RCX_OK;
    snprintf(t->last_error, sizeof t->last_error, "no way leads there");
    return RCX_ERR_TRANSPORT;
}

/* Rank 1 is the root and has rank 2's message. After a second it must probe
 * rank 0, for which it still waits, and not rank 2. */
static void a_rank_that_waits_a_second_probes_the_awaited_peer(void **state)
{
    rcx_request_t *requests[2];
    struct rcx_transport_ops ops;
    struct job job;

    (void)state;
    memset(probes, 0, sizeof probes);
    open_listening(&job, "off");
    ops = *job.contexts[1]->transport->ops;
    ops.reach = fail_to_reach_0;
    job.contexts[1]->transport->ops = &ops;
    for (int i = 0; i < RANKS; i++)
        begin_anew(&job, i);
    start(&job, 1, RCX_SUM, &requests[0]);
    start(&job, 2, RCX_SUM, &requests[1]);
    progress(&job);
    pass_half_seconds(&job, 1);
    assert_int_equal(probes[0], 0);
    pass(&job, 1);
    assert_int_equal(probes[0], 1);
    assert_int_equal(probes[2], 0);
    assert_says(
        1, RCX_LOG_ERROR,
        "reduce of 24 int64, sum, root 1, number 1 on communicator 1 (world): "
        "RCX_ERR_TRANSPORT");
    assert_non_null(strstr(said[1].last, ": no way leads there"));
    assert_says(2, RCX_LOG_ERROR, "because of rank 0");
    assert_status(requests[0]->status, RCX_ERR_TRANSPORT);
    abandon(&job, requests, 2);
}

static const struct rcx_transport_ops *simulated;
static int sent;

static void count_ctrl_msg(struct rcx_transport *t, int peer,
                           const void *message, size_t bytes)
{
    (void)t, (void)peer, (void)message, (void)bytes;
    sent++;
}

static rcx_status_t count_probe(struct rcx_transport *t, int peer)
{
    (void)t, (void)peer;
    sent++;
    return RCX_OK;
}

/* In the final phase peers may have exited, so no straggler query or probe may
 * be sent: it would open a connection to a peer that is gone. */
static void a_rank_in_the_final_phase_sends_no_query(void **state)
{
    (void)state;
    for (int is_final = 0; is_final <= 1; is_final++) {
        struct rcx_transport *t;
        struct rcx_transport_ops ops;
        rcx_request_t *request;
        struct job job;

        open_listening(&job, "cheap");
        t = job.contexts[1]->transport;
        simulated = t->ops;
        ops = *t->ops;
        ops.send_ctrl = count_ctrl_msg;
        ops.reach = count_probe;
        t->ops = &ops;
        begin_anew(&job, 1);
        sent = 0;
        job.contexts[1]->in_final_phase = is_final;
        start(&job, 1, RCX_SUM, &request);
        pass(&job, 2);
        assert_int_equal(sent > 0, !is_final);
        t->ops = simulated;
        assert_ok(rcx_comm_abort(world_of(&job, 1)));
        abandon(&job, &request, 1);
    }
}

/* ---- The cause of a lost message ----------------------------------------- */

enum { POLLS = 60 }; /* polls until rank 1's announcement arrives */

static int polls;
static struct rcx_comm *witness; /* on rank 1; NULL: no announcement */

static unsigned announce_late(struct rcx_transport *t)
{
    struct rcx_ctrl_msg announcement = {.kind = RCX_CTRL_FAILED,
                                        .status = RCX_ERR_TIMEOUT,
                                        .ranks = {2},
                                        .rank_count = 1};

    if (++polls == POLLS && witness)
        rcx_ctrl_send(witness, 0, &announcement);
    return simulated->progress(t);
}

/* A message of rank 0 is lost. Rank 1 had left before, as it had heard of a
 * failure of rank 2. If its announcement arrives, the error must name that
 * failure. */
static void lose_message_with_rank_1(struct job *job, const char *says)
{
    const struct rcx_sim_fault fault = {.rank = 0, .fails = true};
    rcx_request_t *request;
    struct rcx_transport_ops ops;

    simulated = job->contexts[0]->transport->ops;
    ops = *simulated;
    ops.progress = announce_late;
    job->contexts[0]->transport->ops = &ops;
    polls = 0;
    rcx_sim_set_fault(job->sim, &fault);
    start(job, 0, RCX_SUM, &request);
    assert_true(polls > POLLS);
    assert_says(0, RCX_LOG_ERROR, says);
    job->contexts[0]->transport->ops = simulated;
    assert_true(rcx_wait(request) < 0);
    assert_ok(rcx_comm_abort(world_of(job, 1))); /* rank 1 has not failed yet */
    abandon(job, &request, 1);
}

static void control_messages_are_drained_after_a_lost_message(void **state)
{
    struct job job;

    (void)state;
    open_listening(&job, "off");
    witness = world_of(&job, 1);
    lose_message_with_rank_1(
        &job, "communicator 1 (world) failed on rank 1: RCX_ERR_TIMEOUT");
    assert_non_null(strstr(said[0].last, "because of rank 2"));
    witness = NULL;
    open_listening(&job, "off");
    lose_message_with_rank_1(&job, "RCX_ERR_TRANSPORT");
}

/* Let the detector of rank 0 find that rank 1 has failed, while its transport
 * has this progress. */
static void poll_with_a_dead_peer(struct job *job,
                                  unsigned (*progress)(struct rcx_transport *t))
{
    struct rcx_transport *t = job->contexts[0]->transport;
    unsigned char dead[RANKS] = {0};
    struct rcx_transport_ops ops;

    simulated = t->ops;
    ops = *simulated;
    ops.progress = progress;
    t->ops = &ops;
    t->failed_peers = dead;
    t->watches_peers = true;
    rcx_transport_peer_failed(t, 1);
    rcx_detector_poll(job->contexts[0]);
    t->failed_peers = NULL;
    t->ops = simulated;
}

/* Rank 0 has failed the world. */
static void abandon_others(struct job *job)
{
    for (int i = 1; i < RANKS; i++)
        assert_ok(rcx_comm_abort(world_of(job, i)));
    progress(job);
    abandon(job, NULL, 0);
}

/* Rank 1 has announced why it leaves, but the transport reports its failure
 * before the announcement is read. Rank 2 must be blamed, not rank 1. */
static void control_messages_are_drained_before_a_peer_fails(void **state)
{
    struct job job;

    (void)state;
    open_listening(&job, "off");
    witness = world_of(&job, 1);
    polls = 0;
    poll_with_a_dead_peer(&job, announce_late);
    assert_names(&job, 0, 2);
    witness = NULL;
    abandon_others(&job);
}

/* ---- Time without a core ------------------------------------------------- */

static const struct rcx_transport_ops *cancels;

/* Cancel a message after 120 ms, as if the process had no core meanwhile. */
static void cancel_late(struct rcx_transport *t, struct rcx_message *m)
{
    const struct timespec long_enough = {.tv_nsec = 120 * 1000 * 1000};

    nanosleep(&long_enough, NULL);
    cancels->cancel(t, m);
}

static struct rcx_context *stopped;

static unsigned stop_late(struct rcx_transport *t)
{
    stopped->time.skipped_ns = 3 * SECOND;
    return simulated->progress(t);
}

/* A rank that is stopped in a check of the detector must know it: others may
 * have gone on without it. */
static void a_stop_within_a_check_is_noted(void **state)
{
    struct job job;

    (void)state;
    open_listening(&job, "off");
    stopped = job.contexts[0];
    stopped->time.skipped_ns = 0;
    stopped->detector.next_ns = stopped->detector.stall_ns = 0;
    rcx_detector_poll(stopped);
    poll_with_a_dead_peer(&job, stop_late);
    assert_int_equal(stopped->time.skipped_ns, 3 * SECOND);
    assert_true(stopped->detector.stall_ns >= 2 * SECOND);
    abandon_others(&job);
}

static void
time_that_passes_meanwhile_lets_no_receive_keep_its_buffer(void **state)
{
    struct rcx_transport_ops ops;
    rcx_request_t *request;
    int64_t in = 1, out;
    struct job job;

    (void)state;
    open_listening(&job, "off");
    cancels = job.contexts[0]->transport->ops;
    ops = *cancels;
    ops.cancel = cancel_late;
    job.contexts[0]->transport->ops = &ops;
    assert_ok(rcx_iallreduce(&in, &out, 1, RCX_INT64, RCX_SUM,
                             world_of(&job, 0), &request));
    assert_ok(rcx_comm_abort(world_of(&job, 0)));
    assert_int_equal(job.contexts[0]->orphans.receives, 0);
    job.contexts[0]->transport->ops = cancels;
    assert_status(rcx_wait(request), RCX_ERR_COMM_FAILED);
    assert_ok(rcx_request_free(&request));
    job_abandon(&job);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(need_4_a_mismatch_names_type_op_and_the_calls_number),
        cmocka_unit_test(a_call_with_another_root_is_another_one),
        cmocka_unit_test(a_deadline_names_type_op_and_the_calls_number),
        cmocka_unit_test(need_4_the_full_check_gives_the_same_number),
        cmocka_unit_test(a_rank_that_waits_30_s_warns_once),
        cmocka_unit_test(a_start_that_measures_says_for_which_ranks_it_waits),
        cmocka_unit_test(a_deadline_or_a_log_level_prevents_stall_warnings),
        cmocka_unit_test(time_outside_of_rcx_does_not_count_as_waiting),
        cmocka_unit_test(control_messages_are_drained_after_a_lost_message),
        cmocka_unit_test(control_messages_are_drained_before_a_peer_fails),
        cmocka_unit_test(a_rank_that_waits_a_second_probes_the_awaited_peer),
        cmocka_unit_test(a_rank_in_the_final_phase_sends_no_query),
        cmocka_unit_test(a_stop_within_a_check_is_noted),
        cmocka_unit_test(
            time_that_passes_meanwhile_lets_no_receive_keep_its_buffer),
    };

    return cmocka_run_group_tests_name("detector", tests, NULL, NULL);
}
