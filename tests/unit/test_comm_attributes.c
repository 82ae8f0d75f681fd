/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings, names and host data of communicators, and what statuses leave
 * usable. All ranks are threads of one process over the simulated network.
 * settings_main.c of tests/job has real processes.
 */
#include "test.h"

#include <string.h>

#include "context.h"
#include "core/run/diag/describe.h"
#include "members.h"

enum { SIZE = 5, COUNT = 4000 };

static void run(void (*fn)(struct job *job, int rank, void *arg))
{
    const rcx_params_t params = {.field_mask = RCX_PARAM_LOG,
                                 .log = lines_discard};
    const struct job_options options = {.params = &params, .threaded = true};
    struct job job;

    assert_ok(job_open(&job, SIZE, &options));
    job_each(&job, fn, NULL);
    assert_ok(job_close(&job));
}

/* ---- Settings ------------------------------------------------------------ */

/* The method of an allreduce of comm, whose result is checked. */
static void use(rcx_comm_t *comm, const char *method)
{
    static _Thread_local int64_t in[COUNT], out[COUNT];
    const int size = rcx_comm_size(comm), rank = rcx_comm_rank(comm);
    rcx_request_t *request;
    const char *text;

    for (int i = 0; i < COUNT; i++)
        in[i] = rank + i;
    require_ok(
        rcx_iallreduce(in, out, COUNT, RCX_INT64, RCX_SUM, comm, &request));
    text = rcx_request_method(request);
    require(!method || strncmp(text, method, strlen(method)) == 0);
    require_ok(rcx_wait(request));
    require_ok(rcx_request_free(&request));
    for (int i = 0; i < COUNT; i++)
        require(out[i] == (int64_t)size * (size - 1) / 2 + (int64_t)size * i);
}

static void set_methods(struct job *job, int rank, void *arg)
{
    rcx_comm_t *world = world_of(job, rank), *before = NULL, *after = NULL;

    (void)arg;
    require_ok(rcx_comm_dup(world, &before));
    use(world, NULL);
    require_ok(rcx_comm_set(world, "RCX_ALLREDUCE", "ring"));
    use(world, "ring");
    require_ok(rcx_comm_set(world, "RCX_ALLREDUCE", "recursive_doubling"));
    use(world, "recursive_doubling"); /* no plan of before */
    require_ok(rcx_comm_set(world, "RCX_CHECK", "full"));
    use(world, "recursive_doubling");
    require_ok(rcx_comm_dup(world, &after));
    require_ok(rcx_comm_set(world, "RCX_ALLREDUCE", ""));
    use(world, NULL);
    use(after, "recursive_doubling"); /* inherited */
    require_ok(rcx_comm_set(before, "RCX_ALLREDUCE", "ring"));
    use(before, "ring");
    use(after, "recursive_doubling");
    require(world->config->check == RCX_CHECK_FULL);
    require(after->config->check == RCX_CHECK_FULL);
    require(before->config->check == RCX_CHECK_CHEAP);
    require(world->context->config.check == RCX_CHECK_CHEAP);
    require_ok(rcx_comm_free(&before));
    require_ok(rcx_comm_free(&after));
}

static void a_setting_holds_for_a_communicator_and_its_children(void **state)
{
    (void)state;
    run(set_methods);
}

static void set_others(struct job *job, int rank, void *arg)
{
    rcx_comm_t *comm = NULL;

    (void)arg;
    require_ok(rcx_comm_dup(world_of(job, rank), &comm));
    require_ok(rcx_comm_set_timeout(comm, INT64_C(7000000000)));
    require_ok(rcx_comm_set(comm, "RCX_PLAN_CACHE", "64K"));
    require(comm->cache->limit == 64 << 10);
    require(comm->timeout_ns == INT64_C(7000000000));
    require_ok(rcx_comm_set(comm, "RCX_TIMEOUT", "60s"));
    require(comm->timeout_ns == INT64_C(60000000000));
    require_ok(rcx_comm_set(comm, "RCX_TIMEOUT", "none"));
    require(comm->timeout_ns == 0);
    require_ok(rcx_comm_set(comm, "RCX_QUORUM", "any"));
    require(comm->config->accepts_minority);
    require_ok(rcx_comm_set(comm, "RCX_ORDER", "canonical"));
    require(comm->config->order == RCX_ORDER_CANONICAL);
    use(comm, NULL);
    require_ok(rcx_comm_set(comm, "RCX_ORDER", "auto"));
    require(comm->config->order == RCX_ORDER_SAME);
    require_ok(rcx_comm_free(&comm));
}

static void the_other_settings_of_a_communicator_are_set(void **state)
{
    (void)state;
    run(set_others);
}

/* Rank 3 gives something else, or cannot: all ranks must get the same error,
 * and nothing may change. */
static void set_differently(struct job *job, int rank, void *arg)
{
    static const struct {
        const char *name, *value, *other_name, *other_value;
    } rows[] = {
        {"RCX_ALLREDUCE", "ring", "RCX_ALLREDUCE", "recursive_doubling"},
        {"RCX_ALLREDUCE", "ring", "RCX_REDUCE", "ring"},
        {"RCX_ALLREDUCE", "ring", "RCX_ALLREDUCE", "rings"},
        {"RCX_ALLREDUCE", "ring", "RCX_ALREDUCE", "ring"},
        {"RCX_TIMEOUT", "1h", "RCX_TIMEOUT", "1"},
        {"RCX_ERR_MODE", "peer", "RCX_ERR_MODE", "peer"},
        {"RCX_LANES", "ucp", "RCX_CHECK", "full"},
        {"RCX_SECRET", "ucp", "RCX_SECRET", "ucp"},
    };
    rcx_comm_t *world = world_of(job, rank);

    (void)arg;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        require_status(
            rcx_comm_set(world, rank == 3 ? rows[i].other_name : rows[i].name,
                         rank == 3 ? rows[i].other_value : rows[i].value),
            RCX_ERR_CONFIG);
        require(world->config == &world->context->config);
        use(world, NULL);
    }
}

static void a_setting_that_differs_between_ranks_changes_nothing(void **state)
{
    (void)state;
    run(set_differently);
}

static void set_while_busy(struct job *job, int rank, void *arg)
{
    rcx_comm_t *world = world_of(job, rank);
    rcx_request_t *request = NULL;
    const rcx_status_t expected = rank == 2 ? RCX_ERR_BUSY : RCX_ERR_CONFIG;
    int x;

    (void)arg;
    if (rank == 2)
        require_ok(rcx_recv_init(&x, 1, RCX_INT, 0, 0, world, &request));
    require_status(rcx_comm_set(world, "RCX_CHECK", "full"), expected);
    if (request)
        require_ok(rcx_request_free(&request));
    require_ok(rcx_comm_set(world, "RCX_CHECK", "full"));
}

static void a_setting_does_not_change_under_a_request(void **state)
{
    (void)state;
    run(set_while_busy);
}

/* ---- Names --------------------------------------------------------------- */

static void name_some(struct job *job, int rank, void *arg)
{
    rcx_comm_t *world = world_of(job, rank), *comm = NULL, *copy = NULL;
    char longest[RCX_COMM_NAME_MAX + 2], text[RCX_COMM_TEXT];
    rcx_error_info_t info;

    (void)arg;
    memset(longest, 'x', sizeof longest);
    longest[RCX_COMM_NAME_MAX + 1] = '\0';
    require(strcmp(rcx_comm_name(world), "world") == 0);
    require(strcmp(rcx_comm_print(world, text), "communicator 1 (world)") == 0);
    require(strcmp(rcx_comm_print(world->context->internal, text),
                   "communicator 0 (RCX's own)") == 0);
    require_ok(rcx_comm_dup(world, &comm));
    require(strcmp(rcx_comm_name(comm), "") == 0);
    require(strcmp(rcx_comm_print(comm, text), "communicator 4") == 0);
    require_status(rcx_comm_set_name(comm, NULL), RCX_ERR_ARG);
    require_status(rcx_comm_set_name(comm, longest), RCX_ERR_ARG);
    require_status(rcx_comm_set_name(comm, "two\nlines"), RCX_ERR_ARG);
    require_ok(rcx_comm_set_name(comm, longest + 1));
    require_ok(rcx_comm_dup(comm, &copy));
    require(strcmp(rcx_comm_name(copy), "") == 0); /* not inherited */
    require_ok(rcx_comm_set_name(comm, "solver"));
    require_ok(rcx_barrier(world)); /* all have set it */
    require_ok(rcx_comm_abort(comm));
    require_ok(rcx_comm_error(comm, &info));
    require(strstr(info.text, "communicator 4 (solver)"));
    require_ok(rcx_comm_set_name(comm, ""));
    require(strcmp(rcx_comm_print(comm, text), "communicator 4") == 0);
    require_ok(rcx_comm_free(&comm));
    require_ok(rcx_comm_free(&copy));
}

static void a_name_is_shown_beside_the_number(void **state)
{
    (void)state;
    run(name_some);
}

/* ---- Host data ----------------------------------------------------------- */

static void count(void *data)
{
    ++*(int *)data;
}

static void attach(struct job *job, int rank, void *arg)
{
    rcx_comm_t *world = world_of(job, rank), *comm = NULL, *copy = NULL;
    int *const counts = arg, freed = 0, replaced = 0, x;
    rcx_request_t *request;

    require_ok(rcx_comm_dup(world, &comm));
    require(!rcx_comm_data(comm));
    require_ok(rcx_comm_set_data(comm, &replaced, count));
    require_ok(rcx_comm_set_data(comm, &freed, count));
    require_ok(rcx_comm_dup(comm, &copy));
    require(rcx_comm_data(comm) == &freed && !rcx_comm_data(copy));
    require_ok(rcx_comm_set_data(copy, &replaced, NULL));
    require_ok(rcx_comm_free(&copy));
    require_ok(rcx_recv_init(&x, 1, RCX_INT, 0, 0, comm, &request));
    require(freed == 0);
    require_ok(rcx_comm_free(&comm)); /* its request goes on */
    require(freed == 1);
    require_ok(rcx_request_free(&request));
    require(freed == 1 && replaced == 0);
    require_ok(rcx_comm_set_data(world, &counts[rank], count));
}

static void data_is_destroyed_once_when_its_communicator_is_freed(void **state)
{
    const rcx_params_t params = {.field_mask = RCX_PARAM_LOG,
                                 .log = lines_discard};
    const struct job_options options = {.params = &params, .threaded = true};
    int counts[SIZE] = {0};
    struct job job;

    (void)state;
    assert_ok(job_open(&job, SIZE, &options));
    job_each(&job, attach, counts);
    for (int i = 0; i < SIZE; i++)
        assert_int_equal(counts[i], 0);
    assert_ok(job_close(&job)); /* the world's */
    for (int i = 0; i < SIZE; i++)
        assert_int_equal(counts[i], 1);
}

/* ---- Statuses ------------------------------------------------------------ */

static void each_status_is_fatal_or_not(void **state)
{
    static const signed char expected[] = {
        [-RCX_OK] = 0,
        [-RCX_ERR_ARG] = 0,
        [-RCX_ERR_NOMEM] = -1,
        [-RCX_ERR_UNSUPPORTED] = 0,
        [-RCX_ERR_CONFIG] = 0,
        [-RCX_ERR_LAUNCH] = 0,
        [-RCX_ERR_TRANSPORT] = 1,
        [-RCX_ERR_TIMEOUT] = 1,
        [-RCX_ERR_MISMATCH] = -1,
        [-RCX_ERR_PEER_FAILED] = 1,
        [-RCX_ERR_COMM_FAILED] = 1,
        [-RCX_ERR_OP] = 0,
        [-RCX_ERR_BUSY] = 0,
        [-RCX_ERR_FORKED] = 0,
        [-RCX_ERR_LIMIT] = -1,
        [-RCX_ERR_INTERNAL] = 1,
        [-RCX_ERR_TRUNCATED] = 0,
        [-RCX_ERR_EXCLUDED] = 1,
        [-RCX_ERR_CANCELED] = 0,
        [1 - RCX_ERR_CANCELED] = -1 /* no status */
    };

    (void)state;
    for (int i = 0; i < (int)sizeof expected; i++)
        assert_int_equal(rcx_status_is_fatal((rcx_status_t)-i), expected[i]);
    assert_int_equal(rcx_status_is_fatal(RCX_IN_PROGRESS), 0);
    assert_int_equal(rcx_status_is_fatal((rcx_status_t)2), -1);
}

/* ---- Structs that RCX fills ---------------------------------------------- */

static void fill(struct job *job, int rank, void *arg)
{
    rcx_comm_t *world = world_of(job, rank);
    const rcx_recv_info_t no_got = {0};
    const rcx_error_info_t no_info = {0};
    rcx_request_t *request;
    rcx_error_info_t info;
    rcx_recv_info_t got;
    int x = rank, y;

    (void)arg;
    memset(&info, 0x55, sizeof info);
    memset(&got, 0x55, sizeof got);
    require_ok(rcx_comm_error(world, &info));
    require_ok(rcx_isend(&x, 1, RCX_INT, rank, 3, world, &request));
    require_ok(rcx_recv(&y, 1, RCX_INT, rank, 3, world, &got));
    require_ok(rcx_wait(request));
    require_ok(rcx_request_free(&request));
    require(got.source == rank && got.tag == 3 && got.count == 1);
    require(!memcmp(got.reserved, no_got.reserved, sizeof got.reserved));
    require(!memcmp(info.reserved, no_info.reserved, sizeof info.reserved));
}

static void reserved_words_are_set_to_0(void **state)
{
    (void)state;
    run(fill);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_setting_holds_for_a_communicator_and_its_children),
        cmocka_unit_test(the_other_settings_of_a_communicator_are_set),
        cmocka_unit_test(a_setting_that_differs_between_ranks_changes_nothing),
        cmocka_unit_test(a_setting_does_not_change_under_a_request),
        cmocka_unit_test(a_name_is_shown_beside_the_number),
        cmocka_unit_test(data_is_destroyed_once_when_its_communicator_is_freed),
        cmocka_unit_test(each_status_is_fatal_or_not),
        cmocka_unit_test(reserved_words_are_set_to_0),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
