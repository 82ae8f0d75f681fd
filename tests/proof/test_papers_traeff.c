/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Traeff 2024, arXiv 2407.18004, proves of his schedules, and what his
 * broadcast costs beside others'.
 */
#include "test.h"

#include <string.h>

#include "algo/phase/n_blocks.h"
#include "core/base/random.h"

enum { SIZES = 300, EVERY = TIMES(100, 40), BLOCKS = 20 };
enum { CYCLE = RCX_N_BLOCKS_CYCLE };

/* ---- The lists of a rank ------------------------------------------------- */

/* As an implementation of the paper's text in another language writes them. */
static const struct {
    int size, rank;
    int recv[CYCLE], send[CYCLE];
} known[] = {
    {2, 1, {0}, {-1}},
    {3, 2, {-2, 1}, {-1, -1}},
    {5, 3, {-2, -3, 2}, {-1, -1, -2}},
    {9, 5, {-4, -2, -3, 3}, {-1, -1, -1, -1}},
    {9, 8, {-3, -4, -1, 2}, {-2, -2, -2, -1}},
    {13, 3, {-3, 0, -2, -1}, {-4, -3, -4, 0}},
    {13, 6, {-4, -2, 1, -1}, {-3, -3, -2, -3}},
    {17, 9, {-3, -4, -2, -5, 4}, {-1, -1, -1, -1, -1}},
    {33, 16, {-6, -3, -4, -2, 1, -1}, {-5, -5, -3, -3, -2, -5}},
    {33, 32, {-3, -4, -5, -2, -1, 0}, {-6, -3, -3, -3, -2, -1}},
    {65, 21, {-5, -6, -2, -4, -3, 0, -1}, {-7, -5, -5, -7, -2, -2, 0}},
    {699,
     233,
     {-9, -10, -6, -7, -4, -5, -2, -3, 2, -1},
     {-8, -8, -8, -6, -6, -4, -4, -2, -2, 2}},
    {1000000007,
     1000000006,
     {-29, -28, -27, -30, -25, -24, -23, -22, -21, -20, -19, -18, -17, -16, -15,
      -14, -13, -12, -11, -10, -9,  -8,  -7,  -6,  -5,  -4,  -3,  -2,  -1,  4},
     {-26, -26, -26, -26, -26, -25, -24, -23, -22, -21,
      -20, -19, -18, -17, -16, -15, -14, -13, -12, -11,
      -10, -9,  -8,  -7,  -6,  -5,  -4,  -3,  -2,  -1}},
    {INT32_MAX,
     715827882,
     {-31, -28, -29, -26, -27, -24, -25, -22, -23, -20, -21,
      -18, -19, -16, -17, -14, -15, -12, -13, -10, -11, -8,
      -9,  -6,  -7,  -4,  -5,  -2,  -3,  1,   -1},
     {-30, -30, -28, -28, -26, -26, -24, -24, -22, -22, -20,
      -20, -18, -18, -16, -16, -14, -14, -12, -12, -10, -10,
      -8,  -8,  -6,  -6,  -4,  -4,  -2,  -2,  1}}};

static void lists_are_those_of_another_implementation(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct rcx_n_blocks n;

        rcx_n_blocks_begin(&n, known[i].size, known[i].rank, 1);
        for (int k = 0; k < n.cycle; k++) {
            assert_int_equal(n.recv[k], known[i].recv[k]);
            if (n.rank + (int64_t)n.skips[k] != n.size) /* not to the root */
                assert_int_equal(n.send[k], known[i].send[k]);
        }
    }
}

static bool has(const int list[], int length, int value)
{
    for (int k = 0; k < length; k++)
        if (list[k] == value)
            return true;
    return false;
}

/* A cycle brings as many different blocks as it has rounds, one of its own and
 * the others of the cycle before; the rank's is returned. */
static int own_block(const struct rcx_n_blocks *n)
{
    int own = -1;

    for (int k = 0; k < n->cycle; k++) {
        assert_true(n->recv[k] >= -n->cycle && n->recv[k] < n->cycle);
        assert_false(has(n->recv, k, n->recv[k]));
        if (n->recv[k] >= 0) {
            assert_int_equal(own, -1);
            own = n->recv[k];
        }
    }
    assert_true(own >= 0);
    assert_false(has(n->recv, n->cycle, own - n->cycle));
    return own;
}

/* Both ends of a message agree, and a rank has what it sends. */
static void check_lists(int size, int rank)
{
    struct rcx_n_blocks n, partner;
    int own;

    rcx_n_blocks_begin(&n, size, rank, 1);
    own = rank > 0 ? own_block(&n) : 0;
    for (int k = 0; k < n.cycle; k++) {
        const int to = (int)(((int64_t)rank + n.skips[k]) % size);

        if (rank == 0)
            assert_int_equal(n.send[k], k);
        if (to == 0)
            continue;
        rcx_n_blocks_begin(&partner, size, to, 1);
        assert_int_equal(n.send[k], partner.recv[k]);
        assert_true(rank == 0 || n.send[k] == own - n.cycle ||
                    has(n.recv, k, n.send[k]));
    }
}

static void both_ends_agree_and_have_what_they_send(void **state)
{
    uint64_t random = 1;

    (void)state;
    for (int p = 2; p <= SIZES; p++)
        for (int r = 0; r < p; r++)
            check_lists(p, r);
    for (int i = 0; i < 2000; i++) {
        const int p = 2 + (int)(rcx_random(&random) % (INT32_MAX - 1));

        check_lists(p, (int)(rcx_random(&random) % (uint64_t)p));
    }
}

/* ---- All ranks ----------------------------------------------------------- */

static struct rcx_n_blocks ranks[SIZES];
static uint32_t have[SIZES], had[SIZES]; /* sets of blocks; before a round */

/* Who receives a block lacks it, and its sender had it before the round. */
static void receive(int rank, int i)
{
    const struct rcx_n_blocks_round at = rcx_n_blocks_round(&ranks[rank], i);
    struct rcx_n_blocks_round peer;

    if (at.recv == RCX_N_BLOCKS_NONE)
        return;
    peer = rcx_n_blocks_round(&ranks[at.from], i);
    assert_int_equal(peer.to, rank);
    assert_int_equal(peer.send, at.recv);
    assert_true(had[at.from] >> at.recv & 1);
    assert_false(have[rank] >> at.recv & 1);
    have[rank] |= UINT32_C(1) << at.recv;
}

static int sends_of(int i, int size)
{
    int sends = 0;

    for (int r = 0; r < size; r++)
        sends += rcx_n_blocks_round(&ranks[r], i).send != RCX_N_BLOCKS_NONE;
    return sends;
}

/* Backwards these are reductions: a block's messages are a tree. */
static void check_broadcast(int size, int blocks)
{
    const int rounds = rcx_n_blocks_rounds(size, blocks);
    const uint32_t all = (UINT32_C(1) << blocks) - 1;
    int sends = 0;

    assert_int_equal(rounds, size == 1 ? 0 : blocks - 1 + rcx_log2_ceil(size));
    for (int r = 0; r < size; r++) {
        rcx_n_blocks_begin(&ranks[r], size, r, blocks);
        have[r] = r == 0 ? all : 0;
    }
    for (int i = 0; i < rounds; i++) {
        memcpy(had, have, sizeof had);
        for (int r = 0; r < size; r++)
            receive(r, i);
        sends += sends_of(i, size);
    }
    for (int r = 0; r < size; r++)
        assert_int_equal(have[r], all);
    assert_int_equal(sends, blocks * (size - 1));
}

static void every_rank_gets_every_block_once_in_the_least_rounds(void **state)
{
    (void)state;
    for (int p = 1; p <= SIZES; p++)
        for (int n = 1; n <= (p <= EVERY ? BLOCKS : 3); n++)
            check_broadcast(p, n);
}

/* ---- Work on a block is over after two cycles ---------------------------- */

static void check_rank(const struct rcx_n_blocks *n)
{
    const int rounds = rcx_n_blocks_rounds(n->size, n->blocks);
    int last[BLOCKS]; /* round in which it is sent */

    for (int block = 0; block < n->blocks; block++)
        last[block] = -1;
    for (int i = 0; i < rounds; i++) {
        const struct rcx_n_blocks_round at = rcx_n_blocks_round(n, i);

        if (at.send != RCX_N_BLOCKS_NONE)
            last[at.send] = i;
    }
    for (int i = 0; i < rounds; i++)
        for (int block = 0; block < n->blocks; block++)
            /* asked of blocks at work alone, as others may come later */
            if (rcx_n_blocks_round(n, i).send == block ||
                rcx_n_blocks_round(n, i).recv == block)
                assert_int_equal(rcx_n_blocks_sends_later(n, block, i),
                                 last[block] > i);
}

static void what_is_sent_later_is_seen_within_two_cycles(void **state)
{
    struct rcx_n_blocks n;

    (void)state;
    for (int p = 2; p <= EVERY; p++) {
        for (int r = 0; r < p; r++) {
            for (int blocks = 1; blocks <= BLOCKS; blocks++) {
                rcx_n_blocks_begin(&n, p, r, blocks);
                check_rank(&n);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_those_of_another_implementation),
        cmocka_unit_test(both_ends_agree_and_have_what_they_send),
        cmocka_unit_test(every_rank_gets_every_block_once_in_the_least_rounds),
        cmocka_unit_test(what_is_sent_later_is_seen_within_two_cycles),
    };

    return cmocka_run_group_tests_name("papers_traeff", tests, NULL, NULL);
}
