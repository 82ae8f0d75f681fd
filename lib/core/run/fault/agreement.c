/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agreements over control messages: their numbers, what is known of failed
 * members, and deadlines. See agreement.h.
 */
#include "core/run/fault/agreement.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/run/diag/describe.h"
#include "core/run/fault/agree.h"
#include "core/run/fault/failure.h"

/* KEPT: agreements. COME_PARTS: members have this part of the deadline to take
 * part. REPLY_PARTS: those that take part have this part to reply. QUORUM_NS:
 * the most that a member without a quorum waits for one: a process that dies
 * closes its connections before it ends. */
enum {
    KEPT = 3,
    COME_PARTS = 4,
    REPLY_PARTS = 16,
    FEED_NS = 10000000,
    QUORUM_NS = 1000000000
};
enum { FAST = -1, LEADS = -2, LACKS_QUORUM = -3 };
/* What is known of a process: RUNS, perhaps. READ: it has ended, and control
 * messages have been read since. */
enum { RUNS, ENDED, READ };

struct rcx_agreement {
    struct rcx_comm *comm;
    uint32_t open;                /* number of the open one; the first is 1 */
    struct rcx_agree *kept[KEPT]; /* by number modulo KEPT */
    uint32_t sending;             /* number of the one that sends */
    bool is_entered;              /* the open one */
    bool has_expired;             /* its deadline has passed */
    bool is_settled;              /* no member asks for a decision any more */
    bool all_are_dead;            /* the failed members */
    uint64_t peers_seen;          /* changes of peers that are known */
    uint64_t fed_ns;              /* when they were last looked at */
    int64_t timeout_ns;
    uint64_t begin_ns, wait_ns;  /* of the call, and of the current wait */
    uint64_t looked_ns;          /* at deadlines */
    int role;                    /* FAST, LEADS, LACKS_QUORUM, or the
                                    coordinator */
    bool is_pinging;             /* since wait_ns: */
    unsigned char *has_answered; /* by rank; and takes part */
    unsigned char *processes;    /* by rank: RUNS, ENDED, READ */
    bool must_read;              /* some are ENDED */
    struct rcx_id_offer offer;
    struct rcx_ctrl_msg *out; /* with room for a struct rcx_agree_msg */
    int failed_count;
    int failed[]; /* of comm, by the last decision */
};

static struct rcx_agree *kept(const struct rcx_agreement *g, uint32_t number)
{
    return g->kept[number % KEPT];
}

static struct rcx_agree *open_one(const struct rcx_agreement *g)
{
    return kept(g, g->open);
}

static bool is_final(const struct rcx_agree *a)
{
    return rcx_agree_state(a) >= RCX_AGREE_DECIDED;
}

static enum rcx_process_state process_of(const struct rcx_agreement *g, int i,
                                         bool was_absent)
{
    struct rcx_transport *t = g->comm->context->transport;

    return t && t->ops->process_state
               ? t->ops->process_state(t, rcx_comm_context_rank(g->comm, i),
                                       was_absent)
               : RCX_PROCESS_UNKNOWN;
}

/* ---- Messages ------------------------------------------------------------ */

/* Whether a member that is taken for dead is so by what this process sees, too:
 * it may be the program alone that says so. Nothing is sent to the dead, to
 * which UCX would have to connect. */
static bool is_seen_dead(const struct rcx_agreement *g, int to)
{
    struct rcx_transport *t = g->comm->context->transport;
    const struct rcx_agree *a = kept(g, g->sending); /* NULL: an old one */
    const int rank = rcx_comm_context_rank(g->comm, to);

    return a && rcx_agree_is_dead(a, to) && t &&
           ((t->failed_peers && t->failed_peers[rank]) ||
            process_of(g, to, false) == RCX_PROCESS_ENDED);
}

static void send(int to, const struct rcx_agree_msg *msg, void *arg)
{
    struct rcx_agreement *g = arg;
    struct rcx_comm *comm = g->comm;
    const size_t bytes = rcx_agree_msg_bytes(comm->size);

    if (is_seen_dead(g, to))
        return;
    rcx_peer_count_agree(comm->context, rcx_comm_context_rank(comm, to));
    *g->out =
        (struct rcx_ctrl_msg){.kind = RCX_CTRL_AGREE, .sequence = g->sending};
    memcpy(g->out + 1, msg, bytes);
    rcx_ctrl_send_more(comm, to, g->out, bytes);
}

/* Whether the member can see that this process has ended, too. */
static bool is_near(int rank, void *arg)
{
    return process_of(arg, rank, false) != RCX_PROCESS_UNKNOWN;
}

/* ---- Failed members ------------------------------------------------------ */

/* The least time after which others may take a silent member for failed: in
 * this agreement, or in an operation before it. */
static uint64_t absence_ns(const struct rcx_agreement *g)
{
    uint64_t least = UINT64_MAX;

    if (g->timeout_ns > 0)
        least = (uint64_t)g->timeout_ns / COME_PARTS;
    for (const struct rcx_comm *c = g->comm->context->comms.first; c;
         c = c->next) {
        const uint64_t answer_ns = rcx_answer_ns(c->timeout_ns);

        if (c->timeout_ns > 0 && answer_ns < least)
            least = answer_ns;
    }
    return least;
}

/* Long enough for the others to go on without it, and to end; perhaps just
 * now. */
static bool was_absent(const struct rcx_agreement *g)
{
    struct rcx_context *context = g->comm->context;
    const struct rcx_instant now = rcx_instant_now();

    rcx_detector_note_stall(&context->detector,
                            rcx_time_at(&context->time, &now));
    return context->detector.stall_ns > absence_ns(g);
}

/* Whether the process of member i has ended, and all that it sent to this one
 * has been received. Else look again once control messages have been read. This
 * process may have been stopped until it saw that end, so it asks for its own
 * absence afterwards. */
static bool has_ended(struct rcx_agreement *g, int i)
{
    const struct rcx_peer peer =
        rcx_peer_of(g->comm->context, rcx_comm_context_rank(g->comm, i));

    if (!peer.has_ended &&
        (process_of(g, i, false) != RCX_PROCESS_ENDED ||
         process_of(g, i, was_absent(g)) != RCX_PROCESS_ENDED))
        return false;
    if (g->processes[i] == RUNS) {
        g->processes[i] = ENDED;
        g->must_read = true;
    }
    return g->processes[i] == READ;
}

/* A member that has left says how many messages of agreements it had sent
 * before: what it has decided is among them. */
static bool is_dead(struct rcx_agreement *g, int i)
{
    const struct rcx_peer peer =
        rcx_peer_of(g->comm->context, rcx_comm_context_rank(g->comm, i));

    return peer.state == RCX_PEER_DEPARTED
               ? (int32_t)(peer.agree_received - peer.agree_announced) >= 0
               : has_ended(g, i);
}

/* Tell a, whose number is g->sending, what this rank knows. Once a member has
 * failed, look for others, which the detector may find later. */
static void feed(struct rcx_agreement *g, struct rcx_agree *a)
{
    const struct rcx_comm *comm = g->comm;
    const bool looks = rcx_agree_state(a) == RCX_AGREE_RECOVER;

    for (int i = 0; i < g->failed_count; i++)
        rcx_agree_fail(a, g->failed[i], false);
    for (int i = 0; i < comm->size; i++) {
        const int rank = rcx_comm_context_rank(comm, i);

        if (rcx_peer_is_gone(comm->context, rank))
            rcx_agree_fail(a, i, is_dead(g, i));
        else if (looks && is_dead(g, i))
            rcx_agree_fail(a, i, true);
    }
}

static void feed_news(struct rcx_agreement *g, uint64_t now)
{
    const uint64_t changes = g->comm->context->peer_changes;

    if (g->peers_seen == changes && now - g->fed_ns < FEED_NS)
        return;
    g->peers_seen = changes;
    g->fed_ns = now;
    g->sending = g->open;
    if (open_one(g))
        feed(g, open_one(g));
}

/* ---- Life ---------------------------------------------------------------- */

static void destroy(struct rcx_heap *heap, struct rcx_agreement *g)
{
    rcx_heap_free(heap, g->out);
    rcx_heap_free(heap, g->has_answered);
    rcx_heap_free(heap, g->processes);
    rcx_heap_free(heap, g);
}

static struct rcx_agreement *agreement_of(struct rcx_comm *comm)
{
    struct rcx_heap *heap = &comm->context->heap;
    struct rcx_agreement *g = comm->agreement;

    if (g)
        return g;
    g = rcx_heap_zalloc(heap, sizeof *g + (size_t)comm->size * sizeof(int));
    if (!g)
        return NULL;
    g->out =
        rcx_heap_alloc(heap, sizeof *g->out + rcx_agree_msg_bytes(comm->size));
    g->has_answered = rcx_heap_zalloc(heap, (size_t)comm->size);
    g->processes = rcx_heap_zalloc(heap, (size_t)comm->size);
    if (!g->out || !g->has_answered || !g->processes) {
        destroy(heap, g);
        return NULL;
    }
    g->comm = comm;
    g->open = 1;
    g->is_settled = true;
    comm->agreement = g;
    return g;
}

/* The agreement of this number, which is made if it is new. NULL: no memory. */
static struct rcx_agree *get(struct rcx_agreement *g, uint32_t number)
{
    struct rcx_comm *comm = g->comm;
    const struct rcx_agree_setting setting = {
        .size = comm->size,
        .rank = comm->rank,
        .accepts_minority = comm->config->accepts_minority,
        .send = send,
        .is_near = is_near,
        .arg = g};
    struct rcx_agree **a = &g->kept[number % KEPT];

    if (*a)
        return *a;
    *a = rcx_agree_create(&comm->context->heap, &setting);
    if (*a)
        feed(g, *a);
    return *a;
}

void rcx_agreement_free(struct rcx_comm *comm)
{
    struct rcx_agreement *g = comm->agreement;

    for (int i = 0; g && i < KEPT; i++)
        rcx_agree_destroy(g->kept[i]);
    if (g)
        destroy(&comm->context->heap, g);
    comm->agreement = NULL;
}

rcx_status_t rcx_agreement_begin(struct rcx_comm *comm, uint64_t word,
                                 int64_t timeout_ns)
{
    struct rcx_agreement *g = agreement_of(comm);
    struct rcx_agree *a = g ? get(g, g->open) : NULL;
    char called[RCX_COMM_TEXT];

    if (!a)
        return rcx_fail(&comm->context->log, RCX_ERR_NOMEM,
                        "%s: no memory for an agreement of %d ranks",
                        rcx_comm_print(comm, called), comm->size);
    g->timeout_ns = timeout_ns;
    g->begin_ns = g->wait_ns = g->looked_ns = rcx_now_ns();
    g->role = FAST;
    g->is_pinging = false;
    g->has_expired = false;
    g->sending = g->open;
    g->peers_seen = comm->context->peer_changes;
    feed(g, a);
    if (!g->is_entered)
        rcx_agree_enter(a, word);
    g->is_entered = true;
    return RCX_OK;
}

void rcx_agreement_look(struct rcx_comm *comm)
{
    struct rcx_agreement *g = agreement_of(comm);

    for (int i = 0; g && i < comm->size; i++)
        if (rcx_peer_is_gone(comm->context, rcx_comm_context_rank(comm, i)))
            has_ended(g, i);
}

bool rcx_agreement_must_read(const struct rcx_comm *comm)
{
    return comm->agreement && comm->agreement->must_read;
}

void rcx_agreement_has_read(struct rcx_comm *comm)
{
    struct rcx_agreement *g = comm->agreement;

    for (int i = 0; i < comm->size; i++)
        if (g->processes[i] == ENDED)
            g->processes[i] = READ;
    g->must_read = false;
    g->fed_ns = 0;
}

/* ---- Deadlines ----------------------------------------------------------- */

static bool may_be_pinged(const struct rcx_agreement *g, int rank)
{
    return rank < g->comm->rank && !rcx_agree_is_suspect(open_one(g), rank);
}

/* Ask all members that may lead before this one. */
static void ping(struct rcx_agreement *g, uint64_t now)
{
    g->wait_ns = now;
    g->is_pinging = true;
    memset(g->has_answered, 0, (size_t)g->comm->size);
    for (int i = 0; i < g->comm->rank; i++) {
        struct rcx_ctrl_msg body = {.kind = RCX_CTRL_PING, .sequence = g->open};

        if (may_be_pinged(g, i))
            rcx_ctrl_send(g->comm, i, &body);
    }
}

/* Those that have not answered are silent, or have not come. */
static void judge(struct rcx_agreement *g)
{
    g->is_pinging = false;
    g->sending = g->open;
    for (int i = 0; i < g->comm->rank; i++)
        if (may_be_pinged(g, i) && !g->has_answered[i])
            rcx_agree_fail(open_one(g), i, false);
}

/* A wait has lasted too long. */
static void go_on_without(struct rcx_agreement *g, uint64_t now)
{
    struct rcx_agree *a = open_one(g);
    const bool follows =
        rcx_agree_state(a) == RCX_AGREE_RECOVER && !rcx_agree_leads(a);

    if (follows && !g->is_pinging) {
        ping(g, now);
        return;
    }
    g->wait_ns = now;
    g->sending = g->open;
    if (follows)
        judge(g);
    else
        rcx_agree_overdue(a);
}

/* For another coordinator, or as one. */
static bool begins_to_wait(struct rcx_agreement *g, uint64_t now)
{
    const struct rcx_agree *a = open_one(g);
    const int role = rcx_agree_state(a) == RCX_AGREE_FAST ? FAST
                     : rcx_agree_lacks_quorum(a)          ? LACKS_QUORUM
                     : rcx_agree_leads(a)                 ? LEADS
                                          : rcx_agree_awaited(a);

    if (role == g->role)
        return false;
    g->role = role;
    g->wait_ns = now;
    g->is_pinging = false;
    return true;
}

/* How long a member waits without a quorum. */
static int64_t quorum_ns(const struct rcx_agreement *g)
{
    const int64_t part = g->timeout_ns / REPLY_PARTS;

    return part > 0 && part < QUORUM_NS ? part : QUORUM_NS;
}

/* Time in which this process did not look does not count: messages wait for it
 * after it was stopped. */
static int64_t waited_ns(struct rcx_agreement *g, uint64_t now)
{
    if ((int64_t)(now - g->looked_ns) >= quorum_ns(g))
        g->wait_ns = now;
    g->looked_ns = now;
    return (int64_t)(now - g->wait_ns);
}

static void check_deadline(struct rcx_agreement *g, uint64_t now)
{
    const int64_t age = (int64_t)(now - g->begin_ns);
    const bool has_begun = begins_to_wait(g, now);
    const int64_t waited = waited_ns(g, now);

    if (has_begun)
        return;
    if (g->role == LACKS_QUORUM && waited >= quorum_ns(g))
        go_on_without(g, now);
    if (g->timeout_ns == 0)
        return;
    g->has_expired =
        age >= g->timeout_ns && waited >= g->timeout_ns / REPLY_PARTS;
    if (age >= g->timeout_ns / COME_PARTS &&
        waited >= g->timeout_ns / REPLY_PARTS)
        go_on_without(g, now);
}

int rcx_agreement_awaited(const struct rcx_comm *comm)
{
    const struct rcx_agreement *g = comm->agreement;

    return g && g->is_entered ? rcx_agree_awaited(open_one(g)) : -1;
}

/* A rank that only waits learns by this that no transport leads to the peer. */
static void reach_awaited(struct rcx_agreement *g)
{
    struct rcx_transport *t = g->comm->context->transport;
    const int awaited = rcx_agree_awaited(open_one(g));

    if (awaited < 0 || !t || !t->ops->reach ||
        t->ops->reach(t, rcx_comm_context_rank(g->comm, awaited)) !=
            RCX_ERR_TRANSPORT)
        return;
    t->last_error[0] = '\0';
    g->sending = g->open;
    rcx_agree_fail(open_one(g), awaited, false);
}

bool rcx_agreement_is_over(struct rcx_comm *comm)
{
    struct rcx_agreement *g = comm->agreement;
    const uint64_t now = rcx_now_ns();

    feed_news(g, now);
    if (!is_final(open_one(g)))
        check_deadline(g, now);
    if (is_final(open_one(g)) || g->has_expired)
        return true;
    reach_awaited(g);
    return false;
}

/* ---- Results ------------------------------------------------------------- */

/* The failed members' other communicators fail as well. */
static void fail_members(struct rcx_comm *comm, const struct rcx_agreement *g)
{
    char text[RCX_REASON_TEXT], ranks[128], called[RCX_COMM_TEXT];

    if (g->failed_count == 0)
        return;
    snprintf(text, sizeof text,
             "%s: its members have agreed that some have failed%s",
             rcx_comm_print(comm, called),
             rcx_ranks_print(comm, ": rank", g->failed, g->failed_count, ranks,
                             sizeof ranks));
    rcx_comm_fail_local(comm, RCX_ERR_PEER_FAILED, g->failed, g->failed_count,
                        text);
    for (int i = 0; i < g->failed_count; i++) {
        const int rank = rcx_comm_context_rank(comm, g->failed[i]);

        if (rcx_peer_step(comm->context, rank, RCX_PEER_REPORTED) ==
            RCX_PEER_FAIL_COMMS)
            rcx_peer_fail_comms(comm->context, rank,
                                comm->size == comm->context->boot->size);
        rcx_peer_exclude(comm->context, rank);
    }
}

/* The open agreement is decided: the next one opens. */
static void close_open(struct rcx_agreement *g)
{
    struct rcx_comm *comm = g->comm;
    const struct rcx_agree *a = open_one(g);
    struct rcx_agree **oldest = &g->kept[(g->open + 2) % KEPT];

    g->failed_count = 0;
    g->all_are_dead = true;
    for (int i = 0; i < comm->size; i++) {
        if (!rcx_agree_has_failed(a, i))
            continue;
        g->failed[g->failed_count++] = i;
        g->all_are_dead &= rcx_agree_is_dead(a, i);
    }
    g->is_settled &= rcx_agree_is_fast(a);
    rcx_agree_destroy(*oldest);
    *oldest = NULL;
    g->open++;
    g->is_entered = false;
}

static rcx_status_t exclude(struct rcx_comm *comm, const struct rcx_agree *a)
{
    char text[RCX_REASON_TEXT], called[RCX_COMM_TEXT], names[128];
    int lost[RCX_RANKS_LISTED], n = 0;

    for (int i = 0; i < comm->size && n < RCX_RANKS_LISTED; i++)
        if (rcx_agree_is_suspect(a, i))
            lost[n++] = i;
    if (rcx_agree_state(a) == RCX_AGREE_CUT_OFF)
        snprintf(text, sizeof text,
                 "%s: rank %d can reach too few members for a quorum "
                 "(RCX_QUORUM)%s",
                 rcx_comm_print(comm, called), comm->rank,
                 rcx_ranks_print(comm, "; it cannot reach rank", lost, n, names,
                                 sizeof names));
    else
        snprintf(text, sizeof text,
                 "%s: rank %d is excluded: the other members have agreed that "
                 "it has failed",
                 rcx_comm_print(comm, called), comm->rank);
    if (comm->status != RCX_ERR_EXCLUDED)
        rcx_comm_exclude(comm, text);
    return RCX_ERR_EXCLUDED;
}

rcx_status_t rcx_agreement_end(struct rcx_comm *comm, uint64_t *word_p)
{
    struct rcx_agreement *g = comm->agreement;
    const struct rcx_agree *a = open_one(g);
    const enum rcx_agree_state state = rcx_agree_state(a);
    char called[RCX_COMM_TEXT];

    if (state == RCX_AGREE_EXCLUDED || state == RCX_AGREE_CUT_OFF)
        return exclude(comm, a);
    if (state != RCX_AGREE_DECIDED)
        return rcx_fail(&comm->context->log, RCX_ERR_TIMEOUT,
                        "%s: no agreement within %.3g s; the next call goes on "
                        "with it",
                        rcx_comm_print(comm, called),
                        (double)g->timeout_ns / 1e9);
    *word_p = rcx_agree_word(a);
    close_open(g);
    fail_members(comm, g);
    return RCX_OK;
}

int rcx_agreement_failed(const struct rcx_comm *comm, const int **ranks_p)
{
    const struct rcx_agreement *g = comm->agreement;

    *ranks_p = g ? g->failed : NULL;
    return g ? g->failed_count : 0;
}

struct rcx_id_offer *rcx_agreement_offer(struct rcx_comm *comm)
{
    struct rcx_agreement *g = agreement_of(comm);

    return g ? &g->offer : NULL;
}

uint32_t rcx_agreement_count(const struct rcx_comm *comm)
{
    return comm->agreement ? comm->agreement->open - 1 : 0;
}

bool rcx_agreement_all_are_dead(const struct rcx_comm *comm)
{
    return comm->agreement && comm->agreement->all_are_dead;
}

bool rcx_agreement_may_be_freed(const struct rcx_comm *comm)
{
    const struct rcx_agreement *g = comm->agreement;

    return !g || (g->is_settled && !g->is_entered);
}

void rcx_agreement_settle(struct rcx_comm *comm)
{
    comm->agreement->is_settled = true;
}

/* ---- Receiving ----------------------------------------------------------- */

/* The others have decided a later agreement, for which each member that has not
 * failed has entered it: so this one has, in the ones before. */
static void exclude_before(struct rcx_agreement *g, uint32_t number)
{
    for (uint32_t n = g->open; n < number && n <= g->open + 1; n++) {
        struct rcx_agree *a = get(g, n);

        if (a)
            rcx_agree_exclude(a);
    }
}

/* A member that asks for an older agreement than the last one is among the
 * failed members of that one. */
static void receive(struct rcx_agreement *g, int from, uint32_t number,
                    const struct rcx_agree_msg *msg)
{
    struct rcx_agree *a = NULL;

    if (msg->kind == RCX_AGREE_DECIDE)
        exclude_before(g, number);
    g->sending = number;
    if (number + 1 < g->open)
        a = kept(g, g->open - 1);
    else if (number <= g->open + 1)
        a = get(g, number);
    if (!a)
        return;
    rcx_agree_receive(a, from, msg);
}

void rcx_agreement_receive(struct rcx_comm *comm,
                           const struct rcx_ctrl_msg *body, size_t bytes)
{
    struct rcx_agreement *g = agreement_of(comm);

    if (!g || bytes != rcx_agree_msg_bytes(comm->size) || body->sequence == 0)
        return;
    feed_news(g, rcx_now_ns());
    receive(g, rcx_comm_index(comm, body->from), (uint32_t)body->sequence,
            (const struct rcx_agree_msg *)(body + 1));
}

void rcx_agreements_leave(struct rcx_context *context)
{
    for (struct rcx_comm *c = context->comms.first; c; c = c->next) {
        struct rcx_agreement *g = c->agreement;

        if (!g || !kept(g, g->open - 1))
            continue;
        g->sending = g->open - 1;
        rcx_agree_leave(kept(g, g->sending));
    }
}

/* A member that has decided, or that takes part, may be waited for. */
void rcx_agreement_answer(struct rcx_comm *comm,
                          const struct rcx_ctrl_msg *body)
{
    const struct rcx_agreement *g = comm->agreement;
    struct rcx_ctrl_msg reply = {.kind = RCX_CTRL_PONG,
                                 .sequence = body->sequence};

    if (g && (body->sequence < g->open ||
              (body->sequence == g->open && g->is_entered)))
        rcx_ctrl_send(comm, rcx_comm_index(comm, body->from), &reply);
}

void rcx_agreement_note_answer(struct rcx_comm *comm,
                               const struct rcx_ctrl_msg *body)
{
    struct rcx_agreement *g = comm->agreement;

    if (g && body->sequence == g->open)
        g->has_answered[rcx_comm_index(comm, body->from)] = 1;
}

void rcx_agreement_tell_gone(struct rcx_context *context,
                             const struct rcx_ctrl_msg *body)
{
    const bool is_excluded = rcx_peer_of(context, body->from).is_excluded;
    struct rcx_ctrl_msg reply = {.kind = RCX_CTRL_GONE,
                                 .sequence = body->sequence,
                                 .comm_id = body->comm_id,
                                 .group = body->group,
                                 .status =
                                     is_excluded ? RCX_ERR_EXCLUDED : RCX_OK};

    rcx_ctrl_reply(context, body->from, &reply);
}

void rcx_agreement_gone(struct rcx_comm *comm, const struct rcx_ctrl_msg *body)
{
    struct rcx_agreement *g = comm->agreement;

    if (!g || body->sequence != g->open || !g->is_entered)
        return;
    if (body->status == RCX_ERR_EXCLUDED)
        rcx_agree_exclude(open_one(g));
    else
        rcx_agree_gone(open_one(g));
}
