/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * apart_main FILE CALLS LARGEST [polls] [second] [blocks]
 *
 * A blocking call must complete on each rank without progress by ranks that
 * have already returned from it. All ranks are on one node. Between calls they
 * wait in a barrier of this test, in shared memory (FILE, empty at start),
 * which does not progress RCX. Makes CALLS calls of each collective, of 8 bytes
 * to LARGEST.
 *
 *   polls    calls are nonblocking, and rcx_test() completes them
 *   second   instead of the barrier, ranks call a second context, which does
 *            not progress the first one
 *   blocks   all calls are reduce_scatter, of 40,960 to 163,840 elements for
 *            each rank; LARGEST is ignored
 *
 * Exits with 0, and prints nothing, if all calls end with the correct result.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attempt.h"
#include "rank.h"

enum { TIMEOUT_S = 60, MOST_RANKS = 16, BLOCK = 163840 };

struct host_barrier {
    _Atomic int arrived;
    _Atomic int generation;
};

static struct host_barrier *host;

static void open_host(const char *path)
{
    const int fd = open(path, O_RDWR | O_CLOEXEC);

    if (fd < 0 || ftruncate(fd, sizeof *host) != 0)
        rank_fail("%s: %m", path);
    host = mmap(NULL, sizeof *host, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (host == MAP_FAILED)
        rank_fail("mmap: %m");
    close(fd);
}

static void host_wait(void)
{
    const int generation = atomic_load(&host->generation);

    if (atomic_fetch_add(&host->arrived, 1) + 1 == me.size) {
        atomic_store(&host->arrived, 0);
        atomic_store(&host->generation, generation + 1);
    }
    while (atomic_load(&host->generation) == generation)
        sched_yield();
}

static rcx_context_t *second;

static void reduce_in_second(void)
{
    int64_t ranks = 1;

    rank_require(rcx_allreduce(RCX_IN_PLACE, &ranks, 1, RCX_INT64, RCX_SUM,
                               rcx_world(second)),
                 "allreduce of the second context");
    if (ranks != me.size)
        rank_fail("the second context has %d ranks", (int)ranks);
}

static void wait_for_others(void)
{
    if (second)
        reduce_in_second();
    else
        host_wait();
}

/* ---- Calls --------------------------------------------------------------- */

static struct attempt attempt;
static bool polls;

/* Return the number of elements of call k: 1 to most, and most for some k. */
static size_t length_of(int k, size_t most)
{
    size_t count = 1;

    for (int i = 0; i < k % 24 && count < most; i++)
        count = count * 2 + (size_t)(k & 1);
    return count < most ? count : most;
}

/* Store blocks of block elements; rank k % size gets more elements in
 * addition. */
static void cut(size_t block, size_t more, int k, size_t blocks[])
{
    for (int i = 0; i < me.size; i++)
        blocks[i] = block + (i == k % me.size ? more : 0);
}

/* Complete the started operation by rcx_test() alone. */
static void poll(void)
{
    int is_done = 0;

    rank_require(rcx_test(attempt.request, &is_done), "rcx_test");
    while (!is_done) {
        sched_yield();
        rank_require(rcx_test(attempt.request, &is_done), "rcx_test");
    }
    rank_require(rcx_request_free(&attempt.request), "rcx_request_free");
}

static void call_once(int k)
{
    rank_require(attempt_call(&attempt, me.world),
                 collectives[attempt.call.coll].name);
    if (polls)
        poll();
    if (attempt_check(&attempt))
        rank_fail("call %d: %s", k, attempt.problem);
}

/* Make call number k. Some calls are repeated 40 times without a barrier, so
 * that ranks that only send run ahead of receivers. Every third call puts all
 * elements into the block of one rank, and the other blocks are empty. */
static void call(enum collective coll, int k, size_t most)
{
    const size_t count = length_of(k, most), size = (size_t)me.size;
    const size_t block = k % 3 == 2 ? 0 : count / size;
    const bool equal = collective_has_equal_blocks(coll);
    size_t blocks[MOST_RANKS];
    const struct call call = {.coll = coll,
                              .form = polls ? NONBLOCKING : BLOCKING,
                              .kind = &lines,
                              .count = equal ? count / size : count,
                              .blocks = blocks,
                              .root = k % me.size,
                              .seed = (uint64_t)k};

    cut(block, count - block * size, k, blocks);
    attempt_change(&attempt, &call);
    for (int i = k % 8 == 5 && count < 4096 ? 40 : 1; i > 0; i--)
        call_once(k);
    wait_for_others();
}

static void call_all(int calls, size_t most)
{
    for (int k = 0; k < calls; k++)
        for (int coll = 0; coll < COLLECTIVES; coll++)
            call((enum collective)coll, k, most);
}

/* Make calls back to back, with the same operands. A hundred calls in a row
 * have one length, so completion acknowledgements are due at the same place in
 * each. */
static void call_blocks(int calls)
{
    static const size_t lengths[] = {50000, BLOCK, 40960};
    size_t blocks[MOST_RANKS];
    const struct call call = {.coll = REDUCE_SCATTER,
                              .form = polls ? NONBLOCKING : BLOCKING,
                              .kind = &lines,
                              .blocks = blocks};

    for (int k = 0; k < calls; k++) {
        cut(lengths[k / 100 % 3], 0, 0, blocks);
        if (k % 100 == 0)
            attempt_change(&attempt, &call);
        memset(attempt.result, 0, attempt.gotten * sizeof(uint64_t));
        call_once(k);
        wait_for_others();
    }
}

/* ---- All of it ----------------------------------------------------------- */

static void open_second(void)
{
    const rcx_params_t params = {.field_mask = RCX_PARAM_NAME,
                                 .name = "second"};

    rank_require(rcx_init(&params, &second), "rcx_init once more");
    rank_require(rcx_comm_set_timeout(rcx_world(second), TIMEOUT_S * SECOND_NS),
                 "rcx_comm_set_timeout");
}

/* Allocate buffers for the longest call. */
static void open_attempt(size_t most)
{
    const struct call longest = {
        .coll = ALLREDUCE, .kind = &lines, .count = most};

    attempt_open(&attempt, &longest, me.world);
}

int main(int argc, char **argv)
{
    bool blocks = false;
    size_t most;

    if (argc < 4)
        return 2;
    rank_require(rank_open(NULL), "rcx_init");
    rank_require(rcx_comm_set_timeout(me.world, TIMEOUT_S * SECOND_NS),
                 "rcx_comm_set_timeout");
    for (int i = 4; i < argc; i++) {
        polls |= strcmp(argv[i], "polls") == 0;
        blocks |= strcmp(argv[i], "blocks") == 0;
        if (strcmp(argv[i], "second") == 0)
            open_second();
    }
    most = blocks ? (size_t)me.size * BLOCK
                  : strtoul(argv[3], NULL, 10) / sizeof(uint64_t);
    if (me.size > MOST_RANKS)
        rank_fail("too large");
    open_attempt(most);
    open_host(argv[1]);
    if (blocks)
        call_blocks(atoi(argv[2]));
    else
        call_all(atoi(argv[2]), most);
    attempt_close(&attempt);
    if (second)
        rank_require(rcx_finalize(&second), "rcx_finalize of the second");
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
    return 0;
}
