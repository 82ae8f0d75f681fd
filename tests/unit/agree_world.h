/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Members of uniform agreements (run/fault/agree.h) in one process, without a
 * network: their messages are delivered in any order. Members crash between any
 * two messages that they send, or leave; living ones are taken for failed, and
 * networks are cut. One may go back to an earlier state.
 */
#ifndef RCX_TESTS_UNIT_AGREE_WORLD_H
#define RCX_TESTS_UNIT_AGREE_WORLD_H

#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "core/run/fault/agree.c" /* whose state the exploration compares */

enum {
    MOST = 64,
    NEVER = 1 << 30,
    STEPS_MOST = 1000000,
    MESSAGES = 1 << 16,
    EXPLORED = 3, /* members */
    IN_FLIGHT = 128
};

struct packet {
    int from, to;
    struct rcx_agree_msg *msg;
};

/* What a member knows of another one: nothing; that it does not answer; that
 * its process has ended or has left, and all that it sent has come. */
enum seen { NOTHING, SILENT, ENDED };

/* A member, and what is going to happen to it. */
struct member {
    struct rcx_agree *agree;
    uint64_t word;
    bool has_entered, has_crashed, has_left;
    bool has_returned; /* its decision, to its caller */
    bool is_far;       /* on another node than those that are not */
    int sent;          /* messages so far */
    int crashes_at;    /* instead of sending this one */
    int lost[MOST];    /* of those to this one */
    enum seen seen[MOST];
};

/* How many events of a kind may happen besides those that must. */
struct budget {
    int crashes, leaves, suspicions, overdue;
};

static struct {
    int size;
    struct member members[MOST];
    struct packet *packets;
    int count, room;
    struct budget left;
    bool cut[MOST]; /* members on the other side of a broken network */
    bool is_cut;
    uint64_t random;
    bool is_explored; /* all choices are made, one after another: */
    _Alignas(8) unsigned char messages[MESSAGES];
    size_t messages_used;
    uint64_t *seen; /* hashes of all states so far; an open hash table */
    size_t seen_count, seen_room;
} world;

static struct rcx_heap heap = RCX_HEAP_INIT;

/* A number below n. */
static int choose(int n)
{
    world.random = world.random * UINT64_C(6364136223846793005) +
                   UINT64_C(1442695040888963407);
    return (int)((world.random >> 33) % (uint64_t)n);
}

/* ---- The world ----------------------------------------------------------- */

/* An exploration goes back to messages that have been delivered. */
static void free_message(struct rcx_agree_msg *msg)
{
    if (!world.is_explored)
        free(msg);
}

static struct rcx_agree_msg *new_message(size_t bytes)
{
    struct rcx_agree_msg *at = (void *)(world.messages + world.messages_used);

    if (!world.is_explored)
        return malloc(bytes);
    world.messages_used += bytes;
    assert_true(world.messages_used <= MESSAGES);
    return at;
}

static void drop(int i)
{
    free_message(world.packets[i].msg);
    world.packets[i] = world.packets[--world.count];
}

static bool is_near(int rank, void *arg)
{
    return world.members[rank].is_far == ((struct member *)arg)->is_far;
}

static void send_packet(int to, const struct rcx_agree_msg *msg, void *arg)
{
    struct member *m = arg;
    const int from = (int)(m - world.members);
    const size_t bytes = rcx_agree_msg_bytes(world.size);

    m->has_crashed |= m->sent == m->crashes_at;
    if (m->has_crashed)
        return;
    m->sent++;
    if (world.is_cut && world.cut[from] != world.cut[to]) {
        m->lost[to]++;
        return;
    }
    if (world.count == world.room) {
        world.room = 2 * world.room + 16;
        world.packets =
            realloc(world.packets, (size_t)world.room * sizeof *world.packets);
    }
    world.packets[world.count] = (struct packet){from, to, new_message(bytes)};
    memcpy(world.packets[world.count++].msg, msg, bytes);
}

static void open_world(int size, uint64_t seed)
{
    world.size = size;
    world.random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    world.count = 0;
    world.messages_used = 0;
    world.is_cut = false;
    world.left = (struct budget){0};
    for (int i = 0; i < size; i++) {
        struct member *m = &world.members[i];

        *m = (struct member){.crashes_at = NEVER,
                             .word = ~(UINT64_C(1) << (i % 64))};
        m->agree = rcx_agree_create(
            &heap, &(struct rcx_agree_setting){.size = size,
                                               .rank = i,
                                               .send = send_packet,
                                               .is_near = is_near,
                                               .arg = m});
        assert_non_null(m->agree);
    }
}

static void close_world(void)
{
    while (world.count > 0)
        drop(0);
    for (int i = 0; i < world.size; i++)
        rcx_agree_destroy(world.members[i].agree);
    assert_int_equal(heap.live, 0);
}

static bool has_ended(const struct member *m)
{
    return m->has_crashed || m->has_left;
}

static bool is_through(const struct member *m)
{
    return has_ended(m) || is_final(m->agree);
}

/* ---- Events -------------------------------------------------------------- */

enum kind {
    DELIVER,
    ENTER,
    SEE_SILENT,
    SEE_ENDED,
    CRASH,
    LEAVE,
    SUSPECT,
    WAIT
};

struct event {
    enum kind kind;
    int member, other; /* DELIVER: the packet; CRASH: after so many messages */
};

static bool is_pending(int from, int to)
{
    for (int i = 0; i < world.count; i++)
        if (world.packets[i].from == from && world.packets[i].to == to)
            return true;
    return false;
}

/* What a member may learn of one that has ended. Only the own node shows that a
 * process has; one that leaves says how many messages it has sent. */
static bool may_see(int member, int other, enum seen seen)
{
    const struct member *m = &world.members[member];
    const struct member *o = &world.members[other];

    if (other == member || !has_ended(o) || m->seen[other] >= seen)
        return false;
    return seen == SILENT ||
           ((o->has_left || is_near(other, (void *)(uintptr_t)m)) &&
            o->lost[member] == 0 && !is_pending(other, member));
}

/* How many events of this kind may still happen. */
static int budget_of(enum kind kind)
{
    const struct budget *left = &world.left;

    return kind == CRASH     ? left->crashes
           : kind == LEAVE   ? left->leaves
           : kind == SUSPECT ? left->suspicions
           : kind == WAIT    ? left->overdue
                             : 1;
}

static bool may_happen(const struct event *e)
{
    const struct member *m = &world.members[e->member];

    if (has_ended(m))
        return false;
    switch (e->kind) {
    case ENTER: return !m->has_entered;
    case SEE_SILENT:
        return !is_through(m) && may_see(e->member, e->other, SILENT);
    case SEE_ENDED:
        return !is_through(m) && may_see(e->member, e->other, ENDED);
    case SUSPECT:
        return !is_through(m) && e->other != e->member &&
               m->seen[e->other] == NOTHING;
    case CRASH: return m->crashes_at == NEVER;
    case WAIT: return m->has_entered && !is_through(m);
    default: return true;
    }
}

/* Whether other says which event of this kind it is. */
static bool has_other(enum kind kind)
{
    return kind == SEE_SILENT || kind == SEE_ENDED || kind == SUSPECT ||
           kind == CRASH;
}

static void deliver(int i)
{
    const struct packet p = world.packets[i];
    struct member *m = &world.members[p.to];

    world.packets[i] = world.packets[--world.count];
    if (!has_ended(m))
        rcx_agree_receive(m->agree, p.from, p.msg);
    free_message(p.msg);
}

static void see(struct member *m, int other, enum seen seen)
{
    m->seen[other] = seen;
    rcx_agree_fail(m->agree, other, seen == ENDED);
}

static void do_own(const struct event *e)
{
    struct member *m = &world.members[e->member];

    if (e->kind == ENTER) {
        m->has_entered = true;
        rcx_agree_enter(m->agree, m->word);
    } else if (e->kind == SEE_SILENT || e->kind == SEE_ENDED) {
        see(m, e->other, e->kind == SEE_ENDED ? ENDED : SILENT);
    } else if (e->kind == CRASH) {
        world.left.crashes--;
        m->has_crashed = e->other == 0;
        m->crashes_at = m->sent + e->other;
    } else if (e->kind == LEAVE) {
        world.left.leaves--;
        rcx_agree_leave(m->agree);
        m->has_left = true;
    } else if (e->kind == SUSPECT) {
        world.left.suspicions--;
        rcx_agree_fail(m->agree, e->other, false);
    } else {
        world.left.overdue--;
        rcx_agree_overdue(m->agree);
    }
}

/* The n-th event that may happen, beginning with deliveries. False: there are
 * not so many; *count_p says how many. */
static bool find_event(int n, struct event *e, int *count_p)
{
    int count = world.count;

    *e = (struct event){DELIVER, 0, n};
    if (n >= 0 && n < count)
        return true;
    for (enum kind kind = ENTER; kind <= WAIT; kind++)
        for (int i = 0; i < world.size && budget_of(kind) > 0; i++)
            for (int j = 0; j < (has_other(kind) ? world.size : 1); j++) {
                *e = (struct event){kind, i, j};
                if (may_happen(e) && count++ == n)
                    return true;
            }
    *count_p = count;
    return false;
}

/* A decision is returned once all messages are sent that are due with it. */
static void note_returned(void)
{
    for (int i = 0; i < world.size; i++) {
        struct member *m = &world.members[i];

        m->has_returned |=
            !has_ended(m) && rcx_agree_state(m->agree) == RCX_AGREE_DECIDED;
    }
}

/* Drop what changes nothing. */
static void drop_ignored(void)
{
    for (int i = 0; i < world.count; i++) {
        const struct member *m = &world.members[world.packets[i].to];

        if (has_ended(m) || m->agree->state > RCX_AGREE_DECIDED)
            drop(i--);
    }
}

/* How many events may happen now. */
static int count_events(void)
{
    struct event e;
    int n;

    drop_ignored();
    find_event(-1, &e, &n);
    return n;
}

static void do_event(int n)
{
    struct event e;

    find_event(n, &e, &(int){0});
    if (e.kind == DELIVER)
        deliver(e.other);
    else
        do_own(&e);
    note_returned();
}

/* False: nothing can happen. */
static bool happen(void)
{
    const int n = count_events();

    if (n > 0)
        do_event(choose(n));
    return n > 0;
}

static bool is_over(void)
{
    for (int i = 0; i < world.size; i++)
        if (!is_through(&world.members[i]))
            return false;
    return true;
}

/* Some member has waited too long. Coordinators are first, as their time is
 * shorter. */
static void let_time_pass(void)
{
    for (int leads = 1; leads >= 0; leads--)
        for (int i = 0; i < world.size; i++) {
            struct member *m = &world.members[i];

            if (is_through(m) || rcx_agree_leads(m->agree) != leads)
                continue;
            rcx_agree_overdue(m->agree);
            note_returned();
            return;
        }
}

static void run(void)
{
    for (int steps = 0; !is_over(); steps++) {
        assert_in_range(steps, 0, STEPS_MOST);
        if (!happen())
            let_time_pass();
    }
    while (world.count > 0) /* late messages change nothing */
        deliver(0);
}

/* ---- States ------------------------------------------------------------- */

static uint64_t mixed(uint64_t a, uint64_t b)
{
    a = (a ^ b) * UINT64_C(0x9E3779B97F4A7C15);
    return a ^ a >> 29;
}

static uint64_t mixed_bytes(uint64_t a, const void *data, size_t bytes)
{
    uint64_t word = 0;

    for (size_t at = 0; at < bytes; at += sizeof word) {
        const size_t n = bytes - at < sizeof word ? bytes - at : sizeof word;

        memcpy(&word, (const char *)data + at, n);
        a = mixed(a, word);
    }
    return a;
}

/* Of one that is final, what it answers; of one that has ended, what it has
 * returned. */
static uint64_t hash_of_member(const struct member *m)
{
    struct rcx_agree state = *m->agree,
                     final = {.state = state.state,
                              .is_fast = state.is_fast,
                              .value_word = state.value_word};
    uint64_t key = (uint64_t)m->has_entered | (uint64_t)m->has_crashed << 1 |
                   (uint64_t)m->has_left << 2 | (uint64_t)m->has_returned << 3;

    if (m->crashes_at != NEVER)
        key += (uint64_t)(m->crashes_at - m->sent + 1) << 4;
    key = mixed_bytes(key, m->lost, (size_t)world.size * sizeof *m->lost);
    if (has_ended(m) && !m->has_returned)
        return key;
    key = mixed_bytes(key, set_of(&state, VALUE), sizeof *state.sets);
    if (has_ended(m))
        return mixed(key, state.value_word);
    key = mixed_bytes(key, state.sets, SETS * sizeof *state.sets);
    if (is_final(&state))
        return mixed_bytes(key, &final, sizeof final);
    state.heap = NULL;
    state.s.arg = NULL;
    state.out = NULL;
    state.sets = NULL;
    key = mixed_bytes(key, &state, offsetof(struct rcx_agree, got_words));
    key = mixed_bytes(key, state.got_words,
                      2 * (size_t)state.rounds * sizeof *state.got_words);
    key = mixed_bytes(key, &state.best,
                      sizeof state - offsetof(struct rcx_agree, best));
    return mixed_bytes(key, m->seen, (size_t)world.size * sizeof *m->seen);
}

/* Of the state of the world, whatever the order of messages in flight. */
static uint64_t hash_of_world(void)
{
    uint64_t key = mixed_bytes(1, &world.left, sizeof world.left), packets = 0;

    for (int i = 0; i < world.size; i++)
        key = mixed(key, hash_of_member(&world.members[i]));
    for (int i = 0; i < world.count; i++) {
        const struct packet *p = &world.packets[i];

        packets += mixed_bytes((uint64_t)p->from * MOST + (uint64_t)p->to,
                               p->msg, rcx_agree_msg_bytes(world.size));
    }
    key = mixed(key, packets);
    return key + (key == 0);
}

/* Where key is in the table, or would be. */
static size_t place_of(uint64_t key)
{
    size_t at = key & (world.seen_room - 1);

    while (world.seen[at] && world.seen[at] != key)
        at = (at + 1) & (world.seen_room - 1);
    return at;
}

static void grow_seen(void)
{
    uint64_t *old = world.seen;
    const size_t room = world.seen_room;

    world.seen_room = room ? 2 * room : 1 << 16;
    world.seen = calloc(world.seen_room, sizeof *old);
    for (size_t i = 0; i < room; i++)
        if (old[i])
            world.seen[place_of(old[i])] = old[i];
    free(old);
}

/* Whether this state has been seen before. */
static bool note_seen(void)
{
    const uint64_t key = hash_of_world();
    size_t at;

    if (2 * world.seen_count >= world.seen_room)
        grow_seen();
    at = place_of(key);
    if (world.seen[at])
        return true;
    world.seen[at] = key;
    world.seen_count++;
    return false;
}

/* A state to go back to. */
struct state {
    struct member members[EXPLORED];
    struct rcx_agree agrees[EXPLORED];
    uint64_t sets[EXPLORED][SETS];
    struct packet packets[IN_FLIGHT];
    int count;
    struct budget left;
    size_t messages_used;
};

static void save(struct state *s)
{
    assert_true(world.count <= IN_FLIGHT);
    s->count = world.count;
    s->left = world.left;
    s->messages_used = world.messages_used;
    memcpy(s->packets, world.packets,
           (size_t)world.count * sizeof *world.packets);
    for (int i = 0; i < world.size; i++) {
        s->members[i] = world.members[i];
        s->agrees[i] = *world.members[i].agree;
        memcpy(s->sets[i], world.members[i].agree->sets, sizeof s->sets[i]);
    }
}

static void restore(const struct state *s)
{
    world.count = s->count;
    world.left = s->left;
    world.messages_used = s->messages_used;
    memcpy(world.packets, s->packets, (size_t)s->count * sizeof *s->packets);
    for (int i = 0; i < world.size; i++) {
        world.members[i] = s->members[i];
        *world.members[i].agree = s->agrees[i];
        memcpy(world.members[i].agree->sets, s->sets[i], sizeof s->sets[i]);
    }
}

#endif
