/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Round-optimal schedules of n blocks, as numbers: which block a rank sends and
 * receives in each round. n_blocks_phase.c and n_blocks_all.c write the steps.
 * n_blocks.h describes the schedules.
 */
#include "algo/phase/n_blocks.h"

#include <limits.h>

enum { NONE = RCX_N_BLOCKS_NONE, CYCLE = RCX_N_BLOCKS_CYCLE };
enum { NEVER = INT_MIN / 2 /* a block below 0 in any cycle */ };

static void set_skips(struct rcx_n_blocks *n)
{
    n->cycle = rcx_log2_ceil(n->size);
    n->skips[n->cycle] = n->size;
    for (int k = n->cycle - 1; k >= 0; k--)
        n->skips[k] = n->skips[k + 1] / 2 + n->skips[k + 1] % 2;
}

static int wrap(const struct rcx_n_blocks *n, int64_t rank)
{
    return (int)((rank + n->size) % n->size);
}

/* Return rank's base block: take skips off rank, the largest first; the index
 * of the last one that fits. The cycle's length for the root. */
static int base_block(const struct rcx_n_blocks *n, int rank)
{
    for (int k = n->cycle - 1; k >= 0 && rank > 0; k--) {
        if (rank < n->skips[k])
            continue;
        rank -= n->skips[k];
        if (rank == 0)
            return k;
    }
    return n->cycle;
}

/* ---- Blocks that a rank receives ----------------------------------------- */

/*
 * Search for the blocks that a rank receives in a cycle. Positions are counted
 * up to target, which is p above the rank. A position is a sum of skips, each
 * smaller than the one before, and its block is the index of the last. The skip
 * p leads to the root, and stands for the rank's own base block. Round k takes
 * a position up to target - s[k], below all taken ones, with a block that is
 * not taken.
 */
struct search {
    const struct rcx_n_blocks *n;
    int64_t target;
    int64_t ceiling; /* the last position that was taken */
    int taken[CYCLE];
    int count;
    /* blocks not taken: a list, descending; its head is cycle + 1 */
    int after[CYCLE + 2], before[CYCLE + 2];
};

static void unlink_block(struct search *s, int block)
{
    s->after[s->before[block]] = s->after[block];
    if (s->after[block] >= 0)
        s->before[s->after[block]] = s->before[block];
}

static void take(struct search *s, int64_t place, int block)
{
    s->ceiling = place;
    s->taken[s->count++] = block;
    unlink_block(s, block);
}

/* Return the highest position of the next round; those above are of this
 * one. */
static int64_t below_window(const struct search *s)
{
    return s->target - s->n->skips[s->count + 1];
}

/* Search depth first, large skips first: add the skip of block, or of a smaller
 * one, to place. A position below the window of this round is extended by
 * further skips before it is taken itself. */
static void visit(struct search *s, int64_t place, int block)
{
    for (; block >= 0 && s->count < s->n->cycle; block = s->after[block]) {
        const int64_t next = place + s->n->skips[block];

        if (next > s->target - s->n->skips[s->count] || next >= s->ceiling)
            continue;
        if (next <= below_window(s))
            visit(s, next, s->after[block]);
        if (s->count == s->n->cycle || place > below_window(s))
            return; /* place is in the window itself: the caller takes it */
        take(s, next, block);
    }
}

void rcx_n_blocks_received(const struct rcx_n_blocks *n, int rank, int list[])
{
    const int q = n->cycle, own = base_block(n, rank);
    struct search s = {.n = n, .target = (int64_t)n->size + rank};

    s.ceiling = s.target;
    for (int k = 0; k <= q + 1; k++) {
        s.after[k] = k - 1;
        s.before[k] = k + 1;
    }
    unlink_block(&s, own);
    visit(&s, 0, s.after[q + 1]);
    for (int k = 0; k < q; k++)
        list[k] = s.taken[k] == q ? own : s.taken[k] - q;
}

/* ---- The schedule -------------------------------------------------------- */

/* A rank sends what its receivers receive. The root has all blocks, sends them
 * in order, and receives none. */
void rcx_n_blocks_begin(struct rcx_n_blocks *n, int size, int rank, int blocks)
{
    int theirs[CYCLE];

    *n = (struct rcx_n_blocks){.size = size, .rank = rank, .blocks = blocks};
    set_skips(n);
    if (n->cycle == 0)
        return;
    n->skipped = (n->cycle - (blocks - 1) % n->cycle) % n->cycle;
    if (rank > 0)
        rcx_n_blocks_received(n, rank, n->recv);
    for (int k = 0; k < n->cycle; k++) {
        const int to = wrap(n, (int64_t)rank + n->skips[k]);

        if (rank > 0 && to > 0)
            rcx_n_blocks_received(n, to, theirs);
        n->send[k] = to == 0 ? NEVER : rank == 0 ? k : theirs[k];
        if (rank == 0)
            n->recv[k] = NEVER;
    }
}

int rcx_n_blocks_rounds(int size, int blocks)
{
    return size == 1 ? 0 : blocks - 1 + rcx_log2_ceil(size);
}

int rcx_n_blocks_entry(const struct rcx_n_blocks *n, int i)
{
    return (i + n->skipped) % n->cycle;
}

/* A block below 0 is NONE; one beyond the last block means the last. */
int rcx_n_blocks_block(const struct rcx_n_blocks *n, int listed, int i)
{
    const int block = listed + i - rcx_n_blocks_entry(n, i);

    if (block < 0)
        return NONE;
    return block < n->blocks ? block : n->blocks - 1;
}

static int block_in(const struct rcx_n_blocks *n, const int list[], int i)
{
    return rcx_n_blocks_block(n, list[rcx_n_blocks_entry(n, i)], i);
}

struct rcx_n_blocks_round rcx_n_blocks_round(const struct rcx_n_blocks *n,
                                             int i)
{
    const int64_t skip = n->skips[rcx_n_blocks_entry(n, i)];

    return (struct rcx_n_blocks_round){.send = block_in(n, n->send, i),
                                       .to = wrap(n, n->rank + skip),
                                       .recv = block_in(n, n->recv, i),
                                       .from = wrap(n, n->rank - skip)};
}

/* A block is in use for two cycles at most, so later rounds are not checked. */
bool rcx_n_blocks_sends_later(const struct rcx_n_blocks *n, int block, int i)
{
    const int rounds = rcx_n_blocks_rounds(n->size, n->blocks);
    const int end = rounds - i > 2 * n->cycle ? i + 2 * n->cycle : rounds;

    while (++i < end)
        if (block_in(n, n->send, i) == block)
            return true;
    return false;
}
