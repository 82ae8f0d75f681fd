/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agreement on failures, and communicators of the members that live.
 *
 * A shrink is one agreement and one barrier. The words of the agreement are the
 * ids that are free on each member, so that it decides on the failed members
 * and on an id at once. Members that take part do not send in the old
 * communicator any more, so its id may be used again once no member can ask for
 * the decision. The barrier of the new communicator shows that.
 */
#include "core/run/comm/recover.h"

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/run/comm/cid_alloc.h"
#include "core/run/comm/comm_close.h"
#include "core/run/comm/comm_make.h"
#include "core/run/comm/internal.h"
#include "core/run/diag/describe.h"
#include "core/run/fault/agreement.h"
#include "core/run/fault/failure.h"
#include "core/run/wait/progress.h"

/* More than a rank sends to one that does not receive. */
enum { DRAINS = 64 };

/* The last bit of a word, behind the ids: comm has failed on this rank. */
#define HAS_FAILED (UINT64_C(1) << 63)

/* Once a process is seen to have ended, read what it had sent before. */
static void read_all(struct rcx_comm *comm)
{
    if (!rcx_agreement_must_read(comm))
        return;
    for (int i = 0; i < DRAINS && rcx_context_drain(comm->context) > 0; i++)
        continue;
    rcx_agreement_has_read(comm);
}

static bool is_over(void *arg)
{
    read_all(arg);
    return rcx_agreement_is_over(arg);
}

rcx_status_t rcx_comm_run_agreement(struct rcx_comm *comm, uint64_t *word_p,
                                    int64_t timeout_ns)
{
    struct rcx_context *context = comm->context;
    rcx_status_t status;

    rcx_context_drain(context); /* reports of failures */
    rcx_agreement_look(comm);
    read_all(comm);
    status = rcx_agreement_begin(comm, *word_p, timeout_ns);
    if (status != RCX_OK)
        return status;
    if (context->transport)
        rcx_context_wait(context, UINT64_MAX, is_over, comm);
    context->is_told = true;
    return rcx_agreement_end(comm, word_p);
}

/* ---- The id -------------------------------------------------------------- */

/* What is left of a timeout that began at begin_ns; 0 is none. */
static int64_t time_left(uint64_t begin_ns, int64_t timeout_ns)
{
    const int64_t left = timeout_ns - (int64_t)(rcx_now_ns() - begin_ns);

    return timeout_ns == 0 ? 0 : left > 0 ? left : 1;
}

/* One agreement: *id_p is 0 if no id of this window is free on all members.
 * Offered ids are reserved meanwhile, as other threads may make
 * communicators. */
static rcx_status_t agree_on_id(struct rcx_comm *comm,
                                struct rcx_id_offer *offer, int64_t timeout_ns,
                                uint32_t *id_p, bool *all_failed_p)
{
    struct rcx_comm_ids *ids = &comm->context->comms.ids;
    rcx_status_t status;
    uint64_t word;

    if (offer->ids == 0) { /* else an earlier call has timed out */
        offer->ids = rcx_comm_ids_offer(ids, offer->window);
        rcx_comm_ids_set(ids, offer->ids, offer->window, true);
    }
    word = offer->ids | (rcx_comm_is_failed(comm) ? HAS_FAILED : 0);
    status = rcx_comm_run_agreement(comm, &word, timeout_ns);
    if (status == RCX_ERR_TIMEOUT)
        return status;
    rcx_comm_ids_set(ids, offer->ids, offer->window, false);
    offer->ids = 0;
    *id_p = rcx_comm_ids_lowest(word & ~HAS_FAILED, offer->window);
    *all_failed_p = word & HAS_FAILED;
    return status;
}

static rcx_status_t find_id(struct rcx_comm *comm, int64_t timeout_ns,
                            uint32_t *id_p, bool *all_failed_p)
{
    struct rcx_context *context = comm->context;
    struct rcx_id_offer *offer = rcx_agreement_offer(comm);
    const uint32_t windows = rcx_comm_ids_windows(&context->comms.ids);
    const uint64_t begin_ns = rcx_now_ns();
    rcx_status_t status = RCX_OK;

    if (!offer)
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "rcx_comm_shrink: no memory for an agreement");
    *id_p = 0;
    for (; status == RCX_OK && *id_p == 0 && offer->window < windows;
         offer->window += *id_p == 0)
        status = agree_on_id(comm, offer, time_left(begin_ns, timeout_ns), id_p,
                             all_failed_p);
    if (status == RCX_ERR_TIMEOUT)
        return status;
    offer->window = 0;
    if (status != RCX_OK || *id_p)
        return status;
    return rcx_fail(&context->log, RCX_ERR_LIMIT,
                    "rcx_comm_shrink: no communicator id is free on all "
                    "members");
}

/* ---- The communicator ---------------------------------------------------- */

static int *living_of(const struct rcx_comm *comm, int *n_p)
{
    const int *failed;
    const int failed_count = rcx_agreement_failed(comm, &failed);
    int *ranks = rcx_heap_alloc(&comm->context->heap,
                                (size_t)comm->size * sizeof *ranks);
    int n = 0;

    for (int i = 0, f = 0; ranks && i < comm->size; i++) {
        if (f < failed_count && failed[f] == i)
            f++;
        else
            ranks[n++] = i;
    }
    *n_p = n;
    return ranks;
}

/* A member may have failed since the agreement. */
static void fail_for_known(struct rcx_comm *comm)
{
    char name[RCX_COMM_TEXT];

    for (int i = 0; i < comm->size && !rcx_comm_is_failed(comm); i++)
        if (rcx_peer_is_gone(comm->context, rcx_comm_context_rank(comm, i)))
            rcx_comm_fail(comm, RCX_ERR_PEER_FAILED, &i, 1,
                          "%s: rank %d has failed since the agreement",
                          rcx_comm_print(comm, name), i);
}

/* The same on all members: see struct rcx_comm. */
static uint32_t group_of(const struct rcx_comm *comm)
{
    return (uint32_t)rcx_hash(comm->group, rcx_agreement_count(comm)) | 1;
}

static rcx_status_t make_living(struct rcx_comm *comm, uint32_t id,
                                struct rcx_comm **new_p)
{
    struct rcx_context *context = comm->context;
    int n, *living = living_of(comm, &n);
    rcx_status_t status = RCX_ERR_NOMEM;

    rcx_comm_id_get(&context->comms.ids, id);
    if (living)
        status = rcx_comm_make(comm, id, group_of(comm), living, n, new_p);
    rcx_heap_free(&context->heap, living);
    if (status == RCX_OK) {
        rcx_comm_attend(*new_p);
        fail_for_known(*new_p);
        return RCX_OK;
    }
    rcx_comm_id_put(&context->comms.ids, id);
    rcx_cid_announce_not_made(comm, id, group_of(comm), status);
    return rcx_fail(&context->log, status,
                    "rcx_comm_shrink: no memory for a communicator");
}

static bool is_replaced_by(const struct rcx_comm *c,
                           const struct rcx_comm *comm)
{
    return c->replacement_id != 0 && c->replacement_id == comm->id &&
           c->replacement_group == comm->group;
}

/* All members that are not dead have the last decision of comm. They have that
 * of a communicator that it replaces, too: they had it before they made comm.
 */
static void settle_all(struct rcx_comm *comm)
{
    rcx_agreement_settle(comm);
    comm->is_replaced = comm->replacement_id != 0;
    for (struct rcx_comm *c = comm->context->comms.first; c; c = c->next)
        if (comm->is_replaced && is_replaced_by(c, comm) && !c->is_replaced)
            settle_all(c);
}

/* All members of made have the decision once its barrier is over: a member may
 * have learned it in another way than this one, and cannot know. A failure of
 * the barrier is one of made, and is reported by its next operation; then the
 * barrier of what replaces made shows it. */
static void settle(struct rcx_comm *comm, struct rcx_comm *made,
                   int64_t timeout_ns, bool all_failed)
{
    const int64_t usual_ns = made->timeout_ns;
    rcx_status_t status = RCX_OK;

    rcx_comm_drop_unexpected(comm);
    made->timeout_ns = timeout_ns;
    if (made->size > 1)
        status = rcx_internal_barrier(made);
    made->timeout_ns = usual_ns;
    if (all_failed && rcx_agreement_all_are_dead(comm)) {
        comm->replacement_id = made->id;
        comm->replacement_group = made->group;
    }
    if (status == RCX_OK)
        settle_all(comm);
}

rcx_status_t rcx_comm_run_shrink(struct rcx_comm *comm, int64_t timeout_ns,
                                 struct rcx_comm **new_p)
{
    const uint64_t begin_ns = rcx_now_ns();
    bool all_failed = false;
    uint32_t id;
    rcx_status_t status = find_id(comm, timeout_ns, &id, &all_failed);

    if (status == RCX_OK)
        status = make_living(comm, id, new_p);
    comm->context->has_shrunk |= status == RCX_OK;
    if (status == RCX_OK)
        settle(comm, *new_p, time_left(begin_ns, timeout_ns), all_failed);
    return status;
}
