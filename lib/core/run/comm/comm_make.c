/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * New communicators from old ones: dup, split and groups. Members agree on an
 * id (cid_alloc.h). Groups of one split share it, since no rank is in two of
 * them.
 */
#include "core/run/comm/comm_make.h"

#include <stdlib.h>

#include "core/base/hash.h"
#include "core/run/comm/cid_alloc.h"
#include "core/run/comm/comm_close.h"
#include "core/run/detect/ctrl_dispatch.h"
#include "core/run/detect/detector.h"
#include "core/run/fault/ctrl_msg.h"
#include "core/run/fault/failure.h"
#include "core/run/object/context.h"
#include "core/run/wait/progress.h"

static rcx_status_t derive(struct rcx_comm *parent, uint32_t id,
                           const int members[], int n, struct rcx_comm **new_p)
{
    struct rcx_context *context = parent->context;
    int *ranks = rcx_heap_alloc(&context->heap, (size_t)n * sizeof *ranks);
    int rank = -1;
    rcx_status_t status;

    if (!ranks)
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "no memory for a communicator of %d ranks", n);
    for (int i = 0; i < n; i++) {
        if (members[i] == parent->rank)
            rank = i;
        ranks[i] = rcx_comm_context_rank(parent, members[i]);
    }
    status = rcx_comm_create(context, id, rank, n, ranks, new_p);
    if (status != RCX_OK)
        return status;
    if (parent->own)
        rcx_comm_use_config(*new_p, parent->own);
    (*new_p)->timeout_ns = parent->timeout_ns;
    return RCX_OK;
}

/* Other members may have reported its failure already. */
static void recall(struct rcx_comm *comm)
{
    rcx_ctrl_replay(comm);
    if (rcx_comm_is_failed(comm))
        rcx_detector_poll(comm->context);
}

rcx_status_t rcx_comm_make(struct rcx_comm *parent, uint32_t id, uint32_t group,
                           const int members[], int n, struct rcx_comm **new_p)
{
    const rcx_status_t status = derive(parent, id, members, n, new_p);

    if (status != RCX_OK)
        return status;
    (*new_p)->group = group;
    parent->context->comms.live++;
    recall(*new_p);
    return RCX_OK;
}

/* ---- dup and split ------------------------------------------------------- */

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

static rcx_status_t make_split(struct rcx_comm *comm,
                               const struct rcx_cid_alloc *b, uint32_t id,
                               int color, struct rcx_comm **new_p)
{
    int n;
    int *members;
    rcx_status_t status;

    if (color == RCX_UNDEFINED) {
        *new_p = NULL;
        return RCX_OK;
    }
    members = members_of(comm, b->split_keys, color, &n);
    if (!members)
        return rcx_fail(&comm->context->log, RCX_ERR_NOMEM,
                        "no memory to split a communicator of %d ranks",
                        comm->size);
    status = rcx_comm_make(comm, id, b->group, members, n, new_p);
    rcx_heap_free(&comm->context->heap, members);
    return status;
}

rcx_status_t rcx_comm_make_split(struct rcx_comm *comm, int color, int key,
                                 struct rcx_comm **new_p)
{
    struct rcx_context *context = comm->context;
    struct rcx_cid_alloc b;
    uint32_t id;
    rcx_status_t status = rcx_cid_alloc_open(context, (size_t)comm->size, &b);

    if (status != RCX_OK)
        return status;
    b.split_keys[comm->rank] = (struct rcx_split_key){color, key};
    status = rcx_cid_alloc_run(comm, comm, &b, &id);
    if (status == RCX_OK) {
        status = make_split(comm, &b, id, color, new_p);
        if (status != RCX_OK || !*new_p)
            rcx_comm_id_put(&context->comms.ids, id);
    }
    rcx_cid_alloc_close(context, &b);
    return status;
}

/* ---- Groups -------------------------------------------------------------- */

static rcx_status_t reject_ranks(const struct rcx_comm *comm)
{
    return rcx_fail(&comm->context->log, RCX_ERR_ARG,
                    "rcx_comm_create_group: ranks: needs distinct ranks of the "
                    "communicator (0..%d), the caller's (%d) among them",
                    comm->size - 1, comm->rank);
}

/* Whether all ranks are in comm, the caller's among them. */
static bool are_members(const struct rcx_comm *comm, int n, const int ranks[])
{
    bool has_caller = false;

    for (int i = 0; i < n; i++) {
        if (ranks[i] < 0 || ranks[i] >= comm->size)
            return false;
        has_caller |= ranks[i] == comm->rank;
    }
    return has_caller;
}

static rcx_status_t check_none_twice(struct rcx_comm *comm, int n,
                                     const int ranks[])
{
    struct rcx_context *context = comm->context;
    unsigned char *seen = rcx_heap_zalloc(&context->heap, (size_t)comm->size);
    bool good = true;

    if (!seen)
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "rcx_comm_create_group: no memory for a group of %d "
                        "ranks",
                        n);
    for (int i = 0; i < n && good; i++) {
        good = !seen[ranks[i]];
        seen[ranks[i]] = 1;
    }
    rcx_heap_free(&context->heap, seen);
    return good ? RCX_OK : reject_ranks(comm);
}

/* A group that ranks of comm make. */
struct wanted {
    struct rcx_comm *comm;
    const int *ranks;
    int n;
    int tag;
    uint32_t key;     /* hash of its members and comm; not 0 */
    uint32_t attempt; /* its number among those of this tag and key */
};

static uint32_t key_of(const struct rcx_comm *comm, int n, const int ranks[])
{
    uint64_t hash = rcx_hash((uint64_t)n, comm->id);

    for (int i = 0; i < n; i++)
        hash = rcx_hash(hash, (uint64_t)rcx_comm_context_rank(comm, ranks[i]));
    return (uint32_t)(hash >> 32) | 1;
}

/* Open the communicator in which the members alone agree. All groups in the
 * making share its id. */
static rcx_status_t open_group(const struct wanted *w, uint32_t id,
                               struct rcx_comm **group_p)
{
    struct rcx_comm *comm = w->comm;
    const rcx_status_t status = derive(comm, id, w->ranks, w->n, group_p);

    if (status != RCX_OK)
        return status;
    (*group_p)->tag = w->tag;
    (*group_p)->group = w->key;
    (*group_p)->attempt = w->attempt;
    (*group_p)->parent = comm;
    return RCX_OK;
}

/* Keep the reason for rcx_comm_error() of comm, which stays usable after a
 * group of it failed. */
static void keep_reason(struct rcx_comm *comm, const struct rcx_comm *group)
{
    int ranks[RCX_RANKS_LISTED], n = 0;

    if (rcx_comm_is_failed(comm) || !group->why)
        return;
    for (int i = 0; i < group->why->rank_count && n < RCX_RANKS_LISTED; i++)
        ranks[n++] = rcx_comm_index(comm, group->ranks[group->why->ranks[i]]);
    rcx_comm_set_reason(comm, ranks, n, group->why->text);
}

static uint32_t next_attempt(const struct wanted *w)
{
    return rcx_attempts_next(&w->comm->context->comms.attempts, w->tag, w->key);
}

/* This rank does not make the group, so it fails on members that wait for this
 * rank or come later. They are told by messages, which take no memory. Not if
 * the attempt has failed and all know. */
static void refuse_group(const struct wanted *w, rcx_status_t refusal)
{
    struct rcx_context *context = w->comm->context;

    if (next_attempt(w) != w->attempt ||
        !rcx_attempts_fail(&context->comms.attempts, &context->heap, w->tag,
                           w->key, w->attempt, RCX_OK))
        return;
    for (int i = 0; i < w->n; i++) {
        struct rcx_ctrl_msg body = {.kind = RCX_CTRL_FAILED,
                                    .comm_id = RCX_COMM_ID_GROUP,
                                    .status = (int8_t)refusal,
                                    .rank_count = 1,
                                    .tag = (int16_t)w->tag,
                                    .group = w->key,
                                    .value = w->attempt};

        while (w->ranks[body.ranks[0]] != w->comm->rank)
            body.ranks[0]++;
        if (w->ranks[i] != w->comm->rank)
            rcx_ctrl_reply(context, rcx_comm_context_rank(w->comm, w->ranks[i]),
                           &body);
    }
}

static rcx_status_t agree_in_group(const struct wanted *w, uint32_t *id_p,
                                   uint32_t *group_p)
{
    struct rcx_context *context = w->comm->context;
    struct rcx_comm *group = NULL, *second = NULL;
    struct rcx_cid_alloc b;
    rcx_status_t status = rcx_cid_alloc_open(context, 0, &b);

    if (status != RCX_OK)
        return status;
    status = open_group(w, RCX_COMM_ID_GROUP, &group);
    if (status == RCX_OK)
        status = open_group(w, RCX_COMM_ID_SETTLE, &second);
    if (status == RCX_OK)
        status = rcx_cid_alloc_run(group, second, &b, id_p);
    if (group && rcx_comm_is_failed(group))
        keep_reason(w->comm, group);
    else if (second && rcx_comm_is_failed(second))
        keep_reason(w->comm, second);
    *group_p = b.group;
    rcx_comm_close_or_keep(second);
    rcx_comm_close_or_keep(group);
    rcx_cid_alloc_close(context, &b);
    return status;
}

static bool shares_another(const struct rcx_comm *group, const struct wanted *w)
{
    for (int i = 0; i < w->n; i++)
        if (w->ranks[i] != w->comm->rank &&
            rcx_comm_index(group,
                           rcx_comm_context_rank(w->comm, w->ranks[i])) >= 0)
            return true;
    return false;
}

static bool is_equal(const struct rcx_comm *group, const struct wanted *w)
{
    bool equal = group->size == w->n;

    for (int i = 0; i < w->n && equal; i++)
        equal = group->ranks[i] == rcx_comm_context_rank(w->comm, w->ranks[i]);
    return equal;
}

/* A group that another thread is making under the same tag, with a common
 * member; or NULL. */
static const struct rcx_comm *rival_of(const struct wanted *w)
{
    const struct rcx_comm *c = w->comm->context->comms.first;

    while (c && (c->id != RCX_COMM_ID_GROUP || c->tag != w->tag ||
                 rcx_comm_is_failed(c) || !shares_another(c, w)))
        c = c->next;
    return c;
}

/*
 * Threads may make equal groups under one tag concurrently: these are made one
 * after the other, in any order, as they cannot be told apart. Other groups
 * with a common member could deadlock on two ranks and are rejected.
 */
static rcx_status_t await_rivals(const struct wanted *w)
{
    struct rcx_context *context = w->comm->context;
    const struct rcx_comm *rival;

    while ((rival = rival_of(w))) {
        if (!is_equal(rival, w))
            return rcx_fail(&context->log, RCX_ERR_BUSY,
                            "rcx_comm_create_group: tag=%d: another thread is "
                            "creating a different group with this tag and "
                            "common members; use another tag",
                            w->tag);
        if (rcx_context_progress(context) == 0)
            rcx_guard_pass(context->guard);
    }
    return RCX_OK;
}

/* Another member's matching call has failed before. */
static rcx_status_t take_owed(const struct wanted *w)
{
    struct rcx_context *context = w->comm->context;
    const rcx_status_t owed =
        rcx_attempts_take(&context->comms.attempts, w->tag, w->key);

    return owed == RCX_OK
               ? RCX_OK
               : rcx_fail(&context->log, owed,
                          "rcx_comm_create_group: tag=%d: another member could "
                          "not create the group: %s",
                          w->tag, rcx_status_string(owed));
}

static rcx_status_t make_group(const struct wanted *w, struct rcx_comm **new_p)
{
    uint32_t id, group;
    rcx_status_t status = !rcx_comm_is_failed(w->comm)
                              ? agree_in_group(w, &id, &group)
                              : rcx_comm_refuse(w->comm);

    if (status != RCX_OK)
        return status;
    status = rcx_comm_make(w->comm, id, group, w->ranks, w->n, new_p);
    if (status != RCX_OK)
        rcx_comm_id_put(&w->comm->context->comms.ids, id);
    return status;
}

rcx_status_t rcx_comm_make_group(struct rcx_comm *comm, int n,
                                 const int ranks[], int tag,
                                 struct rcx_comm **new_p)
{
    struct wanted w = {.comm = comm, .ranks = ranks, .n = n, .tag = tag};
    rcx_status_t status;

    if (!are_members(comm, n, ranks))
        return reject_ranks(comm);
    w.key = key_of(comm, n, ranks);
    rcx_context_drain(comm->context); /* reports of earlier attempts */
    status = take_owed(&w);
    if (status != RCX_OK)
        return status;
    w.attempt = next_attempt(&w);
    status = check_none_twice(comm, n, ranks);
    if (status == RCX_ERR_ARG)
        return status;
    if (status == RCX_OK)
        status = await_rivals(&w);
    w.attempt = next_attempt(&w);
    if (status == RCX_OK)
        status = make_group(&w, new_p);
    if (status != RCX_OK)
        refuse_group(&w, status);
    return status;
}
