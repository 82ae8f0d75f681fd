/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several reductions in one pass: the bits are those of one reduction after the
 * other, for all ops, types and instruction sets, and for trees of any shape.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/random.h"
#include "core/op/kernels.h"
#include "core/op/reducer.h"
#include "reference.h"

enum {
    MOST = 8,
    ELEMENTS = 5000, /* several blocks of every type */
    VECTOR_BYTES = ELEMENTS * REFERENCE_BYTES,
    SHAPES = 4000,
    SEED = 7
};

/* Vectors of a tree: its operands, and the results of its reductions. */
static char *sources[MOST];
static char *operands[MOST], *results[MOST], *expected[MOST];

static void *vector(void)
{
    void *ptr = aligned_alloc(64, VECTOR_BYTES);

    assert_non_null(ptr);
    return ptr;
}

static int set_up(void **state)
{
    (void)state;
    for (int i = 0; i < MOST; i++) {
        sources[i] = vector();
        operands[i] = vector();
        results[i] = vector();
        expected[i] = vector();
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < MOST; i++) {
        free(sources[i]);
        free(operands[i]);
        free(results[i]);
        free(expected[i]);
    }
    return 0;
}

/* Fill the sources with samples: each meets each other one. */
static void fill_sources(rcx_datatype_t type, uint64_t *random)
{
    static _Alignas(16) char samples[REFERENCE_SAMPLES * REFERENCE_BYTES];
    const size_t bytes = reference_bytes(type);
    const size_t n = reference_samples(samples, type);

    for (int k = 0; k < MOST; k++)
        for (size_t i = 0; i < ELEMENTS; i++)
            memcpy(sources[k] + i * bytes,
                   samples + rcx_random(random) % n * bytes, bytes);
}

/* ---- Trees --------------------------------------------------------------- */

/* A tree over operands in their order. A node below MOST is an operand, others
 * are the results of parts. */
struct tree {
    unsigned operands, parts;
    unsigned left[MOST], right[MOST];
    bool is_final;
};

/* Add a tree of random shape over operands lo to hi - 1; returns its root. */
static unsigned grow(struct tree *t, unsigned lo, unsigned hi, uint64_t *random)
{
    const unsigned mid =
        hi - lo < 2 ? hi
                    : lo + 1 + (unsigned)(rcx_random(random) % (hi - lo - 1));
    unsigned left, right;

    if (hi - lo == 1)
        return lo;
    left = grow(t, lo, mid, random);
    right = grow(t, mid, hi, random);
    t->left[t->parts] = left;
    t->right[t->parts] = right;
    return MOST + t->parts++;
}

static struct tree random_tree(uint64_t *random)
{
    struct tree t = {.operands =
                         2 + (unsigned)(rcx_random(random) % (MOST - 1))};

    grow(&t, 0, t.operands, random);
    return t;
}

static bool is_left_chain(const struct tree *t)
{
    bool is = true;

    for (unsigned i = 0; i < t->parts; i++)
        is = is && t->right[i] < MOST && t->left[i] == (i ? MOST + i - 1 : 0);
    return is;
}

/* Make the parts one after the other, each with a vector of its own. */
static void reduce_in_steps(const struct tree *t, const struct rcx_reducer *r,
                            size_t count)
{
    for (unsigned i = 0; i < t->parts; i++) {
        char *const left = t->left[i] < MOST ? sources[t->left[i]]
                                             : expected[t->left[i] - MOST];
        char *const right = t->right[i] < MOST ? sources[t->right[i]]
                                               : expected[t->right[i] - MOST];

        assert_ok(rcx_reducer_apply(r, expected[i], left, right, count));
    }
    if (t->is_final)
        r->finish(expected[t->parts - 1], NULL, NULL, count, r->ranks);
}

/* Places of results: vectors of their own, or that of an operand, or for a
 * chain that of the last result. */
enum places { OWN, IN_PLACE, LAST, PLACES };

static rcx_status_t reduce_at_once(const struct tree *t,
                                   const struct rcx_reducer *r, size_t count,
                                   enum places places)
{
    struct rcx_reduction list[MOST];
    char *at[2 * MOST];
    bool stays[2 * MOST] = {false};

    for (unsigned i = 0; i < t->operands; i++)
        at[i] = memcpy(operands[i], sources[i], count * r->elem_bytes);
    for (unsigned i = 0; i < t->parts; i++) {
        const bool is_last = i == t->parts - 1;
        const unsigned l = t->left[i], rt = t->right[i];

        at[MOST + i] = is_last || places == LAST ? results[0]
                       : places == IN_PLACE      ? at[i % 2 ? l : rt]
                                                 : results[1 + i];
        stays[MOST + i] = !is_last && places != LAST;
        list[i] = (struct rcx_reduction){.dst = at[MOST + i],
                                         .left = at[l],
                                         .right = at[rt],
                                         .dst_stays = stays[MOST + i],
                                         .left_stays = stays[l],
                                         .right_stays = stays[rt]};
    }
    return rcx_reducer_apply_many(r, list, t->parts, count, t->is_final);
}

static void check(const struct tree *t, const struct rcx_reducer *r,
                  size_t count)
{
    const char *const right = expected[t->parts - 1];
    const size_t bytes = r->elem_bytes;

    for (size_t i = 0; i < count; i++)
        if (!reference_equal(results[0] + i * bytes, right + i * bytes,
                             rcx_type_canonical(r->type)))
            fail_msg("%s, %u operands, element %zu of %zu",
                     rcx_type_predefined(r->type)->name, t->operands, i, count);
    for (size_t i = count * bytes; i < count * bytes + 64; i++)
        assert_int_equal(results[0][i], 0x5A);
}

static void try_tree(const struct tree *t, const struct rcx_reducer *r,
                     size_t count)
{
    reduce_in_steps(t, r, count);
    for (enum places places = 0; places < PLACES; places++) {
        if (places == LAST && !is_left_chain(t))
            continue;
        memset(results[0], 0x5A, count * r->elem_bytes + 64);
        assert_ok(reduce_at_once(t, r, count, places));
        check(t, r, count);
    }
}

/* ---- Predefined ops ------------------------------------------------------ */

static void try_kernel(rcx_op_t op, rcx_datatype_t type, enum rcx_isa isa,
                       uint64_t *random)
{
    const struct rcx_reducer r = {.kernel = rcx_kernel_find(isa, op, type),
                                  .type = type,
                                  .elem_bytes = reference_bytes(type)};

    if (!r.kernel || !rcx_isa_available(isa))
        return;
    for (int i = 0; i < 6; i++) {
        const struct tree t = random_tree(random);

        try_tree(&t, &r, 1 + rcx_random(random) % (ELEMENTS - 100));
    }
}

static void all_kernels_give_the_bits_of_single_reductions(void **state)
{
    uint64_t random = SEED;

    (void)state;
    for (rcx_datatype_t type = 1; type < RCX_TYPE_END; type++) {
        if (rcx_type_canonical(type) != type)
            continue;
        fill_sources(type, &random);
        for (rcx_op_t op = RCX_OP_FIRST; op < RCX_OP_END; op++)
            for (int isa = 0; isa < RCX_ISA_COUNT; isa++)
                try_kernel(op, type, (enum rcx_isa)isa, &random);
    }
}

/* Subtraction: a wrong bracketing or order shows. */
static void subtract(void *dst, const void *left, const void *right,
                     size_t count)
{
    const uint64_t *l = left, *r = right;

    for (size_t i = 0; i < count; i++)
        ((uint64_t *)dst)[i] = 3 * l[i] - r[i];
}

/* What is finished twice, or not, shows. */
static void finish(void *dst, const void *left, const void *right, size_t count,
                   int ranks)
{
    if (right)
        subtract(dst, left, right, count);
    for (size_t i = 0; i < count; i++)
        ((uint64_t *)dst)[i] += (uint64_t)ranks;
}

static void trees_of_any_shape_keep_their_brackets(void **state)
{
    const struct rcx_reducer r = {.kernel = subtract,
                                  .type = RCX_UINT64,
                                  .elem_bytes = sizeof(uint64_t),
                                  .finish = finish,
                                  .ranks = 3};
    static const size_t counts[] = {1,    2,    1023, 1024, 1025,
                                    2047, 2048, 2049, 4000};
    uint64_t random = SEED;

    (void)state;
    fill_sources(RCX_UINT64, &random);
    for (int i = 0; i < SHAPES; i++) {
        struct tree t = random_tree(&random);

        t.is_final = i / 9 % 2;
        try_tree(&t, &r, counts[i % 9]);
    }
}

/* Later blocks of an intermediate result take the place of the first one. */
static void intermediate_results_stay_in_their_first_block(void **state)
{
    const struct rcx_reducer r = {
        .kernel = subtract, .type = RCX_UINT64, .elem_bytes = sizeof(uint64_t)};
    uint64_t random = SEED;

    (void)state;
    fill_sources(RCX_UINT64, &random);
    for (int i = 0; i < 100; i++) {
        const struct tree t = random_tree(&random);

        for (int k = 1; k < MOST; k++)
            memset(results[k], 0x5A, ELEMENTS * sizeof(uint64_t));
        assert_ok(reduce_at_once(&t, &r, ELEMENTS, OWN));
        for (unsigned k = 1; k < t.parts; k++)
            for (size_t byte = 16384; byte < ELEMENTS * sizeof(uint64_t);
                 byte++)
                require(results[k][byte] == 0x5A);
    }
}

/* ---- User ops ------------------------------------------------------------ */

static struct {
    int calls, fails_at;
    size_t count;
} user;

static int user_op(void *dst, const void *left, const void *right, size_t count,
                   rcx_datatype_t type, void *arg)
{
    (void)type;
    assert_ptr_equal(arg, &user);
    user.count = count;
    if (user.calls++ == user.fails_at)
        return 1;
    subtract(dst, left, right, count);
    return 0;
}

static const struct rcx_reducer user_reducer = {
    .fn = user_op, .arg = &user, .elem_bytes = sizeof(uint64_t)};

static void a_user_op_gets_whole_vectors(void **state)
{
    uint64_t random = SEED;

    (void)state;
    fill_sources(RCX_UINT64, &random);
    user.fails_at = -1;
    for (int i = 0; i < 100; i++) {
        const struct tree t = random_tree(&random);

        reduce_in_steps(&t, &user_reducer, 4000);
        user.calls = 0;
        assert_ok(reduce_at_once(&t, &user_reducer, 4000, i % LAST));
        assert_int_equal(user.calls, t.parts);
        assert_int_equal(user.count, 4000);
        assert_memory_equal(results[0], expected[t.parts - 1],
                            4000 * sizeof(uint64_t));
    }
}

static void a_user_op_that_fails_is_not_called_again(void **state)
{
    uint64_t random = SEED;

    (void)state;
    for (int i = 0; i < 100; i++) {
        const struct tree t = random_tree(&random);

        user.calls = 0;
        user.fails_at = (int)(rcx_random(&random) % t.parts);
        assert_status(reduce_at_once(&t, &user_reducer, 100, OWN), RCX_ERR_OP);
        assert_int_equal(user.calls, user.fails_at + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kernels_give_the_bits_of_single_reductions),
        cmocka_unit_test(trees_of_any_shape_keep_their_brackets),
        cmocka_unit_test(intermediate_results_stay_in_their_first_block),
        cmocka_unit_test(a_user_op_gets_whole_vectors),
        cmocka_unit_test(a_user_op_that_fails_is_not_called_again),
    };

    return cmocka_run_group_tests_name("reducer", tests, set_up, tear_down);
}
