/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p_main HOW
 *
 * One rank of a job that sends messages between real processes. Exits with 0,
 * and prints nothing, if all results are as expected. Rank VICTIM fails in the
 * cases from kill on: the other ranks must get an error in time that names it,
 * and finalize without an error.
 *
 *   ring   all lengths around a ring; one rank sends to itself
 *   any    rank 0 answers requests from any source, until each rank sends 0
 *   long   a message longer than its receive is an error of that receive only
 *   leave  rank 1 finalizes without receiving a message of rank 0, and prints
 *          the warning
 *   swap   all lengths around a ring, by sends and receives at once
 *   probe  rank 0 probes for messages of all lengths, and receives each
 *   cancel receives are cancelled before and while their messages arrive
 *   mix    messages between all ranks on three communicators at once, with
 *          collectives
 *   kill   VICTIM is killed while ranks wait for its messages; the limit is the
 *          deadline plus 1 s
 *   stop   as kill, but VICTIM is stopped
 *   late   as kill, but VICTIM is outside of RCX
 *   dead   as kill, without a deadline: RCX_ERR_MODE=peer
 *   cold   as dead, but no rank has a connection to VICTIM, or can make one
 *   first  VICTIM is killed before any rank has sent it a message: the first
 *          sender gets an error, and all ranks finalize undisturbed
 *   abort  VICTIM aborts the communicator
 */
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attempt.h"
#include "rank.h"

enum { VICTIM = 2, LONGEST = 4 << 20, ROUNDS = 250, ANY = RCX_ANY_SOURCE };
#define DEADLINE_NS rank_limit_ns(SECOND_NS)

static unsigned char out[LONGEST], in[LONGEST + 1];

static void fill(unsigned char *bytes, size_t n, int from, int number)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)(from * 31 + number * 7 + (int)(i % 251));
}

static void check(const unsigned char *bytes, size_t n, int from, int number)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] !=
            (unsigned char)(from * 31 + number * 7 + (int)(i % 251)))
            rank_fail("message %d of rank %d, %zu bytes: byte %zu is wrong",
                      number, from, n, i);
}

static void finish(rcx_request_t **request)
{
    rank_require(rcx_wait(*request), "rcx_wait");
    rank_require(rcx_request_free(request), "rcx_request_free");
}

/* ---- ring ---------------------------------------------------------------- */

static void pass_on(size_t bytes, int number)
{
    const int right = (me.rank + 1) % me.size;
    const int left = (me.rank + me.size - 1) % me.size;
    rcx_recv_info_t info = {.source = -1};
    rcx_request_t *request;

    fill(out, bytes, me.rank, number);
    memset(in, 0, bytes + 1);
    rank_require(
        rcx_isend(out, bytes, RCX_BYTE, right, number, me.world, &request),
        "rcx_isend");
    rank_require(rcx_recv(in, bytes + 1, RCX_BYTE, number % 2 ? left : ANY,
                          number, me.world, &info),
                 "rcx_recv");
    if (info.source != left || info.tag != number || info.count != bytes)
        rank_fail("%zu bytes of rank %d, tag %d", info.count, info.source,
                  info.tag);
    check(in, bytes, left, number);
    if (in[bytes] != 0)
        rank_fail("the byte behind %zu is written", bytes);
    finish(&request);
}

static void go_round(void)
{
    for (int number = 0; number < 40; number++)
        pass_on(number < 16 ? (size_t)number
                            : ((size_t)LONGEST >> (number % 20)) - number % 3,
                number);
    pass_on(LONGEST, 40);
}

/* ---- any ----------------------------------------------------------------- */

enum { ASK, ANSWER, JOBS = 500 };

/* Answer each number with its square; 0 is the last request of a rank. */
static void serve(void)
{
    int64_t asked = 0, answer, sum = 0;
    rcx_recv_info_t info;

    for (int left = me.size - 1; left > 0;) {
        rank_require(rcx_recv(&asked, 1, RCX_INT64, ANY, ASK, me.world, &info),
                     "ASK");
        left -= asked == 0;
        sum += asked;
        answer = asked * asked;
        if (asked > 0)
            rank_require(
                rcx_send(&answer, 1, RCX_INT64, info.source, ANSWER, me.world),
                "ANSWER");
    }
    if (sum != (int64_t)(me.size - 1) * JOBS * (JOBS + 1) / 2)
        rank_fail("all that was asked is %lld", (long long)sum);
}

static void ask(void)
{
    for (int64_t i = JOBS; i >= 0; i--) {
        int64_t answer = 0;

        rank_require(rcx_send(&i, 1, RCX_INT64, 0, ASK, me.world), "ASK");
        if (i > 0)
            rank_require(
                rcx_recv(&answer, 1, RCX_INT64, 0, ANSWER, me.world, NULL),
                "ANSWER");
        if (answer != i * i)
            rank_fail("%lld is no answer to %lld", (long long)answer,
                      (long long)i);
    }
}

/* ---- long ---------------------------------------------------------------- */

static void be_too_long(size_t bytes)
{
    const int right = (me.rank + 1) % me.size;
    rcx_request_t *sends[2], *recvs[2];
    rcx_recv_info_t info;
    unsigned char end = 9, got = 0;
    int64_t sum = 1;

    rank_require(rcx_irecv(in, 5, RCX_BYTE, ANY, 1, me.world, &recvs[0]),
                 "rcx_irecv");
    rank_require(rcx_irecv(&got, 1, RCX_BYTE, ANY, 1, me.world, &recvs[1]),
                 "rcx_irecv");
    rank_require(rcx_isend(out, bytes, RCX_BYTE, right, 1, me.world, &sends[0]),
                 "rcx_isend");
    rank_require(rcx_isend(&end, 1, RCX_BYTE, right, 1, me.world, &sends[1]),
                 "rcx_isend");
    rank_expect(rcx_wait(recvs[0]), RCX_ERR_TRUNCATED, "what is too long");
    rank_require(rcx_request_recv_info(recvs[0], &info), "its info");
    if (info.count != bytes || info.source != (me.rank + me.size - 1) % me.size)
        rank_fail("%zu bytes of rank %d", info.count, info.source);
    rank_require(rcx_request_free(&recvs[0]), "rcx_request_free");
    finish(&recvs[1]);
    finish(&sends[0]);
    finish(&sends[1]);
    if (got != end)
        rank_fail("what comes next is %d", got);
    rank_require(
        rcx_allreduce(RCX_IN_PLACE, &sum, 1, RCX_INT64, RCX_SUM, me.world),
        "a collective afterwards");
    if (sum != me.size)
        rank_fail("the sum is %lld", (long long)sum);
}

/* ---- swap ---------------------------------------------------------------- */

static size_t length_at(int number)
{
    return number < 16
               ? (size_t)number
               : ((size_t)LONGEST >> (number % 20)) - (size_t)number % 3;
}

static void swap(void)
{
    const int right = (me.rank + 1) % me.size;
    const int left = (me.rank + me.size - 1) % me.size;
    rcx_recv_info_t info;

    for (int number = 0; number < 40; number++) {
        const size_t bytes = length_at(number);

        fill(out, bytes, me.rank, number);
        memset(in, 0, bytes + 1);
        rank_require(rcx_sendrecv(out, bytes, RCX_BYTE, right, number, in,
                                  bytes + 1, RCX_BYTE, number % 2 ? left : ANY,
                                  number, me.world, &info),
                     "rcx_sendrecv");
        if (info.source != left || info.count != bytes || in[bytes] != 0)
            rank_fail("%zu bytes of rank %d", info.count, info.source);
        check(in, bytes, left, number);
    }
}

/* ---- probe --------------------------------------------------------------- */

/* Receive what a probe has found. Returns its tag. */
static int take_probed(int source, int tag)
{
    rcx_recv_info_t info, got;
    int flag = 0;

    while (!flag)
        rank_require(rcx_iprobe(source, tag, me.world, &flag, &info),
                     "rcx_iprobe");
    memset(in, 0, info.count + 1);
    rank_require(rcx_recv(in, info.count, RCX_BYTE, info.source, info.tag,
                          me.world, &got),
                 "rcx_recv");
    if (got.source != info.source || got.count != info.count)
        rank_fail("probed %zu bytes of rank %d, received %zu of rank %d",
                  info.count, info.source, got.count, got.source);
    if (info.count != length_at(info.tag))
        rank_fail("message %d has %zu bytes", info.tag, info.count);
    check(in, info.count, info.source, info.tag);
    return info.tag;
}

static void probe_all(void)
{
    for (int number = 0; number < 40 && me.rank == 0; number++)
        for (int i = 1; i < me.size; i++)
            take_probed(number % 2 ? i : ANY, number);
    for (int number = 0; number < 40 && me.rank > 0; number++) {
        fill(out, length_at(number), me.rank, number);
        rank_require(
            rcx_send(out, length_at(number), RCX_BYTE, 0, number, me.world),
            "rcx_send");
    }
}

/* ---- cancel -------------------------------------------------------------- */

enum { CANCELS = 200 };

/* The left rank sends one message. It is in the first receive, or that was
 * cancelled, and then in the second. */
static void cancel_once(int number)
{
    const int right = (me.rank + 1) % me.size;
    const int left = (me.rank + me.size - 1) % me.size;
    const size_t bytes = number % 5 == 0 ? 300000 : (size_t)(number * 13);
    rcx_request_t *recv, *send;
    rcx_status_t status;

    fill(out, bytes, me.rank, number);
    memset(in, 0, bytes + 1);
    rank_require(rcx_irecv(in, bytes + 1, RCX_BYTE, number % 2 ? left : ANY, 1,
                           me.world, &recv),
                 "rcx_irecv");
    if (number % 3 == 0)
        rank_require(rcx_cancel(recv), "rcx_cancel");
    rank_require(rcx_isend(out, bytes, RCX_BYTE, right, 1, me.world, &send),
                 "rcx_isend");
    for (int i = 0; i < number % 7; i++)
        rcx_progress(me.context);
    rank_require(rcx_cancel(recv), "rcx_cancel");
    status = rcx_wait(recv);
    rank_require(rcx_request_free(&recv), "rcx_request_free");
    if (status != RCX_OK) {
        rank_expect(status, RCX_ERR_CANCELED, "a cancelled receive");
        if (bytes > 0 && in[0] + in[bytes - 1] != 0)
            rank_fail("a cancelled receive has data");
        rank_require(rcx_recv(in, bytes, RCX_BYTE, left, 1, me.world, NULL),
                     "rcx_recv");
    }
    check(in, bytes, left, number);
    finish(&send);
    rank_require(rcx_barrier(me.world), "rcx_barrier");
}

/* ---- mix ----------------------------------------------------------------- */

enum { COMMS = 3 };

static uint64_t draws;

static int draw(int n)
{
    draws = draws * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (int)(draws >> 33) % n;
}

/* Messages to and from all ranks of a communicator, with two tags. */
struct exchange {
    rcx_comm_t *comm;
    int rank, size, round;
    rcx_request_t *sends[16][2], *recvs[16][2];
    unsigned char out[16][2][300], in[16][2][300];
};

static size_t length_of(int round, int from, int to, int tag)
{
    return (size_t)((round * 37 + from * 11 + to * 5 + tag) % 300);
}

static void begin_exchange(struct exchange *t, int round)
{
    t->round = round;
    for (int k = 0; k < 2 * t->size; k++) {
        const int peer = k / 2, tag = k % 2;
        const size_t bytes = length_of(round, t->rank, peer, tag);

        fill(t->out[peer][tag], bytes, t->rank, round + tag);
        rank_require(rcx_isend(t->out[peer][tag], bytes, RCX_BYTE, peer, tag,
                               t->comm, &t->sends[peer][tag]),
                     "rcx_isend");
        if (draw(3) == 0)
            rcx_progress(me.context);
        rank_require(rcx_irecv(t->in[peer][tag], 300, RCX_BYTE, peer, tag,
                               t->comm, &t->recvs[peer][tag]),
                     "rcx_irecv");
    }
}

static void end_exchange(struct exchange *t)
{
    for (int k = 2 * t->size - 1; k >= 0; k--) {
        const int peer = k / 2, tag = k % 2;
        const size_t bytes = length_of(t->round, peer, t->rank, tag);
        rcx_recv_info_t info;

        rank_require(rcx_wait(t->recvs[peer][tag]), "a receive");
        rank_require(rcx_request_recv_info(t->recvs[peer][tag], &info), "info");
        if (info.source != peer || info.tag != tag || info.count != bytes)
            rank_fail("round %d: %zu bytes of rank %d, tag %d", t->round,
                      info.count, info.source, info.tag);
        check(t->in[peer][tag], bytes, peer, t->round + tag);
        finish(&t->recvs[peer][tag]);
        finish(&t->sends[peer][tag]);
    }
}

static void call_something(rcx_comm_t *comm, int k)
{
    static const size_t counts[] = {1, 0, 7, 1000, 20000};
    const struct call call =
        call_mixed(&sums, counts[k % 5], rcx_comm_size(comm), (uint64_t)k);
    char problem[256];

    rank_require(call_run(&call, comm, problem), "a collective");
}

static void mix(void)
{
    static struct exchange exchanges[COMMS];

    draws = (uint64_t)me.rank + 1;
    exchanges[0].comm = me.world;
    rank_require(rcx_comm_dup(me.world, &exchanges[1].comm), "dup");
    rank_require(
        rcx_comm_split(me.world, me.rank % 2, -me.rank, &exchanges[2].comm),
        "split");
    for (int c = 0; c < COMMS; c++) {
        exchanges[c].rank = rcx_comm_rank(exchanges[c].comm);
        exchanges[c].size = rcx_comm_size(exchanges[c].comm);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int c = 0; c < COMMS; c++)
            begin_exchange(&exchanges[c], round);
        if (draw(20) == 0)
            rank_sleep_ms(1);
        for (int c = 0; c < COMMS; c++)
            call_something(exchanges[c].comm, round + c);
        for (int c = 0; c < COMMS; c++)
            end_exchange(&exchanges[(c + round) % COMMS]);
    }
    for (int c = 1; c < COMMS; c++)
        rank_require(rcx_comm_free(&exchanges[c].comm), "rcx_comm_free");
}

/* ---- Failures ------------------------------------------------------------ */

static int64_t pids[64];

static rcx_status_t wait_for_victim(int is_cold)
{
    rcx_request_t *request;
    rcx_status_t status;
    int64_t word;

    if (me.rank == 0)
        return rcx_recv(&word, 1, RCX_INT64, VICTIM, 5, me.world, NULL);
    if (me.rank == 1) {
        rank_require(rcx_irecv(&word, 1, RCX_INT64, ANY, 5, me.world, &request),
                     "rcx_irecv");
        status = rcx_wait(request);
        rank_require(rcx_request_free(&request), "rcx_request_free");
        return status;
    }
    if (is_cold) /* a send would connect */
        return rcx_recv(&word, 1, RCX_INT64, VICTIM, 5, me.world, NULL);
    /* so long that a send needs its receiver */
    return rcx_sendrecv(out, LONGEST, RCX_BYTE, VICTIM, 5, in, LONGEST,
                        RCX_BYTE, VICTIM, 5, me.world, NULL);
}

static int has_no_deadline(const char *how)
{
    return strcmp(how, "dead") == 0 || strcmp(how, "cold") == 0;
}

/* A rank that shares memory with VICTIM finds its death. Over UCX VICTIM cannot
 * be reached. */
static rcx_status_t expected_when_cold(void)
{
    const char *lanes = getenv("RCX_LANES");

    return lanes && strcmp(lanes, "ucp") == 0 ? RCX_ERR_TRANSPORT
                                              : RCX_ERR_PEER_FAILED;
}

static rcx_status_t expected_of(const char *how)
{
    return strcmp(how, "abort") == 0  ? RCX_ERR_COMM_FAILED
           : strcmp(how, "dead") == 0 ? RCX_ERR_PEER_FAILED
           : strcmp(how, "cold") == 0 ? expected_when_cold()
                                      : RCX_ERR_TIMEOUT;
}

static void survive(const char *how)
{
    const int64_t start = rank_time_here();
    const rcx_status_t expected = expected_of(how);
    rcx_error_info_t info;
    int64_t took, word;
    int flag;

    rank_expect(wait_for_victim(strcmp(how, "cold") == 0), expected,
                "a message");
    took = rank_time_here() - start;
    if (took > rank_limit_ns((has_no_deadline(how) ? 10 : 2) * SECOND_NS))
        rank_fail("the error took %.3f s", (double)took / 1e9);
    rank_require(rcx_comm_error(me.world, &info), "rcx_comm_error");
    if (info.status != expected || info.rank_count != 1 ||
        info.ranks[0] != VICTIM)
        rank_fail("%s, blames %d ranks, the first is %d: %s",
                  rcx_status_string(info.status), info.rank_count,
                  info.rank_count ? info.ranks[0] : -1, info.text);
    rank_expect(rcx_recv(&word, 1, RCX_INT64, ANY, 6, me.world, NULL),
                RCX_ERR_COMM_FAILED, "another message");
    rank_expect(rcx_iprobe(ANY, 6, me.world, &flag, NULL), RCX_ERR_COMM_FAILED,
                "a probe");
    if (strcmp(how, "late") == 0)
        rank_signal(pids[VICTIM]);
}

static void be_victim(const char *how)
{
    int64_t word = 0;

    rank_sleep_ms(100); /* by then the other ranks wait */
    if (strcmp(how, "kill") == 0 || has_no_deadline(how))
        raise(SIGKILL);
    if (strcmp(how, "stop") == 0)
        raise(SIGSTOP);
    if (strcmp(how, "late") == 0)
        rank_await_signals(me.size - 1);
    if (strcmp(how, "abort") == 0)
        rank_require(rcx_comm_abort(me.world), "rcx_comm_abort");
    while (rcx_send(&word, 1, RCX_INT64, 0, 5, me.world) == RCX_OK)
        ; /* until VICTIM knows of the failure */
}

static void send_to_dead_rank(void)
{
    const int64_t word = me.rank;
    rcx_request_t *request;
    rcx_status_t status;

    rank_require(rcx_comm_set_timeout(me.world, DEADLINE_NS),
                 "rcx_comm_set_timeout");
    if (me.rank == VICTIM)
        raise(SIGKILL);
    rank_sleep_ms(300);
    status = rcx_isend(&word, 1, RCX_INT64, VICTIM, 5, me.world, &request);
    if (status == RCX_OK) { /* the connection fails later */
        status = rcx_wait(request);
        rank_require(rcx_request_free(&request), "rcx_request_free");
    }
    if (status != RCX_ERR_PEER_FAILED && status != RCX_ERR_TRANSPORT &&
        status != RCX_ERR_COMM_FAILED)
        rank_fail("a message to a dead rank: %s", rcx_status_string(status));
}

/* Connect all pairs in both directions: assertions in UCX 1.13 over TCP fail if
 * a peer is stopped or dies during connection setup. */
static void connect_all(void)
{
    int64_t mine[64] = {0}, theirs[64];

    for (int i = 0; i < 3; i++)
        rank_require(rcx_alltoall(mine, theirs, 1, RCX_INT64, me.world),
                     "rcx_alltoall");
}

static void fail(const char *how)
{
    /* rank 1 receives from any source: its timeout would name no rank */
    if (!has_no_deadline(how) && me.rank != 1)
        rank_require(rcx_comm_set_timeout(me.world, DEADLINE_NS),
                     "rcx_comm_set_timeout");
    pids[me.rank] = getpid();
    if (strcmp(how, "cold") != 0) {
        rank_require(
            rcx_allreduce(RCX_IN_PLACE, pids, 64, RCX_INT64, RCX_SUM, me.world),
            "the sum of process ids");
        connect_all();
        rank_leave_last(me.world, pids[VICTIM]);
    }
    if (me.rank == VICTIM)
        be_victim(how);
    else
        survive(how);
}

/* ---- All cases ----------------------------------------------------------- */

/* Rank 1 finalizes without receiving a message that was sent before the
 * barrier. */
static void leave_unreceived(void)
{
    const int value = 7;

    if (me.rank == 0)
        rank_require(rcx_send(&value, 1, RCX_INT, 1, 40, me.world), "rcx_send");
    rank_require(rcx_barrier(me.world), "rcx_barrier");
}

static void run(const char *how)
{
    static const size_t too_long[] = {6, 500, 9000, 70000, LONGEST};

    if (strcmp(how, "ring") == 0)
        go_round();
    else if (strcmp(how, "any") == 0 && me.rank == 0)
        serve();
    else if (strcmp(how, "any") == 0)
        ask();
    else if (strcmp(how, "long") == 0)
        for (int i = 0; i < 20; i++)
            be_too_long(too_long[i % 5]);
    else if (strcmp(how, "swap") == 0)
        swap();
    else if (strcmp(how, "probe") == 0)
        probe_all();
    else if (strcmp(how, "cancel") == 0)
        for (int i = 0; i < CANCELS; i++)
            cancel_once(i);
    else if (strcmp(how, "mix") == 0)
        mix();
    else if (strcmp(how, "first") == 0)
        send_to_dead_rank();
    else if (strcmp(how, "leave") == 0)
        leave_unreceived();
    else
        fail(how);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    rank_watch_machine();
    rank_require(rank_open(NULL), "rcx_init");
    run(argv[1]);
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
    if (strcmp(argv[1], "leave") == 0 && me.warning[0])
        printf("rank %d: %s\n", me.rank, me.warning);
    if (me.rank == 0 && strcmp(argv[1], "stop") == 0) {
        rank_sleep_ms(1000); /* other ranks' deadlines end a little later */
        kill((pid_t)pids[VICTIM], SIGKILL);
    }
    return 0;
}
