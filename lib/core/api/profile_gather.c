/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Brings the parts of a profile together, along a binomial tree, so that a rank
 * talks to few others. If ranks have died, those that live shrink the
 * communicator and try again.
 */
#ifdef RCX_HAVE_DLADDR
#include <dlfcn.h>
#endif
#include <stdio.h>
#include <string.h>

#include "core/api/profile.h"
#include "core/run/diag/describe.h"
#include "core/run/fault/failure.h"
#include "core/run/wait/enter.h"
#include "core/sched/algo.h"

enum { TAG = 1, TRIES = 3, SITES = 16 };
/* All parts together may take this much, whatever the number of ranks. */
static const size_t most_bytes_of_all = (size_t)64 << 20;
static const size_t least_bytes = 16 << 10;
static const int64_t failed_limit_ns = INT64_C(3000000000);

/* ---- Own part ------------------------------------------------------------ */

static void *append(struct rcx_parts *parts, size_t bytes)
{
    unsigned char *data = rcx_heap_grow(parts->heap, parts->data, parts->bytes,
                                        parts->bytes + bytes);

    if (!data)
        return NULL;
    parts->data = data;
    parts->bytes += bytes;
    return memset(data + parts->bytes - bytes, 0, bytes);
}

static size_t bytes_of(const struct rcx_profile *p)
{
    size_t bytes =
        sizeof(struct rcx_profile_part) + SITES * sizeof(struct rcx_part_site);

    for (const struct rcx_profile_row *row = p->first; row; row = row->next)
        bytes += sizeof(struct rcx_part_row) +
                 row->samples * sizeof(struct rcx_part_sample);
    return bytes;
}

/* Drop samples, the same ones on all ranks, until the part is short enough. */
static void shorten(struct rcx_profile *p, size_t most_bytes)
{
    for (unsigned half = RCX_PROFILE_SAMPLES / 2;
         bytes_of(p) > most_bytes && half > 0; half /= 2)
        for (struct rcx_profile_row *row = p->first; row; row = row->next)
            while (row->samples > half)
                rcx_profile_thin(row);
}

/* Seconds of ticks. */
struct scale {
    const struct rcx_observer *observer;
    struct rcx_instant from, to;
    double seconds;
};

static void fill_row(struct rcx_part_row *out,
                     const struct rcx_profile_row *row, const struct scale *s)
{
    const struct rcx_profile_key *key = &row->key;

    *out =
        (struct rcx_part_row){.comm = key->comm,
                              .group = key->group,
                              .rank = key->rank,
                              .size = key->size,
                              .first = key->first,
                              .coll = key->coll,
                              .form = key->form,
                              .bytes = key->bytes,
                              .samples = row->samples,
                              .calls = row->calls,
                              .moved = row->bytes,
                              .seconds = s->seconds * rcx_profile_ticks(row),
                              .longest_s = s->seconds * (double)row->longest};
    snprintf(out->algorithm, sizeof out->algorithm, "%s",
             key->algo ? key->algo->name : "-");
}

static void fill_sample(struct rcx_part_sample *out,
                        const struct rcx_profile_sample *sample,
                        const struct scale *s)
{
    const uint64_t begin = rcx_ticks_to_ns(sample->begin, &s->from, &s->to);
    const uint64_t end =
        rcx_ticks_to_ns(sample->begin + sample->took, &s->from, &s->to);

    *out = (struct rcx_part_sample){.sequence = sample->sequence,
                                    .begin_ns =
                                        rcx_observer_align(s->observer, begin),
                                    .took_ns = (int64_t)(end - begin),
                                    .root = sample->root};
}

static bool add_row(struct rcx_parts *parts, const struct rcx_profile_row *row,
                    const struct scale *s)
{
    struct rcx_part_row *out = append(
        parts, sizeof *out + row->samples * sizeof(struct rcx_part_sample));
    struct rcx_part_sample *samples;

    if (!out)
        return false;
    fill_row(out, row, s);
    samples = (struct rcx_part_sample *)(void *)(out + 1);
    for (unsigned i = 0; i < row->samples; i++)
        fill_sample(&samples[i], &row->sample[i], s);
    return true;
}

/* By symbol where the dynamic linker knows it, and by module: an offset that
 * addr2line takes. */
static void name_site(const void *address, char text[RCX_PART_SITE])
{
#ifdef RCX_HAVE_DLADDR
    const char *at = (const char *)address - 1; /* within the call */
    const char *module, *slash;
    Dl_info info;

    if (dladdr(at, &info) != 0 && info.dli_fname) {
        slash = strrchr(info.dli_fname, '/');
        module = slash ? slash + 1 : info.dli_fname;
        if (info.dli_sname)
            snprintf(text, RCX_PART_SITE, "%.60s+0x%zx (%.60s+0x%zx)",
                     info.dli_sname, (size_t)(at - (char *)info.dli_saddr),
                     module, (size_t)(at - (char *)info.dli_fbase));
        else
            snprintf(text, RCX_PART_SITE, "%.120s+0x%zx", module,
                     (size_t)(at - (char *)info.dli_fbase));
        return;
    }
#endif
    snprintf(text, RCX_PART_SITE, "%p", address);
}

/* The site with the most time; NULL: none is left. Its time becomes 0. */
static bool add_worst_site(struct rcx_parts *parts, struct rcx_profile *p,
                           double seconds)
{
    struct rcx_profile_site *worst = p->sites;
    struct rcx_part_site *out;

    for (unsigned i = 1; i < RCX_PROFILE_SITES; i++)
        if (p->sites[i].ticks > worst->ticks)
            worst = &p->sites[i];
    if (worst->ticks == 0)
        return false;
    out = append(parts, sizeof *out);
    if (!out)
        return false;
    name_site(worst->address, out->text);
    out->coll = worst->coll;
    out->form = worst->form;
    out->calls = worst->calls;
    out->seconds = seconds * (double)worst->ticks;
    worst->ticks = 0;
    return true;
}

static struct scale scale_of(const struct rcx_context *context)
{
    const struct rcx_observer *o = context->observer;
    struct scale s = {
        .observer = o, .from = o->profile->begin, .to = rcx_instant_now()};

    s.seconds = s.to.ticks > s.from.ticks
                    ? 1e-9 * (double)(s.to.ns - s.from.ns) /
                          (double)(s.to.ticks - s.from.ticks)
                    : 0;
    return s;
}

/*
 * Append this rank's part, with as many samples as most_bytes hold. False: no
 * memory.
 */
static bool add_own(struct rcx_parts *parts, struct rcx_context *context,
                    size_t most_bytes)
{
    struct rcx_observer *o = context->observer;
    const struct scale s = scale_of(context);
    const size_t at = parts->bytes;
    struct rcx_profile_part head = {.rank = context->boot->rank,
                                    .run_s =
                                        1e-9 * (double)(s.to.ns - s.from.ns)};

    for (unsigned i = 0; i < o->marks; i++)
        if (1e-9 * (double)o->mark[i].error_ns > head.clock_error_s)
            head.clock_error_s = 1e-9 * (double)o->mark[i].error_ns;
    shorten(o->profile, most_bytes);
    if (!append(parts, sizeof head))
        return false;
    for (const struct rcx_profile_row *row = o->profile->first; row;
         row = row->next) {
        if (row->calls == 0)
            continue;
        if (!add_row(parts, row, &s))
            return false;
        head.rows++;
    }
    while (head.sites < SITES && add_worst_site(parts, o->profile, s.seconds))
        head.sites++;
    head.bytes = parts->bytes - at;
    memcpy(parts->data + at, &head, sizeof head);
    return true;
}

/* ---- Along a tree -------------------------------------------------------- */

static rcx_status_t receive(struct rcx_parts *parts, rcx_comm_t *comm, int from)
{
    uint64_t bytes = 0;
    rcx_status_t status =
        rcx_recv(&bytes, 1, RCX_UINT64, from, TAG, comm, NULL);
    void *place;

    if (status != RCX_OK)
        return status;
    place = append(parts, bytes);
    if (!place)
        return RCX_ERR_NOMEM;
    return rcx_recv(place, bytes, RCX_BYTE, from, TAG, comm, NULL);
}

static rcx_status_t send(const struct rcx_parts *parts, rcx_comm_t *comm,
                         int to)
{
    const uint64_t bytes = parts->bytes;
    const rcx_status_t status = rcx_send(&bytes, 1, RCX_UINT64, to, TAG, comm);

    return status == RCX_OK
               ? rcx_send(parts->data, bytes, RCX_BYTE, to, TAG, comm)
               : status;
}

static rcx_status_t gather(struct rcx_parts *parts, rcx_comm_t *comm)
{
    rcx_status_t status = RCX_OK;

    for (int k = 1; k < comm->size && status == RCX_OK; k *= 2) {
        if (comm->rank & k)
            return send(parts, comm, comm->rank - k);
        if (comm->rank + k < comm->size)
            status = receive(parts, comm, comm->rank + k);
    }
    return status;
}

/* After a failure nothing waits for long; else a rank may still compute, and
 * rcx_finalize() waits for it as well. */
int64_t rcx_parts_limit(const rcx_comm_t *comm)
{
    const int64_t own_ns = comm->timeout_ns;

    if (!comm->context->broken && !rcx_comm_is_failed(comm))
        return own_ns;
    return own_ns == 0 || own_ns > failed_limit_ns ? failed_limit_ns : own_ns;
}

/* Ranks may wait for this one, whose status is an error. */
static void fail_all(rcx_comm_t *comm, rcx_status_t status)
{
    char name[RCX_COMM_TEXT];

    if (rcx_enter(comm->context) != RCX_OK)
        return;
    rcx_comm_fail(comm, RCX_ERR_COMM_FAILED, &comm->rank, 1,
                  "%s: rank %d does not pass on a profile (RCX_PROFILE): %s",
                  rcx_comm_print(comm, name), comm->rank,
                  rcx_status_string(status));
    rcx_leave(comm->context);
}

/* Whether all that live have succeeded. If not, they shrink comm. */
static bool is_done(rcx_comm_t **comm_p, rcx_status_t status)
{
    uint64_t word = status == RCX_OK;
    rcx_comm_t *living = NULL;

    if (status != RCX_OK && !rcx_comm_is_failed(*comm_p))
        fail_all(*comm_p, status);
    status = rcx_comm_agree(*comm_p, &word, rcx_parts_limit(*comm_p));
    if (status == RCX_OK && word)
        return true;
    status = rcx_comm_shrink(*comm_p, failed_limit_ns, &living);
    *comm_p = status == RCX_OK ? living : NULL;
    return false;
}

rcx_status_t rcx_parts_gather(struct rcx_parts *parts,
                              struct rcx_context *context, bool *is_root_p)
{
    rcx_comm_t *comm = context->internal;
    const size_t share = most_bytes_of_all / (size_t)comm->size;
    size_t own;

    if (!add_own(parts, context, share > least_bytes ? share : least_bytes))
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "no memory for the profile");
    own = parts->bytes;
    *is_root_p = comm->rank == 0;
    if (comm->size == 1)
        return RCX_OK;
    for (int i = 0; i < TRIES && comm; i++) {
        rcx_status_t status = RCX_ERR_PEER_FAILED;

        parts->bytes = own;
        comm->timeout_ns = rcx_parts_limit(comm);
        if (!rcx_comm_is_failed(comm))
            status = gather(parts, comm);
        *is_root_p = comm->rank == 0;
        if (is_done(&comm, status))
            return RCX_OK;
    }
    parts->bytes = own;
    *is_root_p = context->boot->rank == 0;
    return RCX_ERR_PEER_FAILED;
}
