/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings from the environment and from rcx_params_t: valid and invalid values
 * of every variable, precedence, and the hashes that are compared between
 * ranks. Variables of single features are also in other tests. */
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/run/context/context.h"
#include "settings.h"

static void without_variables_everything_is_at_its_default(void **state)
{
    (void)state;
    capture_begin(&settings_said);
    assert_ok(settings_read(NULL));
    capture_end(&settings_said);
    assert_string_equal(settings_said.text, "");
    for (int coll = 0; coll < RCX_COLL_COUNT; coll++)
        assert_null(settings.spec[coll].algo);
    assert_int_equal(settings.order, RCX_ORDER_SAME);
    assert_int_equal(settings.wait, RCX_WAIT_AUTO);
    assert_int_equal(settings.plan_cache_bytes, 16 << 20);
    assert_int_equal(settings.log_level, RCX_LOG_WARN);
    assert_int_equal(settings.isa, rcx_isa_best());
    assert_false(settings.allow_singleton);
}

/* Read name=value, and return a bit for each setting whose hash differs from
 * that of the default. */
static unsigned changes(const char *name, const char *value)
{
    uint64_t before[RCX_SHARED_SETTINGS], after[RCX_SHARED_SETTINGS];
    unsigned bits = 0;

    assert_ok(settings_read(NULL));
    rcx_config_hash(&settings, before);
    settings_accept(name, value);
    rcx_config_hash(&settings, after);
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
        {"RCX_MACHINE", {"usual", "far-alpha=1us", "far-alpha=2us",
                         "far-alpha=2us,far-beta=1ns"}},
        {"RCX_SHM", {"ring=1M", "chunk=1M", "eager=8K", "direct=off", "cma=off",
                     "polls=40"}},
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
    /* other texts of the default values */
    assert_int_equal(changes("RCX_ORDER", "same"), 0);
    assert_int_equal(changes("RCX_ALLREDUCE", "auto"), 0);
    assert_int_equal(changes("RCX_SHM", "cma=auto,ring=auto"), 0);
}

static void a_misspelt_value_is_recognised(void **state)
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
        {"RCX_SUM", "exat", "exact"}, {"RCX_WAIT", "blcok", "block"}, {"RCX_CHECK", "FULL", "full"},
        {"RCX_LOG", "warning", NULL}, {"RCX_LOG", "inof", "info"},
        {"RCX_ISA", "avx22", "avx2"}, {"RCX_ALLREDUCE", "best", NULL},
        {"RCX_ORDER", " ", NULL}, {"RCX_ALLREDUCE", "binomial", NULL},
    };
    /* clang-format on */
    char guess[64];

    (void)state;
    for (size_t i = 0; i < sizeof slips / sizeof *slips; i++) {
        snprintf(guess, sizeof guess, "; did you mean %s?\n", slips[i].guess);
        settings_refuse(slips[i].name, slips[i].value,
                        slips[i].guess ? guess : "valid is");
        if (!slips[i].guess)
            assert_null(strstr(settings_said.text, "did you mean"));
    }
}

static void documented_values_are_accepted(void **state)
{
    static const char *const orders[] = {"same", "rank", "uniform",
                                         "canonical"};
    static const char *const levels[] = {"error", "warn", "info", "debug"};

    (void)state;
    for (int i = 0; i < 4; i++) {
        settings_accept("RCX_ORDER", orders[i]);
        assert_int_equal(settings.order, RCX_ORDER_SAME + i);
        settings_accept("RCX_LOG", levels[i]);
        assert_int_equal(settings.log_level, RCX_LOG_ERROR + i);
    }
    settings_accept("RCX_ORDER", "auto");
    assert_int_equal(settings.order, RCX_ORDER_SAME);
    settings_accept("RCX_WAIT", "poll");
    assert_int_equal(settings.wait, RCX_WAIT_POLL);
    settings_accept("RCX_WAIT", "yield");
    assert_int_equal(settings.wait, RCX_WAIT_YIELD);
    settings_accept("RCX_WAIT", "auto");
    assert_int_equal(settings.wait, RCX_WAIT_AUTO);
    settings_accept("RCX_ISA", "baseline");
    assert_int_equal(settings.isa, RCX_ISA_BASELINE);
    settings_accept("RCX_ISA", "auto");
    assert_int_equal(settings.isa, rcx_isa_best());
    settings_accept("RCX_ALLOW_SINGLETON", "1");
    assert_true(settings.allow_singleton);
    settings_accept("RCX_ALLOW_SINGLETON", "0");
    assert_false(settings.allow_singleton);
    settings_accept("RCX_PLAN_CACHE", "64K");
    assert_int_equal(settings.plan_cache_bytes, 64 << 10);
    settings_accept("RCX_PLAN_CACHE", "0");
    assert_int_equal(settings.plan_cache_bytes, 0);
}

static void an_empty_value_counts_as_not_set(void **state)
{
    struct rcx_option o;

    (void)state;
    for (int i = 0; rcx_option_at(i, &o); i++) {
        setenv(o.name, "", 1);
        assert_ok(settings_read(NULL));
        assert_null(rcx_option_set(&o));
        unsetenv(o.name);
    }
}

static void other_values_are_refused(void **state)
{
    static const char *const bad[] = {" ", "Auto", "autoo", "1x", "-1"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        settings_refuse("RCX_ORDER", bad[i], "canonical");
        settings_refuse("RCX_WAIT", bad[i], "yield");
        settings_refuse("RCX_LOG", bad[i], "debug");
        settings_refuse("RCX_ISA", bad[i], "baseline");
        settings_refuse("RCX_ALLOW_SINGLETON", bad[i], "0 or 1");
        settings_refuse("RCX_PLAN_CACHE", bad[i], "size");
    }
    settings_refuse("RCX_ORDER", "loose", "same"); /* no level for users */
    settings_refuse("RCX_ALLOW_SINGLETON", "2", "0 or 1");
    settings_refuse("RCX_LOG", "4", "error");
}

static void an_instruction_set_that_the_machine_lacks_is_refused(void **state)
{
    (void)state;
    for (int isa = 0; isa < RCX_ISA_COUNT; isa++) {
        const char *name = rcx_isa_name((enum rcx_isa)isa);

        if (rcx_isa_available((enum rcx_isa)isa)) {
            settings_accept("RCX_ISA", name);
            assert_int_equal(settings.isa, isa);
        } else {
            settings_refuse("RCX_ISA", name, "this CPU");
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
        settings_accept("RCX_TIMEOUT", good[i].text);
        assert_int_equal(settings.timeout_ns, good[i].ns);
        assert_int_equal(settings.timeout_is_set,
                         strcmp(good[i].text, "none") != 0);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        settings_refuse(
            "RCX_TIMEOUT", bad[i],
            "none, 0, or a time with its unit: 500ms, 30s, 10m, 1h");
}

static void an_unknown_variable_is_worth_a_warning(void **state)
{
    (void)state;
    setenv("RCX_TYPO", "1", 1);
    assert_refused(&settings_said, settings_read(NULL), RCX_OK, "RCX_TYPO");
    assert_null(strstr(settings_said.text, "did you mean"));
    assert_int_equal(settings_said.level, RCX_LOG_WARN);
    setenv("RCX_LOG", "error", 1); /* warnings are off */
    capture_begin(&settings_said);
    assert_ok(settings_read(NULL));
    capture_end(&settings_said);
    assert_string_equal(settings_said.text, "");
    unsetenv("RCX_LOG");
    unsetenv("RCX_TYPO");
    setenv("RCX_ALLREDUCES", "ring", 1); /* a valid name is its prefix */
    assert_refused(&settings_said, settings_read(NULL), RCX_OK,
                   "RCX_ALLREDUCES", "did you mean RCX_ALLREDUCE?");
    unsetenv("RCX_ALLREDUCES");
    settings_accept("RCX_UCX_TLS", "all"); /* UCX's own */
    settings_accept("RCXTYPO", "1");
}

static void the_environment_wins_over_params_in_order(void **state)
{
    rcx_params_t params = {.field_mask = RCX_PARAM_ORDER,
                           .order = RCX_ORDER_UNIFORM};

    (void)state;
    assert_ok(settings_read(&params));
    assert_int_equal(settings.order, RCX_ORDER_UNIFORM);
    setenv("RCX_ORDER", "auto", 1);
    assert_ok(settings_read(&params));
    assert_int_equal(settings.order, RCX_ORDER_UNIFORM);
    setenv("RCX_ORDER", "same", 1);
    assert_ok(settings_read(&params));
    assert_int_equal(settings.order, RCX_ORDER_SAME);
    setenv("RCX_ORDER", "canonical", 1);
    assert_ok(settings_read(&params));
    assert_int_equal(settings.order, RCX_ORDER_CANONICAL);
    unsetenv("RCX_ORDER");
    params.field_mask = 0; /* not given: must not be read */
    assert_ok(settings_read(&params));
    assert_int_equal(settings.order, RCX_ORDER_SAME);
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
    assert_refused(&settings_said, settings_read(&params), RCX_ERR_ARG,
                   "field_mask");
    params.field_mask = RCX_PARAM_NAME;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        params.name = names[i];
        assert_refused(&settings_said, settings_read(&params), RCX_ERR_ARG,
                       "name", "64");
    }
    params.name = names[5] + 1; /* 64 letters and digits */
    assert_ok(settings_read(&params));
    params.field_mask = RCX_PARAM_ORDER;
    params.order = (rcx_order_t)0;
    assert_refused(&settings_said, settings_read(&params), RCX_ERR_ARG,
                   "order=0", "1..4");
    params.order = (rcx_order_t)5;
    assert_refused(&settings_said, settings_read(&params), RCX_ERR_ARG,
                   "order=5", "1..4");
}

/* ---- Settings of the program --------------------------------------------- */

/* Read with these settings. */
static rcx_status_t read_with(const rcx_setting_t list[], size_t n)
{
    const rcx_params_t params = {
        .field_mask = RCX_PARAM_SETTINGS, .settings = list, .setting_count = n};

    return settings_read(&params);
}

static void a_setting_is_what_the_variable_is(void **state)
{
    static const rcx_setting_t given[] = {{"RCX_ALLREDUCE", "ring", 0},
                                          {"RCX_CHECK", "full", 0},
                                          {"RCX_LANES", "", 0},
                                          {"RCX_CHECK", "off", 0}};

    (void)state;
    capture_begin(&settings_said);
    assert_ok(read_with(given, 4));
    capture_end(&settings_said);
    assert_string_equal(settings_said.text, "");
    assert_string_equal(settings.spec[RCX_COLL_ALLREDUCE].algo->name, "ring");
    assert_int_equal(settings.check, RCX_CHECK_OFF); /* the last one */
    assert_int_equal(settings.lanes, RCX_LANES_AUTO);
}

static void the_environment_wins_over_a_setting_that_is_not_final(void **state)
{
    static const rcx_setting_t given[] = {
        {"RCX_ORDER", "rank", RCX_SETTING_FINAL}, {"RCX_ORDER", "uniform", 0}};
    const rcx_params_t params = {.field_mask =
                                     RCX_PARAM_ORDER | RCX_PARAM_SETTINGS,
                                 .order = RCX_ORDER_CANONICAL,
                                 .settings = given + 1,
                                 .setting_count = 1};

    (void)state;
    assert_ok(settings_read(&params));
    assert_int_equal(settings.order, RCX_ORDER_UNIFORM);
    setenv("RCX_ORDER", "same", 1);
    assert_ok(settings_read(&params));
    assert_int_equal(settings.order, RCX_ORDER_SAME);
    assert_ok(read_with(given, 2));
    assert_int_equal(settings.order, RCX_ORDER_RANK);
    setenv("RCX_ORDER", "", 1);
    assert_ok(read_with(given + 1, 1));
    assert_int_equal(settings.order, RCX_ORDER_UNIFORM);
}

#define assert_rejected(name, value, ...)                                      \
    do {                                                                       \
        const rcx_setting_t given_ = {name, value, 0};                         \
        assert_refused(&settings_said, read_with(&given_, 1), RCX_ERR_CONFIG,  \
                       "params.settings: " name, __VA_ARGS__);                 \
        assert_int_equal(settings_said.host_lines, 1);                         \
    } while (0)

static void a_setting_that_is_not_known_is_an_error(void **state)
{
    (void)state;
    assert_rejected("RCX_ERRMODE", "peer", "did you mean RCX_ERR_MODE?");
    assert_rejected("TIMEOUT", "3s", "did you mean RCX_TIMEOUT?");
    assert_rejected("rcx_timeout", "3s", "no such setting");
    assert_rejected("RCX_UCX_TLS", "tcp", "no such setting");
    assert_rejected("", "tcp", "no such setting");
    assert_rejected("RCX_ERR_MODE", "pear", "valid is auto, none or peer",
                    "did you mean peer?");
    assert_rejected("RCX_ALLREDUCE", "rings", "did you mean ring?");
    assert_rejected("RCX_SECRET", "x", "only the environment");
    assert_rejected("RCX_ROOT", "x", "only the environment");
    setenv("RCX_ERR_MODE", "peer", 1); /* which would win */
    assert_rejected("RCX_ERR_MODE", "pear", "valid is");
    unsetenv("RCX_ERR_MODE");
}

static void malformed_settings_are_refused_at_once(void **state)
{
    static const rcx_setting_t no_name = {NULL, "x", 0},
                               no_value = {"RCX_CHECK", NULL, 0},
                               odd_flags = {"RCX_CHECK", "off", 2};

    (void)state;
    assert_refused(&settings_said, read_with(NULL, 1), RCX_ERR_ARG,
                   "params.settings=NULL", "setting_count=1");
    assert_refused(&settings_said, read_with(&no_name, 1), RCX_ERR_ARG,
                   "settings[0]", "name");
    assert_refused(&settings_said, read_with(&no_value, 1), RCX_ERR_ARG,
                   "settings[0]", "value");
    assert_refused(&settings_said, read_with(&odd_flags, 1), RCX_ERR_ARG,
                   "flags=0x2", "RCX_SETTING_FINAL");
    assert_ok(read_with(NULL, 0));
}

static void the_log_tells_where_a_value_comes_from(void **state)
{
    static const rcx_setting_t given[] = {
        {"RCX_CHECK", "off", 0},
        {"RCX_ORDER", "rank", 0},
        {"RCX_WAIT", "yield", RCX_SETTING_FINAL}};
    const struct rcx_settings settings_given = {given, 3};
    struct rcx_log log;

    (void)state;
    rcx_log_init(&log);
    log.fn = capture_line;
    log.arg = &settings_said;
    setenv("RCX_ORDER", "same", 1);
    setenv("RCX_WAIT", "poll", 1);
    setenv("RCX_SECRET", "1234", 1);
    capture_begin(&settings_said);
    rcx_config_tell_sources(&settings_given, &log, RCX_LOG_WARN);
    capture_end(&settings_said);
    assert_string_equal(
        settings_said.text,
        "RCX_ORDER=same is set by the environment\n"
        "RCX_WAIT=yield is set by the program, for which the environment does "
        "not count\n"
        "RCX_CHECK=off is set by the program\n"
        "RCX_SECRET=(not shown) is set by the environment\n");
}

/* A program that was compiled when the struct was shorter. */
static void fields_that_field_mask_does_not_name_are_not_read(void **state)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t former = offsetof(rcx_params_t, settings);
    char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    rcx_params_t *params;
    struct rcx_log log;

    (void)state;
    assert_true(two != MAP_FAILED);
    assert_int_equal(mprotect(two + page, page, PROT_NONE), 0);
    params = (void *)(two + page - former);
    params->field_mask = RCX_PARAM_ORDER;
    params->order = RCX_ORDER_RANK;
    assert_ok(rcx_context_configure(params, &log, &settings));
    assert_int_equal(settings.order, RCX_ORDER_RANK);
    munmap(two, 2 * page);
}

static void every_variable_has_values_and_a_description(void **state)
{
    struct rcx_option o;

    (void)state;
    for (int i = 0; rcx_option_at(i, &o); i++) {
        assert_int_equal(strncmp(o.name, "RCX_", 4), 0);
        assert_true(strlen(o.values) > 0 && strlen(o.doc) > 0);
        settings_accept(o.name, o.fallback);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, settings_clean)
    static const struct CMUnitTest tests[] = {
        TEST(without_variables_everything_is_at_its_default),
        TEST(a_setting_that_changes_messages_changes_its_hash),
        TEST(each_collective_with_a_variable_is_a_setting_of_its_own),
        TEST(other_settings_may_differ_between_ranks),
        TEST(a_misspelt_value_is_recognised),
        TEST(documented_values_are_accepted),
        TEST(an_empty_value_counts_as_not_set),
        TEST(other_values_are_refused),
        TEST(an_instruction_set_that_the_machine_lacks_is_refused),
        TEST(a_time_has_a_unit),
        TEST(an_unknown_variable_is_worth_a_warning),
        TEST(the_environment_wins_over_params_in_order),
        TEST(malformed_params_are_refused),
        TEST(a_setting_is_what_the_variable_is),
        TEST(the_environment_wins_over_a_setting_that_is_not_final),
        TEST(a_setting_that_is_not_known_is_an_error),
        TEST(malformed_settings_are_refused_at_once),
        TEST(the_log_tells_where_a_value_comes_from),
        TEST(fields_that_field_mask_does_not_name_are_not_read),
        TEST(every_variable_has_values_and_a_description),
    };

    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
