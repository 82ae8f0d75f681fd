/* SPDX-License-Identifier: BSD-3-Clause */
/* The virtual clock of the simulator, on schedules whose times are computed by
 * hand: overlap of combines and transfers, order of messages, and links of
 * nodes. */
#include "test.h"

#include "sim/links.h"
#include "sim/timing.h"

enum { N = 10 }; /* elements of a message */

static struct rcx_heap heap = {.budget = UINT64_MAX};

static struct rcx_span scratch(struct rcx_builder *b)
{
    return rcx_span_scratch(b, N);
}

/* Open a simulation of build on size ranks, with elements of one byte. */
static struct simulation open_with(void (*build)(struct rcx_builder *b,
                                                 const struct rcx_shape *s),
                                   int size)
{
    const struct rcx_algo algo = {.name = "by hand", .build = build};
    const struct simulated_call call = {
        .algo = &algo,
        .layout = RCX_TAG_LAYOUT,
        .heap = &heap,
        .shape = {.size = size, .count = N, .elem_bytes = 1}};
    struct simulation s;

    assert_true(simulation_open(&s, &call));
    return s;
}

/* Return the time if a message takes 1 + 10 and a combine 3. */
static double time_of(struct simulation *s, enum simulation_mode mode)
{
    const struct rcx_machine machine = {.alpha = 1, .beta = 1, .gamma = 0.3};
    double time = 0;

    assert_true(simulation_time(s, &machine, mode, &time));
    return time;
}

static void assert_time(double time, double expected)
{
    assert_true(time > expected - 1e-9 && time < expected + 1e-9);
}

static void build_stream(struct rcx_builder *b, const struct rcx_shape *s)
{
    for (int i = 0; i < 3; i++) {
        const struct rcx_span in = rcx_span_in(s), theirs = scratch(b);

        if (s->rank == 0) {
            rcx_step_send(b, 1, in);
        } else {
            rcx_step_recv(b, 0, theirs);
            rcx_step_copy(b, scratch(b), theirs);
            rcx_step_reduce(b, scratch(b), in, theirs);
        }
    }
}

static void combines_overlap_transfers_but_not_in_the_papers(void **state)
{
    struct simulation s = open_with(build_stream, 2);

    (void)state;
    assert_time(time_of(&s, SIMULATION_OVERLAP), 3 * 11 + 3);
    assert_time(time_of(&s, SIMULATION_PAPER), 3 * (11 + 3));
    simulation_close(&s);
}

static void build_exchange(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_span theirs = scratch(b);

    rcx_step_send(b, 1 - s->rank, rcx_span_in(s));
    rcx_step_recv(b, 1 - s->rank, theirs);
    for (int i = 0; i < 2; i++)
        rcx_step_reduce(b, scratch(b), rcx_span_in(s), theirs);
}

static void
a_rank_sends_and_receives_at_once_and_combines_one_by_one(void **state)
{
    struct simulation s = open_with(build_exchange, 2);

    (void)state;
    assert_time(time_of(&s, SIMULATION_OVERLAP), 11 + 2 * 3);
    assert_time(time_of(&s, SIMULATION_PAPER), 11 + 2 * 3);
    simulation_close(&s);
}

static void build_star(struct rcx_builder *b, const struct rcx_shape *s)
{
    for (int i = 1; i < s->size; i++) {
        if (s->rank == 0)
            rcx_step_send(b, i, rcx_span_in(s));
        else if (s->rank == i)
            rcx_step_recv(b, 0, scratch(b));
    }
}

static void a_rank_sends_one_message_at_a_time_in_schedule_order(void **state)
{
    struct simulation s = open_with(build_star, 4);
    double *ends = simulation_ends(&s, NULL);
    struct rcx_cost cost;

    (void)state;
    assert_non_null(ends);
    for (int r = 1; r < 4; r++)
        assert_time(ends[s.ranks[r].first_step], r);
    rcx_heap_free(&heap, ends);
    assert_true(simulation_clock(&s, &cost));
    assert_time(cost.rounds, 3);
    assert_time(cost.volume, 3 * N);
    assert_time(cost.combines, 0);
    simulation_close(&s);
}

/* A combine between the send and the receive of an exchange, on both ranks. */
static void build_circle(struct rcx_builder *b, const struct rcx_shape *s)
{
    rcx_step_send(b, 1 - s->rank, rcx_span_in(s));
    rcx_step_reduce(b, scratch(b), rcx_span_in(s), rcx_span_in(s));
    rcx_step_recv(b, 1 - s->rank, scratch(b));
}

static void ranks_that_wait_in_a_circle_are_found(void **state)
{
    struct simulation s = open_with(build_circle, 2);
    const struct rcx_machine machine = {.alpha = 1};
    double time;

    (void)state;
    assert_time(time_of(&s, SIMULATION_OVERLAP), 11);
    assert_false(simulation_time(&s, &machine, SIMULATION_PAPER, &time));
    simulation_close(&s);
}

/* Each rank of the lower half sends to one of the upper half, in one round. */
static void build_across(struct rcx_builder *b, const struct rcx_shape *s)
{
    const int half = s->size / 2;

    if (s->rank < half)
        rcx_step_send(b, s->rank + half, rcx_span_in(s));
    else
        rcx_step_recv(b, s->rank - half, scratch(b));
}

/* Rank 0 sends to rank 3 at once, and rank 2 to rank 4 what it gets from rank
 * 1. */
static void build_out_of_step(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_span came = scratch(b);
    static const int from[] = {-1, -1, 1, 0, 2}, to[] = {3, 2, 4, -1, -1};

    if (from[s->rank] >= 0)
        rcx_step_recv(b, from[s->rank], came);
    if (to[s->rank] >= 0)
        rcx_step_send(b, to[s->rank], s->rank == 2 ? came : rcx_span_in(s));
}

static void assert_links_of(int ranks,
                            void (*build)(struct rcx_builder *b,
                                          const struct rcx_shape *s),
                            const uint64_t node[], int rounds, int volume)
{
    struct simulation s = open_with(build, ranks);
    struct rcx_nodes *nodes = rcx_nodes_create(&heap, node, ranks);
    struct rcx_cost cost = {.rounds = 7};

    assert_non_null(nodes);
    assert_true(simulation_links(&s, nodes, &cost));
    assert_time(cost.rounds, 7); /* unchanged */
    assert_time(cost.across[RCX_LEVEL_NODE].rounds, rounds);
    assert_time(cost.across[RCX_LEVEL_NODE].volume, volume);
    rcx_nodes_free(&heap, nodes);
    simulation_close(&s);
}

static void assert_links(void (*build)(struct rcx_builder *b,
                                       const struct rcx_shape *s),
                         const uint64_t node[4], int rounds, int volume)
{
    assert_links_of(4, build, node, rounds, volume);
}

static void links_are_shared_by_the_ranks_of_a_node(void **state)
{
    (void)state;
    assert_links(build_star, (uint64_t[]){0, 0, 0, 0}, 0, 0);
    assert_links(build_star, (uint64_t[]){0, 0, 1, 1}, 2, 2 * N);
    assert_links(build_star, (uint64_t[]){0, 1, 2, 3}, 3, 3 * N);
    assert_links(build_across, (uint64_t[]){0, 0, 1, 1}, 1, 2 * N);
    assert_links(build_across, (uint64_t[]){0, 1, 0, 1}, 0, 0);
    assert_links(build_across, (uint64_t[]){0, 1, 1, 2}, 1, N);
    assert_links(build_across, (uint64_t[]){0, 1, 2, 2}, 1, 2 * N);
}

static void messages_within_nodes_take_no_round(void **state)
{
    (void)state;
    assert_links_of(5, build_out_of_step, (uint64_t[]){0, 0, 0, 1, 1}, 1,
                    2 * N);
    assert_links_of(5, build_out_of_step, (uint64_t[]){0, 1, 2, 1, 2}, 1, N);
    assert_links_of(5, build_out_of_step, (uint64_t[]){0, 0, 1, 1, 2}, 2,
                    3 * N);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(combines_overlap_transfers_but_not_in_the_papers),
        cmocka_unit_test(
            a_rank_sends_and_receives_at_once_and_combines_one_by_one),
        cmocka_unit_test(a_rank_sends_one_message_at_a_time_in_schedule_order),
        cmocka_unit_test(ranks_that_wait_in_a_circle_are_found),
        cmocka_unit_test(messages_within_nodes_take_no_round),
        cmocka_unit_test(links_are_shared_by_the_ranks_of_a_node),
    };

    return cmocka_run_group_tests_name("timing", tests, NULL, NULL);
}
