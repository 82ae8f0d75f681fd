/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment: every variable, valid and not, and who wins over whom. */
#include "core/base/parse.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "core/run/context.h"

static struct capture said;
static struct rcx_config config;

/* No RCX_ variable of the caller's gets into the tests. */
static int clean(void **state)
{
    struct rcx_option o;

    (void)state;
    for (int i = 0; rcx_option_at(i, &o); i++)
        unsetenv(o.name);
    unsetenv("RCX_TYPO");
    memset(&config, 0x77, sizeof config);
    return 0;
}

static rcx_status_t configure(const rcx_params_t *given)
{
    rcx_params_t params = given ? *given : (rcx_params_t){0};
    struct rcx_log log;
    rcx_status_t status;

    params.field_mask |= RCX_PARAM_LOG;
    params.log = capture_line;
    params.log_arg = &said;
    status = rcx_context_configure(&params, &log, &config);
    rcx_config_tell_all(&config, &log);
    return status;
}

/* Reads quietly with name=value in the environment. */
static void accept(const char *name, const char *value)
{
    setenv(name, value, 1);
    capture_begin(&said);
    assert_ok(configure(NULL));
    capture_end(&said);
    assert_string_equal(said.text, "");
    unsetenv(name);
}

/* One line: the variable, its value, and word of what would be valid. */
static void refuse(const char *name, const char *value, const char *word)
{
    char pair[512];

    snprintf(pair, sizeof pair, "%s=%s:", name, value);
    setenv(name, value, 1);
    assert_refused(&said, configure(NULL), RCX_ERR_CONFIG, pair, "valid", word);
    assert_int_equal(said.host_lines, 1);
    assert_int_equal(said.level, RCX_LOG_ERROR);
    unsetenv(name);
}

static void without_variables_everything_is_at_its_default(void **state)
{
    (void)state;
    capture_begin(&said);
    assert_ok(configure(NULL));
    capture_end(&said);
    assert_string_equal(said.text, "");
    for (int coll = 0; coll < RCX_COLL_COUNT; coll++)
        assert_null(config.forced[coll].algo);
    assert_int_equal(config.order, RCX_ORDER_SAME);
    assert_int_equal(config.wait, RCX_WAIT_AUTO);
    assert_int_equal(config.plan_cache_bytes, 16 << 20);
    assert_int_equal(config.log_level, RCX_LOG_WARN);
    assert_int_equal(config.isa, rcx_isa_best());
    assert_false(config.allow_singleton);
}

static void a_method_is_a_name_and_its_parameters(void **state)
{
    const struct rcx_forced *forced = &config.forced[RCX_COLL_ALLREDUCE];

    (void)state;
    accept("RCX_ALLREDUCE", "ring");
    assert_string_equal(forced->algo->name, "ring");
    assert_int_equal(forced->segment_bytes, SIZE_MAX);
    assert_int_equal(forced->window, 0);
    accept("RCX_ALLREDUCE", "recursive_doubling:segment=64K,window=8");
    assert_string_equal(forced->algo->name, "recursive_doubling");
    assert_int_equal(forced->segment_bytes, 64 << 10);
    assert_int_equal(forced->window, 8);
    accept("RCX_ALLREDUCE", "ring:window=1");
    assert_int_equal(forced->segment_bytes, SIZE_MAX);
    assert_int_equal(forced->window, 1);
    accept("RCX_ALLREDUCE", "auto:segment=0");
    assert_null(forced->algo);
    assert_int_equal(forced->segment_bytes, 0);
    accept("RCX_ALLREDUCE", "auto");
    assert_null(forced->algo);
    accept("RCX_REDUCE", "binomial");
    assert_ptr_equal(config.forced[RCX_COLL_REDUCE].algo,
                     rcx_algo_find(RCX_COLL_REDUCE, "binomial"));
    assert_null(forced->algo);
    accept("RCX_REDUCE_SCATTER", "pairwise");
    assert_ptr_equal(config.forced[RCX_COLL_REDUCE_SCATTER].algo,
                     rcx_algo_find(RCX_COLL_REDUCE_SCATTER, "pairwise"));
}

static void an_algorithm_may_be_preferred(void **state)
{
    const struct rcx_forced *forced = &config.forced[RCX_COLL_ALLREDUCE];

    (void)state;
    accept("RCX_ALLREDUCE", "ring:window=3");
    assert_false(forced->preferred);
    accept("RCX_ALLREDUCE", "prefer:ring:segment=4K,window=3");
    assert_true(forced->preferred);
    assert_string_equal(forced->algo->name, "ring");
    assert_int_equal(forced->segment_bytes, 4096);
    assert_int_equal(forced->window, 3);
    refuse("RCX_ALLREDUCE", "prefer:auto", "auto or [prefer:]NAME");
    refuse("RCX_ALLREDUCE", "prefer:", "auto or [prefer:]NAME");
    refuse("RCX_ALLREDUCE", "prefer", "auto or [prefer:]NAME");
    refuse("RCX_ALLREDUCE", "prefer:prefer:ring", "auto or [prefer:]NAME");
    refuse("RCX_ALLREDUCE", "prefer:rign", "did you mean ring?");
}

static void an_algorithm_has_parameters_of_its_own(void **state)
{
    const struct rcx_forced *forced = &config.forced[RCX_COLL_ALLREDUCE];

    (void)state;
    accept("RCX_ALLREDUCE", "recursive_multiplying");
    assert_int_equal(forced->params[0], 4);
    accept("RCX_ALLREDUCE", "recursive_multiplying:radix=8,window=3");
    assert_int_equal(forced->params[0], 8);
    assert_int_equal(forced->window, 3);
    accept("RCX_ALLREDUCE", "rabenseifner:segment=1K,fold=full");
    assert_int_equal(forced->params[0], 1);
    assert_int_equal(forced->segment_bytes, 1024);
    accept("RCX_ALLREDUCE", "hybrid:b=64K");
    assert_int_equal(forced->params[0], 64 << 10);
    accept("RCX_ALLREDUCE", "hybrid:b=auto");
    assert_int_equal(forced->params[0], RCX_PARAM_AUTO);
    accept("RCX_ALLREDUCE", "auto");
}

/* The settings whose hash value changes, as bits. */
static unsigned changes(const char *name, const char *value)
{
    uint64_t before[RCX_SHARED_SETTINGS], after[RCX_SHARED_SETTINGS];
    unsigned bits = 0;

    assert_ok(configure(NULL));
    rcx_config_hash(&config, before);
    accept(name, value);
    rcx_config_hash(&config, after);
    for (int i = 0; i < RCX_SHARED_SETTINGS; i++)
        bits |= (unsigned)(before[i] != after[i]) << i;
    return bits;
}

static unsigned bit_of(const char *name)
{
    unsigned bits = 0;

    for (int i = 0; i < RCX_SHARED_SETTINGS; i++) {
        const char *setting = rcx_config_shared_name(i);

        if (setting && strcmp(setting, name) == 0)
            bits |= 1u << i;
    }
    assert_true(bits);
    return bits;
}

static void a_setting_that_changes_messages_changes_its_hash(void **state)
{
    /* clang-format off */
    static const struct { const char *name, *values[7]; } shared[] = {
        {"RCX_ALLREDUCE", {"ring", "prefer:ring", "auto:segment=4K", "auto:window=1",
                           "recursive_multiplying:radix=8",
                           "recursive_multiplying:radix=7"}},
        {"RCX_REDUCE", {"binomial", "ring", "auto:segment=0"}},
        {"RCX_REDUCE_SCATTER", {"pairwise", "ring", "ring:segment=1"}},
        {"RCX_ORDER", {"rank", "canonical"}},
        {"RCX_CHECK", {"full"}},
    };
    /* clang-format on */
    const int n = sizeof shared / sizeof *shared;

    (void)state;
    for (int i = 0; i < n; i++)
        for (int k = 0; shared[i].values[k]; k++)
            assert_int_equal(changes(shared[i].name, shared[i].values[k]),
                             bit_of(shared[i].name));
}

static void
each_collective_with_a_variable_is_a_setting_of_its_own(void **state)
{
    (void)state;
    for (int coll = 0; coll < RCX_COLL_COUNT; coll++) {
        const char *variable = rcx_colls[coll].variable;

        if (!variable)
            continue;
        assert_int_equal(bit_of(variable), 1u << coll);
        assert_int_equal(changes(variable, "auto:segment=4K"), 1u << coll);
    }
}

static void other_settings_may_differ_between_ranks(void **state)
{
    (void)state;
    assert_int_equal(changes("RCX_WAIT", "yield"), 0);
    assert_int_equal(changes("RCX_CHECK", "off"), 0);
    assert_int_equal(changes("RCX_PLAN_CACHE", "0"), 0);
    assert_int_equal(changes("RCX_ISA", "baseline"), 0);
    assert_int_equal(changes("RCX_LOG", "error"), 0);
    assert_int_equal(changes("RCX_ALLOW_SINGLETON", "1"), 0);
    /* two ways to say the same */
    assert_int_equal(changes("RCX_ORDER", "same"), 0);
    assert_int_equal(changes("RCX_ALLREDUCE", "auto"), 0);
}

static void a_malformed_method_is_refused(void **state)
{
    static const char *const bad[] = {"",      "Ring", "ring ",    " ring",
                                      "rings", "3",    "binomial", "ring,"};
    char endless[300];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse("RCX_ALLREDUCE", bad[i], "auto");
    memset(endless, 'r', sizeof endless);
    endless[sizeof endless - 1] = '\0';
    refuse("RCX_ALLREDUCE", endless, "auto");
    refuse("RCX_REDUCE", "recursive_doubling", "auto");
    refuse("RCX_REDUCE_SCATTER", "binomial", "auto");
}

/* What is said after the variable and its value, all of it. */
static void refuse_with(const char *name, const char *value, const char *said_p)
{
    char line[512];

    snprintf(line, sizeof line, "%s=%s: %s\n", name, value, said_p);
    setenv(name, value, 1);
    assert_refused(&said, configure(NULL), RCX_ERR_CONFIG, line);
    assert_string_equal(said.text, line);
    unsetenv(name);
}

static void a_wrong_parameter_is_named_with_its_range_alone(void **state)
{
    static const char segment[] = "segment: valid is 0 or more",
                      window[] = "window: valid is 1..8",
                      radix[] = "radix: valid is 2..64",
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
        {"recursive_multiplying:window=1,radix=auto", radix},
        {"rabenseifner:fold=1", fold}, {"rabenseifner:fold=", fold},
        {"rabenseifner:fold", fold},
        {"hybrid:b=-1", "b: valid is auto or 0 or more"},
        {"rabenseifner:fold=ful",
         "fold: valid is half or full; did you mean full?"},
        {"ring:", "\"\" is no parameter of ring; valid are segment, window"},
        {"ring:segment=64,",
         "\"\" is no parameter of ring; valid are segment, window"},
        {"ring:chunk=4",
         "\"chunk\" is no parameter of ring; valid are segment, window"},
        {"auto:radix=2",
         "\"radix\" is no parameter of auto; valid are segment, window"},
        {"recursive_multiplying:raidx=2",
         "\"raidx\" is no parameter of recursive_multiplying; valid are "
         "segment, window, radix; did you mean radix?"},
        {"ring:segments=4", "\"segments\" is no parameter of ring; valid are "
         "segment, window; did you mean segment?"},
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse_with("RCX_ALLREDUCE", bad[i].value, bad[i].said);
    refuse_with("RCX_REDUCE", "binomial:window=0", window);
}

static void a_slip_of_the_pen_is_recognised(void **state)
{
    /* clang-format off */
    static const struct { const char *name, *value, *guess; } slips[] = {
        {"RCX_ALLREDUCE", "rings", "ring"},
        {"RCX_ALLREDUCE", "Ring", "ring"},
        {"RCX_ALLREDUCE", "recursive_doubeling:window=2",
         "recursive_doubling"},
        {"RCX_ALLREDUCE", "atuo", "auto"},
        {"RCX_REDUCE", "binominal", "binomial"},
        {"RCX_REDUCE_SCATTER", "pariwise", "pairwise"},
        {"RCX_ORDER", "cannonical", "canonical"},
        {"RCX_WAIT", "blcok", "block"}, {"RCX_CHECK", "FULL", "full"},
        {"RCX_LOG", "warning", NULL}, {"RCX_LOG", "inof", "info"},
        {"RCX_ISA", "avx22", "avx2"}, {"RCX_ALLREDUCE", "best", NULL},
        {"RCX_ORDER", "", NULL}, {"RCX_ALLREDUCE", "binomial", NULL},
    };
    /* clang-format on */
    char guess[64];

    (void)state;
    for (size_t i = 0; i < sizeof slips / sizeof *slips; i++) {
        snprintf(guess, sizeof guess, "; did you mean %s?\n", slips[i].guess);
        refuse(slips[i].name, slips[i].value,
               slips[i].guess ? guess : "valid is");
        if (!slips[i].guess)
            assert_null(strstr(said.text, "did you mean"));
    }
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
                refuse(o.name, "best", (*a)->name);
        assert_null(strstr(said.text, " dissemination")); /* a barrier's */
    }
    refuse("RCX_ALLREDUCE", "best", "recursive_doubling, ring");
    refuse("RCX_REDUCE", "best", "binomial");
}

static void words_are_taken_as_they_are_documented(void **state)
{
    static const char *const orders[] = {"same", "rank", "uniform",
                                         "canonical"};
    static const char *const levels[] = {"error", "warn", "info", "debug"};

    (void)state;
    for (int i = 0; i < 4; i++) {
        accept("RCX_ORDER", orders[i]);
        assert_int_equal(config.order, RCX_ORDER_SAME + i);
        accept("RCX_LOG", levels[i]);
        assert_int_equal(config.log_level, RCX_LOG_ERROR + i);
    }
    accept("RCX_ORDER", "auto");
    assert_int_equal(config.order, RCX_ORDER_SAME);
    accept("RCX_WAIT", "poll");
    assert_int_equal(config.wait, RCX_WAIT_POLL);
    accept("RCX_WAIT", "yield");
    assert_int_equal(config.wait, RCX_WAIT_YIELD);
    accept("RCX_WAIT", "auto");
    assert_int_equal(config.wait, RCX_WAIT_AUTO);
    accept("RCX_ISA", "baseline");
    assert_int_equal(config.isa, RCX_ISA_BASELINE);
    accept("RCX_ISA", "auto");
    assert_int_equal(config.isa, rcx_isa_best());
    accept("RCX_ALLOW_SINGLETON", "1");
    assert_true(config.allow_singleton);
    accept("RCX_ALLOW_SINGLETON", "0");
    assert_false(config.allow_singleton);
    accept("RCX_PLAN_CACHE", "64K");
    assert_int_equal(config.plan_cache_bytes, 64 << 10);
    accept("RCX_PLAN_CACHE", "0");
    assert_int_equal(config.plan_cache_bytes, 0);
}

static void other_words_are_refused(void **state)
{
    static const char *const bad[] = {"", " ", "Auto", "autoo", "1x", "-1"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        refuse("RCX_ORDER", bad[i], "canonical");
        refuse("RCX_WAIT", bad[i], "yield");
        refuse("RCX_LOG", bad[i], "debug");
        refuse("RCX_ISA", bad[i], "baseline");
        refuse("RCX_ALLOW_SINGLETON", bad[i], "0 or 1");
        refuse("RCX_PLAN_CACHE", bad[i], "size");
    }
    refuse("RCX_ORDER", "loose", "same"); /* never safe to ask for */
    refuse("RCX_ALLOW_SINGLETON", "2", "0 or 1");
    refuse("RCX_LOG", "4", "error");
}

static void an_instruction_set_that_the_machine_lacks_is_refused(void **state)
{
    (void)state;
    for (int isa = 0; isa < RCX_ISA_COUNT; isa++) {
        const char *name = rcx_isa_name((enum rcx_isa)isa);

        if (rcx_isa_available((enum rcx_isa)isa)) {
            accept("RCX_ISA", name);
            assert_int_equal(config.isa, isa);
        } else {
            refuse("RCX_ISA", name, "this CPU");
        }
    }
}

static void a_time_has_a_unit(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {{"0", 0},
                {"000", 0},
                {"0h", 0},
                {"7ns", 7},
                {"3us", 3000},
                {"500ms", 500000000},
                {"30s", INT64_C(30000000000)},
                {"10m", INT64_C(600000000000)},
                {"2h", INT64_C(7200000000000)},
                {"none", 0}};
    static const char *const bad[] = {"500",
                                      "1",
                                      "00001",
                                      "",
                                      "s",
                                      "-1s",
                                      "+1s",
                                      " 1s",
                                      "1 s",
                                      "1s ",
                                      "1.5s",
                                      "1S",
                                      "1d",
                                      "1sec",
                                      "9223372036854775807h",
                                      "18446744073709551616ns"};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        accept("RCX_TIMEOUT", good[i].text);
        assert_int_equal(config.timeout_ns, good[i].ns);
        assert_int_equal(config.timeout_is_set,
                         strcmp(good[i].text, "none") != 0);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse("RCX_TIMEOUT", bad[i],
               "none, 0, or a time with its unit: 500ms, 30s, 10m, 1h");
}

static void an_unknown_variable_is_worth_a_warning(void **state)
{
    (void)state;
    setenv("RCX_TYPO", "1", 1);
    assert_refused(&said, configure(NULL), RCX_OK, "RCX_TYPO");
    assert_null(strstr(said.text, "did you mean"));
    assert_int_equal(said.level, RCX_LOG_WARN);
    setenv("RCX_LOG", "error", 1); /* which somebody may not want to see */
    capture_begin(&said);
    assert_ok(configure(NULL));
    capture_end(&said);
    assert_string_equal(said.text, "");
    unsetenv("RCX_LOG");
    unsetenv("RCX_TYPO");
    setenv("RCX_ALLREDUCES", "ring", 1); /* longer than one there is */
    assert_refused(&said, configure(NULL), RCX_OK, "RCX_ALLREDUCES",
                   "did you mean RCX_ALLREDUCE?");
    unsetenv("RCX_ALLREDUCES");
    accept("RCX_UCX_TLS", "all"); /* UCX's own */
    accept("RCXTYPO", "1");
}

static void the_environment_wins_over_params_in_order(void **state)
{
    rcx_params_t params = {.field_mask = RCX_PARAM_ORDER,
                           .order = RCX_ORDER_UNIFORM};

    (void)state;
    assert_ok(configure(&params));
    assert_int_equal(config.order, RCX_ORDER_UNIFORM);
    setenv("RCX_ORDER", "auto", 1);
    assert_ok(configure(&params));
    assert_int_equal(config.order, RCX_ORDER_UNIFORM);
    setenv("RCX_ORDER", "same", 1);
    assert_ok(configure(&params));
    assert_int_equal(config.order, RCX_ORDER_SAME);
    setenv("RCX_ORDER", "canonical", 1);
    assert_ok(configure(&params));
    assert_int_equal(config.order, RCX_ORDER_CANONICAL);
    unsetenv("RCX_ORDER");
    params.field_mask = 0; /* not given, so not read */
    assert_ok(configure(&params));
    assert_int_equal(config.order, RCX_ORDER_SAME);
}

static void malformed_params_are_refused(void **state)
{
    static const char *const names[] = {
        NULL,
        "",
        "a b",
        "a-b",
        "\xc3\xa4",
        "0123456789012345678901234567890123456789012345678901234567890123x"};
    rcx_params_t params = {.field_mask = UINT64_C(1) << 40};

    (void)state;
    assert_refused(&said, configure(&params), RCX_ERR_ARG, "field_mask");
    params.field_mask = RCX_PARAM_NAME;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        params.name = names[i];
        assert_refused(&said, configure(&params), RCX_ERR_ARG, "name", "64");
    }
    params.name = names[5] + 1; /* 64 letters and digits */
    assert_ok(configure(&params));
    params.field_mask = RCX_PARAM_ORDER;
    params.order = RCX_ORDER_LOOSE;
    assert_refused(&said, configure(&params), RCX_ERR_ARG, "order=0", "1..4");
    params.order = (rcx_order_t)5;
    assert_refused(&said, configure(&params), RCX_ERR_ARG, "order=5", "1..4");
}

static void every_variable_has_words_for_people(void **state)
{
    struct rcx_option o;

    (void)state;
    for (int i = 0; rcx_option_at(i, &o); i++) {
        assert_int_equal(strncmp(o.name, "RCX_", 4), 0);
        assert_true(strlen(o.values) > 0 && strlen(o.doc) > 0);
        accept(o.name, o.fallback);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, clean)
    static const struct CMUnitTest tests[] = {
        TEST(without_variables_everything_is_at_its_default),
        TEST(a_method_is_a_name_and_its_parameters),
        TEST(an_algorithm_may_be_preferred),
        TEST(an_algorithm_has_parameters_of_its_own),
        TEST(a_setting_that_changes_messages_changes_its_hash),
        TEST(each_collective_with_a_variable_is_a_setting_of_its_own),
        TEST(other_settings_may_differ_between_ranks),
        TEST(a_malformed_method_is_refused),
        TEST(a_wrong_parameter_is_named_with_its_range_alone),
        TEST(a_slip_of_the_pen_is_recognised),
        TEST(an_unknown_algorithm_lists_those_there_are),
        TEST(words_are_taken_as_they_are_documented),
        TEST(other_words_are_refused),
        TEST(an_instruction_set_that_the_machine_lacks_is_refused),
        TEST(a_time_has_a_unit),
        TEST(an_unknown_variable_is_worth_a_warning),
        TEST(the_environment_wins_over_params_in_order),
        TEST(malformed_params_are_refused),
        TEST(every_variable_has_words_for_people),
    };

    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
