/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Explores every state of the model of the shared-memory lane (lane_model.h).
 * No state is wrong: each message arrives once, in order, with its own data.
 * From each state a path leads to the end, so no rank sleeps forever. Each
 * mutant of the model is found, with the expected verdict.
 */
#include "test.h"

#include <string.h>

#include "lane_model.h"

enum {
    STATES_MOST = 1 << 20,
    WAYS_MOST = 4 * STATES_MOST,
    TABLE = 2 * STATES_MOST
};

static const char *const verdict_names[] = {
    [LANE_GOOD] = "good",
    [LANE_STUCK] = "somebody waits for ever",
    [LANE_UNWRITTEN] = "what is read is not written yet",
    [LANE_STALE] = "a message is taken again",
    [LANE_OVERWRITTEN] = "what is read is of a later message",
    [LANE_TOO_MANY] = "more than there is room for"};

/* ---- The explorer -------------------------------------------------------- */

struct way {
    uint32_t from, to;
    uint8_t rank, move;
};

/* States are found breadth first, so the path to a wrong state is a shortest
 * one. */
struct explorer {
    struct lane_state *states;
    uint32_t count;
    struct way *ways;
    size_t way_count;
    uint32_t *table; /* 1 + number of a state, by hash */
    uint32_t last;   /* a wrong state, or one without a path to the end */
};

static int set_up(void **state)
{
    static struct explorer e;

    e.states = malloc(STATES_MOST * sizeof *e.states);
    e.ways = malloc(WAYS_MOST * sizeof *e.ways);
    e.table = malloc(TABLE * sizeof *e.table);
    *state = &e;
    return e.states && e.ways && e.table ? 0 : -1;
}

static int tear_down(void **state)
{
    struct explorer *e = *state;

    free(e->states);
    free(e->ways);
    free(e->table);
    return 0;
}

static uint32_t hash(const struct lane_state *s)
{
    const uint8_t *bytes = (const uint8_t *)s;
    uint64_t h = 0;

    for (size_t i = 0; i < sizeof *s; i++)
        h = (h ^ bytes[i]) * UINT64_C(0x100000001b3);
    return (uint32_t)((h ^ h >> 29) % TABLE);
}

/* Return the number of a state; add it if it is new. */
static uint32_t find(struct explorer *e, const struct lane_state *s)
{
    uint32_t i = hash(s);

    for (; e->table[i]; i = (i + 1) % TABLE)
        if (!memcmp(&e->states[e->table[i] - 1], s, sizeof *s))
            return e->table[i] - 1;
    e->states[e->count] = *s;
    e->table[i] = ++e->count;
    return e->count - 1;
}

/* Make all moves from a state. A stray wake-up does not count as a way to
 * proceed, nor does a release: no rank may depend on one. */
static enum lane_verdict expand(struct explorer *e, struct lane_model *m,
                                uint32_t from)
{
    bool goes_on = lane_is_done(&e->states[from]);

    for (int i = 0; i < 2 * LANE_MOVES; i++) {
        struct lane_state s = e->states[from];
        struct way way = {.from = from,
                          .rank = (uint8_t)(i / LANE_MOVES),
                          .move = (uint8_t)(i % LANE_MOVES)};

        if (!lane_make(m, &s, way.rank, way.move))
            continue;
        if (e->count == STATES_MOST || e->way_count == WAYS_MOST)
            return LANE_TOO_MANY;
        way.to = find(e, &s);
        e->ways[e->way_count++] = way;
        if (m->verdict != LANE_GOOD) {
            e->last = way.to;
            return m->verdict;
        }
        goes_on |= way.move < LANE_STRAY;
    }
    return goes_on ? LANE_GOOD : LANE_STUCK;
}

/* Whether every state has a path to the end, also where ranks spin. */
static enum lane_verdict find_ends(struct explorer *e)
{
    bool *ends = calloc(e->count, sizeof *ends), more = true;

    assert_non_null(ends);
    for (uint32_t i = 0; i < e->count; i++)
        ends[i] = lane_is_done(&e->states[i]);
    while (more) {
        more = false;
        for (const struct way *w = e->ways + e->way_count; w-- > e->ways;)
            if (w->move < LANE_STRAY && ends[w->to] && !ends[w->from])
                ends[w->from] = more = true;
    }
    for (e->last = 0; e->last < e->count && ends[e->last];)
        e->last++;
    free(ends);
    return e->last == e->count ? LANE_GOOD : LANE_STUCK;
}

static enum lane_verdict explore(struct explorer *e, struct lane_model *m)
{
    const struct lane_state first = lane_first(m);

    memset(e->table, 0, TABLE * sizeof *e->table);
    e->count = 0;
    e->way_count = 0;
    find(e, &first);
    for (uint32_t i = 0; i < e->count; i++) {
        enum lane_verdict verdict;

        e->last = i;
        verdict = expand(e, m, i);
        if (verdict != LANE_GOOD)
            return verdict;
    }
    return find_ends(e);
}

/* Print the moves that lead to that state. */
static void print_path(const struct explorer *e, uint32_t to)
{
    const struct way *way = e->ways;

    if (to == 0)
        return;
    while (way->to != to)
        way++;
    print_path(e, way->from);
    print_error("rank %d %s\n", way->rank,
                lane_move_name(&e->states[way->from], way->rank, way->move));
}

static void expect(struct explorer *e, struct lane_model *m,
                   enum lane_verdict expected, const char *name)
{
    const enum lane_verdict verdict = explore(e, m);

    if (verdict == expected)
        return;
    print_path(e, e->last);
    fail_msg("%s: %s, not: %s", name, verdict_names[verdict],
             verdict_names[expected]);
}

/* ---- Results ------------------------------------------------------------- */

enum { FIRST_SLEEPS = 1, SECOND_SLEEPS = 2, BOTH_SLEEP = 3, ALL_WHOLE = ~0u };

/* Rank 0 sends. Two messages fill the slots, and the ring. */
static const struct lane_model usual = {.is_buffered = true,
                                        .sleepers = BOTH_SLEEP,
                                        .holders = 3,
                                        .messages = {3, 0},
                                        .whole = ALL_WHOLE,
                                        .parts = 2,
                                        .slots_batch = 1,
                                        .parts_batch = 1,
                                        .strays = 1};

static void every_message_arrives_once_and_no_rank_sleeps_forever(void **state)
{
    uint32_t seen = 0;

    for (int shape = 0; shape < 8 * 4 * 2 * 3; shape++) {
        struct lane_model m = usual;
        char name[32];

        m.whole = shape % 8;
        m.sleepers = shape / 8 % 4;
        m.slots_batch = 1 + shape / 32 % 2;
        m.parts = shape / 64 == 0 ? 1 : 2;
        m.parts_batch = shape / 64 == 2 ? 2 : 1;
        snprintf(name, sizeof name, "shape %d", shape);
        expect(*state, &m, LANE_GOOD, name);
        seen |= m.seen;
    }
    if (lane_unseen(seen))
        fail_msg("no rank ever %s", lane_unseen(seen));
}

static void the_lane_is_sound_with_two_senders_and_more_laps(void **state)
{
    static const int messages[][2] = {{1, 1}, {2, 2}, {3, 1}, {3, 3}, {5, 0}};

    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        struct lane_model m = usual;
        char name[32];

        memcpy(m.messages, messages[i], sizeof m.messages);
        if (m.messages[0] + m.messages[1] > 5) /* too many states */
            m.holders = 0;
        snprintf(name, sizeof name, "%d to, %d fro", m.messages[0],
                 m.messages[1]);
        expect(*state, &m, LANE_GOOD, name);
    }
}

static const struct {
    const char *name;
    enum lane_mutant mutant;
    unsigned sleepers;
    enum lane_verdict verdict;
} mutants[] = {
    {"no fence where a head is stored", LANE_NO_FENCE_PUBLISHING, BOTH_SLEEP,
     LANE_STUCK},
    {"no fence where slots are returned", LANE_NO_FENCE_RETURNING, BOTH_SLEEP,
     LANE_STUCK},
    {"the same, by a rank that spins", LANE_NO_FENCE_RETURNING, FIRST_SLEEPS,
     LANE_STUCK},
    {"no fence where a receiver arms", LANE_NO_FENCE_ARMING, SECOND_SLEEPS,
     LANE_STUCK},
    {"no fence where a sender arms", LANE_NO_FENCE_ARMING, FIRST_SLEEPS,
     LANE_STUCK},
    {"asleep is loaded before the store", LANE_SEES_FIRST, BOTH_SLEEP,
     LANE_STUCK},
    {"armed after polling", LANE_ARMS_LAST, BOTH_SLEEP, LANE_STUCK},
    {"slots returned without a wake-up", LANE_RETURNS_SILENTLY, BOTH_SLEEP,
     LANE_STUCK},
    {"a head before its data", LANE_HEAD_FIRST, BOTH_SLEEP, LANE_UNWRITTEN},
    {"a slot returned before it is read", LANE_RETURNS_FIRST, BOTH_SLEEP,
     LANE_OVERWRITTEN},
    {"parts returned while they are held", LANE_RETURNS_HELD, BOTH_SLEEP,
     LANE_OVERWRITTEN},
    {"a hold that does not end", LANE_HOLDS_ON, BOTH_SLEEP, LANE_STUCK},
    {"no check for room", LANE_SEES_NO_ROOM, BOTH_SLEEP, LANE_OVERWRITTEN},
    {"the same number in each lap", LANE_SAME_LAP, BOTH_SLEEP, LANE_STALE}};

static void each_mutant_has_its_expected_verdict(void **state)
{
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++) {
        struct lane_model m = usual;

        m.mutant = mutants[i].mutant;
        m.sleepers = mutants[i].sleepers;
        expect(*state, &m, mutants[i].verdict, mutants[i].name);
    }
}

/* Without store buffers these mutants must be good; otherwise their verdict
 * might have another cause. */
static void only_buffers_need_fences(void **state)
{
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++) {
        struct lane_model m = usual;

        if (mutants[i].mutant > LANE_NO_FENCE_ARMING)
            continue;
        m.is_buffered = false;
        m.mutant = mutants[i].mutant;
        m.sleepers = mutants[i].sleepers;
        expect(*state, &m, LANE_GOOD, mutants[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_arrives_once_and_no_rank_sleeps_forever),
        cmocka_unit_test(the_lane_is_sound_with_two_senders_and_more_laps),
        cmocka_unit_test(each_mutant_has_its_expected_verdict),
        cmocka_unit_test(only_buffers_need_fences),
    };

    return cmocka_run_group_tests_name("lane_model", tests, set_up, tear_down);
}
