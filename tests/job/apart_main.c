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

#include "attempt.h"
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

static struct attempt attempt;

/* Elements of the vector in call number k: 1 to most, and most is among them. */
static size_t length_of(int k, size_t most)
{
    size_t count = 1;

    for (int i = 0; i < k % 24 && count < most; i++)
        count = count * 2 + (size_t)(k & 1);
    return count < most ? count : most;
}

/* Blocks differ; every third call leaves all to one rank, which others do not
 * hear of. */
static void cut(size_t count, int k, size_t blocks[])
{
    const size_t block = k % 3 == 2 ? 0 : count / (size_t)me.size;

    for (int i = 0; i < me.size; i++)
        blocks[i] = block;
    blocks[k % me.size] += count - block * (size_t)me.size;
}

/* Now and then a burst, so that who only sends is ahead of who receives. */
static void call(enum collective coll, int k, size_t most)
{
    const size_t count = length_of(k, most);
    const bool equal = collective_has_equal_blocks(coll);
    size_t blocks[MOST_RANKS];
    const struct call call = {.coll = coll,
                              .kind = &lines,
                              .count = equal ? count / (size_t)me.size : count,
                              .blocks = blocks,
                              .root = k % me.size,
                              .seed = (uint64_t)k};

    cut(count, k, blocks);
    attempt_change(&attempt, &call);
    for (int i = k % 8 == 5 && count < 4096 ? 40 : 1; i > 0; i--) {
        rank_require(attempt_call(&attempt, me.world), collectives[coll].name);
        if (attempt_check(&attempt))
            rank_fail("call %d: %s", k, attempt.problem);
    }
    host_wait();
}

/* With memory for all that comes. */
static void open_attempt(size_t most)
{
    const struct call longest = {
        .coll = ALLREDUCE, .kind = &lines, .count = most};

    attempt_open(&attempt, &longest, me.world);
}

int main(int argc, char **argv)
{
    size_t most;

    if (argc != 4)
        return 2;
    most = strtoul(argv[3], NULL, 10) / sizeof(uint64_t);
    rank_require(rank_open(NULL), "rcx_init");
    rank_require(rcx_comm_set_timeout(me.world, PATIENCE_S * SECOND_NS),
                 "rcx_comm_set_timeout");
    if (me.size > MOST_RANKS)
        rank_fail("too large");
    open_attempt(most);
    open_host(argv[1]);
    for (int k = 0; k < atoi(argv[2]); k++)
        for (int coll = 0; coll < COLLECTIVES; coll++)
            call((enum collective)coll, k, most);
    attempt_close(&attempt);
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
    return 0;
}
