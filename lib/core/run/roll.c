/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/run/roll.h"

#include "core/run/describe.h"
#include "core/run/failure.h"
#include "core/run/request.h"

/* Who was away for AWAY_NS while others answered has GRACE_NS to hear them. */
enum {
    ROLL_NS = 500 * 1000 * 1000,
    AWAY_NS = 200 * 1000 * 1000,
    GRACE_NS = 100 * 1000 * 1000
};

enum { UNHEARD, PRESENT, ABSENT };

struct rcx_roll {
    uint64_t sequence; /* of the operation that is overdue */
    uint64_t until;    /* when it is decided without those unheard of */
    uint64_t seen;     /* when this rank last looked */
    bool has_grace;    /* once */
    int unheard;
    unsigned char heard[]; /* by rank */
};

/* ---- Answers ---------------------------------------------------------------- */

/* Begun is what has a lower number than the next to give out. Who has an
 * earlier one in flight, or is in a message's, waits for somebody else. */
void rcx_roll_answer(struct rcx_context *context, const struct rcx_comm *comm,
                     const struct rcx_note_body *asked)
{
    const bool present =
        comm && (comm->window.next > asked->sequence || comm->first ||
                 rcx_comm_awaited_message(comm));
    struct rcx_note_body answer = {.kind = present ? RCX_NOTE_PRESENT
                                                   : RCX_NOTE_ABSENT,
                                   .comm_id = asked->comm_id,
                                   .tag = asked->tag,
                                   .group = asked->group,
                                   .sequence = asked->sequence};

    if (comm && comm->failed != RCX_OK) /* all is said, and who asked is gone */
        return;
    rcx_note_answer(context, asked->from, &answer);
}

void rcx_roll_mark(struct rcx_comm *comm, const struct rcx_note_body *body)
{
    struct rcx_roll *roll = comm->roll;
    const int rank = rcx_comm_index(comm, body->from);

    if (!roll || roll->sequence != body->sequence || rank < 0 ||
        roll->heard[rank] != UNHEARD)
        return;
    roll->heard[rank] = body->kind == RCX_NOTE_PRESENT ? PRESENT : ABSENT;
    roll->unheard--;
}

/* ---- Calling it --------------------------------------------------------------- */

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
    roll->seen = now;
    roll->unheard = comm->size - 1;
    roll->heard[comm->rank] = PRESENT;
    comm->roll = roll;
    rcx_note_send_all(comm, &body);
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
    char rank[RCX_RANK_TEXT];
    size_t used = 0;
    int n = 0;

    text[0] = '\0';
    for (int i = 0; i < comm->size && n < RCX_RANKS_TOLD; i++) {
        const unsigned char heard = comm->roll->heard[i];

        if (heard == PRESENT)
            continue;
        ranks[n++] = i;
        if (used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, "%s rank %s %s",
                                     used ? "," : "",
                                     rcx_rank_print(comm, i, rank), why[heard]);
    }
    if (n > 0)
        return n;
    n = rcx_request_peers(overdue, ranks, RCX_RANKS_TOLD);
    for (int i = 0; i < n && used < bytes; i++)
        used += (size_t)snprintf(
            text + used, bytes - used, "%s rank %s: its message is missing",
            used ? "," : "", rcx_rank_print(comm, ranks[i], rank));
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

void rcx_roll_watch(struct rcx_comm *comm, const struct rcx_instant *now)
{
    const uint64_t ns = rcx_time_at(&comm->context->time, now);
    struct rcx_roll *roll = comm->roll;
    const struct rcx_request *r = comm->first;

    while (r && (roll ? r->sequence != roll->sequence
                      : !rcx_request_is_overdue(r, now)))
        r = r->next;
    if (roll)
        give_grace(roll, ns);
    if (roll && !r)
        rcx_roll_free(comm); /* it did come to its end */
    else if (roll && (roll->unheard == 0 || ns >= roll->until))
        decide(r, rcx_request_age(r, now));
    else if (!roll && r)
        call_roll(comm, r, ns);
}
