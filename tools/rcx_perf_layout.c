/* SPDX-License-Identifier: BSD-3-Clause */
/* What lies where in a rank's two buffers, by the collective's row. */
#include "rcx_perf.h"

/* ---- Blocks -------------------------------------------------------------- */

size_t perf_block_count(const struct perf_job *job, size_t count, int rank,
                        int i)
{
    const struct perf_options *o = &job->options;

    /* what two ranks send each other is as long either way */
    if (rcx_colls[o->coll->row].is_local)
        i += rank;
    return o->uneven ? count * (size_t)(i % 3) : count;
}

size_t perf_cut(struct perf_job *job, size_t count)
{
    const struct perf_options *o = &job->options;
    const int p = job->size;
    size_t at = 0;

    if (!rcx_coll_has_blocks(o->coll->row))
        return count;
    job->starts[0] = 0;
    for (int i = 0; i < p; i++) {
        job->counts[i] = perf_block_count(job, count, job->rank, i);
        job->starts[i + 1] = job->starts[i] + job->counts[i];
        job->displs[i] = job->starts[i];
    }
    if (!o->uneven || !rcx_colls[o->coll->row].has_places)
        return job->starts[p];
    for (int i = p - 1; i >= 0; i--) { /* the last first, and gaps */
        job->displs[i] = at;
        at += job->counts[i] + 1;
    }
    return at;
}

/* ---- Sides --------------------------------------------------------------- */

static struct perf_side side_of(const struct perf_job *job,
                                const struct perf_row *row,
                                enum rcx_extent extent)
{
    static const size_t start = 0;

    switch (extent) {
    case RCX_EXTENT_BLOCKS:
        return (struct perf_side){
            .pieces = job->size, .at = job->displs, .counts = job->counts};
    case RCX_EXTENT_BLOCK:
        return (struct perf_side){
            .pieces = 1, .at = &start, .counts = &job->counts[job->rank]};
    default:
        return (struct perf_side){
            .pieces = 1, .at = &start, .counts = &row->count};
    }
}

/* Bring the two together in the way that the collective has for it. */
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

    return (struct perf_call){
        .in = s.in_place && !moves_out ? RCX_IN_PLACE : s.given.base,
        /* who gets nothing has a buffer that stays as it is */
        .out = moves_out       ? RCX_IN_PLACE
               : s.gotten.base ? s.gotten.base
                               : job->recv,
        .count = row->count,
        .counts = job->counts,
        .displs = o->uneven ? job->displs : NULL,
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

    return (struct rcx_shape){
        .coll = coll,
        .rank = job->rank,
        .size = job->size,
        .root = job->options.root,
        .count = blocks ? job->starts[job->size] : row->count,
        .displs = blocks ? job->starts : NULL,
        .gotten = rcx_colls[coll].is_local ? job->starts : NULL};
}
