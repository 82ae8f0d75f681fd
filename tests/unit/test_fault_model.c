/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model check of the failure state machine (core/run/fault/state.c). Ranks 0
 * and 1 share a communicator with rank 2, which dies, or finalizes after a
 * failure that it announces. The model explores all orders of events at both
 * ranks. Every table with one changed entry must violate a rule.
 */
#include "test.h"

#include <string.h>

#include "core/run/fault/state.h"

enum { RANKS_LEFT = 2, WORLDS = 1 << 20 };
enum { ALIVE, DEAD, DEPARTED };
enum { NONE, BY_DEATH, BY_REPORT };                /* reason of a failure */
enum { FROM_RANK = 1, FROM_2 = 2, FINALIZES = 4 }; /* messages in flight */

/* The state of rank 0 or 1. */
struct rank {
    uint8_t comm, peer;       /* states of the two tables */
    uint8_t reason, failures; /* of the failure; number of failures */
    uint8_t announced;
    uint8_t in_flight;        /* messages not received yet, as bits */
    uint8_t in_flight_reason; /* reason in the message FROM_RANK */
    uint8_t has_lost_message, has_lost_peer;
};
struct world {
    struct rank ranks[RANKS_LEFT];
    uint8_t rank_2;
};

struct model {
    const rcx_comm_table_t *comms;
    const rcx_peer_table_t *peers;
    bool is_wrong;
    size_t count;
    struct world *seen; /* hash table with open addressing */
    bool *is_used;
};

/* ---- Events -------------------------------------------------------------- */

static void set_failed(struct model *m, struct world *w, int r, uint8_t reason,
                       bool announces)
{
    struct rank *me = &w->ranks[r], *other = &w->ranks[1 - r];

    m->is_wrong |= me->failures > 0;
    me->failures = 1;
    me->reason = reason;
    if (!announces)
        return;
    me->announced = 1;
    other->in_flight |= FROM_RANK;
    other->in_flight_reason = reason;
}

static void step_comm(struct model *m, struct world *w, int r,
                      enum rcx_comm_event event, uint8_t reason)
{
    struct rank *me = &w->ranks[r];
    const uint8_t before = me->comm;
    const struct rcx_comm_transition t = (*m->comms)[event][before];

    me->comm = (uint8_t)t.state;
    m->is_wrong |= before == RCX_COMM_FREED && t.action != RCX_COMM_NOTHING;
    m->is_wrong |= before == RCX_COMM_FAILED && t.state == RCX_COMM_OK;
    if (t.action == RCX_COMM_KEEP)
        me->reason = reason;
    if (t.action == RCX_COMM_FAIL || t.action == RCX_COMM_ANNOUNCE)
        set_failed(m, w, r, event == RCX_COMM_DRAINED ? me->reason : reason,
                   t.action == RCX_COMM_ANNOUNCE);
    m->is_wrong |= t.action == RCX_COMM_ADD && me->failures == 0;
}

static void step_peer(struct model *m, struct world *w, int r,
                      enum rcx_peer_event event)
{
    struct rank *me = &w->ranks[r];
    const struct rcx_peer_transition t = (*m->peers)[event][me->peer];

    me->peer = (uint8_t)t.state;
    m->is_wrong |= event == RCX_PEER_FINALIZES && t.action != RCX_PEER_REPLY;
    m->is_wrong |= event == RCX_PEER_LOST && me->failures == 0 &&
                   t.action != RCX_PEER_DRAIN;
    if (t.action == RCX_PEER_FAIL_COMMS)
        step_comm(m, w, r,
                  event == RCX_PEER_REPORTED ? RCX_COMM_FOUND_BY_ALL
                                             : RCX_COMM_FOUND,
                  BY_DEATH);
}

static void receive(struct model *m, struct world *w, int r, uint8_t message)
{
    struct rank *me = &w->ranks[r];

    me->in_flight &= (uint8_t)~message;
    if (message == FINALIZES)
        step_peer(m, w, r, RCX_PEER_FINALIZES);
    else
        step_comm(m, w, r, RCX_COMM_REPORTED,
                  message == FROM_2 ? BY_REPORT : me->in_flight_reason);
    if (message == FROM_RANK && me->in_flight_reason == BY_DEATH)
        step_peer(m, w, r, RCX_PEER_REPORTED);
}

/* Let event number happen at rank r. Returns false if it is impossible now. */
static bool happen(struct model *m, struct world *w, int r, int number)
{
    struct rank *me = &w->ranks[r];

    if (number < 3) { /* messages of one rank stay in order */
        const uint8_t message = (uint8_t)(1 << number);

        if (!(me->in_flight & message) ||
            (message == FINALIZES && me->in_flight & FROM_2))
            return false;
        receive(m, w, r, message);
    } else if (number == 3 && w->rank_2 != ALIVE && !me->has_lost_message) {
        me->has_lost_message = 1;
        step_comm(m, w, r, RCX_COMM_LOST, BY_DEATH);
    } else if (number == 4 && me->has_lost_message == 1 && !me->in_flight) {
        me->has_lost_message = 2;
        step_comm(m, w, r, RCX_COMM_DRAINED, BY_DEATH);
    } else if (number == 5 && w->rank_2 != ALIVE && !me->has_lost_peer) {
        me->has_lost_peer = 1;
        step_peer(m, w, r, RCX_PEER_LOST);
    } else if (number == 6 && me->has_lost_peer == 1 && !me->in_flight) {
        me->has_lost_peer = 2;
        step_peer(m, w, r, RCX_PEER_DRAINED);
    } else if (number == 7 && me->comm == RCX_COMM_FAILED) {
        step_comm(m, w, r, RCX_COMM_FREE, NONE);
        m->is_wrong |= me->comm != RCX_COMM_FREED;
    } else {
        return false;
    }
    return true;
}

static bool happen_to_2(struct world *w, bool dies)
{
    if (w->rank_2 != ALIVE)
        return false;
    w->rank_2 = dies ? DEAD : DEPARTED;
    for (int r = 0; r < RANKS_LEFT && !dies; r++)
        w->ranks[r].in_flight |= FROM_2 | FINALIZES;
    return true;
}

/* ---- All orders of events ------------------------------------------------ */

/* Rules for the end, when no event is left. */
static void check_end(struct model *m, const struct world *w)
{
    for (int r = 0; r < RANKS_LEFT; r++) {
        const struct rank *me = &w->ranks[r];

        m->is_wrong |= me->failures != 1 || me->comm != RCX_COMM_FREED;
        m->is_wrong |= w->rank_2 == DEAD &&
                       (me->reason != BY_DEATH || me->peer != RCX_PEER_FAILED);
        m->is_wrong |= w->rank_2 == DEPARTED && (me->reason != BY_REPORT ||
                                                 me->peer != RCX_PEER_DEPARTED);
        m->is_wrong |= w->rank_2 == DEPARTED && me->announced;
    }
    m->is_wrong |=
        w->rank_2 == DEAD && !w->ranks[0].announced && !w->ranks[1].announced;
}

/* Returns false if w is in the table already. */
static bool add(struct model *m, const struct world *w)
{
    const unsigned char *bytes = (const unsigned char *)w;
    uint64_t hash = 1469598103934665603u;

    for (size_t i = 0; i < sizeof *w; i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    for (size_t at = hash % WORLDS;; at = (at + 1) % WORLDS) {
        if (!m->is_used[at]) {
            m->is_used[at] = true;
            m->seen[at] = *w;
            require(++m->count < WORLDS / 2);
            return true;
        }
        if (memcmp(&m->seen[at], w, sizeof *w) == 0)
            return false;
    }
}

static void explore(struct model *m, const struct world *w)
{
    bool is_end = true;

    if (m->is_wrong || !add(m, w))
        return;
    for (int r = 0; r < RANKS_LEFT; r++)
        for (int number = 0; number < 8; number++) {
            struct world next = *w;

            if (!happen(m, &next, r, number))
                continue;
            is_end = false;
            explore(m, &next);
        }
    for (int dies = 0; dies < 2; dies++) {
        struct world next = *w;

        if (!happen_to_2(&next, dies))
            continue;
        is_end = false;
        explore(m, &next);
    }
    if (is_end)
        check_end(m, w);
}

/* ---- Rules for states that the model does not reach ---------------------- */

static bool comm_rules_hold(const rcx_comm_table_t *table)
{
    bool hold = true;

    for (int event = 0; event < RCX_COMM_EVENTS; event++)
        for (int state = 0; state < RCX_COMM_STATES; state++) {
            const struct rcx_comm_transition t = (*table)[event][state];
            const bool finds =
                event == RCX_COMM_FOUND ||
                (event == RCX_COMM_DRAINED && state == RCX_COMM_SUSPECT);
            const bool is_reported =
                event == RCX_COMM_FOUND_BY_ALL || event == RCX_COMM_REPORTED;

            if (state == RCX_COMM_FREED || event == RCX_COMM_FREE)
                hold &=
                    t.state == RCX_COMM_FREED && t.action == RCX_COMM_NOTHING;
            else if (state == RCX_COMM_FAILED)
                hold &=
                    t.state == RCX_COMM_FAILED &&
                    t.action == (event == RCX_COMM_REPORTED ? RCX_COMM_ADD
                                                            : RCX_COMM_NOTHING);
            else if (finds || is_reported)
                hold &= t.state == RCX_COMM_FAILED &&
                        t.action == (finds ? RCX_COMM_ANNOUNCE : RCX_COMM_FAIL);
            else if (event == RCX_COMM_LOST)
                hold &= t.state == RCX_COMM_SUSPECT &&
                        t.action == (state == RCX_COMM_OK ? RCX_COMM_KEEP
                                                          : RCX_COMM_NOTHING);
            else
                hold &= (int)t.state == state && t.action == RCX_COMM_NOTHING;
        }
    return hold;
}

/* A peer never recovers. A peer that was not lost does not fail after a drain.
 * An exit in the final phase changes no state. */
static bool peer_rules_hold(const rcx_peer_table_t *table)
{
    bool hold = true;

    for (int state = 0; state < RCX_PEER_STATES; state++) {
        const struct rcx_peer_transition *exited =
            &(*table)[RCX_PEER_EXITED][state];
        const struct rcx_peer_transition *drained =
            &(*table)[RCX_PEER_DRAINED][state];
        const bool has_failed =
            state == RCX_PEER_FAILED || state == RCX_PEER_DEPARTED;

        hold &= (int)exited->state == state && exited->action == RCX_PEER_CAP;
        hold &= drained->action ==
                (state == RCX_PEER_OK ? RCX_PEER_NOTHING : RCX_PEER_FAIL_COMMS);
        hold &= state != RCX_PEER_OK || drained->state == RCX_PEER_OK;
        hold &= has_failed ||
                (*table)[RCX_PEER_REPORTED][state].state == RCX_PEER_FAILED;
        for (int event = 0; event < RCX_PEER_EVENTS && has_failed; event++)
            hold &= (int)(*table)[event][state].state == state;
        hold &= (*table)[RCX_PEER_FINALIZES][state].action == RCX_PEER_REPLY;
        hold &=
            (*table)[RCX_PEER_REPORTED][state].action == RCX_PEER_FAIL_COMMS;
        hold &= (*table)[RCX_PEER_LOST][state].action ==
                (state == RCX_PEER_FAILED ? RCX_PEER_NOTHING : RCX_PEER_DRAIN);
        hold &= state != RCX_PEER_SUSPECT ||
                (*table)[RCX_PEER_LOST][state].state == RCX_PEER_SUSPECT;
    }
    return hold;
}

static bool is_right(struct model *m, const rcx_comm_table_t *comms,
                     const rcx_peer_table_t *peers)
{
    struct world w;

    memset(&w, 0, sizeof w);
    m->comms = comms;
    m->peers = peers;
    m->is_wrong = !comm_rules_hold(comms) || !peer_rules_hold(peers);
    m->count = 0;
    if (m->is_wrong)
        return false;
    memset(m->is_used, 0, WORLDS * sizeof *m->is_used);
    explore(m, &w);
    return !m->is_wrong;
}

/* ---- Tests --------------------------------------------------------------- */

static int open_model(void **state)
{
    static struct model m;

    m.seen = calloc(WORLDS, sizeof *m.seen);
    m.is_used = calloc(WORLDS, sizeof *m.is_used);
    *state = &m;
    return m.seen && m.is_used ? 0 : -1;
}

static int close_model(void **state)
{
    struct model *m = *state;

    free(m->seen);
    free(m->is_used);
    return 0;
}

static void every_order_of_events_ends_right(void **state)
{
    struct model *m = *state;

    assert_true(is_right(m, &rcx_comm_table, &rcx_peer_table));
    print_message("# %zu states\n", m->count);
}

static void a_changed_entry_of_communicators_is_found(void **state)
{
    for (int event = 0; event < RCX_COMM_EVENTS; event++)
        for (int from = 0; from < RCX_COMM_STATES; from++)
            for (int to = 0; to < RCX_COMM_STATES; to++)
                for (int action = 0; action <= RCX_COMM_ADD; action++) {
                    rcx_comm_table_t mutant;
                    struct rcx_comm_transition *t = &mutant[event][from];

                    memcpy(mutant, rcx_comm_table, sizeof mutant);
                    if ((int)t->state == to && (int)t->action == action)
                        continue;
                    t->state = (enum rcx_comm_state)to;
                    t->action = (enum rcx_comm_action)action;
                    assert_false(is_right(*state,
                                          (const rcx_comm_table_t *)&mutant,
                                          &rcx_peer_table));
                }
}

static void a_changed_entry_of_peers_is_found(void **state)
{
    for (int event = 0; event < RCX_PEER_EVENTS; event++)
        for (int from = 0; from < RCX_PEER_STATES; from++)
            for (int to = 0; to < RCX_PEER_STATES; to++)
                for (int action = 0; action <= RCX_PEER_CAP; action++) {
                    rcx_peer_table_t mutant;
                    struct rcx_peer_transition *t = &mutant[event][from];

                    memcpy(mutant, rcx_peer_table, sizeof mutant);
                    if ((int)t->state == to && (int)t->action == action)
                        continue;
                    t->state = (enum rcx_peer_state)to;
                    t->action = (enum rcx_peer_action)action;
                    if (is_right(*state, &rcx_comm_table,
                                 (const rcx_peer_table_t *)&mutant))
                        fail_msg("event %d in state %d: to %d, action %d",
                                 event, from, to, action);
                }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_of_events_ends_right),
        cmocka_unit_test(a_changed_entry_of_communicators_is_found),
        cmocka_unit_test(a_changed_entry_of_peers_is_found),
    };

    return cmocka_run_group_tests_name("fault_model", tests, open_model,
                                       close_model);
}
