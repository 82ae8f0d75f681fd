/* SPDX-License-Identifier: BSD-3-Clause */
#include "trial.h"

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

const char *trial_text(const struct trial *t, char text[200])
{
    static const char *const colls[] = {"allreduce", "reduce", "reduce_scatter",
                                        "reduce_scatter_block"};
    static const char *const forms[] = {"blocking", "nonblocking",
                                        "persistent"};
    static const char *const places[] = {"separate", "RCX_IN_PLACE",
                                         "same pointer", "own block"};

    snprintf(text, 200,
             "%s, %s, %s, type %d of %zu bytes, op %d, count %zu, root %d",
             forms[t->form], colls[t->coll], places[t->place], t->kind.type,
             serial_bytes(&t->kind), t->kind.op, t->count, t->root);
    return text;
}

/* ---- Shape --------------------------------------------------------------- */

static bool scatters(const struct trial *t)
{
    return t->coll == TRIAL_REDUCE_SCATTER ||
           t->coll == TRIAL_REDUCE_SCATTER_BLOCK;
}

/* Blocks of 0 to 3 shares, the rest for one of them; few elements go one by one
 * to any of them. */
static void cut(struct attempt *a)
{
    struct trial *t = &a->trial;
    const size_t size = (size_t)a->size, share = t->count / (3 * size);
    size_t left = t->count;

    for (; share == 0 && left > 0; left--)
        a->blocks[serial_mix(t->seed, left, 2) % size]++;
    if (share == 0)
        return;
    for (size_t i = 0; i < size; i++) {
        a->blocks[i] = (serial_mix(t->seed, i, 1) & 3) * share;
        left -= a->blocks[i];
    }
    a->blocks[t->seed % size] += left;
}

static void measure(struct attempt *a)
{
    struct trial *t = &a->trial;

    a->out_count = t->count;
    if (t->coll == TRIAL_REDUCE && a->rank != t->root)
        a->out_count = 0;
    if (!scatters(t))
        return;
    if (t->coll == TRIAL_REDUCE_SCATTER)
        cut(a);
    else
        for (int i = 0; i < a->size; i++)
            a->blocks[i] = t->count / (size_t)a->size;
    for (int i = 0; i < a->rank; i++)
        a->own += a->blocks[i];
    a->out_count = a->blocks[a->rank];
    if (t->coll == TRIAL_REDUCE_SCATTER_BLOCK)
        t->count = a->out_count * (size_t)a->size;
}

/* ---- Buffers ------------------------------------------------------------- */

/* Canaries at each end of a buffer: two elements at least, and aligned. */
static size_t canary_bytes(const struct attempt *a)
{
    return (2 * serial_bytes(&a->trial.kind) / ALIGNMENT + 1) * ALIGNMENT;
}

static void place_buffers(struct attempt *a)
{
    const struct trial *t = &a->trial;
    char *send = a->memory[0] + canary_bytes(a);
    char *recv = a->memory[1] + canary_bytes(a);
    const bool receives = t->coll != TRIAL_REDUCE || a->rank == t->root;
    const bool block = t->place == TRIAL_OWN_BLOCK && scatters(t);
    const bool separate = t->place == TRIAL_SEPARATE;

    a->operand = send;
    a->sendbuf = send;
    a->recvbuf = separate ? recv : send;
    if (t->place == TRIAL_IN_PLACE && receives)
        a->sendbuf = RCX_IN_PLACE;
    if (block)
        a->recvbuf = send + a->own * serial_bytes(&t->kind);
    a->result = a->recvbuf;
    if ((!receives || (separate && a->out_count == 0)) && t->seed % 2)
        a->recvbuf = NULL;
    if (t->count == 0 && t->seed % 2)
        a->sendbuf = a->recvbuf = NULL;
}

/* Whether the operand may be overwritten. */
static bool in_place(const struct attempt *a)
{
    const struct trial *t = &a->trial;

    if (t->place == TRIAL_SEPARATE ||
        (t->coll == TRIAL_REDUCE && a->rank != t->root))
        return false;
    return !(scatters(t) && t->place == TRIAL_OWN_BLOCK && a->own > 0 &&
             a->out_count == 0);
}

void attempt_load(struct attempt *a, uint64_t seed)
{
    a->trial.seed = seed;
    memset(a->memory[1] + canary_bytes(a), STALE, a->bytes[1]);
    serial_fill(&a->trial.kind, a->operand, 0, a->trial.count, a->rank, seed);
    a->checksum = serial_hash(a->operand, a->bytes[0]);
}

void attempt_open(struct attempt *a, const struct trial *trial,
                  rcx_comm_t *comm)
{
    memset(a, 0, sizeof *a);
    a->trial = *trial;
    a->rank = rcx_comm_rank(comm);
    a->size = rcx_comm_size(comm);
    a->blocks = get((size_t)a->size * sizeof *a->blocks);
    measure(a);
    a->bytes[0] = a->trial.count * serial_bytes(&trial->kind);
    a->bytes[1] = trial->place == TRIAL_SEPARATE
                      ? a->out_count * serial_bytes(&trial->kind)
                      : 0;
    for (int i = 0; i < 2; i++) {
        a->memory[i] = get(a->bytes[i] + 2 * canary_bytes(a));
        memset(a->memory[i], CANARY, a->bytes[i] + 2 * canary_bytes(a));
    }
    place_buffers(a);
    attempt_load(a, trial->seed);
}

/* ---- The call ------------------------------------------------------------ */

static rcx_status_t call_blocking(struct attempt *a, rcx_comm_t *comm)
{
    const struct trial *t = &a->trial;
    const rcx_datatype_t type = t->kind.type;
    const rcx_op_t op = t->kind.op;

    switch (t->coll) {
    case TRIAL_ALLREDUCE:
        return rcx_allreduce(a->sendbuf, a->recvbuf, t->count, type, op, comm);
    case TRIAL_REDUCE:
        return rcx_reduce(a->sendbuf, a->recvbuf, t->count, type, op, t->root,
                          comm);
    case TRIAL_REDUCE_SCATTER:
        return rcx_reduce_scatter(a->sendbuf, a->recvbuf, a->blocks, type, op,
                                  comm);
    default:
        return rcx_reduce_scatter_block(a->sendbuf, a->recvbuf, a->out_count,
                                        type, op, comm);
    }
}

static rcx_status_t call_nonblocking(struct attempt *a, rcx_comm_t *comm)
{
    const struct trial *t = &a->trial;
    const rcx_datatype_t type = t->kind.type;
    const rcx_op_t op = t->kind.op;

    switch (t->coll) {
    case TRIAL_ALLREDUCE:
        return rcx_iallreduce(a->sendbuf, a->recvbuf, t->count, type, op, comm,
                              &a->request);
    case TRIAL_REDUCE:
        return rcx_ireduce(a->sendbuf, a->recvbuf, t->count, type, op, t->root,
                           comm, &a->request);
    case TRIAL_REDUCE_SCATTER:
        return rcx_ireduce_scatter(a->sendbuf, a->recvbuf, a->blocks, type, op,
                                   comm, &a->request);
    default:
        return rcx_ireduce_scatter_block(a->sendbuf, a->recvbuf, a->out_count,
                                         type, op, comm, &a->request);
    }
}

static rcx_status_t prepare_persistent(struct attempt *a, rcx_comm_t *comm)
{
    const struct trial *t = &a->trial;
    const rcx_datatype_t type = t->kind.type;
    const rcx_op_t op = t->kind.op;

    switch (t->coll) {
    case TRIAL_ALLREDUCE:
        return rcx_allreduce_init(a->sendbuf, a->recvbuf, t->count, type, op,
                                  comm, &a->request);
    case TRIAL_REDUCE:
        return rcx_reduce_init(a->sendbuf, a->recvbuf, t->count, type, op,
                               t->root, comm, &a->request);
    case TRIAL_REDUCE_SCATTER:
        return rcx_reduce_scatter_init(a->sendbuf, a->recvbuf, a->blocks, type,
                                       op, comm, &a->request);
    default:
        return rcx_reduce_scatter_block_init(
            a->sendbuf, a->recvbuf, a->out_count, type, op, comm, &a->request);
    }
}

rcx_status_t attempt_call(struct attempt *a, rcx_comm_t *comm)
{
    rcx_status_t status;

    switch (a->trial.form) {
    case TRIAL_BLOCKING: return call_blocking(a, comm);
    case TRIAL_NONBLOCKING: return call_nonblocking(a, comm);
    default:
        status = prepare_persistent(a, comm);
        /* recvcounts were copied */
        memset(a->blocks, 0xff, (size_t)a->size * sizeof *a->blocks);
        return status;
    }
}

/* ---- The verdict --------------------------------------------------------- */

static const char *wrong(struct attempt *a, const char *what, size_t where)
{
    char text[200];

    snprintf(a->problem, sizeof a->problem, "%s at %zu: %.190s", what, where,
             trial_text(&a->trial, text));
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

/* The other blocks, where the result replaced one's own. */
static const char *check_other_blocks(struct attempt *a)
{
    const struct trial *t = &a->trial;
    const size_t bytes = serial_bytes(&t->kind);
    const size_t begin = a->own * bytes, end = begin + a->out_count * bytes;
    char *fresh = get(a->bytes[0]);
    const char *problem = NULL;

    serial_fill(&t->kind, fresh, 0, t->count, a->rank, t->seed);
    if (memcmp(fresh, a->operand, begin) != 0 ||
        memcmp(fresh + end, a->operand + end, a->bytes[0] - end) != 0)
        problem = wrong(a, "another block written", a->own);
    free(fresh);
    return problem;
}

const char *attempt_check(struct attempt *a)
{
    const struct trial *t = &a->trial;
    const char *problem = check_canaries(a);
    size_t where = 0;

    if (problem)
        return problem;
    if (!serial_check(&t->kind, a->result, a->own, a->out_count, a->size,
                      t->seed, &where))
        return wrong(a, "wrong result", where);
    if (!in_place(a) && serial_hash(a->operand, a->bytes[0]) != a->checksum)
        return wrong(a, "sendbuf written", 0);
    if (t->place == TRIAL_OWN_BLOCK && scatters(t) && in_place(a) && a->own > 0)
        return check_other_blocks(a);
    return NULL;
}

void attempt_close(struct attempt *a)
{
    if (a->request)
        rcx_request_free(&a->request);
    free(a->memory[0]);
    free(a->memory[1]);
    free(a->blocks);
}

/* ---- Whole trials -------------------------------------------------------- */

rcx_status_t trial_run(const struct trial *trial, rcx_comm_t *comm,
                       char problem[256])
{
    struct attempt a;
    rcx_status_t status;

    attempt_open(&a, trial, comm);
    status = attempt_call(&a, comm);
    if (status == RCX_OK && trial->form == TRIAL_PERSISTENT)
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

struct trial trial_mixed(const struct serial_kind *kind, size_t count, int size,
                         uint64_t k)
{
    const uint64_t random = serial_mix(k, count, (uint64_t)size);

    return (struct trial){
        .coll = (enum trial_coll)(k % TRIAL_COLLS),
        .form = (enum trial_form)((random >> 8) % TRIAL_FORMS),
        .place = (enum trial_place)((random >> 16) % TRIAL_PLACES),
        .kind = *kind,
        .count = count,
        .root = (int)((random >> 24) % (uint64_t)size),
        .seed = random,
    };
}
