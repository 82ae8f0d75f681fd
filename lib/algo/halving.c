/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * With q the part that a member ends with, the parts it works on once they are
 * m in number start at q rounded down to a multiple of m; its partner's are
 * the m parts beside them.
 */
#include "algo/halving.h"

int rcx_halving_mirror(const struct rcx_halving *h, int i)
{
    int mirrored = 0;

    if (!h->near_first)
        return i;
    for (int size = h->group.size; size > 1; size /= 2, i /= 2)
        mirrored = 2 * mirrored + i % 2;
    return mirrored;
}

/* Where part i starts; the vector's end for the one past the last. */
static size_t start(const struct rcx_halving *h, int i)
{
    const struct rcx_span all = {RCX_BUFFER_IN, 0, h->blocks.count};
    const int block = i < h->pairs ? 2 * i : i + h->pairs;

    return block == h->blocks.n ? all.count
                                : rcx_block(&h->blocks, all, block).offset;
}

/* m parts from part i on, of a span that starts with part first. */
static struct rcx_span parts(const struct rcx_halving *h, struct rcx_span span,
                             int first, int i, int m)
{
    return rcx_span_sub(span, start(h, i) - start(h, first),
                        start(h, i + m) - start(h, i));
}

struct rcx_span rcx_halving_part(const struct rcx_halving *h,
                                 struct rcx_span vector, int i)
{
    return parts(h, vector, 0, i, 1);
}

/* Whom this rank meets where m parts become 2 m, or 2 m become m. */
static int partner(const struct rcx_halving *h, int m)
{
    const int distance = h->near_first ? h->group.size / 2 / m : m;

    return rcx_group_member(&h->group, h->group.rank ^ distance);
}

void rcx_halving_reduce_scatter(struct rcx_builder *b,
                                const struct rcx_halving *h,
                                struct rcx_span operand, struct rcx_span result)
{
    const int q = rcx_halving_mirror(h, h->group.rank);
    struct rcx_span partial = operand;
    int first = 0; /* of partial's parts */

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
    const int q = rcx_halving_mirror(h, h->group.rank);

    for (int m = 1; m < h->group.size; m *= 2) {
        const int peer = partner(h, m);

        rcx_step_recv(b, peer, parts(h, vector, 0, (q & -m) ^ m, m));
        rcx_step_send(b, peer, parts(h, vector, 0, q & -m, m));
    }
}

void rcx_halving_gather(struct rcx_builder *b, const struct rcx_halving *h,
                        int root, struct rcx_span vector)
{
    const int q = rcx_halving_mirror(h, h->group.rank);
    const int target = rcx_halving_mirror(h, root);
    int m = 1;

    for (; m < h->group.size && (q & m) == (target & m); m *= 2)
        rcx_step_recv(b, partner(h, m), parts(h, vector, 0, (q & -m) ^ m, m));
    if (m < h->group.size)
        rcx_step_send(b, partner(h, m), parts(h, vector, 0, q & -m, m));
}
