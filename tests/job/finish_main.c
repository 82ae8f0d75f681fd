/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * finish_main WHAT
 *
 * One rank of a job that ends (need 8). Exits with 0 if all results are
 * correct.
 *
 *   once          a context for one collective
 *   skew SECONDS  the last rank finalizes SECONDS late
 *   live          an object is not freed: the context stays, and is usable
 *   twice         the context is finalized already
 *   failed        the world has failed
 *   early WHY     rank EARLY is in rcx_finalize() when the other ranks find the
 *                 world failed. WHY is mismatch (EARLY made another call),
 *                 absent (EARLY made no call) or abort
 *   killed        rank VICTIM is killed while the others are in rcx_finalize()
 *   dies US       rank VICTIM dies US microseconds after it began to finalize;
 *                 the others return in time
 */
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rank.h"

enum { EARLY = 1, VICTIM = 2 };
/* Slurm ends a job 1 s after a rank has died, so the deadline is shorter. */
#define DEADLINE_NS (SECOND_NS / 4)

static void check_sum(rcx_comm_t *comm)
{
    int64_t word = me.rank;

    rank_require(
        rcx_allreduce(RCX_IN_PLACE, &word, 1, RCX_INT64, RCX_SUM, comm),
        "rcx_allreduce");
    if (word != me.size * (me.size - 1) / 2)
        rank_fail("a wrong sum: %ld", (long)word);
}

static void open_and_use(void)
{
    rank_require(rank_open(NULL), "rcx_init");
    check_sum(me.world);
}

static void finish(void)
{
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
    if (me.context)
        rank_fail("a context is left");
}

static void try_skew(int seconds)
{
    open_and_use();
    if (me.rank == me.size - 1)
        rank_sleep_ms(1000 * seconds);
    finish();
}

static void expect_busy(const char *why)
{
    rank_expect(rcx_finalize(&me.context), RCX_ERR_BUSY, why);
    if (!me.context)
        rank_fail("the context is gone, with %s", why);
    check_sum(me.world);
}

static void try_live(void)
{
    int64_t in = 1, out = 0;
    rcx_request_t *request;
    rcx_comm_t *copy;

    open_and_use();
    rank_require(rcx_comm_dup(me.world, &copy), "rcx_comm_dup");
    expect_busy("a communicator");
    check_sum(copy);
    rank_require(rcx_comm_free(&copy), "rcx_comm_free");

    rank_require(
        rcx_iallreduce(&in, &out, 1, RCX_INT64, RCX_SUM, me.world, &request),
        "rcx_iallreduce");
    expect_busy("an active request");
    rank_require(rcx_wait(request), "rcx_wait");
    if (out != me.size)
        rank_fail("a wrong sum: %ld", (long)out);
    expect_busy("a request that is complete");
    rank_require(rcx_request_free(&request), "rcx_request_free");

    rank_require(rcx_allreduce_init(&in, &out, 1, RCX_INT64, RCX_SUM, me.world,
                                    &request),
                 "rcx_allreduce_init");
    expect_busy("a persistent request");
    rank_require(rcx_request_free(&request), "rcx_request_free");
    finish();
}

static void try_twice(void)
{
    open_and_use();
    finish();
    rank_expect(rcx_finalize(&me.context), RCX_OK, "rcx_finalize again");
    rank_expect(rcx_finalize(NULL), RCX_ERR_ARG, "rcx_finalize of NULL");
}

static void try_failed(void)
{
    int64_t word;

    rank_require(rank_open(NULL), "rcx_init");
    word = me.rank;
    if (me.rank == VICTIM) { /* the others may still be in the first call */
        check_sum(me.world);
        rank_require(rcx_comm_abort(me.world), "rcx_comm_abort");
    }
    while (rcx_allreduce(RCX_IN_PLACE, &word, 1, RCX_INT64, RCX_SUM,
                         me.world) == RCX_OK)
        ;
    finish();
}

/* The call that rank EARLY makes before it finalizes. */
static void call_otherwise(const char *why)
{
    int64_t word = me.rank;

    if (strcmp(why, "mismatch") == 0)
        rank_require(
            rcx_reduce(&word, NULL, 1, RCX_INT64, RCX_SUM, 0, me.world),
            "rcx_reduce");
}

static void fail_without(const char *why, rcx_status_t expected)
{
    int64_t word = me.rank;
    rcx_status_t status;

    if (strcmp(why, "abort") == 0) {
        rank_require(rcx_comm_abort(me.world), "rcx_comm_abort");
        return;
    }
    if (strcmp(why, "absent") == 0)
        rank_require(rcx_comm_set_timeout(me.world, SECOND_NS),
                     "rcx_comm_set_timeout");
    status =
        rcx_allreduce(RCX_IN_PLACE, &word, 1, RCX_INT64, RCX_SUM, me.world);
    if (status != RCX_ERR_COMM_FAILED)
        rank_expect(status, expected, "rcx_allreduce without a rank");
}

/* rcx_finalize() of rank EARLY returns the failure, and its log line names the
 * rank at fault. */
static void try_early(const char *why)
{
    const rcx_status_t expected =
        strcmp(why, "mismatch") == 0 ? RCX_ERR_MISMATCH
        : strcmp(why, "absent") == 0 ? RCX_ERR_TIMEOUT
                                     : RCX_ERR_COMM_FAILED;
    const bool is_blamed = expected != RCX_ERR_COMM_FAILED;

    open_and_use();
    if (me.rank != EARLY) {
        rank_sleep_ms(200);
        fail_without(why, expected);
        finish();
        return;
    }
    call_otherwise(why);
    rank_expect(rcx_finalize(&me.context), expected, "rcx_finalize");
    if (me.context || me.errors != 1 || !strstr(me.error, "because of rank ") ||
        (strstr(me.error, "because of rank 1") != NULL) != is_blamed)
        rank_fail("%d errors, the first is: %s", me.errors, me.error);
}

/* RCX_TIMEOUT or RCX_ERR_MODE decides how the other ranks find the failure. */
static void try_killed(void)
{
    const rcx_status_t expected =
        getenv("RCX_TIMEOUT") ? RCX_ERR_TIMEOUT : RCX_ERR_PEER_FAILED;
    rcx_status_t status;

    open_and_use();
    rank_barrier_left_last(me.world, VICTIM);
    if (me.rank == VICTIM) {
        rank_sleep_ms(300);
        raise(SIGKILL);
    }
    status = rcx_finalize(&me.context);
    if (status != RCX_ERR_PEER_FAILED ||
        !getenv("NETWORK_REPORTS")) /* the network may report it first */
        rank_expect(status, expected, "rcx_finalize");
    if (me.context || !strstr(me.error, "rank 2"))
        rank_fail("does not blame rank 2: %s", me.error);
}

/* The default action of SIGALRM ends the victim. */
static void try_death(unsigned us)
{
    int64_t start_ns, took;

    open_and_use();
    rank_barrier_left_last(me.world, VICTIM);
    rank_require(rcx_comm_set_timeout(me.world, DEADLINE_NS),
                 "rcx_comm_set_timeout");
    start_ns = rank_time_here();
    if (me.rank == VICTIM)
        ualarm(us, 0);
    rcx_finalize(&me.context);
    took = rank_time_here() - start_ns;
    if (me.rank == VICTIM)
        pause();
    if (took > DEADLINE_NS + rank_limit_ns(SECOND_NS))
        rank_fail("rcx_finalize took %.3f s", (double)took / 1e9);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    rank_watch_machine();
    if (strcmp(what, "once") == 0)
        open_and_use(), finish();
    else if (strcmp(what, "skew") == 0 && argc == 3)
        try_skew(atoi(argv[2]));
    else if (strcmp(what, "live") == 0)
        try_live();
    else if (strcmp(what, "twice") == 0)
        try_twice();
    else if (strcmp(what, "failed") == 0)
        try_failed();
    else if (strcmp(what, "early") == 0 && argc == 3)
        try_early(argv[2]);
    else if (strcmp(what, "killed") == 0)
        try_killed();
    else if (strcmp(what, "dies") == 0 && argc == 3)
        try_death((unsigned)atoi(argv[2]));
    else
        return 2;
    return 0;
}
