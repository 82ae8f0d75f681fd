/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers that ranks publish at start, and errors if these do not match. */
#include "config_ranks.h"

static void ranks_that_agree_log_nothing_and_find_each_other(void **state)
{
    const void *found;
    size_t bytes;

    (void)state;
    publish_all();
    for (int i = 0; i < RANKS; i++) {
        assert_ok(compare(i));
        assert_int_equal(ranks[i].lines.count, 0);
        assert_int_equal(ranks[i].context.ack_bytes, 1000);
    }
    assert_ok(find(&found, &bytes));
    assert_int_equal(bytes, sizeof ranks->address);
    assert_string_equal(found, "at 2");
}

/* The launcher reports that ranks 0 and 2 share a node, and rank 1 is alone. */
static void ranks_the_launcher_separates_are_on_different_nodes(void **state)
{
    static const int together[] = {0, 2}, alone[] = {1};

    (void)state;
    for (int i = 0; i < RANKS; i++) {
        ranks[i].boot.local_size = i == 1 ? 1 : 2;
        ranks[i].boot.local_ranks = i == 1 ? alone : together;
    }
    publish_all();
    for (int i = 0; i < RANKS; i++) {
        struct rcx_context *context = &ranks[i].context;

        assert_ok(compare(i));
        assert_non_null(context->nodes);
        assert_int_equal(context->nodes->count, 2);
        assert_int_equal(context->nodes->node[0], 0);
        assert_int_equal(context->nodes->node[1], 1);
        assert_int_equal(context->nodes->node[2], 0);
        rcx_nodes_free(&context->heap, context->nodes);
        context->nodes = NULL;
    }
}

/* Ranks on one kernel share its cores, on whatever nodes they are. */
static void cores_are_those_of_the_kernel(void **state)
{
    cpu_set_t cpus;
    int cores;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    cores = CPU_COUNT(&cpus);
    publish_all();
    assert_ok(compare(0));
    assert_int_equal(ranks[0].context.cores, cores);
    assert_int_equal(ranks[0].context.oversubscribes_cores, RANKS > cores);
    assert_false(ranks[0].context.is_split);
    ranks[2].blob[KERNEL_AT] ^= 1; /* another kernel */
    rcx_peer_seal(ranks[2].blob, ranks[2].bytes);
    assert_ok(compare(0));
    assert_int_equal(ranks[0].context.cores, 0);
    assert_int_equal(ranks[0].context.oversubscribes_cores, RANKS - 1 > cores);
}

/* The map of rank 0. Ranks 0 and 2 are bound to the first usable CPU; rank 1
 * may run on cpus, a mask whose bit 0 is that CPU. */
static struct rcx_nodes *cores_of_bound(unsigned long cpus)
{
    cpu_set_t all, bound;
    int cpu = 0;

    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&bound);
    CPU_SET(cpu, &bound);
    assert_int_equal(sched_setaffinity(0, sizeof bound, &bound), 0);
    publish_all();
    cpus <<= cpu;
    memcpy(ranks[1].blob + CPUS_AT, &cpus, sizeof cpus);
    rcx_peer_seal(ranks[1].blob, ranks[1].bytes);
    assert_ok(compare(0));
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    return ranks[0].context.nodes;
}

static void ranks_that_share_a_core_are_known(void **state)
{
    struct rcx_nodes *cores;

    (void)state;
    assert_null(cores_of_bound(1)); /* all on one core */
    assert_null(cores_of_bound(3)); /* rank 1 is not bound */
    cores = cores_of_bound(2);
    assert_true(cores && cores->level == RCX_LEVEL_CORE && cores->count == 2);
    assert_int_equal(cores->node[1], 1);
    assert_int_equal(cores->node[2], 0);
    rcx_nodes_free(&ranks[0].context.heap, cores);
    ranks[0].context.nodes = NULL;
}

/* ---- Settings ------------------------------------------------------------ */

static const char *const names[] = {
    "RCX_ALLREDUCE", "RCX_REDUCE", "RCX_REDUCE_SCATTER", "RCX_ORDER",
    "RCX_CHECK",     "RCX_SHM",    "RCX_MACHINE"};

/* Change a setting from its value after open_all(). */
static void differ(struct rcx_config *config, const char *name)
{
    config->shm.polls = strcmp(name, "RCX_SHM") == 0;
    config->measures_network = strcmp(name, "RCX_MACHINE") == 0;
    if (strcmp(name, "RCX_ORDER") == 0)
        config->order = RCX_ORDER_RANK;
    if (strcmp(name, "RCX_CHECK") == 0)
        config->check = RCX_CHECK_FULL;
    for (int i = 0; i < RCX_COLL_COUNT; i++)
        if (rcx_colls[i].variable && strcmp(name, rcx_colls[i].variable) == 0)
            config->spec[i].window = 3;
}

/* All ranks must fail, and only rank 0 logs the setting and the rank. */
static void assert_differs(const char *name, int differing)
{
    char text[64];

    publish_all();
    for (int i = 0; i < RANKS; i++)
        assert_status(compare(i), RCX_ERR_CONFIG);
    snprintf(text, sizeof text, "%s of rank %d differs from that of rank 0",
             name, differing);
    assert_logged(0, text);
    assert_int_equal(ranks[1].lines.count + ranks[2].lines.count, 0);
}

static void need_16_each_setting_that_differs_is_named(void **state)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        open_all(state);
        differ(&ranks[2].context.config, names[i]);
        assert_differs(names[i], 2);
    }
}

/* The lowest rank is named, and the first of its settings. */
static void need_16_the_first_setting_that_differs_is_named(void **state)
{
    (void)state;
    differ(&ranks[1].context.config, "RCX_CHECK");
    differ(&ranks[1].context.config, "RCX_REDUCE");
    differ(&ranks[2].context.config, "RCX_ALLREDUCE");
    assert_differs("RCX_REDUCE", 1);
}

static void need_16_if_rank_0_differs_rank_1_is_named(void **state)
{
    (void)state;
    differ(&ranks[0].context.config, "RCX_ORDER");
    assert_differs("RCX_ORDER", 1);
}

/* If ranks disagreed, one would wait for an ack that is never sent. */
static void all_ranks_use_the_least_length_with_acks(void **state)
{
    (void)state;
    for (int least = 0; least < RANKS; least++) {
        ranks[least].transport.ack_bytes = 500;
        publish_all();
        for (int i = 0; i < RANKS; i++) {
            assert_ok(compare(i));
            assert_int_equal(ranks[i].context.ack_bytes, 500);
        }
        ranks[least].transport.ack_bytes = 1000;
    }
}

/* ---- Lines that one rank logs for all ------------------------------------ */

static void complain(int rank, enum rcx_config_kind kind, const char *text)
{
    struct rcx_config *config = &ranks[rank].context.config;

    snprintf(config->lines[kind], sizeof config->lines[kind], "%s\n", text);
}

static void a_warning_of_two_ranks_is_logged_by_the_lower(void **state)
{
    (void)state;
    complain(1, RCX_CONFIG_WARNINGS, "the same");
    complain(2, RCX_CONFIG_WARNINGS, "the same");
    publish_all();
    for (int i = 0; i < RANKS; i++)
        assert_ok(compare(i));
    assert_int_equal(ranks[0].lines.count + ranks[2].lines.count, 0);
    assert_logged(1, "the same");
}

static void a_value_that_is_wrong_on_one_rank_fails_all(void **state)
{
    (void)state;
    complain(2, RCX_CONFIG_ERRORS, "wrong");
    publish_all();
    for (int i = 0; i < RANKS; i++)
        assert_status(compare(i), RCX_ERR_CONFIG);
    assert_int_equal(ranks[0].lines.count + ranks[1].lines.count, 0);
    assert_logged(2, "wrong");
}

/* ---- One rank of a node reads all headers -------------------------------- */

static int open_many(void **state)
{
    static const struct rcx_boot_ops ops = {
        .publish = publish, .lookup = lookup, .local_bcast = broadcast};
    static int local[2][MANY / 2];

    (void)state;
    memset(shown, 0, sizeof shown);
    open_some(MANY, &ops);
    for (int i = 0; i < MANY; i++) {
        local[i % 2][i / 2] = i;
        ranks[i].boot.local_size = MANY / 2;
        ranks[i].boot.local_ranks = local[i % 2];
    }
    ranks[7].transport.ack_bytes = 500;
    return 0;
}

/* Leaders (0, 1) have looked up all others; other ranks made times lookups. */
static void assert_lookups(int times)
{
    for (int i = 0; i < MANY; i++)
        assert_int_equal(ranks[i].lookups, i < 2 ? MANY - 1 : times);
}

static void assert_learned(int rank)
{
    struct rcx_context *context = &ranks[rank].context;
    cpu_set_t cpus;

    assert_int_equal(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    assert_int_equal(context->oversubscribes_cores, MANY > CPU_COUNT(&cpus));
    assert_int_equal(context->cores, CPU_COUNT(&cpus)); /* one kernel */
    assert_true(context->is_split);
    assert_int_equal(context->ack_bytes, 500);
    assert_non_null(context->nodes);
    assert_int_equal(context->nodes->count, 2);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(context->nodes->node[i], i % 2);
    rcx_nodes_free(&context->heap, context->nodes);
    context->nodes = NULL;
}

static void publish_many(void)
{
    for (int i = 0; i < MANY; i++)
        assert_ok(rcx_config_publish(&ranks[i].context));
}

static void one_rank_of_a_node_compares_all_blobs(void **state)
{
    (void)state;
    publish_many();
    for (int i = 0; i < MANY; i++) {
        assert_ok(compare(i));
        assert_learned(i);
        assert_int_equal(ranks[i].lines.count, 0);
    }
    assert_lookups(0);
}

static void a_rank_without_the_node_summary_compares_all_blobs(void **state)
{
    (void)state;
    publish_many();
    for (int i = MANY - 1; i >= 0; i--) {
        assert_ok(compare(i));
        assert_learned(i);
    }
    assert_lookups(MANY - 1);
}

static void every_rank_finds_a_setting_that_differs(void **state)
{
    (void)state;
    differ(&ranks[6].context.config, "RCX_ORDER");
    publish_many();
    for (int i = 0; i < MANY; i++)
        assert_status(compare(i), RCX_ERR_CONFIG);
    assert_logged(0, "RCX_ORDER of rank 6 differs from that of rank 0");
    for (int i = 1; i < MANY; i++)
        assert_int_equal(ranks[i].lines.count, 0);
    assert_lookups(MANY - 1);
}

static void a_warning_of_many_ranks_is_logged_by_the_lowest(void **state)
{
    (void)state;
    for (int i = 4; i < MANY; i++)
        complain(i, RCX_CONFIG_WARNINGS, "the same");
    publish_many();
    for (int i = 0; i < MANY; i++) {
        assert_ok(compare(i));
        assert_learned(i);
    }
    assert_logged(4, "the same");
    for (int i = 5; i < MANY; i++)
        assert_int_equal(ranks[i].lines.count, 0);
}

static void a_blob_that_cannot_be_read_fails_all_ranks(void **state)
{
    (void)state;
    publish_many();
    ranks[9].bytes = SHORT;
    for (int i = 0; i < MANY; i++)
        if (i != 9)
            assert_status(compare(i), RCX_ERR_LAUNCH);
}

#define TEST(name) cmocka_unit_test_setup(name, open_all)
#define TEST_MANY(name) cmocka_unit_test_setup(name, open_many)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(ranks_that_agree_log_nothing_and_find_each_other),
        TEST(ranks_the_launcher_separates_are_on_different_nodes),
        TEST(cores_are_those_of_the_kernel),
        TEST(ranks_that_share_a_core_are_known),
        TEST(need_16_each_setting_that_differs_is_named),
        TEST(need_16_the_first_setting_that_differs_is_named),
        TEST(need_16_if_rank_0_differs_rank_1_is_named),
        TEST(all_ranks_use_the_least_length_with_acks),
        TEST(a_warning_of_two_ranks_is_logged_by_the_lower),
        TEST(a_value_that_is_wrong_on_one_rank_fails_all),
        TEST_MANY(one_rank_of_a_node_compares_all_blobs),
        TEST_MANY(a_rank_without_the_node_summary_compares_all_blobs),
        TEST_MANY(every_rank_finds_a_setting_that_differs),
        TEST_MANY(a_warning_of_many_ranks_is_logged_by_the_lowest),
        TEST_MANY(a_blob_that_cannot_be_read_fails_all_ranks),
    };

    return cmocka_run_group_tests_name("config_check", tests, NULL, NULL);
}
