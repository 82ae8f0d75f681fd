/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of a rank's send and receive buffers, by the collective's row in
 * core/sched/coll.c. */
#include "rcx_perf/rcx_perf.h"

/* ---- Blocks -------------------------------------------------------------- */

bool perf_is_list(const struct perf_coll *coll)
{
    return coll->vectors > 0 && !coll->is_messages;
}

bool perf_has_places(const struct perf_coll *coll)
{
    return coll->irregular &&
           (rcx_colls[coll->row].has_places || perf_is_list(coll));
}

int perf_pieces(const struct perf_job *job)
{
    const struct perf_options *o = &job->options;

    if (perf_is_list(o->coll))
        return o->vectors;
    return rcx_coll_has_blocks(o->coll->row) ? job->size : 0;
}

int perf_partner(const struct perf_job *job, int rank)
{
    return (rank + job->size / 2) % job->size;
}

size_t perf_block_count(const struct perf_job *job, size_t count, int rank,
                        int i)
{
    const struct perf_options *o = &job->options;

    if (o->coll->is_messages)
        return i == perf_partner(job, rank) ? count * (size_t)o->vectors : 0;
    /* blocks of two ranks for each other have equal lengths */
    if (rcx_colls[o->coll->row].is_local)
        i += rank;
    return o->uneven ? count * (size_t)(i % 3) : count;
}

/* Whether blocks have gaps between them: --gaps, and --uneven where callers
 * pass displacements. */
static bool is_apart(const struct perf_options *o)
{
    return (o->uneven || o->gaps) && perf_has_places(o->coll);
}

/* Compute lengths and offsets of the blocks. Returns the elements of each
 * buffer. */
static size_t cut(struct perf_job *job, size_t count)
{
    const struct perf_options *o = &job->options;
    const int p = perf_pieces(job);
    size_t at = 0;

    if (p == 0)
        return count;
    job->starts[0] = 0;
    for (int i = 0; i < p; i++) {
        job->counts[i] = perf_block_count(job, count, job->rank, i);
        job->starts[i + 1] = job->starts[i] + job->counts[i];
        job->displs[i] = job->starts[i];
    }
    if (!is_apart(o))
        return job->starts[p];
    for (int i = p - 1; i >= 0; i--) { /* the last block first, and a gap behind
                                          each */
        job->displs[i] = at;
        at += job->counts[i] + 1;
    }
    return at;
}

size_t perf_cut(struct perf_job *job, size_t count)
{
    const size_t reach = cut(job, count), bytes = job->options.type->bytes;

    for (int i = 0; job->send && i < perf_pieces(job); i++) {
        job->ins[i] = job->send + job->displs[i] * bytes;
        job->outs[i] = job->recv + job->displs[i] * bytes;
    }
    return reach;
}

/* ---- Sides --------------------------------------------------------------- */

static struct perf_side side_of(const struct perf_job *job,
                                const struct perf_row *row,
                                enum rcx_extent extent)
{
    static const size_t start = 0;

    if (perf_is_list(job->options.coll))
        extent = RCX_EXTENT_BLOCKS;
    switch (extent) {
    case RCX_EXTENT_BLOCKS:
        return (struct perf_side){.pieces = perf_pieces(job),
                                  .at = job->displs,
                                  .counts = job->counts};
    case RCX_EXTENT_BLOCK:
        return (struct perf_side){
            .pieces = 1, .at = &start, .counts = &job->counts[job->rank]};
    default:
        return (struct perf_side){
            .pieces = 1, .at = &start, .counts = &row->count};
    }
}

/* Let operand and result share a buffer, by the aliasing that the collective
 * allows. */
static void unite(const struct perf_job *job, struct perf_sides *s)
{
    const enum rcx_coll row = job->options.coll->row;
    const size_t *own = &job->displs[job->rank];

    s->in_place = true;
    if (rcx_coll_allows(row, RCX_ALIAS_SAME)) {
        s->given.base = s->gotten.base;
    } else if (rcx_coll_allows(row, RCX_ALIAS_OWN)) {
        s->given.base = s->gotten.base;
        s->given.at = own;
    } else {
        s->gotten.base = s->given.base;
        s->gotten.at = own;
    }
}

struct perf_sides perf_sides(const struct perf_job *job,
                             const struct perf_row *row)
{
    const struct perf_options *o = &job->options;
    const enum rcx_coll coll = o->coll->row;
    struct perf_sides s = {.in_place = false};

    if (rcx_coll_gives(coll, job->rank, o->root)) {
        s.given = side_of(job, row, rcx_colls[coll].gives);
        s.given.base = job->send;
    }
    if (rcx_coll_gets(coll, job->rank, o->root)) {
        s.gotten = side_of(job, row, rcx_colls[coll].gets);
        s.gotten.base = job->recv;
    }
    if (o->in_place && s.given.base && s.gotten.base)
        unite(job, &s);
    return s;
}

struct perf_call perf_call_of(const struct perf_job *job,
                              const struct perf_row *row)
{
    const struct perf_options *o = &job->options;
    const struct perf_sides s = perf_sides(job, row);
    const bool moves_out = s.in_place && s.gotten.base == job->send;
    const void *in = s.in_place && !moves_out ? RCX_IN_PLACE : s.given.base;

    return (struct perf_call){
        .in = in,
        /* a rank without a result passes a buffer that must stay unchanged */
        .out = moves_out       ? RCX_IN_PLACE
               : s.gotten.base ? s.gotten.base
                               : job->recv,
        .count = row->count,
        .counts = job->counts,
        .displs = is_apart(o) ? job->displs : NULL,
        .n = (size_t)perf_pieces(job),
        .ins = in == RCX_IN_PLACE ? RCX_IN_PLACE : job->ins,
        .outs = job->outs,
        .partner = perf_partner(job, job->rank),
        .type = job->type,
        .op = job->op,
        .root = o->root,
        .comm = job->comm};
}

struct rcx_shape perf_shape(const struct perf_job *job,
                            const struct perf_row *row)
{
    const enum rcx_coll coll = job->options.coll->row;
    const bool blocks = rcx_coll_has_blocks(coll);
    const int cut = perf_pieces(job);

    return (struct rcx_shape){.coll = coll,
                              .rank = job->rank,
                              .size = job->size,
                              .root = job->options.root,
                              .count = cut ? job->starts[cut] : row->count,
                              .displs = blocks ? job->starts : NULL,
                              .gotten = rcx_colls[coll].is_local ? job->starts
                                                                 : NULL};
}
