/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * storm_main SEED FAULT VICTIM STEP MICROSECONDS
 *
 * One rank of a job that makes STEPS calls, drawn from SEED, and checks every
 * result. FAULT happens to rank VICTIM, MICROSECONDS after it has reached STEP:
 * before rcx_init (-2), before its first call (-1), in a call, or in
 * rcx_finalize (STEPS).
 *
 *   none, delay           no fault, or a sleep: all calls succeed
 *   kill, exit, abort     the process ends
 *   stop                  it is stopped, longer than any deadline
 *   memory, descriptors   its limit of these is little above its use
 *
 * Prints one line: its rank, the status, the ranks that the error names (of the
 * world), the milliseconds for which the machine gave it no core, and the text.
 * A wrong result is exit status 1.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../rank.h"

enum {
    STEPS = 12,
    COMMS = 3,
    MOST = 30000,
    STOP_MS = 6000,
    ALARM_SECONDS = 15,
    BEFORE_INIT = -2
};

static const int counts[] = {1, 13, 1000, MOST};

static struct {
    uint64_t seed;
    const char *fault;
    int victim, step, us;
    int helper; /* a byte written to it stops this process */
} arg;

static rcx_comm_t *comms[COMMS];
static int64_t in[6 * MOST], out[6 * MOST];

/* ---- Faults -------------------------------------------------------------- */

static bool is_fault(const char *name)
{
    return strcmp(arg.fault, name) == 0;
}

/* A process that is stopped cannot continue itself, so a child does. The child
 * is forked before rcx_init() and holds none of RCX's descriptors. */
static void prepare_stop(void)
{
    const pid_t self = getpid();
    int ends[2];
    char byte;

    if (pipe(ends) != 0)
        rank_fail("no pipe");
    if (fork() == 0) {
        close(ends[1]);
        if (read(ends[0], &byte, 1) == 1) {
            kill(self, SIGSTOP);
            rank_sleep_ms(STOP_MS);
            kill(self, SIGCONT);
        }
        _exit(0);
    }
    close(ends[0]);
    arg.helper = ends[1];
}

static void *strike(void *unused)
{
    usleep((useconds_t)arg.us);
    if (is_fault("kill"))
        kill(getpid(), SIGKILL);
    if (is_fault("exit"))
        _exit(0);
    if (is_fault("abort"))
        abort();
    if (is_fault("stop") && write(arg.helper, "", 1) != 1)
        rank_fail("no helper");
    return unused;
}

static size_t pages(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    size_t n = 0;

    if (!file || fscanf(file, "%zu", &n) != 1)
        rank_fail("/proc/self/statm cannot be read");
    fclose(file);
    return n;
}

/* Without memory UCX 1.13 may abort or retry forever; the alarm() ends such a
 * rank. */
static void starve(void)
{
    struct rlimit limit = {.rlim_cur = 0};

    if (is_fault("memory")) {
        alarm(ALARM_SECONDS);
        limit.rlim_cur = pages() * (size_t)getpagesize() + (rlim_t)arg.us * 64;
        limit.rlim_max = limit.rlim_cur;
        setrlimit(RLIMIT_AS, &limit);
    } else {
        const int next = dup(0);

        close(next);
        limit.rlim_cur = (rlim_t)(next + arg.us % 8);
        limit.rlim_max = limit.rlim_cur;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Start the fault if this rank is the victim and has reached its step. */
static void inject_fault(int rank, int step)
{
    pthread_t thread;

    if (rank != arg.victim || step != arg.step || is_fault("none"))
        return;
    if (is_fault("delay"))
        usleep((useconds_t)arg.us);
    else if (is_fault("memory") || is_fault("descriptors"))
        starve();
    else if (pthread_create(&thread, NULL, strike, NULL) != 0)
        rank_fail("no thread");
    else
        pthread_detach(thread);
}

/* ---- Calls --------------------------------------------------------------- */

static uint64_t draw(void)
{
    arg.seed ^= arg.seed << 13;
    arg.seed ^= arg.seed >> 7;
    arg.seed ^= arg.seed << 17;
    return arg.seed >> 11;
}

/* Return the operand of rank at index i. Its sums over ranks have a closed
 * form. */
static int64_t value(int rank, int i)
{
    return (int64_t)(rank + 1) * (i % 7 + 1);
}

static void expect_value(int64_t got, int64_t wanted, const char *what)
{
    if (got != wanted)
        rank_fail("%s: %ld instead of %ld", what, (long)got, (long)wanted);
}

struct call {
    rcx_comm_t *comm;
    int n, rank, size, root;
};

static rcx_status_t add_up(const struct call *c)
{
    const rcx_status_t status =
        rcx_allreduce(in, out, (size_t)c->n, RCX_INT64, RCX_SUM, c->comm);

    for (int i = 0; status == RCX_OK && i < c->n; i++)
        expect_value(out[i], value(0, i) * c->size * (c->size + 1) / 2,
                     "allreduce");
    return status;
}

static rcx_status_t add_up_twice(const struct call *c)
{
    int64_t *const places[2] = {out, out + c->n};
    rcx_request_t *requests[2] = {NULL};
    rcx_status_t status = RCX_OK;

    for (int i = 0; i < 2 && status == RCX_OK; i++)
        status = rcx_iallreduce(in, places[i], (size_t)c->n, RCX_INT64, RCX_SUM,
                                c->comm, &requests[i]);
    if (status == RCX_OK)
        status = rcx_wait_all(2, requests);
    for (int i = 0; i < 2; i++)
        if (requests[i])
            rcx_request_free(&requests[i]);
    for (int i = 0; status == RCX_OK && i < 2 * c->n; i++)
        expect_value(out[i], value(0, i % c->n) * c->size * (c->size + 1) / 2,
                     "iallreduce");
    return status;
}

static rcx_status_t gather_all(const struct call *c)
{
    const rcx_status_t status =
        rcx_allgather(in, out, (size_t)c->n, RCX_INT64, c->comm);

    for (int i = 0; status == RCX_OK && i < c->n * c->size; i++)
        expect_value(out[i], value(i / c->n, i % c->n), "allgather");
    return status;
}

static rcx_status_t exchange(const struct call *c)
{
    const rcx_status_t status =
        rcx_alltoall(in, out, (size_t)c->n, RCX_INT64, c->comm);

    for (int i = 0; status == RCX_OK && i < c->n * c->size; i++)
        expect_value(out[i], value(i / c->n, c->rank * c->n + i % c->n),
                     "alltoall");
    return status;
}

static rcx_status_t spread(const struct call *c)
{
    rcx_status_t status;

    memcpy(out, in, (size_t)c->n * sizeof *out);
    status = rcx_bcast(out, (size_t)c->n, RCX_INT64, c->root, c->comm);
    for (int i = 0; status == RCX_OK && i < c->n; i++)
        expect_value(out[i], value(c->root, i), "bcast");
    return status;
}

static rcx_status_t add_up_there(const struct call *c)
{
    const rcx_status_t status =
        rcx_reduce(in, out, (size_t)c->n, RCX_INT64, RCX_SUM, c->root, c->comm);

    for (int i = 0; status == RCX_OK && c->rank == c->root && i < c->n; i++)
        expect_value(out[i], value(0, i) * c->size * (c->size + 1) / 2,
                     "reduce");
    return status;
}

static rcx_status_t add_up_so_far(const struct call *c)
{
    const int rank = c->rank;
    const rcx_status_t status =
        rcx_scan(in, out, (size_t)c->n, RCX_INT64, RCX_SUM, c->comm);

    for (int i = 0; status == RCX_OK && i < c->n; i++)
        expect_value(out[i], value(0, i) * (rank + 1) * (rank + 2) / 2, "scan");
    return status;
}

static rcx_status_t synchronize(const struct call *c)
{
    return rcx_barrier(c->comm);
}

/* Send to the next rank of a ring, and receive from the one before. */
static rcx_status_t pass_on(const struct call *c)
{
    const int to = (c->rank + 1) % c->size;
    const int from = (c->rank + c->size - 1) % c->size;
    rcx_request_t *request;
    rcx_status_t status =
        rcx_irecv(out, (size_t)c->n, RCX_INT64, from, 7, c->comm, &request);

    if (status != RCX_OK)
        return status;
    status = rcx_send(in, (size_t)c->n, RCX_INT64, to, 7, c->comm);
    if (status == RCX_OK)
        status = rcx_wait(request);
    rcx_request_free(&request);
    for (int i = 0; status == RCX_OK && i < c->n; i++)
        expect_value(out[i], value(from, i), "receive");
    return status;
}

static rcx_status_t (*const calls[])(const struct call *c) = {
    add_up,       add_up_twice, gather_all,    exchange, spread,
    add_up_there, synchronize,  add_up_so_far, pass_on};

/* ---- The job ------------------------------------------------------------- */

/* Return the rank in the world of a rank of comms[which]. The last communicator
 * has the even or the odd ranks; the others have the ranks of the world. */
static int in_world(int which, int rank)
{
    return which < 2 ? rank : 2 * rank + me.rank % 2;
}

/* The line starts with a newline, as libpmix may print text without one when
 * memory is short. */
static void print_result(rcx_status_t status, int which, rcx_comm_t *comm)
{
    const char *what = rcx_status_string(status);
    char names[128] = "-";
    rcx_error_info_t info = {.rank_count = 0};

    if (comm)
        rank_require(rcx_comm_error(comm, &info), "rcx_comm_error");
    for (int i = 0, at = 0; i < info.rank_count; i++)
        at += snprintf(names + at, sizeof names - (size_t)at, "%s%d",
                       i > 0 ? "," : "", in_world(which, info.ranks[i]));
    printf("\n%d %.*s %s %ld %s\n", me.rank, (int)strcspn(what, ":"), what,
           names, (long)(rank_lost_ns() / MS_NS),
           info.text ? info.text : me.error);
    fflush(stdout);
}

static rcx_status_t make_comms(void)
{
    rcx_status_t status = rcx_comm_dup(me.world, &comms[1]);

    comms[0] = me.world;
    return status == RCX_OK
               ? rcx_comm_split(me.world, me.rank % 2, 0, &comms[2])
               : status;
}

/* Make all calls. *which_p: the communicator of the call that failed. */
static rcx_status_t work(int *which_p)
{
    rcx_status_t status;

    *which_p = 0;
    inject_fault(me.rank, -1);
    status = make_comms();
    for (int step = 0; status == RCX_OK && step < STEPS; step++) {
        const size_t kind = draw() % (sizeof calls / sizeof *calls);
        const int which = (int)(draw() % COMMS);
        const int n = counts[draw() % (sizeof counts / sizeof *counts)];
        const int root = (int)(draw() % 6);
        struct call c = {.comm = comms[which], .n = n};

        c.rank = rcx_comm_rank(c.comm);
        c.size = rcx_comm_size(c.comm);
        c.root = root % c.size;
        for (int i = 0; i < n * c.size; i++)
            in[i] = value(c.rank, i);
        *which_p = which;
        inject_fault(me.rank, step);
        status = calls[kind](&c);
    }
    return status;
}

/* Before rcx_init() only the launcher knows the rank. */
static int launched_rank(void)
{
    const char *text = getenv("PMIX_RANK");

    return text ? atoi(text) : 0;
}

int main(int argc, char **argv)
{
    rcx_status_t status;
    int which;

    if (argc != 6)
        return 2;
    arg.seed = strtoull(argv[1], NULL, 10) * 2654435761u + 1;
    arg.fault = argv[2];
    arg.victim = atoi(argv[3]);
    arg.step = atoi(argv[4]);
    arg.us = atoi(argv[5]);
    me.rank = launched_rank();
    if (is_fault("stop") && me.rank == arg.victim)
        prepare_stop();
    rank_watch_machine();
    inject_fault(me.rank, BEFORE_INIT);
    status = rank_open(NULL);
    if (status != RCX_OK) {
        print_result(status, 0, NULL);
        return 0;
    }
    status = work(&which);
    if (status != RCX_OK)
        print_result(status, which, comms[which]);
    inject_fault(me.rank, STEPS);
    for (int i = 1; i < COMMS; i++)
        if (comms[i])
            rcx_comm_free(&comms[i]);
    rcx_finalize(&me.context); /* may return the error as well */
    if (status == RCX_OK)
        print_result(RCX_OK, 0, NULL);
    return 0;
}
