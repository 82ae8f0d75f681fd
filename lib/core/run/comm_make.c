/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * New communicators from old ones. Members agree on an id (agree.h), which
 * groups that come of one call share, since nobody is in two of them.
 */
#include <stdlib.h>

#include "core/run/agree.h"
#include "core/run/note.h"

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

/* For the user. */
static rcx_status_t make(struct rcx_comm *parent, uint32_t id,
                         const int members[], int n, struct rcx_comm **new_p)
{
    const rcx_status_t status = derive(parent, id, members, n, new_p);

    if (status != RCX_OK)
        return status;
    parent->context->live_comms++;
    rcx_notes_recall(*new_p);
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

static rcx_status_t make_split(struct rcx_comm *comm, const struct rcx_ballot *b,
                               uint32_t id, int color,
                               struct rcx_comm **new_p)
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
            rcx_comm_id_drop(context, id);
    }
    rcx_ballot_close(context, &b);
    return status;
}

/* ---- Groups --------------------------------------------------------------- */

/* Every rank is one of comm's, none twice, and the caller among them. */
static rcx_status_t check_ranks(struct rcx_comm *comm, int n,
                                const int ranks[])
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
                           "(0..%d), this one (%d) among them", comm->size - 1,
                           comm->rank);
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
    rcx_notes_recall(*group_p);
    return RCX_OK;
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
    const struct rcx_comm *comm = context->broken ? context->comms : NULL;

    while (comm && (!rcx_comm_is_for_groups(comm->id) || comm->tag != tag ||
                    comm->failed == RCX_OK))
        comm = comm->next;
    return comm != NULL;
}

rcx_status_t rcx_comm_make_group(struct rcx_comm *comm, int n,
                                 const int ranks[], int tag,
                                 struct rcx_comm **new_p)
{
    uint32_t id;
    rcx_status_t status = check_ranks(comm, n, ranks);

    if (status != RCX_OK)
        return status;
    if (comm->failed != RCX_OK)
        return RCX_ERR_COMM_FAILED;
    if (is_spoilt(comm->context, tag))
        return rcx_fail(&comm->context->log, RCX_ERR_COMM_FAILED,
                        "tag=%d: a group failed in the making with it; needs "
                        "another one", tag);
    status = agree_in_group(comm, n, ranks, tag, &id);
    if (status != RCX_OK)
        return status;
    status = make(comm, id, ranks, n, new_p);
    if (status != RCX_OK)
        rcx_comm_id_drop(comm->context, id);
    return status;
}
