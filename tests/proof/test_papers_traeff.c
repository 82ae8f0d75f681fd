/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The properties that Traeff 2024, arXiv 2407.18004, proves of the schedules
 * there, and the cost of that broadcast compared with others.
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algo/phase/n_blocks_phase.h"
#include "core/base/random.h"
#include "core/sched/params.h"

enum { SIZES = 300, EVERY = TIMES(100, 40), BLOCKS = 20 };
enum { CYCLE = RCX_N_BLOCKS_CYCLE };

/* ---- The lists of a rank ------------------------------------------------- */

/* Lists that an independent implementation of the paper's text wrote. */
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

/* In a cycle a rank receives as many different blocks as it has rounds: one
 * block of this cycle, and the others of the cycle before. Return the
 * former. */
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

/* Both ends of a message agree on its block, and a rank has what it sends. */
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

static void both_ends_agree_and_senders_have_their_blocks(void **state)
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
static uint32_t have[SIZES], had[SIZES]; /* blocks now, before the round */

/* The receiver of a block lacks it, and its sender had it before the round. */
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

/* Each block reaches each rank once, so its messages form a tree; reversed, it
 * is a reduction. */
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

/* ---- A block is handled within two cycles -------------------------------- */

static void check_rank(const struct rcx_n_blocks *n)
{
    const int rounds = rcx_n_blocks_rounds(n->size, n->blocks);
    int last[BLOCKS]; /* last round in which it is sent */

    for (int block = 0; block < n->blocks; block++)
        last[block] = -1;
    for (int i = 0; i < rounds; i++) {
        const struct rcx_n_blocks_round at = rcx_n_blocks_round(n, i);

        if (at.send != RCX_N_BLOCKS_NONE)
            last[at.send] = i;
    }
    for (int i = 0; i < rounds; i++)
        for (int block = 0; block < n->blocks; block++)
            /* only blocks of this round: others may be sent later */
            if (rcx_n_blocks_round(n, i).send == block ||
                rcx_n_blocks_round(n, i).recv == block)
                assert_int_equal(rcx_n_blocks_sends_later(n, block, i),
                                 last[block] > i);
}

static void blocks_sent_later_are_found_within_two_cycles(void **state)
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

/* ---- Costs of broadcasts ------------------------------------------------- */

enum { MOST_RANKS = 128, MOST_SEGMENTS = 4096 };

static const size_t bytes_of[] = {8,       64,       512,      2 << 10,
                                  4 << 10, 16 << 10, 64 << 10, 256 << 10,
                                  1 << 20, 4 << 20,  16 << 20, 64 << 20};
enum { BYTES = sizeof bytes_of / sizeof *bytes_of };

/* That of broadcast_model.md. */
static const struct rcx_machine machine = {.alpha = 0.4e-6, .beta = 0.15e-9};

static double price(struct rcx_cost cost)
{
    return rcx_cost_seconds(&cost, 1, &machine);
}

static struct rcx_shape bcast_of(int size, size_t bytes)
{
    return (struct rcx_shape){.coll = RCX_COLL_BCAST,
                              .machine = &machine,
                              .size = size,
                              .count = bytes,
                              .elem_bytes = 1,
                              .commutative = true};
}

/* Return the price with blocks=auto; store the number of blocks. */
static double price_of_circulant(int size, size_t bytes, int *blocks_p)
{
    const struct rcx_algo *algo = rcx_algo_find(RCX_COLL_BCAST, "circulant");
    struct rcx_shape s = bcast_of(size, bytes);

    rcx_params_reset(algo, s.params);
    rcx_params_settle(algo, &s);
    *blocks_p = (int)s.params[0];
    return price(algo->cost(&s));
}

struct other {
    const char *name;
    const char *algo, *parameter, *value;
    int fan;
    int most; /* children of a rank; 0: ceil(lg p); -1: no segments */
};

static const struct other others[] = {
    {"binomial", "tree", "topology", "binomial", 4, 0},
    {"chain", "tree", "topology", "chain", 1, 1},
    {"binary", "tree", "topology", "binary", 4, 2},
    {"van de Geijn, ring", "scatter_allgather", "allgather", "ring", 0, -1},
    {"van de Geijn", "scatter_allgather", "allgather", "bruck", 0, -1},
    {"van de Geijn", "scatter_allgather", "allgather", "recursive_doubling", 0,
     -1},
};
enum { OTHERS = sizeof others / sizeof *others };

/* Return the price in segments. Each segment behind the first adds a message to
 * each child of a rank. 1e9: the algorithm does not fit. */
static double price_of(const struct other *o, int size, size_t bytes,
                       int segments)
{
    const struct rcx_algo *algo = rcx_algo_find(RCX_COLL_BCAST, o->algo);
    const size_t parts = (size_t)segments;
    struct rcx_shape s = bcast_of(size, (bytes + parts - 1) / parts);
    int children = o->most > 0 ? o->most : rcx_log2_ceil(size);
    struct rcx_cost cost;

    rcx_params_reset(algo, s.params);
    assert_true(rcx_params_parse(algo, o->parameter, o->value, s.params));
    if (o->fan)
        s.params[1] = o->fan;
    if (!rcx_algo_fits(algo, &s))
        return 1e9;
    cost = algo->cost(&s);
    if (size < 4 && children > 1)
        children = o->most == 0 ? children : 1; /* a binary tree is a chain */
    cost.rounds += (segments - 1) * children;
    cost.volume += (segments - 1) * children * (double)s.count;
    return price(cost);
}

/* Return the price with the best number of segments: of the numbers of blocks
 * that circulant tries, or of all (any). */
static double least_price_of(const struct other *o, int size, size_t bytes,
                             bool any)
{
    const struct rcx_shape s = bcast_of(size, bytes);
    double least = price_of(o, size, bytes, 1);

    for (int i = 0; o->most >= 0 && i < MOST_SEGMENTS; i++) {
        const int64_t segments =
            any ? i + 1 : rcx_n_blocks_params[0].candidate(&s, i);
        double seconds;

        if (segments == RCX_PARAM_END || (size_t)segments > bytes)
            break;
        seconds = price_of(o, size, bytes, (int)segments);
        least = seconds < least ? seconds : least;
    }
    return least;
}

static void no_other_broadcast_costs_less(void **state)
{
    (void)state;
    for (int p = 2; p <= MOST_RANKS; p++) {
        for (int i = 0; i < BYTES; i++) {
            int blocks;
            const double ours = price_of_circulant(p, bytes_of[i], &blocks);

            for (int k = 0; k < OTHERS; k++) {
                const double theirs =
                    least_price_of(&others[k], p, bytes_of[i], false);

                if (ours > theirs * (1 + 1e-12))
                    fail_msg("p=%d, %zu bytes: %d blocks cost %g, %s %g", p,
                             bytes_of[i], blocks, ours, others[k].name, theirs);
            }
        }
    }
}

/* blocks=auto tries some numbers of blocks only. Other algorithms, in any
 * number of segments, must not be cheaper by more than 0.1 %. */
static void few_numbers_of_blocks_are_as_good_as_all(void **state)
{
    (void)state;
    for (int p = 2; p <= MOST_RANKS; p += p < 9 ? 1 : 17) {
        for (int i = 0; i < BYTES; i++) {
            int blocks;
            const double ours = price_of_circulant(p, bytes_of[i], &blocks);

            for (int k = 0; k < OTHERS; k++) {
                const double theirs =
                    least_price_of(&others[k], p, bytes_of[i], true);

                if (ours > theirs * 1.001)
                    fail_msg("p=%d, %zu bytes: %d blocks cost %g, %s %g", p,
                             bytes_of[i], blocks, ours, others[k].name, theirs);
            }
        }
    }
}

/* ---- The table in the documentation -------------------------------------- */

static const char *document; /* text of the page; NULL: not compared */

static void assert_has(const char *line)
{
    print_message("# %s", line);
    if (document && !strstr(document, line))
        fail_msg("broadcast_model.md lacks the line: %s", line);
}

/* Print the number of blocks, and the cheapest other broadcast with its
 * relative price. */
static int print_cell(char *text, size_t bytes, int size, size_t n)
{
    int blocks, best = 0;
    const double ours = price_of_circulant(size, n, &blocks);
    double least = 1e9;

    for (int k = 0; k < OTHERS; k++) {
        const double seconds = least_price_of(&others[k], size, n, false);

        if (seconds < least * (1 - 1e-12)) {
            least = seconds;
            best = k;
        }
    }
    return snprintf(text, bytes, " %d: %.2f %s |", blocks, least / ours,
                    others[best].name);
}

static void the_documentation_has_the_costs_of_other_algorithms(void **state)
{
    static const int sizes[] = {2, 3, 4, 8, 17, 64, 128};

    (void)state;
    for (int i = 0; i < BYTES; i++) {
        const size_t n = bytes_of[i];
        char line[1024];
        int used = snprintf(line, sizeof line, "| %zu %s |",
                            n >> (n < 1 << 10   ? 0
                                  : n < 1 << 20 ? 10
                                                : 20),
                            n < 1 << 10   ? "B"
                            : n < 1 << 20 ? "KB"
                                          : "MB");

        for (int k = 0; k < (int)(sizeof sizes / sizeof *sizes); k++)
            used += print_cell(line + used, sizeof line - (size_t)used,
                               sizes[k], n);
        snprintf(line + used, sizeof line - (size_t)used, "\n");
        assert_has(line);
    }
}

static char *text_of(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 20);

    if (!file || !text || fread(text, 1, (1 << 20) - 1, file) == 0)
        abort();
    fclose(file);
    return text;
}

/* test_papers_traeff [broadcast_model.md] */
int main(int argc, char **argv)
{
    char *text = argc > 1 ? text_of(argv[1]) : NULL;
    int failures;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_those_of_another_implementation),
        cmocka_unit_test(both_ends_agree_and_senders_have_their_blocks),
        cmocka_unit_test(every_rank_gets_every_block_once_in_the_least_rounds),
        cmocka_unit_test(blocks_sent_later_are_found_within_two_cycles),
        cmocka_unit_test(no_other_broadcast_costs_less),
        cmocka_unit_test(few_numbers_of_blocks_are_as_good_as_all),
        cmocka_unit_test(the_documentation_has_the_costs_of_other_algorithms),
    };

    document = text;
    failures = cmocka_run_group_tests_name("papers_traeff", tests, NULL, NULL);
    free(text);
    return failures;
}
