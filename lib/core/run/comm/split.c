/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dup and split. Groups of one split share its id, since no rank is in two of
 * them.
 */
#include "core/run/comm/comm_make.h"

#include <stdlib.h>

#include "core/run/comm/creation.h"
#include "core/run/fault/failure.h"
#include "core/run/object/context.h"

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

/* The ranks with this color, sorted by key; *n_p of them. NULL: no memory. */
static int *members_of(struct rcx_comm *comm, const struct rcx_split_key keys[],
                       int32_t color, int *n_p)
{
    struct rcx_heap *heap = &comm->context->heap;
    const size_t size = (size_t)comm->size;
    struct candidate *c = rcx_heap_alloc(heap, size * sizeof *c);
    int *members = rcx_heap_alloc(heap, size * sizeof *members);
    int n = 0;

    if (c && members) {
        for (int i = 0; i < comm->size; i++)
            if (keys[i].color == color)
                c[n++] = (struct candidate){keys[i].key, i};
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

static rcx_status_t make(const struct rcx_making *m, struct rcx_comm *comm)
{
    rcx_status_t status;
    int n, *members;

    if (m->color == RCX_UNDEFINED)
        return RCX_OK;
    members = members_of(comm, m->ids.split_keys, m->color, &n);
    if (!members)
        return rcx_fail(&comm->context->log, RCX_ERR_NOMEM,
                        "no memory to split a communicator of %d ranks",
                        comm->size);
    status = rcx_comm_make(comm, m->ids.id, m->ids.group, members, n, m->new_p);
    rcx_heap_free(&comm->context->heap, members);
    return status;
}

rcx_status_t rcx_comm_start_split(struct rcx_comm *comm, int color, int key,
                                  bool blocks, struct rcx_comm **new_p,
                                  struct rcx_request **request_p)
{
    struct rcx_making *m;

    if (rcx_comm_is_failed(comm))
        return rcx_comm_refuse(comm);
    m = rcx_making_open(comm->context, (size_t)comm->size);
    if (!m)
        return RCX_ERR_NOMEM;
    m->color = color;
    m->ids.split_keys[comm->rank] = (struct rcx_split_key){color, key};
    m->new_p = new_p;
    m->make = make;
    return rcx_making_start(m, comm, blocks, request_p);
}
