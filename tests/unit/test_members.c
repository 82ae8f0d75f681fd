/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators of the same ranks share compiled calls; others, and those with
 * settings of their own, do not. All ranks are threads of one process over the
 * simulated network.
 */
#include "test.h"

#include "context.h"
#include "members.h"

enum { SIZE = 4, COUNT = 9 };

static void run_with(const char *name, const char *value,
                     void (*fn)(struct job *job, int rank, void *arg))
{
    const rcx_params_t params = {.field_mask = RCX_PARAM_LOG,
                                 .log = lines_discard};
    const struct job_options options = {.params = &params, .threaded = true};
    struct job job;

    if (name)
        setenv(name, value, 1);
    assert_ok(job_open(&job, SIZE, &options));
    if (name)
        unsetenv(name);
    job_each(&job, fn, NULL);
    assert_ok(job_close(&job));
}

static void check(const int64_t out[], int times, rcx_comm_t *comm)
{
    const int size = rcx_comm_size(comm);

    for (int i = 0; i < COUNT; i++)
        require(out[i] == times * (int64_t)(size * (size - 1) / 2 + size * i));
}

static void fill(int64_t in[], int times, int rank)
{
    for (int i = 0; i < COUNT; i++)
        in[i] = (int64_t)times * (rank + i);
}

static void use(rcx_comm_t *comm)
{
    int64_t in[COUNT], out[COUNT];

    fill(in, 1, rcx_comm_rank(comm));
    require_ok(rcx_allreduce(in, out, COUNT, RCX_INT64, RCX_SUM, comm));
    check(out, 1, comm);
}

/* Programs that were compiled for comm's members while fn ran. */
static uint64_t compiled(rcx_comm_t *comm, void (*fn)(rcx_comm_t *))
{
    const uint64_t before = comm->cache->misses;

    fn(comm);
    return comm->cache->misses - before;
}

static const int reversed[] = {3, 2, 1, 0}, all[] = {0, 1, 2, 3};

static void share(struct job *job, int rank, void *arg)
{
    rcx_comm_t *world = world_of(job, rank), *dup, *split, *group, *other;

    (void)arg;
    require(compiled(world, use) == 1);
    require_ok(rcx_comm_dup(world, &dup));
    require(compiled(dup, use) == 0);
    require_ok(rcx_comm_split(dup, 7, rank, &split));
    require(compiled(split, use) == 0);
    require_ok(rcx_comm_create_group(split, SIZE, all, 0, &group));
    require(compiled(group, use) == 0);
    require_ok(rcx_comm_create_group(world, SIZE, reversed, 0, &other));
    require(compiled(other, use) == 1);
    require_ok(rcx_comm_free(&split));
    require_ok(rcx_comm_free(&dup));
    require(compiled(group, use) == 0);
    require_ok(rcx_comm_free(&group));
    require_ok(rcx_comm_dup(other, &dup));
    require_ok(rcx_comm_free(&other));
    require(compiled(dup, use) == 0);
    require_ok(rcx_comm_free(&dup));
    require(compiled(world, use) == 0);
}

static void communicators_of_the_same_ranks_share_programs(void **state)
{
    (void)state;
    run_with(NULL, NULL, share);
}

/* Half of the ranks start in the one order, the others in the other. The calls
 * of both have the same numbers. */
static void cross(struct job *job, int rank, void *arg)
{
    rcx_comm_t *comms[2];
    int64_t in[2][COUNT], out[2][COUNT];
    rcx_request_t *requests[2];

    (void)arg;
    for (int k = 0; k < 2; k++)
        require_ok(rcx_comm_dup(world_of(job, rank), &comms[k]));
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 2; i++) {
            const int k = (rank + i) % 2;

            fill(in[k], k + 1, rank);
            require_ok(rcx_iallreduce(in[k], out[k], COUNT, RCX_INT64, RCX_SUM,
                                      comms[k], &requests[k]));
        }
        for (int k = 0; k < 2; k++) {
            require_ok(rcx_wait(requests[k]));
            check(out[k], k + 1, comms[k]);
            require_ok(rcx_request_free(&requests[k]));
        }
    }
    for (int k = 0; k < 2; k++)
        require_ok(rcx_comm_free(&comms[k]));
}

static void calls_that_share_a_program_do_not_match_each_other(void **state)
{
    (void)state;
    run_with(NULL, NULL, cross);
}

/* Each has its own last call, which must not outlive its program. */
static void evict(struct job *job, int rank, void *arg)
{
    rcx_comm_t *world = world_of(job, rank), *dup;
    static _Thread_local int64_t in[COUNT], out[COUNT];

    (void)arg;
    require_ok(rcx_comm_dup(world, &dup));
    fill(in, 1, rank);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2; i++)
            require_ok(
                rcx_allreduce(in, out, COUNT, RCX_INT64, RCX_SUM, world));
        world->cache->limit = 0;
        require_ok(rcx_barrier(dup)); /* evicts all */
        require_ok(rcx_allreduce(in, out, COUNT, RCX_INT64, RCX_SUM, world));
        check(out, 1, world);
        require(world->cache->bytes == 0);
        world->cache->limit = 1 << 20;
    }
    require_ok(rcx_comm_free(&dup));
}

static void a_repeat_does_not_outlive_its_program(void **state)
{
    (void)state;
    run_with(NULL, NULL, evict);
}

/* A setting of one is none of the other. */
static void set(struct job *job, int rank, void *arg)
{
    rcx_comm_t *world = world_of(job, rank), *dup, *child;

    (void)arg;
    use(world);
    require_ok(rcx_comm_dup(world, &dup));
    use(dup);
    require_ok(rcx_comm_set(dup, "RCX_ALLREDUCE", "ring"));
    require(dup->cache != world->cache);
    require(compiled(dup, use) == 1);
    require(compiled(world, use) == 0);
    require_ok(rcx_comm_dup(dup, &child));
    require(compiled(child, use) == 0);
    require_ok(rcx_comm_set(child, "RCX_ALLREDUCE", ""));
    require(child->cache != dup->cache && child->cache != world->cache);
    require(compiled(child, use) == 1);
    require_ok(rcx_comm_free(&child));
    require_ok(rcx_comm_free(&dup));
}

static void settings_of_its_own_part_a_communicator(void **state)
{
    (void)state;
    run_with(NULL, NULL, set);
}

/* A freed op is removed for all. */
static int add(void *dst, const void *left, const void *right, size_t count,
               rcx_datatype_t type, void *arg)
{
    (void)type;
    (void)arg;
    for (size_t i = 0; i < count; i++)
        ((int64_t *)dst)[i] =
            ((const int64_t *)left)[i] + ((const int64_t *)right)[i];
    return 0;
}

static int largest(void *dst, const void *left, const void *right, size_t count,
                   rcx_datatype_t type, void *arg)
{
    (void)type;
    (void)arg;
    for (size_t i = 0; i < count; i++) {
        const int64_t a = ((const int64_t *)left)[i];
        const int64_t b = ((const int64_t *)right)[i];

        ((int64_t *)dst)[i] = a > b ? a : b;
    }
    return 0;
}

static void free_op(struct job *job, int rank, void *arg)
{
    rcx_comm_t *world = world_of(job, rank), *dup;
    rcx_context_t *context = world->context;
    int64_t in[COUNT], out[COUNT];
    rcx_op_t op;

    (void)arg;
    require_ok(rcx_comm_dup(world, &dup));
    fill(in, 1, rank);
    for (int round = 0; round < 3; round++) {
        require_ok(
            rcx_op_create(context, round % 2 ? largest : add, 0, NULL, &op));
        require_ok(rcx_allreduce(in, out, COUNT, RCX_INT64, op,
                                 round % 2 ? world : dup));
        if (round % 2)
            require(out[2] == SIZE - 1 + 2);
        else
            check(out, 1, world);
        require_ok(rcx_op_free(context, &op));
    }
    require_ok(rcx_comm_free(&dup));
}

static void a_freed_op_is_removed_for_all_of_them(void **state)
{
    (void)state;
    run_with(NULL, NULL, free_op);
}

/* Programs with a check of their calls, and observed ones, are of one. */
static void part(struct job *job, int rank, void *arg)
{
    rcx_comm_t *world = world_of(job, rank), *dup;

    (void)arg;
    use(world);
    require_ok(rcx_comm_dup(world, &dup));
    require(dup->cache != world->cache);
    use(dup);
    require_ok(rcx_comm_free(&dup));
}

static void checked_calls_are_not_shared(void **state)
{
    (void)state;
    run_with("RCX_CHECK", "full", part);
}

static void observed_calls_are_not_shared(void **state)
{
    (void)state;
    run_with("RCX_TRACE", "/dev/null", part);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(communicators_of_the_same_ranks_share_programs),
        cmocka_unit_test(calls_that_share_a_program_do_not_match_each_other),
        cmocka_unit_test(a_repeat_does_not_outlive_its_program),
        cmocka_unit_test(settings_of_its_own_part_a_communicator),
        cmocka_unit_test(a_freed_op_is_removed_for_all_of_them),
        cmocka_unit_test(checked_calls_are_not_shared),
        cmocka_unit_test(observed_calls_are_not_shared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
