/* SPDX-License-Identifier: BSD-3-Clause */
/* The bootstrap over a host's callbacks: callbacks that are malformed, fail or
 * return wrong data, and allocations that fail. Each error must be one line and
 * leave nothing on the heap. */
#include "test.h"

#include <string.h>

#include "bootstrap_side.h"

/* ---- Wrong callbacks ----------------------------------------------------- */

/* Return the own data for all 3 ranks. Call number *arg fails. */
static int echo_allgather(const void *send, void *recv, size_t bytes, void *arg)
{
    int *left = arg;

    if (--*left == 0)
        return 42;
    for (size_t i = 0; i < 3; i++)
        memcpy((char *)recv + i * bytes, send, bytes);
    return 0;
}

static int echo_barrier(void *arg)
{
    (void)arg;
    return 43;
}

static int forget_allgather(const void *send, void *recv, size_t bytes,
                            void *arg)
{
    (void)send;
    (void)arg;
    memset(recv, 0, 3 * bytes);
    return 0;
}

static rcx_bootstrap_t echo_host(int *left)
{
    return (rcx_bootstrap_t){.rank = 1,
                             .size = 3,
                             .allgather = echo_allgather,
                             .barrier = echo_barrier,
                             .arg = left};
}

static void assert_refused(const rcx_bootstrap_t *host, const char *name)
{
    struct side side;

    side_init(&side, host);
    assert_int_equal(RCX_ERR_ARG, open_table(&side));
    assert_int_equal(1, side.lines.count);
    assert_non_null(strstr(side.lines.last, name));
    assert_null(side.boot);
    assert_int_equal(0, side.heap.live);
}

static void open_refuses_a_malformed_bootstrap_and_names_the_field(void **state)
{
    const rcx_bootstrap_t good = echo_host(NULL);
    rcx_bootstrap_t host;

    (void)state;
    host = good;
    host.size = 0;
    assert_refused(&host, "bootstrap.size is 0");
    host = good;
    host.rank = -1;
    assert_refused(&host, "bootstrap.rank is -1");
    host = good;
    host.rank = 3;
    assert_refused(&host, "bootstrap.rank is 3, valid is 0 to 2");
    host = good;
    host.allgather = NULL;
    assert_refused(&host, "bootstrap.allgather");
}

static void a_failing_callback_is_a_launch_error_with_its_value(void **state)
{
    (void)state;
    for (int failing = 1; failing <= 3; failing++) {
        int left = failing;
        const rcx_bootstrap_t host = echo_host(&left);
        struct received received;
        struct side side;

        side_init(&side, &host);
        assert_int_equal(RCX_OK, open_table(&side));
        assert_int_equal(failing == 1 ? RCX_ERR_LAUNCH : RCX_OK,
                         exchange_records(&side, &received));
        assert_int_equal(failing == 1 ? 0 : 3, received.seen);
        if (failing > 1)
            assert_int_equal(RCX_ERR_LAUNCH, publish_own(&side));
        assert_int_equal(1, side.lines.count);
        assert_non_null(strstr(side.lines.last, "returned 42"));
        assert_int_equal(RCX_ERR_LAUNCH,
                         side.boot->ops->barrier(side.boot, NULL, NULL));
        assert_non_null(strstr(side.lines.last, "returned 43"));
        side.boot->ops->close(side.boot);
        assert_int_equal(0, side.heap.live);
    }
}

static void an_allgather_that_loses_own_data_is_a_launch_error(void **state)
{
    rcx_bootstrap_t host = echo_host(NULL);
    struct received received;
    struct side side;

    (void)state;
    host.allgather = forget_allgather;
    side_init(&side, &host);
    assert_int_equal(RCX_OK, open_table(&side));
    assert_int_equal(RCX_ERR_LAUNCH, exchange_records(&side, &received));
    assert_int_equal(0, received.seen);
    assert_int_equal(1, side.lines.count);
    assert_int_equal(RCX_ERR_LAUNCH, publish_own(&side));
    assert_int_equal(2, side.lines.count);
    side.boot->ops->close(side.boot);
    assert_int_equal(0, side.heap.live);
}

struct lie {
    int calls;
    uint64_t length; /* that rank 0 seems to publish */
};

/* In the second call, which exchanges lengths, replace that of rank 0. */
static int lie_allgather(const void *send, void *recv, size_t bytes, void *arg)
{
    struct lie *lie = arg;

    for (size_t i = 0; i < 3; i++)
        memcpy((char *)recv + i * bytes, send, bytes);
    if (++lie->calls == 2)
        memcpy(recv, &lie->length, sizeof lie->length);
    return 0;
}

/* The size of a buffer for all blobs overflows, or exceeds all memory. */
static void lengths_that_no_memory_holds_are_a_launch_error(void **state)
{
    static const uint64_t lengths[] = {UINT64_MAX, UINT64_MAX / 4 + 1,
                                       SIZE_MAX / 2 / 4 + 1};

    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct lie lie = {.length = lengths[i]};
        rcx_bootstrap_t host = echo_host(NULL);
        struct received received;
        struct side side;

        host.allgather = lie_allgather;
        host.arg = &lie;
        side_init(&side, &host);
        assert_int_equal(RCX_OK, open_table(&side));
        assert_int_equal(RCX_OK, exchange_records(&side, &received));
        assert_int_equal(RCX_ERR_LAUNCH, publish_own(&side));
        assert_int_equal(2, lie.calls);
        assert_non_null(
            strstr(side.lines.last, "bytes as the length of a rank's address"));
        side.boot->ops->close(side.boot);
        assert_int_equal(0, side.heap.live);
    }
}

/* ---- Failing allocations ------------------------------------------------- */

/* Open, exchange and publish, with one more successful allocation each time.
 * Returns how often an allocation failed. */
static int run_out_of_memory(const rcx_bootstrap_t *host)
{
    rcx_status_t status = RCX_ERR_NOMEM;
    struct received received;
    struct side side;
    int failures = 0;

    for (uint64_t budget = 0; status == RCX_ERR_NOMEM; budget++) {
        side_init(&side, host);
        side.heap.budget = budget;
        status = open_table(&side);
        if (status == RCX_OK) {
            status = exchange_records(&side, &received);
            if (status == RCX_OK)
                status = publish_own(&side);
            side.boot->ops->close(side.boot);
        }
        assert_int_equal(0, side.heap.live);
        if (status == RCX_ERR_NOMEM) {
            assert_int_equal(1, side.lines.count);
            failures++;
        }
    }
    assert_int_equal(RCX_OK, status);
    return failures;
}

static void every_failed_allocation_is_reported_and_leaks_nothing(void **state)
{
    int left = 0;
    const rcx_bootstrap_t host = echo_host(&left);

    (void)state;
    /* boot, records, lengths, blobs */
    assert_int_equal(4, run_out_of_memory(&host));
    assert_int_equal(2, run_out_of_memory(NULL)); /* boot, blob */
}

/* ---- Main ---------------------------------------------------------------- */

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            open_refuses_a_malformed_bootstrap_and_names_the_field),
        cmocka_unit_test(a_failing_callback_is_a_launch_error_with_its_value),
        cmocka_unit_test(an_allgather_that_loses_own_data_is_a_launch_error),
        cmocka_unit_test(lengths_that_no_memory_holds_are_a_launch_error),
        cmocka_unit_test(every_failed_allocation_is_reported_and_leaks_nothing),
    };

    return cmocka_run_group_tests_name("bootstrap_wrong", tests, NULL, NULL);
}
