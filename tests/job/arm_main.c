/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arm_main: one rank of a job. A thread waits for its operations in an event
 * loop, asleep on the descriptor of rcx_get_fd(). Beside it another thread
 * makes progress and blocking calls. A missed wake-up delays an operation by
 * 100 ms, or the program hangs; alarm() ends it.
 */
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "rank.h"
#include "serial.h"

enum { ROUNDS = 500, GUARD_SECONDS = 20 };

static void expect_sum(int64_t word, int round, const char *of)
{
    if (word != (int64_t)me.size * round)
        rank_fail("%s, round %d: %lld", of, round, (long long)word);
}

/* Calls that may complete the operation that the loop waits for, between its
 * rcx_arm() and its sleep, in its sleep, and in a blocking call. */
static void *take_events(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        int64_t word = i;

        for (uint64_t k = serial_mix((uint64_t)i, (uint64_t)me.rank, 5) % 300;
             k > 0; k--)
            if (rcx_progress(me.context) < 0)
                rank_fail("rcx_progress");
        rank_require(
            rcx_allreduce(RCX_IN_PLACE, &word, 1, RCX_INT64, RCX_SUM, me.world),
            "rcx_allreduce");
        expect_sum(word, i, "the thread");
    }
    return arg;
}

/* The other thread tells this one nothing: only RCX's descriptor wakes it. */
static void complete_in_loop(rcx_comm_t *comm, int round, int fd)
{
    struct pollfd at = {.fd = fd, .events = POLLIN};
    int64_t word = round;
    rcx_request_t *request;
    rcx_status_t status;
    int done = 0;

    rank_require(rcx_iallreduce(RCX_IN_PLACE, &word, 1, RCX_INT64, RCX_SUM,
                                comm, &request),
                 "rcx_iallreduce");
    while ((status = rcx_test(request, &done)) == RCX_OK && !done)
        if (rcx_arm(me.context) == RCX_OK)
            poll(&at, 1, -1);
    rank_require(status, "rcx_test");
    expect_sum(word, round, "the loop");
    rank_require(rcx_request_free(&request), "rcx_request_free");
}

int main(void)
{
    const rcx_params_t params = {.field_mask =
                                     RCX_PARAM_WAKEUP | RCX_PARAM_THREADS,
                                 .wakeup = 1,
                                 .threads = RCX_THREAD_MULTIPLE};
    rcx_comm_t *comm;
    pthread_t thread;
    int fd = -1;

    rank_require(rank_open(&params), "rcx_init");
    alarm((unsigned)(rank_limit_ns(GUARD_SECONDS * SECOND_NS) / SECOND_NS));
    rank_require(rcx_get_fd(me.context, &fd), "rcx_get_fd");
    rank_require(rcx_comm_dup(me.world, &comm), "rcx_comm_dup");
    if (pthread_create(&thread, NULL, take_events, NULL) != 0)
        rank_fail("no thread");
    for (int i = 0; i < ROUNDS; i++)
        complete_in_loop(comm, i, fd);
    pthread_join(thread, NULL);
    rank_require(rcx_comm_free(&comm), "rcx_comm_free");
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
    return 0;
}
