/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * storm_main SEED FAULT VICTIM STEP MICROSECONDS [FAULT VICTIM MICROSECONDS]
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
 * With a second fault (or none) the ranks go on after failures: they shrink the
 * communicator and repeat the calls that not all have made. The second fault
 * happens MICROSECONDS after its victim has begun its first shrink. A fault may
 * then be "leave": the victim finalizes after its next agreement. Each rank
 * prints a line for each agreement: its rank, "decided", the number, the flags,
 * and the failed ranks of the world.
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

enum { RANKS = 16, TRIES = 8 };

static struct {
    uint64_t seed;
    const char *fault;
    int victim, step, us;
    int helper; /* of rank_fork_stopper() */
    bool goes_on;
    const char *second_fault;
    int second_victim, second_us;
} arg;

static rcx_comm_t *comms[COMMS];
static int world_ranks[RANKS]; /* of comms[0], in recovery */
static int64_t in[8 * MOST], out[8 * MOST];

/* ---- Faults -------------------------------------------------------------- */

static bool is_fault(const char *name)
{
    return strcmp(arg.fault, name) == 0;
}

static void *strike(void *unused)
{
    const int at_once = 0;

    usleep((useconds_t)arg.us);
    if (is_fault("kill"))
        kill(getpid(), SIGKILL);
    if (is_fault("exit"))
        _exit(0);
    if (is_fault("abort"))
        abort();
    if (is_fault("stop") &&
        write(arg.helper, &at_once, sizeof at_once) != sizeof at_once)
        rank_fail("no helper");
    return unused;
}

/* Without memory UCX 1.13 may abort or retry forever; the alarm() ends such a
 * rank. */
static void starve(void)
{
    struct rlimit limit = {.rlim_cur = 0};

    if (is_fault("memory")) {
        alarm(ALARM_SECONDS);
        limit.rlim_cur =
            (rlim_t)(rank_pages().size * getpagesize()) + (rlim_t)arg.us * 64;
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
    return rank_random(&arg.seed) >> 11;
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
    if (arg.goes_on)
        return world_ranks[rank];
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

/* ---- Recovery ------------------------------------------------------------ */

#define RECOVERY_NS (8 * SECOND_NS)
#define DONE (UINT64_C(1) << 63)

/* RCX_TIMEOUT is longer: it also bounds rcx_init(), where processes start. */
static void set_deadline(rcx_comm_t *comm)
{
    rank_require(rcx_comm_set_timeout(comm, SECOND_NS), "rcx_comm_set_timeout");
}

static void inject_second_fault(void)
{
    const bool is_first = arg.second_fault != NULL;

    if (!is_first || me.rank != arg.second_victim)
        return;
    arg.fault = arg.second_fault;
    arg.victim = me.rank;
    arg.us = arg.second_us;
    arg.step = STEPS + 1;
    arg.second_fault = NULL;
    inject_fault(me.rank, STEPS + 1);
}

static void print_decision(int number, uint64_t flags, int n, const int *failed)
{
    char names[128] = "-";

    for (int i = 0, at = 0; i < n; i++)
        at += snprintf(names + at, sizeof names - (size_t)at, "%s%d",
                       i > 0 ? "," : "", world_ranks[failed[i]]);
    printf("\n%d decided %d %llx %s\n", me.rank, number,
           (unsigned long long)flags, names);
    fflush(stdout);
}

static void drop_failed(int n, const int *failed)
{
    int kept = 0;

    for (int i = 0, f = 0; i < RANKS; i++) {
        if (f < n && failed[f] == i)
            f++;
        else
            world_ranks[kept++] = world_ranks[i];
    }
}

static bool leaves(void)
{
    return is_fault("leave") && me.rank == arg.victim;
}

/* All tell each other whether they are done. Unless all are, and all live,
 * comms[0] becomes a communicator of those that live. */
static rcx_status_t meet(int number, bool is_done, bool *all_done_p)
{
    uint64_t flags = ~(UINT64_C(1) << me.rank | (is_done ? 0 : DONE));
    const int *failed;
    rcx_comm_t *next;
    rcx_status_t status;
    int n;

    inject_second_fault();
    status = rcx_comm_agree(comms[0], &flags, RECOVERY_NS);
    if (status != RCX_OK)
        return status;
    rank_require(rcx_comm_failed(comms[0], &n, &failed), "rcx_comm_failed");
    print_decision(2 * number, flags, n, failed);
    *all_done_p = (n == 0 && (flags & DONE)) || leaves();
    if (*all_done_p)
        return RCX_OK;
    status = rcx_comm_shrink(comms[0], RECOVERY_NS, &next);
    if (status != RCX_OK)
        return status;
    rank_require(rcx_comm_failed(comms[0], &n, &failed), "rcx_comm_failed");
    print_decision(2 * number + 1, 0, n, failed);
    drop_failed(n, failed);
    if (comms[0] != me.world)
        rank_require(rcx_comm_free(&comms[0]), "rcx_comm_free");
    set_deadline(next);
    comms[0] = next;
    return RCX_OK;
}

static rcx_status_t call_at(int step)
{
    struct call c = {.comm = comms[0],
                     .n = counts[(unsigned)step % 4],
                     .rank = rcx_comm_rank(comms[0]),
                     .size = rcx_comm_size(comms[0])};

    for (int i = 0; i < c.n * c.size; i++)
        in[i] = value(c.rank, i);
    return calls[step % (int)(sizeof calls / sizeof *calls)](&c);
}

/* Members may have stopped at different steps. */
static rcx_status_t agree_on_step(int *step)
{
    int least;
    const rcx_status_t status =
        rcx_allreduce(step, &least, 1, RCX_INT, RCX_MIN, comms[0]);

    if (status == RCX_OK)
        *step = least;
    return status;
}

static rcx_status_t make_calls(int *step)
{
    rcx_status_t status = RCX_OK;

    while (status == RCX_OK && *step < STEPS) {
        inject_fault(me.rank, *step);
        status = call_at(*step);
        *step += status == RCX_OK;
    }
    return status;
}

/* All calls are made, each at least once by all members that live. */
static rcx_status_t work_and_go_on(void)
{
    rcx_status_t status = RCX_OK;
    bool all_done = false;
    int step = 0;

    for (int i = 0; i < RANKS; i++)
        world_ranks[i] = i;
    inject_fault(me.rank, -1);
    comms[0] = me.world;
    set_deadline(comms[0]);
    for (int number = 0; status == RCX_OK && !all_done; number++) {
        if (number == TRIES)
            rank_fail("recovered %d times", number);
        if (make_calls(&step) != RCX_OK)
            rcx_comm_revoke(comms[0]);
        status = meet(number, step == STEPS, &all_done);
        if (status == RCX_OK && !all_done && agree_on_step(&step) != RCX_OK)
            rcx_comm_revoke(comms[0]);
    }
    return status;
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
    int which = 0;

    if (argc != 6 && argc != 9)
        return 2;
    arg.seed = strtoull(argv[1], NULL, 10) * 2654435761u + 1;
    arg.fault = argv[2];
    arg.victim = atoi(argv[3]);
    arg.step = atoi(argv[4]);
    arg.us = atoi(argv[5]);
    me.rank = launched_rank();
    arg.goes_on = argc == 9;
    arg.second_fault = arg.goes_on ? argv[6] : NULL;
    arg.second_victim = arg.goes_on ? atoi(argv[7]) : -1;
    arg.second_us = arg.goes_on ? atoi(argv[8]) : 0;
    if ((is_fault("stop") && me.rank == arg.victim) ||
        (arg.goes_on && strcmp(arg.second_fault, "stop") == 0 &&
         me.rank == arg.second_victim))
        arg.helper = rank_fork_stopper(STOP_MS);
    rank_watch_machine();
    inject_fault(me.rank, BEFORE_INIT);
    status = rank_open(NULL);
    if (status != RCX_OK) {
        print_result(status, 0, NULL);
        return 0;
    }
    status = arg.goes_on ? work_and_go_on() : work(&which);
    if (status != RCX_OK)
        print_result(status, which, comms[which]);
    inject_fault(me.rank, STEPS);
    for (int i = 0; i < COMMS; i++)
        if (comms[i] && comms[i] != me.world)
            rcx_comm_free(&comms[i]);
    rcx_finalize(&me.context); /* may return the error as well */
    if (status == RCX_OK)
        print_result(RCX_OK, 0, NULL);
    return 0;
}
