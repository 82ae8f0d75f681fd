/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators made by dup, split and create_group: their ranks and the order
 * of these, the separation of their messages, rejected arguments, and frees
 * while requests exist. All ranks are threads of one process over the simulated
 * network.
 */
#include "test.h"

#include "capture.h"
#include "context.h"
#include "members.h"

enum { MOST = TIMES(9, 5), SEEDS = TIMES(3, 1) };

static void open_job(struct job *job, int size, uint64_t seed,
                     rcx_thread_mode_t threads)
{
    const rcx_params_t params = {.field_mask =
                                     RCX_PARAM_LOG | RCX_PARAM_THREADS,
                                 .log = lines_discard,
                                 .threads = threads};
    const struct job_options options = {
        .params = &params, .threaded = true, .seed = seed};

    assert_ok(job_open(job, size, &options));
}

/* Run fn on all ranks of jobs of sizes smallest to MOST. */
static void run_everywhere(int smallest,
                           void (*fn)(struct job *job, int rank, void *arg))
{
    for (int size = smallest; size <= MOST; size++) {
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct job job;

            open_job(&job, size, seed, RCX_THREAD_SERIALIZED);
            job_each(&job, fn, &seed);
            assert_ok(job_close(&job));
        }
    }
}

/* ---- dup ----------------------------------------------------------------- */

enum { IN_FLIGHT = 12 };

/* Start calls on both communicators: some ranks first all of one, some
 * alternately. */
static void start_both(struct attempt attempts[2][IN_FLIGHT],
                       rcx_comm_t *const comms[2], int rank)
{
    for (int i = 0; i < 2 * IN_FLIGHT; i++) {
        const int which = rank % 3 == 2 ? i % 2 : (i / IN_FLIGHT + rank) % 2;
        const int k = rank % 3 == 2 ? i / 2 : i % IN_FLIGHT;

        members_start(&attempts[which][k], comms[which], (uint64_t)k,
                      (uint64_t)(100 * which + k));
    }
}

/* Both have the same next sequence number: the copy makes as many calls as the
 * parent has made for the copy. So only the communicator id separates their
 * messages. */
static void use_parent_and_copy(struct job *job, int rank, void *arg)
{
    uint64_t random = *(uint64_t *)arg + 1000 * (uint64_t)rank;
    rcx_comm_t *comms[2] = {NULL, NULL};
    struct attempt attempts[2][IN_FLIGHT];
    int order[2 * IN_FLIGHT];

    require_ok(rcx_comm_dup(world_of(job, rank), &comms[0]));
    require_ok(rcx_comm_dup(comms[0], &comms[1]));
    require(comms[1] && comms[1] != comms[0]);
    while (comms[1]->window.next < comms[0]->window.next)
        members_run(comms[1], 0);
    require(comms[0]->window.next == comms[1]->window.next);
    start_both(attempts, comms, rank);
    members_shuffle(&random, order, 2 * IN_FLIGHT);
    for (int i = 0; i < 2 * IN_FLIGHT; i++)
        members_finish(&attempts[order[i] % 2][order[i] / 2]);
    members_check(comms[0], rank, in_order, job->size);
    members_check(comms[1], rank, in_order, job->size);
    require_ok(rcx_comm_free(&comms[0]));
    require(!comms[0]);
    members_check(comms[1], rank, in_order, job->size);
    require_ok(rcx_comm_free(&comms[1]));
}

static void need_22_messages_of_parent_and_copy_do_not_mix(void **state)
{
    (void)state;
    run_everywhere(1, use_parent_and_copy);
}

/* ---- split --------------------------------------------------------------- */

struct spec {
    int color, key;
};

/* Color and key that rank passes to split number k; all ranks know them. */
static struct spec spec_of(int rank, uint64_t k)
{
    static const int keys[] = {0, -1, 7, INT32_MIN, INT32_MAX, -1, 0};
    const uint64_t random = serial_mix((uint64_t)rank, k, 3);
    struct spec spec = {.color = (int)(random % (k % 4 + 1)),
                        .key = keys[(random >> 20) % 7]};

    if (k % 3 == 0)
        spec.key = -rank;
    if (k % 5 == 4 && random % 3 == 0)
        spec.color = RCX_UNDEFINED;
    if (k % 5 == 1)
        spec.color = INT32_MAX - spec.color;
    return spec;
}

/* The members of a color in the order of key and then rank, by repeated
 * selection of the smallest. */
static int members_of(int color, uint64_t k, int size, int members[])
{
    bool taken[MEMBERS_MOST] = {false};
    int n = 0;

    for (;;) {
        int next = -1;

        for (int i = 0; i < size; i++)
            if (!taken[i] && spec_of(i, k).color == color &&
                (next < 0 || spec_of(i, k).key < spec_of(next, k).key))
                next = i;
        if (next < 0)
            return n;
        taken[next] = true;
        members[n++] = next;
    }
}

static void split_often(struct job *job, int rank, void *arg)
{
    const uint64_t seed = *(uint64_t *)arg;

    for (uint64_t k = 20 * seed; k < 20 * seed + 20; k++) {
        const struct spec spec = spec_of(rank, k);
        rcx_comm_t *comm = world_of(job, rank);
        int members[MEMBERS_MOST];

        require_ok(
            rcx_comm_split(world_of(job, rank), spec.color, spec.key, &comm));
        require((comm == NULL) == (spec.color == RCX_UNDEFINED));
        if (!comm)
            continue;
        members_check(comm, rank, members,
                      members_of(spec.color, k, job->size, members));
        require_ok(rcx_comm_free(&comm));
    }
}

static void split_orders_each_color_by_key_and_rank(void **state)
{
    (void)state;
    run_everywhere(1, split_often);
}

static void ask_for_none(struct job *job, int rank, void *arg)
{
    rcx_comm_t *comm = world_of(job, rank);

    (void)arg;
    require_ok(rcx_comm_split(comm, RCX_UNDEFINED, 0, &comm));
    require(!comm);
    members_check(world_of(job, rank), rank, in_order, job->size);
}

static void split_into_nothing_makes_nothing(void **state)
{
    (void)state;
    run_everywhere(1, ask_for_none);
}

/* Split into halves repeatedly. Each part is used after all of its ancestors
 * were freed. */
static void split_down(struct job *job, int rank, void *arg)
{
    rcx_comm_t *comm = NULL, *copy = NULL;
    int n = job->size, first = 0;
    int members[MEMBERS_MOST];

    (void)arg;
    require_ok(rcx_comm_dup(world_of(job, rank), &comm));
    while (n > 1) {
        const int half = n / 2, mine = rank - first;
        const int upper = mine >= half;
        rcx_comm_t *part = NULL;

        require_ok(rcx_comm_split(comm, upper, 0, &part));
        require_ok(rcx_comm_free(&comm));
        comm = part;
        first += upper ? half : 0;
        n = upper ? n - half : half;
        for (int i = 0; i < n; i++)
            members[i] = first + i;
        members_check(comm, rank, members, n);
    }
    require_ok(rcx_comm_dup(comm, &copy)); /* a communicator of one rank */
    require_ok(rcx_comm_free(&comm));
    members_check(copy, rank, members, 1);
    require_ok(rcx_comm_free(&copy));
}

static void splits_nest(void **state)
{
    (void)state;
    run_everywhere(2, split_down);
}

/* ---- create_group -------------------------------------------------------- */

/* Draw at least one rank, in any order. */
static int draw_group(uint64_t *random, int size, int ranks[])
{
    members_shuffle(random, ranks, size);
    return members_draw(random, size) + 1;
}

static bool is_among(int rank, const int ranks[], int n)
{
    for (int i = 0; i < n; i++)
        if (ranks[i] == rank)
            return true;
    return false;
}

static void group_often(struct job *job, int rank, void *arg)
{
    uint64_t random = *(uint64_t *)arg; /* the same on all ranks */

    for (int k = 0; k < 20; k++) {
        rcx_comm_t *comm = NULL;
        int ranks[MEMBERS_MOST];
        const int n = draw_group(&random, job->size, ranks);

        if (!is_among(rank, ranks, n))
            continue; /* no member: makes no call */
        require_ok(rcx_comm_create_group(world_of(job, rank), n, ranks,
                                         k % 2 ? 0 : 8191, &comm));
        members_check(comm, rank, ranks, n);
        require_ok(rcx_comm_free(&comm));
    }
}

static void need_22_groups_are_made_by_their_members_alone(void **state)
{
    (void)state;
    run_everywhere(1, group_often);
}

/* Ranks of a group are those of its parent, not of the world: the parent has
 * the world's ranks in reverse order. */
static void group_in_a_split(struct job *job, int rank, void *arg)
{
    const int size = job->size, n = (size + 1) / 2;
    rcx_comm_t *reversed = NULL, *comm = NULL;
    int ranks[MEMBERS_MOST], expected[MEMBERS_MOST];

    (void)arg;
    require_ok(rcx_comm_split(world_of(job, rank), 5, -rank, &reversed));
    for (int i = 0; i < n; i++) {
        ranks[i] = 2 * i;
        expected[i] = size - 1 - 2 * i;
    }
    if (is_among(rank, expected, n)) {
        require_ok(rcx_comm_create_group(reversed, n, ranks, 3, &comm));
        members_check(comm, rank, expected, n);
        require_ok(rcx_comm_free(&comm));
    }
    require_ok(rcx_comm_free(&reversed));
}

static void groups_count_ranks_of_their_parent(void **state)
{
    (void)state;
    run_everywhere(2, group_in_a_split);
}

/* ---- Rejected arguments -------------------------------------------------- */

/* Open a job of which only rank 0 makes the wrong calls. */
static void open_captured(struct job *job, struct capture *c)
{
    const rcx_params_t params = {
        .field_mask = RCX_PARAM_LOG, .log = capture_line, .log_arg = c};
    const struct job_options options = {.params = &params, .threaded = true};

    assert_ok(job_open(job, 4, &options));
}

static void close_captured(struct job *job)
{
    job_each(job, ask_for_none, NULL);
    assert_ok(job_close(job));
}

static void wrong_arguments_are_named(void **state)
{
    const int good[] = {0, 3}, twice[] = {0, 3, 3}, far[] = {0, 4},
              below[] = {-1, 0}, others[] = {1, 2};
    const int self[] = {0}, next[] = {1, 4};
    rcx_comm_t *made = (rcx_comm_t *)-1, *world;
    struct capture c = {.asks_for_name = true};
    struct job job;

    (void)state;
    open_captured(&job, &c);
    world = world_of(&job, 0);
#define refuses(call, ...) assert_refused(&c, call, RCX_ERR_ARG, __VA_ARGS__)
    refuses(rcx_comm_dup(NULL, &made), "comm");
    refuses(rcx_comm_dup(world, NULL), "new_p");
    refuses(rcx_comm_split(NULL, 0, 0, &made), "comm");
    refuses(rcx_comm_split(world, -2, 0, &made), "rcx_comm_split: color=-2");
    refuses(rcx_comm_split(world, 0, 0, NULL), "new_p");
    refuses(rcx_comm_create_group(NULL, 2, good, 0, &made), "comm");
    refuses(rcx_comm_create_group(world, 0, good, 0, &made), "n=0", "1..4");
    refuses(rcx_comm_create_group(world, 5, good, 0, &made),
            "rcx_comm_create_group: n=5");
    refuses(rcx_comm_create_group(world, 2, NULL, 0, &made), "ranks");
    refuses(rcx_comm_create_group(world, 3, twice, 0, &made), "distinct");
    refuses(rcx_comm_create_group(world, 2, far, 0, &made), "0..3");
    refuses(rcx_comm_create_group(world, 2, below, 0, &made), "0..3");
    refuses(rcx_comm_create_group(world, 2, others, 0, &made), "(0)");
    refuses(rcx_comm_create_group(world, 2, good, -1, &made), "tag=-1");
    refuses(rcx_comm_create_group(world, 2, good, 8192, &made), "tag=8192",
            "0..8191");
    refuses(rcx_comm_create_group(world, 2, good, 0, NULL), "new_p");
    refuses(rcx_comm_free(NULL), "comm");
    refuses(rcx_comm_free(&world), "world");
    refuses(rcx_comm_set_timeout(NULL, 0), "comm");
    refuses(rcx_comm_set_timeout(world, -1), "timeout_ns=-1");
    refuses(rcx_comm_abort(NULL), "comm");
    refuses(rcx_comm_error(world, NULL), "info_p");
    refuses(rcx_comm_set(world, NULL, "off"), "name");
    refuses(rcx_comm_set(world, "RCX_CHECK", NULL), "value");
    refuses(rcx_comm_set_name(world, NULL), "name");
    refuses(rcx_comm_set_name(world, "a\tb"), "63", "control");
    refuses(rcx_peer_failed(world->context, -1, self), "n=-1");
    refuses(rcx_peer_failed(world->context, 1, NULL), "ranks");
    refuses(rcx_peer_failed(world->context, 1, self), "ranks[0]=0", "0..3");
    refuses(rcx_peer_failed(world->context, 2, next), "ranks[1]=4", "0..3");
    assert_ptr_equal(made, (rcx_comm_t *)-1);
    assert_ptr_equal(world, world_of(&job, 0));
    close_captured(&job);
}

static void make_and_free(struct job *job, int rank, void *arg)
{
    rcx_comm_t **stale = arg;
    rcx_comm_t *comm;

    require_ok(rcx_comm_dup(world_of(job, rank), &comm));
    stale[rank] = comm;
    require_ok(rcx_comm_free(&comm));
}

static void a_handle_that_was_freed_is_refused(void **state)
{
    rcx_comm_t *stale[4], *made = NULL;
    rcx_request_t *request = NULL;
    rcx_error_info_t info;
    struct capture c = {.asks_for_name = true};
    const size_t counts[4] = {1, 1, 1, 1};
    const int self[] = {0};
    struct job job;
    int x = 1;
    void *memory;

    (void)state;
    open_captured(&job, &c);
    job_each(&job, make_and_free, stale);
    refuses(rcx_comm_dup(stale[0], &made), "comm");
    refuses(rcx_comm_split(stale[0], 0, 0, &made), "comm");
    refuses(rcx_comm_create_group(stale[0], 1, self, 0, &made), "comm");
    refuses(rcx_comm_set_timeout(stale[0], 0), "comm");
    refuses(rcx_comm_abort(stale[0]), "comm");
    refuses(rcx_comm_error(stale[0], &info), "comm");
    refuses(rcx_mem_alloc(stale[0], 1, &memory), "comm");
    for (int i = 0; i < COLLECTIVES * FORMS; i++) {
        const struct arguments a = {.sendbuf = &x,
                                    .recvbuf = &x,
                                    .count = 1,
                                    .blocks = counts,
                                    .sendcounts = counts,
                                    .type = RCX_INT,
                                    .op = RCX_SUM,
                                    .comm = stale[0]};

        refuses(collective_call((enum collective)(i / FORMS),
                                (enum form)(i % FORMS), &a, &request),
                "comm");
    }
    refuses(rcx_comm_free(&stale[0]), "comm");
    assert_int_equal(rcx_comm_rank(stale[0]), -1);
    assert_int_equal(rcx_comm_size(stale[0]), -1);
    assert_null(made);
    assert_null(request);
    close_captured(&job);
}

/* ---- Frees while in use -------------------------------------------------- */

/* Odd ranks free the communicator during an operation, even ranks after it;
 * requests must complete. */
static void free_early(struct job *job, int rank, void *arg)
{
    rcx_context_t *context = job->contexts[rank];
    rcx_comm_t *comm = NULL, *stale;
    rcx_request_t *active, *persistent;
    int x = rank, y = -1, z = -1;
    const int sum = job->size * (job->size - 1) / 2;

    (void)arg;
    require_ok(rcx_comm_dup(world_of(job, rank), &comm));
    stale = comm;
    require_ok(rcx_iallreduce(&x, &y, 1, RCX_INT, RCX_SUM, comm, &active));
    require_ok(
        rcx_allreduce_init(&x, &z, 1, RCX_INT, RCX_SUM, comm, &persistent));
    if (rank % 2)
        require_ok(rcx_comm_free(&comm));
    require_ok(rcx_wait(active));
    if (comm)
        require_ok(rcx_comm_free(&comm));
    require(!comm && y == sum);
    require_ok(rcx_request_free(&active));
    require(!rcx_comm_is_valid(stale)); /* the first check of all calls */
    for (int k = 0; k < 3; k++) {
        z = -1;
        require_ok(rcx_start(persistent));
        require_ok(rcx_wait(persistent));
        require(z == sum);
    }
    require_status(rcx_finalize(&context), RCX_ERR_BUSY);
    require(context->comms.free == NULL);
    require_ok(rcx_request_free(&persistent));
    require(context->comms.free != NULL); /* freed with its last request */
    members_check(world_of(job, rank), rank, in_order, job->size);
}

static void a_freed_communicator_ends_with_its_last_request(void **state)
{
    (void)state;
    run_everywhere(1, free_early);
}

static void finalize_too_early(struct job *job, int rank, void *arg)
{
    rcx_context_t *context = job->contexts[rank];
    rcx_comm_t *comm = NULL;

    (void)arg;
    require_ok(rcx_comm_dup(world_of(job, rank), &comm));
    require_status(rcx_finalize(&context), RCX_ERR_BUSY);
    require(context == job->contexts[rank]);
    members_check(comm, rank, in_order, job->size);
    members_check(world_of(job, rank), rank, in_order, job->size);
    require_status(rcx_finalize(&context), RCX_ERR_BUSY);
    require_ok(rcx_comm_free(&comm));
    members_check(world_of(job, rank), rank, in_order, job->size);
}

static void a_context_with_communicators_is_not_finalized(void **state)
{
    (void)state;
    run_everywhere(1, finalize_too_early);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(need_22_messages_of_parent_and_copy_do_not_mix),
        cmocka_unit_test(split_orders_each_color_by_key_and_rank),
        cmocka_unit_test(split_into_nothing_makes_nothing),
        cmocka_unit_test(splits_nest),
        cmocka_unit_test(need_22_groups_are_made_by_their_members_alone),
        cmocka_unit_test(groups_count_ranks_of_their_parent),
        cmocka_unit_test(wrong_arguments_are_named),
        cmocka_unit_test(a_handle_that_was_freed_is_refused),
        cmocka_unit_test(a_freed_communicator_ends_with_its_last_request),
        cmocka_unit_test(a_context_with_communicators_is_not_finalized),
    };

    return cmocka_run_group_tests_name("comms", tests, NULL, NULL);
}
