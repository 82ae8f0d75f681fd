/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows, samples and call sites of a rank's profile. What they mean over all
 * ranks is found out at finalize: api/profile_gather.c.
 */
#include "core/run/observe/profile.h"

#include <string.h>

#include "core/run/observe/observer.h"

struct rcx_profile *rcx_profile_create(struct rcx_heap *heap)
{
    struct rcx_profile *p = rcx_heap_zalloc(heap, sizeof *p);

    if (p)
        p->begin = rcx_instant_now();
    return p;
}

void rcx_profile_free(struct rcx_profile *p, struct rcx_heap *heap)
{
    while (p && p->first) {
        struct rcx_profile_row *row = p->first;

        p->first = row->next;
        rcx_heap_free(heap, row);
    }
    rcx_heap_free(heap, p);
}

/* ---- Rows ---------------------------------------------------------------- */

static uint8_t class_of(uint64_t bytes)
{
    uint8_t n = 0;

    for (; bytes > 0; bytes /= 4)
        n++;
    return n;
}

static bool is_same(const struct rcx_profile_key *a,
                    const struct rcx_profile_key *b)
{
    return a->comm == b->comm && a->group == b->group && a->first == b->first &&
           a->algo == b->algo && a->coll == b->coll && a->form == b->form &&
           a->bytes == b->bytes;
}

static struct rcx_profile_row *add_row(struct rcx_profile *p,
                                       struct rcx_heap *heap,
                                       const struct rcx_profile_key *key)
{
    struct rcx_profile_row *row = rcx_heap_alloc(heap, sizeof *row);

    if (!row)
        return NULL;
    memset(row, 0, offsetof(struct rcx_profile_row, sample));
    row->limit = UINT64_MAX;
    row->key = *key;
    row->next = p->first;
    p->first = row;
    p->rows++;
    return row;
}

/* The bytes of a call whose counts are local say nothing of other ranks. */
static struct rcx_profile_key key_of(const struct rcx_comm *comm,
                                     const struct rcx_program *e,
                                     enum rcx_form form)
{
    return (struct rcx_profile_key){.comm = comm->id,
                                    .group = comm->group,
                                    .rank = comm->rank,
                                    .size = comm->size,
                                    .first = rcx_comm_context_rank(comm, 0),
                                    .algo = e->method.algo,
                                    .coll = e->call.coll,
                                    .form = (uint8_t)form,
                                    .bytes = rcx_colls[e->call.coll].is_local
                                                 ? RCX_PROFILE_NO_CLASS
                                                 : class_of(e->vector_bytes)};
}

/* Once there are many rows, calls of all new kinds share one. */
static struct rcx_profile_row *rest_of(struct rcx_profile *p,
                                       struct rcx_heap *heap)
{
    const struct rcx_profile_key key = {.coll = RCX_COLL_COUNT,
                                        .bytes = RCX_PROFILE_NO_CLASS};

    if (!p->rest) {
        p->rest = add_row(p, heap, &key);
        if (p->rest)
            p->rest->limit = 0; /* sequence numbers of communicators mix */
    }
    return p->rest;
}

struct rcx_profile_row *rcx_profile_row(struct rcx_comm *comm,
                                        const struct rcx_program *e,
                                        enum rcx_form form)
{
    struct rcx_profile *p = comm->context->observer->profile;
    const struct rcx_profile_key key = key_of(comm, e, form);

    for (struct rcx_profile_row *row = p->first; row; row = row->next)
        if (is_same(&row->key, &key))
            return row;
    if (p->rows + 1 >= RCX_PROFILE_ROWS)
        return rest_of(p, &comm->context->heap);
    return add_row(p, &comm->context->heap, &key);
}

double rcx_profile_ticks(const struct rcx_profile_row *row)
{
    const double quick = (double)(row->calls - row->slow_calls);
    const double mean = row->quick_weight > 0 ? (double)row->quick_ticks /
                                                    (double)row->quick_weight
                                              : 0;

    return (double)row->slow_ticks + quick * mean;
}

/* ---- Calls --------------------------------------------------------------- */

/* Keep half of the samples: those that the halved limit selects. All ranks have
 * selected the same ones, as the limit depends on nothing else. */
void rcx_profile_thin(struct rcx_profile_row *row)
{
    unsigned kept = 0;

    row->limit >>= 1;
    row->shift++;
    for (unsigned i = 0; i < row->samples; i++)
        if (rcx_profile_samples(row, row->sample[i].sequence))
            row->sample[kept++] = row->sample[i];
    row->samples = kept;
}

static void add_sample(struct rcx_profile_row *row,
                       const struct rcx_timed_call *call, uint64_t took)
{
    while (row->samples == RCX_PROFILE_SAMPLES)
        rcx_profile_thin(row);
    if (!rcx_profile_samples(row, call->sequence))
        return;
    row->sample[row->samples++] = (struct rcx_profile_sample){
        call->sequence, call->begin, took, call->root};
}

/* NULL: the table is full. */
static struct rcx_profile_site *site_of(struct rcx_profile *p,
                                        const struct rcx_profile_row *row,
                                        const void *address)
{
    const uint64_t hash =
        (uint64_t)(uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15);

    for (unsigned i = 0; i < 16; i++) {
        struct rcx_profile_site *site =
            &p->sites[((hash >> 32) + i) % RCX_PROFILE_SITES];

        if (!site->address)
            *site = (struct rcx_profile_site){.address = address,
                                              .coll = row->key.coll,
                                              .form = row->key.form};
        if (site->address == address)
            return site;
    }
    return NULL;
}

static uint64_t median_of(const uint64_t v[3])
{
    const uint64_t low = v[0] < v[1] ? v[0] : v[1];
    const uint64_t high = v[0] < v[1] ? v[1] : v[0];

    return v[2] < low ? low : v[2] > high ? high : v[2];
}

/* Whether a quick call, timed as a sample, was interrupted: it took far longer
 * than those before it. Such a call stands for itself alone. Times 2^shift, one
 * time slice of another process could exceed the whole run. */
static bool was_interrupted(struct rcx_profile_row *row, uint64_t took)
{
    const uint64_t usual = median_of(row->recent);

    row->recent[0] = row->recent[1];
    row->recent[1] = row->recent[2];
    row->recent[2] = took;
    return row->shift > 0 && took / RCX_PROFILE_INTERRUPTED > usual;
}

void rcx_profile_add(struct rcx_profile *p, struct rcx_profile_row *row,
                     const struct rcx_timed_call *call)
{
    /* clocks of cores may differ slightly */
    const uint64_t took =
        (int64_t)(call->end - call->begin) > 0 ? call->end - call->begin : 0;
    const bool is_usual = call->quick && !was_interrupted(row, took);
    const unsigned shift = is_usual ? row->shift : 0;
    struct rcx_profile_site *site =
        call->site ? site_of(p, row, call->site) : NULL;

    if (is_usual) {
        row->quick_ticks += took << shift;
        row->quick_weight += UINT64_C(1) << shift;
    } else {
        row->slow_ticks += took;
        row->slow_calls++;
    }
    if (site) {
        site->ticks += took << shift;
        site->calls += UINT64_C(1) << shift;
    }
    if (took > row->longest)
        row->longest = took;
    if (rcx_profile_samples(row, call->sequence))
        add_sample(row, call, took);
}
