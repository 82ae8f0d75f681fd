/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * apart_main FILE CALLS LARGEST [polls] [second] [blocks]
 *
 * Who has returned from a blocking call is not needed by any peer to complete
 * that call: between calls the ranks, all of one node, wait for each other in a
 * barrier of their own, in shared memory (FILE, empty at start), in which
 * nobody progresses RCX. CALLS of each collective, of 8 bytes to LARGEST.
 *
 *   polls    calls are nonblocking, and rcx_test() says when they are complete
 *   second   instead of the barrier, ranks call a second context, which does
 *            not progress the first
 *   blocks   all calls are reduce_scatter, of 40,960 to 163,840 elements for
 *            each rank, whatever LARGEST is
 *
 * Prints nothing and exits with 0 where all calls end with the right result.
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

#include "rank.h"

enum { PATIENCE_S = 60, MOST_RANKS = 16, BLOCK = 163840 };

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

static void meet_in_second(void)
{
    int64_t ranks = 1;

    rank_require(rcx_allreduce(RCX_IN_PLACE, &ranks, 1, RCX_INT64, RCX_SUM,
                               rcx_world(second)),
                 "allreduce of the second context");
    if (ranks != me.size)
        rank_fail("the second context has %d ranks", (int)ranks);
}

static void part(void)
{
    if (second)
        meet_in_second();
    else
        host_wait();
}

/* ---- Calls ------------------------------------------------------------------ */

static int64_t *in, *out;
static bool polls;

/* What was started is complete, by rcx_test() alone. */
static void poll(rcx_status_t started, rcx_request_t **request,
                 const char *what)
{
    int is_done = 0;

    rank_require(started, what);
    rank_require(rcx_test(*request, &is_done), what);
    while (!is_done) {
        sched_yield();
        rank_require(rcx_test(*request, &is_done), what);
    }
    rank_require(rcx_request_free(request), what);
}

/* Elements of the vector in call number k: 1 to most, and most is among them. */
static size_t length_of(int k, size_t most)
{
    size_t count = 1;

    for (int i = 0; i < k % 24 && count < most; i++)
        count = count * 2 + (size_t)(k & 1);
    return count < most ? count : most;
}

/* Rank r gives r + 1 times i + k; the sum over all is: */
static int64_t sum_at(size_t i, int k)
{
    return (int64_t)(i + (size_t)k) * me.size * (me.size + 1) / 2;
}

static void give(size_t count, int k)
{
    for (size_t i = 0; i < count; i++)
        in[i] = (int64_t)(i + (size_t)k) * (me.rank + 1);
}

/* out is elements from first on of the sum. */
static void expect(const char *what, size_t first, size_t count, int k)
{
    for (size_t i = 0; i < count; i++)
        if (out[i] != sum_at(first + i, k))
            rank_fail("%s, call %d: element %zu is wrong", what, k, first + i);
}

/* A call of either form, and its end. */
#define CALL(name, ...)                                                        \
    do {                                                                       \
        rcx_request_t *request;                                                \
                                                                               \
        if (polls)                                                             \
            poll(rcx_i##name(__VA_ARGS__, me.world, &request), &request,       \
                 #name);                                                       \
        else                                                                   \
            rank_require(rcx_##name(__VA_ARGS__, me.world), #name);            \
    } while (0)

static void allreduce(size_t count, int k)
{
    CALL(allreduce, in, out, count, RCX_INT64, RCX_SUM);
    expect("allreduce", 0, count, k);
}

static void reduce(size_t count, int k)
{
    const int root = k % me.size;

    CALL(reduce, in, out, count, RCX_INT64, RCX_SUM, root);
    if (me.rank == root)
        expect("reduce", 0, count, k);
}

static void scatter_block(size_t count, int k)
{
    const size_t block = count / (size_t)me.size;

    CALL(reduce_scatter_block, in, out, block, RCX_INT64, RCX_SUM);
    expect("reduce_scatter_block", block * (size_t)me.rank, block, k);
}

/* Blocks of so many elements, and more for one of the ranks. */
static void scatter_blocks(size_t block, size_t more, int k)
{
    size_t counts[MOST_RANKS], first = 0;

    for (int i = 0; i < me.size; i++)
        counts[i] = block + (i == k % me.size ? more : 0);
    for (int i = 0; i < me.rank; i++)
        first += counts[i];
    CALL(reduce_scatter, in, out, counts, RCX_INT64, RCX_SUM);
    expect("reduce_scatter", first, counts[me.rank], k);
}

/* Every third call leaves all to one rank, which others do not hear of. */
static void scatter(size_t count, int k)
{
    const size_t block = k % 3 == 2 ? 0 : count / (size_t)me.size;

    scatter_blocks(block, count - block * (size_t)me.size, k);
}

/* Now and then a burst, so that who only sends is ahead of who receives. */
static void call(void (*fn)(size_t count, int k), int k, size_t most)
{
    const size_t count = length_of(k, most);

    give(count, k);
    for (int i = k % 8 == 5 && count < 4096 ? 40 : 1; i > 0; i--)
        fn(count, k);
    part();
}

static void call_all(int calls, size_t most)
{
    static void (*const fns[])(size_t, int) = {allreduce, reduce, scatter,
                                               scatter_block};

    for (int k = 0; k < calls; k++)
        for (size_t c = 0; c < sizeof fns / sizeof *fns; c++)
            call(fns[c], k, most);
}

/* One after the other as fast as they go: the operand stays what it is. Of one
 * length for a while, as then credits are due at the same place in each. */
static void call_blocks(int calls)
{
    static const size_t blocks[] = {50000, BLOCK, 40960};

    give((size_t)me.size * BLOCK, 0);
    for (int k = 0; k < calls; k++) {
        memset(out, 0, BLOCK * sizeof *out);
        scatter_blocks(blocks[k / 100 % 3], 0, 0);
        part();
    }
}

/* ---- All of it ---------------------------------------------------------------- */

static void open_second(void)
{
    const rcx_params_t params = {.field_mask = RCX_PARAM_NAME,
                                 .name = "second"};

    rank_require(rcx_init(&params, &second), "rcx_init once more");
    rank_require(
        rcx_comm_set_timeout(rcx_world(second), PATIENCE_S * SECOND_NS),
        "rcx_comm_set_timeout");
}

int main(int argc, char **argv)
{
    bool blocks = false;
    size_t most;

    if (argc < 4)
        return 2;
    rank_require(rank_open(NULL), "rcx_init");
    rank_require(rcx_comm_set_timeout(me.world, PATIENCE_S * SECOND_NS),
                 "rcx_comm_set_timeout");
    for (int i = 4; i < argc; i++) {
        polls |= strcmp(argv[i], "polls") == 0;
        blocks |= strcmp(argv[i], "blocks") == 0;
        if (strcmp(argv[i], "second") == 0)
            open_second();
    }
    most = blocks ? (size_t)me.size * BLOCK
                  : strtoul(argv[3], NULL, 10) / sizeof *in;
    in = malloc(most * sizeof *in);
    out = malloc(most * sizeof *out);
    if (!in || !out || me.size > MOST_RANKS)
        rank_fail("too large");
    open_host(argv[1]);
    if (blocks)
        call_blocks(atoi(argv[2]));
    else
        call_all(atoi(argv[2]), most);
    free(in);
    free(out);
    if (second)
        rank_require(rcx_finalize(&second), "rcx_finalize of the second");
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
    return 0;
}
