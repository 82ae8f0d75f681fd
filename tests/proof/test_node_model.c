/* SPDX-License-Identifier: BSD-3-Clause */
/* The model of a node with many cores, on schedules and a machine whose times
 * are computed by hand. */
#include "test.h"

#include <math.h>

#include "sim/node_model.h"

static struct rcx_heap heap = RCX_HEAP_INIT;

/* Two pairs of cores. Times below are ns, and bytes; a core has an own cache
 * for all of them. */
static const char small[] =
    "name small\n"
    "core copy=8GB/s combine=4GB/s\n"
    "level core cores=1 cache=1M out=4GB/s\n"
    "level pair cores=2 latency=10ns read=2GB/s in=1GB/s out=1GB/s\n"
    "level pair cache=4M cache-read=1GB/s\n"
    "level node cores=4 latency=100ns read=1GB/s\n"
    "level node memory=1GB/s memory-read=1GB/s\n"
    "lane send=5ns recv=7ns flag=1ns gap=2ns readers=2 slot=64\n"
    "lane chunk=2000 room=4000\n";

static struct node_machine parse(const char *text)
{
    struct node_machine m;
    char why[NODE_TEXT] = "";

    if (!node_machine_parse(&m, text, why))
        fail_msg("%s", why);
    return m;
}

typedef void builder(struct rcx_builder *b, const struct rcx_shape *s);

struct model {
    struct node_machine machine;
    struct node_lane lane;
    builder *build;
    int size;
    size_t count;
    uint64_t segments;
    unsigned window;
};

/* ns of a call of count elements of one byte, rank i on core i. */
static double time_of(const struct model *given)
{
    static const int core[] = {0, 1, 2, 3};
    const struct rcx_algo algo = {.name = "by hand", .build = given->build};
    const struct simulated_call call = {
        .algo = &algo,
        .layout = RCX_TAG_LAYOUT,
        .heap = &heap,
        .shape = {.size = given->size, .count = given->count, .elem_bytes = 1}};
    struct simulation s;
    const struct node_piece piece = {
        .s = &s, .segments = given->segments ? given->segments : 1};
    const struct node_call node = {.pieces = &piece,
                                   .piece_count = 1,
                                   .window = given->window ? given->window : 1,
                                   .core = core,
                                   .machine = &given->machine,
                                   .lane = given->lane};
    double seconds = 0;

    assert_true(simulation_open(&s, &call));
    assert_true(node_model_time(&node, &seconds));
    simulation_close(&s);
    return seconds * 1e9;
}

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) < 1e-6))
        fail_msg("%.9g, not %.9g", value, expected);
}

/* ---- Messages ------------------------------------------------------------ */

/* From rank 0 to the last one. */
static void build_message(struct rcx_builder *b, const struct rcx_shape *s)
{
    if (s->rank == 0)
        rcx_step_send(b, s->size - 1, rcx_span_in(s));
    else if (s->rank == s->size - 1)
        rcx_step_recv(b, 0, rcx_span_scratch(b, s->count));
}

static void
a_message_is_written_then_seen_then_read_at_the_rates_of_its_level(void **state)
{
    struct model m = {.machine = parse(small), .build = build_message};

    (void)state;
    m.count = 8;
    m.size = 2; /* send, flag, latency, recv */
    assert_near(time_of(&m), 5 + 1 + 10 + 7);
    m.size = 4;
    assert_near(time_of(&m), 5 + 1 + 100 + 7);
    m.count = 1000; /* the data: taken from the ring, missed at first, read */
    m.size = 2;
    assert_near(time_of(&m), 5 + 1 + 500 + 10 + 7 + 10 + 500);
    m.size = 4;
    assert_near(time_of(&m), 5 + 1 + 1000 + 100 + 7 + 100 + 1000);
    m.lane.staging = NODE_DIRECT; /* no writing; the sender is done last */
    assert_near(time_of(&m), 5 + 1 + 100 + 7 + 100 + 1000 + 100);
}

static void a_long_message_is_read_while_its_rest_is_written(void **state)
{
    struct model m = {.machine = parse(small),
                      .build = build_message,
                      .size = 2,
                      .count = 1024};

    (void)state;
    m.machine.chunk = 256; /* written at 134, 263, 392, 521, 138 to read each;
                              the second is there when the first is read */
    assert_near(time_of(&m), 144 + 7 + 4 * 138);
    m.machine.room = 256; /* the second is written when the first is known to be
                             read, at 299, and so on */
    assert_near(time_of(&m), 289 + 3 * (10 + 129 + 10 + 138));
    m.machine.recv = 200e-9; /* the first chunk does not wait, the second knows
                             that there is a receive */
    assert_near(time_of(&m), 289 + 193 + 3 * (10 + 129 + 10 + 138));
}

/* The receive waits for a copy to the same place. */
static void build_late(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_span place = rcx_span_scratch(b, s->count);

    if (s->rank == 0) {
        rcx_step_send(b, 1, rcx_span_in(s));
    } else {
        rcx_step_copy(b, place, rcx_span_in(s));
        rcx_step_recv(b, 0, place);
    }
}

static void
a_long_message_waits_for_its_receive_behind_its_first_chunk(void **state)
{
    struct model m = {
        .machine = parse(small), .build = build_late, .size = 2, .count = 1024};

    (void)state;
    m.machine.copy = 1e9;
    m.machine.chunk = 256; /* The first is written at 262. The receive is ready
                              at 1024 and known at 1034; so the others are seen
                              at 1301, 1558 and 1815, and read one by one. */
    assert_near(time_of(&m), 1301 + 3 * 266);
    m.lane.staging = NODE_ONCE; /* all are there at 1024 */
    assert_near(time_of(&m), 1024 + 7 + 4 * 266);
}

static void build_star(struct rcx_builder *b, const struct rcx_shape *s)
{
    for (int i = 1; i < s->size; i++) {
        if (s->rank == 0)
            rcx_step_send(b, i, rcx_span_in(s));
        else if (s->rank == i)
            rcx_step_recv(b, 0, rcx_span_scratch(b, s->count));
    }
}

static void sends_of_the_same_data_are_one_write_if_the_lane_can(void **state)
{
    struct model m = {
        .machine = parse(small), .build = build_star, .size = 4, .count = 1000};

    (void)state;
    /* Written at 506, 1512 and 2518; the last one is read alone. */
    assert_near(time_of(&m), 2518 + 100 + 7 + 100 + 1000);
    /* Written at 1007, with two flags. Rank 3 reads from 1214 on, and rank 2,
     * the second reader of its line, from 1216; both share the links. */
    m.lane.staging = NODE_ONCE;
    assert_near(time_of(&m), 1216 + 1998);
}

/* Sends of different data. */
static void build_scatter(struct rcx_builder *b, const struct rcx_shape *s)
{
    for (int i = 1; i < s->size; i++) {
        const struct rcx_span part =
            rcx_span_sub(rcx_span_in(s), (size_t)i, s->count - 4);

        if (s->rank == 0)
            rcx_step_send(b, i, part);
        else if (s->rank == i)
            rcx_step_recv(b, 0, rcx_span_scratch(b, part.count));
    }
}

static void other_sends_are_written_each(void **state)
{
    struct model m = {.machine = parse(small),
                      .lane = {.staging = NODE_ONCE},
                      .size = 4,
                      .count = 1004};

    (void)state;
    /* three writes, in which nothing moves over links */
    m.build = build_scatter;
    assert_near(time_of(&m), 506 + 1006 + 1006 + 100 + 7 + 100 + 1000);
}

/* ---- Local work ---------------------------------------------------------- */

/* An exchange of two ranks, whose data so many reductions read. */
static void exchange(struct rcx_builder *b, const struct rcx_shape *s, int n)
{
    const struct rcx_span theirs = rcx_span_scratch(b, s->count);

    rcx_step_send(b, 1 - s->rank, rcx_span_in(s));
    rcx_step_recv(b, 1 - s->rank, theirs);
    for (int i = 0; i < n; i++)
        rcx_step_reduce(b, rcx_span_scratch(b, s->count), rcx_span_in(s),
                        theirs);
}

static void build_one(struct rcx_builder *b, const struct rcx_shape *s)
{
    exchange(b, s, 1);
}

static void build_two(struct rcx_builder *b, const struct rcx_shape *s)
{
    exchange(b, s, 2);
}

static void
data_are_combined_as_they_arrive_if_one_step_reads_them(void **state)
{
    struct model m = {
        .machine = parse(small), .build = build_one, .size = 2, .count = 1000};
    const double message = 5 + 1 + 500 + 10 + 7 + 10 + 500;

    (void)state;
    assert_near(time_of(&m), message); /* combining is hidden by reading */
    m.machine.combine = 1e9;
    assert_near(time_of(&m), message + 500);
    m.build = build_two; /* stored, then combined twice */
    assert_near(time_of(&m), message + 2 * 1000);
}

/* Rank 0 adds the vectors of all others to its own. */
static void build_fan_in(struct rcx_builder *b, const struct rcx_shape *s)
{
    struct rcx_span sum = rcx_span_in(s);

    for (int i = 1; i < s->size; i++) {
        if (s->rank == i)
            rcx_step_send(b, 0, rcx_span_in(s));
        if (s->rank == 0) {
            const struct rcx_span theirs = rcx_span_scratch(b, s->count);
            const struct rcx_span next = rcx_span_scratch(b, s->count);

            rcx_step_recv(b, i, theirs);
            rcx_step_reduce(b, next, sum, theirs);
            sum = next;
        }
    }
}

static void a_pass_writes_its_result_once(void **state)
{
    struct model m = {.machine = parse(small),
                      .build = build_fan_in,
                      .size = 3,
                      .count = 1000};
    double chain, pass;

    (void)state;
    m.machine.level[1].read = 1e15; /* only rank 0's own data take time: they */
    m.machine.level[2].read = 1e15; /* are in the shared cache, at 1 ns */
    m.machine.level[1].in = m.machine.level[1].out = 1e15;
    m.machine.level[0].out = 1e15;
    m.machine.level[0].cache = 1;
    m.machine.copy = m.machine.combine = 1e15;
    chain = time_of(&m);
    m.lane.many_way = true;
    pass = time_of(&m);
    /* The senders read their vectors. A chain reads one and writes one, twice,
     * and writing counts twice; a pass does it once. A byte of the data is in
     * the core's own cache. */
    if (!(fabs(chain - (1016 + 17 + 3000 + 107 + 3000)) < 10 &&
          fabs(pass - (1106 + 7 + 100 + 2000 + 1000 + 10)) < 10))
        fail_msg("chain %g, pass %g", chain, pass);
}

/* Scratch is used again, so that the second message waits for the first
 * reduction, which therefore cannot wait for the second message. */
static void build_reused(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_span theirs = rcx_span_scratch(b, s->count);
    const struct rcx_span sum = rcx_span_scratch(b, s->count);

    for (int i = 1; i < s->size; i++) {
        if (s->rank == i)
            rcx_step_send(b, 0, rcx_span_in(s));
        if (s->rank == 0) {
            rcx_step_recv(b, i, theirs);
            rcx_step_reduce(b, sum, i == 1 ? rcx_span_in(s) : sum, theirs);
        }
    }
}

static void a_pass_never_waits_for_itself(void **state)
{
    struct model m = {.machine = parse(small),
                      .lane = {.many_way = true},
                      .build = build_reused,
                      .size = 4,
                      .count = 1000};

    (void)state;
    for (int staging = NODE_COPIES; staging <= NODE_DIRECT; staging++) {
        m.lane.staging = (enum node_staging)staging;
        assert_true(time_of(&m) > 0);
    }
}

/* ---- Links, caches, memory ----------------------------------------------- */

/* Ranks 0 and 1 each send to the other pair. */
static void build_across(struct rcx_builder *b, const struct rcx_shape *s)
{
    if (s->rank < 2)
        rcx_step_send(b, s->rank + 2, rcx_span_in(s));
    else
        rcx_step_recv(b, s->rank - 2, rcx_span_scratch(b, s->count));
}

static void flows_share_the_links_of_their_groups(void **state)
{
    struct model m = {.machine = parse(small),
                      .lane = {.staging = NODE_DIRECT},
                      .build = build_across,
                      .size = 4,
                      .count = 1000};
    const double before = 5 + 1 + 100 + 7 + 100, after = 100;

    (void)state;
    assert_near(time_of(&m), before + 2000 + after);
    m.machine.level[1].out = INFINITY; /* into the other pair */
    assert_near(time_of(&m), before + 2000 + after);
    m.machine.level[1].in = INFINITY;
    assert_near(time_of(&m), before + 1000 + after);
    m.machine.level[2].inside = 0.5e9;
    assert_near(time_of(&m), before + 4000 + after);
}

static void a_core_serves_its_readers_at_the_rate_of_its_caches(void **state)
{
    struct model m = {.machine = parse(small),
                      .lane = {.staging = NODE_DIRECT},
                      .build = build_star,
                      .size = 3,
                      .count = 1000};

    (void)state;
    m.machine.gap = 0;
    m.machine.level[1].latency = m.machine.level[2].latency = 100e-9;
    m.machine.level[1].read = 1e9;
    m.machine.level[0].out = 1e9; /* read from 213 and 219 ns on */
    assert_near(time_of(&m), 219 + 2 * 994 + 6 + 100);
}

static void build_copy(struct rcx_builder *b, const struct rcx_shape *s)
{
    if (s->rank == 0)
        rcx_step_copy(b, rcx_span_scratch(b, s->count), rcx_span_in(s));
}

static void
data_that_fit_no_cache_come_from_the_next_one_and_memory(void **state)
{
    struct model m = {.machine = parse(small),
                      .build = build_copy,
                      .size = 1,
                      .count = 1 << 20};
    const double bytes =
        1 << 20; /* read, and written; there is a result, too */

    (void)state;
    m.machine.level[0].cache = 4 << 20;
    assert_near(time_of(&m), bytes / 8);
    m.machine.level[0].cache = 3 << 19; /* half of them are in the other one */
    assert_near(time_of(&m), bytes * 3 / 2);
    m.machine.level[0].cache = 3 << 18;
    m.machine.level[1].cache = 3 << 18; /* a quarter, and half in memory */
    m.machine.level[2].memory_read = 0.5e9;
    m.machine.level[2].memory = 10e9;
    assert_near(time_of(&m), bytes * 3 * (0.25 + 0.5 * 2));
    m.machine.level[2].memory = 0.25e9; /* of 1.5 bytes */
    assert_near(time_of(&m), bytes * 3 * 0.5 * 4);
}

static void own_data_move_while_those_of_others_do(void **state)
{
    struct model m = {.machine = parse(small),
                      .build = build_message,
                      .size = 2,
                      .count = 1000};
    double time;

    (void)state;
    m.machine.level[0].cache = 1; /* the sender reads its data at 1 ns, the
                                     receiver stores them at 2 */
    time = time_of(&m);
    if (!(fabs(time - (6 + 1000 + 10 + 17 + 2000)) < 10))
        fail_msg("%g", time);
}

/* ---- Segments ------------------------------------------------------------ */

static void segments_overlap_as_far_as_the_window_goes(void **state)
{
    struct model m = {.machine = parse(small),
                      .build = build_message,
                      .size = 2,
                      .count = 1000,
                      .segments = 4};
    const double write = 506, read = 517;

    (void)state;
    m.window =
        1; /* the sender only sends, so it goes on; the reader is slower */
    assert_near(time_of(&m), write + 10 + 4 * read);
    m.build = build_one;
    m.window = 1;
    assert_near(time_of(&m), 4 * (write + 10 + read));
    m.window = 4; /* each rank is busy: it writes four, then reads four */
    assert_near(time_of(&m), 4 * write + 4 * read);
}

static void the_time_of_many_segments_is_extrapolated(void **state)
{
    struct model m = {.machine = parse(small),
                      .build = build_one,
                      .size = 2,
                      .count = 1000,
                      .window = 2};
    double time[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        m.segments = NODE_SEGMENTS * (1 + (uint64_t)i);
        time[i] = time_of(&m);
    }
    assert_true(time[1] > 1.9 * time[0]);
    assert_near(time[2] - time[1], time[1] - time[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_message_is_written_then_seen_then_read_at_the_rates_of_its_level),
        cmocka_unit_test(a_long_message_is_read_while_its_rest_is_written),
        cmocka_unit_test(
            a_long_message_waits_for_its_receive_behind_its_first_chunk),
        cmocka_unit_test(sends_of_the_same_data_are_one_write_if_the_lane_can),
        cmocka_unit_test(other_sends_are_written_each),
        cmocka_unit_test(
            data_are_combined_as_they_arrive_if_one_step_reads_them),
        cmocka_unit_test(a_pass_writes_its_result_once),
        cmocka_unit_test(a_pass_never_waits_for_itself),
        cmocka_unit_test(flows_share_the_links_of_their_groups),
        cmocka_unit_test(a_core_serves_its_readers_at_the_rate_of_its_caches),
        cmocka_unit_test(
            data_that_fit_no_cache_come_from_the_next_one_and_memory),
        cmocka_unit_test(own_data_move_while_those_of_others_do),
        cmocka_unit_test(segments_overlap_as_far_as_the_window_goes),
        cmocka_unit_test(the_time_of_many_segments_is_extrapolated),
    };

    return cmocka_run_group_tests_name("node_model", tests, NULL, NULL);
}
