/* SPDX-License-Identifier: BSD-3-Clause */
/* Tuning rules: conditions, the hash of a file, prices of a machine, and errors
 * in a file. No collectives are run. */
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/sched/tuning.h"

static struct rcx_heap heap;
static struct rcx_tuning tuning;
static struct rcx_refusal refusal;

static rcx_status_t read_text(const char *text)
{
    char path[] = "/tmp/test_tuning.XXXXXX";
    const int fd = mkstemp(path);
    const ssize_t length = (ssize_t)strlen(text);
    rcx_status_t status;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, (size_t)length), length);
    close(fd);
    status = rcx_tuning_open(&tuning, &heap, path, &refusal);
    unlink(path);
    return status;
}

static int start(void **state)
{
    (void)state;
    heap = RCX_HEAP_INIT;
    tuning = (struct rcx_tuning){.rules = NULL};
    return 0;
}

static int end(void **state)
{
    (void)state;
    rcx_tuning_close(&tuning, &heap);
    return heap.live == 0 ? 0 : -1;
}

/* The first rule for ranks on nodes of per_node each; in_blocks: consecutive
 * ranks share a node, else ranks are assigned round robin. */
static const struct rcx_rule *ask(enum rcx_coll coll, int ranks, int per_node,
                                  bool in_blocks, size_t count)
{
    struct rcx_shape s = {.coll = coll,
                          .size = ranks,
                          .count = count,
                          .elem_bytes = 8,
                          .commutative = true,
                          .machine = &tuning.machine};
    const int nodes = (ranks + per_node - 1) / per_node;
    uint64_t ids[64];
    const uint64_t *known[RCX_LEVELS] = {ids};
    struct rcx_nodes *map;
    const struct rcx_rule *rule;

    for (int i = 0; i < ranks; i++)
        ids[i] = (uint64_t)(in_blocks ? i / per_node : i % nodes);
    assert_true(rcx_nodes_map(&heap, known, ranks, &map));
    s.nodes = map;
    rule = rcx_tuning_next(&tuning, &s, NULL);
    rcx_nodes_free(&heap, map);
    return rule;
}

static void assert_rule(const struct rcx_rule *rule, int line)
{
    assert_non_null(rule);
    assert_int_equal(rule->is_users ? rule->line : -rule->line, line);
}

static void every_condition_is_asked(void **state)
{
    (void)state;
    assert_ok(read_text("# of nobody\n"
                        "\n"
                        "allreduce ranks=3..4 ring\n"
                        "allreduce nodes=2 tree # why\n"
                        "allreduce nodes=3.. per-node=3.. ring:segment=64K\n"
                        "\tallreduce   power=no nodes=1  bytes=8K..  tree\r\n"
                        "bcast placed=scattered tree\n"
                        "gather bytes=..16 linear\n"
                        "allgather total=64..80 ring"));
    assert_rule(ask(RCX_COLL_ALLREDUCE, 3, 3, true, 8), 3);
    assert_rule(ask(RCX_COLL_ALLREDUCE, 4, 4, true, 8), 3);
    assert_rule(ask(RCX_COLL_ALLREDUCE, 8, 4, true, 8), 4);
    assert_rule(ask(RCX_COLL_ALLREDUCE, 9, 3, true, 8), 5);
    assert_rule(ask(RCX_COLL_ALLREDUCE, 7, 7, true, 1024), 6);
    assert_false(ask(RCX_COLL_ALLREDUCE, 7, 7, true, 1023)->is_users);
    assert_false(ask(RCX_COLL_ALLREDUCE, 8, 8, true, 1024)->is_users);
    assert_rule(ask(RCX_COLL_BCAST, 8, 4, false, 8), 7);
    assert_false(ask(RCX_COLL_BCAST, 8, 4, true, 8)->is_users);
    /* of one rank's block */
    assert_rule(ask(RCX_COLL_GATHER, 5, 5, true, 10), 8);
    assert_false(ask(RCX_COLL_GATHER, 5, 5, true, 15)->is_users);
    /* of all blocks */
    assert_rule(ask(RCX_COLL_ALLGATHER, 5, 5, true, 10), 9);
    assert_false(ask(RCX_COLL_ALLGATHER, 5, 5, true, 11)->is_users);
    assert_false(ask(RCX_COLL_ALLGATHER, 5, 5, true, 5)->is_users);
}

static const struct rcx_rule *ask_with_cores(int ranks, int cores)
{
    const struct rcx_shape s = {.coll = RCX_COLL_BCAST,
                                .size = ranks,
                                .count = 8,
                                .elem_bytes = 8,
                                .cores = cores,
                                .machine = &tuning.machine};

    return rcx_tuning_next(&tuning, &s, NULL);
}

static void cores_are_shared_by_more_ranks_than_there_are(void **state)
{
    (void)state;
    assert_ok(read_text("bcast cores=shared ranks=..9 tree\n"
                        "bcast cores=own tree\n"));
    assert_rule(ask_with_cores(3, 2), 1);
    assert_rule(ask_with_cores(9, 8), 1);
    assert_rule(ask_with_cores(2, 2), 2);
    assert_rule(ask_with_cores(2, 16), 2);
    assert_rule(ask_with_cores(3, 0), 2); /* number of cores unknown */
    assert_false(ask_with_cores(10, 2)->is_users);
}

/* Files with the same rules must have the same hash, whatever their layout
 * is. */
static void the_hash_depends_on_rules_and_not_on_layout(void **state)
{
    static const char *const texts[] = {"bcast tree\n",
                                        "# to all\n  bcast   tree # down\n",
                                        "bcast circulant\n",
                                        "bcast ranks=4 tree\n",
                                        "bcast bytes=4 tree\n",
                                        "bcast total=4 tree\n",
                                        "bcast power=yes tree\n",
                                        "bcast cores=shared tree\n",
                                        "bcast cores=own tree\n",
                                        "machine alpha=1us\nbcast tree\n",
                                        "machine alpha=2us\nbcast tree\n"};
    enum { TEXTS = sizeof texts / sizeof *texts };
    uint64_t hashes[TEXTS];

    (void)state;
    for (int i = 0; i < TEXTS; i++) {
        assert_ok(read_text(texts[i]));
        hashes[i] = tuning.hash;
        rcx_tuning_close(&tuning, &heap);
    }
    assert_true(hashes[0] == hashes[1]);
    for (int i = 1; i < TEXTS; i++)
        for (int k = 2; k < i; k++)
            assert_true(hashes[i] != hashes[k] && hashes[i] != hashes[1]);
    assert_ok(rcx_tuning_open(&tuning, &heap, "", &refusal));
    assert_true(tuning.hash == 0);
}

/* With expensive messages another method must be chosen than with expensive
 * bytes. */
static void a_machine_has_prices(void **state)
{
    const char *const texts[] = {
        "allreduce auto\nmachine alpha=0.5us beta=0.001ns gamma=0.001ns\n",
        "machine alpha=0.001ns beta=1.25ns  # of bytes alone\nallreduce auto\n"};
    const struct rcx_algo *taken[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rcx_shape s = {.coll = RCX_COLL_ALLREDUCE,
                              .size = 64,
                              .count = 4096,
                              .elem_bytes = 8,
                              .commutative = true,
                              .machine = &tuning.machine};
        struct rcx_method m;

        assert_ok(read_text(texts[i]));
        assert_non_null(rcx_method_by_rule(&s, RCX_ORDER_LOOSE, &tuning, &m));
        taken[i] = m.algo;
        assert_true(tuning.machine.link[RCX_LEVEL_NODE].beta ==
                    rcx_machine_usual.link[RCX_LEVEL_NODE].beta);
        assert_true(fabs(tuning.machine.beta - (i ? 1.25e-9 : 1e-12)) < 1e-20);
        rcx_tuning_close(&tuning, &heap);
    }
    assert_true(taken[0]->cost != taken[1]->cost);
    assert_ok(rcx_tuning_open(&tuning, &heap, "", &refusal));
    assert_memory_equal(&tuning.machine, &rcx_machine_usual,
                        sizeof tuning.machine);
}

/* Ranks of all nodes compare the hash; the figures of their nodes differ. */
static void the_hash_of_a_machine_is_that_of_its_prices(void **state)
{
    struct rcx_machine m = rcx_machine_usual;

    (void)state;
    m.figures.origin = RCX_FIGURES_MEASURED;
    assert_true(rcx_machine_hash(&m) == rcx_machine_hash(&rcx_machine_usual));
    m.link[RCX_LEVELS - 1].tell = 1; /* the last price */
    assert_true(rcx_machine_hash(&m) != rcx_machine_hash(&rcx_machine_usual));
}

/* RCX's own rules between nodes are for machines with TCP between them. */
static void rules_between_nodes_are_of_their_machine(void **state)
{
    (void)state;
    assert_ok(read_text("machine far-alpha=6us\n"));
    assert_false(ask(RCX_COLL_ALLREDUCE, 8, 4, true, 8)->is_users);
    rcx_tuning_close(&tuning, &heap);
    assert_ok(read_text("machine far-alpha=1us\nallreduce ranks=6 tree\n"));
    assert_null(ask(RCX_COLL_ALLREDUCE, 8, 4, true, 8));
    assert_rule(ask(RCX_COLL_ALLREDUCE, 6, 3, true, 8), 2);
    assert_false(ask(RCX_COLL_ALLREDUCE, 8, 8, true, 8)->is_users);
}

/* A file with an error must leave all rules and prices at their defaults. */
static void assert_wrong(const char *text, const char *where, const char *what,
                         const char *guess)
{
    assert_int_equal(read_text(text), RCX_ERR_CONFIG);
    if (!strstr(refusal.valid, where) || !strstr(refusal.valid, what) ||
        !strstr(refusal.guess, guess))
        fail_msg("%s: \"%s%s\"", text, refusal.valid, refusal.guess);
    assert_true(tuning.count > 0 && !tuning.rules[0].is_users);
    assert_true(tuning.hash == 0);
    assert_true(tuning.machine.alpha == rcx_machine_usual.alpha);
    rcx_tuning_close(&tuning, &heap);
}

static void faults_are_named(void **state)
{
    (void)state;
    assert_wrong("bcast tree\nalreduce ring\n", "line 2", "no collective",
                 "allreduce");
    assert_wrong("bcast tre\n", "line 1", "no method of bcast", "tree");
    assert_wrong("bcast\n", "line 1", "ends with a method", "");
    assert_wrong("bcast rnks=4 tree\n", "line 1", "is one of ranks", "ranks");
    assert_wrong("bcast 4 tree\n", "line 1", "is one of ranks", "");
    assert_wrong("bcast ranks=4..3 tree\n", "line 1", "A..B", "");
    assert_wrong("bcast ranks=.. tree\n", "line 1", "A..B", "");
    assert_wrong("bcast ranks= tree\n", "line 1", "A..B", "");
    assert_wrong("bcast bytes=4X tree\n", "line 1", "A..B", "");
    assert_wrong("bcast power=ys tree\n", "line 1", "yes or no", "yes");
    assert_wrong("bcast placed=here tree\n", "line 1", "scattered", "");
    assert_wrong("bcast prefer:tree\n", "line 1", "no method", "");
    assert_wrong("allreduce ring:segmnt=4\n", "line 1", "no parameter",
                 "segment");
    assert_wrong("allreduce ring:segment=x\n", "line 1", "segment", "");
    assert_wrong("machine alpha=1us bta=1ns\n", "line 1",
                 "machine: valid are alpha", "beta");
    assert_wrong("machine\n", "line 1", "machine: valid are alpha", "");
    assert_wrong("machine alpha=1us,\n", "line 1", "valid are alpha", "");
    assert_wrong("machine beta=1ns alpha=1us beta=1ns\n", "line 1",
                 "\"beta\" is given twice", "");
    assert_wrong("bcast bytes=4 ranks=2 bytes=4 tree\n", "line 1",
                 "\"bytes\" is given twice", "");
    assert_wrong("machine alpha\n", "line 1", "machine: valid are alpha", "");
    assert_wrong("machine alpha=4\n", "line 1", "0.4us", "");
    assert_wrong("machine alpha=.5.us\n", "line 1", "0.4us", "");
}

static void files_that_are_none_are_refused(void **state)
{
    static char much[(1 << 20) + 2];

    (void)state;
    assert_int_equal(
        rcx_tuning_open(&tuning, &heap, "/nonexistent/rules", &refusal),
        RCX_ERR_CONFIG);
    assert_non_null(strstr(refusal.valid, "No such file"));
    rcx_tuning_close(&tuning, &heap);
    assert_int_equal(rcx_tuning_open(&tuning, &heap, "/tmp", &refusal),
                     RCX_ERR_CONFIG);
    assert_true(refusal.valid[0]);
    rcx_tuning_close(&tuning, &heap);
    memset(much, '\n', sizeof much - 1);
    assert_wrong(much, "at most", "bytes", "");
}

static void memory_may_run_out(void **state)
{
    rcx_status_t status = RCX_ERR_NOMEM;
    uint64_t budget = 0;

    (void)state;
    for (; status == RCX_ERR_NOMEM; budget++) {
        heap.budget = budget;
        status = read_text("bcast tree\n");
        if (status == RCX_ERR_NOMEM)
            rcx_tuning_close(&tuning, &heap);
    }
    assert_ok(status);
    assert_true(budget > 2);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, start, end)
    static const struct CMUnitTest tests[] = {
        TEST(every_condition_is_asked),
        TEST(cores_are_shared_by_more_ranks_than_there_are),
        TEST(the_hash_depends_on_rules_and_not_on_layout),
        TEST(a_machine_has_prices),
        TEST(the_hash_of_a_machine_is_that_of_its_prices),
        TEST(rules_between_nodes_are_of_their_machine),
        TEST(faults_are_named),
        TEST(files_that_are_none_are_refused),
        TEST(memory_may_run_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
