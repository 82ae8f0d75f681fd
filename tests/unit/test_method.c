/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods: parsing of what a user specifies, and the choice of algorithm,
 * parameters and segments for a shape. No schedules are run. */
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/sched/params.h"
#include "settings.h"

/* ---- Method specs of users ----------------------------------------------- */

static int64_t value_of(const struct rcx_method_spec *spec,
                        const char *parameter)
{
    const struct rcx_param *p = rcx_params_find(spec->algo, parameter);

    assert_non_null(p);
    return spec->params[p - spec->algo->params];
}

static void a_method_is_a_name_and_its_parameters(void **state)
{
    const struct rcx_method_spec *spec = &settings.spec[RCX_COLL_ALLREDUCE];

    (void)state;
    settings_accept("RCX_ALLREDUCE", "ring");
    assert_string_equal(spec->algo->name, "ring");
    assert_int_equal(spec->segment_bytes, SIZE_MAX);
    assert_int_equal(spec->window, 0);
    settings_accept("RCX_ALLREDUCE", "recursive_doubling:segment=64K,window=8");
    assert_string_equal(spec->algo->name, "recursive_doubling");
    assert_int_equal(spec->segment_bytes, 64 << 10);
    assert_int_equal(spec->window, 8);
    settings_accept("RCX_ALLREDUCE", "ring:window=1");
    assert_int_equal(spec->segment_bytes, SIZE_MAX);
    assert_int_equal(spec->window, 1);
    settings_accept("RCX_ALLREDUCE", "auto:segment=0");
    assert_null(spec->algo);
    assert_int_equal(spec->segment_bytes, 0);
    settings_accept("RCX_ALLREDUCE", "auto");
    assert_null(spec->algo);
    settings_accept("RCX_REDUCE", "binomial");
    assert_ptr_equal(settings.spec[RCX_COLL_REDUCE].algo,
                     rcx_algo_find(RCX_COLL_REDUCE, "binomial"));
    assert_null(spec->algo);
    settings_accept("RCX_REDUCE_SCATTER", "pairwise");
    assert_ptr_equal(settings.spec[RCX_COLL_REDUCE_SCATTER].algo,
                     rcx_algo_find(RCX_COLL_REDUCE_SCATTER, "pairwise"));
}

static void an_algorithm_may_be_preferred(void **state)
{
    const struct rcx_method_spec *spec = &settings.spec[RCX_COLL_ALLREDUCE];

    (void)state;
    settings_accept("RCX_ALLREDUCE", "ring:window=3");
    assert_false(spec->preferred);
    settings_accept("RCX_ALLREDUCE", "prefer:ring:segment=4K,window=3");
    assert_true(spec->preferred);
    assert_string_equal(spec->algo->name, "ring");
    assert_int_equal(spec->segment_bytes, 4096);
    assert_int_equal(spec->window, 3);
    settings_refuse("RCX_ALLREDUCE", "prefer:auto", "auto or [prefer:]NAME");
    settings_refuse("RCX_ALLREDUCE", "prefer:", "auto or [prefer:]NAME");
    settings_refuse("RCX_ALLREDUCE", "prefer", "auto or [prefer:]NAME");
    settings_refuse("RCX_ALLREDUCE", "prefer:prefer:ring",
                    "auto or [prefer:]NAME");
    settings_refuse("RCX_ALLREDUCE", "prefer:rign", "did you mean ring?");
}

static void an_algorithm_has_parameters_of_its_own(void **state)
{
    const struct rcx_method_spec *spec = &settings.spec[RCX_COLL_ALLREDUCE];

    (void)state;
    settings_accept("RCX_ALLREDUCE", "recursive_multiplying");
    assert_int_equal(value_of(spec, "radix"), 4);
    settings_accept("RCX_ALLREDUCE", "recursive_multiplying:radix=8,window=3");
    assert_int_equal(value_of(spec, "radix"), 8);
    assert_int_equal(spec->window, 3);
    settings_accept("RCX_ALLREDUCE", "rabenseifner:segment=1K,fold=full");
    assert_int_equal(value_of(spec, "fold"), 1);
    assert_int_equal(spec->segment_bytes, 1024);
    settings_accept("RCX_ALLREDUCE", "hybrid:b=64K");
    assert_int_equal(value_of(spec, "b"), 64 << 10);
    settings_accept("RCX_ALLREDUCE", "hybrid:b=auto");
    assert_int_equal(value_of(spec, "b"), RCX_PARAM_AUTO);
    settings_accept("RCX_ALLREDUCE", "auto");
}

static void a_malformed_method_is_refused(void **state)
{
    static const char *const bad[] = {" ",     "Ring", "ring ",    " ring",
                                      "rings", "3",    "binomial", "ring,"};
    char endless[300];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        settings_refuse("RCX_ALLREDUCE", bad[i], "auto");
    memset(endless, 'r', sizeof endless);
    endless[sizeof endless - 1] = '\0';
    settings_refuse("RCX_ALLREDUCE", endless, "auto");
    settings_refuse("RCX_REDUCE", "recursive_doubling", "auto");
    settings_refuse("RCX_REDUCE_SCATTER", "binomial", "auto");
}

static void a_wrong_parameter_is_named_with_its_range_alone(void **state)
{
    static const char segment[] = "segment: valid is 0 or more",
                      window[] = "window: valid is 1..8",
                      radix[] = "radix: valid is auto or 2..64",
                      fold[] = "fold: valid is half or full";
    /* clang-format off */
    static const struct { const char *value, *said; } bad[] = {
        {"ring:segment", segment}, {"ring:segment=", segment},
        {"ring:segment=-1", segment}, {"ring:segment=1x", segment},
        {"ring:segment=1 K", segment},
        {"ring:segment=64:window=2", segment},
        {"auto:segment=18446744073709551616", segment},
        {"ring:window=0", window}, {"ring:window=9", window},
        {"ring:segment=4,window=x", window}, {"auto:window", window},
        {"recursive_multiplying:radix=1", radix},
        {"recursive_multiplying:radix=65", radix},
        {"recursive_multiplying:window=1,radix=many", radix},
        {"rabenseifner:fold=1", fold}, {"rabenseifner:fold=", fold},
        {"rabenseifner:fold", fold},
        {"hybrid:b=-1", "b: valid is auto or 0 or more"},
        {"rabenseifner:fold=ful",
         "fold: valid is half or full; did you mean full?"},
        {"ring:", "\"\" is no parameter of ring; valid are segment, window, level"},
        {"ring:segment=64,",
         "\"\" is no parameter of ring; valid are segment, window, level"},
        {"ring:chunk=4",
         "\"chunk\" is no parameter of ring; valid are segment, window, level"},
        {"auto:radix=2",
         "\"radix\" is no parameter of auto; valid are segment, window, level"},
        {"recursive_multiplying:raidx=2",
         "\"raidx\" is no parameter of recursive_multiplying; valid are "
         "segment, window, level, radix; did you mean radix?"},
        {"ring:segments=4", "\"segments\" is no parameter of ring; valid are "
         "segment, window, level; did you mean segment?"},
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        settings_refuse_with("RCX_ALLREDUCE", bad[i].value, bad[i].said);
    settings_refuse_with("RCX_REDUCE", "binomial:window=0", window);
}

static void an_unknown_algorithm_lists_those_there_are(void **state)
{
    struct rcx_option o;

    (void)state;
    for (int i = 0; rcx_option_at(i, &o); i++) {
        if (rcx_option_coll(&o) == RCX_COLL_COUNT)
            continue;
        for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++)
            if ((*a)->coll == rcx_option_coll(&o))
                settings_refuse(o.name, "best", (*a)->name);
        if (rcx_option_coll(&o) != RCX_COLL_BARRIER)
            assert_null(strstr(settings_said.text,
                               " dissemination")); /* of barriers only */
    }
    settings_refuse("RCX_ALLREDUCE", "best", "recursive_doubling, ring");
    settings_refuse("RCX_REDUCE", "best", "binomial");
}

/* ---- The choice of a method ---------------------------------------------- */

static struct rcx_log silent_log(void)
{
    struct rcx_log log;

    rcx_log_init(&log);
    log.fn = capture_line;
    log.arg = &settings_said;
    return log;
}

static struct rcx_shape shape_of(enum rcx_coll coll, int size, size_t count)
{
    return (struct rcx_shape){.coll = coll,
                              .size = size,
                              .count = count,
                              .elem_bytes = 8,
                              .commutative = true};
}

/* Choose a method by the spec in text; NULL: by RCX alone. */
static rcx_status_t choose(const struct rcx_shape *s, rcx_order_t needed,
                           const char *text, struct rcx_method *method_p)
{
    const struct rcx_log log = silent_log();
    struct rcx_method_spec spec = rcx_method_any;
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct rcx_refusal refusal;
    struct rcx_builder builder;
    struct rcx_tuning tuning;
    rcx_status_t status;

    rcx_builder_init(&builder, &heap, &log);
    if (text)
        assert_true(rcx_method_parse(text, s->coll, &spec, &refusal));
    assert_ok(rcx_tuning_open(&tuning, &heap, "", &refusal));
    status = rcx_method_choose(s, needed, &spec, &tuning, &builder, method_p);
    rcx_builder_free(&builder);
    rcx_tuning_close(&tuning, &heap);
    assert_int_equal(heap.live, 0);
    return status;
}

/* The chosen method must print as expected. */
static void assert_chosen(enum rcx_coll coll, int size, size_t count,
                          rcx_order_t needed, const char *spec,
                          const char *expected)
{
    const struct rcx_shape s = shape_of(coll, size, count);
    struct rcx_method m;
    char text[128];

    assert_ok(choose(&s, needed, spec, &m));
    rcx_method_print(&m, s.elem_bytes, text, sizeof text);
    assert_string_equal(text, expected);
}

/* The table of docs/reference/environment.md, for elements of 8 bytes. */
static void without_a_request_the_table_decides(void **state)
{
    static const struct {
        enum rcx_coll coll;
        int size;
        size_t bytes;
        const char *method;
    } cases[] = {
        {RCX_COLL_ALLREDUCE, 2, 8, "recursive_doubling"},
        {RCX_COLL_ALLREDUCE, 2, 2 << 20, "recursive_doubling"},
        {RCX_COLL_ALLREDUCE, 2, 4 << 20, "ring:segment=262144,window=2"},
        {RCX_COLL_ALLREDUCE, 3, 8, "direct"},
        {RCX_COLL_ALLREDUCE, 8, 512, "recursive_doubling"},
        {RCX_COLL_ALLREDUCE, 8, 64 << 10, "pairwise:allgather=direct"},
        {RCX_COLL_ALLREDUCE, 8, 1 << 20,
         "pairwise:allgather=direct,segment=262144,window=2"},
        {RCX_COLL_REDUCE, 2, 1 << 20, "binomial:segment=262144,window=2"},
        {RCX_COLL_REDUCE_SCATTER, 2, 1 << 20, "pairwise"},
        {RCX_COLL_REDUCE_SCATTER, 5, 1 << 20, "pairwise"},
        {RCX_COLL_BARRIER, 2, 0, "dissemination"},
        {RCX_COLL_BARRIER, 5, 0, "dissemination:radix=8"},
        {RCX_COLL_BCAST, 2, 8, "tree"},
        {RCX_COLL_BCAST, 2, 64 << 10, "circulant:blocks=1"},
        {RCX_COLL_BCAST, 8, 4 << 10, "tree:topology=flat"},
        {RCX_COLL_ALLGATHER, 2, 8, "recursive_doubling"},
        {RCX_COLL_ALLGATHER, 2, 1 << 20, "ring"},
        {RCX_COLL_ALLGATHER, 8, 8 << 20, "direct"},
        {RCX_COLL_ALLTOALLV, 5, 1 << 20, "linear"},
        {RCX_COLL_ALLTOALL, 8, 8, "linear"},
        {RCX_COLL_SCAN, 4, 8, "linear"},
        {RCX_COLL_SCAN, 5, 8 << 10, "doubling"},
        {RCX_COLL_SCAN, 9, 9 << 10, "recursive_doubling"},
        {RCX_COLL_EXSCAN, 4, 1 << 20, "linear:segment=65536,window=2"},
        {RCX_COLL_SCAN, 64, 8, "doubling"},
        {RCX_COLL_SCAN, 1000, 256 << 10, "recursive_doubling"},
        {RCX_COLL_SCAN, 16, 1 << 20, "linear:segment=65536,window=2"},
        {RCX_COLL_EXSCAN, 17, 2 << 20, "tree:segment=65536,window=2"},
        {RCX_COLL_EXSCAN, 64, 4 << 20, "linear:segment=65536,window=2"},
        {RCX_COLL_EXSCAN, 65, 4 << 20, "tree:segment=65536,window=2"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_chosen(cases[i].coll, cases[i].size, cases[i].bytes / 8,
                      RCX_ORDER_SAME, NULL, cases[i].method);
}

/* A case for each row of the selection table that depends on the length of one
 * block, not of all blocks. */
static void blocks_decide_where_there_are_any(void **state)
{
    static const struct {
        enum rcx_coll coll;
        int size;
        size_t block; /* bytes */
        const char *algo;
    } cases[] = {
        {RCX_COLL_GATHER, 1000, 4 << 10, "tree"},
        {RCX_COLL_GATHER, 5, 8 << 10, "linear"},
        {RCX_COLL_SCATTER, 1000, 4 << 10, "tree"},
        {RCX_COLL_SCATTER, 5, 8 << 10, "linear"},
        {RCX_COLL_ALLGATHER, 2, 32 << 10, "recursive_doubling"},
        {RCX_COLL_ALLGATHER, 2, 64 << 10, "ring"},
        {RCX_COLL_ALLTOALL, 1000, 2 << 10, "bruck"},
        {RCX_COLL_ALLTOALL, 1000, 32 << 10, "linear"},
        {RCX_COLL_ALLTOALL, 8, 64 << 10, "linear"},
        {RCX_COLL_ALLTOALL, 9, 64 << 10, "pairwise"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct rcx_shape s =
            shape_of(cases[i].coll, cases[i].size,
                     cases[i].block / 8 * (size_t)cases[i].size);
        struct rcx_method m;

        assert_ok(choose(&s, RCX_ORDER_SAME, NULL, &m));
        assert_string_equal(m.algo->name, cases[i].algo);
    }
}

/* Counts of an alltoallv are known to the caller only. The choice must not
 * depend on them, as other ranks would choose differently. */
static void local_counts_decide_nothing(void **state)
{
    struct rcx_method first, m;

    (void)state;
    for (size_t count = 0; count < 1 << 24; count = 3 * count + 1) {
        const struct rcx_shape s = shape_of(RCX_COLL_ALLTOALLV, 7, count);

        assert_ok(choose(&s, RCX_ORDER_SAME, NULL, &m));
        if (count == 0)
            first = m;
        assert_memory_equal(&m, &first, sizeof m);
    }
}

static void
an_algorithm_that_keeps_too_little_order_is_passed_over(void **state)
{
    (void)state;
    assert_chosen(RCX_COLL_ALLREDUCE, 6, 1 << 20, RCX_ORDER_CANONICAL, NULL,
                  "pairwise:allgather=direct,segment=262144,window=2");
    assert_chosen(RCX_COLL_REDUCE, 5, 1 << 20, RCX_ORDER_SAME, NULL,
                  "circulant:blocks=14,segment=131072,window=2");
    assert_chosen(RCX_COLL_REDUCE, 5, 1 << 20, RCX_ORDER_CANONICAL, NULL,
                  "pairwise:segment=131072,window=2");
    assert_chosen(RCX_COLL_SCAN, 9, 1 << 20, RCX_ORDER_CANONICAL, NULL,
                  "recursive_doubling:segment=65536,window=2");
}

static void a_requested_method_comes_first(void **state)
{
    (void)state;
    assert_chosen(RCX_COLL_ALLREDUCE, 7, 1000, RCX_ORDER_SAME, "tree", "tree");
    assert_chosen(RCX_COLL_ALLREDUCE, 7, 1000, RCX_ORDER_SAME,
                  "recursive_multiplying:radix=3",
                  "recursive_multiplying:radix=3");
    assert_chosen(RCX_COLL_ALLREDUCE, 7, 1000, RCX_ORDER_SAME,
                  "recursive_multiplying:radix=3,segment=100",
                  "recursive_multiplying:radix=3,segment=96,window=2");
    assert_chosen(RCX_COLL_ALLREDUCE, 7, 1000, RCX_ORDER_SAME,
                  "tree:segment=1,window=5", "tree:segment=8,window=5");
    assert_chosen(RCX_COLL_ALLREDUCE, 8, 1 << 20, RCX_ORDER_SAME,
                  "auto:window=7",
                  "pairwise:allgather=direct,segment=262144,window=7");
    assert_chosen(RCX_COLL_ALLREDUCE, 8, 1 << 20, RCX_ORDER_SAME,
                  "auto:segment=0", "pairwise:allgather=direct");
    assert_chosen(RCX_COLL_ALLREDUCE, 8, 4, RCX_ORDER_SAME, "ring:segment=4K",
                  "ring"); /* only one segment */
}

static void a_preferred_method_that_does_not_fit_is_dropped_whole(void **state)
{
    (void)state;
    assert_chosen(RCX_COLL_ALLREDUCE, 8, 1 << 20, RCX_ORDER_SAME,
                  "prefer:tree:window=5", "tree");
    assert_chosen(RCX_COLL_ALLREDUCE, 8, 1 << 20, RCX_ORDER_UNIFORM,
                  "prefer:ring:segment=4K,window=5",
                  "pairwise:allgather=direct,segment=262144,window=2");
    assert_chosen(RCX_COLL_ALLREDUCE, 8, 1 << 20, RCX_ORDER_SAME,
                  "prefer:tree:topology=knomial,fan=1,window=5",
                  "pairwise:allgather=direct,segment=262144,window=2");
}

static void a_requested_method_that_does_not_fit_is_refused(void **state)
{
    const struct rcx_shape s = shape_of(RCX_COLL_ALLREDUCE, 6, 100);
    struct rcx_method m;

    (void)state;
    assert_refused(&settings_said,
                   choose(&s, RCX_ORDER_SAME, "generalized:group=xor", &m),
                   RCX_ERR_UNSUPPORTED, "allreduce generalized", "6 ranks",
                   "a power of two of ranks");
    assert_refused(
        &settings_said, choose(&s, RCX_ORDER_UNIFORM, "ring:segment=4K", &m),
        RCX_ERR_UNSUPPORTED, "keeps order level same", "need uniform");
}

/* ---- Prices of segments, and of shared cores ----------------------------- */

/* A machine on which only messages and bytes cost, the same everywhere. */
static const struct rcx_machine plain = {
    .alpha = 1e-6, .beta = 1e-9, .tell = 1e-6};

static double seconds(const struct rcx_shape *s, const char *method)
{
    struct rcx_method_spec spec;
    struct rcx_refusal refusal;
    struct rcx_shape as_it = *s;
    struct rcx_cost cost;

    assert_true(rcx_method_parse(method, s->coll, &spec, &refusal));
    memcpy(as_it.params, spec.params, sizeof as_it.params);
    cost = rcx_cost_of(spec.algo, &as_it);
    return rcx_cost_time(&cost, &as_it);
}

static void assert_seconds(double found, double expected)
{
    assert_true(fabs(found - expected) < 1e-9 * expected);
}

/* The pipeline of the papers: p - 1 messages for the first segment, and one
 * more for each other. A binomial tree's root sends each of them ceil(lg p)
 * times. */
static void segments_follow_each_other_as_the_busiest_rank_allows(void **state)
{
    struct rcx_shape s = shape_of(RCX_COLL_BCAST, 8, 1000);
    const double message = 1e-6 + 8000e-9;

    (void)state;
    s.machine = &plain;
    s.window = RCX_WINDOW_MAX;
    s.segments = 20;
    assert_seconds(seconds(&s, "tree:topology=chain,fan=1"),
                   (7 + 19) * message);
    assert_seconds(seconds(&s, "tree"), (3 + 19 * 3) * message);
    s.window = 1; /* one after the other */
    assert_seconds(seconds(&s, "tree:topology=chain,fan=1"), 20 * 7 * message);
    s.segments = 0;
    assert_seconds(seconds(&s, "tree:topology=chain,fan=1"), 7 * message);
}

/* 8 ranks exchange 24 messages in 3 rounds, and send 7 in a tree. */
static void cores_that_ranks_share_do_the_work_of_all(void **state)
{
    struct rcx_shape s = shape_of(RCX_COLL_ALLREDUCE, 8, 0);

    (void)state;
    s.machine = &plain;
    s.cores = 8;
    assert_seconds(seconds(&s, "recursive_doubling"), 3e-6);
    s.cores = 2;
    assert_seconds(seconds(&s, "recursive_doubling"), 12e-6);
    assert_seconds(seconds(&s, "tree"), 7e-6);
    s.coll = RCX_COLL_REDUCE;
    assert_seconds(seconds(&s, "binomial"), 3.5e-6);
}

static void long_vectors_on_several_nodes_are_cut_by_the_price(void **state)
{
    static const uint64_t ids[] = {1, 2, 3, 4};
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct rcx_shape s = shape_of(RCX_COLL_BCAST, 4, 1 << 20);
    struct rcx_nodes *nodes = rcx_nodes_create(&heap, ids, 4);
    struct rcx_method m;

    (void)state;
    assert_non_null(nodes);
    s.nodes = nodes;
    assert_ok(choose(&s, RCX_ORDER_LOOSE, NULL, &m));
    assert_true(m.segment > 0 || strcmp(m.algo->name, "circulant") == 0);
    assert_ok(choose(&s, RCX_ORDER_LOOSE, "tree:segment=16K", &m));
    assert_int_equal(m.segment, 2 << 10);
    s.uncut = true;
    assert_ok(choose(&s, RCX_ORDER_LOOSE, NULL, &m));
    assert_int_equal(m.segment, 0);
    rcx_nodes_free(&heap, nodes);
    assert_int_equal(heap.live, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, settings_clean)
    static const struct CMUnitTest tests[] = {
        TEST(a_method_is_a_name_and_its_parameters),
        TEST(an_algorithm_may_be_preferred),
        TEST(an_algorithm_has_parameters_of_its_own),
        TEST(a_malformed_method_is_refused),
        TEST(a_wrong_parameter_is_named_with_its_range_alone),
        TEST(an_unknown_algorithm_lists_those_there_are),
        TEST(without_a_request_the_table_decides),
        TEST(blocks_decide_where_there_are_any),
        TEST(local_counts_decide_nothing),
        TEST(an_algorithm_that_keeps_too_little_order_is_passed_over),
        TEST(a_requested_method_comes_first),
        TEST(a_preferred_method_that_does_not_fit_is_dropped_whole),
        TEST(a_requested_method_that_does_not_fit_is_refused),
        TEST(segments_follow_each_other_as_the_busiest_rank_allows),
        TEST(cores_that_ranks_share_do_the_work_of_all),
        TEST(long_vectors_on_several_nodes_are_cut_by_the_price),
    };

    return cmocka_run_group_tests_name("method", tests, NULL, NULL);
}
