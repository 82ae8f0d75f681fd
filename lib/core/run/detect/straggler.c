/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/run/detect/straggler.h"

#include <stdarg.h>

#include "core/run/detect/detector.h"
#include "core/run/diag/describe.h"
#include "core/run/fault/failure.h"
#include "core/run/request/p2p.h"
#include "core/run/request/request.h"

/* A rank that was away for AWAY_NS while others answered has GRACE_NS to read
 * the answers. A member that stood still for AWAY_LEAST_MS and a quarter of the
 * deadline longer than another one is to blame. */
enum {
    ANSWER_LEAST_NS = 20 * 1000 * 1000,
    ANSWER_MOST_NS = 500 * 1000 * 1000,
    AWAY_NS = 200 * 1000 * 1000,
    GRACE_NS = 100 * 1000 * 1000,
    AWAY_LEAST_MS = 150
};
enum { NS_PER_MS = 1000 * 1000, ANSWER_SHARE = 2, AWAY_SHARE = 4 };

/* PRESENT: has called it. ELSEWHERE: waits in another communicator, or, of a
 * message, in any. */
enum answer { UNHEARD, PRESENT, ABSENT, ELSEWHERE };

struct member {
    uint8_t answer;
    int8_t call;      /* PRESENT: its fingerprint in tags; -1: not known */
    uint32_t away_ms; /* PRESENT, ELSEWHERE: it stood still for so long */
    bool is_reached;  /* a message waits for it, or for one that does */
    int next;         /* the next to be reached from; -1: none */
    int waits;        /* ELSEWHERE: for so many of the context's ranks, */
    int waits_for[RCX_RANKS_TOLD];
};

struct rcx_roll {
    uint64_t request;  /* key of the operation, */
    uint64_t sequence; /* and of the segment that is asked for */
    int differs;       /* the rank that seems to make another call; -1: it is
                          overdue */
    uint64_t until;    /* when it is decided without those that are unheard */
    uint64_t seen;     /* when this rank last looked */
    bool has_grace;    /* once */
    int unheard;
    struct member members[]; /* by rank */
};

/* ---- What is known here ------------------------------------------------------ */

/* Messages have no sequence number: ranks need not have as many. What asks for
 * one has this bit, and the sender's own number. */
#define MESSAGE (UINT64_C(1) << 63)

static uint64_t key_of(const struct rcx_request *r)
{
    return r->program->is_p2p ? MESSAGE | rcx_request_number(r) : r->sequence;
}

/* The execution of a segment, among the operations under way. */
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

/* For how long this rank did not look after its messages between two times. */
static uint32_t away_between(const struct rcx_watch *w, uint64_t begin,
                             uint64_t end)
{
    const uint64_t left = w->away_end_ns - w->away_ns;
    const uint64_t from = left > begin ? left : begin;
    const uint64_t until = w->away_end_ns < end ? w->away_end_ns : end;

    return until > from ? (uint32_t)((until - from) / NS_PER_MS) : 0;
}

/* The same since r began. */
static uint32_t away_ms(const struct rcx_comm *comm,
                        const struct rcx_request *r,
                        const struct rcx_instant *now)
{
    const uint64_t ns = rcx_time_at(&comm->context->time, now);

    return away_between(&comm->context->watch, ns - rcx_request_age(r, now),
                        ns);
}

/* The same within the operation of this number, also if it is over: a rank that
 * stood still may get all that it lacks at once. */
static uint32_t away_in(const struct rcx_comm *comm, uint64_t sequence,
                        const struct rcx_instant *now)
{
    const struct rcx_time *time = &comm->context->time;
    const struct rcx_ended *e = &comm->ended;
    const uint64_t ns = rcx_time_at(time, now);

    if (sequence >= e->first && sequence < e->next)
        return away_between(&comm->context->watch,
                            ns - rcx_time_since(time, e->begin, now),
                            ns - rcx_time_since(time, e->end, now));
    return comm->first ? away_ms(comm, comm->first, now) : 0;
}

/* ---- Answers ---------------------------------------------------------------- */

/* Another communicator in which this rank waits. A rank that finalizes, though
 * nothing has failed there, does not wait for others to call. */
static const struct rcx_comm *find_waiting(const struct rcx_context *context)
{
    const struct rcx_comm *c = context->comms.first;

    while (c && (c->failed != RCX_OK ||
                 (c == context->internal && !context->broken) ||
                 (!c->first && !rcx_comm_awaited_message(c))))
        c = c->next;
    return c;
}

static void describe_elsewhere(const struct rcx_comm *comm,
                               struct rcx_note_body *answer)
{
    const struct rcx_request *r =
        comm->first ? comm->first : rcx_comm_awaited_message(comm);
    const struct rcx_instant now = rcx_instant_now();
    int ranks[RCX_RANKS_TOLD];
    const int n = rcx_request_peers(r, ranks, RCX_RANKS_TOLD);

    answer->kind = RCX_NOTE_ELSEWHERE;
    answer->value = away_ms(comm, r, &now);
    answer->rank_count = (int8_t)n;
    for (int i = 0; i < n; i++)
        answer->ranks[i] = rcx_comm_context_rank(comm, ranks[i]);
}

/* Whether this rank had called the operation when it freed the communicator; of
 * one that it has not got in its list any more it had called all. */
static bool has_called(const struct rcx_context *context,
                       const struct rcx_note_body *asked)
{
    const struct rcx_comm *c = context->comms.free;

    while (c && c->id != asked->comm_id)
        c = c->next;
    return !(asked->sequence & MESSAGE) &&
           (!c || c->window.next > asked->sequence);
}

/* An operation has been called that has a lower number than the next to give
 * out. A rank with an earlier one in flight, or in a message's, waits for
 * another rank. Of a message it is told where this rank waits, if it does. */
void rcx_roll_answer(struct rcx_context *context, const struct rcx_comm *comm,
                     const struct rcx_note_body *asked)
{
    const struct rcx_instant now = rcx_instant_now();
    const struct rcx_comm *other = find_waiting(context);
    struct rcx_note_body answer = {.kind = RCX_NOTE_ABSENT,
                                   .comm_id = asked->comm_id,
                                   .tag = asked->tag,
                                   .group = asked->group,
                                   .sequence = asked->sequence};

    if (comm && comm->failed != RCX_OK) /* all is said */
        return;
    rcx_watch_note_break(&context->watch, rcx_time_at(&context->time, &now));
    if (comm && !(asked->sequence & MESSAGE) &&
        (comm->window.next > asked->sequence || comm->first ||
         rcx_comm_awaited_message(comm))) {
        answer.kind = RCX_NOTE_PRESENT;
        answer.rank_count = 1;
        answer.ranks[0] = fingerprint_of(comm, asked->sequence);
        answer.value = away_in(comm, asked->sequence, &now);
    } else if (other) {
        describe_elsewhere(other, &answer);
    } else if (!comm && has_called(context, asked)) {
        answer.kind = RCX_NOTE_PRESENT;
        answer.rank_count = 1;
        answer.ranks[0] = -1;
    }
    rcx_note_answer(context, asked->from, &answer);
}

void rcx_roll_mark(struct rcx_comm *comm, const struct rcx_note_body *body)
{
    struct rcx_roll *roll = comm->roll;
    const int rank = rcx_comm_index(comm, body->from);
    struct member *m;

    if (!roll || roll->sequence != body->sequence || rank < 0 ||
        roll->members[rank].answer != UNHEARD)
        return;
    m = &roll->members[rank];
    m->answer = body->kind == RCX_NOTE_PRESENT     ? PRESENT
                : body->kind == RCX_NOTE_ELSEWHERE ? ELSEWHERE
                                                   : ABSENT;
    m->call = m->answer == PRESENT ? (int8_t)body->ranks[0] : -1;
    m->away_ms = body->value;
    for (int i = 0;
         m->answer == ELSEWHERE && i < body->rank_count && i < RCX_RANKS_TOLD;
         i++)
        m->waits_for[m->waits++] = body->ranks[i];
    roll->unheard--;
}

/* ---- Asking ------------------------------------------------------------------- */

static uint64_t time_to_answer(const struct rcx_request *r)
{
    const uint64_t share = (uint64_t)r->timeout_ns / ANSWER_SHARE;

    return r->timeout_ns == 0 || share > ANSWER_MOST_NS ? ANSWER_MOST_NS
           : share < ANSWER_LEAST_NS                    ? ANSWER_LEAST_NS
                                                        : share;
}

/* False: no memory. */
static bool ask(const struct rcx_request *r, uint64_t sequence, int differs,
                const struct rcx_instant *now)
{
    struct rcx_comm *comm = r->comm;
    const uint64_t ns = rcx_time_at(&comm->context->time, now);
    const size_t size = (size_t)comm->size;
    struct rcx_roll *roll = rcx_heap_zalloc(
        &comm->context->heap, sizeof *roll + size * sizeof *roll->members);
    struct rcx_note_body body = {.kind = RCX_NOTE_ROLL, .sequence = sequence};

    if (!roll)
        return false;
    *roll = (struct rcx_roll){.request = key_of(r),
                              .sequence = sequence,
                              .differs = differs,
                              .until = ns + time_to_answer(r),
                              .seen = ns,
                              .unheard = comm->size - 1};
    roll->members[comm->rank] =
        (struct member){.answer = PRESENT,
                        .call = (int8_t)fingerprint_of(comm, sequence),
                        .away_ms = away_ms(comm, r, now)};
    comm->roll = roll;
    rcx_note_send_all(comm, &body);
    return true;
}

void rcx_roll_compare(const struct rcx_request *r, uint64_t sequence, int rank)
{
    const struct rcx_instant now = rcx_instant_now();
    char call[RCX_CALL_TEXT];

    if (!r->comm->roll && !ask(r, sequence, rank, &now))
        rcx_comm_fail(r->comm, RCX_ERR_MISMATCH, &rank, rank >= 0,
                      "%s: rank %d made another call",
                      rcx_request_print(r, call), rank);
}

void rcx_roll_free(struct rcx_comm *comm)
{
    rcx_heap_free(&comm->context->heap, comm->roll);
    comm->roll = NULL;
}

/* ---- Deciding: a deadline ----------------------------------------------------- */

struct report {
    char text[RCX_TEXT_TOLD];
    size_t used;
    int n;
    int *ranks;
};

__attribute__((format(printf, 2, 3))) static void
add_text(struct report *report, const char *format, ...)
{
    va_list args;

    if (report->used >= sizeof report->text)
        return;
    va_start(args, format);
    report->used +=
        (size_t)vsnprintf(report->text + report->used,
                          sizeof report->text - report->used, format, args);
    va_end(args);
}

static void blame(struct report *report, const struct rcx_comm *comm, int rank,
                  const char *why)
{
    char text[RCX_RANK_TEXT];

    add_text(report, "%s rank %s %s", report->used ? "," : "",
             rcx_rank_print(comm, rank, text), why);
    report->ranks[report->n++] = rank;
}

static const char *why_absent(const struct rcx_p2p_call *call, int rank)
{
    return !call                ? "has not called it"
           : rank != call->peer ? "keeps others waiting"
           : call->sends        ? "has not received it"
                                : "has not sent it";
}

/* call: of the message, of which only members that are reached count; or NULL. */
static void find_missing(const struct rcx_comm *comm,
                         const struct rcx_p2p_call *call, struct report *report)
{
    for (int i = 0; i < comm->size; i++) {
        const struct member *m = &comm->roll->members[i];

        if (call && !m->is_reached)
            continue;
        if (m->answer == UNHEARD)
            blame(report, comm, i, "does not answer");
        else if (m->answer == ABSENT)
            blame(report, comm, i, why_absent(call, i));
    }
}

/* Whether member m has called the operation, or the message waits for it. */
static bool is_in_it(const struct member *m)
{
    return m->answer == PRESENT || m->is_reached;
}

/* Members that have called it, and did not look after their messages. */
static void find_away(const struct rcx_comm *comm, uint64_t deadline_ms,
                      struct report *report)
{
    const struct member *members = comm->roll->members;
    const uint64_t share = deadline_ms / AWAY_SHARE;
    uint64_t least = members[comm->rank].away_ms;
    char why[48];

    for (int i = 0; i < comm->size; i++)
        if (is_in_it(&members[i]) && members[i].away_ms < least)
            least = members[i].away_ms;
    least += share > AWAY_LEAST_MS ? share : AWAY_LEAST_MS;
    for (int i = 0; i < comm->size; i++) {
        if (!is_in_it(&members[i]) || members[i].away_ms <= least)
            continue;
        snprintf(why, sizeof why, "stood still for %.3g s",
                 (double)members[i].away_ms / 1e3);
        blame(report, comm, i, why);
    }
}

/* Whether all that member m waits for in another communicator are here. */
static bool waits_for_present(const struct rcx_comm *comm,
                              const struct member *m)
{
    for (int i = 0; i < m->waits; i++) {
        const int rank = rcx_comm_index(comm, m->waits_for[i]);

        if (rank < 0 || comm->roll->members[rank].answer != PRESENT)
            return false;
    }
    return m->waits > 0;
}

/* Most members have called it. Those that call something else, and wait there
 * for these, have left out this call. */
static void find_different(const struct rcx_comm *comm, struct report *report)
{
    const struct member *members = comm->roll->members;
    int present = 0;

    for (int i = 0; i < comm->size; i++)
        present += members[i].answer == PRESENT;
    for (int i = 0; i < comm->size && 2 * present > comm->size; i++)
        if (members[i].answer == ELSEWHERE &&
            waits_for_present(comm, &members[i]))
            blame(report, comm, i,
                  "has not called it, and waits in another communicator");
}

/* Nobody is to blame; what is known of those that others wait for. */
static void tell_rest(const struct rcx_request *r, struct report *report)
{
    const struct rcx_comm *comm = r->comm;
    int ranks[RCX_RANKS_TOLD];
    int n = 0;

    for (int i = 0; i < comm->size; i++) {
        const struct member *m = &comm->roll->members[i];

        if (m->answer != ELSEWHERE)
            continue;
        add_text(report, "%s rank %d waits in another communicator",
                 report->used ? "," : "", i);
        if (m->waits > 0)
            add_text(report, " for rank %d of the world", m->waits_for[0]);
        n++;
    }
    if (n > 0)
        return;
    add_text(report, " all ranks have called it");
    n = rcx_request_peers(r, ranks, RCX_RANKS_TOLD);
    for (int i = 0; i < n; i++)
        add_text(report, "%s %d", i ? "," : "; messages are missing with rank",
                 ranks[i]);
}

static void decide_overdue(const struct rcx_request *r, struct report *report)
{
    const struct rcx_comm *comm = r->comm;

    find_missing(comm, NULL, report);
    if (report->n == 0)
        find_away(comm, (uint64_t)r->timeout_ns / NS_PER_MS, report);
    if (report->n == 0)
        find_different(comm, report);
    if (report->n == 0)
        tell_rest(r, report);
}

/* ---- Deciding: the deadline of a message --------------------------------------- */

/* Member rank, and those that it waits for, and so on. */
static void reach(const struct rcx_comm *comm, int rank)
{
    struct member *members = comm->roll->members;

    members[rank].is_reached = true;
    members[rank].next = -1;
    while (rank >= 0) {
        const struct member *m = &members[rank];

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

/* The peer waits as well, for no rank that could be named. */
static void tell_peer(const struct rcx_comm *comm, int peer,
                      struct report *report)
{
    const struct member *m = &comm->roll->members[peer];

    add_text(report, " rank %d waits itself", peer);
    if (m->waits > 0)
        add_text(report, ", for rank %d of the world", m->waits_for[0]);
}

/* A message from any source may be due from any member: one that does not
 * answer is named, one that does may have none to send. */
static void decide_message(const struct rcx_request *r, struct report *report)
{
    const struct rcx_p2p_call *call = &rcx_p2p_of(r->program)->call;
    const struct rcx_comm *comm = r->comm;
    const bool is_known = call->peer != RCX_ANY_SOURCE;

    if (call->peer == comm->rank)
        comm->roll->members[comm->rank].answer = ABSENT;
    for (int i = 0; i < comm->size; i++)
        if (is_known ? i == call->peer
                     : comm->roll->members[i].answer == UNHEARD)
            reach(comm, i);
    find_missing(comm, call, report);
    if (report->n == 0)
        find_away(comm, (uint64_t)r->timeout_ns / NS_PER_MS, report);
    if (report->n == 0 && is_known)
        tell_peer(comm, call->peer, report);
    else if (report->n == 0)
        add_text(report, " no rank has sent it");
}

/* ---- Deciding: another call --------------------------------------------------- */

/* The call that most members make; where as many make another one, this rank's
 * own. */
static int find_majority(const struct rcx_comm *comm)
{
    const struct member *members = comm->roll->members;
    int counts[INT8_MAX + 1] = {0}, best = members[comm->rank].call;

    for (int i = 0; i < comm->size; i++)
        if (members[i].answer == PRESENT && members[i].call >= 0)
            counts[members[i].call]++;
    for (int call = 0; call <= INT8_MAX; call++)
        if (counts[call] > (best < 0 ? 0 : counts[best]))
            best = call;
    return best;
}

static void decide_compared(const struct rcx_request *r, struct report *report)
{
    const struct rcx_comm *comm = r->comm;
    const struct rcx_roll *roll = comm->roll;
    const int usual = find_majority(comm);

    for (int i = 0; i < comm->size; i++)
        if (roll->members[i].answer == PRESENT && roll->members[i].call >= 0 &&
            roll->members[i].call != usual)
            blame(report, comm, i, "made another call");
    if (report->n == 0)
        blame(report, comm, roll->differs, "made another call");
}

/* ---- Looking after it ----------------------------------------------------------- */

/* A host that stands still does so for all its ranks: their answers have come
 * by then, and nobody has looked. */
static void give_grace(struct rcx_roll *roll, uint64_t ns)
{
    const bool was_away = ns - roll->seen > AWAY_NS;

    roll->seen = ns;
    if (!was_away || roll->has_grace)
        return;
    roll->has_grace = true;
    if (roll->until < ns + GRACE_NS)
        roll->until = ns + GRACE_NS;
}

static void decide(const struct rcx_request *r, uint64_t age)
{
    struct rcx_comm *comm = r->comm;
    struct rcx_heap *heap = &comm->context->heap;
    const bool differs = comm->roll->differs >= 0;
    struct report report = {
        .ranks = rcx_heap_alloc(heap, (size_t)comm->size * sizeof(int))};
    char call[RCX_CALL_TEXT], after[48] = "";

    if (report.ranks)
        (differs              ? decide_compared
         : r->program->is_p2p ? decide_message
                              : decide_overdue)(r, &report);
    if (!differs)
        snprintf(after, sizeof after,
                 " no end after %.3g s:", (double)age / 1e9);
    rcx_comm_fail(comm, differs ? RCX_ERR_MISMATCH : RCX_ERR_TIMEOUT,
                  report.ranks, report.n, "%s:%s%s%s",
                  rcx_request_print(r, call), after, report.text,
                  differs ? " (RCX_CHECK=full says which)" : "");
    rcx_heap_free(heap, report.ranks);
}

/* The operation that is asked for, or else one that is overdue; or NULL. */
static const struct rcx_request *find(const struct rcx_request *r,
                                      const struct rcx_roll *roll,
                                      const struct rcx_instant *now)
{
    while (r && (roll ? key_of(r) != roll->request
                      : !rcx_request_is_overdue(r, now)))
        r = r->next;
    return r;
}

void rcx_roll_watch(struct rcx_comm *comm, const struct rcx_instant *now)
{
    const uint64_t ns = rcx_time_at(&comm->context->time, now);
    struct rcx_roll *roll = comm->roll;
    const struct rcx_request *r = find(comm->first, roll, now);

    if (!r)
        r = find(comm->mail.first, roll, now);
    if (roll)
        give_grace(roll, ns);
    if (roll && !r)
        rcx_roll_free(comm); /* it did come to its end */
    else if (roll && (roll->unheard == 0 || ns >= roll->until))
        decide(r, rcx_request_age(r, now));
    else if (!roll && r && !ask(r, key_of(r), -1, now))
        rcx_comm_fail(comm, RCX_ERR_TIMEOUT, NULL, 0,
                      "communicator %u: a deadline passed", comm->id);
}
