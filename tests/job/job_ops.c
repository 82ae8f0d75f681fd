/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of job_main: user-defined ops and types, ops that fail, and equal bits
 * of floating-point results between ranks and between calls. */
#include "job.h"

#include <stdlib.h>

#include "reference.h"

/* ---- User-defined ops and types ------------------------------------------ */

void job_user_ops(struct member *m)
{
    static const size_t extents[] = {1,  2,  3,   4,   7,   8,   12,  16,
                                     31, 32, 100, 255, 256, 999, 1000};
    const size_t p = (size_t)m->size;
    const size_t counts[] = {1, p + 1, 7 * p + 3, 2000};
    uint64_t k = 0;

    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++) {
        struct kind kind = {.extent = extents[i]};

        job_require(m, rcx_type_create(m->context, kind.extent, &kind.type),
                    "rcx_type_create");
        job_require(m,
                    rcx_op_create(m->context, serial_user_op,
                                  i % 2 ? RCX_OP_NO_FAIL : 0, &kind, &kind.op),
                    "rcx_op_create");
        for (int c = 0; c < (m->brief ? 2 : 4); c++, k++) {
            const struct call call = call_mixed(&kind, counts[c], m->size, k);

            job_call(m, &call);
        }
        job_require(m, rcx_op_free(m->context, &kind.op), "rcx_op_free");
        kind.op = RCX_REPLACE;
        for (int c = 0; c < 2; c++, k++) {
            const struct call call = call_mixed(&kind, counts[c], m->size, k);

            job_call(m, &call);
            kind.op = RCX_NO_OP;
        }
        job_require(m, rcx_type_free(m->context, &kind.type), "rcx_type_free");
    }
}

struct failing {
    int left; /* calls until it fails; below 0: it never fails */
};

static int failing_op(void *dst, const void *left, const void *right,
                      size_t count, rcx_datatype_t type, void *arg)
{
    struct failing *failing = arg;

    (void)type;
    for (size_t i = 0; i < count; i++)
        ((uint64_t *)dst)[i] =
            ((const uint64_t *)left)[i] + ((const uint64_t *)right)[i];
    return failing->left >= 0 && failing->left-- == 0;
}

static void add_word(const struct kind *kind, void *dst, const void *left,
                     const void *right)
{
    (void)kind;
    *(uint64_t *)dst = *(const uint64_t *)left + *(const uint64_t *)right;
}

/* Make one call with op; if it succeeds, check the result. */
static rcx_status_t call_failing(struct member *m, rcx_op_t op,
                                 enum collective coll, size_t count)
{
    const struct kind kind = {
        .type = RCX_UINT64, .op = op, .combine = add_word};
    const bool equal = collective_has_equal_blocks(coll);
    const struct call call = {.coll = coll,
                              .kind = &kind,
                              .count = equal ? count / (size_t)m->size : count,
                              .root = m->size - 1};
    struct attempt a;
    rcx_status_t status;

    attempt_open(&a, &call, m->comm);
    status = attempt_call(&a, m->comm);
    if (status == RCX_OK && attempt_check(&a))
        job_fail(m, "%s", a.problem);
    attempt_close(&a);
    return status;
}

/* All ranks must have got the same status. */
static void require_agreement(struct member *m, rcx_status_t status, int k)
{
    uint64_t seen[2] = {status == RCX_ERR_OP, status == RCX_OK};

    job_require(
        m, rcx_allreduce(RCX_IN_PLACE, seen, 2, RCX_UINT64, RCX_SUM, m->comm),
        "after failing op");
    if (seen[status == RCX_OK] != (uint64_t)m->size)
        job_fail(m, "failing op %d: ranks differ in status", k);
}

enum fails { ALL, ONE, NONE, CASES };

/* Make a call whose op fails on the given ranks. All ranks must get the same
 * status, and later calls must work. */
static void try_failing(struct member *m, enum fails ranks,
                        enum collective coll, int k)
{
    const size_t count = k % 2 ? 50000 : 2 * (size_t)m->size;
    const bool fails = ranks == ONE ? m->rank == k % m->size : ranks == ALL;
    struct failing failing = {fails ? 0 : -1};
    rcx_status_t status;
    rcx_op_t op;

    job_require(m,
                rcx_op_create(m->context, failing_op, RCX_OP_COMMUTATIVE,
                              &failing, &op),
                "rcx_op_create");
    m->expect_log = true;
    status = call_failing(m, op, coll, count);
    m->expect_log = m->forced;
    /* a rank that never combines in this collective cannot fail it */
    if (ranks == ALL && status != RCX_ERR_OP)
        job_fail(m, "failing op %d gave: %s", k, rcx_status_string(status));
    if (ranks == NONE && status != RCX_OK)
        job_fail(m, "op %d gave: %s", k, rcx_status_string(status));
    require_agreement(m, status, k);
    job_require(m, rcx_op_free(m->context, &op), "rcx_op_free");
}

void job_failing_op(struct member *m)
{
    for (int k = 0; k < CASES * COLLECTIVES * 2 && m->size > 1; k++) {
        const enum collective coll = (enum collective)(k / 2 % COLLECTIVES);

        /* with two ranks no rank combines in an exscan */
        if (collectives[coll].reduces && (coll != EXSCAN || m->size > 2))
            try_failing(m, (enum fails)(k / 2 / COLLECTIVES), coll, k);
    }
}

/* ---- The same bits ------------------------------------------------------- */

/* Store values whose sum depends, in all its bits, on the order of
 * combining. */
static void fill_adversarial(char *vector, rcx_datatype_t type, size_t count,
                             int rank)
{
    static const double wide[] = {1e16, -1e16, 1, 0.1, -3e7};
    static const double half[] = {2048, -2048, 1, 0.1, -33};

    for (size_t i = 0; i < count; i++) {
        const uint64_t random = serial_mix(i / 4, (uint64_t)rank, 6);
        const double value = (type == RCX_FLOAT16 ? half : wide)[random % 5];
        const uint16_t bits =
            type <= RCX_BFLOAT16 ? reference_encode(value, type) : 0;

        if (type == RCX_FLOAT64)
            ((double *)vector)[i] = value;
        else if (type == RCX_FLOAT32)
            ((float *)vector)[i] = (float)value;
        else
            ((uint16_t *)vector)[i] = bits;
    }
}

/* The maximum and the minimum of all ranks' hashes must be this rank's hash. */
static void require_equal_hashes(struct member *m, uint64_t hash)
{
    uint64_t extremes[2] = {hash, ~hash};

    job_require(
        m,
        rcx_allreduce(RCX_IN_PLACE, extremes, 2, RCX_UINT64, RCX_MAX, m->comm),
        "allreduce of hashes");
    if (extremes[0] != hash || extremes[1] != ~hash)
        job_fail(m, "the bits of a result differ between ranks");
}

static void repeat(struct member *m, rcx_datatype_t type, rcx_op_t op,
                   size_t count)
{
    const size_t bytes = reference_bytes(type) * count;
    char *in = malloc(2 * bytes), *out = in + bytes;
    uint64_t first = 0;

    if (!in)
        abort();
    fill_adversarial(in, type, count, m->rank);
    for (int i = 0; i < (m->brief ? 3 : 20); i++) {
        const bool in_place = (i + m->rank) % 3 == 0;
        uint64_t hash;

        if (in_place)
            fill_adversarial(out, type, count, m->rank);
        job_delay(m);
        job_require(m,
                    rcx_allreduce(in_place ? RCX_IN_PLACE : in, out, count,
                                  type, op, m->comm),
                    "allreduce");
        hash = serial_hash(out, bytes);
        first = i ? first : hash;
        if (hash != first)
            job_fail(m, "the bits of a result differ between calls");
        require_equal_hashes(m, hash);
    }
    free(in);
}

void job_same_bits(struct member *m)
{
    static const rcx_datatype_t types[] = {RCX_FLOAT16, RCX_BFLOAT16,
                                           RCX_FLOAT32, RCX_FLOAT64};
    static const size_t counts[] = {1, 1000, 40000, 300000};

    for (int t = 0; t < 4; t++)
        for (int c = 0; c < (t == 3 && !m->brief ? 4 : 2); c++)
            repeat(m, types[t], c % 2 ? RCX_AVG : RCX_SUM, counts[c]);
}
