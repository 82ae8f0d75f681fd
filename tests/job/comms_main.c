/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * comms_main WHAT
 *
 * One rank of a job that makes communicators (need 22). Exits with 0 if all
 * results are correct.
 *
 *   cycles         10,000 communicators, one after another, leak nothing
 *   begun          the same, of which 16 are begun before the first is used
 *   overlap SEED   64 overlapping ones, all in use at once
 *   limit          as many at once as the limit allows, and one more
 *   abort          100 communicators are aborted right after creation
 *   numbers        as abort, with 30; then their ids are not used again
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "members.h"
#include "overlaps.h"
#include "rank.h"

static void check_sum(rcx_comm_t *comm, int64_t seed)
{
    const int64_t size = rcx_comm_size(comm);
    int64_t word = rcx_comm_rank(comm) + seed;

    rank_require(
        rcx_allreduce(RCX_IN_PLACE, &word, 1, RCX_INT64, RCX_SUM, comm),
        "rcx_allreduce");
    if (word != size * (size - 1) / 2 + size * seed)
        rank_fail("a wrong sum: %ld", (long)word);
}

static void free_comm(rcx_comm_t **comm_p)
{
    rank_require(rcx_comm_free(comm_p), "rcx_comm_free");
}

/* ---- One after the other ------------------------------------------------- */

enum { WARM_UP = 1000, CYCLES = 10000, BEGUN = 16 };
#define SPARE_BYTES (1L << 20)

/* Return the private resident bytes. Shared memory is left out: the ring
 * between two ranks fills once, up to its end. */
static long resident_bytes(void)
{
    const struct rank_pages pages = rank_pages();

    return (pages.resident - pages.shared) * sysconf(_SC_PAGESIZE);
}

static void run_cycles(int n)
{
    for (int i = 0; i < n; i++) {
        rcx_comm_t *comm = members_make(me.world, i);

        check_sum(comm, i);
        free_comm(&comm);
    }
}

/* Each rank waits for them in an order of its own, while all use the world. */
static void run_begun(int n)
{
    uint64_t random = (uint64_t)me.rank;
    rcx_comm_t *begun[BEGUN];
    rcx_request_t *requests[BEGUN];
    int order[BEGUN];

    for (int i = 0; i < n; i += BEGUN) {
        for (int k = 0; k < BEGUN; k++)
            members_begin(me.world, i + k, &begun[k], &requests[k]);
        check_sum(me.world, i);
        members_shuffle(&random, order, BEGUN);
        for (int k = 0; k < BEGUN; k++) {
            rank_require(rcx_wait(requests[order[k]]), "rcx_wait");
            rank_require(rcx_request_free(&requests[order[k]]),
                         "rcx_request_free");
        }
        for (int k = 0; k < BEGUN; k++) {
            check_sum(begun[k], k);
            free_comm(&begun[k]);
        }
    }
}

/* run: for a number of communicators. */
static void try_cycles(void (*run)(int n))
{
    long bytes;
    int fds;

    run(WARM_UP);
    bytes = resident_bytes();
    fds = rank_entries("/proc/self/fd");
    run(CYCLES);
    if (resident_bytes() - bytes >= SPARE_BYTES)
        rank_fail("%ld KB became %ld KB", bytes >> 10, resident_bytes() >> 10);
    if (rank_entries("/proc/self/fd") != fds)
        rank_fail("%d descriptors became %d", fds,
                  rank_entries("/proc/self/fd"));
}

/* ---- As many as there can be --------------------------------------------- */

enum { MOST_COMMS = 8188 }; /* the limit that rcx.h documents */

static rcx_comm_t *comms[MOST_COMMS];

static void expect_limit(void)
{
    const int before = me.errors;
    rcx_comm_t *one_more = NULL;

    me.errors = 0; /* me.error keeps the first line after this */
    rank_expect(rcx_comm_dup(me.world, &one_more), RCX_ERR_LIMIT,
                "rcx_comm_dup");
    if (one_more)
        rank_fail("a communicator beyond the limit");
    if (me.errors != 1 || !strstr(me.error, "8188 communicators"))
        rank_fail("%d lines are logged, the first: %s", me.errors, me.error);
    me.errors = before;
}

/* Exactly n communicators can be made. Each is used once, and then every rank
 * gets RCX_ERR_LIMIT. */
static void fill_up(int n)
{
    for (int i = 0; i < n; i++) {
        rank_require(rcx_comm_dup(me.world, &comms[i]), "rcx_comm_dup");
        check_sum(comms[i], i);
    }
    expect_limit();
    expect_limit();
}

/* Free them in an order that differs between ranks. */
static void free_all(int n)
{
    static int order[MOST_COMMS];
    uint64_t random = (uint64_t)me.rank;

    members_shuffle(&random, order, n);
    for (int i = 0; i < n; i++)
        free_comm(&comms[order[i]]);
}

static void try_limit(void)
{
    fill_up(MOST_COMMS);
    for (int i = 0; i < MOST_COMMS; i += MOST_COMMS / 3) {
        free_comm(&comms[i]);
        rank_require(rcx_comm_dup(me.world, &comms[i]), "rcx_comm_dup");
        check_sum(comms[i], i);
        expect_limit();
    }
    check_sum(comms[MOST_COMMS / 2], 7);
    free_all(MOST_COMMS);
    check_sum(me.world, 8);
}

/* ---- Aborted communicators ----------------------------------------------- */

enum { MANY_ABORTED = 100, ABORTED = 30 };

static void await_failure(rcx_comm_t *comm)
{
    rcx_error_info_t info;

    do {
        if (rcx_progress(me.context) < 0)
            rank_fail("rcx_progress: %s", me.error);
        rank_require(rcx_comm_error(comm, &info), "rcx_comm_error");
    } while (info.status == RCX_OK);
    rank_expect(info.status, RCX_ERR_COMM_FAILED, "an aborted communicator");
}

static void expect_failed(rcx_comm_t *comm)
{
    rcx_comm_t *copy = NULL;
    int word = 1;

    rank_expect(rcx_allreduce(RCX_IN_PLACE, &word, 1, RCX_INT, RCX_SUM, comm),
                RCX_ERR_COMM_FAILED, "rcx_allreduce");
    rank_expect(rcx_comm_dup(comm, &copy), RCX_ERR_COMM_FAILED, "rcx_comm_dup");
}

/* Some members may not have made the communicator yet when they receive the
 * report of its failure. */
static void abort_some(int n)
{
    for (int i = 0; i < n; i++) {
        rcx_comm_t *comm = members_make(me.world, i);

        if (me.rank == i % me.size)
            rank_require(rcx_comm_abort(comm), "rcx_comm_abort");
        await_failure(comm);
        expect_failed(comm);
        free_comm(&comm);
        check_sum(me.world, i);
    }
}

static void try_numbers(void)
{
    abort_some(ABORTED);
    fill_up(MOST_COMMS - ABORTED);
    free_all(MOST_COMMS - ABORTED);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    rank_require(rank_open(NULL), "rcx_init");
    if (strcmp(what, "cycles") == 0)
        try_cycles(run_cycles);
    else if (strcmp(what, "begun") == 0)
        try_cycles(run_begun);
    else if (strcmp(what, "overlap") == 0 && argc == 3)
        overlaps_use(me.world, strtoull(argv[2], NULL, 10), 32 << 10);
    else if (strcmp(what, "limit") == 0)
        try_limit();
    else if (strcmp(what, "abort") == 0)
        abort_some(MANY_ABORTED);
    else if (strcmp(what, "numbers") == 0)
        try_numbers();
    else
        return 2;
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
    return 0;
}
