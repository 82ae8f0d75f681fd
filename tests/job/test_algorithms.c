/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every algorithm of the registry over real UCX, for 1 to 17 ranks in this
 * process: exact sums, sums that depend on their order to the last bit, and
 * ops that do not commute, against serial computations from the definitions.
 * Elements of 1 to 100 bytes, buffers apart and in place (needs 1, 10, 13, 19).
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "serial.h"

enum { MOST_RANKS = TIMES(17, 9), ELEMENT_BYTES = 100, STRING_BYTES = 64 };

/* ---- Elements ------------------------------------------------------------ */

struct kind {
    const char *name;
    size_t bytes;
    rcx_datatype_t type; /* 0: one of the user's */
    bool commutes;
    bool rounds;    /* the result depends on the order of operands */
    bool segmented; /* run in segments as well */
    void (*fill)(void *element, uint64_t random);
    void (*combine)(void *dst, const void *left, const void *right);
};

static void fill_byte(void *element, uint64_t random)
{
    memcpy(element, &random, 1);
}

static void add_bytes(void *dst, const void *left, const void *right)
{
    *(uint8_t *)dst =
        (uint8_t)(*(const uint8_t *)left + *(const uint8_t *)right);
}

static void fill_word(void *element, uint64_t random)
{
    memcpy(element, &random, sizeof random);
}

static void add_words(void *dst, const void *left, const void *right)
{
    uint64_t a, b;

    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    a += b;
    memcpy(dst, &a, sizeof a);
}

/* Values whose sum depends on which of them meet first. */
static void fill_double(void *element, uint64_t random)
{
    static const double values[] = {1e16, -1e16, 1, 1e16, -1e16, 3, 0.1, -7e15};

    memcpy(element, &values[random % 8], sizeof(double));
}

static void add_doubles(void *dst, const void *left, const void *right)
{
    double a, b;

    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    a += b;
    memcpy(dst, &a, sizeof a);
}

static void fill_float(void *element, uint64_t random)
{
    static const float values[] = {1e8f, -1e8f, 1, 1e8f, -1e8f, 3, 0.1f, -7e7f};

    memcpy(element, &values[random % 8], sizeof(float));
}

static void add_floats(void *dst, const void *left, const void *right)
{
    float a, b;

    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    a += b;
    memcpy(dst, &a, sizeof a);
}

static float widen(const void *bfloat16)
{
    uint32_t bits = 0;
    float value;

    memcpy((char *)&bits + 2, bfloat16, 2);
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* To nearest even, of finite values. */
static void narrow(void *bfloat16, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    bits += 0x7fff + (bits >> 16 & 1);
    memcpy(bfloat16, (char *)&bits + 2, 2);
}

static void fill_bfloat16(void *element, uint64_t random)
{
    static const float values[] = {256, -256, 1, 300, -300, 3, 0.1f, -77};

    narrow(element, values[random % 8]);
}

static void add_bfloat16s(void *dst, const void *left, const void *right)
{
    narrow(dst, widen(left) + widen(right));
}

static void fill_words(void *element, uint64_t random, size_t bytes)
{
    for (uint32_t i = 0; i < bytes / sizeof i; i++) {
        const uint32_t word = (uint32_t)(random >> 20) * (2 * i + 1);

        memcpy((char *)element + i * sizeof i, &word, sizeof word);
    }
}

static void add_all_words(void *dst, const void *left, const void *right,
                          size_t bytes)
{
    for (size_t i = 0; i < bytes; i += sizeof(uint32_t)) {
        uint32_t a, b;

        memcpy(&a, (const char *)left + i, sizeof a);
        memcpy(&b, (const char *)right + i, sizeof b);
        a += b;
        memcpy((char *)dst + i, &a, sizeof a);
    }
}

#define ELEMENTS_OF(n)                                                         \
    static void fill_##n(void *element, uint64_t random)                       \
    {                                                                          \
        fill_words(element, random, n);                                        \
    }                                                                          \
    static void add_##n(void *dst, const void *left, const void *right)        \
    {                                                                          \
        add_all_words(dst, left, right, n);                                    \
    }
ELEMENTS_OF(12)
ELEMENTS_OF(32)
ELEMENTS_OF(100)

/* Two by two, modulo 2^32. */
static void fill_matrix(void *element, uint64_t random)
{
    const uint32_t m[] = {(uint32_t)random, (uint32_t)(random >> 16),
                          (uint32_t)(random >> 32), 1};

    memcpy(element, m, sizeof m);
}

static void multiply(void *dst, const void *left, const void *right)
{
    uint32_t a[4], b[4], c[4];

    memcpy(a, left, sizeof a);
    memcpy(b, right, sizeof b);
    for (int i = 0; i < 4; i++)
        c[i] = a[i & 2] * b[i & 1] + a[(i & 2) + 1] * b[(i & 1) + 2];
    memcpy(dst, c, sizeof c);
}

/* Strings of bounded length: what does not fit is lost at the end. */
static void fill_string(void *element, uint64_t random)
{
    snprintf(element, STRING_BYTES, "%c%c", (int)('a' + random % 26),
             (int)('A' + random / 26 % 26));
}

static void concatenate(void *dst, const void *left, const void *right)
{
    char text[2 * STRING_BYTES];

    snprintf(text, sizeof text, "%s%s", (const char *)left,
             (const char *)right);
    text[STRING_BYTES - 1] = '\0';
    memset(dst, 0, STRING_BYTES);
    memcpy(dst, text, strlen(text));
}

static const struct kind kinds[] = {
    {"uint64 sum", 8, RCX_UINT64, true, false, true, fill_word, add_words},
    {"float64 sum", 8, RCX_FLOAT64, true, true, true, fill_double, add_doubles},
    {"float32 sum", 4, RCX_FLOAT32, true, true, false, fill_float, add_floats},
    {"uint8 sum", 1, RCX_UINT8, true, false, false, fill_byte, add_bytes},
    {"bfloat16 sum", 2, RCX_BFLOAT16, true, true, false, fill_bfloat16,
     add_bfloat16s},
    {"matrices", 16, 0, false, false, true, fill_matrix, multiply},
    {"strings", STRING_BYTES, 0, false, false, false, fill_string, concatenate},
    {"12 bytes", 12, 0, true, false, false, fill_12, add_12},
    {"32 bytes", 32, 0, true, false, false, fill_32, add_32},
    {"100 bytes", 100, 0, true, false, true, fill_100, add_100},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void fill(const struct kind *kind, void *element, int rank, size_t index)
{
    memset(element, 0, kind->bytes);
    kind->fill(element, serial_mix(7, (uint64_t)rank, index));
}

/* The combined elements of ranks [lo, hi) by the fixed tree. */
static void reduce_tree(const struct kind *kind, void *result, int lo, int hi,
                        size_t index)
{
    char right[ELEMENT_BYTES];
    int split = 1;

    if (hi - lo == 1) {
        fill(kind, result, lo, index);
        return;
    }
    while (2 * split < hi - lo)
        split *= 2;
    reduce_tree(kind, result, lo, lo + split, index);
    reduce_tree(kind, right, lo + split, hi, index);
    kind->combine(result, result, right);
}

/* As MPI_Op_create's functions do, kind after kind. */
static int user_op(void *dst, const void *left, const void *right, size_t count,
                   rcx_datatype_t type, void *arg)
{
    const struct kind *kind = arg;

    (void)type;
    for (size_t i = 0; i < count; i++)
        kind->combine((char *)dst + i * kind->bytes,
                      (const char *)left + i * kind->bytes,
                      (const char *)right + i * kind->bytes);
    return 0;
}

/* ---- One call on all ranks ----------------------------------------------- */

struct call {
    struct job *job;
    const struct rcx_algo *algo;
    const struct kind *kind;
    rcx_datatype_t type;
    rcx_op_t op;
    size_t count; /* of the whole vector */
    int root;
    size_t recvcounts[MOST_RANKS]; /* of reduce_scatter */
    unsigned place; /* one for all ranks, or from rank to rank another */
    char *in[MOST_RANKS], *out[MOST_RANKS];
};

enum place { APART, IN_PLACE, SAME_POINTER, PLACES };

/* Where only the root has a result, only it can be in place. */
static enum place place_of(const struct call *c, int rank)
{
    if (!rcx_coll_gets(c->algo->coll, rank, c->root))
        return APART;
    return (enum place)(c->place < PLACES ? c->place : (unsigned)rank % PLACES);
}

static const void *sendbuf_of(const struct call *c, int rank)
{
    const void *const buffers[PLACES] = {c->in[rank], RCX_IN_PLACE,
                                         c->out[rank]};

    return buffers[place_of(c, rank)];
}

/* Where rank's share of the result begins, and how long it is. */
static size_t share_of(const struct call *c, int rank, size_t *first_p)
{
    *first_p = 0;
    if (!rcx_coll_gets(c->algo->coll, rank, c->root))
        return 0;
    if (!rcx_coll_has_blocks(c->algo->coll))
        return c->count;
    for (int i = 0; i < rank; i++)
        *first_p += c->recvcounts[i];
    return c->recvcounts[rank];
}

static void fill_operand(const struct call *c, int rank, char *vector)
{
    for (size_t i = 0; i < c->count; i++)
        fill(c->kind, vector + i * c->kind->bytes, rank, i);
}

static rcx_status_t start(struct call *c, int rank, rcx_request_t **request_p)
{
    rcx_comm_t *comm = rcx_world(c->job->contexts[rank]);
    const void *send = sendbuf_of(c, rank);

    if (c->algo->coll == RCX_COLL_ALLREDUCE)
        return rcx_iallreduce(send, c->out[rank], c->count, c->type, c->op,
                              comm, request_p);
    if (c->algo->coll == RCX_COLL_REDUCE)
        return rcx_ireduce(send, c->out[rank], c->count, c->type, c->op,
                           c->root, comm, request_p);
    return rcx_ireduce_scatter(send, c->out[rank], c->recvcounts, c->type,
                               c->op, comm, request_p);
}

/* The order level that the algorithm stated for the call just made. */
static rcx_order_t stated_level(const struct call *c)
{
    const struct rcx_program *e = rcx_world(c->job->contexts[0])->cache.recent;
    struct rcx_shape s = {.coll = c->algo->coll,
                          .size = c->job->size,
                          .root = c->root,
                          .count = c->count,
                          .elem_bytes = c->kind->bytes,
                          .displs = e->call.irregular ? e->displs : NULL,
                          .commutative = c->kind->commutes};

    memcpy(s.params, e->method.params, sizeof s.params);
    return rcx_algo_order(c->algo, &s);
}

static void check_operand(const struct call *c, int rank)
{
    char *again = malloc(c->count * c->kind->bytes + 1);

    fill_operand(c, rank, again);
    if (memcmp(again, c->in[rank], c->count * c->kind->bytes) != 0)
        fail_msg("%s: operand of rank %d was written", c->algo->name, rank);
    free(again);
}

static void check_against_tree(const struct call *c, int rank)
{
    const size_t bytes = c->kind->bytes;
    size_t first;
    const size_t n = share_of(c, rank, &first);

    for (size_t i = 0; i < n; i++) {
        char expected[ELEMENT_BYTES];

        reduce_tree(c->kind, expected, 0, c->job->size, first + i);
        if (memcmp(expected, c->out[rank] + i * bytes, bytes) != 0)
            fail_msg("%s %s of %s, %zu elements, p=%d: element %zu of rank %d "
                     "is not what the fixed tree gives",
                     rcx_coll_name(c->algo->coll), c->algo->name, c->kind->name,
                     c->count, c->job->size, i, rank);
    }
}

static void check(const struct call *c)
{
    const rcx_order_t level = stated_level(c);

    for (int i = 0; i < c->job->size; i++) {
        check_operand(c, i);
        if (!c->kind->rounds || level == RCX_ORDER_CANONICAL)
            check_against_tree(c, i);
        if (rcx_colls[c->algo->coll].gets == RCX_EXTENT_VECTOR &&
            !rcx_colls[c->algo->coll].root_gets && level >= RCX_ORDER_SAME &&
            memcmp(c->out[i], c->out[0], c->count * c->kind->bytes) != 0)
            fail_msg("%s of %s, p=%d: ranks 0 and %d differ", c->algo->name,
                     c->kind->name, c->job->size, i);
    }
}

/* Refused on all ranks alike, or done on all. */
static void run(struct call *c)
{
    rcx_request_t *requests[MOST_RANKS];
    rcx_status_t first = RCX_OK;

    for (int i = 0; i < c->job->size; i++) {
        const size_t bytes = c->count * c->kind->bytes + 1;
        rcx_status_t status;

        c->in[i] = malloc(bytes);
        c->out[i] = calloc(bytes, 1);
        fill_operand(c, i, c->in[i]);
        if (place_of(c, i) != APART)
            fill_operand(c, i, c->out[i]);
        status = start(c, i, &requests[i]);
        first = i == 0 ? status : first;
        assert_int_equal(status, first);
    }
    if (first == RCX_OK) {
        assert_ok(job_wait(c->job, requests));
        check(c);
        for (int i = 0; i < c->job->size; i++)
            assert_ok(rcx_request_free(&requests[i]));
    } else {
        assert_int_equal(first, RCX_ERR_UNSUPPORTED);
    }
    for (int i = 0; i < c->job->size; i++) {
        free(c->in[i]);
        free(c->out[i]);
    }
}

/* ---- All calls ----------------------------------------------------------- */

enum { COUNTS = 5 };

/* Over all kinds, each count and root meets each place. */
static void run_counts(struct call *c)
{
    const size_t p = (size_t)c->job->size;
    const size_t counts[COUNTS] = {0, 1, p + 1, 7 * p + 3, 900};
    const size_t roots[COUNTS] = {2, 0, 1, p - 1, p / 2};

    for (size_t k = 0; k < COUNTS; k++) {
        c->count = 0;
        c->root = (int)(roots[k] % p);
        c->place = (unsigned)(c->kind - kinds + (ptrdiff_t)k) % (PLACES + 1);
        for (size_t i = 0; i < p; i++) { /* irregular in every other call */
            c->recvcounts[i] = k % 2 ? counts[k] / p + (i < counts[k] % p)
                                     : i % 3 * (counts[k] / p);
            c->count += c->recvcounts[i];
        }
        if (!rcx_coll_has_blocks(c->algo->coll))
            c->count = counts[k];
        run(c);
    }
}

static void run_kind(struct job *job, const struct kind *kind)
{
    struct call c = {
        .job = job, .kind = kind, .type = kind->type, .op = RCX_SUM};

    for (int i = 0; i < job->size && kind->type == 0; i++) {
        assert_ok(rcx_type_create(job->contexts[i], kind->bytes, &c.type));
        assert_ok(rcx_op_create(job->contexts[i], user_op,
                                RCX_OP_EXACT | RCX_OP_NO_FAIL |
                                    kind->commutes * RCX_OP_COMMUTATIVE,
                                (void *)kind, &c.op));
    }
    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++) {
        if (!rcx_colls[(*a)->coll].reduces)
            continue;
        c.algo = *a;
        job_force(job, *a, SIZE_MAX);
        run_counts(&c);
        if (!kind->segmented)
            continue;
        job_force(job, *a, 256);
        run_counts(&c);
    }
}

/* That algorithms are refused is expected. */
static void ignore(rcx_log_level_t level, const char *text, void *arg)
{
    (void)level, (void)text, (void)arg;
}

static void every_algorithm_gives_what_it_states(void **state)
{
    const struct job_options options = {.ucx = true};
    struct job job;

    assert_ok(job_open(&job, *(const int *)*state, &options));
    for (int i = 0; i < job.size; i++)
        job.contexts[i]->log.fn = ignore;
    for (int i = 0; i < KINDS; i++)
        run_kind(&job, &kinds[i]);
    assert_ok(job_close(&job));
}

int main(void)
{
    struct CMUnitTest tests[MOST_RANKS];
    char names[MOST_RANKS][40];
    int sizes[MOST_RANKS];

    for (int i = 0; i < MOST_RANKS; i++) {
        sizes[i] = i + 1;
        snprintf(names[i], sizeof names[i], "needs_1_10_13_19_with_%d_ranks",
                 sizes[i]);
        tests[i] = (struct CMUnitTest){.name = names[i],
                                       .test_func =
                                           every_algorithm_gives_what_it_states,
                                       .initial_state = &sizes[i]};
    }
    return cmocka_run_group_tests_name("algorithms", tests, NULL, NULL);
}
