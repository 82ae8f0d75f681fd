/* SPDX-License-Identifier: BSD-3-Clause */
#include "attempt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, CANARY = 0xa5, STALE = 0xc3 };

static void *get(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);

    if (!memory)
        abort();
    return memory;
}

const char *call_text(const struct call *c, char text[200])
{
    static const char *const forms[] = {"blocking", "nonblocking",
                                        "persistent"};
    static const char *const places[] = {"separate", "RCX_IN_PLACE",
                                         "same pointer", "own block", "mixed"};

    snprintf(text, 200,
             "%s, %s, %s, type %d of %zu bytes, op %d, count %zu, root %d",
             forms[c->form], collectives[c->coll].name, places[c->place],
             c->kind->type, serial_bytes(c->kind), c->kind->op, c->count,
             c->root);
    return text;
}

/* ---- Shape --------------------------------------------------------------- */

/* Blocks of 0 to 3 shares, the rest for one of them; few elements go one by one
 * to any of them. */
static void cut(const struct call *c, size_t size, size_t blocks[])
{
    const size_t share = c->count / (3 * size);
    size_t left = c->count;

    for (; share == 0 && left > 0; left--)
        blocks[serial_mix(c->seed, left, 2) % size]++;
    if (share == 0)
        return;
    for (size_t i = 0; i < size; i++) {
        blocks[i] = (serial_mix(c->seed, i, 1) & 3) * share;
        left -= blocks[i];
    }
    blocks[c->seed % size] += left;
}

static void measure(struct attempt *a)
{
    const struct call *c = &a->call;
    struct view *v = &a->view;
    const size_t size = (size_t)v->size;

    if (collective_has_equal_blocks(c->coll))
        for (size_t i = 0; i < size; i++)
            a->blocks[i] = c->count;
    else if (collective_has_blocks(c->coll) && c->blocks)
        memcpy(a->blocks, c->blocks, size * sizeof *a->blocks);
    else if (collective_has_blocks(c->coll))
        cut(c, size, a->blocks);
    v->blocks = memcpy(a->blocks + size, a->blocks, size * sizeof *a->blocks);
    v->root = c->root;
    v->count =
        collective_has_blocks(c->coll) ? view_first(v, v->size) : c->count;
    a->given = view_given(v, c->coll);
    a->gotten = view_gotten(v, c->coll);
}

/* ---- Buffers ------------------------------------------------------------- */

/* Canaries at each end of a buffer: two elements at least, and aligned. */
static size_t canary_bytes(const struct attempt *a)
{
    return (2 * serial_bytes(a->call.kind) / ALIGNMENT + 1) * ALIGNMENT;
}

/* One that the collective has, and that is this rank's. */
static enum place settle_place(const struct attempt *a)
{
    enum place place = a->call.place;

    if (place == MIXED)
        place = (enum place)((a->call.seed + (uint64_t)a->view.rank) % PLACES);
    return collective_has_place(a->call.coll, place) ? place : SAME_POINTER;
}

/* As much as there has to be, with canaries, where there is not yet. */
static void get_memory(struct attempt *a)
{
    const size_t bytes = serial_bytes(a->call.kind), edge = canary_bytes(a);
    const bool separate = a->call.place == SEPARATE;
    const size_t most = a->gotten > a->given ? a->gotten : a->given;

    a->bytes[0] = (separate ? a->given : most) * bytes;
    a->bytes[1] = separate ? a->gotten * bytes : 0;
    for (int i = 0; i < 2; i++) {
        const size_t all = a->bytes[i] + 2 * edge;

        if (all > a->held[i]) {
            free(a->memory[i]);
            a->memory[i] = get(all);
            a->held[i] = all;
        }
        memset(a->memory[i], CANARY, edge);
        memset(a->memory[i] + edge + a->bytes[i], CANARY, edge);
    }
}

/* Where one buffer is a block, and the other one blocks, it has a place there;
 * in place, it is what is given. */
static void place_buffers(struct attempt *a)
{
    const struct collective_row *row = &collectives[a->call.coll];
    const enum place place = a->call.place;
    char *first = a->memory[0] + canary_bytes(a);
    char *own = first;

    if (collective_has_blocks(a->call.coll))
        own += view_first(&a->view, a->view.rank) * serial_bytes(a->call.kind);
    a->operand = a->result = first;
    if (place == SEPARATE)
        a->result = a->memory[1] + canary_bytes(a);
    else if (row->gives == EXTENT_BLOCK && row->gets == EXTENT_BLOCKS &&
             a->gotten > 0)
        a->operand = own;
    else if (place == OWN_BLOCK)
        a->result = own;
    a->spoils = (place == IN_PLACE || place == SAME_POINTER) &&
                view_receives(&a->view, a->call.coll);
}

/* NULL, now and then, where nothing is. */
static void fill_arguments(struct attempt *a)
{
    const struct call *c = &a->call;
    struct arguments *to = &a->arguments;
    const bool separate = c->place == SEPARATE;
    const bool receives = view_receives(&a->view, c->coll);
    const bool no_in = c->seed % 2 && a->given == 0;
    const bool no_out = c->seed % 2 && a->gotten == 0;

    to->sendbuf = c->place == IN_PLACE && receives ? RCX_IN_PLACE : a->operand;
    to->recvbuf = a->result;
    if (no_in && (no_out || separate))
        to->sendbuf = NULL;
    if (no_out && (no_in || separate || !receives))
        to->recvbuf = NULL;
    to->count = c->count;
    to->blocks = a->blocks;
    to->type = c->kind->type;
    to->op = c->kind->op;
    to->root = c->root;
}

void attempt_load(struct attempt *a, uint64_t seed)
{
    a->call.seed = seed;
    for (int i = 0; i < 2; i++)
        memset(a->memory[i] + canary_bytes(a), STALE, a->bytes[i]);
    serial_fill(a->call.kind, a->operand, 0, a->given, a->view.rank, seed);
}

void attempt_open(struct attempt *a, const struct call *call, rcx_comm_t *comm)
{
    memset(a, 0, sizeof *a);
    a->view.rank = rcx_comm_rank(comm);
    a->view.size = rcx_comm_size(comm);
    a->blocks = get(2 * (size_t)a->view.size * sizeof *a->blocks);
    attempt_change(a, call);
}

void attempt_change(struct attempt *a, const struct call *call)
{
    a->call = *call;
    a->call.place = settle_place(a);
    memset(a->blocks, 0, (size_t)a->view.size * sizeof *a->blocks);
    measure(a);
    get_memory(a);
    place_buffers(a);
    fill_arguments(a);
    attempt_load(a, call->seed);
}

rcx_status_t attempt_call(struct attempt *a, rcx_comm_t *comm)
{
    const size_t bytes = (size_t)a->view.size * sizeof *a->blocks;
    rcx_status_t status;

    a->arguments.comm = comm;
    memcpy(a->blocks, a->view.blocks, bytes);
    status =
        collective_call(a->call.coll, a->call.form, &a->arguments, &a->request);
    if (a->call.form != BLOCKING) /* counts were copied */
        memset(a->blocks, 0xff, bytes);
    return status;
}

/* ---- The verdict --------------------------------------------------------- */

static const char *wrong(struct attempt *a, const char *what, size_t where)
{
    char text[200];

    snprintf(a->problem, sizeof a->problem, "%s at %zu: %.190s", what, where,
             call_text(&a->call, text));
    return a->problem;
}

static const char *check_canaries(struct attempt *a)
{
    const size_t most = canary_bytes(a);

    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < 2 * most; k++) {
            const size_t at = k < most ? k : k + a->bytes[i];

            if ((unsigned char)a->memory[i][at] != CANARY)
                return wrong(a,
                             i ? "written outside recvbuf"
                               : "written outside sendbuf",
                             at);
        }
    return NULL;
}

/* But for what the result replaces. */
static bool keeps_operand(const struct attempt *a)
{
    const struct call *c = &a->call;
    const size_t bytes = serial_bytes(c->kind);
    size_t begin = a->given, end = a->given;

    if (a->spoils)
        return true;
    if (c->place != SEPARATE && a->result < a->operand)
        return true; /* which is in the result */
    if (c->place != SEPARATE) {
        begin = (size_t)(a->result - a->operand) / bytes;
        end = begin + a->gotten;
    }
    return serial_keeps(c->kind, a->operand, 0, begin, a->view.rank, c->seed) &&
           serial_keeps(c->kind, a->operand + end * bytes, end, a->given - end,
                        a->view.rank, c->seed);
}

const char *attempt_check_rest(struct attempt *a)
{
    const char *problem = check_canaries(a);

    if (!problem && !keeps_operand(a))
        problem = wrong(a, "operand written", 0);
    return problem;
}

static const char *check_result(struct attempt *a)
{
    const struct call *c = &a->call;
    const char *at = a->result;

    for (int k = 0; k < view_parts(&a->view, c->coll); k++) {
        const struct part part = view_part(&a->view, c->coll, k);
        size_t where = 0;

        if (!serial_check(c->kind, at, &part, c->seed, &where))
            return wrong(a, "wrong result", where);
        at += part.count * serial_bytes(c->kind);
    }
    return NULL;
}

const char *attempt_check(struct attempt *a)
{
    const char *problem = attempt_check_rest(a);

    return problem ? problem : check_result(a);
}

void attempt_close(struct attempt *a)
{
    if (a->request)
        rcx_request_free(&a->request);
    free(a->memory[0]);
    free(a->memory[1]);
    free(a->blocks);
}

/* ---- Whole calls --------------------------------------------------------- */

rcx_status_t call_run(const struct call *call, rcx_comm_t *comm,
                      char problem[256])
{
    struct attempt a;
    rcx_status_t status;

    attempt_open(&a, call, comm);
    status = attempt_call(&a, comm);
    if (status == RCX_OK && call->form == PERSISTENT)
        status = rcx_start(a.request);
    if (status == RCX_OK && a.request)
        status = rcx_wait(a.request);
    if (status == RCX_OK && attempt_check(&a)) {
        status = RCX_ERR_INTERNAL;
        memcpy(problem, a.problem, sizeof a.problem);
    } else if (status != RCX_OK) {
        wrong(&a, rcx_status_string(status), 0);
        memcpy(problem, a.problem, sizeof a.problem);
    }
    attempt_close(&a);
    return status;
}

struct call call_mixed(const struct kind *kind, size_t count, int size,
                       uint64_t k)
{
    const uint64_t random = serial_mix(k, count, (uint64_t)size);
    const enum collective coll = (enum collective)(k % COLLECTIVES);
    const bool equal = collective_has_equal_blocks(coll);

    return (struct call){
        .coll = coll,
        .form = (enum form)((random >> 8) % FORMS),
        .place = (enum place)((random >> 16) % PLACES),
        .kind = kind,
        .count = equal ? count / (size_t)size : count,
        .root = (int)((random >> 24) % (uint64_t)size),
        .seed = random,
    };
}
