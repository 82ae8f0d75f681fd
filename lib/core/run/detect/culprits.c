/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ranks an overdue or differing operation fails for, by the answers to a
 * straggler query. See culprits.h for the rule.
 */
#include "core/run/detect/culprits.h"

#include <stdarg.h>

#include "core/run/diag/describe.h"
#include "core/run/fault/failure.h"
#include "core/run/request/p2p.h"
#include "core/run/request/request.h"

/* A member is named if it did not run for STALL_LEAST_MS, and a share of the
 * deadline, longer than another one. A stall of half of the deadline explains
 * the timeout. One of a quarter of it counts only if nothing else does: on a
 * busy machine it may be the lack of a core. */
enum {
    STALL_LEAST_MS = 150,
    STALL_HALF = 2,
    STALL_QUARTER = 4,
    NS_PER_MS = 1000 * 1000
};

/* ---- A deadline ---------------------------------------------------------- */

struct verdict {
    char text[RCX_REASON_TEXT];
    size_t used;
    int n;
    int *ranks;
};

__attribute__((format(printf, 2, 3))) static void
add_text(struct verdict *verdict, const char *format, ...)
{
    va_list args;

    if (verdict->used >= sizeof verdict->text)
        return;
    va_start(args, format);
    verdict->used +=
        (size_t)vsnprintf(verdict->text + verdict->used,
                          sizeof verdict->text - verdict->used, format, args);
    va_end(args);
}

static void blame(struct verdict *verdict, const struct rcx_comm *comm,
                  int rank, const char *why)
{
    char text[RCX_RANK_TEXT];

    add_text(verdict, "%s rank %s %s", verdict->used ? "," : "",
             rcx_rank_print(comm, rank, text), why);
    verdict->ranks[verdict->n++] = rank;
}

static const char *why_not_entered(const struct rcx_p2p_call *call, int rank)
{
    return !call                ? "has not called it"
           : rank != call->peer ? "has not called what other ranks wait for"
           : call->sends        ? "has not received it"
                                : "has not sent it";
}

/* A rank that finalizes after the failure of another rank does not answer. */
static bool may_have_left(const struct rcx_comm *comm, int i)
{
    const struct rcx_context *context = comm->context;
    const struct rcx_comm *internal = context->internal;
    const int rank = rcx_comm_context_rank(comm, i);

    return comm->query->members[i].answer == NO_ANSWER &&
           (rcx_peer_of(context, rank).state == RCX_PEER_DEPARTED ||
            (rcx_comm_is_failed(internal) &&
             !rcx_comm_has_failed_for(internal, rank)));
}

/* Name members that do not answer or have not called the operation. call: the
 * message that is overdue, for which only members count that are reached; or
 * NULL. left: name those that may have left, and no others. */
static void name_missing(const struct rcx_comm *comm,
                         const struct rcx_p2p_call *call, bool left,
                         struct verdict *verdict)
{
    for (int i = 0; i < comm->size; i++) {
        const struct rcx_straggler_member *m = &comm->query->members[i];

        if ((call && !m->is_reached) || left != may_have_left(comm, i))
            continue;
        if (left)
            blame(verdict, comm, i, "does not answer and may have finalized");
        else if (m->answer == NO_ANSWER)
            blame(verdict, comm, i, "does not answer");
        else if (m->answer == NOT_ENTERED)
            blame(verdict, comm, i, why_not_entered(call, i));
    }
}

/* A member that may have left is named only if no other one is missing. */
static void find_missing(const struct rcx_comm *comm,
                         const struct rcx_p2p_call *call,
                         struct verdict *verdict)
{
    name_missing(comm, call, false, verdict);
    if (verdict->n == 0)
        name_missing(comm, call, true, verdict);
}

/* Whether member m has called the operation, or the message waits for it. */
static bool has_entered(const struct rcx_straggler_member *m)
{
    return m->answer == ENTERED || m->is_reached;
}

/* Name members that have called the operation and then did not run for this
 * part of the deadline. */
static void find_stalled(const struct rcx_request *r, int part,
                         struct verdict *verdict)
{
    const struct rcx_comm *comm = r->comm;
    const struct rcx_straggler_member *members = comm->query->members;
    const uint64_t share = (uint64_t)r->timeout_ns / NS_PER_MS / (uint64_t)part;
    uint64_t least = members[comm->rank].stalled_ms;
    char why[48];

    for (int i = 0; i < comm->size; i++)
        if (has_entered(&members[i]) && members[i].stalled_ms < least)
            least = members[i].stalled_ms;
    least += share > STALL_LEAST_MS ? share : STALL_LEAST_MS;
    for (int i = 0; i < comm->size; i++) {
        if (!has_entered(&members[i]) || members[i].stalled_ms <= least)
            continue;
        snprintf(why, sizeof why, "did not run for %.3g s",
                 (double)members[i].stalled_ms / 1e3);
        blame(verdict, comm, i, why);
    }
}

/* Whether all ranks that member m waits for have called the operation. */
static bool waits_for_present(const struct rcx_comm *comm,
                              const struct rcx_straggler_member *m)
{
    for (int i = 0; i < m->waits; i++) {
        const int rank = rcx_comm_index(comm, m->waits_for[i]);

        if (rank < 0 || comm->query->members[rank].answer != ENTERED)
            return false;
    }
    return m->waits > 0;
}

/* If most members have called the operation, those that wait in another
 * communicator for these members have left out this call. */
static void find_different(const struct rcx_comm *comm, struct verdict *verdict)
{
    const struct rcx_straggler_member *members = comm->query->members;
    int asked = 0, present = 0;

    for (int i = 0; i < comm->size; i++) {
        asked += members[i].answer != NOT_ASKED;
        present += members[i].answer == ENTERED;
    }
    for (int i = 0; i < comm->size && 2 * present > asked; i++)
        if (members[i].answer == ELSEWHERE &&
            waits_for_present(comm, &members[i]))
            blame(verdict, comm, i,
                  "has not called it, and waits in another communicator");
}

/* No rank can be named: describe what members wait for. */
static void describe_waiting(const struct rcx_request *r,
                             struct verdict *verdict)
{
    const struct rcx_comm *comm = r->comm;
    int ranks[RCX_RANKS_LISTED];
    int n = 0;

    for (int i = 0; i < comm->size; i++) {
        const struct rcx_straggler_member *m = &comm->query->members[i];

        if (m->answer != ELSEWHERE)
            continue;
        add_text(verdict, "%s rank %d waits in another communicator",
                 verdict->used ? "," : "", i);
        if (m->waits > 0)
            add_text(verdict, " for rank %d of the world", m->waits_for[0]);
        n++;
    }
    if (n > 0)
        return;
    add_text(verdict, rcx_ctrl_is_small(comm)
                          ? " all ranks have called it"
                          : " the ranks that it waits for have called it");
    n = rcx_request_peers(r, ranks, RCX_RANKS_LISTED);
    for (int i = 0; i < n; i++)
        add_text(verdict, "%s %d", i ? "," : "; messages are pending with rank",
                 ranks[i]);
}

static void decide_overdue(const struct rcx_request *r, struct verdict *verdict)
{
    const struct rcx_comm *comm = r->comm;

    find_missing(comm, NULL, verdict);
    if (verdict->n == 0)
        find_stalled(r, STALL_HALF, verdict);
    if (verdict->n == 0)
        find_different(comm, verdict);
    if (verdict->n == 0)
        find_stalled(r, STALL_QUARTER, verdict);
    if (verdict->n == 0)
        describe_waiting(r, verdict);
}

/* ---- The deadline of a message ------------------------------------------- */

/* Mark a member, the ranks that it waits for, the ranks that these wait for,
 * and so on. */
static void mark_reached(const struct rcx_comm *comm, int rank)
{
    struct rcx_straggler_member *members = comm->query->members;

    members[rank].is_reached = true;
    members[rank].next = -1;
    while (rank >= 0) {
        const struct rcx_straggler_member *m = &members[rank];

        rank = m->next;
        for (int i = 0; i < m->waits; i++) {
            const int next = rcx_comm_index(comm, m->waits_for[i]);

            if (next < 0 || members[next].is_reached)
                continue;
            members[next].is_reached = true;
            members[next].next = rank;
            rank = next;
        }
    }
}

/* The peer waits too, for ranks that cannot be named. */
static void describe_peer(const struct rcx_comm *comm, int peer,
                          struct verdict *verdict)
{
    const struct rcx_straggler_member *m = &comm->query->members[peer];

    add_text(verdict, " rank %d waits itself", peer);
    if (m->waits > 0)
        add_text(verdict, ", for rank %d of the world", m->waits_for[0]);
}

/* Any member may owe a message from any source. A member that does not answer
 * is named; one that answers may have none to send. */
static void decide_message(const struct rcx_request *r, struct verdict *verdict)
{
    const struct rcx_p2p_call *call = &rcx_p2p_of(r->program)->call;
    const struct rcx_comm *comm = r->comm;
    const bool is_known = call->peer != RCX_ANY_SOURCE;

    if (call->peer == comm->rank)
        comm->query->members[comm->rank].answer = NOT_ENTERED;
    for (int i = 0; i < comm->size; i++)
        if (is_known ? i == call->peer
                     : comm->query->members[i].answer == NO_ANSWER)
            mark_reached(comm, i);
    find_missing(comm, call, verdict);
    if (verdict->n == 0)
        find_stalled(r, STALL_QUARTER, verdict);
    if (verdict->n == 0 && is_known)
        describe_peer(comm, call->peer, verdict);
    else if (verdict->n == 0)
        add_text(verdict, " no rank has sent it");
}

/* ---- Calls that differ --------------------------------------------------- */

/* The call that most members make; of calls with equal counts, this rank's
 * own. */
static int find_majority(const struct rcx_comm *comm)
{
    const struct rcx_straggler_member *members = comm->query->members;
    int counts[INT8_MAX + 1] = {0}, best = members[comm->rank].call;

    for (int i = 0; i < comm->size; i++)
        if (members[i].answer == ENTERED && members[i].call >= 0)
            counts[members[i].call]++;
    for (int call = 0; call <= INT8_MAX; call++)
        if (counts[call] > (best < 0 ? 0 : counts[best]))
            best = call;
    return best;
}

static void decide_compared(const struct rcx_request *r,
                            struct verdict *verdict)
{
    const struct rcx_comm *comm = r->comm;
    const struct rcx_straggler_query *query = comm->query;
    const int usual = find_majority(comm);

    for (int i = 0; i < comm->size; i++)
        if (query->members[i].answer == ENTERED &&
            query->members[i].call >= 0 && query->members[i].call != usual)
            blame(verdict, comm, i, "made a different call");
    if (verdict->n == 0)
        blame(verdict, comm, query->differs, "made a different call");
}

/* ---- All of it ----------------------------------------------------------- */

void rcx_straggler_decide(const struct rcx_request *r, uint64_t age)
{
    struct rcx_comm *comm = r->comm;
    struct rcx_heap *heap = &comm->context->heap;
    const bool differs = comm->query->differs >= 0;
    struct verdict verdict = {
        .ranks = rcx_heap_alloc(heap, (size_t)comm->size * sizeof(int))};
    char call[RCX_CALL_TEXT], after[48] = "";

    if (verdict.ranks)
        (differs              ? decide_compared
         : r->program->is_p2p ? decide_message
                              : decide_overdue)(r, &verdict);
    if (!differs)
        snprintf(after, sizeof after,
                 " timed out after %.3g s:", (double)age / 1e9);
    rcx_comm_fail(comm, differs ? RCX_ERR_MISMATCH : RCX_ERR_TIMEOUT,
                  verdict.ranks, verdict.n, "%s:%s%s%s",
                  rcx_request_print(r, call), after, verdict.text,
                  differs ? " (RCX_CHECK=full shows the difference)" : "");
    rcx_heap_free(heap, verdict.ranks);
}
