/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Straggler query: asks all members of a communicator whether they have entered
 * an operation, answers such queries, and collects the answers. Which ranks an
 * error names is decided in culprits.c.
 */
#include "core/run/detect/straggler.h"

#include "core/run/detect/culprits.h"
#include "core/run/detect/detector.h"
#include "core/run/diag/describe.h"
#include "core/run/fault/failure.h"
#include "core/run/request/p2p.h"
#include "core/run/request/request.h"

/* If this rank did not run for STALL_NS during a query, it has GRACE_NS more to
 * read the answers. */
enum {
    STALL_NS = 200 * 1000 * 1000,
    GRACE_NS = 100 * 1000 * 1000,
    RELAY_LEAST_NS = 150 * 1000 * 1000
};
enum { NS_PER_MS = 1000 * 1000 };

/* ---- State of this rank -------------------------------------------------- */

/* Messages have no sequence number, as ranks need not have sent equally many. A
 * query about a message has this bit and the sender's own number. */
#define MESSAGE (UINT64_C(1) << 63)

static uint64_t key_of(const struct rcx_request *r)
{
    return r->program->is_p2p ? MESSAGE | rcx_request_number(r) : r->sequence;
}

/* The execution of a segment that is in flight, or NULL. */
static const struct rcx_exec *find_segment(const struct rcx_comm *comm,
                                           uint64_t sequence)
{
    for (const struct rcx_request *r = comm->first; r; r = r->next)
        for (unsigned i = 0; i < rcx_request_slots(r); i++)
            if (r->slots[i] && r->sequence + r->slots[i]->segment == sequence)
                return r->slots[i];
    return NULL;
}

static int fingerprint_of(const struct rcx_comm *comm, uint64_t sequence)
{
    const struct rcx_exec *x = find_segment(comm, sequence);

    return x ? (int)rcx_tag_low(x->tag_base >> x->layout.rank_bits,
                                x->layout.fingerprint_bits)
             : -1;
}

/* How many milliseconds of an interval this rank did not run. */
static uint32_t stalled_between_ms(const struct rcx_detector *w, uint64_t begin,
                                   uint64_t end)
{
    const uint64_t left = w->stall_end_ns - w->stall_ns;
    const uint64_t from = left > begin ? left : begin;
    const uint64_t until = w->stall_end_ns < end ? w->stall_end_ns : end;

    return until > from ? (uint32_t)((until - from) / NS_PER_MS) : 0;
}

/* The same since r began. */
static uint32_t stalled_ms(const struct rcx_comm *comm,
                           const struct rcx_request *r,
                           const struct rcx_instant *now)
{
    const uint64_t ns = rcx_time_at(&comm->context->time, now);

    return stalled_between_ms(&comm->context->detector,
                              ns - rcx_request_age(r, now), ns);
}

/* The same within the operation of this number, even if it has ended: a rank
 * that was stopped may receive all that it lacks at once. */
static uint32_t stalled_in_ms(const struct rcx_comm *comm, uint64_t sequence,
                              const struct rcx_instant *now)
{
    const struct rcx_time *time = &comm->context->time;
    const struct rcx_ended *e = &comm->ended;
    const uint64_t ns = rcx_time_at(time, now);

    if (sequence >= e->first && sequence < e->next)
        return stalled_between_ms(&comm->context->detector,
                                  ns - rcx_time_since(time, e->begin, now),
                                  ns - rcx_time_since(time, e->end, now));
    return comm->first ? stalled_ms(comm, comm->first, now) : 0;
}

/* ---- Query --------------------------------------------------------------- */

/* Longer than the grace that a rank asked in turn may take. */
static uint64_t time_to_relay(uint64_t answer_ns)
{
    const uint64_t share = answer_ns / 2;

    return share > RELAY_LEAST_NS ? share : RELAY_LEAST_NS;
}

static void ask_member(struct rcx_comm *comm, int rank)
{
    struct rcx_straggler_query *query = comm->query;
    struct rcx_ctrl_msg body = {.kind = RCX_CTRL_QUERY,
                                .sequence = query->sequence};

    if (rank < 0 || query->members[rank].answer != NOT_ASKED)
        return;
    query->members[rank].answer = NO_ANSWER;
    query->unanswered++;
    rcx_ctrl_send(comm, rank, &body);
}

static void ask_all(struct rcx_comm *comm)
{
    for (int i = 0; i < comm->size; i++)
        ask_member(comm, i);
}

/* Ask the ranks that r waits for. If calls differ, or r waits for no message,
 * the neighbours are a sample. */
static void ask_some(const struct rcx_request *r, int differs)
{
    int ranks[RCX_NEIGHBOURS_MOST], n = 0;

    if (differs < 0)
        n = rcx_request_peers(r, ranks, RCX_NEIGHBOURS_MOST);
    if (n == 0)
        n = rcx_ctrl_neighbours(r->comm, ranks);
    for (int i = 0; i < n; i++)
        ask_member(r->comm, ranks[i]);
    ask_member(r->comm, differs);
}

static bool is_of_any_source(const struct rcx_request *r)
{
    return r->program->is_p2p &&
           rcx_p2p_of(r->program)->call.peer == RCX_ANY_SOURCE;
}

/* False: no memory. */
static bool ask(const struct rcx_request *r, uint64_t sequence, int differs,
                const struct rcx_instant *now)
{
    struct rcx_comm *comm = r->comm;
    const uint64_t ns = rcx_time_at(&comm->context->time, now);
    const uint64_t answer_ns = rcx_answer_ns(r->timeout_ns);
    const size_t size = (size_t)comm->size;
    struct rcx_straggler_query *query = rcx_heap_zalloc(
        &comm->context->heap, sizeof *query + size * sizeof *query->members);

    if (!query)
        return false;
    *query = (struct rcx_straggler_query){
        .request = key_of(r),
        .sequence = sequence,
        .differs = differs,
        .until = ns + answer_ns,
        .relayed_until = ns + answer_ns + time_to_relay(answer_ns),
        .seen = ns};
    query->members[comm->rank] = (struct rcx_straggler_member){
        .answer = ENTERED,
        .call = (int8_t)fingerprint_of(comm, sequence),
        .stalled_ms = stalled_ms(comm, r, now)};
    comm->query = query;
    if (rcx_ctrl_is_small(comm) || is_of_any_source(r))
        ask_all(comm);
    else
        ask_some(r, differs);
    return true;
}

/* ---- Answers ------------------------------------------------------------- */

/* Another communicator in which this rank waits, or NULL. A rank in the barrier
 * of rcx_finalize() does not count as waiting unless something has failed. */
static const struct rcx_comm *find_waiting(const struct rcx_context *context)
{
    const struct rcx_comm *c = context->comms.first;

    while (c && (rcx_comm_is_failed(c) ||
                 (c == context->internal && !context->broken) ||
                 (!c->first && !rcx_comm_awaited_message(c))))
        c = c->next;
    return c;
}

static void describe_elsewhere(const struct rcx_comm *comm,
                               struct rcx_ctrl_msg *answer)
{
    const struct rcx_request *r =
        comm->first ? comm->first : rcx_comm_awaited_message(comm);
    const struct rcx_instant now = rcx_instant_now();
    int ranks[RCX_RANKS_LISTED];
    const int n = rcx_request_peers(r, ranks, RCX_RANKS_LISTED);

    answer->kind = RCX_CTRL_ELSEWHERE;
    answer->value = stalled_ms(comm, r, &now);
    answer->rank_count = (int8_t)n;
    for (int i = 0; i < n; i++)
        answer->ranks[i] = rcx_comm_context_rank(comm, ranks[i]);
}

/* Whether this rank had called the operation when it freed the communicator. If
 * the communicator is in no list any more, it had called all operations. */
static bool has_called(const struct rcx_context *context,
                       const struct rcx_ctrl_msg *asked)
{
    const struct rcx_comm *c = context->comms.free;

    while (c && c->id != asked->comm_id)
        c = c->next;
    return !(asked->sequence & MESSAGE) &&
           (!c || c->window.next > asked->sequence);
}

/* If this rank waits in a large communicator, it asks the ranks that it waits
 * for, although its own deadline may not have passed. */
static void ask_in_turn(struct rcx_comm *comm, const struct rcx_instant *now)
{
    const struct rcx_request *r =
        comm->first ? comm->first : rcx_comm_awaited_message(comm);

    if (r && !comm->query && !rcx_ctrl_is_small(comm))
        ask(r, key_of(r), -1, now);
}

/* This rank has entered an operation if its number is below the next one to
 * use, or if this rank waits in an earlier operation or message. A query about
 * a message is answered with what this rank waits for. */
void rcx_straggler_answer(struct rcx_context *context, struct rcx_comm *comm,
                          const struct rcx_ctrl_msg *asked)
{
    const struct rcx_instant now = rcx_instant_now();
    const struct rcx_comm *other = find_waiting(context);
    struct rcx_ctrl_msg answer = {.kind = RCX_CTRL_NOT_ENTERED,
                                  .comm_id = asked->comm_id,
                                  .tag = asked->tag,
                                  .group = asked->group,
                                  .sequence = asked->sequence};

    if (comm && rcx_comm_is_failed(comm)) /* the failure has been announced */
        return;
    rcx_detector_note_stall(&context->detector,
                            rcx_time_at(&context->time, &now));
    if (comm && !(asked->sequence & MESSAGE) &&
        (comm->window.next > asked->sequence || comm->first ||
         rcx_comm_awaited_message(comm))) {
        answer.kind = RCX_CTRL_ENTERED;
        answer.rank_count = 1;
        answer.ranks[0] = fingerprint_of(comm, asked->sequence);
        answer.value = stalled_in_ms(comm, asked->sequence, &now);
    } else if (other) {
        describe_elsewhere(other, &answer);
    } else if (!comm && has_called(context, asked)) {
        answer.kind = RCX_CTRL_ENTERED;
        answer.rank_count = 1;
        answer.ranks[0] = -1;
    }
    rcx_ctrl_reply(context, asked->from, &answer);
    if (answer.kind == RCX_CTRL_ENTERED && comm)
        ask_in_turn(comm, &now);
}

void rcx_straggler_record(struct rcx_comm *comm,
                          const struct rcx_ctrl_msg *body)
{
    struct rcx_straggler_query *query = comm->query;
    const int rank = rcx_comm_index(comm, body->from);
    struct rcx_straggler_member *m;

    if (!query || query->sequence != body->sequence || rank < 0 ||
        query->members[rank].answer != NO_ANSWER)
        return; /* not about this query, or answered before */
    m = &query->members[rank];
    m->answer = body->kind == RCX_CTRL_ENTERED     ? ENTERED
                : body->kind == RCX_CTRL_ELSEWHERE ? ELSEWHERE
                                                   : NOT_ENTERED;
    m->call = m->answer == ENTERED ? (int8_t)body->ranks[0] : -1;
    m->stalled_ms = body->value;
    for (int i = 0;
         m->answer == ELSEWHERE && i < body->rank_count && i < RCX_RANKS_LISTED;
         i++)
        m->waits_for[m->waits++] = body->ranks[i];
    query->unanswered--;
    query->not_entered += m->answer == NOT_ENTERED;
    for (int i = 0; i < m->waits && query->request & MESSAGE; i++)
        ask_member(comm, rcx_comm_index(comm, m->waits_for[i]));
}

/* ---- Calls that differ --------------------------------------------------- */

void rcx_straggler_compare_calls(const struct rcx_request *r, uint64_t sequence,
                                 int rank)
{
    const struct rcx_instant now = rcx_instant_now();
    char call[RCX_CALL_TEXT];

    if (!r->comm->query && !ask(r, sequence, rank, &now))
        rcx_comm_fail(r->comm, RCX_ERR_MISMATCH, &rank, rank >= 0,
                      "%s: rank %d made a different call",
                      rcx_request_print(r, call), rank);
}

void rcx_straggler_free(struct rcx_comm *comm)
{
    rcx_heap_free(&comm->context->heap, comm->query);
    comm->query = NULL;
}

/* ---- Check --------------------------------------------------------------- */

/* If the host did not run, none of its ranks did. Answers have arrived by then,
 * and this rank has not read them yet. A rank that has asked the missing one
 * waits for GRACE_NS, and its announcement must not come too late. */
static void give_grace(struct rcx_straggler_query *query, uint64_t ns)
{
    const bool was_stalled = ns - query->seen > STALL_NS;

    query->seen_before = query->seen;
    query->seen = ns;
    if (!was_stalled || query->has_grace)
        return;
    query->has_grace = true;
    if (query->until >= ns + GRACE_NS)
        return;
    query->relayed_until += ns + GRACE_NS - query->until;
    query->until = ns + GRACE_NS;
}

/* Whether the query is over. If the ranks that a collective of a large
 * communicator waits for wait themselves, some other rank announces which ranks
 * are missing. This rank looks twice after that time, so that it reads an
 * announcement that has arrived while it did not run. */
static bool is_decidable(const struct rcx_comm *comm, uint64_t ns)
{
    const struct rcx_straggler_query *query = comm->query;
    const bool is_late = query->seen_before >= query->relayed_until &&
                         ns >= query->relayed_until;

    if (query->unanswered > 0 && ns < query->until)
        return false;
    return rcx_ctrl_is_small(comm) || query->differs >= 0 ||
           query->request & MESSAGE || is_late || query->unanswered > 0 ||
           query->not_entered > 0;
}

/* The operation that the query is about; without a query, one that is overdue;
 * or NULL. */
static const struct rcx_request *find(const struct rcx_request *r,
                                      const struct rcx_straggler_query *query,
                                      const struct rcx_instant *now)
{
    while (r && (query ? key_of(r) != query->request
                       : !rcx_request_is_overdue(r, now)))
        r = r->next;
    return r;
}

void rcx_straggler_check(struct rcx_comm *comm, const struct rcx_instant *now)
{
    const uint64_t ns = rcx_time_at(&comm->context->time, now);
    struct rcx_straggler_query *query = comm->query;
    const struct rcx_request *r = find(comm->first, query, now);
    char name[RCX_COMM_TEXT];

    if (!r)
        r = find(comm->p2p.first, query, now);
    if (query)
        give_grace(query, ns);
    if (query && !r)
        rcx_straggler_free(comm); /* the operation has ended */
    else if (query && is_decidable(comm, ns))
        rcx_straggler_decide(r, rcx_request_age(r, now));
    else if (!query && r && !ask(r, key_of(r), -1, now))
        rcx_comm_fail(comm, RCX_ERR_TIMEOUT, NULL, 0,
                      "%s: an operation timed out; no memory to find which "
                      "rank is missing",
                      rcx_comm_print(comm, name));
}
