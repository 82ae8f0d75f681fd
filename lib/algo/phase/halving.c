/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recursive halving and doubling over 2^k members, and the distribution of
 * reduced blocks to ranks, as phases. They serve allreduce, reduce,
 * reduce-scatter, allgather and bcast algorithms. halving.h has the contracts.
 *
 * Let q be the part that a member ends with. When it works on m parts, these
 * start at q rounded down to a multiple of m, and its partner has the m parts
 * beside them.
 */
#include "algo/phase/halving.h"

#include "algo/phase/fold.h"

enum { NONE = -1 };

/* Return the number whose bits are those of i reversed. */
static int mirror(const struct rcx_halving *h, int i)
{
    int mirrored = 0;

    for (int size = h->group.size; size > 1; size /= 2, i /= 2)
        mirrored = 2 * mirrored + i % 2;
    return mirrored;
}

int rcx_halving_part_of(const struct rcx_halving *h, int i)
{
    if (h->swing)
        return rcx_swing_part_of(h->swing, i);
    return h->near_first ? mirror(h, i) : i;
}

/* Return the member of part i. */
static int member_of(const struct rcx_halving *h, int i)
{
    if (h->swing)
        return rcx_swing_member_of(h->swing, i);
    return h->near_first ? mirror(h, i) : i;
}

/* Return the first block of part i. */
static int block_of(const struct rcx_halving *h, int i)
{
    return h->folded ? rcx_fold_first(h->folded, i)
                     : (int)((int64_t)i * h->blocks.n / h->group.size);
}

/* Return the part that contains a block. */
static int part_with(const struct rcx_halving *h, int block)
{
    const int64_t end = block + 1;

    return h->folded ? rcx_fold_member(h->folded, block)
                     : (int)((end * h->group.size - 1) / h->blocks.n);
}

size_t rcx_halving_start(const struct rcx_halving *h, int i)
{
    const struct rcx_span all = {.count = h->blocks.count};
    const int block = block_of(h, i);

    return block == h->blocks.n ? all.count
                                : rcx_block(&h->blocks, all, block).offset;
}

/* Return m parts from part i on, of a span that starts with part first. */
static struct rcx_span parts(const struct rcx_halving *h, struct rcx_span span,
                             int first, int i, int m)
{
    const size_t from = rcx_halving_start(h, i);

    return rcx_span_sub(span, from - rcx_halving_start(h, first),
                        rcx_halving_start(h, i + m) - from);
}

struct rcx_span rcx_halving_part(const struct rcx_halving *h,
                                 struct rcx_span span, int first, int i)
{
    return parts(h, span, first, i, 1);
}

struct rcx_span rcx_halving_own(const struct rcx_halving *h,
                                struct rcx_span vector)
{
    return parts(h, vector, 0, rcx_halving_part_of(h, h->group.rank), 1);
}

/* Return this rank's partner in the round in which m parts become 2 m, or 2 m
 * become m. */
static int partner(const struct rcx_halving *h, int m)
{
    const int me = h->group.rank, far = h->group.size / 2 / m;
    const int peer = h->swing
                         ? rcx_swing_peer(h->swing, me, rcx_log2_floor(far))
                         : me ^ (h->near_first ? far : m);

    return rcx_group_member(&h->group, peer);
}

void rcx_halving_reduce_scatter(struct rcx_builder *b,
                                const struct rcx_halving *h,
                                struct rcx_span operand, struct rcx_span result)
{
    const int q = rcx_halving_part_of(h, h->group.rank);
    struct rcx_span partial = operand;
    int first = 0; /* first part in partial */

    for (int m = h->group.size / 2; m >= 1; m /= 2) {
        const int peer = partner(h, m), keep = q & -m;
        const struct rcx_span mine = parts(h, partial, first, keep, m);
        const struct rcx_span theirs = rcx_span_scratch(b, mine.count);
        const struct rcx_span sum =
            m == 1 && !rcx_span_clash(b->shape, result, mine) ? result : theirs;

        rcx_step_recv(b, peer, theirs);
        rcx_step_send(b, peer, parts(h, partial, first, keep ^ m, m));
        if (peer < b->shape->rank)
            rcx_step_reduce(b, sum, theirs, mine);
        else
            rcx_step_reduce(b, sum, mine, theirs);
        partial = sum;
        first = keep;
    }
    rcx_step_copy(b, result, partial);
}

void rcx_halving_allgather(struct rcx_builder *b, const struct rcx_halving *h,
                           struct rcx_span vector)
{
    rcx_halving_allgather_others(b, h, vector, NONE);
}

void rcx_halving_allgather_others(struct rcx_builder *b,
                                  const struct rcx_halving *h,
                                  struct rcx_span vector, int full)
{
    const int q = rcx_halving_part_of(h, h->group.rank);
    const int sated = full == NONE ? NONE : rcx_group_member(&h->group, full);

    for (int m = 1; m < h->group.size; m *= 2) {
        const int peer = partner(h, m);

        if (h->group.rank != full)
            rcx_step_recv(b, peer, parts(h, vector, 0, (q & -m) ^ m, m));
        if (peer != sated)
            rcx_step_send(b, peer, parts(h, vector, 0, q & -m, m));
    }
}

void rcx_halving_gather(struct rcx_builder *b, const struct rcx_halving *h,
                        int root, struct rcx_span vector)
{
    const int q = rcx_halving_part_of(h, h->group.rank);
    const int target = rcx_halving_part_of(h, root);
    int m = 1;

    for (; m < h->group.size && (q & m) == (target & m); m *= 2)
        rcx_step_recv(b, partner(h, m), parts(h, vector, 0, (q & -m) ^ m, m));
    if (m < h->group.size)
        rcx_step_send(b, partner(h, m), parts(h, vector, 0, q & -m, m));
}

struct rcx_span rcx_halving_place(struct rcx_builder *b,
                                  const struct rcx_halving *h)
{
    const int me = b->shape->rank;
    const struct rcx_span vector = {.count = h->blocks.count};
    int q;

    if (h->group.rank < 0)
        return (struct rcx_span){0};
    q = rcx_halving_part_of(h, h->group.rank);
    if (block_of(h, q) == me && block_of(h, q + 1) == me + 1)
        return rcx_span_out(b->shape);
    return rcx_span_scratch(b, rcx_halving_own(h, vector).count);
}

void rcx_halving_hand_out(struct rcx_builder *b, const struct rcx_halving *h,
                          struct rcx_span part)
{
    const struct rcx_span out = rcx_span_out(b->shape);
    const int me = b->shape->rank;
    const int holder =
        rcx_group_member(&h->group, member_of(h, part_with(h, me)));
    size_t at = 0;
    int q;

    if (holder != me)
        rcx_step_recv(b, holder, out);
    if (h->group.rank < 0)
        return;
    q = rcx_halving_part_of(h, h->group.rank);
    for (int i = block_of(h, q); i < block_of(h, q + 1); i++) {
        const struct rcx_span block =
            rcx_span_sub(part, at, rcx_shape_block(b->shape, i).count);

        if (i == me)
            rcx_step_copy(b, out, block);
        else
            rcx_step_send(b, i, block);
        at += block.count;
    }
}

void rcx_halving_hand_in(struct rcx_builder *b, const struct rcx_halving *h,
                         struct rcx_span block, struct rcx_span vector)
{
    const int me = b->shape->rank;
    const int holder =
        rcx_group_member(&h->group, member_of(h, part_with(h, me)));
    int q;

    if (h->group.rank >= 0) {
        q = rcx_halving_part_of(h, h->group.rank);
        for (int i = block_of(h, q); i < block_of(h, q + 1); i++) {
            const struct rcx_span place = rcx_block(&h->blocks, vector, i);

            if (i == me)
                rcx_step_copy(b, place, block);
            else
                rcx_step_recv(b, i, place);
        }
    }
    if (holder != me)
        rcx_step_send(b, holder, block);
}

struct rcx_halving rcx_halving_fold(struct rcx_builder *b,
                                    const struct rcx_shape *s, bool near_first,
                                    struct rcx_span *mine_p)
{
    const int pairs = s->size - rcx_pow2_floor(s->size);
    const struct rcx_span folded =
        rcx_span_scratch(b, s->rank < 2 * pairs ? s->count : 0);

    return (struct rcx_halving){.group =
                                    rcx_fold_in(b, s, folded, folded, mine_p),
                                .blocks = rcx_blocks_of(s),
                                .near_first = near_first,
                                .folded = s};
}

/* ---- Costs --------------------------------------------------------------- */

struct rcx_cost rcx_halving_reduce_scatter_cost(int size, double count)
{
    const double elements = count * (size - 1) / size;

    return (struct rcx_cost){.rounds = rcx_log2_floor(size),
                             .volume = elements,
                             .combines = elements};
}

struct rcx_cost rcx_halving_allgather_cost(int size, double count)
{
    return (struct rcx_cost){.rounds = rcx_log2_floor(size),
                             .volume = count * (size - 1) / size};
}

int rcx_halving_handed(int size)
{
    if (size < 3)
        return 0;
    return size - rcx_pow2_floor(size) < 2 ? 1 : 2;
}

struct rcx_cost rcx_halving_hand_out_cost(const struct rcx_shape *s,
                                          int messages)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);

    return (struct rcx_cost){.rounds = messages,
                             .volume = messages *
                                       (double)rcx_blocks_largest(&blocks)};
}

struct rcx_cost rcx_halving_cost(const struct rcx_shape *s)
{
    return rcx_cost_sum(rcx_fold_in_cost(s),
                        rcx_fold_core_cost(s, rcx_halving_parts_cost(s)));
}

struct rcx_cost rcx_halving_parts_cost(const struct rcx_shape *s)
{
    const int cube = rcx_pow2_floor(s->size);
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const double n = (double)s->count;
    const double block = (double)rcx_blocks_largest(&blocks);
    struct rcx_cost c = {0};

    for (int m = 1; m < cube; m *= 2) {
        const double kept = block * rcx_fold_first(s, m);

        c.rounds++;
        c.volume += kept < n ? kept : n;
        c.combines += kept < n ? kept : n;
    }
    return c;
}
