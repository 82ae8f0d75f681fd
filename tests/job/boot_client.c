/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * boot_client [--expect SIZE] [--cycles N] [--name NAME] [--skew SECONDS]
 *             [--together] [--threads] [--turns] [--memory] [--fork]
 *             [--describe]
 *
 * One rank of a test of the bootstraps, under any launcher. Opens a bootstrap
 * of rcx_boot_table, exchanges records with the ranks of its node, publishes,
 * looks up and verifies every rank, enters the barrier, and closes; N times.
 * Exits with 0 if all results are correct.
 *
 *   --expect     the expected number of ranks
 *   --skew       the last rank sleeps before the barrier
 *   --together   all N bootstraps are open at once, and are closed in the order
 *                in which they were opened
 *   --threads    two threads open two named bootstraps, in either order
 *   --turns      rank 0 stops waiting for its turn to enter a fence
 *   --memory     first, every allocation fails once, in turn
 *   --fork       under PMIx: a forked child is rejected afterwards and exits
 *   --describe   first print what each bootstrap finds out about the launcher
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/iface/bootstrap.h"

/* LeakSanitizer: libpmix leaks a few bytes in every PMIx_Init(). */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libpmix\n";
}

enum { MAX_CYCLES = 64 };

struct options {
    int expect;
    int cycles;
    const char *name;
    unsigned skew;
    bool together;
    bool threads;
    bool turns;
    bool memory;
    bool fork;
    bool describe;
};

struct client {
    struct rcx_heap heap;
    struct rcx_log log;
    struct rcx_boot *boot;
    const char *name;
    int cycle;
    unsigned skew;
    unsigned long polls;
    bool ok;
    bool delays_bcast; /* the caller of join() runs the local broadcast later */
};

static bool wrong(const struct client *client, const char *what, long value,
                  long expected)
{
    rcx_warn(&client->log, "boot_client: cycle %d: %s is %ld, expected %ld",
             client->cycle, what, value, expected);
    return false;
}

static bool count_poll(void *arg)
{
    ++*(unsigned long *)arg;
    return true;
}

static rcx_status_t open_table(struct client *client)
{
    rcx_params_t params = {.field_mask = client->name ? RCX_PARAM_NAME : 0,
                           .name = client->name};
    const struct rcx_boot_args args = {
        .params = &params,
        .allow_singleton = getenv("RCX_ALLOW_SINGLETON") != NULL,
        .heap = &client->heap,
        .log = &client->log,
    };
    rcx_status_t status = RCX_ERR_UNSUPPORTED;

    for (int i = 0; rcx_boot_table[i] && status == RCX_ERR_UNSUPPORTED; i++)
        status = rcx_boot_table[i]->open(&args, &client->boot);
    return status;
}

static bool open_first(struct client *client)
{
    const rcx_status_t status = open_table(client);

    if (status != RCX_OK)
        return wrong(client, "status of open", status, RCX_OK);
    client->log.rank = client->boot->rank;
    return true;
}

/* Store the blob of rank: its length and content depend on rank, cycle and
 * name. */
static size_t make_blob(const struct client *client, int rank,
                        unsigned char *blob)
{
    const size_t bytes = 1 + (size_t)((rank * 37 + client->cycle * 11) % 900);
    const int salt = client->name ? client->name[0] : 0;

    for (size_t i = 0; i < bytes; i++)
        blob[i] =
            (unsigned char)((size_t)(rank * 31 + client->cycle * 7 + salt) +
                            i * 5);
    return bytes;
}

static bool verify(struct client *client, int rank)
{
    unsigned char expected[1024];
    const size_t length = make_blob(client, rank, expected);
    const void *blob = NULL, *again = NULL;
    size_t bytes = 0;
    rcx_status_t status =
        client->boot->ops->lookup(client->boot, rank, &blob, &bytes);

    if (status != RCX_OK)
        return wrong(client, "status of lookup", status, RCX_OK);
    if (bytes != length)
        return wrong(client, "length of blob", (long)bytes, (long)length);
    if (memcmp(blob, expected, length) != 0)
        return wrong(client, "rank with a wrong blob", rank, -1);
    status = client->boot->ops->lookup(client->boot, rank, &again, &bytes);
    if (status != RCX_OK || again != blob)
        return wrong(client, "second lookup", status, RCX_OK);
    return true;
}

/* The record of a rank, which every rank can compute. */
struct record {
    int rank, cycle, salt;
};

struct received {
    struct client *client;
    int seen, right;
};

static struct record make_record(const struct client *client, int rank)
{
    return (struct record){rank, client->cycle,
                           client->name ? client->name[0] : 0};
}

static void see(int rank, const void *record, void *arg)
{
    struct received *received = arg;
    const int *ranks = received->client->boot->local_ranks;
    const int i = received->seen++;
    const struct record expected =
        make_record(received->client, ranks ? ranks[i] : i);

    received->right += rank == expected.rank && record &&
                       memcmp(record, &expected, sizeof expected) == 0;
}

/* Exchange records with the ranks of the node. All launchers of these tests
 * report which ranks share a node. */
static bool exchange_records(struct client *client)
{
    struct rcx_boot *boot = client->boot;
    const struct record mine = make_record(client, boot->rank);
    struct received received = {.client = client};
    const rcx_status_t status =
        boot->ops->local_exchange(boot, &mine, sizeof mine, see, &received);

    if (status != RCX_OK)
        return wrong(client, "status of local_exchange", status, RCX_OK);
    if (received.seen != boot->local_size)
        return wrong(client, "records seen", received.seen, boot->local_size);
    if (received.right != received.seen)
        return wrong(client, "right records", received.right, received.seen);
    return true;
}

/* Receive the broadcast of the lowest rank of the node, or send it there. */
static bool run_local_bcast(struct client *client)
{
    struct rcx_boot *boot = client->boot;
    const int lowest = rcx_boot_lowest(boot);
    const struct record mine = make_record(client, boot->rank);
    struct received received = {.client = client, .seen = 0};
    rcx_status_t status;

    if (!boot->ops->local_bcast || !boot->local_ranks)
        return true;
    status = boot->ops->local_bcast(boot, &mine, sizeof mine, see, &received);
    if (status != RCX_OK)
        return wrong(client, "status of local_bcast", status, RCX_OK);
    if (received.right != (boot->rank != lowest))
        return wrong(client, "records of local_bcast", received.right, 1);
    return true;
}

static bool join(struct client *client)
{
    unsigned char mine[1024];
    rcx_status_t status;
    size_t bytes;

    if (!open_first(client) || !exchange_records(client))
        return false;
    bytes = make_blob(client, client->boot->rank, mine);
    status = client->boot->ops->publish(client->boot, mine, bytes);
    if (status != RCX_OK)
        return wrong(client, "status of publish", status, RCX_OK);
    if (!client->delays_bcast && !run_local_bcast(client))
        return false;
    for (int i = 0; i < client->boot->size; i++) {
        if (!verify(client, (client->boot->rank + i) % client->boot->size))
            return false;
    }
    return true;
}

static bool leave(struct client *client)
{
    struct rcx_boot *boot = client->boot;
    rcx_status_t status;

    if (client->skew && boot->rank == boot->size - 1)
        sleep(client->skew);
    status = boot->ops->barrier(boot, count_poll, &client->polls);
    if (status != RCX_OK)
        return wrong(client, "status of barrier", status, RCX_OK);
    if (client->skew && boot->rank < boot->size - 1 && client->polls == 0)
        return wrong(client, "progress calls while waiting", 0, 1);
    boot->ops->close(boot);
    if (client->heap.live != 0)
        return wrong(client, "blocks not freed", (long)client->heap.live, 0);
    return true;
}

static struct client client_of(const struct options *options, int cycle)
{
    struct client client = {.heap = RCX_HEAP_INIT,
                            .name = options->name,
                            .cycle = cycle,
                            .skew = options->skew};

    rcx_log_init(&client.log);
    return client;
}

static bool run_cycles(const struct options *options)
{
    struct client clients[MAX_CYCLES];
    int left = 0;

    for (int i = 0; i < options->cycles; i++) {
        clients[i] = client_of(options, i);
        if (!join(&clients[i]))
            return false;
        if (options->expect && clients[i].boot->size != options->expect)
            return wrong(&clients[i], "size", clients[i].boot->size,
                         options->expect);
        if (!options->together && !leave(&clients[left++]))
            return false;
    }
    while (left < options->cycles) {
        if (!leave(&clients[left++]))
            return false;
    }
    return true;
}

static void *join_thread(void *arg)
{
    struct client *client = arg;

    client->ok = join(client);
    return NULL;
}

static bool run_threads(const struct options *options)
{
    static const char *const names[2] = {"alpha", "beta"};
    struct client clients[2];
    pthread_t threads[2];
    bool ok = true;

    for (int i = 0; i < 2; i++) {
        clients[i] = client_of(options, 0);
        clients[i].name = names[i];
    }
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], NULL, join_thread,
                           &clients[(i + getpid()) % 2]) != 0)
            abort();
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2 && ok; i++)
        ok = clients[i].ok && leave(&clients[i]);
    return ok;
}

static bool set_inside(void *arg)
{
    atomic_store((atomic_bool *)arg, true);
    return true;
}

static bool refuse(void *arg)
{
    ++*(int *)arg;
    return false;
}

struct fence {
    struct client *client;
    atomic_bool is_inside;
};

static void *fence_thread(void *arg)
{
    struct fence *fence = arg;
    struct rcx_boot *boot = fence->client->boot;

    fence->client->ok =
        boot->ops->barrier(boot, set_inside, &fence->is_inside) == RCX_OK;
    return NULL;
}

/* One thread enters a fence of first, which the other ranks complete in
 * run_local_bcast(). Meanwhile the barrier of second must return
 * RCX_IN_PROGRESS when its callback returns false. */
static bool cancel_barrier(struct client *first, struct client *second)
{
    struct rcx_boot *boot = second->boot;
    struct fence fence = {.client = first};
    rcx_status_t status;
    pthread_t thread;
    int refusals = 0;
    bool ok;

    if (pthread_create(&thread, NULL, fence_thread, &fence) != 0)
        abort();
    while (!atomic_load(&fence.is_inside))
        usleep(100);
    status = boot->ops->barrier(boot, refuse, &refusals);
    ok =
        (status == RCX_IN_PROGRESS && refusals == 1) ||
        wrong(second, "status of a cancelled barrier", status, RCX_IN_PROGRESS);
    ok = run_local_bcast(first) && ok;
    pthread_join(thread, NULL);
    return ok && first->ok;
}

static bool run_turns(const struct options *options)
{
    struct client clients[2];

    for (int i = 0; i < 2; i++) {
        clients[i] = client_of(options, 0);
        clients[i].name = i == 0 ? "first" : "second";
        clients[i].delays_bcast = true;
        if (!join(&clients[i]))
            return false;
    }
    if (clients[0].boot->rank == 0) {
        if (!cancel_barrier(&clients[0], &clients[1]))
            return false;
        clients[0].boot->ops->close(clients[0].boot);
    } else if (!run_local_bcast(&clients[0]) || !leave(&clients[0])) {
        return false;
    }
    return leave(&clients[1]);
}

static void keep_silent(rcx_log_level_t level, const char *text, void *arg)
{
    (void)level;
    (void)text;
    ++*(int *)arg;
}

/* All ranks run out of memory at the same allocation, so they stay in step. */
static bool run_memory(const struct options *options)
{
    rcx_status_t status = RCX_ERR_NOMEM;

    for (uint64_t budget = 0; status == RCX_ERR_NOMEM; budget++) {
        struct client client = client_of(options, 0);
        const void *blob;
        size_t bytes;
        int lines = 0;

        client.log.fn = keep_silent;
        client.log.arg = &lines;
        client.heap.budget = budget;
        status = open_table(&client);
        if (status == RCX_OK) {
            const struct rcx_boot_ops *ops = client.boot->ops;

            status = ops->publish(client.boot, "x", 1);
            for (int i = 0; i < client.boot->size && status == RCX_OK; i++)
                status = ops->lookup(client.boot, i, &blob, &bytes);
            ops->close(client.boot);
        }
        client.log = client_of(options, 0).log;
        if (client.heap.live != 0 || lines != (status != RCX_OK))
            return wrong(&client, "blocks and log lines left",
                         (long)client.heap.live + lines, status != RCX_OK);
    }
    return status == RCX_OK;
}

static bool run_fork(const struct options *options)
{
    const pid_t child = fork();
    int status = -1;

    if (child == 0) {
        struct client client = client_of(options, 0);
        int lines = 0;

        client.log.fn = keep_silent;
        client.log.arg = &lines;
        /* exit() runs destructors, which must not disturb the parent's
         * server */
        exit(open_table(&client) == RCX_ERR_FORKED && lines == 1 ? 0 : 1);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        abort();
    return status == 0;
}

static void print_line(const char *name, const char *value, void *arg)
{
    printf("%s: %s: %s\n", (const char *)arg, name, value);
}

static bool parse(int argc, char **argv, struct options *options)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(argv[i], "--together") == 0)
            options->together = true;
        else if (strcmp(argv[i], "--threads") == 0)
            options->threads = true;
        else if (strcmp(argv[i], "--turns") == 0)
            options->turns = true;
        else if (strcmp(argv[i], "--memory") == 0)
            options->memory = true;
        else if (strcmp(argv[i], "--fork") == 0)
            options->fork = true;
        else if (strcmp(argv[i], "--describe") == 0)
            options->describe = true;
        else if (!value)
            return false;
        else if (strcmp(argv[i], "--expect") == 0)
            options->expect = atoi(argv[++i]);
        else if (strcmp(argv[i], "--cycles") == 0)
            options->cycles = atoi(argv[++i]);
        else if (strcmp(argv[i], "--name") == 0)
            options->name = argv[++i];
        else if (strcmp(argv[i], "--skew") == 0)
            options->skew = (unsigned)atoi(argv[++i]);
        else
            return false;
    }
    return options->cycles >= 1 && options->cycles <= MAX_CYCLES;
}

int main(int argc, char **argv)
{
    struct options options = {.cycles = 1};

    if (!parse(argc, argv, &options)) {
        fprintf(stderr, "usage: see tests/job/boot_client.c\n");
        return 2;
    }
    for (int i = 0; options.describe && rcx_boot_table[i]; i++)
        rcx_boot_table[i]->describe(print_line,
                                    (void *)rcx_boot_table[i]->name);
    if (options.memory && !run_memory(&options))
        return 1;
    if (options.turns     ? !run_turns(&options)
        : options.threads ? !run_threads(&options)
                          : !run_cycles(&options))
        return 1;
    if (options.fork && (!run_fork(&options) || !run_cycles(&options)))
        return 1;
    return 0;
}
