/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups: communicators that only their members make. They agree in a hidden
 * communicator, which exists as long as the request.
 */
#include "core/run/comm/comm_make.h"

#include <string.h>

#include "core/base/hash.h"
#include "core/run/comm/comm_close.h"
#include "core/run/comm/creation.h"
#include "core/run/fault/ctrl_msg.h"
#include "core/run/fault/failure.h"
#include "core/run/object/context.h"
#include "core/run/wait/progress.h"

/* ---- Arguments ----------------------------------------------------------- */

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

static uint32_t key_of(const struct rcx_comm *comm, int n, const int ranks[])
{
    uint64_t hash = rcx_hash((uint64_t)n, comm->id);

    for (int i = 0; i < n; i++)
        hash = rcx_hash(hash, (uint64_t)rcx_comm_context_rank(comm, ranks[i]));
    return (uint32_t)(hash >> 32) | 1;
}

/* ---- Members that fail --------------------------------------------------- */

/* Keep the reason for rcx_comm_error() of comm, which stays usable after a
 * group of it failed. */
static void keep_reason(struct rcx_comm *comm, const struct rcx_comm *group)
{
    int ranks[RCX_RANKS_LISTED], n = 0;

    if (rcx_comm_is_failed(comm) || !group->why)
        return;
    for (int i = 0; i < group->why->rank_count && n < RCX_RANKS_LISTED; i++)
        ranks[n++] = rcx_comm_index(
            comm, rcx_comm_context_rank(group, group->why->ranks[i]));
    rcx_comm_set_reason(comm, ranks, n, group->why->text);
}

static uint32_t next_attempt(const struct rcx_group_call *w)
{
    return rcx_attempts_next(&w->comm->context->comms.attempts, w->tag, w->key);
}

/* This rank does not make the group, so it fails on members that wait for this
 * rank or come later. They are told by messages, which take no memory. Not if
 * the attempt has failed and all know. */
static void refuse_group(const struct rcx_group_call *w, rcx_status_t refusal)
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

/* Another member's matching call has failed before. */
static rcx_status_t take_owed(const struct rcx_group_call *w)
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

/* ---- Groups of other calls ----------------------------------------------- */

static bool shares_another(const struct rcx_comm *group,
                           const struct rcx_group_call *w)
{
    for (int i = 0; i < w->n; i++)
        if (w->ranks[i] != w->comm->rank &&
            rcx_comm_index(group,
                           rcx_comm_context_rank(w->comm, w->ranks[i])) >= 0)
            return true;
    return false;
}

static bool is_equal(const struct rcx_comm *group,
                     const struct rcx_group_call *w)
{
    bool equal = group->size == w->n;

    for (int i = 0; i < w->n && equal; i++)
        equal = rcx_comm_context_rank(group, i) ==
                rcx_comm_context_rank(w->comm, w->ranks[i]);
    return equal;
}

/* A group that another thread is making under the same tag, with a common
 * member; or NULL. */
static const struct rcx_comm *rival_of(const struct rcx_group_call *w)
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
static rcx_status_t await_rivals(const struct rcx_group_call *w)
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

/* These two cannot be told apart, and the caller does not wait. */
static rcx_status_t check_none_equal(const struct rcx_group_call *w)
{
    const struct rcx_comm *rival = rival_of(w);

    if (!rival || !is_equal(rival, w))
        return RCX_OK;
    return rcx_fail(&w->comm->context->log, RCX_ERR_BUSY,
                    "rcx_comm_icreate_group: tag=%d: an equal group with this "
                    "tag is being created; wait for it first, or use another "
                    "tag",
                    w->tag);
}

/* ---- Creation ------------------------------------------------------------ */

static rcx_status_t make(const struct rcx_making *m, struct rcx_comm *hidden)
{
    const struct rcx_group_call *w = &m->group;

    (void)hidden;
    return rcx_comm_make(w->comm, m->ids.id, m->ids.group, w->ranks, w->n,
                         m->new_p);
}

/* From here on the hidden communicator is not found for this group, and no
 * failure concerns it. */
static void end(const struct rcx_making *m, struct rcx_comm *hidden,
                rcx_status_t status)
{
    if (rcx_comm_is_failed(hidden))
        keep_reason(m->group.comm, hidden);
    else
        rcx_comm_set_freed(hidden);
    if (status != RCX_OK)
        refuse_group(&m->group, status);
    hidden->parent = NULL;
    hidden->tag = -1;
}

/* All groups in the making share the id. */
static rcx_status_t open_hidden(const struct rcx_group_call *w,
                                struct rcx_comm **hidden_p)
{
    struct rcx_comm *comm = w->comm;
    const rcx_status_t status =
        rcx_comm_derive(comm, RCX_COMM_ID_GROUP, w->ranks, w->n, hidden_p);

    if (status != RCX_OK)
        return status;
    (*hidden_p)->tag = w->tag;
    rcx_comm_set_group(*hidden_p, w->key, w->attempt);
    (*hidden_p)->parent = comm;
    (*hidden_p)->is_freed = true; /* it is closed with the request */
    return RCX_OK;
}

static struct rcx_making *open_making(const struct rcx_group_call *w,
                                      struct rcx_comm **new_p)
{
    struct rcx_context *context = w->comm->context;
    const size_t bytes = (size_t)w->n * sizeof *w->ranks;
    struct rcx_making *m = rcx_making_open(context, 0);
    int *ranks = m ? rcx_heap_alloc(&context->heap, bytes) : NULL;

    if (m && !ranks) {
        rcx_log_line(&context->log, RCX_LOG_ERROR,
                     "no memory to make a group of %d ranks", w->n);
        rcx_making_close(context, m);
    }
    if (!ranks)
        return NULL;
    memcpy(ranks, w->ranks, bytes);
    m->group = *w;
    m->group.ranks = ranks;
    m->new_p = new_p;
    m->make = make;
    m->end = end;
    return m;
}

static rcx_status_t start(const struct rcx_group_call *w, bool blocks,
                          struct rcx_comm **new_p,
                          struct rcx_request **request_p)
{
    struct rcx_comm *hidden;
    struct rcx_making *m;
    rcx_status_t status;

    if (rcx_comm_is_failed(w->comm))
        return rcx_comm_refuse(w->comm);
    m = open_making(w, new_p);
    if (!m)
        return RCX_ERR_NOMEM;
    status = open_hidden(w, &hidden);
    if (status != RCX_OK) {
        rcx_making_close(w->comm->context, m);
        return status;
    }
    status = rcx_making_start(m, hidden, blocks, request_p);
    if (status != RCX_OK)
        rcx_comm_close_or_keep(hidden);
    return status;
}

rcx_status_t rcx_comm_start_group(struct rcx_comm *comm, int n,
                                  const int ranks[], int tag, bool blocks,
                                  struct rcx_comm **new_p,
                                  struct rcx_request **request_p)
{
    struct rcx_group_call w = {
        .comm = comm, .ranks = ranks, .n = n, .tag = tag};
    rcx_status_t status;

    if (!are_members(comm, n, ranks))
        return reject_ranks(comm);
    w.key = key_of(comm, n, ranks);
    rcx_context_drain(comm->context); /* reports of earlier attempts */
    status = blocks ? RCX_OK : check_none_equal(&w);
    if (status == RCX_OK)
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
        status = start(&w, blocks, new_p, request_p);
    if (status != RCX_OK)
        refuse_group(&w, status);
    return status;
}
