/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recover_main WHAT [COUNT [SEED]]
 *
 * A rank of a job that goes on after failures. Exits with 0, and prints
 * nothing, on success; a rank that is excluded exits with 3.
 *
 *   agree   COUNT agreements of all ranks, of which each gives other flags
 *   loop    COUNT times revoke, shrink and free, which must leave nothing
 *           behind
 *   deaths  COUNT ranks die, one after another or at once, at random moments of
 *           collectives, agreements and shrinks; the others go on
 *   stop    rank COUNT stops, is excluded, continues, and learns of it
 *   world   rank COUNT dies and the world is shrunk, without a deadline
 *   leave   rank 1 dies; of the others, the second finalizes while a reduction
 *           of these waits for the first, and the root must get the result
 *   late    rank 1 stops in an agreement and resumes when rank 0 has died and
 *           the others have left; each prints what it decides
 *   half    ranks 0 and 1 of 4 die at once, and the others go on
 *   exact   rank 1 dies in an exact sum; the others get an error, and go on
 *           with right sums. COUNT is 1 to 4: it dies where it has the plan of
 *           that stage (with RCX_LOG=debug); or 5 and more: after COUNT - 5
 *           polls
 *   float   rank 1 dies in a sum in float, after COUNT polls; the others go on
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rank.h"

/* GROWTH_KIB: what UCX's pools may take until the load is steady. Over
 * thousands of recoveries a communicator that stays would take more. */
enum { EXCLUDED = 3, RANKS = 64, GROWTH_KIB = 16 << 10 };
#define LIMIT_NS (20 * SECOND_NS)

static int64_t pids[RANKS];
static uint64_t random_state;

/* ---- What every step checks ---------------------------------------------- */

/* Sum of the context ranks of comm's members, which have each 1 << rank. */
static uint64_t members_of(rcx_comm_t *comm)
{
    const uint64_t mine = UINT64_C(1) << me.rank;
    uint64_t all = 0;

    rank_require(rcx_allreduce(&mine, &all, 1, RCX_UINT64, RCX_BOR, comm),
                 "rcx_allreduce");
    return all;
}

static void check_agree(rcx_comm_t *comm, int round)
{
    const int size = rcx_comm_size(comm), rank = rcx_comm_rank(comm);
    uint64_t flags = ~(UINT64_C(1) << (rank + round) % 64),
             expected = ~UINT64_C(0);
    const int *failed;
    int n;

    for (int i = 0; i < size; i++)
        expected &= ~(UINT64_C(1) << (i + round) % 64);
    rank_require(rcx_comm_agree(comm, &flags, LIMIT_NS), "rcx_comm_agree");
    rank_require(rcx_comm_failed(comm, &n, &failed), "rcx_comm_failed");
    if (flags != expected || n != 0)
        rank_fail("agreed on %llx instead of %llx, and on %d failed ranks",
                  (unsigned long long)flags, (unsigned long long)expected, n);
}

static void run_agree(int count)
{
    for (int i = 0; i < count; i++)
        check_agree(me.world, i);
}

/* ---- Loop ---------------------------------------------------------------- */

struct usage {
    int fds, threads;
    long kib;
};

static struct usage usage_now(void)
{
    return (struct usage){
        rank_entries("/proc/self/fd"), rank_entries("/proc/self/task"),
        rank_pages().resident * (sysconf(_SC_PAGESIZE) / 1024)};
}

/* Everyone has a message in flight that nobody receives, so there is something
 * to drop. */
static void recover_once(rcx_comm_t **comm, int round)
{
    static char payload[100000];
    const int size = rcx_comm_size(*comm), rank = rcx_comm_rank(*comm);
    rcx_request_t *request = NULL;
    rcx_comm_t *next;

    rcx_isend(payload, round % 3 ? 8 : sizeof payload, RCX_BYTE,
              (rank + 1) % size, 5, *comm, &request); /* it may have failed */
    if (rank == round % size)
        rank_require(rcx_comm_revoke(*comm), "rcx_comm_revoke");
    if (request) {
        rcx_wait(request);
        rank_require(rcx_request_free(&request), "rcx_request_free");
    }
    while (rcx_barrier(*comm) == RCX_OK)
        continue;
    rank_require(rcx_comm_shrink(*comm, LIMIT_NS, &next), "rcx_comm_shrink");
    rank_require(rcx_comm_free(comm), "rcx_comm_free");
    *comm = next;
}

static void run_loop(int count)
{
    const int warm_up = count / 4;
    struct usage before = {0}, after;
    rcx_comm_t *comm;

    rank_require(rcx_comm_dup(me.world, &comm), "rcx_comm_dup");
    for (int i = 0; i < count; i++) {
        if (i == warm_up)
            before = usage_now();
        recover_once(&comm, i);
    }
    after = usage_now();
    if (members_of(comm) != (UINT64_C(1) << me.size) - 1)
        rank_fail("the last communicator has other members");
    rank_require(rcx_comm_free(&comm), "rcx_comm_free");
    if (after.fds > before.fds || after.threads > before.threads ||
        after.kib > before.kib + GROWTH_KIB)
        rank_fail("%d recoveries: descriptors %d to %d, threads %d to %d, "
                  "memory %ld to %ld KiB",
                  count, before.fds, after.fds, before.threads, after.threads,
                  before.kib, after.kib);
}

/* ---- Deaths -------------------------------------------------------------- */

static void *die_soon(void *arg)
{
    usleep((useconds_t)(uintptr_t)arg);
    kill(getpid(), SIGKILL);
    return NULL;
}

/* The same order of deaths on all ranks. Returns after how many of them this
 * rank dies. */
static int place_in_order(void)
{
    int order[RANKS];

    for (int i = 0; i < me.size; i++) {
        const int k = (int)(rank_random(&random_state) % (uint64_t)(i + 1));

        order[i] = order[k];
        order[k] = i;
    }
    for (int i = 0; i < me.size; i++)
        if (order[i] == me.rank)
            return i;
    return -1;
}

/* Make a communicator of all members while they sum. */
static rcx_status_t sum_and_create(rcx_comm_t *comm, int i)
{
    static int64_t in[2000] = {1}, out[2000];
    static int ranks[RANKS];
    const int size = rcx_comm_size(comm);
    rcx_request_t *request;
    rcx_comm_t *made;
    rcx_status_t status, sum;

    for (int k = 0; k < size; k++)
        ranks[k] = k;
    status = i % 2 ? rcx_comm_idup(comm, &made, &request)
                   : rcx_comm_icreate_group(comm, size, ranks, i / 2 % 2, &made,
                                            &request);
    if (status != RCX_OK)
        return status;
    sum = rcx_allreduce(in, out, i % 3 ? 2000 : 1, RCX_INT64, RCX_SUM, comm);
    status = rcx_wait(request);
    if ((status == RCX_OK) != (made != NULL))
        rank_fail("a creation ended with %s, and %s communicator",
                  rcx_status_string(status), made ? "a" : "no");
    rank_require(rcx_request_free(&request), "rcx_request_free");
    rank_require(rcx_comm_free(&made), "rcx_comm_free");
    if (sum == RCX_OK && out[0] != size)
        rank_fail("a wrong sum: %ld", (long)out[0]);
    return sum == RCX_OK ? status : sum;
}

static void collectives_until_failure(rcx_comm_t *comm)
{
    for (int i = 0; sum_and_create(comm, i) == RCX_OK; i++)
        ;
}

/* All members of the new communicator have the same members and have agreed on
 * the same failed ranks. */
static bool check_same(rcx_comm_t *old, rcx_comm_t *new)
{
    uint64_t mine[3] = {0}, all[3];
    const int *failed;
    int n;

    rank_require(rcx_comm_failed(old, &n, &failed), "rcx_comm_failed");
    for (int i = 0; i < n; i++)
        mine[0] |= UINT64_C(1) << failed[i];
    mine[1] = ~mine[0];
    mine[2] = UINT64_C(1) << rcx_comm_rank(old);
    if (rcx_allreduce(mine, all, 3, RCX_UINT64, RCX_BOR, new) != RCX_OK)
        return false;
    if (all[0] != mine[0] || all[1] != mine[1] || (all[2] & all[0]) != 0 ||
        n + rcx_comm_size(new) != rcx_comm_size(old))
        rank_fail("members have agreed on different failed ranks");
    return true;
}

static void free_unless_world(rcx_comm_t *comm)
{
    if (comm != me.world)
        rank_require(rcx_comm_free(&comm), "rcx_comm_free");
}

/* One or two ranks die in each round. They begin with the world: a rank may die
 * before others have ended a call that makes a communicator. */
static void run_deaths(int count)
{
    const int place = place_in_order();
    rcx_comm_t *comm = me.world, *next;

    for (int first = 0, n = 0; rcx_comm_size(comm) > me.size - count;
         first += n) {
        const uint64_t delay = rank_random(&random_state) % 3000;
        pthread_t killer;
        bool is_same;

        n = 1 + (int)(rank_random(&random_state) % 2);
        if (place >= first && place < first + n && place < count &&
            pthread_create(&killer, NULL, die_soon,
                           (void *)(uintptr_t)(delay + (uint64_t)me.rank * 7)))
            rank_fail("no thread");
        do {
            collectives_until_failure(comm);
            rank_require(rcx_comm_shrink(comm, LIMIT_NS, &next),
                         "rcx_comm_shrink");
            is_same = check_same(comm, next);
            free_unless_world(comm);
            comm = next;
        } while (!is_same);
    }
    free_unless_world(comm);
}

/* ---- Stop ---------------------------------------------------------------- */

static void share_pids(void)
{
    const int64_t pid = getpid();

    rank_require(rcx_allgather(&pid, pids, 1, RCX_INT64, me.world),
                 "rcx_allgather");
}

static void run_stop(int victim)
{
    rcx_comm_t *comm, *next;
    rcx_status_t status;

    share_pids();
    rank_require(rcx_comm_dup(me.world, &comm), "rcx_comm_dup");
    if (me.rank == victim)
        raise(SIGSTOP);
    status = rcx_comm_shrink(comm, 2 * SECOND_NS, &next);
    if (me.rank == victim) {
        if (status != RCX_ERR_EXCLUDED)
            rank_fail("the stopped rank got %s", rcx_status_string(status));
        rank_require(rcx_comm_free(&comm), "rcx_comm_free");
        rank_require(rcx_finalize(&me.context), "rcx_finalize");
        exit(EXCLUDED);
    }
    rank_require(status, "rcx_comm_shrink");
    if (!check_same(comm, next) || rcx_comm_size(next) != me.size - 1)
        rank_fail("%d ranks go on", rcx_comm_size(next));
    for (int i = 0; i < 3; i++) { /* the victim will ask for an old one */
        uint64_t flags = 1;

        rank_require(rcx_comm_agree(comm, &flags, 2 * SECOND_NS),
                     "rcx_comm_agree");
    }
    if (rcx_comm_rank(next) == 0)
        kill((pid_t)pids[victim], SIGCONT);
    sleep(1);
    rank_require(rcx_barrier(next), "rcx_barrier");
    rank_require(rcx_comm_free(&comm), "rcx_comm_free");
    rank_require(rcx_comm_free(&next), "rcx_comm_free");
}

static void run_world(int victim)
{
    rcx_comm_t *next;

    rank_barrier_left_last(me.world, victim);
    if (me.rank == victim)
        kill(getpid(), SIGKILL);
    rank_require(rcx_comm_shrink(me.world, 0, &next), "rcx_comm_shrink");
    if (!check_same(me.world, next))
        rank_fail("a second rank has failed");
    if (members_of(next) !=
        ((UINT64_C(1) << me.size) - 1 - (UINT64_C(1) << victim)))
        rank_fail("other members than those that live");
    rank_require(rcx_comm_free(&next), "rcx_comm_free");
}

/* ---- Leave --------------------------------------------------------------- */

static void run_leave(void)
{
    const int64_t mine = INT64_C(1) << me.rank;
    int64_t begin, all = 0;
    rcx_comm_t *next;

    rank_barrier_left_last(me.world, 1);
    if (me.rank == 1)
        kill(getpid(), SIGKILL);
    rank_require(rcx_comm_shrink(me.world, LIMIT_NS, &next), "rcx_comm_shrink");
    members_of(next); /* all have it */
    begin = rank_now_ns();
    while (rcx_comm_rank(next) == 0 && rank_now_ns() < begin + SECOND_NS / 4)
        rcx_progress(me.context);
    rank_require(rcx_reduce(&mine, &all, 1, RCX_INT64, RCX_SUM,
                            rcx_comm_size(next) - 1, next),
                 "rcx_reduce");
    if (rcx_comm_rank(next) == rcx_comm_size(next) - 1 &&
        all != (1 << me.size) - 1 - 2)
        rank_fail("the sum is %ld", (long)all);
    rank_require(rcx_comm_free(&next), "rcx_comm_free");
}

/* ---- A late member, and two deaths at once ------------------------------- */

static void run_late(int helper)
{
    const int soon_us = 20000;
    uint64_t flags = 0xff & ~(UINT64_C(1) << me.rank);
    const int *failed;
    rcx_status_t status;
    int n;

    rank_require(rcx_barrier(me.world), "rcx_barrier");
    if (me.rank != 1)
        rank_sleep_ms(60);
    else if (write(helper, &soon_us, sizeof soon_us) != sizeof soon_us)
        rank_fail("no helper");
    status = rcx_comm_agree(me.world, &flags, 12 * SECOND_NS / 5);
    if (status == RCX_ERR_EXCLUDED) /* it was stopped, or got no core */
        return;
    rank_require(status, "rcx_comm_agree");
    rank_require(rcx_comm_failed(me.world, &n, &failed), "rcx_comm_failed");
    printf("decided %llx, %d failed, first %d\n", (unsigned long long)flags, n,
           n > 0 ? failed[0] : -1);
    fflush(stdout);
    if (me.rank == 0)
        kill(getpid(), SIGKILL);
}

static void run_half(void)
{
    rcx_comm_t *next;

    rank_sleep_ms(200); /* all are in no call */
    if (me.rank < 2)
        kill(getpid(), SIGKILL);
    rank_require(rcx_comm_shrink(me.world, LIMIT_NS, &next), "rcx_comm_shrink");
    if (members_of(next) & 3) /* UCX may abort the other one */
        rank_fail("a dead member");
    rank_require(rcx_comm_free(&next), "rcx_comm_free");
}

/* ---- Exact sums ---------------------------------------------------------- */

/* Two chunks of two stages, if sums have stages. */
enum { STAGES = 4, EXACT_COUNT = (1 << 15) + 600, EXACT_VICTIM = 1 };

static double term(int rank, size_t i)
{
    return rank == 0   ? 1e25
           : rank == 2 ? -1e25
                       : (double)(i % 1000) + 0.25 * rank;
}

/* Sum over all members of comm, which are those of the world that live. */
static rcx_status_t sum_exactly(rcx_comm_t *comm, size_t count)
{
    static double in[EXACT_COUNT], out[EXACT_COUNT];
    const bool is_world = rcx_comm_size(comm) == me.size;
    rcx_status_t status;

    for (size_t i = 0; i < count; i++)
        in[i] = term(me.rank, i);
    status = rcx_allreduce(in, out, count, RCX_FLOAT64, RCX_SUM_EXACT, comm);
    for (size_t i = 0; i < count && status == RCX_OK; i++) {
        rcx_exact64_t sum;
        double x;

        rcx_exact64_zero(&sum);
        for (int rank = 0; rank < me.size; rank++) {
            x = term(rank, i);
            if (is_world || rank != EXACT_VICTIM)
                rcx_exact64_add(&sum, &x, 1);
        }
        x = rcx_exact64_round(&sum);
        if (memcmp(&x, &out[i], sizeof x) != 0)
            rank_fail("element %zu is %a instead of %a", i, out[i], x);
    }
    return status;
}

static int stage_to_die_in, plans_of_stages;

/* RCX tells the plan of a stage when the one before is complete. */
static void die_in_stage(const char *text)
{
    if (strstr(text, " of an exact sum: ") &&
        ++plans_of_stages == stage_to_die_in)
        kill(getpid(), SIGKILL);
}

static void die_in_sum(rcx_comm_t *comm, int polls)
{
    static double in[EXACT_COUNT], out[EXACT_COUNT];
    rcx_request_t *request;
    int is_over;

    for (size_t i = 0; i < EXACT_COUNT; i++)
        in[i] = term(me.rank, i);
    me.on_line = die_in_stage;
    rank_require(rcx_iallreduce(in, out, EXACT_COUNT, RCX_FLOAT64,
                                RCX_SUM_EXACT, comm, &request),
                 "rcx_iallreduce");
    for (int i = 0; i != polls; i++)
        if (rcx_test(request, &is_over) != RCX_OK || is_over)
            break;
    if (polls < 0)
        rank_fail("there was no stage %d", stage_to_die_in);
    kill(getpid(), SIGKILL);
}

static void run_exact(int count)
{
    const bool in_stage = count <= STAGES;
    rcx_comm_t *comm, *next;
    rcx_status_t status;
    int calls = 0;

    rank_require(sum_exactly(me.world, 5), "an exact sum");
    rank_require(rcx_comm_dup(me.world, &comm), "rcx_comm_dup");
    stage_to_die_in = in_stage ? count : 0;
    if (me.rank == EXACT_VICTIM)
        die_in_sum(comm, in_stage ? -1 : count - STAGES - 1);
    do
        status = sum_exactly(comm, EXACT_COUNT);
    while (status == RCX_OK && ++calls < 2);
    if (status != RCX_ERR_PEER_FAILED && status != RCX_ERR_COMM_FAILED)
        rank_fail("a sum with a dead rank: %s", rcx_status_string(status));
    if (in_stage && calls > 0)
        rank_fail("a sum was complete without all of its operands");
    rank_require(rcx_comm_shrink(comm, LIMIT_NS, &next), "rcx_comm_shrink");
    if (!check_same(comm, next))
        rank_fail("a second rank has failed");
    rank_require(sum_exactly(next, EXACT_COUNT), "an exact sum later");
    rank_require(sum_exactly(next, 3), "a short exact sum later");
    rank_require(rcx_comm_free(&comm), "rcx_comm_free");
    rank_require(rcx_comm_free(&next), "rcx_comm_free");
}

/* ---- Sums in float ------------------------------------------------------- */

/* Each rank gives the bfloat16 of 2^rank: sums are exact. */
static rcx_status_t sum_in_float(rcx_comm_t *comm, unsigned members)
{
    static uint16_t in[EXACT_COUNT], out[EXACT_COUNT];
    const float sum = (float)members;
    rcx_status_t status;
    uint32_t bits;

    memcpy(&bits, &sum, sizeof bits);
    for (size_t i = 0; i < EXACT_COUNT; i++)
        in[i] = (uint16_t)((127 + me.rank) << 7);
    status =
        rcx_allreduce(in, out, EXACT_COUNT, RCX_BFLOAT16, RCX_SUM_FLOAT, comm);
    for (size_t i = 0; i < EXACT_COUNT && status == RCX_OK; i++)
        if (out[i] != bits >> 16)
            rank_fail("element %zu is %#x instead of %#x", i, out[i],
                      (unsigned)(bits >> 16));
    return status;
}

/* The victim dies after so many polls of its call. */
static void run_float(int polls)
{
    static uint16_t halves[EXACT_COUNT];
    const unsigned all = (1u << me.size) - 1;
    rcx_comm_t *comm, *next;
    rcx_request_t *request;
    rcx_status_t status;
    int is_over;

    rank_require(sum_in_float(me.world, all), "a sum in float");
    rank_require(rcx_comm_dup(me.world, &comm), "rcx_comm_dup");
    if (me.rank == EXACT_VICTIM) {
        for (size_t i = 0; i < EXACT_COUNT; i++)
            halves[i] = (uint16_t)((127 + me.rank) << 7);
        rank_require(rcx_iallreduce(RCX_IN_PLACE, halves, EXACT_COUNT,
                                    RCX_BFLOAT16, RCX_SUM_FLOAT, comm,
                                    &request),
                     "rcx_iallreduce");
        for (int i = 0; i < polls; i++)
            (void)rcx_test(request, &is_over);
        kill(getpid(), SIGKILL);
    }
    do
        status = sum_in_float(comm, all);
    while (status == RCX_OK);
    if (status != RCX_ERR_PEER_FAILED && status != RCX_ERR_COMM_FAILED)
        rank_fail("a sum with a dead rank: %s", rcx_status_string(status));
    rank_require(rcx_comm_shrink(comm, LIMIT_NS, &next), "rcx_comm_shrink");
    rank_require(sum_in_float(next, all - (1u << EXACT_VICTIM)),
                 "a sum in float later");
    rank_require(rcx_comm_free(&comm), "rcx_comm_free");
    rank_require(rcx_comm_free(&next), "rcx_comm_free");
}

int main(int argc, char **argv)
{
    const int count = argc > 2 ? atoi(argv[2]) : 1;
    int helper = -1;

    if (argc < 2)
        return 2;
    if (strcmp(argv[1], "late") == 0)
        helper = rank_fork_stopper(1800);
    random_state =
        argc > 3 ? (uint64_t)atoll(argv[3]) * 7919 + 88172645463325252 : 1;
    rank_require(rank_open(NULL), "rcx_init");
    if (strcmp(argv[1], "agree") == 0)
        run_agree(count);
    else if (strcmp(argv[1], "loop") == 0)
        run_loop(count);
    else if (strcmp(argv[1], "deaths") == 0)
        run_deaths(count);
    else if (strcmp(argv[1], "stop") == 0)
        run_stop(count);
    else if (strcmp(argv[1], "leave") == 0)
        run_leave();
    else if (strcmp(argv[1], "late") == 0)
        run_late(helper);
    else if (strcmp(argv[1], "half") == 0)
        run_half();
    else if (strcmp(argv[1], "exact") == 0)
        run_exact(count);
    else if (strcmp(argv[1], "float") == 0)
        run_float(count);
    else
        run_world(count);
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
    return 0;
}
