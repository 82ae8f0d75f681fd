/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mismatch_main differ | every | leave | agree | reuse
 *
 * One rank of a job in which the calls of rank ODD do not match those of the
 * other ranks (need 4, RCX_CHECK=cheap). Exits with 0, and prints nothing, on
 * success.
 *
 *   differ   every way in which calls may differ, in several sizes, each over a
 *            communicator of its own without a deadline: all ranks get an error
 *            soon, and no rank gets a result
 *   every    every collective, in every way in which its calls may differ, in
 *            one size
 *   leave    as differ, with RCX_CHECK=off: the deadline finds the mismatch
 *   agree    many calls that match, some of them late: no error
 *   reuse    two communicators have the same id, and one of them fails
 */
#include <stdio.h>
#include <string.h>

#include "rank.h"
#include "attempt.h"

enum { ODD = 1 /* the rank that differs */, MOST_RANKS = 8 };
#define SOON_NS (2 * SECOND_NS)
#define DEADLINE_NS (300 * MS_NS)

static const size_t counts[] = {1, 500, 20000,
                                300000}; /* elements of 8 bytes */
enum { COUNTS = sizeof counts / sizeof *counts };

enum way { COUNT, TYPE, OP, ROOT, COLLECTIVE, WAIT, SKIP, EXTRA, WAYS };

static const char *const names[WAYS] = {
    "another count", "another type",       "another op",
    "another root",  "another collective", "another root, so that all wait",
    "a call less",   "a call more"};

static const struct kind sum = {.type = RCX_INT64, .op = RCX_SUM};
static const struct kind unsigned_sum = {.type = RCX_UINT64, .op = RCX_SUM};
static const struct kind maximum = {.type = RCX_INT64, .op = RCX_MAX};

/* Whether some rank may only send in a call of coll, and return early. */
static bool is_one_way(enum collective coll)
{
    return collective_is_rooted(coll) || collectives[coll].is_prefix;
}

/* Whether calls of coll can differ in this way. Local counts are not
 * compared. */
static bool has_way(enum collective coll, enum way way)
{
    const struct collective_row *row = &collectives[coll];

    switch (way) {
    case COUNT: return row->gives != EXTENT_NONE && !row->is_local;
    case TYPE: return row->gives != EXTENT_NONE;
    case OP: return row->reduces;
    case ROOT: return collective_is_rooted(coll);
    case COLLECTIVE: return true;
    case WAIT: return coll == BCAST;
    default: return !is_one_way(coll); /* a rank may have returned early */
    }
}

/* Return the collective that rank ODD calls instead. A mismatch is not found if
 * the destination of a message has already returned. So ODD must send to a rank
 * that is still in this call, or wait for it. */
static enum collective other_than(enum collective coll)
{
    if (coll == REDUCE)
        return GATHER;
    return is_one_way(coll) || strcmp(collectives[coll].variable,
                                      collectives[ALLREDUCE].variable) == 0
               ? REDUCE
               : ALLREDUCE;
}

/* No block is empty, so every rank has a message in which a mismatch shows. */
static size_t blocks[2][MOST_RANKS];

static struct call usual(enum collective coll, size_t count)
{
    const size_t block = count / (size_t)me.size + 1;

    for (int i = 0; i < me.size; i++)
        blocks[0][i] = blocks[1][i] = block;
    blocks[1][ODD]++;
    return (struct call){.coll = coll,
                         .kind = &sum,
                         .count =
                             collective_has_equal_blocks(coll) ? block : count,
                         .blocks = blocks[0],
                         .seed = 4};
}

/* Return the call that rank ODD makes instead of usual(). */
static struct call odd(enum collective coll, enum way way, size_t count)
{
    struct call call =
        usual(way == COLLECTIVE ? other_than(coll) : coll, count);

    if (way == COUNT) {
        call.count++;
        call.blocks = blocks[1];
    } else if (way == TYPE)
        call.kind = &unsigned_sum;
    else if (way == OP)
        call.kind = &maximum;
    else if (way == ROOT || way == WAIT)
        call.root = 2;
    return call;
}

/* Whether this rank makes an additional call before. In that call it only
 * sends, so it may return from it at once. */
static bool has_first(enum way way, size_t count, struct call *first)
{
    const bool odd_alone = way == EXTRA;

    *first = usual(REDUCE, count);
    first->kind = &maximum; /* differs from usual() even if coll is REDUCE */
    first->root = odd_alone ? 0 : ODD;
    return (way == SKIP || odd_alone) && (me.rank == ODD) == odd_alone;
}

/* Whether the result of this rank depends on rank ODD; on rank ODD: whether it
 * depends on any other rank. */
static bool is_concerned(const struct attempt *a)
{
    for (int k = 0; k < view_parts(&a->view, a->call.coll); k++) {
        const struct part part = view_part(&a->view, a->call.coll, k);
        const bool own = part.lo == me.rank && part.hi == me.rank + 1;

        if (part.count > 0 &&
            (me.rank == ODD ? !own : part.lo <= ODD && ODD < part.hi))
            return true;
    }
    return false;
}

/* Buffers are not freed: after an error RCX may use them until
 * rcx_finalize(). */
static rcx_status_t make(const struct call *call, rcx_comm_t *comm,
                         const char *what)
{
    struct attempt a;
    rcx_status_t status;

    attempt_open(&a, call, comm);
    status = attempt_call(&a, comm);
    if (status != RCX_OK)
        return status;
    if (is_concerned(&a))
        rank_fail("%s: a result of calls that do not match: %s", what,
                  attempt_check(&a) ? a.problem : "a right one");
    if (attempt_check(&a))
        rank_fail("%s: %s", what, a.problem);
    return status;
}

/* A rank that only sends completes this call, and gets the error in a later
 * one. */
static rcx_status_t call_on(const struct call *call, rcx_comm_t *comm,
                            const char *what)
{
    rcx_status_t status;

    do
        status = make(call, comm, what);
    while (status == RCX_OK);
    return status;
}

static void check_error(rcx_comm_t *comm, rcx_status_t status,
                        rcx_status_t expected, const char *what)
{
    rcx_error_info_t info;

    if (status != RCX_ERR_COMM_FAILED)
        rank_expect(status, expected, what);
    rank_require(rcx_comm_error(comm, &info), "rcx_comm_error");
    rank_expect(info.status, expected, info.text);
}

static void differ(enum collective coll, enum way way, size_t count,
                   rcx_status_t expected)
{
    struct call mine =
        me.rank == ODD ? odd(coll, way, count) : usual(coll, count);
    const int64_t start_ns = rank_time_here();
    rcx_status_t status = RCX_OK;
    struct call first;
    rcx_comm_t *copy;
    char what[64];

    if (way == WAIT && me.rank != ODD)
        mine.root = ODD;
    snprintf(what, sizeof what, "%s of %zu elements, %s",
             collectives[coll].name, count, names[way]);
    rank_require(rcx_comm_dup(me.world, &copy), "rcx_comm_dup");
    if (expected == RCX_ERR_TIMEOUT)
        rank_require(rcx_comm_set_timeout(copy, DEADLINE_NS),
                     "rcx_comm_set_timeout");
    if (has_first(way, count, &first))
        status = make(&first, copy, what);
    if (status == RCX_OK)
        status = call_on(&mine, copy, what);
    if (rank_time_here() - start_ns > rank_limit_ns(SOON_NS))
        rank_fail("%s: found after %.3f s", what,
                  (double)(rank_time_here() - start_ns) / 1e9);
    check_error(copy, status, expected, what);
    rank_require(rcx_comm_free(&copy), "rcx_comm_free");
}

/* Use reduce or bcast for the ways that need a root, else allreduce. */
static void differ_usually(enum way way, size_t count, rcx_status_t expected)
{
    differ(way == ROOT   ? REDUCE
           : way == WAIT ? BCAST
                         : ALLREDUCE,
           way, count, expected);
}

/* One-way calls are short: a rank that only sends returns from many of them
 * before it waits, and the mismatch must be found even then. */
static size_t pick_count(enum collective coll, enum way way)
{
    return counts[is_one_way(coll) ? 1 : ((int)coll + (int)way) % COUNTS];
}

static void differ_in_every(void)
{
    for (int c = 0; c < COLLECTIVES; c++)
        for (int w = 0; w < WAYS; w++) {
            const enum collective coll = (enum collective)c;
            const enum way way = (enum way)w;

            if (has_way(coll, way))
                differ(coll, way, pick_count(coll, way), RCX_ERR_MISMATCH);
        }
}

/* ---- Calls that match ---------------------------------------------------- */

enum { CALLS = 1000, LATE_EVERY = 61, LONGEST_MS = 300, COMMS = 4 };

/* Make four communicators: the world, a copy of it, its even and odd ranks, and
 * all ranks but the first. */
static void make_comms(rcx_comm_t *comms[])
{
    comms[0] = me.world;
    rank_require(rcx_comm_dup(me.world, &comms[1]), "rcx_comm_dup");
    rank_require(rcx_comm_split(me.world, me.rank % 2, 0, &comms[2]),
                 "rcx_comm_split");
    rank_require(rcx_comm_split(me.world, me.rank ? 0 : RCX_UNDEFINED, -me.rank,
                                &comms[3]),
                 "rcx_comm_split");
}

/* Now and then one rank, each in turn, is so late that the others send
 * straggler queries. */
static void be_late(uint64_t k)
{
    if (k % LATE_EVERY == 7 && (int)(k / LATE_EVERY) % me.size == me.rank)
        rank_sleep_ms((int)(serial_mix(k, 1, 1) % LONGEST_MS));
}

static void agree(void)
{
    static const struct kind kinds[] = {{.type = RCX_INT32, .op = RCX_SUM},
                                        {.type = RCX_UINT64, .op = RCX_MAX},
                                        {.type = RCX_FLOAT64, .op = RCX_SUM},
                                        {.type = RCX_FLOAT32, .op = RCX_MIN}};
    static const size_t most[] = {8, 300, 5000, 40000};
    rcx_comm_t *comms[COMMS];

    make_comms(comms);
    for (uint64_t k = 0; k < CALLS; k++) {
        rcx_comm_t *comm = comms[serial_mix(k, 2, 0) % COMMS];
        const uint64_t random = serial_mix(k, 3, 0);
        char problem[256];
        struct call call;

        be_late(k);
        if (!comm)
            continue;
        call = call_mixed(&kinds[random % 4], random % most[k % 4],
                          rcx_comm_size(comm), k);
        if (call_run(&call, comm, problem) != RCX_OK)
            rank_fail("call %d: %s (%s)", (int)k, problem, me.error);
    }
    for (int i = 1; i < COMMS; i++)
        if (comms[i])
            rank_require(rcx_comm_free(&comms[i]), "rcx_comm_free");
    if (me.errors != 0)
        rank_fail("%s", me.error);
}

/* ---- Communicator ids that are used again -------------------------------- */

static rcx_comm_t *pair(int a, int b)
{
    const int members[] = {a, b};
    rcx_comm_t *comm = NULL;

    if (me.rank == a || me.rank == b)
        rank_require(rcx_comm_create_group(me.world, 2, members, 0, &comm),
                     "rcx_comm_create_group");
    return comm;
}

static void add_up(rcx_comm_t *comm)
{
    int64_t word = 1;

    rank_require(
        rcx_allreduce(RCX_IN_PLACE, &word, 1, RCX_INT64, RCX_SUM, comm),
        "rcx_allreduce");
    if (word != rcx_comm_size(comm))
        rank_fail("a wrong sum: %d", (int)word);
}

/* Rank 1 has freed the older communicator, and the newer one has the same
 * id. Rank 1 must ignore the report of the older one's failure, which rank 0
 * sends. */
static void reuse(void)
{
    rcx_comm_t *older = pair(0, 1), *newer;

    if (me.rank == 1)
        rank_require(rcx_comm_free(&older), "rcx_comm_free");
    newer = pair(1, 2);
    add_up(me.world);
    if (me.rank == 0)
        rank_require(rcx_comm_abort(older), "rcx_comm_abort");
    add_up(me.world);
    if (newer) {
        add_up(newer);
        rank_require(rcx_comm_free(&newer), "rcx_comm_free");
    }
    if (older)
        rank_require(rcx_comm_free(&older), "rcx_comm_free");
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    rank_watch_machine();
    rank_require(rank_open(NULL), "rcx_init");
    if (strcmp(what, "differ") == 0)
        for (int i = 0; i < COUNTS; i++)
            for (int way = 0; way < WAYS; way++)
                differ_usually((enum way)way, counts[i], RCX_ERR_MISMATCH);
    else if (strcmp(what, "every") == 0)
        differ_in_every();
    else if (strcmp(what, "leave") == 0)
        for (int way = 0; way < WAYS; way++)
            differ_usually((enum way)way, counts[way % COUNTS],
                           RCX_ERR_TIMEOUT);
    else if (strcmp(what, "agree") == 0)
        agree();
    else if (strcmp(what, "reuse") == 0)
        reuse();
    else
        return 2;
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
    return 0;
}
