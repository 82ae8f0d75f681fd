/* SPDX-License-Identifier: BSD-3-Clause */
/* What calls move over the links of each level of a node, held to bounds: a
 * bcast brings each byte once into each group, an allreduce 2 (g-1)/g of a
 * vector into and out of each of g groups. Flat algorithms do not. */
#include "test.h"

#include <math.h>
#include <string.h>

#include "core/sched/method.h"
#include "prove.h"
#include "sim/node_model.h"

enum { SIZE = 16, CACHES = 4, PER_CACHE = 4 };
enum { CORE, CACHE, SOCKET }; /* levels */

static struct rcx_heap heap = RCX_HEAP_INIT;

static const char text[] =
    "core copy=40GB/s combine=30GB/s\n"
    "level core cores=1 cache=64K\n"
    "level cache cores=4 latency=25ns read=30GB/s cache=1M cache-read=50GB/s\n"
    "level socket cores=8 latency=99ns read=9GB/s memory=9GB/s memory-read=9GB/s\n"
    "level node cores=16 latency=200ns read=8GB/s\n"
    "lane readers=8 slot=112 chunk=16K room=64K\n";

struct query {
    const char *method; /* with parameters */
    enum rcx_coll coll;
    int root;
    size_t count; /* elements of 8 bytes */
    enum node_staging staging;
    enum node_placement placement;
    uint64_t segments; /* 0: 1 */
};

static struct simulated_call call_of(const struct query *q)
{
    struct rcx_refusal refusal;
    struct rcx_method_spec spec;
    struct proof_case c = {
        .size = SIZE, .root = q->root, .count = q->count, .commutative = true};
    struct simulated_call call;

    assert_true(rcx_method_parse(q->method, q->coll, &spec, &refusal));
    c.algo = spec.algo;
    memcpy(c.params, spec.params, sizeof c.params);
    if (c.algo->is_by_nodes) {
        c.map =
            q->placement == NODE_COMPACT ? PROOF_MAP_BLOCKS : PROOF_MAP_CYCLIC;
        c.per_node = PER_CACHE;
    }
    call = proof_call_of(&c, &heap);
    call.shape.elem_bytes = 8;
    assert_true(rcx_algo_fits(c.algo, &call.shape));
    return call;
}

static struct node_counts count(const struct query *q)
{
    struct simulated_call call = call_of(q);
    struct node_machine m;
    char why[NODE_TEXT];
    int core[SIZE];
    struct simulation s;
    struct node_counts counts;
    const struct node_piece piece = {.s = &s,
                                     .segments = q->segments ? q->segments : 1};
    const struct node_call node = {.pieces = &piece,
                                   .piece_count = 1,
                                   .window = 1,
                                   .core = core,
                                   .machine = &m,
                                   .lane = {.staging = q->staging}};

    assert_true(node_machine_parse(&m, text, why));
    node_place(&m, q->placement, SIZE, core);
    assert_true(simulation_open(&s, &call));
    assert_true(node_counts_find(&node, &counts));
    simulation_close(&s);
    proof_call_free(&call);
    return counts;
}

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * expected))
        fail_msg("%.12g, not %.12g", value, expected);
}

/* ---- Bounds -------------------------------------------------------------- */

/* Each group of a level other than the root's gets each of n bytes once, and
 * the root's none. */
static void assert_once_into_each(const struct node_counts *c, int level,
                                  int root, double n)
{
    for (int i = 0; i < c->groups[level]; i++)
        assert_near(c->in[level][i].bytes, i == root ? 0 : n);
}

/* 2 (g-1)/g of n bytes go into each of g groups, and as many out of it. */
static void assert_least_of_allreduce(const struct node_counts *c, int level,
                                      double n)
{
    const int g = c->groups[level];

    for (int i = 0; i < g; i++) {
        assert_near(c->in[level][i].bytes, 2 * n * (g - 1) / g);
        assert_near(c->out[level][i].bytes, 2 * n * (g - 1) / g);
    }
}

static double most_in(const struct node_counts *c, int level)
{
    return node_traffic_most(c->in[level], c->groups[level], -1).bytes;
}

/* ---- Bcast --------------------------------------------------------------- */

static void
a_bcast_by_groups_brings_each_byte_once_into_each_group(void **state)
{
    const double n = 8.0 * 3001;

    (void)state;
    for (int root = 0; root < SIZE; root += 5) {
        struct query q = {"hierarchical", RCX_COLL_BCAST, .root = root,
                          .count = 3001};
        struct node_counts c = count(&q);

        assert_once_into_each(&c, CORE, root, n);
        assert_once_into_each(&c, CACHE, root / PER_CACHE, n);
        node_counts_free(&c);
    }
}

static void a_bcast_that_knows_no_groups_does_not(void **state)
{
    const struct query methods[] = {
        {"tree:topology=flat", RCX_COLL_BCAST, .count = 3000},
        {"circulant", RCX_COLL_BCAST, .count = 3000},
        {"scatter_allgather", RCX_COLL_BCAST, .count = 3000}};

    (void)state;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        struct node_counts c = count(&methods[i]);

        assert_true(most_in(&c, CACHE) > 1.5 * 8 * 3000);
        node_counts_free(&c);
    }
}

/* ---- Allreduce ----------------------------------------------------------- */

static void an_allreduce_by_shares_moves_the_least_over_each_link(void **state)
{
    static const char *const betweens[] = {
        "hierarchical:leaders=4,between=ring",
        "hierarchical:leaders=4,between=rabenseifner"};

    (void)state;
    for (int i = 0; i < 2; i++)
        for (int k = NODE_COPIES; k <= NODE_DIRECT; k++) {
            const struct query q = {betweens[i], RCX_COLL_ALLREDUCE,
                                    .count = 3200,
                                    .staging = (enum node_staging)k};
            struct node_counts c = count(&q);

            assert_least_of_allreduce(&c, CORE, 8 * 3200);
            assert_least_of_allreduce(&c, CACHE, 8 * 3200);
            node_counts_free(&c);
        }
}

/* Ranks of a cache follow each other by four, as the map says. */
static void it_does_so_wherever_the_ranks_of_a_group_are(void **state)
{
    const struct query q = {"hierarchical:leaders=4,between=ring",
                            RCX_COLL_ALLREDUCE, .count = 3200,
                            .placement = NODE_SCATTER};
    struct node_counts c = count(&q);

    (void)state;
    assert_least_of_allreduce(&c, CACHE, 8 * 3200);
    node_counts_free(&c);
}

static void an_allreduce_that_knows_no_groups_does_not(void **state)
{
    static const char *const methods[] = {"recursive_doubling", "ring",
                                          "direct", "tree:topology=flat",
                                          "circulant"};

    (void)state;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        const struct query q = {methods[i], RCX_COLL_ALLREDUCE, .count = 3200};
        struct node_counts c = count(&q);

        if (!(most_in(&c, CACHE) > 1.2 * 1.5 * 8 * 3200))
            fail_msg("%s: %g", methods[i], most_in(&c, CACHE));
        node_counts_free(&c);
    }
}

/* ---- Lines, segments ----------------------------------------------------- */

static void
copies_take_the_lines_of_the_ring_back_and_one_copy_does_not(void **state)
{
    const double data = 8 * 3200 / NODE_LINE, flags = 2; /* of 16 KB each */
    struct query q = {"tree:topology=flat", RCX_COLL_BCAST, .count = 3200};
    struct node_counts c = count(&q);

    (void)state;
    assert_near(c.in[CORE][1].lines, data + flags);
    assert_near(c.out[CORE][0].lines, (SIZE - 1) * (data + flags));
    assert_near(c.in[CORE][0].lines, (SIZE - 1) * (data + flags));
    assert_near(c.in[CORE][0].bytes, 0);
    node_counts_free(&c);
    q.staging = NODE_ONCE;
    c = count(&q);
    assert_near(c.in[CORE][1].lines, data + flags);
    assert_near(c.in[CORE][0].lines, 0);
    node_counts_free(&c);
    q.staging = NODE_DIRECT;
    c = count(&q);
    assert_near(c.in[CORE][1].lines, data + 1);
    node_counts_free(&c);
}

static void a_short_message_is_a_line_or_two(void **state)
{
    struct query q = {"tree:topology=flat", RCX_COLL_BCAST, .count = 6};
    struct node_counts c = count(&q);

    (void)state;
    assert_near(c.in[CORE][1].lines, 1); /* 48 bytes, and the head */
    node_counts_free(&c);
    q.count = 7;
    c = count(&q);
    assert_near(c.in[CORE][1].lines, 2);
    node_counts_free(&c);
}

static void segments_count_each(void **state)
{
    struct query q = {"ring", RCX_COLL_ALLREDUCE, .count = 3200};
    struct node_counts one = count(&q), many;

    (void)state;
    q.segments = 1000; /* more than are simulated in time */
    many = count(&q);
    assert_near(many.in[CACHE][1].bytes, 1000 * one.in[CACHE][1].bytes);
    assert_near(many.out[SOCKET][0].lines, 1000 * one.out[SOCKET][0].lines);
    node_counts_free(&one);
    node_counts_free(&many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_bcast_by_groups_brings_each_byte_once_into_each_group),
        cmocka_unit_test(a_bcast_that_knows_no_groups_does_not),
        cmocka_unit_test(an_allreduce_by_shares_moves_the_least_over_each_link),
        cmocka_unit_test(it_does_so_wherever_the_ranks_of_a_group_are),
        cmocka_unit_test(an_allreduce_that_knows_no_groups_does_not),
        cmocka_unit_test(
            copies_take_the_lines_of_the_ring_back_and_one_copy_does_not),
        cmocka_unit_test(a_short_message_is_a_line_or_two),
        cmocka_unit_test(segments_count_each),
    };

    return cmocka_run_group_tests_name("node_counts", tests, NULL, NULL);
}
