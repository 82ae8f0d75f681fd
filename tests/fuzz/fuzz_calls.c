/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes calls of a program, valid or not: collectives in any order, of any
 * type, op, count, root, place and form, by any algorithm, several in flight at
 * once, and messages, over the simulated network. Results must be those of a
 * serial computation. Invalid calls must be rejected before they have any
 * effect.
 *
 *   input = ranks - 1, network's seed, how (1: calls are compared; 2: the next
 *           byte selects the algorithm that is forced, the one after it its
 *           segment), call...
 *   call  = collective, then
 *           0 or more: how (1: persistent; 2: wait for all; 4: lists), place,
 *                      type, op, root, count, its factor, seed, block...
 *         | 128 + collective: rank, form, what is wrong, how wrong
 *         | 127: bytes, tag, from (of any source or not), to: a message
 */
#include "fuzz.h"

#include <string.h>

#include "attempt.h"
#include "context.h"
#include "core/sched/algo.h"

enum {
    MOST_RANKS = 4,
    FLIGHT = 6,    /* most calls in flight */
    CALLS = 20,    /* calls in all; the rest of the input is ignored */
    BLOCK = 8,     /* elements of a block of an invalid call */
    STEPS = 300000 /* no call takes so many */
};

struct input {
    const uint8_t *at, *end;
};

static unsigned take(struct input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

/* ---- Valid calls --------------------------------------------------------- */

struct flight {
    struct kind kind;
    size_t blocks[MOST_RANKS];
    struct attempt attempts[MOST_RANKS]; /* by rank */
};

struct run {
    struct job job;
    const struct rcx_algo *forced; /* NULL: none */
    struct flight flights[FLIGHT];
    int flying;
};

static bool is_legal(enum collective coll, const struct kind *kind)
{
    return serial_is_legal(kind->type, kind->op) &&
           collective_takes(coll, kind->op);
}

static struct kind take_kind(struct input *in, enum collective coll)
{
    struct kind kind = {
        .type = 1 + (rcx_datatype_t)(take(in) % (SERIAL_TYPES - 1)),
        .op = SERIAL_OP + (rcx_op_t)(take(in) % (SERIAL_OPS - SERIAL_OP))};

    while (!is_legal(coll, &kind)) /* REPLACE is legal for every type */
        kind.op = SERIAL_OP + (kind.op + 1) % (SERIAL_OPS - SERIAL_OP);
    return kind;
}

static struct call take_call(struct input *in, enum collective coll,
                             unsigned how, struct flight *f, int size)
{
    struct call call = {.coll = coll,
                        .form = how & 1 ? PERSISTENT : NONBLOCKING,
                        .place = (enum place)(take(in) % (PLACES + 1)),
                        .kind = &f->kind};

    f->kind = take_kind(in, coll);
    call.root = (int)(take(in) % (unsigned)size);
    call.count = take(in);
    call.count *= take(in) % 16 + 1;
    call.seed = take(in);
    for (int i = 0; i < size && how & 4; i++)
        f->blocks[i] = take(in);
    call.blocks = how & 4 ? f->blocks : NULL;
    return call;
}

static void progress(struct job *job)
{
    for (int i = 0; i < job->size; i++)
        rcx_context_progress(job->contexts[i]);
}

static bool is_done(const struct run *r, const struct flight *f)
{
    for (int i = 0; i < r->job.size; i++)
        if (f->attempts[i].request->state == RCX_REQUEST_ACTIVE)
            return false;
    return true;
}

static void require_right(struct run *r, struct flight *f)
{
    for (int steps = 0; !is_done(r, f); steps++) {
        fuzz_require(steps < STEPS);
        progress(&r->job);
    }
    for (int i = 0; i < r->job.size; i++) {
        const char *problem = attempt_check(&f->attempts[i]);

        if (problem)
            fprintf(stderr, "rank %d of %d: %s\n", i, r->job.size, problem);
        fuzz_require(!problem);
        fuzz_require(rcx_wait(f->attempts[i].request) == RCX_OK);
    }
}

static void launch(struct run *r, struct flight *f)
{
    for (int i = 0; i < r->job.size; i++)
        if (f->attempts[i].call.form == PERSISTENT)
            fuzz_require(rcx_start(f->attempts[i].request) == RCX_OK);
}

static void land(struct run *r, struct flight *f)
{
    require_right(r, f);
    if (f->attempts[0].call.form == PERSISTENT) {
        for (int i = 0; i < r->job.size; i++)
            attempt_load(&f->attempts[i], f->attempts[i].call.seed + 1);
        launch(r, f);
        require_right(r, f);
    }
    for (int i = 0; i < r->job.size; i++)
        attempt_close(&f->attempts[i]);
}

/* Complete all calls in flight, the last one first. */
static void land_all(struct run *r)
{
    while (r->flying > 0)
        land(r, &r->flights[--r->flying]);
}

static bool may_refuse(const struct run *r, enum collective coll)
{
    return r->forced && strcmp(rcx_colls[r->forced->coll].variable,
                               collectives[coll].variable) == 0;
}

/* Make a valid call. If a forced algorithm does not suit it, all ranks must
 * reject it. */
static void call_right(struct run *r, struct input *in, enum collective coll)
{
    struct flight *f = &r->flights[r->flying];
    const unsigned how = take(in);
    const struct call call = take_call(in, coll, how, f, r->job.size);
    int refused = 0;

    for (int i = 0; i < r->job.size; i++) {
        rcx_status_t status;

        attempt_open(&f->attempts[i], &call, world_of(&r->job, i));
        status = attempt_call(&f->attempts[i], world_of(&r->job, i));
        refused += status == RCX_ERR_UNSUPPORTED && may_refuse(r, coll);
        fuzz_require(status == RCX_OK || refused == i + 1);
    }
    if (refused > 0) {
        fuzz_require(refused == r->job.size);
        for (int i = 0; i < r->job.size; i++)
            attempt_close(&f->attempts[i]);
        return;
    }
    launch(r, f);
    r->flying++;
    if (how & 2 || r->flying == FLIGHT)
        land_all(r);
}

/* ---- Messages ------------------------------------------------------------ */

/* Send a message while calls are in flight. Its receive is posted before or
 * after it is sent. */
static void pass_message(struct run *r, struct input *in)
{
    static const struct kind kind = {.type = RCX_UINT8, .op = RCX_SUM};
    const size_t bytes = take(in);
    const int tag = (int)take(in) * 128, how = (int)take(in);
    const int from = how % r->job.size, to = (int)take(in) % r->job.size;
    char *sent = malloc(bytes + 1), *got = malloc(bytes + 1);
    rcx_request_t *requests[2];
    rcx_recv_info_t info;

    fuzz_require(sent && got);
    serial_fill(&kind, sent, 0, bytes, from, (uint64_t)tag);
    for (int i = 0; i < 2; i++) {
        const bool sends = i == how / 64 % 2;

        fuzz_require((sends ? rcx_isend(sent, bytes, RCX_UINT8, to, tag,
                                        world_of(&r->job, from), &requests[0])
                            : rcx_irecv(got, bytes, RCX_UINT8,
                                        how / 128 ? RCX_ANY_SOURCE : from, tag,
                                        world_of(&r->job, to), &requests[1])) ==
                     RCX_OK);
    }
    for (int steps = 0; requests[0]->state == RCX_REQUEST_ACTIVE ||
                        requests[1]->state == RCX_REQUEST_ACTIVE;
         steps++) {
        fuzz_require(steps < STEPS);
        progress(&r->job);
    }
    fuzz_require(rcx_request_recv_info(requests[1], &info) == RCX_OK);
    fuzz_require(info.source == from && info.tag == tag && info.count == bytes);
    fuzz_require(serial_keeps(&kind, got, 0, bytes, from, (uint64_t)tag));
    for (int i = 0; i < 2; i++)
        fuzz_require(rcx_request_free(&requests[i]) == RCX_OK);
    free(sent);
    free(got);
}

/* ---- Invalid calls ------------------------------------------------------- */

struct wrong {
    enum collective coll;
    struct view view;
    struct arguments a;
    size_t blocks[MOST_RANKS], displs[MOST_RANKS];
    char in[MOST_RANKS * BLOCK * 8], out[MOST_RANKS * BLOCK * 8];
};

static void make_right(struct wrong *w, const struct run *r, int rank,
                       enum collective coll)
{
    memset(w, 0x5a, sizeof *w);
    w->coll = coll;
    for (size_t i = 0; i < MOST_RANKS; i++) {
        w->blocks[i] = BLOCK;
        w->displs[i] = i * BLOCK;
    }
    w->a = (struct arguments){
        .sendbuf = w->in,
        .recvbuf = w->out,
        .count = BLOCK,
        .blocks = w->blocks,
        .displs = w->displs,
        .sendcounts = w->blocks,
        .senddispls = w->displs,
        .type = RCX_INT64,
        .op = RCX_SUM,
        .comm = world_of(&r->job, rank),
    };
    w->view =
        (struct view){rank, r->job.size, 0, BLOCK * (size_t)r->job.size, NULL};
}

/* Return a count that exceeds any address space. */
static size_t too_many(unsigned how)
{
    return SIZE_MAX / 8 + 1 + ((size_t)how << 40);
}

/* Make one argument invalid. False: the collective has no such argument, or
 * this rank ignores it. */
static bool spoil(struct wrong *w, unsigned what, unsigned how)
{
    const struct collective_row *row = &collectives[w->coll];
    const bool moves = row->gives != EXTENT_NONE;
    const int rank = (int)(how % (unsigned)w->view.size);

    switch (what % 8) {
    case 0:
        w->a.type = how % 2 ? -(int)how : SERIAL_TYPES + (int)how;
        return moves;
    case 1:
        w->a.op = how % 2 ? -(int)how : SERIAL_OPS + (int)how;
        return row->reduces;
    case 2:
        w->a.root = how % 2 ? -(int)how : w->view.size + (int)how;
        return collective_is_rooted(w->coll);
    case 3:
        w->a.sendbuf = w->coll == BCAST ? w->in : NULL;
        return w->coll != BCAST && view_sends(&w->view, w->coll);
    case 4:
        w->a.recvbuf = NULL;
        return w->coll != BCAST && view_receives(&w->view, w->coll);
    case 5: w->a.count = w->blocks[rank] = too_many(how); return moves;
    case 6:
        w->displs[rank] = SIZE_MAX - how;
        return row->has_displs && (row->giver != ROOT_ALONE || !w->view.rank) &&
               (row->getter != ROOT_ALONE || !w->view.rank);
    default:
        w->displs[rank] = w->displs[(rank + 1) % w->view.size] + how % BLOCK;
        return row->has_displs && row->gets == EXTENT_BLOCKS &&
               w->view.size > 1 && view_receives(&w->view, w->coll);
    }
}

static bool keeps(const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != 0x5a)
            return false;
    return true;
}

/* The call must be rejected in every form; a blocking one that is accepted
 * hangs. */
static void call_wrong(struct run *r, struct input *in, enum collective coll)
{
    const int rank = (int)(take(in) % (unsigned)r->job.size);
    const enum form form = (enum form)(take(in) % FORMS);
    const unsigned what = take(in), how = take(in);
    rcx_request_t *request = NULL;
    struct wrong w;

    make_right(&w, r, rank, coll);
    if (!spoil(&w, what, how))
        return;
    fuzz_require(collective_call(coll, form, &w.a, &request) == RCX_ERR_ARG);
    fuzz_require(!request);
    fuzz_require(keeps(w.in, sizeof w.in) && keeps(w.out, sizeof w.out));
}

/* ---- The input ----------------------------------------------------------- */

static void force(struct run *r, unsigned which, unsigned segment)
{
    size_t n = 0;

    while (rcx_algo_table[n])
        n++;
    r->forced = rcx_algo_table[which % n];
    job_force(&r->job, r->forced, segment ? segment * 8 : SIZE_MAX);
}

static void open_job(struct run *r, struct input *in)
{
    const int size = 1 + (int)(take(in) % MOST_RANKS);
    const struct job_options options = {.seed = take(in)};
    const unsigned how = take(in);

    if (how & 1)
        setenv("RCX_CHECK", "full", 1);
    fuzz_require(job_open(&r->job, size, &options) == RCX_OK);
    unsetenv("RCX_CHECK");
    job_hush(&r->job);
    if (how & 2) {
        const unsigned which = take(in);

        force(r, which, take(in));
    }
}

int fuzz_input(const uint8_t *data, size_t bytes)
{
    static struct run r;
    struct input in = {data, data + bytes};

    r.forced = NULL;
    open_job(&r, &in);
    for (int i = 0; i < CALLS && in.at < in.end; i++) {
        const unsigned first = take(&in);
        const enum collective coll =
            (enum collective)(first % 128 % COLLECTIVES);

        if (first == 127)
            pass_message(&r, &in);
        else if (first < 128)
            call_right(&r, &in, coll);
        else
            call_wrong(&r, &in, coll);
    }
    land_all(&r);
    fuzz_require(job_close(&r.job) == RCX_OK);
    return 0;
}
