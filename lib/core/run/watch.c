/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is looked after beside messages, now and then: notes from other ranks,
 * aborts, deadlines, calls that do not match.
 *
 * A rank whose deadline passes calls the roll: members that are in RCX answer
 * at once whether they have called the operation. So it can name who is
 * missing, not only whom it waits for, who may wait for somebody in turn.
 */
#include "core/run/watch.h"

#include "core/base/clock.h"
#include "core/run/describe.h"
#include "core/run/note.h"
#include "core/run/request.h"

enum {
    PERIOD_NS = 1000 * 1000,
    ROLL_NS = 300 * 1000 * 1000,
    PROBE_AGE_NS = 100 * 1000 * 1000,
    WAY_AGE_NS = 1000 * 1000 * 1000,
    PROBE_SEQUENCE_BITS = 8
};
static const uint64_t away_ns = UINT64_C(1000000000);

static const int64_t hurry_ns = INT64_C(3000000000);

enum { UNHEARD, PRESENT, ABSENT };

struct rcx_roll {
    uint64_t sequence; /* of the operation that is overdue */
    uint64_t until;    /* when it is decided without those unheard of */
    int unheard;
    unsigned char heard[]; /* by rank */
};

/* ---- Notes ----------------------------------------------------------------- */

int rcx_comm_index(const struct rcx_comm *comm, int context_rank)
{
    if (!comm->ranks)
        return context_rank < comm->size ? context_rank : -1;
    for (int i = 0; i < comm->size; i++)
        if (comm->ranks[i] == context_rank)
            return i;
    return -1;
}

static void send_note(struct rcx_context *context, int to,
                      struct rcx_note_body *body)
{
    body->from = context->boot->rank;
    if (context->transport)
        context->transport->ops->notify(context->transport, to, body,
                                        sizeof *body);
}

void rcx_note_send(struct rcx_comm *comm, int rank, struct rcx_note_body *body)
{
    body->comm_id = comm->id;
    body->tag = (int16_t)comm->tag;
    body->group = comm->group;
    send_note(comm->context, rcx_comm_context_rank(comm, rank), body);
}

/* What a member says of it: others may have had its id before. */
static bool is_about(const struct rcx_note_body *body,
                     const struct rcx_comm *comm)
{
    return comm->id == body->comm_id && comm->tag == body->tag &&
           comm->group == body->group && rcx_comm_index(comm, body->from) >= 0;
}

static struct rcx_comm *comm_of(struct rcx_context *context,
                                const struct rcx_note_body *body)
{
    struct rcx_comm *comm = context->comms;

    while (comm && !is_about(body, comm))
        comm = comm->next;
    return comm;
}

/* ---- Failures that are told too early -------------------------------------- */

struct rcx_early_note {
    struct rcx_early_note *next;
    struct rcx_note_body body;
};

/*
 * That rank has a communicator that this one has not got yet, or has freed;
 * none that both are in has this id again. So the note stays.
 */
static void keep_note(struct rcx_context *context,
                      const struct rcx_note_body *body)
{
    struct rcx_early_note *note = rcx_heap_alloc(&context->heap, sizeof *note);

    if (!note)
        return;
    *note = (struct rcx_early_note){context->early_notes, *body};
    context->early_notes = note;
}

void rcx_notes_recall(struct rcx_comm *comm)
{
    const struct rcx_early_note *note = comm->context->early_notes;

    for (; note; note = note->next)
        if (is_about(&note->body, comm))
            rcx_comm_fail_as_told(comm, &note->body);
}

void rcx_notes_forget(struct rcx_context *context)
{
    while (context->early_notes) {
        struct rcx_early_note *note = context->early_notes;

        context->early_notes = note->next;
        rcx_heap_free(&context->heap, note);
    }
}

/* ---- Reading --------------------------------------------------------------- */

/* Begun is what has a lower number than the next to give out. Who has an
 * earlier one in flight waits for somebody else. */
static void answer_roll(struct rcx_context *context,
                        const struct rcx_comm *comm,
                        const struct rcx_note_body *asked)
{
    const bool present =
        comm && (comm->sequence > asked->sequence || comm->first);
    struct rcx_note_body answer = {.kind = present ? RCX_NOTE_PRESENT
                                                   : RCX_NOTE_ABSENT,
                                   .comm_id = asked->comm_id,
                                   .tag = asked->tag,
                                   .group = asked->group,
                                   .sequence = asked->sequence};

    if (comm && comm->failed != RCX_OK) /* all is said, and who asked is gone */
        return;
    send_note(context, asked->from, &answer);
}

static void mark_heard(struct rcx_comm *comm, const struct rcx_note_body *body)
{
    struct rcx_roll *roll = comm->roll;
    const int rank = rcx_comm_index(comm, body->from);

    if (!roll || roll->sequence != body->sequence || rank < 0 ||
        roll->heard[rank] != UNHEARD)
        return;
    roll->heard[rank] = body->kind == RCX_NOTE_PRESENT ? PRESENT : ABSENT;
    roll->unheard--;
}

static void read_note(struct rcx_context *context,
                      const struct rcx_note_body *body)
{
    struct rcx_comm *comm = comm_of(context, body);

    if (body->kind == RCX_NOTE_ROLL)
        answer_roll(context, comm, body);
    else if (comm && body->kind == RCX_NOTE_FAILED)
        rcx_comm_fail_as_told(comm, body);
    else if (body->kind == RCX_NOTE_FAILED)
        keep_note(context, body);
    else if (comm)
        mark_heard(comm, body);
}

static void read_notes(struct rcx_context *context)
{
    struct rcx_transport *t = context->transport;

    while (t->notes) {
        struct rcx_note_body body;

        if (!t->ops->take_note(t, &body, sizeof body))
            continue;
        if (body.from >= 0 && body.from < context->boot->size)
            read_note(context, &body);
    }
}

/* ---- Time ----------------------------------------------------------------------- */

static uint64_t time_of(const struct rcx_context *context,
                        const struct rcx_instant *now)
{
    return now->ns + context->skipped_ns;
}

/* How long ago a request was started. */
static uint64_t age_of(const struct rcx_request *r,
                       const struct rcx_instant *now)
{
    const struct rcx_context *context = r->comm->context;
    const uint64_t begun = rcx_ticks_to_ns(r->begin, &context->born, now);
    const uint64_t ns = time_of(context, now);

    return ns > begun ? ns - begun : 0;
}

/* ---- Deaths ------------------------------------------------------------------ */

static void mourn(struct rcx_comm *comm, const unsigned char *dead)
{
    for (int i = 0; i < comm->size; i++)
        if (dead[rcx_comm_context_rank(comm, i)])
            rcx_comm_fail(comm, RCX_ERR_PEER_FAILED, &i, 1,
                          "communicator %u: rank %d is dead", comm->id, i);
}

/* One has gone in the last meeting: all came to it, or he died there. So it is
 * over soon, or never. */
static void hurry(const struct rcx_comm *comm)
{
    const struct rcx_instant now = rcx_instant_now();
    struct rcx_request *r = comm->first;
    int64_t limit;

    if (!r)
        return;
    limit = (int64_t)age_of(r, &now) + hurry_ns;
    if (r->timeout_ns == 0 || r->timeout_ns > limit)
        r->timeout_ns = limit;
}

static void look_for_deaths(struct rcx_context *context)
{
    const struct rcx_transport *t = context->transport;

    if (t->deaths == context->deaths)
        return;
    context->deaths = t->deaths;
    if (context->parting) {
        hurry(context->internal);
        return;
    }
    for (struct rcx_comm *comm = context->comms; comm; comm = comm->next)
        mourn(comm, t->dead);
}

/* ---- Deadlines ------------------------------------------------------------- */

static bool is_overdue(const struct rcx_request *r,
                       const struct rcx_instant *now)
{
    return r->timeout_ns > 0 && age_of(r, now) >= (uint64_t)r->timeout_ns;
}

static void call_roll(struct rcx_comm *comm, const struct rcx_request *overdue,
                      uint64_t now)
{
    struct rcx_roll *roll = rcx_heap_zalloc(&comm->context->heap,
                                            sizeof *roll + (size_t)comm->size);
    struct rcx_note_body body = {.kind = RCX_NOTE_ROLL,
                                 .sequence = overdue->sequence};

    if (!roll) {
        rcx_comm_fail(comm, RCX_ERR_TIMEOUT, NULL, 0,
                      "communicator %u: a deadline passed", comm->id);
        return;
    }
    roll->sequence = overdue->sequence;
    roll->until = now + ROLL_NS;
    roll->unheard = comm->size - 1;
    roll->heard[comm->rank] = PRESENT;
    comm->roll = roll;
    for (int i = 0; i < comm->size; i++)
        if (i != comm->rank)
            rcx_note_send(comm, i, &body);
}

void rcx_roll_free(struct rcx_comm *comm)
{
    rcx_heap_free(&comm->context->heap, comm->roll);
    comm->roll = NULL;
}

/* Ranks that are missing; where none is, those that messages go on with. */
static int find_missing(const struct rcx_request *overdue, int ranks[],
                        char *text, size_t bytes)
{
    const struct rcx_comm *comm = overdue->comm;
    static const char *const why[] = {
        [UNHEARD] = "does not answer", [ABSENT] = "has not called it"};
    size_t used = 0;
    int n = 0;

    text[0] = '\0';
    for (int i = 0; i < comm->size && n < RCX_RANKS_TOLD; i++) {
        const unsigned char heard = comm->roll->heard[i];

        if (heard == PRESENT)
            continue;
        ranks[n++] = i;
        if (used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, "%s rank %d %s",
                                     used ? "," : "", i, why[heard]);
    }
    if (n > 0)
        return n;
    n = rcx_request_peers(overdue, ranks, RCX_RANKS_TOLD);
    for (int i = 0; i < n && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used,
                                 "%s rank %d's message is missing",
                                 used ? "," : "", ranks[i]);
    return n;
}

static void decide(const struct rcx_request *r, uint64_t age)
{
    struct rcx_comm *comm = r->comm;
    int ranks[RCX_RANKS_TOLD];
    char text[128], call[RCX_CALL_TEXT];
    const int n = find_missing(r, ranks, text, sizeof text);

    rcx_comm_fail(comm, RCX_ERR_TIMEOUT, ranks, n, "%s: no end after %.3g s:%s",
                  rcx_request_print(r, call), (double)age / 1e9, text);
}

static void watch_deadlines(struct rcx_comm *comm,
                            const struct rcx_instant *now)
{
    const uint64_t ns = time_of(comm->context, now);
    const struct rcx_roll *roll = comm->roll;
    const struct rcx_request *r = comm->first;

    while (r && (roll ? r->sequence != roll->sequence : !is_overdue(r, now)))
        r = r->next;
    if (roll && !r)
        rcx_roll_free(comm); /* it did come to its end */
    else if (roll && (roll->unheard == 0 || ns >= roll->until))
        decide(r, age_of(r, now));
    else if (!roll && r)
        call_roll(comm, r, ns);
}

/* ---- Patience -------------------------------------------------------------- */

/* How long a rank has been in RCX and an operation has not ended: who computes
 * for an hour between start and wait has not waited. */
static uint64_t wait_of(const struct rcx_request *r,
                        const struct rcx_instant *now)
{
    const struct rcx_context *context = r->comm->context;
    const uint64_t here = time_of(context, now) - context->here_since_ns;
    const uint64_t age = age_of(r, now);

    return age < here ? age : here;
}

/* Who waits for long without a deadline says so, once for an operation, and
 * less and less often where that is the way of the program. */
static void watch_patience(struct rcx_comm *comm, const struct rcx_instant *now)
{
    const struct rcx_request *r = comm->first;
    const uint64_t ns = wait_of(r, now), number = rcx_request_number(r);
    char call[RCX_CALL_TEXT], text[128] = " and no message is missing";
    int ranks[RCX_RANKS_TOLD], n;
    size_t used = 0;

    if (r->timeout_ns > 0 || ns < comm->patience_ns || comm->warned == number)
        return;
    comm->warned = number;
    comm->patience_ns *= 2;
    n = rcx_request_peers(r, ranks, RCX_RANKS_TOLD);
    for (int i = 0; i < n && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s %d",
                                 i ? "," : " for rank", ranks[i]);
    rcx_warn(&comm->context->log,
             "%s: waits since %.3g s%s; no deadline is set "
             "(RCX_TIMEOUT)",
             rcx_request_print(r, call), (double)ns / 1e9, text);
}

/* ---- Peers that no transport leads to ---------------------------------------- */

/* Who sends there finds out at once, but cannot tell. So who has only received
 * tries whom it waits for. */
static void watch_ways(struct rcx_comm *comm)
{
    struct rcx_transport *t = comm->context->transport;
    const struct rcx_request *r = comm->first;
    int ranks[RCX_RANKS_TOLD];
    const int n = rcx_request_peers(r, ranks, RCX_RANKS_TOLD);

    for (int i = 0; i < n && t->ops->reach && comm->failed == RCX_OK; i++) {
        const int peer = rcx_comm_context_rank(comm, ranks[i]);
        const rcx_status_t status = t->ops->reach(t, peer);

        if (status != RCX_OK)
            rcx_request_lose(r, status, ranks[i]);
    }
}

/* ---- Calls that do not match ------------------------------------------------ */

/* Of a group in the making, a message of the next one under its tag may come
 * while its own last one is still to come; and where numbers repeat soon, a
 * peer that is ahead has this one again. */
static bool is_probed(const struct rcx_comm *comm)
{
    const struct rcx_context *context = comm->context;

    return context->config.check != RCX_CHECK_OFF &&
           context->layout.sequence_bits >= PROBE_SEQUENCE_BITS &&
           !rcx_comm_is_for_groups(comm->id);
}

/*
 * A message of another call has the same sequence number and another
 * fingerprint, and stays unmatched.
 */
static void watch_fingerprints(struct rcx_comm *comm, const struct rcx_exec *x)
{
    const struct rcx_tag_layout *l = &x->layout;
    char call[RCX_CALL_TEXT];
    const uint64_t mask = rcx_tag_call_mask(l);
    uint64_t found;

    for (uint64_t i = 1; i < UINT64_C(1) << l->fingerprint_bits; i++) {
        const uint64_t other = x->tag_base ^ i << l->rank_bits;
        int rank;

        if (!x->transport->ops->probe(x->transport, other, mask, &found))
            continue;
        rank = rcx_comm_index(comm, (int)rcx_tag_low(found, l->rank_bits));
        rcx_comm_fail(comm, RCX_ERR_MISMATCH, &rank, rank >= 0,
                      "%s: rank %d made another call (RCX_CHECK=full says "
                      "which)",
                      rcx_request_print(comm->first, call), rank);
        return;
    }
}

static void watch_calls(struct rcx_comm *comm)
{
    for (unsigned i = 0;
         i < rcx_request_slots(comm->first) && comm->failed == RCX_OK; i++)
        if (comm->first->slots[i])
            watch_fingerprints(comm, comm->first->slots[i]);
}

/* ---- All of it --------------------------------------------------------------- */

void rcx_attract(struct rcx_context *context)
{
    atomic_store_explicit(&context->attention, true, memory_order_release);
}

static void attend(struct rcx_comm *comm)
{
    if (atomic_load_explicit(&comm->aborted, memory_order_acquire))
        rcx_comm_fail(comm, RCX_ERR_COMM_FAILED, &comm->rank, 1,
                      "communicator %u: rcx_comm_abort() on rank %d", comm->id,
                      comm->rank);
    if (comm->failed != RCX_OK && comm->first)
        rcx_comm_give_up(comm);
}

/* What costs more than a look at the clock. */
static void probe(struct rcx_comm *comm, uint64_t waited)
{
    if (waited > WAY_AGE_NS)
        watch_ways(comm);
    if (comm->failed == RCX_OK && is_probed(comm))
        watch_calls(comm);
}

static void watch_comm(struct rcx_comm *comm, const struct rcx_instant *now)
{
    const uint64_t ns = time_of(comm->context, now);

    if (!comm->first || comm->failed != RCX_OK)
        return;
    watch_deadlines(comm, now);
    watch_patience(comm, now);
    if (comm->failed != RCX_OK || ns < comm->next_probe_ns ||
        age_of(comm->first, now) <= PROBE_AGE_NS)
        return;
    comm->next_probe_ns = ns + PROBE_AGE_NS;
    probe(comm, wait_of(comm->first, now));
}

static void watch_others(struct rcx_context *context)
{
    struct rcx_instant now;
    uint64_t ns;

    read_notes(context);
    look_for_deaths(context);
    now = rcx_instant_now();
    ns = time_of(context, &now);
    if (ns >= context->next_watch_ns) {
        if (ns - context->next_watch_ns > away_ns)
            context->here_since_ns = ns;
        context->next_watch_ns = ns + PERIOD_NS;
        for (struct rcx_comm *c = context->comms; c; c = c->next)
            watch_comm(c, &now);
    }
}

void rcx_watch(struct rcx_context *context)
{
    if (context->transport)
        watch_others(context);
    if (atomic_exchange_explicit(&context->attention, false,
                                 memory_order_acquire))
        for (struct rcx_comm *c = context->comms; c; c = c->next)
            attend(c);
}
