/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every algorithm of the registry over real UCX, for 1 to 17 ranks in this
 * process, against serial computations from the definitions. Sums are exact, or
 * depend in the last bit on their order; some ops do not commute. Elements have
 * 1 to 536 bytes; buffers are separate and in place (needs 1, 10, 13, 19).
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

enum { RANKS = TIMES(17, 9), FEW_RANKS = 9, STRING_BYTES = 64 };

/* Run all kinds of operand on more than FEW_RANKS ranks too, not one in
 * three. */
static bool full;

/* ---- Elements ------------------------------------------------------------ */

struct operand {
    const char *name;
    struct kind kind; /* type 0: user-defined */
    bool commutes;
    bool rounds;    /* the result depends on the order of operands */
    bool segmented; /* run in segments as well */
};

/* Values whose sum depends on the order of combining. */
static void fill_double(const struct kind *kind, void *element, uint64_t random)
{
    static const double values[] = {1e16, -1e16, 1, 1e16, -1e16, 3, 0.1, -7e15};

    (void)kind;
    memcpy(element, &values[random % 8], sizeof(double));
}

static void fill_float(const struct kind *kind, void *element, uint64_t random)
{
    static const float values[] = {1e8f, -1e8f, 1, 1e8f, -1e8f, 3, 0.1f, -7e7f};

    (void)kind;
    memcpy(element, &values[random % 8], sizeof(float));
}

static float widen(const void *bfloat16)
{
    uint32_t bits = 0;
    float value;

    memcpy((char *)&bits + 2, bfloat16, 2);
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Round a finite value to nearest even. */
static void narrow(void *bfloat16, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    bits += 0x7fff + (bits >> 16 & 1);
    memcpy(bfloat16, (char *)&bits + 2, 2);
}

static void fill_bfloat16(const struct kind *kind, void *element,
                          uint64_t random)
{
    static const float values[] = {256, -256, 1, 300, -300, 3, 0.1f, -77};

    (void)kind;
    narrow(element, values[random % 8]);
}

static void add_bfloat16s(const struct kind *kind, void *dst, const void *left,
                          const void *right)
{
    (void)kind;
    narrow(dst, widen(left) + widen(right));
}

static void fill_words(const struct kind *kind, void *element, uint64_t random)
{
    for (uint32_t i = 0; i < kind->extent / sizeof i; i++) {
        const uint32_t word = (uint32_t)(random >> 20) * (2 * i + 1);

        memcpy((char *)element + i * sizeof i, &word, sizeof word);
    }
}

static void add_words(const struct kind *kind, void *dst, const void *left,
                      const void *right)
{
    for (size_t i = 0; i < kind->extent; i += sizeof(uint32_t)) {
        uint32_t a, b;

        memcpy(&a, (const char *)left + i, sizeof a);
        memcpy(&b, (const char *)right + i, sizeof b);
        a += b;
        memcpy((char *)dst + i, &a, sizeof a);
    }
}

/* A matrix of two by two, modulo 2^32. */
static void fill_matrix(const struct kind *kind, void *element, uint64_t random)
{
    const uint32_t m[] = {(uint32_t)random, (uint32_t)(random >> 16),
                          (uint32_t)(random >> 32), 1};

    (void)kind;
    memcpy(element, m, sizeof m);
}

static void multiply(const struct kind *kind, void *dst, const void *left,
                     const void *right)
{
    uint32_t a[4], b[4], c[4];

    (void)kind;
    memcpy(a, left, sizeof a);
    memcpy(b, right, sizeof b);
    for (int i = 0; i < 4; i++)
        c[i] = a[i & 2] * b[i & 1] + a[(i & 2) + 1] * b[(i & 1) + 2];
    memcpy(dst, c, sizeof c);
}

/* Strings of bounded length: excess characters at the end are cut off. */
static void fill_string(const struct kind *kind, void *element, uint64_t random)
{
    (void)kind;
    snprintf(element, STRING_BYTES, "%c%c", (int)('a' + random % 26),
             (int)('A' + random / 26 % 26));
}

static void concatenate(const struct kind *kind, void *dst, const void *left,
                        const void *right)
{
    char text[2 * STRING_BYTES];

    (void)kind;
    snprintf(text, sizeof text, "%s%s", (const char *)left,
             (const char *)right);
    text[STRING_BYTES - 1] = '\0';
    memset(dst, 0, STRING_BYTES);
    memcpy(dst, text, strlen(text));
}

/* clang-format off */
static const struct operand operands[] = {
    {"uint64 sum", {.type = RCX_UINT64, .op = RCX_SUM}, true, false, true},
    {"float64 sum", {.type = RCX_FLOAT64, .op = RCX_SUM, .fill = fill_double}, true, true, true},
    {"float32 sum", {.type = RCX_FLOAT32, .op = RCX_SUM, .fill = fill_float}, true, true, false},
    {"uint8 sum", {.type = RCX_UINT8, .op = RCX_SUM}, true, false, false},
    {"bfloat16 sum", {.type = RCX_BFLOAT16, .op = RCX_SUM, .fill = fill_bfloat16, .combine = add_bfloat16s}, true, true, false},
    {"matrices", {.extent = 16, .fill = fill_matrix, .combine = multiply}, false, false, true},
    {"strings", {.extent = STRING_BYTES, .fill = fill_string, .combine = concatenate}, false, false, false},
    {"12 bytes", {.extent = 12, .fill = fill_words, .combine = add_words}, true, false, false},
    {"32 bytes", {.extent = 32, .fill = fill_words, .combine = add_words}, true, false, false},
    {"exact float32 sum", {.type = RCX_EXACT_FLOAT32, .op = RCX_SUM}, true, false, false},
    {"exact float64 sum", {.type = RCX_EXACT_FLOAT64, .op = RCX_SUM}, true, false, false},
    {"float32 exact sum", {.type = RCX_FLOAT32, .op = RCX_SUM_EXACT}, true, false, false},
    {"float64 exact sum", {.type = RCX_FLOAT64, .op = RCX_SUM_EXACT}, true, false, false},
    {"bfloat16 float sum", {.type = RCX_BFLOAT16, .op = RCX_SUM_FLOAT}, true, false, false},
    {"100 bytes", {.extent = 100, .fill = fill_words, .combine = add_words}, true, false, true},
};
/* clang-format on */
enum { OPERANDS = sizeof operands / sizeof *operands };

/* ---- One call on all ranks ----------------------------------------------- */

/* Return the order level that algo states for the call just made. */
static rcx_order_t stated_level(const struct calls *c,
                                const struct rcx_algo *algo, bool commutes)
{
    const struct rcx_program *e = world_of(c->job, 0)->cache->recent;
    struct rcx_shape s = {.coll = algo->coll,
                          .size = c->job->size,
                          .root = c->call.root,
                          .count = c->attempts[0].view.count,
                          .elem_bytes = serial_bytes(c->call.kind),
                          .displs = e->call.irregular ? e->displs : NULL,
                          .commutative = commutes,
                          .nodes = world_of(c->job, 0)->members->nodes};

    memcpy(s.params, e->method.params, sizeof s.params);
    return rcx_algo_order(algo, &s);
}

/* Whether rank gets the same result as rank 0: a vector, of the same
 * operands. */
static bool gets_the_same(const struct calls *c, int rank)
{
    const struct collective_row *row = &collectives[c->call.coll];
    const struct part first = row->part(&c->attempts[0].view, 0);
    const struct part part = row->part(&c->attempts[rank].view, 0);

    return row->gets == EXTENT_VECTOR && row->getter == ALL_RANKS &&
           part.lo == first.lo && part.hi == first.hi;
}

static void check(struct calls *c, const struct rcx_algo *algo,
                  const struct operand *o)
{
    const rcx_order_t level = stated_level(c, algo, o->commutes);
    const bool is_known = !o->rounds || level == RCX_ORDER_CANONICAL;

    for (int i = 0; i < c->job->size; i++) {
        struct attempt *a = &c->attempts[i];

        if (is_known ? attempt_check(a) : attempt_check_rest(a))
            fail_msg("%s of %s, rank %d of %d: %s", algo->name, o->name, i,
                     c->job->size, a->problem);
        if (gets_the_same(c, i) && level >= RCX_ORDER_SAME &&
            memcmp(a->result, c->attempts[0].result,
                   a->gotten * serial_bytes(c->call.kind)) != 0)
            fail_msg("%s of %s, p=%d: ranks 0 and %d differ", algo->name,
                     o->name, c->job->size, i);
    }
}

/* The call must be rejected on all ranks alike, or complete on all. */
static void run(struct job *job, const struct call *call,
                const struct rcx_algo *algo, const struct operand *o)
{
    struct calls c;
    rcx_status_t first;

    calls_open(&c, job, call);
    first = calls_make_one(&c, 0, false);
    for (int i = 1; i < job->size; i++)
        assert_status(calls_make_one(&c, i, false), first);
    if (first == RCX_OK) {
        calls_wait(&c, RCX_OK);
        check(&c, algo, o);
    } else {
        assert_status(first, RCX_ERR_UNSUPPORTED);
    }
    calls_close(&c);
}

/* ---- All calls ----------------------------------------------------------- */

enum { COUNTS = 5, MOST_BYTES = 100000 };

/* Over all operands, each count and root is combined with each place. */
static void run_counts(struct job *job, const struct rcx_algo *algo,
                       const struct operand *o, const struct kind *kind)
{
    const size_t p = (size_t)job->size;
    const size_t counts[COUNTS] = {0, 1, p + 1, 7 * p + 3, 900};
    const size_t roots[COUNTS] = {2, 0, 1, p - 1, p / 2};

    for (size_t k = 0; k < COUNTS; k++) {
        size_t blocks[RANKS];
        const struct call call = {
            .coll = collective_by_name(rcx_coll_name(algo->coll)),
            .place = (enum place)((size_t)(o - operands) + k) % (PLACES + 1),
            .kind = kind,
            .count = counts[k],
            .blocks = blocks,
            .root = (int)(roots[k] % p),
            .seed = 7 + k};

        for (size_t i = 0; i < p; i++) /* blocks differ in every other call */
            blocks[i] = k % 2 ? counts[k] / p + (i < counts[k] % p)
                              : i % 3 * (counts[k] / p);
        if (counts[k] * serial_bytes(kind) <= MOST_BYTES)
            run(job, &call, algo, o);
    }
}

static void run_operand(struct job *job, const struct operand *o)
{
    struct kind kind = o->kind;

    for (int i = 0; i < job->size && o->kind.type == 0; i++) {
        assert_ok(rcx_type_create(job->contexts[i], kind.extent, &kind.type));
        assert_ok(rcx_op_create(job->contexts[i], serial_user_op,
                                RCX_OP_EXACT | RCX_OP_NO_FAIL |
                                    o->commutes * RCX_OP_COMMUTATIVE,
                                (void *)&o->kind, &kind.op));
    }
    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++) {
        if (!rcx_coll_has_data((*a)->coll) ||
            ((*a)->is_by_nodes && job->size <= 2))
            continue;
        /* a collective that only moves data does not depend on the op */
        if (!rcx_colls[(*a)->coll].reduces && o != operands && !o->segmented)
            continue;
        job_force(job, *a, SIZE_MAX);
        run_counts(job, *a, o, &kind);
        if (!o->segmented)
            continue;
        job_force(job, *a, 256);
        run_counts(job, *a, o, &kind);
    }
}

static void every_algorithm_has_the_order_level_it_states(void **state)
{
    const struct job_options options = {.ucx = true};
    struct job job;

    assert_ok(job_open(&job, *(const int *)*state, &options));
    /* forced algorithms that do not suit a call are rejected */
    job_hush(&job);
    for (int i = 0; i < OPERANDS; i++)
        if (full || job.size <= FEW_RANKS || (job.size + i) % 3 == 0)
            run_operand(&job, &operands[i]);
    assert_ok(job_close(&job));
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[RANKS];
    char names[RANKS][40];
    int sizes[RANKS];

    full = argc > 1 && strcmp(argv[1], "--full") == 0;
    for (int i = 0; i < RANKS; i++) {
        sizes[i] = i + 1;
        snprintf(names[i], sizeof names[i], "needs_1_10_13_19_with_%d_ranks",
                 sizes[i]);
        tests[i] = (struct CMUnitTest){
            .name = names[i],
            .test_func = every_algorithm_has_the_order_level_it_states,
            .initial_state = &sizes[i]};
    }
    return cmocka_run_group_tests_name("algorithms", tests, NULL, NULL);
}
