/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective calls of one rank for tests: lay out the buffers, fill the
 * operand, make the call through the public API, and check result and memory.
 * serial.c computes operands and expected results. Waiting for a request is
 * left to the caller.
 */
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

/* Draw the blocks: each has 0 to 3 shares of count / (3 size) elements, and one
 * block gets the rest. With fewer than 3 size elements, each goes to a random
 * block. */
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

/* Lists that are passed to the call, followed by copies that RCX does not
 * get. */
enum list { BLOCKS, DISPLS, SENDCOUNTS, SENDDISPLS, PASSED, KEPT = PASSED };
enum { LISTS = 2 * PASSED };

static size_t *list(const struct attempt *a, int i)
{
    return a->numbers + (size_t)i * (size_t)a->view.size;
}

static void measure_blocks(struct attempt *a)
{
    const struct call *c = &a->call;
    const size_t size = (size_t)a->view.size;
    size_t *blocks = list(a, KEPT + BLOCKS);

    memset(blocks, 0, size * sizeof *blocks);
    if (collective_has_equal_blocks(c->coll))
        for (size_t i = 0; i < size; i++)
            blocks[i] = c->count;
    else if (collective_has_blocks(c->coll) && c->blocks)
        memcpy(blocks, c->blocks, size * sizeof *blocks);
    else if (collective_has_blocks(c->coll))
        cut(c, size, blocks);
    a->view.blocks = blocks;
}

/* Lay out the parts side by side in the order of ranks. If the collective has
 * displacements, the seed may choose gaps and the reverse order. */
static void lay_out(struct attempt *a, struct layout *l, enum extent extent,
                    size_t count, size_t starts[])
{
    const struct view *v = &a->view;
    const int way = (int)(serial_mix(a->call.seed, (uint64_t)v->rank, 3) % 4);
    const bool placed = collectives[a->call.coll].has_displs && way > 0;

    *l = (struct layout){.parts = 1, .starts = starts, .reach = count};
    starts[0] = 0;
    if (extent != EXTENT_BLOCKS || count == 0)
        return;
    l->parts = v->size;
    l->gap = placed ? (size_t)way - 1 : 0;
    l->reach = 0;
    for (int i = 0; i < v->size; i++) {
        const int k = placed && way > 1 ? v->size - 1 - i : i;

        starts[k] = l->reach;
        l->reach += view_block(v, a->call.coll, k) + l->gap;
    }
}

static void measure(struct attempt *a)
{
    const struct call *c = &a->call;
    const struct collective_row *row = &collectives[c->coll];
    struct view *v = &a->view;

    measure_blocks(a);
    v->root = c->root;
    v->count =
        collective_has_blocks(c->coll) ? view_first(v, v->size) : c->count;
    a->given = view_given(v, c->coll);
    a->gotten = view_gotten(v, c->coll);
    for (int i = 0; i < v->size; i++)
        list(a, KEPT + SENDCOUNTS)[i] = view_block(v, c->coll, i);
    lay_out(a, &a->in, row->gives, a->given, list(a, KEPT + SENDDISPLS));
    lay_out(a, &a->out, row->gets, a->gotten, list(a, KEPT + DISPLS));
}

/* ---- Buffers ------------------------------------------------------------- */

/* Bytes of the canary at each end of a buffer: at least two elements,
 * aligned. */
static size_t canary_bytes(const struct attempt *a)
{
    return (2 * serial_bytes(a->call.kind) / ALIGNMENT + 1) * ALIGNMENT;
}

/* Replace the place of the call by one that the collective has; MIXED becomes
 * another place on each rank. */
static enum place settle_place(const struct attempt *a)
{
    enum place place = a->call.place;

    if (place == MIXED)
        place = (enum place)((a->call.seed + (uint64_t)a->view.rank) % PLACES);
    if (collective_has_place(a->call.coll, place))
        return place;
    return collective_has_place(a->call.coll, SAME_POINTER) ? SAME_POINTER
                                                            : SEPARATE;
}

static void *get_shared(rcx_comm_t *comm, size_t bytes)
{
    void *memory;

    if (rcx_mem_alloc(comm, bytes, &memory) != RCX_OK)
        abort();
    return memory;
}

static void put(struct attempt *a, int i)
{
    if (!a->comm)
        free(a->memory[i]);
    else if (a->memory[i] && rcx_mem_free(a->comm, a->memory[i]) != RCX_OK)
        abort();
    a->memory[i] = NULL;
}

/* Allocate both buffers with canaries, unless the present ones are large
 * enough. */
static void get_memory(struct attempt *a)
{
    const size_t bytes = serial_bytes(a->call.kind), edge = canary_bytes(a);
    const bool separate = a->call.place == SEPARATE;
    const size_t in = a->in.reach, out = a->out.reach;

    a->bytes[0] = (separate || in > out ? in : out) * bytes;
    a->bytes[1] = separate ? out * bytes : 0;
    for (int i = 0; i < 2; i++) {
        const size_t all = a->bytes[i] + 2 * edge;

        if (all > a->held[i]) {
            put(a, i);
            a->memory[i] = a->comm ? get_shared(a->comm, all) : get(all);
            a->held[i] = all;
        }
        memset(a->memory[i], CANARY, edge);
        memset(a->memory[i] + edge + a->bytes[i], CANARY, edge);
    }
}

/* Whether one buffer is a single block, which lies among the other buffer's
 * blocks. */
static bool lies_in_blocks(const struct attempt *a)
{
    return a->call.place != SEPARATE && a->in.parts != a->out.parts &&
           view_sends(&a->view, a->call.coll) &&
           view_receives(&a->view, a->call.coll);
}

/* Set operand and result. If one of them is a single block and the other has
 * all blocks, the block lies at its own place among them. In a reduction in
 * place, the block is at the start of the operand. */
static void place_buffers(struct attempt *a)
{
    const struct collective_row *row = &collectives[a->call.coll];
    const enum place place = a->call.place;
    const size_t bytes = serial_bytes(a->call.kind);
    const int me = a->view.rank;

    a->operand = a->result = a->memory[0] + canary_bytes(a);
    if (place == SEPARATE)
        a->result = a->memory[1] + canary_bytes(a);
    else if (lies_in_blocks(a) && a->out.parts > 1)
        a->operand += a->out.starts[me] * bytes;
    else if (lies_in_blocks(a) && (place == OWN_BLOCK || !row->reduces))
        a->result += a->in.starts[me] * bytes;
    a->spoils = (place == IN_PLACE || place == SAME_POINTER) && row->reduces &&
                view_receives(&a->view, a->call.coll);
    a->spoils |= place != SEPARATE && row->gets == EXTENT_BLOCKS &&
                 view_receives(&a->view, a->call.coll);
}

/* The argument that RCX_IN_PLACE replaces; NULL: none. */
static void **replaced(struct attempt *a)
{
    const struct collective_row *row = &collectives[a->call.coll];

    if (a->call.place != IN_PLACE || !view_sends(&a->view, a->call.coll) ||
        (!view_receives(&a->view, a->call.coll) &&
         row->getter != ALL_BUT_FIRST))
        return NULL;
    return row->giver == ROOT_ALONE ? &a->arguments.recvbuf
                                    : (void **)&a->arguments.sendbuf;
}

/* Set all arguments but the lists. For odd seeds, empty buffers are NULL. */
static void fill_arguments(struct attempt *a)
{
    const struct call *c = &a->call;
    struct arguments *to = &a->arguments;
    const bool separate = c->place == SEPARATE;
    const bool sends = view_sends(&a->view, c->coll);
    const bool receives = view_receives(&a->view, c->coll);
    const bool no_in = c->seed % 2 && a->in.reach == 0;
    const bool no_out = c->seed % 2 && a->out.reach == 0;

    to->sendbuf = a->operand;
    to->recvbuf = a->result;
    if (replaced(a))
        *replaced(a) = RCX_IN_PLACE;
    if (no_in && (no_out || separate || !sends))
        to->sendbuf = NULL;
    if (no_out && (no_in || separate || !receives) && !replaced(a))
        to->recvbuf = NULL;
    to->count = c->count;
    to->type = c->kind->type;
    to->op = c->kind->op;
    to->root = c->root;
}

/* Set the lists. Displacements are NULL, on each rank by itself, if the blocks
 * are side by side. */
static void fill_lists(struct attempt *a)
{
    const struct collective_row *row = &collectives[a->call.coll];
    struct arguments *to = &a->arguments;
    const bool in = row->gives == EXTENT_BLOCKS && !row->is_local;
    const struct layout *l = in ? &a->in : &a->out;
    const bool packed = l->gap == 0 && l->starts[0] == 0;

    memcpy(a->numbers, list(a, KEPT),
           (size_t)a->view.size * PASSED * sizeof *a->numbers);
    to->blocks = list(a, row->is_local ? SENDCOUNTS : BLOCKS);
    to->displs = packed ? NULL : list(a, in ? SENDDISPLS : DISPLS);
    to->sendcounts = to->blocks;
    to->senddispls = packed ? NULL : list(a, SENDDISPLS);
}

static void fill_operand(struct attempt *a)
{
    const struct call *c = &a->call;
    const size_t bytes = serial_bytes(c->kind);
    size_t first = 0;

    for (int k = 0; k < a->in.parts; k++) {
        const size_t count =
            a->in.parts > 1 ? view_block(&a->view, c->coll, k) : a->given;

        serial_fill(c->kind, a->operand + a->in.starts[k] * bytes, first, count,
                    a->view.rank, c->seed);
        first += count;
    }
}

void attempt_load(struct attempt *a, uint64_t seed)
{
    a->call.seed = seed;
    for (int i = 0; i < 2; i++)
        memset(a->memory[i] + canary_bytes(a), STALE, a->bytes[i]);
    fill_operand(a);
}

void attempt_open(struct attempt *a, const struct call *call, rcx_comm_t *comm)
{
    memset(a, 0, sizeof *a);
    a->view.rank = rcx_comm_rank(comm);
    a->view.size = rcx_comm_size(comm);
    a->comm = call->in_rcx_memory ? comm : NULL;
    a->numbers = get(LISTS * (size_t)a->view.size * sizeof *a->numbers);
    attempt_change(a, call);
}

void attempt_change(struct attempt *a, const struct call *call)
{
    a->call = *call;
    a->call.place = settle_place(a);
    measure(a);
    get_memory(a);
    place_buffers(a);
    fill_arguments(a);
    attempt_load(a, call->seed);
}

rcx_status_t attempt_call(struct attempt *a, rcx_comm_t *comm)
{
    const size_t bytes = (size_t)a->view.size * PASSED * sizeof *a->numbers;
    rcx_status_t status;

    a->arguments.comm = comm;
    fill_lists(a);
    status =
        collective_call(a->call.coll, a->call.form, &a->arguments, &a->request);
    if (a->call.form != BLOCKING) /* RCX has copied the lists */
        memset(a->numbers, 0xff, bytes);
    return status;
}

/* ---- Checks -------------------------------------------------------------- */

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

/* Whether the operand is unchanged, except where the result replaces it. */
static bool keeps_operand(const struct attempt *a)
{
    const struct call *c = &a->call;
    const size_t bytes = serial_bytes(c->kind);
    size_t first = 0;

    for (int k = 0; k < a->in.parts && !a->spoils; k++) {
        const char *at = a->operand + a->in.starts[k] * bytes;
        const size_t count =
            a->in.parts > 1 ? view_block(&a->view, c->coll, k) : a->given;

        if ((c->place == SEPARATE || at != a->result || a->gotten == 0) &&
            !serial_keeps(c->kind, at, first, count, a->view.rank, c->seed))
            return false;
        first += count;
    }
    return true;
}

/* Whether nothing is written between blocks. */
static bool keeps_gaps(const struct attempt *a, const struct layout *l,
                       const char *buffer)
{
    const size_t bytes = serial_bytes(a->call.kind);

    for (int k = 0; k < l->parts && l->gap > 0; k++) {
        const size_t end = l->starts[k] + view_block(&a->view, a->call.coll, k);

        for (size_t i = end * bytes; i < (end + l->gap) * bytes; i++)
            if ((unsigned char)buffer[i] != STALE)
                return false;
    }
    return true;
}

const char *attempt_check_rest(struct attempt *a)
{
    const char *problem = check_canaries(a);

    if (!problem && !keeps_operand(a))
        problem = wrong(a, "operand written", 0);
    if (!problem && !keeps_gaps(a, &a->out, a->result))
        problem = wrong(a, "written between blocks of recvbuf", 0);
    if (!problem && !keeps_gaps(a, &a->in, a->operand))
        problem = wrong(a, "written between blocks of sendbuf", 0);
    return problem;
}

static const char *check_result(struct attempt *a)
{
    const struct call *c = &a->call;
    const size_t bytes = serial_bytes(c->kind);

    for (int k = 0; k < a->out.parts; k++) {
        const struct part part = view_part(&a->view, c->coll, k);
        size_t where = 0;

        if (!serial_check(c->kind, a->result + a->out.starts[k] * bytes, &part,
                          c->seed, &where))
            return wrong(a, "wrong result", where);
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
    put(a, 0);
    put(a, 1);
    free(a->numbers);
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
