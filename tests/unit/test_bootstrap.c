/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bootstraps that need no launcher: a host's callbacks, over threads and
 * over sockets between processes, and single. Also the choice from the table if
 * the environment hints at a launcher. PMIx itself is tested in tests/job.
 */
#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bootstrap/bootstraps.h"
#include "bootstrap_side.h"

enum { MAX_RANKS = 8 };

/* libpmix leaks a few bytes of its own in every PMIx_Init(). */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libpmix\n";
}

static bool exchanges_with_all(struct side *side)
{
    struct received received;
    bool ok = exchange_records(side, &received) == RCX_OK &&
              received.seen == side->boot->size &&
              received.right == side->boot->size;

    if (side->boot->ops->exchange)
        ok = ok && exchange_with_all(side) == RCX_OK;
    ok = ok && publish_own(side) == RCX_OK;
    for (int i = 0; ok && i < side->boot->size; i++)
        ok = sees_blob_of(side, i);
    return ok;
}

/* Open, exchange, barrier and close must succeed, log nothing, and leave
 * nothing on the heap. */
static bool lives_through(struct side *side)
{
    bool ok;

    if (open_table(side) != RCX_OK)
        return false;
    ok = exchanges_with_all(side) &&
         side->boot->ops->barrier(side->boot, NULL, NULL) == RCX_OK;
    side->boot->ops->close(side->boot);
    return ok && side->heap.live == 0 && side->lines.count == 0;
}

/* ---- Callbacks over threads ---------------------------------------------- */

struct team {
    pthread_barrier_t barrier;
    const void *sends[MAX_RANKS];
    int size;
};

struct member {
    struct team *team;
    int rank;
    int allgathers;
    int barriers;
    bool ok;
};

static int thread_allgather(const void *send, void *recv, size_t bytes,
                            void *arg)
{
    struct member *member = arg;
    struct team *team = member->team;

    member->allgathers++;
    team->sends[member->rank] = send;
    pthread_barrier_wait(&team->barrier);
    for (int i = 0; i < team->size; i++)
        memcpy((char *)recv + (size_t)i * bytes, team->sends[i], bytes);
    pthread_barrier_wait(&team->barrier);
    return 0;
}

static int thread_barrier(void *arg)
{
    struct member *member = arg;

    member->barriers++;
    pthread_barrier_wait(&member->team->barrier);
    return 0;
}

static void *run_member(void *arg)
{
    struct member *member = arg;
    const rcx_bootstrap_t host = {.rank = member->rank,
                                  .size = member->team->size,
                                  .allgather = thread_allgather,
                                  .barrier = thread_barrier,
                                  .arg = member};
    struct side side;

    side_init(&side, &host);
    member->ok = lives_through(&side) && member->allgathers == 4 &&
                 member->barriers == 1;
    return NULL;
}

static void
callbacks_over_threads_exchange_blobs_of_different_lengths(void **state)
{
    (void)state;
    for (int size = 1; size <= MAX_RANKS; size++) {
        struct team team = {.size = size};
        struct member members[MAX_RANKS];
        pthread_t threads[MAX_RANKS];

        pthread_barrier_init(&team.barrier, NULL, (unsigned)size);
        for (int i = 0; i < size; i++) {
            members[i] = (struct member){.team = &team, .rank = i};
            assert_int_equal(
                0, pthread_create(&threads[i], NULL, run_member, &members[i]));
        }
        for (int i = 0; i < size; i++)
            pthread_join(threads[i], NULL);
        for (int i = 0; i < size; i++)
            assert_true(members[i].ok);
        pthread_barrier_destroy(&team.barrier);
    }
}

/* ---- Callbacks over sockets between processes ---------------------------- */

/* A star of sockets around rank 0: hub[i] connects rank 0 to rank i, spoke
 * connects rank i to rank 0. */
struct star {
    int rank;
    int size;
    int hub[MAX_RANKS];
    int spoke;
};

static bool write_all(int fd, const void *data, size_t bytes)
{
    while (bytes) {
        const ssize_t n = write(fd, data, bytes);

        if (n <= 0)
            return false;
        data = (const char *)data + n;
        bytes -= (size_t)n;
    }
    return true;
}

static bool read_all(int fd, void *data, size_t bytes)
{
    while (bytes) {
        const ssize_t n = read(fd, data, bytes);

        if (n <= 0)
            return false;
        data = (char *)data + n;
        bytes -= (size_t)n;
    }
    return true;
}

static int star_allgather(const void *send, void *recv, size_t bytes, void *arg)
{
    const struct star *star = arg;
    const size_t all = bytes * (size_t)star->size;
    bool ok = true;

    if (star->rank != 0)
        return write_all(star->spoke, send, bytes) &&
                       read_all(star->spoke, recv, all)
                   ? 0
                   : 1;
    memcpy(recv, send, bytes);
    for (int i = 1; i < star->size && ok; i++)
        ok = read_all(star->hub[i], (char *)recv + (size_t)i * bytes, bytes);
    for (int i = 1; i < star->size && ok; i++)
        ok = write_all(star->hub[i], recv, all);
    return ok ? 0 : 1;
}

static int star_barrier(void *arg)
{
    char mine = 0, all[MAX_RANKS];

    return star_allgather(&mine, all, 1, arg);
}

static bool run_star(struct star *star)
{
    const rcx_bootstrap_t host = {.rank = star->rank,
                                  .size = star->size,
                                  .allgather = star_allgather,
                                  .barrier = star_barrier,
                                  .arg = star};
    struct side side;

    side_init(&side, &host);
    return lives_through(&side);
}

static void callbacks_over_sockets_join_processes(void **state)
{
    struct star star = {.size = 4};
    pid_t children[MAX_RANKS];

    (void)state;
    for (int i = 1; i < star.size; i++) {
        int ends[2];

        assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            struct star child = {
                .rank = i, .size = star.size, .spoke = ends[1]};

            close(ends[0]);
            _exit(run_star(&child) ? 0 : 1);
        }
        close(ends[1]);
        star.hub[i] = ends[0];
    }
    assert_true(run_star(&star));
    for (int i = 1; i < star.size; i++) {
        int status = -1;

        assert_int_equal(children[i], waitpid(children[i], &status, 0));
        assert_int_equal(0, status);
        close(star.hub[i]);
    }
}

/* ---- Single -------------------------------------------------------------- */

static void a_single_process_is_rank_0_and_logs_nothing(void **state)
{
    struct side side;

    (void)state;
    side_init(&side, NULL);
    assert_int_equal(RCX_OK, open_table(&side));
    assert_string_equal("single", side.boot->ops->name);
    assert_int_equal(0, side.boot->rank);
    assert_int_equal(1, side.boot->size);
    assert_int_equal(1, side.boot->local_size);
    side.boot->ops->close(side.boot);
    side_init(&side, NULL);
    side.args.params = NULL;
    assert_true(lives_through(&side));
}

static void assert_launcher_is_seen(const char *assignment)
{
    struct side side;

    side_init(&side, NULL);
    assert_int_equal(RCX_ERR_LAUNCH, open_table(&side));
    assert_int_equal(1, side.lines.count);
    assert_non_null(strstr(side.lines.last, assignment));
    assert_non_null(strstr(side.lines.last, "srun --mpi=pmix"));
    assert_non_null(strstr(side.lines.last, "prterun"));
    assert_non_null(strstr(side.lines.last, "rcxrun"));
    assert_int_equal(0, side.heap.live);
    side_init(&side, NULL);
    side.args.allow_singleton = true;
    assert_true(lives_through(&side));
}

static void a_launcher_of_several_without_a_server_is_an_error(void **state)
{
    (void)state;
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    assert_launcher_is_seen("OMPI_COMM_WORLD_SIZE=4");
    unsetenv("OMPI_COMM_WORLD_SIZE");
    setenv("PMI_SIZE", "3", 1);
    assert_launcher_is_seen("PMI_SIZE=3");
    unsetenv("PMI_SIZE");
    setenv("SLURM_NTASKS", "2", 1);
    assert_launcher_is_seen("SLURM_NTASKS=2");
    unsetenv("SLURM_NTASKS");
}

static void a_launcher_of_one_is_no_error(void **state)
{
    struct side side;

    (void)state;
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    setenv("PMI_SIZE", "", 1);
    setenv("SLURM_NTASKS", "1", 1);
    side_init(&side, NULL);
    assert_true(lives_through(&side));
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("PMI_SIZE");
    unsetenv("SLURM_NTASKS");
}

/* Opening must fail with one line that names launchers; with allow_singleton it
 * must succeed. Runs in a child process, as PMIx keeps its state for the life
 * of a process. */
static void assert_dead_server_is_seen(const char *name, const char *value,
                                       const char *rank)
{
    const pid_t child = fork();
    int status = -1;

    assert_true(child >= 0);
    if (child == 0) {
        struct side side;
        bool ok;

        setenv(name, value, 1);
        if (rank)
            setenv("PMIX_RANK", rank, 1);
        side_init(&side, NULL);
        ok = open_table(&side) == RCX_ERR_LAUNCH && side.lines.count == 1 &&
             strstr(side.lines.last, "srun --mpi=pmix") &&
             strstr(side.lines.last, "prterun");
        side_init(&side, NULL);
        ok = ok && open_table(&side) == RCX_ERR_LAUNCH; /* must fail again */
        side_init(&side, NULL);
        side.args.allow_singleton = true;
        ok = ok && lives_through(&side);
        exit(ok ? 0 : 1); /* destructor must not call PMIx_Finalize */
    }
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
}

static void a_pmix_server_that_does_not_answer_is_an_error(void **state)
{
    (void)state;
    assert_dead_server_is_seen("PMIX_NAMESPACE", "nobody", NULL);
    assert_dead_server_is_seen("PMIX_NAMESPACE", "nobody", "0");
    assert_dead_server_is_seen("PMIX_SERVER_URI41", "x.0;tcp4://127.0.0.1:1",
                               NULL);
    assert_dead_server_is_seen("PMIX_SERVER_URI41", "x.0;tcp4://127.0.0.1:1",
                               "0");
}

/* ---- All bootstraps of the table ----------------------------------------- */

static void count_line(const char *name, const char *value, void *arg)
{
    assert_non_null(name);
    assert_non_null(value);
    ++*(int *)arg;
}

static void
every_bootstrap_of_the_table_is_complete_and_describes_itself(void **state)
{
    int lines = 0;

    (void)state;
    for (int i = 0; rcx_boot_table[i]; i++) {
        const struct rcx_boot_ops *ops = rcx_boot_table[i];
        const int before = lines;

        assert_non_null(ops->name);
        assert_true(ops->open && ops->local_exchange && ops->publish &&
                    ops->lookup && ops->barrier && ops->close && ops->describe);
        ops->describe(count_line, &lines);
        assert_true(lines > before);
    }
}

/* Unset the variables of launchers, as one of them may run the tests. */
static int forget_launchers(void **state)
{
    static const char *const prefixes[] = {"PMI", "SLURM_", "OMPI_"};

    (void)state;
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        char **entry = environ;

        while (*entry) {
            char name[256];

            snprintf(name, sizeof name, "%.*s", (int)strcspn(*entry, "="),
                     *entry);
            if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0 &&
                unsetenv(name) == 0)
                entry = environ;
            else
                entry++;
        }
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            callbacks_over_threads_exchange_blobs_of_different_lengths),
        cmocka_unit_test(callbacks_over_sockets_join_processes),
        cmocka_unit_test(a_single_process_is_rank_0_and_logs_nothing),
        cmocka_unit_test(a_launcher_of_several_without_a_server_is_an_error),
        cmocka_unit_test(a_launcher_of_one_is_no_error),
        cmocka_unit_test(a_pmix_server_that_does_not_answer_is_an_error),
        cmocka_unit_test(
            every_bootstrap_of_the_table_is_complete_and_describes_itself),
    };

    return cmocka_run_group_tests(tests, forget_launchers, NULL);
}
