/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RCX_SUM_FLOAT and RCX_AVG_FLOAT: kernels of rows at every instruction set
 * level, and calls over the simulated network, with all operands of an element
 * at one rank and in stages. What is expected is computed in float, by the
 * fixed tree, and rounded once (serial.c).
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "core/op/float_rows.h"
#include "core/run/request/exact_stages.h"
#include "reference.h"

/* ---- Rows ---------------------------------------------------------------- */

enum { LENGTH = 1100, KINDS = 4 };

/* Any bits: subnormal numbers, infinities and NaN among them. */
static void fill_any(const struct kind *kind, void *element, uint64_t random)
{
    const uint16_t half = (uint16_t)random;

    (void)kind;
    memcpy(element, &half, sizeof half);
}

/* Numbers from -1 to 1, whose sums round in float as well. */
static void fill_usual(const struct kind *kind, void *element, uint64_t random)
{
    const uint16_t half =
        reference_encode((double)(int32_t)random * 0x1p-31, kind->type);

    memcpy(element, &half, sizeof half);
}

static const struct kind any[KINDS] = {
    {.type = RCX_BFLOAT16, .op = RCX_SUM_FLOAT, .fill = fill_any},
    {.type = RCX_FLOAT16, .op = RCX_AVG_FLOAT, .fill = fill_any},
    {.type = RCX_FLOAT16, .op = RCX_SUM_FLOAT, .fill = fill_any},
    {.type = RCX_BFLOAT16, .op = RCX_AVG_FLOAT, .fill = fill_usual}};
static const struct kind usual[KINDS] = {
    {.type = RCX_BFLOAT16, .op = RCX_SUM_FLOAT, .fill = fill_usual},
    {.type = RCX_FLOAT16, .op = RCX_AVG_FLOAT, .fill = fill_usual},
    {.type = RCX_FLOAT16, .op = RCX_SUM_FLOAT, .fill = fill_usual},
    {.type = RCX_BFLOAT16, .op = RCX_AVG_FLOAT, .fill = fill_usual}};
static const struct kind whole[KINDS] = {
    {.type = RCX_BFLOAT16, .op = RCX_SUM_FLOAT},
    {.type = RCX_FLOAT16, .op = RCX_SUM_FLOAT},
    {.type = RCX_BFLOAT16, .op = RCX_AVG_FLOAT},
    {.type = RCX_FLOAT16, .op = RCX_AVG_FLOAT}};

static void check_rows(const struct kind *kind, enum rcx_isa isa, int p,
                       size_t n)
{
    static uint16_t x[RCX_EXACT_ROWS][LENGTH];
    const struct part part = {.lo = 0, .hi = p, .index = 0, .count = n};
    const uint64_t seed = (uint64_t)p + n;
    const void *row[RCX_EXACT_ROWS];
    void *const dst = x[p / 2]; /* an operand */
    size_t wrong;

    for (int k = 0; k < p; k++) {
        serial_fill(kind, x[k], 0, n, k, seed);
        row[k] = x[k];
    }
    rcx_float_rows_find(isa, kind->op, kind->type)(dst, row, (unsigned)p, n);
    if (!serial_check(kind, dst, &part, seed, &wrong))
        fail_msg("isa %d, op %d, type %d, %d rows: element %zu", (int)isa,
                 kind->op, kind->type, p, wrong);
}

static void rows_have_the_sum_of_the_fixed_tree(void **state)
{
    (void)state;
    for (int isa = 0; isa < RCX_ISA_COUNT; isa++)
        for (int p = 2; p <= RCX_EXACT_ROWS; p += p < 18 ? 1 : 23)
            for (int i = 0; i < KINDS; i++) {
                if (!rcx_isa_available((enum rcx_isa)isa))
                    continue;
                check_rows(&any[i], (enum rcx_isa)isa, p,
                           p == 3 ? LENGTH : (size_t)(p % 40));
                check_rows(&usual[i], (enum rcx_isa)isa, p, 33);
            }
}

static void no_other_op_or_type_has_such_rows(void **state)
{
    (void)state;
    assert_null(rcx_float_rows_find(RCX_ISA_BASELINE, RCX_SUM, RCX_BFLOAT16));
    assert_null(
        rcx_float_rows_find(RCX_ISA_BASELINE, RCX_SUM_FLOAT, RCX_FLOAT32));
}

/* ---- Calls --------------------------------------------------------------- */

/* Algorithms that combine parts of the operands: calls have stages. */
static const char *const forced[][2] = {{"RCX_ALLREDUCE", "ring"},
                                        {"RCX_REDUCE", "binomial"},
                                        {"RCX_REDUCE_SCATTER", "ring"}};
enum { FORCED = sizeof forced / sizeof *forced };

static void open_job(struct job *job, int size, bool in_stages,
                     const char *order)
{
    for (int i = 0; i < FORCED && in_stages; i++)
        setenv(forced[i][0], forced[i][1], 1);
    open_with(job, size, order ? "RCX_ORDER" : NULL, order, NULL);
    for (int i = 0; i < FORCED; i++)
        unsetenv(forced[i][0]);
}

static struct call call_of(enum collective coll, size_t count,
                           const struct kind *kind)
{
    return (struct call){.coll = coll,
                         .form = NONBLOCKING,
                         .place = MIXED,
                         .kind = kind,
                         .count = count,
                         .seed = count};
}

static void check_collectives(struct job *job, const struct kind kinds[])
{
    static const size_t counts[] = {1, 0, 4, 130, 1025};

    for (int i = 0; i < COLLECTIVES * 5; i++) {
        const struct kind *const kind = &kinds[(i + job->size) % KINDS];
        struct call call =
            call_of((enum collective)(i / 5), counts[i % 5], kind);

        call.root = job->size - 1;
        if (collectives[call.coll].reduces &&
            collective_takes(call.coll, kind->op))
            calls_run(job, &call, i % 2);
    }
}

static void every_collective_rounds_once(void **state)
{
    (void)state;
    for (int p = 1; p <= 9; p++)
        for (int in_stages = 0; in_stages < 2; in_stages++) {
            struct job job;

            open_job(&job, p, in_stages, NULL);
            check_collectives(&job, whole);
            assert_ok(job_close(&job));
        }
}

/* Not ring: it keeps no such order. */
static void canonical_sums_are_those_of_the_fixed_tree(void **state)
{
    static const int sizes[] = {2, 3, 7, 13};

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct job job;

        open_job(&job, sizes[i], false, "canonical");
        check_collectives(&job, usual);
        assert_ok(job_close(&job));
    }
}

static void sums_at_once_are_canonical_at_every_level(void **state)
{
    static const enum collective colls[] = {ALLREDUCE, REDUCE_SCATTER};

    (void)state;
    for (int i = 0; i < 2 * KINDS; i++) {
        const struct call call = call_of(colls[i % 2], 999, &usual[i / 2]);
        struct job job;

        open_job(&job, 3 + i, false, "same");
        calls_run(&job, &call, i / 2 % 2);
        assert_int_equal(world_of(&job, 0)->cache->recent->call.role,
                         RCX_CALL_USERS);
        assert_ok(job_close(&job));
    }
}

/* 64 operands are combined at once, more in stages, as floats. */
static void more_than_64_ranks_send_floats(void **state)
{
    (void)state;
    for (int p = 64; p <= 65; p++) {
        const struct call call = call_of(ALLREDUCE, 65, &whole[0]);
        struct job job;

        open_job(&job, p, false, NULL);
        calls_run(&job, &call, false);
        assert_int_equal(world_of(&job, 0)->cache->recent->call.role,
                         p > 64 ? RCX_CALL_FLOATS : RCX_CALL_USERS);
        assert_ok(job_close(&job));
    }
}

/* Also at level uniform, where all elements have one bracketing: all chunks
 * have one program. */
static void chunks_are_equal_and_run_one_after_another(void **state)
{
    static const struct {
        enum collective coll;
        size_t count;
        uint64_t chunks;
    } cases[] = {{ALLREDUCE, RCX_EXACT_CHUNK, 1},
                 {ALLREDUCE, RCX_EXACT_CHUNK + 1, 2},
                 {SCAN, 2 * RCX_EXACT_CHUNK + 5, 3},
                 {EXSCAN, 2 * RCX_EXACT_CHUNK + 5, 3},
                 {REDUCE, 2 * RCX_EXACT_CHUNK + 5, 3}};

    (void)state;
    for (int i = 0; i < 5; i++) {
        struct call call =
            call_of(cases[i].coll, cases[i].count, &whole[i % 2]);
        struct calls c;
        struct job job;

        open_job(&job, 3, true, NULL);
        calls_open(&c, &job, &call);
        calls_make(&c, true);
        for (int start = 0; start < 3; start++) {
            calls_fill(&c);
            calls_start(&c);
            calls_wait(&c, RCX_OK);
            calls_check(&c);
        }
        assert_int_equal(c.requests[0]->total, cases[i].chunks);
        assert_int_equal(c.requests[0]->stage_count, 1);
        calls_close(&c);
        assert_ok(job_close(&job));
    }
}

/* Numbers of the sequence are those of all chunks. */
static void several_calls_may_be_under_way(void **state)
{
    enum { CALLS = 6 };
    const struct rcx_tag_layout *const layout = &RCX_TAG_LAYOUT;
    const struct job_options options = {.layout = layout, .seed = 3};
    struct calls c[CALLS];
    struct job job;

    (void)state;
    open_with(&job, 4, "RCX_ALLREDUCE", "ring", &options);
    for (int i = 0; i < CALLS; i++) {
        const struct call call =
            call_of(i % 3 ? SCAN : ALLREDUCE, i == 2 ? 70000 : (size_t)i * 100,
                    i % 3 == 1 ? &sums : &whole[i % 2]);

        calls_open(&c[i], &job, &call);
        calls_make(&c[i], false);
    }
    for (int i = CALLS - 1; i >= 0; i--) {
        calls_wait(&c[i], RCX_OK);
        calls_check(&c[i]);
        calls_close(&c[i]);
    }
    assert_ok(job_close(&job));
}

/* Averages are not for prefix reductions. */
static void averages_of_scans_are_refused(void **state)
{
    static uint16_t in[4], out[4];
    struct job job;

    (void)state;
    open_job(&job, 1, false, NULL);
    job_hush(&job);
    assert_status(
        rcx_scan(in, out, 4, RCX_BFLOAT16, RCX_AVG_FLOAT, world_of(&job, 0)),
        RCX_ERR_UNSUPPORTED);
    assert_ok(job_close(&job));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_the_sum_of_the_fixed_tree),
        cmocka_unit_test(no_other_op_or_type_has_such_rows),
        cmocka_unit_test(every_collective_rounds_once),
        cmocka_unit_test(canonical_sums_are_those_of_the_fixed_tree),
        cmocka_unit_test(sums_at_once_are_canonical_at_every_level),
        cmocka_unit_test(more_than_64_ranks_send_floats),
        cmocka_unit_test(chunks_are_equal_and_run_one_after_another),
        cmocka_unit_test(several_calls_may_be_under_way),
        cmocka_unit_test(averages_of_scans_are_refused),
    };

    return cmocka_run_group_tests_name("float_sums", tests, NULL, NULL);
}
