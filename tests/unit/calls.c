/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { CANARY = 0x5C, MARGIN = 64 };

/* ---- Sums --------------------------------------------------------------- */

static void fill_word(void *element, int rank, size_t i)
{
    uint64_t z = (uint64_t)rank << 32 | (uint64_t)i;

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z ^= z >> 27;
    memcpy(element, &z, sizeof z);
}

static void add_words(void *dst, const void *left, const void *right)
{
    uint64_t a, b;

    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    a += b;
    memcpy(dst, &a, sizeof a);
}

const struct kind sums = {.type = RCX_INT64,
                          .op = RCX_SUM,
                          .bytes = 8,
                          .fill = fill_word,
                          .combine = add_words};

/* ---- Buffers ------------------------------------------------------------ */

static size_t vector_count(const struct calls *c)
{
    size_t count = c->call.count;

    if (c->call.coll == REDUCE_SCATTER_BLOCK)
        return count * (size_t)c->job->size;
    if (c->call.coll != REDUCE_SCATTER)
        return count;
    count = 0;
    for (int i = 0; i < c->job->size; i++)
        count += c->call.recvcounts[i];
    return count;
}

/* Which elements of the vector rank gets. */
static void own_elements(const struct calls *c, int rank, size_t *first_p,
                         size_t *count_p)
{
    *first_p = 0;
    *count_p = c->call.count;
    if (c->call.coll == REDUCE && rank != c->call.root)
        *count_p = 0;
    if (c->call.coll == REDUCE_SCATTER_BLOCK)
        *first_p = (size_t)rank * c->call.count;
    if (c->call.coll != REDUCE_SCATTER)
        return;
    for (int i = 0; i < rank; i++)
        *first_p += c->call.recvcounts[i];
    *count_p = c->call.recvcounts[rank];
}

bool form_fits(enum collective coll, enum form form)
{
    return form != OWN_BLOCK || coll == REDUCE_SCATTER ||
           coll == REDUCE_SCATTER_BLOCK;
}

static enum form form_of(const struct calls *c, int rank)
{
    enum form form = c->call.form;

    if (form == MIXED)
        form = (enum form)(rank % MIXED);
    if (!form_fits(c->call.coll, form) ||
        (c->call.coll == REDUCE && rank != c->call.root))
        form = SEPARATE;
    return form;
}

static size_t padded(size_t bytes)
{
    return (bytes + MARGIN - 1) / MARGIN * MARGIN + MARGIN;
}

static void open_side(struct calls *c, int rank)
{
    struct side *side = &c->sides[rank];
    const enum form form = form_of(c, rank);
    const size_t n = vector_count(c), element = c->call.kind->bytes;
    size_t first, count;

    own_elements(c, rank, &first, &count);
    side->operand_bytes = n * element;
    side->result_bytes = count * element;
    side->bytes = MARGIN + 2 * padded(n * element);
    side->memory = aligned_alloc(MARGIN, side->bytes);
    side->expected = aligned_alloc(MARGIN, side->bytes);
    assert_true(side->memory && side->expected);
    side->operand = side->memory + MARGIN;
    side->result = side->operand + padded(n * element);
    side->spoils = false;
    if (form == OWN_BLOCK)
        side->result = side->operand + first * element;
    else if (form != SEPARATE)
        side->result = side->operand;
    side->spoils = form == IN_PLACE || form == SAME_POINTER;
    side->sendbuf = form == IN_PLACE ? RCX_IN_PLACE : side->operand;
    side->recvbuf = side->result;
    if (c->call.coll == REDUCE && rank != c->call.root)
        side->recvbuf = NULL;
}

void calls_fill(struct calls *c)
{
    const struct kind *kind = c->call.kind;
    const size_t n = vector_count(c);

    for (int rank = 0; rank < c->job->size; rank++) {
        struct side *side = &c->sides[rank];

        memset(side->memory, CANARY, side->bytes);
        for (size_t i = 0; i < n; i++)
            kind->fill(side->operand + i * kind->bytes, rank, i);
        memcpy(side->expected, side->memory, side->bytes);
    }
}

void calls_open(struct calls *c, struct job *job, const struct call *call)
{
    memset(c, 0, sizeof *c);
    c->job = job;
    c->call = *call;
    for (int rank = 0; rank < job->size; rank++)
        open_side(c, rank);
    calls_fill(c);
}

void calls_close(struct calls *c)
{
    for (int rank = 0; rank < c->job->size; rank++) {
        if (c->requests[rank])
            assert_ok(rcx_request_free(&c->requests[rank]));
        free(c->sides[rank].memory);
        free(c->sides[rank].expected);
    }
}

/* ---- Calls -------------------------------------------------------------- */

static rcx_status_t begin(const struct call *a, const struct side *s,
                          rcx_comm_t *comm, rcx_request_t **request_p)
{
    const rcx_datatype_t type = a->kind->type;
    const rcx_op_t op = a->kind->op;

    switch (a->coll) {
    case ALLREDUCE:
        return rcx_iallreduce(s->sendbuf, s->recvbuf, a->count, type, op, comm,
                              request_p);
    case REDUCE:
        return rcx_ireduce(s->sendbuf, s->recvbuf, a->count, type, op, a->root,
                           comm, request_p);
    case REDUCE_SCATTER:
        return rcx_ireduce_scatter(s->sendbuf, s->recvbuf, a->recvcounts, type,
                                   op, comm, request_p);
    default:
        return rcx_ireduce_scatter_block(s->sendbuf, s->recvbuf, a->count, type,
                                         op, comm, request_p);
    }
}

static rcx_status_t prepare(const struct call *a, const struct side *s,
                            rcx_comm_t *comm, rcx_request_t **request_p)
{
    const rcx_datatype_t type = a->kind->type;
    const rcx_op_t op = a->kind->op;

    switch (a->coll) {
    case ALLREDUCE:
        return rcx_allreduce_init(s->sendbuf, s->recvbuf, a->count, type, op,
                                  comm, request_p);
    case REDUCE:
        return rcx_reduce_init(s->sendbuf, s->recvbuf, a->count, type, op,
                               a->root, comm, request_p);
    case REDUCE_SCATTER:
        return rcx_reduce_scatter_init(s->sendbuf, s->recvbuf, a->recvcounts,
                                       type, op, comm, request_p);
    default:
        return rcx_reduce_scatter_block_init(s->sendbuf, s->recvbuf, a->count,
                                             type, op, comm, request_p);
    }
}

rcx_status_t calls_make_one(struct calls *c, int rank, bool persistent)
{
    return (persistent ? prepare : begin)(&c->call, &c->sides[rank],
                                          rcx_world(c->job->contexts[rank]),
                                          &c->requests[rank]);
}

rcx_status_t calls_block(struct calls *c, int rank)
{
    const struct call *a = &c->call;
    const struct side *s = &c->sides[rank];
    rcx_comm_t *comm = rcx_world(c->job->contexts[rank]);
    const rcx_datatype_t type = a->kind->type;
    const rcx_op_t op = a->kind->op;

    switch (a->coll) {
    case ALLREDUCE:
        return rcx_allreduce(s->sendbuf, s->recvbuf, a->count, type, op, comm);
    case REDUCE:
        return rcx_reduce(s->sendbuf, s->recvbuf, a->count, type, op, a->root,
                          comm);
    case REDUCE_SCATTER:
        return rcx_reduce_scatter(s->sendbuf, s->recvbuf, a->recvcounts, type,
                                  op, comm);
    default:
        return rcx_reduce_scatter_block(s->sendbuf, s->recvbuf, a->count, type,
                                        op, comm);
    }
}

void calls_make(struct calls *c, bool persistent)
{
    for (int rank = 0; rank < c->job->size; rank++)
        assert_ok(calls_make_one(c, rank, persistent));
}

void calls_start(struct calls *c)
{
    for (int rank = 0; rank < c->job->size; rank++)
        assert_ok(rcx_start(c->requests[rank]));
}

void calls_wait(struct calls *c, rcx_status_t expected)
{
    assert_status(job_wait(c->job, c->requests), expected);
}

/* ---- What has to come out ----------------------------------------------- */

/* Element i of the operand of rank, as calls_fill() wrote it. */
static void reduce_serially(const struct calls *c, size_t i, char *result)
{
    const struct kind *kind = c->call.kind;
    char operand[1024];

    kind->fill(result, 0, i);
    for (int rank = 1; rank < c->job->size; rank++) {
        kind->fill(operand, rank, i);
        kind->combine(result, result, operand);
    }
    if (kind->finish)
        kind->finish(result, c->job->size);
}

static void check_side(struct calls *c, int rank)
{
    const struct side *side = &c->sides[rank];
    const size_t element = c->call.kind->bytes;
    const size_t shift = (size_t)(side->result - side->memory);
    size_t first, count;

    own_elements(c, rank, &first, &count);
    if (side->spoils) /* nothing is promised of what is not the result */
        memcpy(side->expected + MARGIN, side->operand, side->operand_bytes);
    for (size_t i = 0; i < count; i++)
        reduce_serially(c, first + i, side->expected + shift + i * element);
    if (memcmp(side->memory, side->expected, side->bytes) != 0)
        print_error("collective %d, form %d, rank %d of %d, root %d, count "
                    "%zu: wrong\n",
                    c->call.coll, c->call.form, rank, c->job->size,
                    c->call.root, c->call.count);
    assert_memory_equal(side->memory, side->expected, side->bytes);
}

void calls_check(struct calls *c)
{
    for (int rank = 0; rank < c->job->size; rank++)
        check_side(c, rank);
}

void calls_run(struct job *job, const struct call *call, bool persistent)
{
    struct calls c;

    calls_open(&c, job, call);
    calls_make(&c, persistent);
    for (int again = 0; again <= persistent; again++) {
        if (persistent) {
            calls_fill(&c);
            calls_start(&c);
        }
        calls_wait(&c, RCX_OK);
        calls_check(&c);
    }
    calls_close(&c);
}

void open_with(struct job *job, int size, const char *name, const char *value,
               const struct job_options *options)
{
    static const struct job_options usual = {.seed = 1};

    if (name)
        setenv(name, value, 1);
    assert_ok(job_open(job, size, options ? options : &usual));
    if (name)
        unsetenv(name);
}
