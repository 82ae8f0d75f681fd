/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that start without a launcher. Usage: id_main WHAT
 *
 *   sum [N]           N contexts by the environment, one after the other
 *   pipe N [ADDRESS]  make an id, and pass it to N - 1 children by pipes
 *   again N TIMES     the same, TIMES times in the same processes, with an old
 *                     and a new context at a time; nothing is left
 *   threads N         contexts with names, by N threads of each process
 *   wait              as sum, but rank 1 prints "ready" and sleeps before it
 *                     finalizes
 *   abort             rank 1 calls rcx_abort() while others sum
 *   users             as sum, as two users: rank 1 is another one than root
 *   port              print a port that is free
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rank.h"

enum { MOST = 64 };

/* Sum over the world of context, and check the result. */
static void check_sum(rcx_context_t *context)
{
    rcx_comm_t *world = rcx_world(context);
    const int64_t size = rcx_comm_size(world);
    const int64_t mine = rcx_comm_rank(world) + 1;
    int64_t sum = 0;

    rank_require(rcx_allreduce(&mine, &sum, 1, RCX_INT64, RCX_SUM, world),
                 "rcx_allreduce");
    if (sum != size * (size + 1) / 2)
        rank_fail("the sum is %lld", (long long)sum);
}

/* RCX logs to stderr. */
static void sum_once(const rcx_params_t *params)
{
    const rcx_status_t status = rcx_init(params, &me.context);

    if (status != RCX_OK)
        exit(-status);
    me.rank = rcx_comm_rank(rcx_world(me.context));
    me.size = rcx_comm_size(rcx_world(me.context));
    check_sum(me.context);
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
}

static int run_sum(int n)
{
    for (int i = 0; i < n; i++)
        sum_once(NULL);
    if (me.rank == 0)
        printf("%d ranks\n", me.size);
    return 0;
}

static int run_users(void)
{
    const char *rank = getenv("RCX_RANK");

    if (rank && *rank == '1' && setresuid(65533, 65533, 65533) != 0)
        rank_fail("setresuid");
    return run_sum(1);
}

/* ---- Ids over pipes ------------------------------------------------------ */

static int pipes[MOST][2]; /* to each child */

static void make_id(int n, const char *address, rcx_id_t *id)
{
    rank_require(rcx_get_id(address, id), "rcx_get_id");
    for (int i = 1; i < n; i++)
        if (write(pipes[i][1], id, sizeof *id) != (ssize_t)sizeof *id)
            rank_fail("write to a pipe");
}

static void read_id(int rank, rcx_id_t *id)
{
    if (read(pipes[rank][0], id, sizeof *id) != (ssize_t)sizeof *id)
        rank_fail("read from a pipe");
}

/* Returns the rank of this process: 0 in the parent. */
static int fork_ranks(int n)
{
    for (int i = 1; i < n; i++)
        if (pipe(pipes[i]) != 0)
            rank_fail("pipe");
    for (int i = 1; i < n; i++) {
        const pid_t pid = fork();

        if (pid < 0)
            rank_fail("fork");
        if (pid == 0)
            return i;
    }
    return 0;
}

static int end_ranks(int rank)
{
    int bad = 0, status;

    if (rank != 0)
        _exit(0);
    while (wait(&status) > 0)
        bad += status != 0;
    return bad != 0;
}

static rcx_params_t params_of(const rcx_id_t *id, int rank, int size)
{
    return (rcx_params_t){
        .field_mask = RCX_PARAM_ID, .id = id, .rank = rank, .size = size};
}

/* Children are forked before the id is made, or with "after" behind it. */
static int run_pipe(int n, const char *address)
{
    const int rank = fork_ranks(n);
    rcx_params_t params;
    rcx_id_t id;

    if (rank == 0)
        make_id(n, address, &id);
    else
        read_id(rank, &id);
    params = params_of(&id, rank, n);
    sum_once(&params);
    if (me.rank != rank || me.size != n)
        rank_fail("rank %d of %d", me.rank, me.size);
    return end_ranks(rank);
}

/* ---- Many contexts in the same processes --------------------------------- */

static void renew(rcx_context_t **context_p, int rank, int n)
{
    rcx_params_t params;
    rcx_id_t id;

    if (rank == 0)
        make_id(n, "127.0.0.1:0", &id);
    else
        read_id(rank, &id);
    params = params_of(&id, rank, n);
    rank_require(rcx_init(&params, context_p), "rcx_init");
    check_sum(*context_p);
}

/* After some contexts, no more descriptors and threads are there than before
 * the last ones. */
static int run_again(int n, int times)
{
    const int rank = fork_ranks(n);
    rcx_context_t *contexts[2] = {NULL, NULL};
    int descriptors = 0, threads = 0;

    for (int i = 0; i < times; i++) {
        renew(&contexts[i % 2], rank, n);
        if (i == 0)
            continue;
        check_sum(contexts[(i + 1) % 2]);
        rank_require(rcx_finalize(&contexts[(i + 1) % 2]), "rcx_finalize");
        if (i == times / 2) {
            descriptors = rank_entries("/proc/self/fd");
            threads = rank_entries("/proc/self/task");
        }
    }
    if (rank_entries("/proc/self/fd") > descriptors ||
        rank_entries("/proc/self/task") > threads)
        rank_fail("%d descriptors instead of %d, %d threads instead of %d",
                  rank_entries("/proc/self/fd"), descriptors,
                  rank_entries("/proc/self/task"), threads);
    rank_require(rcx_finalize(&contexts[(times + 1) % 2]), "rcx_finalize");
    return end_ranks(rank);
}

/* ---- Threads ------------------------------------------------------------- */

static void *join_by_name(void *arg)
{
    char name[16];
    rcx_params_t params = {.field_mask = RCX_PARAM_NAME, .name = name};
    rcx_context_t *context;

    snprintf(name, sizeof name, "t%d", (int)(intptr_t)arg);
    rank_require(rcx_init(&params, &context), "rcx_init");
    check_sum(context);
    rank_require(rcx_finalize(&context), "rcx_finalize");
    return NULL;
}

/* Ranks create their contexts in different orders. */
static int run_threads(int n)
{
    pthread_t threads[MOST];
    const char *rank = getenv("RCX_RANK");

    for (int i = 0; i < n; i++)
        if (pthread_create(
                &threads[i], NULL, join_by_name,
                (void *)(intptr_t)(rank && *rank == '0' ? i : n - 1 - i)))
            rank_fail("no thread");
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

/* ---- Ends ---------------------------------------------------------------- */

static int run_wait(void)
{
    rank_require(rank_open(NULL), "rcx_init");
    check_sum(me.context);
    if (me.rank == 1) {
        printf("ready\n");
        fflush(stdout);
        rank_sleep_ms(60000);
    }
    return rcx_finalize(&me.context) == RCX_OK ? 0 : 3;
}

static int run_abort(void)
{
    rank_require(rank_open(NULL), "rcx_init");
    check_sum(me.context);
    if (me.rank == 1)
        rcx_abort(me.context, 9, "as the test wants it");
    for (;;) {
        const int64_t mine = 1;
        int64_t sum;

        if (rcx_allreduce(&mine, &sum, 1, RCX_INT64, RCX_SUM, me.world) !=
            RCX_OK)
            return 3;
    }
}

/* A port below those that Linux gives to sockets without one: the other tests
 * that run now do not get it between this call and its use. */
static int print_port(void)
{
    enum { FIRST = 10000, LAST = 32000 };
    struct sockaddr_in name = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    int port = FIRST + getpid() % (LAST - FIRST);

    do {
        if (++port > LAST)
            rank_fail("no port");
        name.sin_port = htons((uint16_t)port);
    } while (bind(fd, (struct sockaddr *)&name, sizeof name) != 0);
    printf("%d\n", port);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const int n = argc > 2 ? atoi(argv[2]) : 1;

    if (strcmp(what, "sum") == 0)
        return run_sum(n);
    if (strcmp(what, "users") == 0)
        return run_users();
    if (strcmp(what, "pipe") == 0 && n >= 1 && n <= MOST)
        return run_pipe(n, argc > 3 ? argv[3] : NULL);
    if (strcmp(what, "again") == 0 && argc > 3 && n >= 1 && n <= MOST)
        return run_again(n, atoi(argv[3]));
    if (strcmp(what, "threads") == 0 && n >= 1 && n <= MOST)
        return run_threads(n);
    if (strcmp(what, "wait") == 0)
        return run_wait();
    if (strcmp(what, "abort") == 0)
        return run_abort();
    if (strcmp(what, "port") == 0)
        return print_port();
    fprintf(stderr, "usage: see tests/job/id_main.c\n");
    return 2;
}
