/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loops_main WHAT N
 *
 * One rank of a job that waits in loops of its own, N times. Where ranks
 * outnumber cores, a poll that finds nothing must yield the core; otherwise
 * each operation takes milliseconds. Exits with 0 if all results are correct.
 *
 *   test       persistent allreduces, completed by rcx_test()
 *   test_any   the same by rcx_test_any()
 *   progress   the same by rcx_progress() and a callback
 *   consensus  nonblocking barriers, tested together with an open receive from
 *              any source
 *   flood      rank 0 receives a short message from each rank and answers it,
 *              by nonblocking requests and rcx_test()
 */
#include <stdlib.h>
#include <string.h>

#include "rank.h"

enum { COUNT = 8, TAG = 999, LAST = 7 };

static int times;

static void until_tested(rcx_request_t *r)
{
    int done = 0;

    while (!done)
        rank_require(rcx_test(r, &done), "rcx_test");
}

static void until_any(rcx_request_t *r)
{
    size_t index = 1;
    rcx_status_t status;

    while ((status = rcx_test_any(1, &r, &index)) == RCX_IN_PROGRESS)
        continue;
    rank_require(status, "rcx_test_any");
}

static int is_over;

static void end_one(rcx_request_t *r, rcx_status_t status, void *arg)
{
    (void)r, (void)arg;
    rank_require(status, "an allreduce");
    is_over = 1;
}

static void until_called(rcx_request_t *r)
{
    (void)r;
    while (!is_over)
        if (rcx_progress(me.context) < 0)
            rank_fail("rcx_progress");
    is_over = 0;
}

static void sum(void (*wait)(rcx_request_t *r))
{
    int64_t in[COUNT] = {0}, out[COUNT];
    rcx_request_t *r;

    rank_require(
        rcx_allreduce_init(in, out, COUNT, RCX_INT64, RCX_SUM, me.world, &r),
        "rcx_allreduce_init");
    if (wait == until_called)
        rank_require(rcx_request_set_callback(r, end_one, NULL),
                     "rcx_request_set_callback");
    for (int i = 0; i < times; i++) {
        for (int k = 0; k < COUNT; k++)
            in[k] = i + k;
        rank_require(rcx_start(r), "rcx_start");
        wait(r);
        for (int k = 0; k < COUNT; k++)
            if (out[k] != (int64_t)(i + k) * me.size)
                rank_fail("sum %d is %ld", i, (long)out[k]);
    }
    rank_require(rcx_request_free(&r), "rcx_request_free");
}

static void agree(void)
{
    const int next = (me.rank + 1) % me.size;
    rcx_request_t *open, *barrier;
    int x = 0, done;

    rank_require(
        rcx_irecv(&x, 1, RCX_INT, RCX_ANY_SOURCE, LAST, me.world, &open),
        "rcx_irecv");
    for (int i = 0; i < times; i++) {
        rank_require(rcx_ibarrier(me.world, &barrier), "rcx_ibarrier");
        do {
            rank_require(rcx_test(open, &done), "rcx_test of a receive");
            /* a rank that has left the last barrier may send at once */
            if (done && i + 1 < times)
                rank_fail("a message that no rank has sent");
            rank_require(rcx_test(barrier, &done), "rcx_test of a barrier");
        } while (!done);
        rank_require(rcx_request_free(&barrier), "rcx_request_free");
    }
    rank_require(rcx_send(&me.rank, 1, RCX_INT, next, LAST, me.world),
                 "rcx_send");
    rank_require(rcx_wait(open), "rcx_wait");
    if ((x + 1) % me.size != me.rank)
        rank_fail("a message of rank %d", x);
    rank_require(rcx_request_free(&open), "rcx_request_free");
}

static void pass(rcx_status_t status, rcx_request_t *r)
{
    rank_require(status, "a message");
    until_tested(r);
    rank_require(rcx_request_free(&r), "rcx_request_free");
}

static void get(int64_t *x, int from)
{
    rcx_request_t *r;
    const rcx_status_t status =
        rcx_irecv(x, 4, RCX_INT64, from, TAG, me.world, &r);

    pass(status, r);
}

static void give(const int64_t *x, int to)
{
    rcx_request_t *r;
    const rcx_status_t status =
        rcx_isend(x, 3, RCX_INT64, to, TAG, me.world, &r);

    pass(status, r);
}

static void flood(void)
{
    int64_t out[3] = {0}, in[4] = {0};

    for (int i = 0; i < times; i++) {
        out[0] = i;
        if (me.rank > 0)
            give(out, 0);
        for (int k = 1; k < (me.rank > 0 ? 2 : me.size); k++) {
            get(in, me.rank > 0 ? 0 : k);
            if (in[0] != i)
                rank_fail("message %d is %ld", i, (long)in[0]);
        }
        for (int k = 1; k < me.size && me.rank == 0; k++)
            give(out, k);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc == 3 ? argv[1] : "";

    times = argc == 3 ? atoi(argv[2]) : 0;
    rank_require(rank_open(NULL), "rcx_init");
    if (strcmp(what, "test") == 0)
        sum(until_tested);
    else if (strcmp(what, "test_any") == 0)
        sum(until_any);
    else if (strcmp(what, "progress") == 0)
        sum(until_called);
    else if (strcmp(what, "consensus") == 0)
        agree();
    else if (strcmp(what, "flood") == 0)
        flood();
    else
        return 2;
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
    return 0;
}
