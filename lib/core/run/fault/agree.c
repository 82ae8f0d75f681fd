/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Uniform agreement: ballot 0 by dissemination, later ballots by coordinators.
 * See agree.h for the algorithm and why it is safe.
 */
#include "core/run/fault/agree.h"

#include <string.h>

enum { ROUNDS_MOST = 64, NO_BALLOT = -1 };

enum set {
    FAILED,   /* taken for failed by this member; never this member itself */
    DEAD,     /* known to have ended; part of FAILED */
    ACCEPTED, /* failed members of the accepted value */
    BEST,     /* of the value of the highest ballot among those that joined */
    VALUE,    /* of the proposed, and of the decided value */
    JOINED,   /* have joined this coordinator */
    AGREED,   /* have accepted this coordinator's proposal */
    SETS
};

struct rcx_agree {
    struct rcx_heap *heap;
    struct rcx_agree_setting s;
    size_t words;
    enum rcx_agree_state state;
    uint64_t word;   /* own */
    int promised;    /* refuses lower ballots */
    int coordinator; /* that it has joined; -1: none */
    int accepted;    /* ballot of the accepted value, or NO_BALLOT */
    uint64_t accepted_word;
    int rounds;             /* of one dissemination */
    int round;              /* ballot 0: the one whose message is awaited */
    uint64_t got;           /* rounds whose message has arrived */
    uint64_t all;           /* AND of the words known in ballot 0 */
    bool has_accepted_fast; /* all, in ballot 0 */
    bool is_fast;           /* decided in ballot 0 */
    uint64_t got_words[ROUNDS_MOST];
    int best; /* coordinator: highest ballot accepted by those that joined */
    uint64_t best_word;
    uint64_t joined_word; /* AND of the words of those that joined */
    bool has_proposed;
    uint64_t value_word;       /* proposed or decided */
    struct rcx_agree_msg *out; /* the message that is being sent */
    uint64_t *sets;
};

/* ---- Sets ---------------------------------------------------------------- */

static uint64_t *set_of(const struct rcx_agree *a, enum set set)
{
    return a->sets + (size_t)set * a->words;
}

static bool has(const struct rcx_agree *a, enum set set, int rank)
{
    return set_of(a, set)[rank / 64] >> (rank % 64) & 1;
}

static void add(struct rcx_agree *a, enum set set, int rank)
{
    set_of(a, set)[rank / 64] |= UINT64_C(1) << (rank % 64);
}

static void remove_oneself(struct rcx_agree *a, enum set set)
{
    set_of(a, set)[a->s.rank / 64] &= ~(UINT64_C(1) << (a->s.rank % 64));
}

static void copy(struct rcx_agree *a, enum set to, const uint64_t *from)
{
    memcpy(set_of(a, to), from, a->words * sizeof *from);
}

static const uint64_t *sent_set(const struct rcx_agree *a,
                                const struct rcx_agree_msg *m, int set)
{
    return m->sets + (size_t)set * a->words;
}

/* Whether set is a quorum: see agree.h. */
static bool is_quorum(const struct rcx_agree *a, enum set set)
{
    int n = 0;
    bool is_any_silent = false;

    for (int i = 0; i < a->s.size; i++) {
        n += has(a, set, i);
        is_any_silent |= !has(a, set, i) && !has(a, DEAD, i);
    }
    return !is_any_silent || 2 * n > a->s.size ||
           (2 * n == a->s.size && has(a, set, 0)) || a->s.accepts_minority;
}

/* Whether set has all members that are not taken for failed. */
static bool is_complete(const struct rcx_agree *a, enum set set)
{
    for (int i = 0; i < a->s.size; i++)
        if (!has(a, set, i) && !has(a, FAILED, i))
            return false;
    return true;
}

/* The set of members whose replies the coordinator waits for. */
static enum set replies(const struct rcx_agree *a)
{
    return a->has_proposed ? AGREED : JOINED;
}

static bool has_quorum(const struct rcx_agree *a)
{
    return is_complete(a, replies(a)) && is_quorum(a, replies(a));
}

/* ---- Life ---------------------------------------------------------------- */

struct rcx_agree *rcx_agree_create(struct rcx_heap *heap,
                                   const struct rcx_agree_setting *setting)
{
    const size_t words = rcx_agree_words(setting->size);
    struct rcx_agree *a = rcx_heap_zalloc(heap, sizeof *a);

    if (!a)
        return NULL;
    a->heap = heap;
    a->s = *setting;
    a->words = words;
    a->coordinator = -1;
    a->accepted = a->best = NO_BALLOT;
    a->joined_word = UINT64_MAX;
    while (INT64_C(1) << a->rounds < setting->size)
        a->rounds++;
    a->sets = rcx_heap_zalloc(heap, SETS * words * sizeof *a->sets);
    a->out = rcx_heap_zalloc(heap, rcx_agree_msg_bytes(setting->size));
    if (a->sets && a->out)
        return a;
    rcx_agree_destroy(a);
    return NULL;
}

void rcx_agree_destroy(struct rcx_agree *a)
{
    struct rcx_heap *heap;

    if (!a)
        return;
    heap = a->heap;
    rcx_heap_free(heap, a->sets);
    rcx_heap_free(heap, a->out);
    rcx_heap_free(heap, a);
}

enum rcx_agree_state rcx_agree_state(const struct rcx_agree *a)
{
    return a->state;
}

uint64_t rcx_agree_word(const struct rcx_agree *a)
{
    return a->value_word;
}

bool rcx_agree_has_failed(const struct rcx_agree *a, int rank)
{
    return has(a, VALUE, rank);
}

bool rcx_agree_is_dead(const struct rcx_agree *a, int rank)
{
    return has(a, DEAD, rank);
}

bool rcx_agree_is_fast(const struct rcx_agree *a)
{
    return a->is_fast;
}

bool rcx_agree_leads(const struct rcx_agree *a)
{
    return a->state == RCX_AGREE_RECOVER && a->coordinator == a->s.rank;
}

bool rcx_agree_lacks_quorum(const struct rcx_agree *a)
{
    return rcx_agree_leads(a) && is_complete(a, replies(a)) &&
           !is_quorum(a, replies(a));
}

bool rcx_agree_is_suspect(const struct rcx_agree *a, int rank)
{
    return has(a, FAILED, rank);
}

int rcx_agree_awaited(const struct rcx_agree *a)
{
    const int64_t distance =
        a->rounds > 0 ? INT64_C(1) << a->round % a->rounds : 0;

    if (a->state == RCX_AGREE_FAST)
        return (int)((a->s.rank + a->s.size - distance) % a->s.size);
    return a->state == RCX_AGREE_RECOVER && !rcx_agree_leads(a) ? a->coordinator
                                                                : -1;
}

static bool is_final(const struct rcx_agree *a)
{
    return a->state >= RCX_AGREE_DECIDED;
}

/* ---- Sending ------------------------------------------------------------- */

static struct rcx_agree_msg *message(struct rcx_agree *a,
                                     enum rcx_agree_kind kind)
{
    struct rcx_agree_msg *m = a->out;
    const size_t bytes = a->words * sizeof *m->sets;

    *m = (struct rcx_agree_msg){.kind = (uint8_t)kind, .word = a->value_word};
    memcpy(m->sets, set_of(a, FAILED), bytes);
    memcpy(m->sets + a->words, set_of(a, DEAD), bytes);
    memcpy(m->sets + 2 * a->words, set_of(a, VALUE), bytes);
    return m;
}

static void send_to(struct rcx_agree *a, int to, const struct rcx_agree_msg *m)
{
    a->s.send(to, m, a->s.arg);
}

/* Send to all members that are not in set except. */
static void send_all(struct rcx_agree *a, enum set except,
                     const struct rcx_agree_msg *m)
{
    for (int i = 0; i < a->s.size; i++)
        if (i != a->s.rank && !has(a, except, i))
            send_to(a, i, m);
}

static void send_decision(struct rcx_agree *a, int to)
{
    send_to(a, to, message(a, RCX_AGREE_DECIDE));
}

/* A member that has accepted the value in a later ballot than 0 is not among
 * these. Once all that have decided are dead or have left, such a member finds
 * the value; one of these would decide for itself. */
static void send_to_suspects(struct rcx_agree *a, bool all)
{
    for (int i = 0; i < a->s.size; i++)
        if (i != a->s.rank && (has(a, FAILED, i) || has(a, VALUE, i)) &&
            !has(a, DEAD, i) && (all || a->s.is_near(i, a->s.arg)))
            send_decision(a, i);
}

void rcx_agree_leave(struct rcx_agree *a)
{
    if (a->state == RCX_AGREE_DECIDED && !a->is_fast)
        send_to_suspects(a, true);
}

static void send_join(struct rcx_agree *a)
{
    struct rcx_agree_msg *m = message(a, RCX_AGREE_JOIN);

    m->ballot = a->accepted;
    m->word = a->word;
    m->accepted = a->accepted_word;
    memcpy(m->sets + RCX_AGREE_VALUE * a->words, set_of(a, ACCEPTED),
           a->words * sizeof *m->sets);
    send_to(a, a->coordinator, m);
}

/* ---- Accepting and deciding ---------------------------------------------- */

static void accept(struct rcx_agree *a, int ballot, uint64_t word,
                   const uint64_t *failed)
{
    a->accepted = ballot;
    a->accepted_word = word;
    copy(a, ACCEPTED, failed);
}

static void decide(struct rcx_agree *a, uint64_t word, const uint64_t *failed)
{
    if (is_final(a))
        return;
    a->value_word = word;
    if (failed != set_of(a, VALUE))
        copy(a, VALUE, failed);
    a->state =
        has(a, VALUE, a->s.rank) ? RCX_AGREE_EXCLUDED : RCX_AGREE_DECIDED;
}

/* ---- The coordinator ----------------------------------------------------- */

/* Member from joins this one, with its word and its accepted value. */
static void join(struct rcx_agree *a, int from, uint64_t word, int accepted,
                 uint64_t accepted_word, const uint64_t *accepted_failed)
{
    add(a, JOINED, from);
    a->joined_word &= word;
    if (accepted > a->best) {
        a->best = accepted;
        a->best_word = accepted_word;
        copy(a, BEST, accepted_failed);
    }
}

static void propose(struct rcx_agree *a)
{
    const bool is_bound = a->best != NO_BALLOT;
    struct rcx_agree_msg *m;

    a->has_proposed = true;
    a->value_word = is_bound ? a->best_word : a->joined_word;
    copy(a, VALUE, set_of(a, is_bound ? BEST : FAILED));
    accept(a, a->s.rank + 1, a->value_word, set_of(a, VALUE));
    add(a, AGREED, a->s.rank);
    m = message(a, RCX_AGREE_PROPOSE);
    m->ballot = a->s.rank + 1;
    send_all(a, FAILED, m);
}

/* The members that have joined are in the same part. */
static void cut_off(struct rcx_agree *a)
{
    a->state = RCX_AGREE_CUT_OFF;
    send_all(a, FAILED, message(a, RCX_AGREE_CUT));
}

/* Go on if all members have replied that are not taken for failed. If they are
 * no quorum, others of them may turn out to be dead, or reply after all. */
static void evaluate(struct rcx_agree *a)
{
    const struct rcx_agree_msg *m;

    if (!rcx_agree_leads(a))
        return;
    if (!a->has_proposed && has_quorum(a))
        propose(a);
    if (!a->has_proposed || !has_quorum(a))
        return;
    decide(a, a->value_word, set_of(a, VALUE));
    /* to all: one that lives, whatever is known of it, must learn that it is
     * excluded */
    m = message(a, RCX_AGREE_DECIDE);
    for (int i = 0; i < a->s.size; i++)
        if (i != a->s.rank)
            send_to(a, i, m);
}

static void lead(struct rcx_agree *a)
{
    join(a, a->s.rank, a->word, a->accepted, a->accepted_word,
         set_of(a, ACCEPTED));
    send_all(a, FAILED, message(a, RCX_AGREE_COLLECT));
    evaluate(a);
}

/* Join the lowest member that is not taken for failed. */
static void recover(struct rcx_agree *a)
{
    int lowest = 0;

    while (has(a, FAILED, lowest)) /* this member is not */
        lowest++;
    a->state = RCX_AGREE_RECOVER;
    if (lowest == a->coordinator) {
        evaluate(a);
        return;
    }
    a->coordinator = lowest;
    if (a->promised < lowest + 1)
        a->promised = lowest + 1;
    if (lowest == a->s.rank)
        lead(a);
    else
        send_join(a);
}

/* ---- Ballot 0 ------------------------------------------------------------ */

static void send_round(struct rcx_agree *a)
{
    struct rcx_agree_msg *m = message(a, RCX_AGREE_ROUND);
    const int64_t distance = INT64_C(1) << a->round % a->rounds;

    m->round = (uint8_t)a->round;
    m->word = a->all;
    send_to(a, (int)((a->s.rank + distance) % a->s.size), m);
}

/* No member has failed: FAILED is empty. */
static void accept_fast(struct rcx_agree *a)
{
    a->has_accepted_fast = true;
    accept(a, 0, a->all, set_of(a, FAILED));
}

static void decide_fast(struct rcx_agree *a)
{
    a->is_fast = true;
    decide(a, a->all, set_of(a, FAILED));
}

/* Go on with the rounds whose messages have arrived. */
static void advance(struct rcx_agree *a)
{
    while (a->state == RCX_AGREE_FAST && a->got >> a->round & 1) {
        if (a->round < a->rounds)
            a->all &= a->got_words[a->round];
        a->round++;
        if (a->round == a->rounds)
            accept_fast(a);
        if (a->round < 2 * a->rounds)
            send_round(a);
        else
            decide_fast(a);
    }
}

void rcx_agree_enter(struct rcx_agree *a, uint64_t word)
{
    bool is_any_failed = false;

    a->word = a->all = word;
    if (a->state != RCX_AGREE_IDLE)
        return;
    for (size_t i = 0; i < a->words; i++)
        is_any_failed |= set_of(a, FAILED)[i] != 0;
    if (a->promised > 0 || is_any_failed) {
        recover(a);
        return;
    }
    a->state = RCX_AGREE_FAST;
    if (a->rounds == 0) {
        decide_fast(a);
        return;
    }
    send_round(a);
    advance(a);
}

/* ---- Events -------------------------------------------------------------- */

/* Add the failed members of the sender. */
static void merge(struct rcx_agree *a, const struct rcx_agree_msg *m)
{
    uint64_t *failed = set_of(a, FAILED), *dead = set_of(a, DEAD);

    for (size_t i = 0; i < a->words; i++) {
        dead[i] |= sent_set(a, m, RCX_AGREE_DEAD)[i];
        failed[i] |= sent_set(a, m, RCX_AGREE_FAILED)[i] | dead[i];
    }
    remove_oneself(a, FAILED);
    remove_oneself(a, DEAD);
}

void rcx_agree_fail(struct rcx_agree *a, int rank, bool is_dead)
{
    const bool is_known =
        has(a, FAILED, rank) && (!is_dead || has(a, DEAD, rank));

    if (rank == a->s.rank || is_known)
        return;
    add(a, FAILED, rank);
    if (is_dead)
        add(a, DEAD, rank);
    if (a->state == RCX_AGREE_FAST || a->state == RCX_AGREE_RECOVER)
        recover(a);
}

void rcx_agree_overdue(struct rcx_agree *a)
{
    if (a->state == RCX_AGREE_FAST) {
        recover(a);
        return;
    }
    if (a->state != RCX_AGREE_RECOVER)
        return;
    if (!rcx_agree_leads(a)) {
        rcx_agree_fail(a, a->coordinator, false);
        return;
    }
    if (rcx_agree_lacks_quorum(a)) {
        cut_off(a);
        return;
    }
    for (int i = 0; i < a->s.size; i++)
        if (!has(a, replies(a), i))
            add(a, FAILED, i);
    evaluate(a);
}

void rcx_agree_gone(struct rcx_agree *a)
{
    if (is_final(a) || !a->has_accepted_fast)
        return;
    a->is_fast = true;
    memset(set_of(a, VALUE), 0, a->words * sizeof *a->sets);
    decide(a, a->all, set_of(a, VALUE));
}

void rcx_agree_exclude(struct rcx_agree *a)
{
    if (!is_final(a))
        a->state = RCX_AGREE_EXCLUDED;
}

static void receive_join(struct rcx_agree *a, int from,
                         const struct rcx_agree_msg *m)
{
    join(a, from, m->word, m->ballot, m->accepted,
         sent_set(a, m, RCX_AGREE_VALUE));
    /* the sender has left ballot 0 */
    if (a->promised < a->s.rank + 1)
        a->promised = a->s.rank + 1;
}

static void receive_proposal(struct rcx_agree *a, int from,
                             const struct rcx_agree_msg *m)
{
    struct rcx_agree_msg *reply;

    if (m->ballot != from + 1 || m->ballot < a->promised)
        return;
    a->promised = m->ballot;
    accept(a, m->ballot, m->word, sent_set(a, m, RCX_AGREE_VALUE));
    reply = message(a, RCX_AGREE_ACCEPT);
    reply->ballot = m->ballot;
    send_to(a, from, reply);
}

static void receive_round(struct rcx_agree *a, const struct rcx_agree_msg *m)
{
    if (m->round >= 2 * a->rounds)
        return;
    a->got |= UINT64_C(1) << m->round;
    a->got_words[m->round] = m->word;
    advance(a);
}

/* Members that have joined this one wait for it. The coordinator may have died
 * while it told the others. */
static void receive_decision(struct rcx_agree *a, const struct rcx_agree_msg *m)
{
    if (is_final(a))
        return;
    merge(a, m);
    decide(a, m->word, sent_set(a, m, RCX_AGREE_VALUE));
    if (a->state == RCX_AGREE_DECIDED)
        send_to_suspects(a, false);
    for (int i = 0; i < a->s.size; i++)
        if (i != a->s.rank && has(a, JOINED, i))
            send_decision(a, i);
}

/* Handle what a member in a later ballot has sent. */
static void receive_recovering(struct rcx_agree *a, int from,
                               const struct rcx_agree_msg *m)
{
    merge(a, m);
    if (m->kind == RCX_AGREE_JOIN)
        receive_join(a, from, m);
    else if (m->kind == RCX_AGREE_PROPOSE)
        receive_proposal(a, from, m);
    else if (m->kind == RCX_AGREE_ACCEPT && a->has_proposed &&
             m->ballot == a->s.rank + 1)
        add(a, AGREED, from);
    else if (m->kind == RCX_AGREE_COLLECT && from == a->coordinator)
        send_join(a); /* it may have missed the first one */
    if (m->kind == RCX_AGREE_COLLECT && a->promised < from + 1)
        a->promised = from + 1;
    if (a->state == RCX_AGREE_FAST || a->state == RCX_AGREE_RECOVER)
        recover(a);
}

void rcx_agree_receive(struct rcx_agree *a, int from,
                       const struct rcx_agree_msg *m)
{
    if (a->state == RCX_AGREE_EXCLUDED || a->state == RCX_AGREE_CUT_OFF)
        return;
    if (m->kind == RCX_AGREE_DECIDE)
        receive_decision(a, m);
    else if (m->kind == RCX_AGREE_CUT && a->state == RCX_AGREE_RECOVER &&
             a->coordinator == from)
        a->state = RCX_AGREE_CUT_OFF;
    else if (m->kind == RCX_AGREE_CUT)
        return;
    else if (a->state == RCX_AGREE_DECIDED &&
             (m->kind != RCX_AGREE_ROUND || has(a, VALUE, from)))
        send_decision(a, from);
    else if (m->kind == RCX_AGREE_ROUND)
        receive_round(a, m);
    else if (a->state != RCX_AGREE_DECIDED)
        receive_recovering(a, from, m);
}
