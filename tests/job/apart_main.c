/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * apart_main FILE CALLS LARGEST
 *
 * Who has returned from a blocking call is not needed by any peer to complete
 * that call: between calls the ranks, all of one node, wait for each other in a
 * barrier of their own, in shared memory (FILE, empty at start), in which
 * nobody progresses RCX. CALLS of each collective, of 8 bytes to LARGEST.
 * Prints nothing and exits with 0 where all calls end with the right result.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rank.h"

enum { PATIENCE_S = 60, MOST_RANKS = 16 };

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

/* ---- Calls ------------------------------------------------------------------ */

static int64_t *in, *out;

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

static void allreduce(size_t count, int k)
{
    rank_require(rcx_allreduce(in, out, count, RCX_INT64, RCX_SUM, me.world),
                 "allreduce");
    expect("allreduce", 0, count, k);
}

static void reduce(size_t count, int k)
{
    const int root = k % me.size;

    rank_require(rcx_reduce(in, out, count, RCX_INT64, RCX_SUM, root, me.world),
                 "reduce");
    if (me.rank == root)
        expect("reduce", 0, count, k);
}

static void scatter_blocks(size_t count, int k)
{
    const size_t block = count / (size_t)me.size;

    rank_require(
        rcx_reduce_scatter_block(in, out, block, RCX_INT64, RCX_SUM, me.world),
        "reduce_scatter_block");
    expect("reduce_scatter_block", block * (size_t)me.rank, block, k);
}

/* Blocks differ; every third call leaves all to one rank, which others do not
 * hear of. */
static void scatter(size_t count, int k)
{
    size_t counts[MOST_RANKS] = {0}, first = 0;
    const size_t block = count / (size_t)me.size;

    for (int i = 0; i < me.size; i++)
        counts[i] = k % 3 == 2 ? 0 : block;
    counts[k % me.size] += count - (k % 3 == 2 ? 0 : block * (size_t)me.size);
    for (int i = 0; i < me.rank; i++)
        first += counts[i];
    rank_require(
        rcx_reduce_scatter(in, out, counts, RCX_INT64, RCX_SUM, me.world),
        "reduce_scatter");
    expect("reduce_scatter", first, counts[me.rank], k);
}

/* Now and then a burst, so that who only sends is ahead of who receives. */
static void call(void (*fn)(size_t count, int k), int k, size_t most)
{
    const size_t count = length_of(k, most);

    give(count, k);
    for (int i = k % 8 == 5 && count < 4096 ? 40 : 1; i > 0; i--)
        fn(count, k);
    host_wait();
}

int main(int argc, char **argv)
{
    static void (*const calls[])(size_t, int) = {allreduce, reduce, scatter,
                                                 scatter_blocks};
    size_t most;

    if (argc != 4)
        return 2;
    most = strtoul(argv[3], NULL, 10) / sizeof *in;
    rank_require(rank_open(NULL), "rcx_init");
    rank_require(rcx_comm_set_timeout(me.world, PATIENCE_S * SECOND_NS),
                 "rcx_comm_set_timeout");
    in = malloc(most * sizeof *in);
    out = malloc(most * sizeof *out);
    if (!in || !out || me.size > MOST_RANKS)
        rank_fail("too large");
    open_host(argv[1]);
    for (int k = 0; k < atoi(argv[2]); k++)
        for (size_t c = 0; c < sizeof calls / sizeof *calls; c++)
            call(calls[c], k, most);
    free(in);
    free(out);
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
    return 0;
}
