/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * New communicators from old ones. Members agree on an id (agree.h), which
 * groups that come of one call share, since nobody is in two of them.
 */
#include "core/run/comm_make.h"

#include <stdlib.h>

#include "core/base/hash.h"
#include "core/run/agree.h"
#include "core/run/comm_close.h"
#include "core/run/failure.h"
#include "core/run/hear.h"
#include "core/run/progress.h"

static rcx_status_t derive(struct rcx_comm *parent, uint32_t id,
                           const int members[], int n, struct rcx_comm **new_p)
{
    struct rcx_context *context = parent->context;
    int *ranks = rcx_heap_alloc(&context->heap, (size_t)n * sizeof *ranks);
    int rank = -1;
    rcx_status_t status;

    if (!ranks)
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "no memory for a communicator of %d", n);
    for (int i = 0; i < n; i++) {
        if (members[i] == parent->rank)
            rank = i;
        ranks[i] = rcx_comm_context_rank(parent, members[i]);
    }
    status = rcx_comm_new(context, id, rank, n, ranks, new_p);
    if (status == RCX_OK)
        (*new_p)->timeout_ns = parent->timeout_ns;
    return status;
}

/* It may have failed on others already. */
static void recall(struct rcx_comm *comm)
{
    rcx_notes_recall(comm);
    if (comm->failed != RCX_OK)
        rcx_watch(comm->context);
}

/* For the user. */
static rcx_status_t make(struct rcx_comm *parent, uint32_t id,
                         const int members[], int n, struct rcx_comm **new_p)
{
    const rcx_status_t status = derive(parent, id, members, n, new_p);

    if (status != RCX_OK)
        return status;
    parent->context->comms.live++;
    recall(*new_p);
    return RCX_OK;
}

/* ---- dup and split -------------------------------------------------------- */

struct candidate {
    int32_t key;
    int rank;
};

static int by_key(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->rank - y->rank;
}

/* The ranks that want color, by key; n_p of them. NULL: no memory. */
static int *members_of(struct rcx_comm *comm, const struct rcx_wish wishes[],
                       int32_t color, int *n_p)
{
    struct rcx_heap *heap = &comm->context->heap;
    const size_t size = (size_t)comm->size;
    struct candidate *c = rcx_heap_alloc(heap, size * sizeof *c);
    int *members = rcx_heap_alloc(heap, size * sizeof *members);
    int n = 0;

    if (c && members) {
        for (int i = 0; i < comm->size; i++)
            if (wishes[i].color == color)
                c[n++] = (struct candidate){wishes[i].key, i};
        qsort(c, (size_t)n, sizeof *c, by_key);
        for (int i = 0; i < n; i++)
            members[i] = c[i].rank;
    } else {
        rcx_heap_free(heap, members);
        members = NULL;
    }
    rcx_heap_free(heap, c);
    *n_p = n;
    return members;
}

static rcx_status_t make_split(struct rcx_comm *comm,
                               const struct rcx_ballot *b, uint32_t id,
                               int color, struct rcx_comm **new_p)
{
    int n;
    int *members;
    rcx_status_t status;

    if (color == RCX_UNDEFINED) {
        *new_p = NULL;
        return RCX_OK;
    }
    members = members_of(comm, b->wishes, color, &n);
    if (!members)
        return rcx_fail(&comm->context->log, RCX_ERR_NOMEM,
                        "no memory to split a communicator of %d", comm->size);
    status = make(comm, id, members, n, new_p);
    rcx_heap_free(&comm->context->heap, members);
    return status;
}

rcx_status_t rcx_comm_make_split(struct rcx_comm *comm, int color, int key,
                                 struct rcx_comm **new_p)
{
    struct rcx_context *context = comm->context;
    struct rcx_ballot b;
    uint32_t id;
    rcx_status_t status = rcx_ballot_open(context, (size_t)comm->size, &b);

    if (status != RCX_OK)
        return status;
    b.wishes[comm->rank] = (struct rcx_wish){color, key};
    status = rcx_agree(comm, comm, &b, &id);
    if (status == RCX_OK) {
        status = make_split(comm, &b, id, color, new_p);
        if (status != RCX_OK || !*new_p)
            rcx_comm_id_drop(&context->comms.ids, id);
    }
    rcx_ballot_close(context, &b);
    return status;
}

/* ---- Groups --------------------------------------------------------------- */

/* Every rank is one of comm's, none twice, and the caller among them. */
static rcx_status_t check_ranks(struct rcx_comm *comm, int n, const int ranks[])
{
    struct rcx_context *context = comm->context;
    unsigned char *seen = rcx_heap_zalloc(&context->heap, (size_t)comm->size);
    bool good = true;

    if (!seen)
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "no memory for a group of %d", n);
    for (int i = 0; i < n && good; i++) {
        good = ranks[i] >= 0 && ranks[i] < comm->size && !seen[ranks[i]];
        if (good)
            seen[ranks[i]] = 1;
    }
    good = good && seen[comm->rank];
    rcx_heap_free(&context->heap, seen);
    return good ? RCX_OK
                : rcx_fail(&context->log, RCX_ERR_ARG,
                           "ranks: needs different ranks of the communicator "
                           "(0..%d), this one (%d) among them",
                           comm->size - 1, comm->rank);
}

/* Not 0. Messages of groups that share tag and members, but not all of them,
 * shall not be taken for each other. */
static uint32_t hash_of(const struct rcx_comm *group)
{
    uint64_t hash = (uint64_t)group->size;

    for (int i = 0; i < group->size; i++)
        hash = rcx_hash(hash, (uint64_t)group->ranks[i]);
    return (uint32_t)(hash >> 32) | 1;
}

/* One in which the members alone agree, by an id that all groups share. */
static rcx_status_t open_group(struct rcx_comm *comm, uint32_t id, int n,
                               const int ranks[], int tag,
                               struct rcx_comm **group_p)
{
    const rcx_status_t status = derive(comm, id, ranks, n, group_p);

    if (status != RCX_OK)
        return status;
    (*group_p)->tag = tag;
    (*group_p)->group = hash_of(*group_p);
    recall(*group_p);
    return (*group_p)->failed;
}

static rcx_status_t agree_in_group(struct rcx_comm *comm, int n,
                                   const int ranks[], int tag, uint32_t *id_p)
{
    struct rcx_comm *group = NULL, *second = NULL;
    struct rcx_ballot b;
    rcx_status_t status = rcx_ballot_open(comm->context, 0, &b);

    if (status != RCX_OK)
        return status;
    status = open_group(comm, RCX_COMM_ID_GROUP, n, ranks, tag, &group);
    if (status == RCX_OK)
        status = open_group(comm, RCX_COMM_ID_SETTLE, n, ranks, tag, &second);
    if (status == RCX_OK)
        status = rcx_agree(group, second, &b, id_p);
    rcx_comm_retire(second);
    rcx_comm_retire(group);
    rcx_ballot_close(comm->context, &b);
    return status;
}

/* Whether messages of a group that failed may come under this tag. */
static bool is_spoilt(const struct rcx_context *context, int tag)
{
    const struct rcx_comm *comm = context->broken ? context->comms.first : NULL;

    while (comm && (!rcx_comm_is_for_groups(comm->id) || comm->tag != tag ||
                    comm->failed == RCX_OK))
        comm = comm->next;
    return comm != NULL;
}

static bool shares_another(const struct rcx_comm *group,
                           const struct rcx_comm *comm, int n,
                           const int ranks[])
{
    for (int i = 0; i < n; i++)
        if (ranks[i] != comm->rank &&
            rcx_comm_index(group, rcx_comm_context_rank(comm, ranks[i])) >= 0)
            return true;
    return false;
}

static bool is_equal(const struct rcx_comm *group, const struct rcx_comm *comm,
                     int n, const int ranks[])
{
    bool equal = group->size == n;

    for (int i = 0; i < n && equal; i++)
        equal = group->ranks[i] == rcx_comm_context_rank(comm, ranks[i]);
    return equal;
}

/* A group that another thread is making, under the same tag and with the same
 * members, some others at least; NULL: there is none. */
static const struct rcx_comm *rival_of(const struct rcx_comm *comm, int n,
                                       const int ranks[], int tag)
{
    const struct rcx_comm *c = comm->context->comms.first;

    while (c && (c->id != RCX_COMM_ID_GROUP || c->tag != tag ||
                 c->failed != RCX_OK || !shares_another(c, comm, n, ranks)))
        c = c->next;
    return c;
}

/* A group is not made here; so it fails on those who wait for this rank. */
static rcx_status_t refuse_group(struct rcx_comm *comm, int n,
                                 const int ranks[], int tag,
                                 rcx_status_t refusal, const char *why)
{
    struct rcx_comm *group = NULL;
    const rcx_status_t status =
        open_group(comm, RCX_COMM_ID_GROUP, n, ranks, tag, &group);

    if (status == RCX_OK) {
        rcx_comm_fail(group, refusal, &group->rank, 1, "tag=%d: %s", tag, why);
        rcx_watch(comm->context);
    }
    rcx_comm_retire(group);
    return group ? refusal : status;
}

/*
 * Threads may make equal groups under one tag at once: one after the other, in
 * any order, since nobody can tell which is which. Others that share members
 * might wait for each other on two ranks.
 */
static rcx_status_t await_rivals(struct rcx_comm *comm, int n,
                                 const int ranks[], int tag)
{
    const struct rcx_comm *rival;

    while ((rival = rival_of(comm, n, ranks, tag))) {
        if (!is_equal(rival, comm, n, ranks))
            return refuse_group(comm, n, ranks, tag, RCX_ERR_BUSY,
                                "another thread makes another group with it, "
                                "which shares members; needs another one");
        if (rcx_context_progress(comm->context) == 0)
            rcx_guard_pass(comm->context->guard);
    }
    return RCX_OK;
}

rcx_status_t rcx_comm_make_group(struct rcx_comm *comm, int n,
                                 const int ranks[], int tag,
                                 struct rcx_comm **new_p)
{
    uint32_t id;
    rcx_status_t status = check_ranks(comm, n, ranks);

    if (status != RCX_OK)
        return status;
    status = await_rivals(comm, n, ranks, tag);
    if (status != RCX_OK)
        return status;
    if (comm->failed != RCX_OK)
        return RCX_ERR_COMM_FAILED;
    if (is_spoilt(comm->context, tag))
        return refuse_group(comm, n, ranks, tag, RCX_ERR_COMM_FAILED,
                            "a group failed in the making with it; needs "
                            "another one");
    status = agree_in_group(comm, n, ranks, tag, &id);
    if (status != RCX_OK)
        return status;
    status = make(comm, id, ranks, n, new_p);
    if (status != RCX_OK)
        rcx_comm_id_drop(&comm->context->comms.ids, id);
    return status;
}
