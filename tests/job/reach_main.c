/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reach_main all|own
 *
 * One rank of a job that accesses the ranks' blocks at the addresses that
 * rcx_mem_peers() returns, by loads, stores and atomics. all: each rank reaches
 * the blocks of all ranks; own: each rank reaches its own block only. Exits
 * with 0, and prints nothing, if all values are correct.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "rank.h"

enum { RANKS_MOST = 16, WORDS = 1 << 17, ROUNDS = 300, ADDS = 10000 };

static bool reaches_all;

static int64_t word_of(int rank, int i)
{
    return (int64_t)rank * WORDS + i;
}

static void barrier(void)
{
    rank_require(rcx_barrier(me.world), "barrier");
}

static int64_t *new_block(void)
{
    void *block;

    rank_require(rcx_mem_alloc(me.world, WORDS * sizeof(int64_t), &block),
                 "rcx_mem_alloc");
    for (int i = 0; i < WORDS; i++)
        ((int64_t *)block)[i] = word_of(me.rank, i);
    return block;
}

static void find(int64_t *block, int64_t *peers[])
{
    rank_require(rcx_mem_peers(me.world, block, (void **)peers),
                 "rcx_mem_peers");
    for (int r = 0; r < me.size; r++)
        if (r == me.rank ? peers[r] != block : !peers[r] == reaches_all)
            rank_fail("rank %d's block is at %p", r, (void *)peers[r]);
}

static void load_all(int64_t *const peers[])
{
    for (int r = 0; r < me.size; r++)
        for (int i = 0; peers[r] && i < WORDS; i++)
            if (peers[r][i] != word_of(r, i))
                rank_fail("word %d of rank %d is %ld", i, r, (long)peers[r][i]);
}

/* Each rank stores a word of its own in each block that it reaches. All add to
 * the same word. */
static void store_and_add(int64_t *const peers[])
{
    int reached = 0;

    barrier();
    for (int r = 0; r < me.size; r++) {
        if (!peers[r])
            continue;
        reached++;
        peers[r][1 + me.rank] = -me.rank;
        for (int i = 0; i < ADDS; i++)
            atomic_fetch_add((_Atomic int64_t *)&peers[r][0], 1);
    }
    barrier();
    for (int r = 0; r < me.size; r++)
        if (peers[r] && peers[me.rank][1 + r] != -r)
            rank_fail("rank %d stored %ld", r, (long)peers[me.rank][1 + r]);
    if (peers[me.rank][0] != word_of(me.rank, 0) + reached * ADDS)
        rank_fail("%d ranks added up to %ld", reached, (long)peers[me.rank][0]);
    barrier();
}

/* The call with a wrong argument fails on that rank only, and no rank waits for
 * it. */
static void pass_wrong_block(int64_t *block, int64_t *peers[])
{
    const bool is_wrong = me.rank == me.size - 1;

    rank_expect(
        rcx_mem_peers(me.world, is_wrong ? block + 1 : block, (void **)peers),
        is_wrong ? RCX_ERR_ARG : RCX_OK, "a block that is none");
    rank_expect(rcx_mem_peers(me.world, block, NULL), RCX_ERR_ARG, "no peers");
}

/* New blocks lie where old blocks were; they must not be confused. */
static void come_and_go(int64_t *peers[])
{
    for (int i = 0; i < ROUNDS; i++) {
        int64_t *block = new_block();

        find(block, peers);
        if (i % 2 == 0) /* a second call returns the same */
            find(block, peers);
        block[7] = i;
        barrier();
        for (int r = 0; r < me.size; r++)
            if (peers[r] && peers[r][7] != i)
                rank_fail("round %d: rank %d's is %ld", i, r,
                          (long)peers[r][7]);
        barrier();
        rank_require(rcx_mem_free(me.world, block), "rcx_mem_free");
    }
}

/* A rank may free its block when it returns: the others have mapped it. */
static void free_at_once(int64_t *peers[])
{
    for (int i = 0; i < ROUNDS; i++) {
        int64_t *block = new_block();

        find(block, peers);
        rank_require(rcx_mem_free(me.world, block), "rcx_mem_free");
    }
}

int main(int argc, char **argv)
{
    int64_t *peers[RANKS_MOST] = {NULL}, *block;

    if (argc != 2)
        return 2;
    reaches_all = strcmp(argv[1], "all") == 0;
    rank_require(rank_open(NULL), "rcx_init");
    if (me.size > RANKS_MOST)
        rank_fail("%d ranks are too many", me.size);
    block = new_block();
    barrier();
    find(block, peers);
    load_all(peers);
    store_and_add(peers);
    pass_wrong_block(block, peers);
    rank_require(rcx_mem_free(me.world, block), "rcx_mem_free");
    come_and_go(peers);
    free_at_once(peers);
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
    return 0;
}
