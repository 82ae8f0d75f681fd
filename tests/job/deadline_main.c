/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * deadline_main WHAT
 *
 * One rank of a job in which rank VICTIM calls after the deadline (need 3).
 * Exits with 0, and prints nothing, if the other ranks get the expected errors.
 *
 *   init      the victim calls rcx_init after the deadline
 *   leave     the victim calls rcx_finalize after the deadline
 *   blocking nonblocking tested persistent
 *             every collective in this form, each over a communicator of its
 *             own with its own deadline
 *   settings  which calls rcx_comm_set_timeout() applies to; INT64_MAX
 *   idle      the time before a call does not count against its deadline
 *   long short   RCX_TIMEOUT overrides params.timeout_ns: the deadline is long,
 *             or PARAMS_TIMEOUT_NS
 */
#include <stdlib.h>
#include <string.h>

#include "rank.h"
#include "attempt.h"

enum { VICTIM = 2, COUNT = 3000, A_WHILE_MS = 500 };
/* A rank that finds no core for this long has not entered the call either, and
 * the error names it too. */
#define SHORT_NS rank_limit_ns(500 * MS_NS)

static int64_t in[COUNT], out[COUNT];

static bool is_victim(void)
{
    return me.rank == VICTIM;
}

/* The victim sleeps before it goes on; the other ranks do not. */
static void let_wait(int ms)
{
    if (is_victim())
        rank_sleep_ms(ms);
}

/* The error must come a second after the deadline at the latest, if cores are
 * free. Half of the deadline is the least time, as it counts from the first
 * rank that called. */
static void check_time(int64_t start, int64_t deadline, const char *what)
{
    const int64_t took = rank_time_here() - start;

    if (took + rank_lost_ns() < deadline / 2 ||
        took > deadline + rank_limit_ns(SECOND_NS))
        rank_fail("%s: an error after %.3f s, the deadline is %.3f s", what,
                  (double)took / 1e9, (double)deadline / 1e9);
}

static void check_culprit(rcx_comm_t *comm, const char *what)
{
    rcx_error_info_t info;

    rank_require(rcx_comm_error(comm, &info), "rcx_comm_error");
    if (info.status != RCX_ERR_TIMEOUT || info.rank_count != 1 ||
        info.ranks[0] != VICTIM)
        rank_fail("%s: %s, blames %d ranks, the first is %d: %s", what,
                  rcx_status_string(info.status), info.rank_count,
                  info.rank_count ? info.ranks[0] : -1, info.text);
}

static rcx_status_t sum(rcx_comm_t *comm)
{
    return rcx_allreduce(in, out, COUNT, RCX_INT64, RCX_SUM, comm);
}

static void check_world(void)
{
    for (int i = 0; i < COUNT; i++)
        in[i] = i + me.rank;
    rank_require(sum(me.world), "a call on the world");
    for (int i = 0; i < COUNT; i++)
        if (out[i] != i * me.size + me.size * (me.size - 1) / 2)
            rank_fail("a wrong sum on the world: %ld", (long)out[i]);
}

static rcx_comm_t *copy_world(void)
{
    rcx_comm_t *copy;

    rank_require(rcx_comm_dup(me.world, &copy), "rcx_comm_dup");
    return copy;
}

static void set_timeout(rcx_comm_t *comm, int64_t ns)
{
    rank_require(rcx_comm_set_timeout(comm, ns), "rcx_comm_set_timeout");
}

/* Make a call that the victim does not make. */
static void expect_timeout(rcx_comm_t *comm, int64_t deadline)
{
    const int64_t start = rank_time_here();

    rank_expect(sum(comm), RCX_ERR_TIMEOUT, "a call");
    check_time(start, deadline, "a call");
    check_culprit(comm, "a call");
}

/* ---- rcx_init and rcx_finalize ------------------------------------------- */

/* Several jobs start at once on few cores, so rcx_init() may take seconds. The
 * victim comes after two deadlines. */
enum { A_LITTLE_LATE = 3, A_LITTLE_LATE_MS = 300 };
#define PARAMS_TIMEOUT_NS rank_limit_ns(4 * SECOND_NS)
#define VERY_LATE_MS (int)(rank_limit_ns(9 * SECOND_NS) / MS_NS)

static void open_with(int64_t timeout_ns)
{
    const rcx_params_t params = {.field_mask = RCX_PARAM_TIMEOUT,
                                 .timeout_ns = timeout_ns};

    rank_require(rank_open(&params), "rcx_init");
}

/* The victim finds no peer: its own deadline ends, or its peers have left. A
 * server of PMIx 5 or later may have kept their blobs; then the victim's first
 * call fails. A rank that comes only a little late is not named. */
static void begin(void)
{
    const rcx_params_t params = {.field_mask = RCX_PARAM_TIMEOUT,
                                 .timeout_ns = PARAMS_TIMEOUT_NS};
    int64_t start;

    me.rank = atoi(getenv("PMIX_RANK"));
    let_wait(VERY_LATE_MS);
    if (me.rank == A_LITTLE_LATE)
        rank_sleep_ms(A_LITTLE_LATE_MS);
    start = rank_time_here();
    if (is_victim()) {
        if (rank_open(&params) == RCX_OK && rcx_barrier(me.world) == RCX_OK)
            rank_fail("a barrier with ranks that have left");
        if (me.context)
            rcx_finalize(&me.context);
        return;
    }
    rank_expect(rank_open(&params), RCX_ERR_TIMEOUT, "rcx_init");
    check_time(start, PARAMS_TIMEOUT_NS, "rcx_init");
    if (me.errors != 1 || !strstr(me.error, ": rank 2 did not call rcx_init"))
        rank_fail("%d errors, the first is: %s", me.errors, me.error);
    rank_expect(rank_open(&params), RCX_ERR_TIMEOUT, "rcx_init once more");
    if (me.context)
        rank_fail("a context is left");
}

static void leave(void)
{
    int64_t start;

    open_with(PARAMS_TIMEOUT_NS);
    check_world();
    let_wait(VERY_LATE_MS);
    start = rank_time_here();
    if (is_victim()) {
        if (rcx_finalize(&me.context) == RCX_OK)
            rank_fail("rcx_finalize finds ranks that have left");
    } else {
        rank_expect(rcx_finalize(&me.context), RCX_ERR_TIMEOUT, "rcx_finalize");
        check_time(start, PARAMS_TIMEOUT_NS, "rcx_finalize");
        if (!strstr(me.error, "rank 2"))
            rank_fail("no rank is named: %s", me.error);
    }
    if (me.context)
        rank_fail("a context is left");
}

/* ---- Every collective in every form -------------------------------------- */

enum way { AT_ONCE, WAIT, TEST, AGAIN, WAYS };
static const char *const way_names[WAYS] = {"blocking", "nonblocking", "tested",
                                            "persistent"};

static rcx_status_t finish(struct attempt *a, enum way way)
{
    rcx_status_t status = RCX_OK;
    int done = 0;

    if (way != TEST)
        return rcx_wait(a->request);
    while (!done) {
        rank_sleep_ms(1); /* computing, outside of RCX */
        status = rcx_test(a->request, &done);
    }
    return status;
}

/* Buffers are not freed: after an error RCX may use them until
 * rcx_finalize(). */
static rcx_status_t run(const struct call *call, enum way way, rcx_comm_t *comm)
{
    struct attempt a;
    rcx_status_t status;

    attempt_open(&a, call, comm);
    status = attempt_call(&a, comm);
    if (status == RCX_OK && way == AGAIN)
        status = rcx_start(a.request);
    if (status == RCX_OK && a.request)
        status = finish(&a, way);
    if (a.request)
        rank_require(rcx_request_free(&a.request), "rcx_request_free");
    return status;
}

/* A rank that only sends may complete several calls before one times out. */
static void try_form(enum collective coll, enum way way)
{
    static const enum form forms[WAYS] = {BLOCKING, NONBLOCKING, NONBLOCKING,
                                          PERSISTENT};
    const struct call call = {.coll = coll,
                              .form = forms[way],
                              .kind = &sums,
                              .count = COUNT,
                              .seed = 2};
    rcx_comm_t *copy = copy_world();
    const int64_t start = rank_time_here();
    rcx_status_t status = RCX_OK;
    char what[200];

    set_timeout(copy, SHORT_NS);
    call_text(&call, what);
    while (!is_victim() && status == RCX_OK)
        status = run(&call, way, copy);
    if (!is_victim()) {
        if (status != RCX_ERR_COMM_FAILED)
            rank_expect(status, RCX_ERR_TIMEOUT, what);
        check_time(start, SHORT_NS, what);
        check_culprit(copy, what);
    }
    rank_require(rcx_comm_free(&copy), "rcx_comm_free");
}

static void try_forms(enum way way)
{
    rank_require(rank_open(NULL), "rcx_init");
    for (int coll = 0; coll < COLLECTIVES; coll++)
        try_form((enum collective)coll, way);
    check_world();
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
}

/* ---- Which calls a deadline applies to ----------------------------------- */

static void try_settings(void)
{
    rcx_request_t *request;
    rcx_comm_t *copy;

    rank_require(rank_open(NULL), "rcx_init");
    copy = copy_world();
    set_timeout(copy, INT64_MAX);
    let_wait(A_WHILE_MS);
    rank_require(sum(copy), "a call in 292 years");

    set_timeout(copy, 0);
    let_wait(A_WHILE_MS);
    rank_require(
        rcx_iallreduce(in, out, COUNT, RCX_INT64, RCX_SUM, copy, &request),
        "rcx_iallreduce");
    set_timeout(copy, SHORT_NS);
    rank_require(rcx_wait(request), "a call from before there was a deadline");
    rank_require(rcx_request_free(&request), "rcx_request_free");

    if (!is_victim())
        expect_timeout(copy, SHORT_NS);
    check_world();
    rank_require(rcx_comm_free(&copy), "rcx_comm_free");
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
}

/* The deadline is shorter than the time before each call, and longer than the
 * wait in it. */
static void try_idle(void)
{
    static const int all[] = {0, 1, 2, 3};
    const int idle_ms = (int)(PARAMS_TIMEOUT_NS / MS_NS) + 200;
    rcx_comm_t *group;

    open_with(PARAMS_TIMEOUT_NS);
    check_world();
    rank_sleep_ms(idle_ms);
    let_wait(A_WHILE_MS);
    rank_require(rcx_comm_create_group(me.world, me.size, all, 0, &group),
                 "rcx_comm_create_group");
    rank_require(rcx_comm_free(&group), "rcx_comm_free");
    rank_sleep_ms(idle_ms);
    let_wait(A_WHILE_MS);
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
}

static void try_environment(bool is_long)
{
    open_with(is_long ? PARAMS_TIMEOUT_NS : 3600 * SECOND_NS);
    let_wait(VERY_LATE_MS);
    if (is_long)
        check_world();
    else if (is_victim())
        rank_expect(sum(me.world), RCX_ERR_COMM_FAILED, "a late call");
    else
        expect_timeout(me.world, PARAMS_TIMEOUT_NS);
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";
    int way = 0;

    while (way < WAYS && strcmp(what, way_names[way]) != 0)
        way++;
    rank_watch_machine();
    if (way < WAYS)
        try_forms((enum way)way);
    else if (strcmp(what, "init") == 0)
        begin();
    else if (strcmp(what, "leave") == 0)
        leave();
    else if (strcmp(what, "settings") == 0)
        try_settings();
    else if (strcmp(what, "idle") == 0)
        try_idle();
    else if (strcmp(what, "long") == 0 || strcmp(what, "short") == 0)
        try_environment(what[0] == 'l');
    else
        return 2;
    return 0;
}
