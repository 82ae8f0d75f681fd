/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peer_failed_main HOW VICTIM
 *
 * A rank of a job whose lowest other rank than VICTIM tells RCX that VICTIM has
 * ended, as a launcher would know. RCX looks for no death by itself
 * (RCX_ERR_MODE=none), and there is no deadline, so that nothing else can end a
 * wait. Exits with 0 and prints nothing on success; a rank that is excluded
 * exits with 3.
 *
 *   kill    VICTIM kills itself
 *   thread  the same; another thread tells, while all wait in blocking calls
 *   stop    VICTIM stops itself, and goes on when the others have gone on
 *           without it
 *   leave   the same, when the others have finalized
 *   alive   VICTIM lives, and waits with the others
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rank.h"

enum { EXCLUDED = 3, RANKS = 64, COUNT = 1000 };

static int64_t pids[RANKS];
static int victim, teller;

/* ---- What the launcher does ---------------------------------------------- */

/* The state of a process, as /proc names it; 'X': it is gone. */
static char state_of(int64_t pid)
{
    char path[64], state = 'X';
    FILE *file;

    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    file = fopen(path, "r");
    if (!file)
        return state;
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 'X';
    fclose(file);
    return state == 'Z' ? 'X' : state;
}

static void tell(char when)
{
    while (when && state_of(pids[victim]) != when)
        rank_sleep_ms(1);
    for (int i = 0; i < 2; i++) /* the second time it is known */
        rank_require(rcx_peer_failed(me.context, 1, &victim),
                     "rcx_peer_failed");
}

static void *tell_later(void *arg)
{
    tell(*(const char *)arg);
    return NULL;
}

/* ---- What all do --------------------------------------------------------- */

static uint64_t mask_of(int rank)
{
    return UINT64_C(1) << rank;
}

/* Every member gives its bit. */
static void check_members(rcx_comm_t *comm, uint64_t expected)
{
    const uint64_t mine = mask_of(me.rank);
    uint64_t all = 0;

    rank_require(rcx_allreduce(&mine, &all, 1, RCX_UINT64, RCX_BOR, comm),
                 "rcx_allreduce");
    if (all != expected)
        rank_fail("the members are %llx instead of %llx",
                  (unsigned long long)all, (unsigned long long)expected);
}

static void check_error(rcx_comm_t *comm)
{
    rcx_error_info_t info;

    rank_require(rcx_comm_error(comm, &info), "rcx_comm_error");
    if (info.status != RCX_ERR_PEER_FAILED || info.rank_count != 1 ||
        info.ranks[0] != victim)
        rank_fail("%s names %d ranks: %s", rcx_status_string(info.status),
                  info.rank_count, info.text);
}

static rcx_comm_t *without_victim(void)
{
    int ranks[RANKS], n = 0;
    rcx_comm_t *rest = NULL;

    for (int i = 0; i < me.size; i++)
        if (i != victim)
            ranks[n++] = i;
    if (me.rank != victim)
        rank_require(rcx_comm_create_group(me.world, n, ranks, 0, &rest),
                     "rcx_comm_create_group");
    return rest;
}

/* An operation has been started with this status. comm may have failed before:
 * by what the teller told, or by a connection that broke. */
static bool is_started(rcx_status_t status, const char *what)
{
    if (status != RCX_ERR_COMM_FAILED)
        rank_require(status, what);
    return status == RCX_OK;
}

static void await_failure(rcx_request_t *request)
{
    rank_expect(rcx_wait(request), RCX_ERR_PEER_FAILED, "rcx_wait");
    rank_require(rcx_request_free(&request), "rcx_request_free");
}

/* An allreduce of comm, for which the victim is missing, and a message of the
 * victim are in flight when the teller tells. */
static void wait_for_victim(rcx_comm_t *comm, const char *when)
{
    static double in[COUNT], out[COUNT], got[COUNT];
    rcx_request_t *sum, *message;
    const bool waits_for_sum = is_started(
        rcx_iallreduce(in, out, COUNT, RCX_DOUBLE, RCX_SUM, comm, &sum),
        "rcx_iallreduce");
    const bool waits_for_message = is_started(
        rcx_irecv(got, COUNT, RCX_DOUBLE, victim, 0, me.world, &message),
        "rcx_irecv");

    if (me.rank == teller)
        tell(*when);
    if (waits_for_sum)
        await_failure(sum);
    if (waits_for_message)
        await_failure(message);
}

/* The same in a blocking call, while another thread tells. */
static void wait_blocking(rcx_comm_t *comm, const char *when)
{
    static double in[COUNT], out[COUNT];
    rcx_status_t status;
    pthread_t thread;

    if (me.rank == teller &&
        pthread_create(&thread, NULL, tell_later, (void *)when) != 0)
        rank_fail("no thread");
    status = rcx_allreduce(in, out, COUNT, RCX_DOUBLE, RCX_SUM, comm);
    if (status != RCX_ERR_PEER_FAILED && status != RCX_ERR_COMM_FAILED)
        rank_fail("a blocking call: %s", rcx_status_string(status));
    if (me.rank == teller)
        pthread_join(thread, NULL);
}

static void check_failed(rcx_comm_t *comm)
{
    const int *failed;
    int n;

    rank_require(rcx_comm_failed(comm, &n, &failed), "rcx_comm_failed");
    if (n != 1 || failed[0] != victim)
        rank_fail("%d members have failed by agreement", n);
}

static rcx_comm_t *go_on(rcx_comm_t *comm)
{
    const uint64_t all = mask_of(me.size) - 1;
    uint64_t flags = ~mask_of(me.rank);
    rcx_comm_t *next;

    check_error(comm);
    check_error(me.world);
    rank_require(rcx_comm_agree(me.world, &flags, 0), "rcx_comm_agree");
    if (flags != ~(all & ~mask_of(victim)))
        rank_fail("agreed on %llx", (unsigned long long)flags);
    rank_require(rcx_comm_shrink(comm, 0, &next), "rcx_comm_shrink");
    check_failed(comm);
    check_failed(me.world);
    check_members(next, all & ~mask_of(victim));
    return next;
}

/* ---- The victim ---------------------------------------------------------- */

/* The others go on without this rank. */
_Noreturn static void be_excluded(rcx_comm_t *comm)
{
    rcx_comm_t *next;

    check_error(comm);
    rank_expect(rcx_comm_shrink(comm, 0, &next), RCX_ERR_EXCLUDED,
                "rcx_comm_shrink of the victim");
    if (rcx_status_is_fatal(RCX_ERR_EXCLUDED) != 1)
        rank_fail("RCX_ERR_EXCLUDED is not fatal");
    rank_require(rcx_comm_free(&comm), "rcx_comm_free");
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
    exit(EXCLUDED);
}

_Noreturn static void be_victim(const char *how, rcx_comm_t *comm)
{
    double got[1];
    rcx_status_t status;

    if (strcmp(how, "kill") == 0 || strcmp(how, "thread") == 0)
        raise(SIGKILL);
    if (strcmp(how, "alive") != 0)
        raise(SIGSTOP);
    status = rcx_recv(got, 1, RCX_DOUBLE, teller, 0, comm, NULL);
    if (status != RCX_ERR_PEER_FAILED && status != RCX_ERR_COMM_FAILED)
        rank_fail("a receive of the victim: %s", rcx_status_string(status));
    if (rcx_status_is_fatal(status) != 1)
        rank_fail("%s is not fatal", rcx_status_string(status));
    be_excluded(comm);
}

/* ---- Errors -------------------------------------------------------------- */

/* None is told: afterwards all works. */
static void check_refusals(void)
{
    const int too_low[] = {victim, -1}, too_high[] = {victim, me.size};
    const int own[] = {victim == me.rank ? teller : victim, me.rank};

    rank_expect(rcx_peer_failed(me.context, -1, own), RCX_ERR_ARG, "n = -1");
    rank_expect(rcx_peer_failed(me.context, 1, NULL), RCX_ERR_ARG, "no ranks");
    rank_expect(rcx_peer_failed(me.context, 2, too_low), RCX_ERR_ARG, "-1");
    rank_expect(rcx_peer_failed(me.context, 2, too_high), RCX_ERR_ARG, "size");
    rank_expect(rcx_peer_failed(me.context, 2, own), RCX_ERR_ARG, "own rank");
    rank_require(rcx_peer_failed(me.context, 0, NULL), "none");
    check_members(me.world, mask_of(me.size) - 1);
}

static void run(const char *how)
{
    static const char ended = 'X', stopped = 'T', any = '\0';
    const bool stops = strcmp(how, "stop") == 0,
               leaves = strcmp(how, "leave") == 0;
    const char *when = stops || leaves             ? &stopped
                       : strcmp(how, "alive") == 0 ? &any
                                                   : &ended;
    const bool blocks = strcmp(how, "thread") == 0;
    rcx_comm_t *comm, *rest, *next;

    check_refusals();
    rank_require(rcx_comm_dup(me.world, &comm), "rcx_comm_dup");
    rest = without_victim();
    rank_require(rcx_barrier(me.world), "rcx_barrier");
    rank_leave_last(me.world, pids[teller]);
    rank_leave_last(me.world, pids[victim]);
    if (me.rank == victim)
        be_victim(how, comm);
    (blocks ? wait_blocking : wait_for_victim)(comm, when);
    check_members(rest, (mask_of(me.size) - 1) & ~mask_of(victim));
    next = go_on(comm);
    if (stops && me.rank == teller)
        kill((pid_t)pids[victim], SIGCONT);
    rank_require(rcx_comm_free(&comm), "rcx_comm_free");
    rank_require(rcx_comm_free(&rest), "rcx_comm_free");
    rank_require(rcx_barrier(next), "rcx_barrier");
    rank_require(rcx_comm_free(&next), "rcx_comm_free");
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
    if (leaves && me.rank == teller)
        kill((pid_t)pids[victim], SIGCONT);
}

int main(int argc, char **argv)
{
    static const rcx_setting_t settings[] = {
        {"RCX_ERR_MODE", "none", RCX_SETTING_FINAL}};
    const rcx_params_t params = {.field_mask =
                                     RCX_PARAM_SETTINGS | RCX_PARAM_THREADS,
                                 .threads = RCX_THREAD_SERIALIZED,
                                 .settings = settings,
                                 .setting_count = 1};
    int64_t pid = getpid();

    if (argc != 3)
        return 2;
    victim = atoi(argv[2]);
    teller = victim == 0;
    rank_require(rank_open(&params), "rcx_init");
    rank_require(rcx_allgather(&pid, pids, 1, RCX_INT64, me.world),
                 "rcx_allgather");
    run(argv[1]);
    return 0;
}
