/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the exchange of bundles between nodes: the messages within a node and
 * between nodes, and where a rank has the rows of each bundle. It decides
 * neither radix nor carriers. bundles.h describes it.
 */
#include "algo/phase/bundles.h"

/* ---- Messages in pieces -------------------------------------------------- */

/* Spans that form a message. Several are copied to scratch side by side; one
 * is sent from its place. */
struct parcel {
    struct rcx_builder *b;
    struct rcx_span run;    /* spans so far, that lie side by side */
    struct rcx_span packed; /* the spans before these */
    bool is_placed;         /* packed has its place, and all spans go there */
};

static void parcel_flush(struct parcel *p)
{
    struct rcx_span room = {.buffer = RCX_BUFFER_TMP,
                            .offset = p->packed.offset + p->packed.count,
                            .count = p->run.count};

    if (p->run.count == 0)
        return;
    if (!p->is_placed)
        room = rcx_span_scratch(p->b, p->run.count); /* behind the last one */
    if (p->packed.count == 0)
        p->packed = rcx_span_sub(room, 0, 0);
    rcx_step_copy(p->b, room, p->run);
    p->packed.count += room.count;
    p->run.count = 0;
}

static void parcel_add(struct parcel *p, struct rcx_span span)
{
    if (p->run.count > 0 && p->run.buffer == span.buffer &&
        p->run.offset + p->run.count == span.offset) {
        p->run.count += span.count;
        return;
    }
    parcel_flush(p);
    p->run = span;
}

static void parcel_send(struct parcel *p, int peer)
{
    if (p->packed.count > 0)
        parcel_flush(p);
    rcx_step_send(p->b, peer, p->packed.count > 0 ? p->packed : p->run);
}

/* ---- Bundles ------------------------------------------------------------- */

/* Where this rank has the rows of a bundle, in scratch. */
struct bundle {
    size_t at, stride; /* the first of them; from one to the next */
};

struct passage {
    struct rcx_builder *b;
    const struct rcx_shape *s;
    struct rcx_bundles p;
    struct rcx_group node; /* the ranks of this node */
    size_t block;          /* elements */
    struct bundle *bundles;
};

/* Return the node that is so far above this one. */
static int node_at(const struct passage *x, int64_t far)
{
    return (int)((rcx_by_nodes_own(x->s) + far % x->p.count + x->p.count) %
                 x->p.count);
}

static int rank_at(const struct passage *x, int64_t far, int place)
{
    return x->p.nodes->ranks[x->p.nodes->first[node_at(x, far)] + place];
}

static int ranks_at(const struct passage *x, int64_t far)
{
    return rcx_nodes_size(x->p.nodes, node_at(x, far));
}

/* Of so many rows of a bundle, those of ranks first, first + step, ... are with
 * a carrier. */
static int first_row(const struct passage *x, int carrier)
{
    return x->p.by_digit ? 0 : carrier;
}

static int row_step(const struct passage *x)
{
    return x->p.by_digit ? 1 : x->p.carriers;
}

static int rows_with(const struct passage *x, int carrier, int rows)
{
    const int step = row_step(x);

    return (rows - first_row(x, carrier) + step - 1) / step;
}

/* Return the elements of a row of bundle e before weight w; those of its rows
 * that are with this rank. */
static size_t row_of(const struct passage *x, int64_t e, int64_t w)
{
    return (size_t)ranks_at(x, e - e % w) * x->block;
}

static size_t bundle_of(const struct passage *x, int64_t e, int64_t w)
{
    const int rows = ranks_at(x, -(e % w));

    return (size_t)rows_with(x, x->node.rank, rows) * row_of(x, e, w);
}

/* Add the rows of bundle e before weight w. */
static void add_rows(const struct passage *x, struct parcel *to, int64_t e,
                     int64_t w)
{
    const int rows = rows_with(x, x->node.rank, ranks_at(x, -(e % w)));

    for (int i = 0; i < rows; i++)
        parcel_add(to,
                   (struct rcx_span){.buffer = RCX_BUFFER_TMP,
                                     .offset = x->bundles[e].at +
                                               (size_t)i * x->bundles[e].stride,
                                     .count = row_of(x, e, w)});
}

static struct rcx_span behind(struct rcx_span span, size_t count)
{
    return rcx_span_sub(span, count, span.count - count);
}

/* Bundle e was received in came, as it is before weight w. Return the rest of
 * came. */
static struct rcx_span take(const struct passage *x, struct rcx_span came,
                            int64_t e, int64_t w)
{
    const size_t length = bundle_of(x, e, w);

    x->bundles[e] = (struct bundle){came.offset, row_of(x, e, w)};
    return behind(came, length);
}

/* ---- To the carriers ----------------------------------------------------- */

/* Whether a rank of this node gives its row of bundle e to a carrier. */
static bool gives(const struct passage *x, int from, int to, int64_t e)
{
    return to < x->p.carriers &&
           (x->p.by_digit ? rcx_bundles_carries(&x->p, to, e, 1)
                          : from % x->p.carriers == to);
}

/* Return the elements that it gives. All that give something give the same. */
static size_t given(const struct passage *x, int from, int to)
{
    size_t length = 0;

    for (int64_t e = 1; e < x->p.count; e++)
        if (gives(x, from, to, e))
            length += row_of(x, e, 1);
    return length;
}

static void add_given(const struct passage *x, struct parcel *p, int to)
{
    const struct rcx_span in = rcx_span_in(x->s);

    for (int64_t e = 1; e < x->p.count; e++)
        for (int i = 0; i < ranks_at(x, e); i++)
            if (gives(x, x->node.rank, to, e))
                parcel_add(p,
                           rcx_span_sub(in, (size_t)rank_at(x, e, i) * x->block,
                                        x->block));
}

/* Return where the row of a rank of this node is, of all that this one has. */
static struct rcx_span row_from(const struct passage *x, struct rcx_span all,
                                int from)
{
    const size_t length = given(x, from, x->node.rank);

    if (length == 0)
        return rcx_span_sub(all, 0, 0);
    return rcx_span_sub(all, (size_t)(from / row_step(x)) * length, length);
}

static void collect(const struct passage *x)
{
    const int me = x->node.rank, ranks = x->node.size;
    const size_t row = given(x, me, me);
    const size_t rows = row > 0 ? (size_t)rows_with(x, me, ranks) : 0;
    const struct rcx_span all = rcx_span_scratch(x->b, rows * row);
    struct parcel own = {.b = x->b, .packed = all, .is_placed = true};
    size_t at = all.offset;

    own.packed = row_from(x, all, me);
    own.packed.count = 0;
    add_given(x, &own, me);
    parcel_flush(&own);
    for (int t = 1; t < ranks; t++) {
        const int above = (me + t) % ranks, below = (me + ranks - t) % ranks;
        struct parcel theirs = {.b = x->b};

        rcx_step_recv(x->b, rcx_group_member(&x->node, below),
                      row_from(x, all, below));
        add_given(x, &theirs, above);
        parcel_send(&theirs, rcx_group_member(&x->node, above));
    }
    for (int64_t e = 1; e < x->p.count; e++) {
        if (!gives(x, me, me, e))
            continue;
        x->bundles[e] = (struct bundle){at, row};
        at += row_of(x, e, 1);
    }
}

/* ---- Between nodes ------------------------------------------------------- */

/* Return the bundle behind e that has its digit at weight w. */
static int64_t next_alike(const struct rcx_bundles *p, int64_t e, int64_t w)
{
    return (e + 1) % w == 0 ? e + 1 + w * (p->radix - 1) : e + 1;
}

static void exchange(const struct passage *x, int64_t w, int64_t digit)
{
    const int64_t far = digit * w, after = w * x->p.radix;
    const int me = x->node.rank;
    struct parcel going = {.b = x->b};
    struct rcx_span came;
    size_t length = 0;

    for (int64_t e = far; e < x->p.count; e = next_alike(&x->p, e, w)) {
        add_rows(x, &going, e, w);
        length += bundle_of(x, e, after);
    }
    parcel_send(&going, rank_at(x, far, me));
    came = rcx_span_scratch(x->b, length);
    rcx_step_recv(x->b, rank_at(x, -far, me), came);
    for (int64_t e = far; e < x->p.count; e = next_alike(&x->p, e, w))
        came = take(x, came, e, after);
}

static void exchange_all(const struct passage *x, int64_t w)
{
    const int step = x->p.by_digit ? x->p.carriers : 1;
    const int first = x->p.by_digit ? x->node.rank + 1 : 1;

    for (int64_t d = first; d < x->p.radix && d * w < x->p.count; d += step)
        exchange(x, w, d);
}

/* Whether bundle e has come at weight w to one carrier, and goes on from
 * another. */
static bool changes(const struct rcx_bundles *p, int from, int to, int64_t e,
                    int64_t w)
{
    return e / w % p->radix != 0 && rcx_bundles_carrier(p, e, w) == from &&
           rcx_bundles_carries(p, to, e, w * p->radix);
}

/* Give bundles that have come at weight w to their next carriers. */
static void hand_over(const struct passage *x, int64_t w)
{
    const int me = x->node.rank, n = x->p.carriers;
    const int64_t after = w * x->p.radix;

    for (int t = 1; t < n; t++) {
        const int above = (me + t) % n, below = (me + n - t) % n;
        struct parcel going = {.b = x->b};
        struct rcx_span came;
        size_t length = 0;

        for (int64_t e = 1; e < x->p.count; e++) {
            if (changes(&x->p, me, above, e, w))
                add_rows(x, &going, e, after);
            if (changes(&x->p, below, me, e, w))
                length += bundle_of(x, e, after);
        }
        parcel_send(&going, rcx_group_member(&x->node, above));
        came = rcx_span_scratch(x->b, length);
        rcx_step_recv(x->b, rcx_group_member(&x->node, below), came);
        for (int64_t e = 1; e < x->p.count; e++)
            if (changes(&x->p, below, me, e, w))
                came = take(x, came, e, after);
    }
}

/* ---- To the ranks -------------------------------------------------------- */

/* Whether a carrier has rows of bundle e in the end. */
static bool has_last(const struct rcx_bundles *p, int carrier, int64_t e)
{
    int64_t w = 1;

    while (w * p->radix <= e)
        w *= p->radix;
    return rcx_bundles_carries(p, carrier, e, w);
}

static struct rcx_span block_in(const struct passage *x, struct rcx_span vector,
                                int rank, int n)
{
    return rcx_span_sub(vector, (size_t)rank * x->block, (size_t)n * x->block);
}

/* Return how many rows of bundle e a carrier has in the end. */
static int last_rows(const struct passage *x, int carrier, int64_t e)
{
    return carrier < x->p.carriers && has_last(&x->p, carrier, e)
               ? rows_with(x, carrier, ranks_at(x, -e))
               : 0;
}

/* Return the block for a rank of the node in row i that this rank has of a
 * bundle. */
static struct rcx_span last_block(const struct passage *x, int64_t e, int i,
                                  int to)
{
    const struct bundle *bundle = &x->bundles[e];

    return (struct rcx_span){.buffer = RCX_BUFFER_TMP,
                             .offset = bundle->at + (size_t)i * bundle->stride +
                                       (size_t)to * x->block,
                             .count = x->block};
}

/* Send a rank of the node its block of the operand, and those of bundles. */
static void send_last(const struct passage *x, int to)
{
    const int rank = rank_at(x, 0, to);
    struct parcel p = {.b = x->b};

    parcel_add(&p, block_in(x, rcx_span_in(x->s), rank, 1));
    for (int64_t e = 1; e < x->p.count; e++)
        for (int i = 0; i < last_rows(x, x->node.rank, e); i++)
            parcel_add(&p, last_block(x, e, i, to));
    parcel_send(&p, rank);
}

/* Receive the same from a rank of the node in room. Return the rest of room. */
static struct rcx_span recv_last(const struct passage *x, struct rcx_span room,
                                 int from)
{
    size_t blocks = 1;

    for (int64_t e = 1; e < x->p.count; e++)
        blocks += (size_t)last_rows(x, from, e);
    rcx_step_recv(x->b, rank_at(x, 0, from),
                  rcx_span_sub(room, 0, blocks * x->block));
    return behind(room, blocks * x->block);
}

/* Copy blocks side by side to the result: of `rows` rows of bundle e, from one
 * that is with a carrier on. Return how many. */
static int unpack_rows(const struct passage *x, struct rcx_span came, int64_t e,
                       int first, int rows)
{
    const int rank = rank_at(x, -e, first), step = row_step(x);
    int n = 1;

    while (n < rows && rank_at(x, -e, first + n * step) == rank + n)
        n++;
    rcx_step_copy(x->b, block_in(x, rcx_span_out(x->s), rank, n),
                  rcx_span_sub(came, 0, (size_t)n * x->block));
    return n;
}

/* Copy what came from a rank of the node to the result. Return the rest of
 * came. */
static struct rcx_span unpack(const struct passage *x, struct rcx_span came,
                              int from)
{
    rcx_step_copy(x->b, block_in(x, rcx_span_out(x->s), rank_at(x, 0, from), 1),
                  rcx_span_sub(came, 0, x->block));
    came = behind(came, x->block);
    for (int64_t e = 1; e < x->p.count; e++) {
        const int rows = last_rows(x, from, e);
        int n;

        for (int i = 0; i < rows; i += n) {
            const int row = first_row(x, from) + i * row_step(x);

            n = unpack_rows(x, came, e, row, rows - i);
            came = behind(came, (size_t)n * x->block);
        }
    }
    return came;
}

/* Copy what this rank has for itself to the result. */
static void unpack_own(const struct passage *x)
{
    const struct rcx_span out = rcx_span_out(x->s);
    const int me = x->node.rank;

    rcx_step_copy(x->b, block_in(x, out, x->s->rank, 1),
                  block_in(x, rcx_span_in(x->s), x->s->rank, 1));
    for (int64_t e = 1; e < x->p.count; e++)
        for (int i = 0; i < last_rows(x, me, e); i++)
            rcx_step_copy(
                x->b,
                block_in(x, out,
                         rank_at(x, -e, first_row(x, me) + i * row_step(x)), 1),
                last_block(x, e, i, me));
}

/* In place, all blocks of the operand are read before the result is written, as
 * messages do not wait for that. */
static void deliver(const struct passage *x)
{
    const int me = x->node.rank, ranks = x->node.size;
    const struct rcx_span all = rcx_span_scratch(x->b, x->s->count);
    struct rcx_span rest = all;

    for (int t = 1; t < ranks; t++) {
        rest = recv_last(x, rest, (me + ranks - t) % ranks);
        send_last(x, (me + t) % ranks);
    }
    unpack_own(x);
    rest = all;
    for (int t = 1; t < ranks; t++)
        rest = unpack(x, rest, (me + ranks - t) % ranks);
}

void rcx_bundles_exchange(struct rcx_builder *b, const struct rcx_shape *s,
                          const struct rcx_bundles *p)
{
    struct passage x = {.b = b,
                        .s = s,
                        .p = *p,
                        .node = rcx_by_nodes_neighbours(s),
                        .block = s->count / (size_t)s->size};

    x.bundles = rcx_heap_alloc(b->heap, (size_t)x.p.count * sizeof *x.bundles);
    if (!x.bundles) {
        rcx_builder_fail(b, RCX_ERR_NOMEM);
        return;
    }
    collect(&x);
    for (int64_t w = 1; x.node.rank < x.p.carriers && w < x.p.count;
         w *= x.p.radix) {
        exchange_all(&x, w);
        if (x.p.by_digit && w * x.p.radix < x.p.count)
            hand_over(&x, w);
    }
    deliver(&x);
    rcx_heap_free(b->heap, x.bundles);
}
