/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A state machine of the shared-memory lane: steps of a rank, the store buffer
 * between a rank and memory, and the lane's mutants. lane_model.h says what is
 * modelled; test_lane_model.c explores all states.
 */
#include "lane_model.h"

#include <stddef.h>
#include <string.h>

/* The next step of a rank. */
enum op {
    LOOK,
    READ_TAG,
    READ_DATA,
    FIND_SLOT,
    FIND_PART,
    PUT_DATA,
    PUT_TAG,
    STORE,
    SEE,
    WAKE,
    SIGNAL,
    ARM,
    DISARM,
    SLEEP,
    END_HOLD,
    DONE,
    OPS,
    /* Further events, which are seen but are no steps: */
    SLOTS_FULL = OPS,
    PARTS_FULL,
    WOKE_BEFORE,
    HELD,
    RELEASED,
    ALL
};

static const char *const op_names[ALL] = {"looks at the next slot",
                                          "reads its tag",
                                          "reads its data",
                                          "looks for a slot",
                                          "looks for a part",
                                          "puts data",
                                          "puts a tag",
                                          "stores a head",
                                          "sees whether its peer sleeps",
                                          "takes that from it",
                                          "wakes it",
                                          "says that it sleeps",
                                          "says that it does not",
                                          "wakes up",
                                          "reads what it holds",
                                          "is done",
                                          "finds no slot",
                                          "finds no part",
                                          "finds that its peer sleeps no more",
                                          "holds a message",
                                          "releases a message"};

/* ---- Memory -------------------------------------------------------------- */

static uint8_t load(const struct lane_state *s, int me, int owner, int cell)
{
    const struct lane_rank *r = &s->ranks[me];
    const int at = owner * CELLS + cell;

    for (int i = r->pending; i-- > 0;)
        if (r->cells[i] == at)
            return r->values[i];
    return s->memory[at];
}

/* Store a value. False: a fenced store must wait until the rank's earlier
 * stores are in memory. */
static bool put(struct lane_model *m, struct lane_state *s, int me, int owner,
                int cell, int value, bool is_fenced)
{
    struct lane_rank *r = &s->ranks[me];

    if (is_fenced && r->pending > 0)
        return false;
    if (is_fenced || !m->is_buffered) {
        s->memory[owner * CELLS + cell] = (uint8_t)value;
    } else if (r->pending == LANE_PENDING_MOST) {
        m->verdict = LANE_TOO_MANY;
    } else {
        r->cells[r->pending] = (uint8_t)(owner * CELLS + cell);
        r->values[r->pending++] = (uint8_t)value;
    }
    return true;
}

static void drain(struct lane_state *s, struct lane_rank *r)
{
    s->memory[r->cells[0]] = r->values[0];
    r->pending--;
    memmove(r->cells, r->cells + 1, r->pending);
    memmove(r->values, r->values + 1, r->pending);
    r->cells[r->pending] = r->values[r->pending] = 0;
}

/* ---- Transitions within one rank ----------------------------------------- */

static int lap_of(const struct lane_model *m, int message)
{
    return m->mutant == LANE_SAME_LAP ? 1 : message / LANE_SLOTS + 1;
}

static bool is_whole(const struct lane_model *m, int message)
{
    return m->whole >> message & 1;
}

static int parts_before(const struct lane_model *m, int message)
{
    return __builtin_popcount(m->whole & ((1u << message) - 1));
}

static int data_of(const struct lane_model *m, int message)
{
    return is_whole(m, message) ? RING + parts_before(m, message) % m->parts
                                : DATA + message % LANE_SLOTS;
}

/* Set the next step of a rank that has polled both directions. */
static void rest(const struct lane_model *m, struct lane_rank *r, int me)
{
    if (r->is_armed)
        r->at = r->events ? DISARM : SLEEP;
    else if (r->sent == m->messages[me] && r->read == m->messages[!me])
        r->at = DONE;
    else
        r->at = r->events || !(m->sleepers >> me & 1) ? LOOK : ARM;
    r->events = 0;
}

static void begin_store(const struct lane_model *m, struct lane_rank *r,
                        enum lane_cell what)
{
    r->what = what;
    r->at = m->mutant == LANE_SEES_FIRST ? SEE : STORE;
}

static void go_on_sending(const struct lane_model *m, struct lane_rank *r,
                          int me)
{
    const int n = r->sent;
    const bool looks = m->mutant != LANE_SEES_NO_ROOM;

    if (n == m->messages[me])
        rest(m, r, me);
    else if (looks && n == r->room)
        r->at = FIND_SLOT;
    else if (looks && is_whole(m, n) && parts_before(m, n) == r->parts_room)
        r->at = FIND_PART;
    else if (m->mutant == LANE_HEAD_FIRST)
        begin_store(m, r, HEAD);
    else
        r->at = PUT_DATA;
}

static void end_sending(const struct lane_model *m, struct lane_rank *r, int me)
{
    r->sent++;
    r->events = 1;
    go_on_sending(m, r, me);
}

/* Parts that may be returned. */
static int parts_free(const struct lane_model *m, const struct lane_rank *r)
{
    return r->held && m->mutant != LANE_RETURNS_HELD
               ? parts_before(m, r->held - 1)
               : parts_before(m, r->taken);
}

/* Whether the sender would have no part left. */
static bool must_end_hold(const struct lane_model *m, const struct lane_rank *r)
{
    return r->held && m->mutant != LANE_HOLDS_ON &&
           parts_before(m, r->taken) - parts_before(m, r->held - 1) >= m->parts;
}

static void go_on_receiving(const struct lane_model *m, struct lane_rank *r)
{
    const bool are_due =
        parts_before(m, r->taken) - r->parts_returned >= m->parts_batch;

    if (are_due && must_end_hold(m, r)) {
        r->at = END_HOLD;
    } else if (are_due && parts_free(m, r) > r->parts_returned) {
        r->parts_returned = (uint8_t)parts_free(m, r);
        begin_store(m, r, PARTS_RETURNED);
    } else if (r->taken - r->returned >= m->slots_batch) {
        r->returned = r->taken;
        begin_store(m, r, SLOTS_RETURNED);
    } else {
        r->at = r->read < r->taken ? READ_TAG : LOOK;
    }
}

static void end_store(const struct lane_model *m, struct lane_rank *r, int me)
{
    const enum lane_cell what = r->what;

    r->what = r->saw = 0;
    if (what != HEAD)
        go_on_receiving(m, r);
    else if (m->mutant == LANE_HEAD_FIRST)
        r->at = PUT_DATA;
    else
        end_sending(m, r, me);
}

/* ---- Steps --------------------------------------------------------------- */

/* Check a tag or data word of message n: it is n + 1. */
static void check(struct lane_model *m, int n, int number)
{
    if (number == 0)
        m->verdict = LANE_UNWRITTEN;
    else if (number != n + 1)
        m->verdict = number <= n ? LANE_STALE : LANE_OVERWRITTEN;
}

static void end_message(const struct lane_model *m, struct lane_rank *r)
{
    r->taken = ++r->read;
    r->events = 1;
    go_on_receiving(m, r);
}

/* Hold the message that is to be read. */
static bool hold(struct lane_model *m, struct lane_state *s, int me)
{
    struct lane_rank *r = &s->ranks[me];

    if (r->at != READ_DATA || r->held || !(m->holders >> me & 1) ||
        !is_whole(m, r->read))
        return false;
    m->seen |= 1u << HELD;
    r->held = (uint8_t)(r->read + 1);
    end_message(m, r);
    return true;
}

static bool end_hold(struct lane_model *m, struct lane_state *s, int me)
{
    struct lane_rank *r = &s->ranks[me];
    const int held = r->held - 1;

    check(m, held, load(s, me, me, data_of(m, held)));
    r->held = 0;
    go_on_receiving(m, r);
    return true;
}

/* Between polls, or after the last one. */
static bool release(struct lane_model *m, struct lane_state *s, int me)
{
    struct lane_rank *r = &s->ranks[me];

    if (!r->held || r->is_armed || (r->at != LOOK && r->at != DONE))
        return false;
    m->seen |= 1u << RELEASED;
    return end_hold(m, s, me);
}

static bool receive(struct lane_model *m, struct lane_state *s, int me)
{
    struct lane_rank *r = &s->ranks[me];
    const int slot = r->read % LANE_SLOTS;

    if (r->at == READ_TAG) {
        check(m, r->read, load(s, me, me, TAG + slot));
        r->at = READ_DATA;
    } else if (r->at == READ_DATA) {
        check(m, r->read, load(s, me, me, data_of(m, r->read)));
        end_message(m, r);
    } else if (load(s, me, me, HEAD + slot) != lap_of(m, r->read)) {
        go_on_sending(m, r, me);
    } else if (m->mutant == LANE_RETURNS_FIRST) {
        r->taken++;
        go_on_receiving(m, r);
    } else {
        r->at = READ_TAG;
    }
    return true;
}

/* Read how many slots or parts the peer has returned, and send if there is
 * room. */
static bool find_room(struct lane_model *m, struct lane_state *s, int me)
{
    struct lane_rank *r = &s->ranks[me];
    const bool finds_slot = r->at == FIND_SLOT;
    uint8_t *room = finds_slot ? &r->room : &r->parts_room;
    const int returned =
        load(s, me, !me, finds_slot ? SLOTS_RETURNED : PARTS_RETURNED);
    const int now = returned + (finds_slot ? LANE_SLOTS : m->parts);

    if (now > *room) {
        *room = (uint8_t)now;
        go_on_sending(m, r, me);
    } else {
        m->seen |= 1u << (finds_slot ? SLOTS_FULL : PARTS_FULL);
        rest(m, r, me);
    }
    return true;
}

static bool fill(struct lane_model *m, struct lane_state *s, int me)
{
    struct lane_rank *r = &s->ranks[me];
    const int cell =
        r->at == PUT_DATA ? data_of(m, r->sent) : TAG + r->sent % LANE_SLOTS;

    put(m, s, me, !me, cell, r->sent + 1, false);
    if (r->at == PUT_DATA)
        r->at = PUT_TAG;
    else if (m->mutant == LANE_HEAD_FIRST)
        end_sending(m, r, me);
    else
        begin_store(m, r, HEAD);
    return true;
}

static bool store(struct lane_model *m, struct lane_state *s, int me)
{
    struct lane_rank *r = &s->ranks[me];
    const bool wakes = m->sleepers >> !me & 1, sends = r->what == HEAD;
    const enum lane_mutant unfenced =
        sends ? LANE_NO_FENCE_PUBLISHING : LANE_NO_FENCE_RETURNING;

    if (!put(m, s, me, sends ? !me : me,
             sends ? HEAD + r->sent % LANE_SLOTS : r->what,
             sends                       ? lap_of(m, r->sent)
             : r->what == SLOTS_RETURNED ? r->returned
                                         : r->parts_returned,
             wakes && m->mutant != unfenced))
        return false;
    if (!wakes || (m->mutant == LANE_RETURNS_SILENTLY && !sends))
        end_store(m, r, me);
    else if (m->mutant != LANE_SEES_FIRST)
        r->at = SEE;
    else if (r->saw)
        r->at = WAKE;
    else
        end_store(m, r, me);
    return true;
}

static bool wake(struct lane_model *m, struct lane_state *s, int me)
{
    struct lane_rank *r = &s->ranks[me];

    if (r->at == SEE) {
        r->saw = load(s, me, !me, ASLEEP);
        if (r->saw || m->mutant == LANE_SEES_FIRST)
            r->at = m->mutant == LANE_SEES_FIRST ? STORE : WAKE;
        else
            end_store(m, r, me);
    } else if (r->at == WAKE) {
        r->saw = s->memory[!me * CELLS + ASLEEP];
        if (!put(m, s, me, !me, ASLEEP, 0, true))
            return false;
        m->seen |= (uint32_t)!r->saw << WOKE_BEFORE;
        if (r->saw)
            r->at = SIGNAL;
        else
            end_store(m, r, me);
    } else {
        s->ranks[!me].is_woken = 1;
        end_store(m, r, me);
    }
    return true;
}

static bool doze(struct lane_model *m, struct lane_state *s, int me)
{
    struct lane_rank *r = &s->ranks[me];

    if (r->at == SLEEP) {
        if (!r->is_woken)
            return false;
        r->is_woken = 0;
        r->at = DISARM;
        return true;
    }
    if (!put(m, s, me, me, ASLEEP, r->at == ARM,
             r->at == DISARM || m->mutant != LANE_NO_FENCE_ARMING))
        return false;
    r->is_armed = r->at == ARM;
    r->at = r->is_armed && m->mutant == LANE_ARMS_LAST ? SLEEP : LOOK;
    return true;
}

static bool (*const steps[OPS])(struct lane_model *, struct lane_state *,
                                int) = {
    [LOOK] = receive,        [READ_TAG] = receive,    [READ_DATA] = receive,
    [FIND_SLOT] = find_room, [FIND_PART] = find_room, [PUT_DATA] = fill,
    [PUT_TAG] = fill,        [STORE] = store,         [SEE] = wake,
    [WAKE] = wake,           [SIGNAL] = wake,         [ARM] = doze,
    [DISARM] = doze,         [SLEEP] = doze,          [END_HOLD] = end_hold};

/* ---- The model ----------------------------------------------------------- */

struct lane_state lane_first(const struct lane_model *m)
{
    struct lane_state s;

    memset(&s, 0, sizeof s);
    for (int i = 0; i < 2; i++) {
        s.ranks[i].room = LANE_SLOTS;
        s.ranks[i].parts_room = (uint8_t)m->parts;
        s.ranks[i].strays = (uint8_t)m->strays;
    }
    return s;
}

static bool step(struct lane_model *m, struct lane_state *s, int me)
{
    const int at = s->ranks[me].at;

    if (!steps[at] || !steps[at](m, s, me))
        return false;
    m->seen |= 1u << at;
    return true;
}

bool lane_make(struct lane_model *m, struct lane_state *s, int rank,
               enum lane_move move)
{
    struct lane_rank *r = &s->ranks[rank];

    if (move == LANE_STEP)
        return step(m, s, rank);
    if (move == LANE_HOLD)
        return hold(m, s, rank);
    if (move == LANE_RELEASE)
        return release(m, s, rank);
    if (move == LANE_DRAIN) {
        if (r->pending == 0)
            return false;
        drain(s, r);
    } else if (move == LANE_PROGRESS) {
        if (!r->is_woken || r->is_armed)
            return false;
        r->is_woken = 0;
    } else {
        if (r->at != SLEEP || r->strays == 0)
            return false;
        r->strays--;
        r->at = DISARM;
    }
    return true;
}

const char *lane_move_name(const struct lane_state *s, int rank,
                           enum lane_move move)
{
    static const char *const others[LANE_MOVES] = {
        [LANE_DRAIN] = "has its oldest store in memory",
        [LANE_PROGRESS] = "makes progress, which takes a wake",
        [LANE_HOLD] = "holds a message",
        [LANE_STRAY] = "wakes up by itself",
        [LANE_RELEASE] = "releases a message"};

    const struct lane_rank *r = &s->ranks[rank];

    if (move != LANE_STEP)
        return others[move];
    if (r->at == STORE && r->what != HEAD)
        return r->what == SLOTS_RETURNED ? "returns slots" : "returns parts";
    return op_names[r->at];
}

bool lane_is_done(const struct lane_state *s)
{
    return s->ranks[0].at == DONE && s->ranks[1].at == DONE;
}

const char *lane_unseen(uint32_t seen)
{
    for (int i = 0; i < ALL; i++)
        if (i != DONE && !(seen >> i & 1))
            return op_names[i];
    return NULL;
}
