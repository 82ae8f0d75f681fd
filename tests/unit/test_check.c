/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RCX_CHECK=full (need 4). If calls differ in one argument, all ranks must
 * return RCX_ERR_MISMATCH before any data moves. The message names the
 * argument, two values and two ranks. Calls that match must succeed without a
 * message.
 */
#include "test.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

enum { MOST_SIZE = 5, BLOCK = 6, COUNT = BLOCK * MOST_SIZE, ODD_RANK_MAX = 8 };

static struct lines said[ODD_RANK_MAX + 1];

static void open_checked(struct job *job, int size)
{
    open_with(job, size, "RCX_CHECK", "full", NULL);
    job_listen(job, said);
}

/* ---- One rank calls something else --------------------------------------- */

/* The call of one rank. */
struct checked_call {
    enum collective coll;
    struct arguments a;
    size_t count; /* of the whole vector */
    size_t blocks[ODD_RANK_MAX];
};

/* Set the call of most ranks: sums of int64, root 1 if rooted, all blocks of
 * BLOCK elements. */
static void set_usual(struct checked_call *s, enum collective coll, int size)
{
    *s = (struct checked_call){
        .coll = coll,
        .a = {.count = collective_has_blocks(coll) ? BLOCK : COUNT,
              .type = RCX_INT64,
              .op = RCX_SUM,
              .root = collective_is_rooted(coll)},
        .count = collective_has_blocks(coll) ? BLOCK * (size_t)size : COUNT};
    for (int i = 0; i < size; i++)
        s->blocks[i] = BLOCK;
}

/* The library's name of a collective: v forms share that of the equal-block
 * form. */
static void name_of(enum collective coll, char name[32])
{
    const char *from = collectives[coll].variable + strlen("RCX_");
    size_t i = 0;

    for (; from[i]; i++)
        name[i] = (char)tolower(from[i]);
    name[i] = '\0';
}

/* The next collective that is a different one for the library. */
static enum collective other_than(enum collective coll)
{
    int other = coll;

    do
        other = (other + 1) % COLLECTIVES;
    while (strcmp(collectives[other].variable, collectives[coll].variable) ==
           0);
    return (enum collective)other;
}

struct deviation {
    const char *field;
    bool (*applies)(enum collective coll);
    /* Change the usual call to that of the odd rank. */
    void (*change)(struct checked_call *s, int size);
    /* Print the argument's value as messages have it; NULL: the value is a
     * hash, which is not known here. */
    void (*print)(const struct checked_call *s, char text[32]);
};

static bool has_elements(enum collective coll)
{
    return collectives[coll].gives != EXTENT_NONE;
}

static bool has_common_counts(enum collective coll)
{
    return has_elements(coll) && !collectives[coll].is_local;
}

static bool has_list(enum collective coll)
{
    return collectives[coll].irregular && !collectives[coll].is_local;
}

static bool has_op(enum collective coll)
{
    return collectives[coll].reduces;
}

static bool is_any(enum collective coll)
{
    (void)coll;
    return true;
}

static void change_count(struct checked_call *s, int size)
{
    s->a.count--;
    s->blocks[size - 1]--;
    s->count -= collective_has_equal_blocks(s->coll) ? (size_t)size : 1;
}

static void print_count(const struct checked_call *s, char text[32])
{
    snprintf(text, 32, "%zu", s->count);
}

/* Change two blocks and keep the sum. */
static void change_counts(struct checked_call *s, int size)
{
    s->blocks[0]++;
    s->blocks[size - 1]--;
}

static void change_type(struct checked_call *s, int size)
{
    (void)size;
    s->a.type = RCX_FLOAT64;
}

static void print_type(const struct checked_call *s, char text[32])
{
    snprintf(text, 32, "%s", s->a.type == RCX_INT64 ? "int64" : "float64");
}

static void change_op(struct checked_call *s, int size)
{
    (void)size;
    s->a.op = RCX_MAX;
}

static void print_op(const struct checked_call *s, char text[32])
{
    snprintf(text, 32, "%s", s->a.op == RCX_SUM ? "sum" : "max");
}

static void change_root(struct checked_call *s, int size)
{
    (void)size;
    s->a.root = 0;
}

static void print_root(const struct checked_call *s, char text[32])
{
    snprintf(text, 32, "%d", s->a.root);
}

static void change_collective(struct checked_call *s, int size)
{
    set_usual(s, other_than(s->coll), size);
}

static void print_collective(const struct checked_call *s, char text[32])
{
    name_of(s->coll, text);
}

static const struct deviation deviations[] = {
    {"count", has_common_counts, change_count, print_count},
    {"the hash of the counts", has_list, change_counts, NULL},
    {"datatype", has_elements, change_type, print_type},
    {"op", has_op, change_op, print_op},
    {"root", collective_is_rooted, change_root, print_root},
    {"the collective", is_any, change_collective, print_collective},
};

static rcx_status_t start_call(const struct checked_call *s, rcx_comm_t *comm,
                               const int64_t *in, int64_t *out,
                               rcx_request_t **request_p)
{
    struct arguments a = s->a;

    a.sendbuf = in;
    a.recvbuf = out;
    a.blocks = a.sendcounts = s->blocks;
    a.comm = comm;
    return collective_call(s->coll, NONBLOCKING, &a, request_p);
}

static void wait_for_errors(struct job *job, rcx_request_t *requests[])
{
    job_wait(job, requests);
    for (int i = 0; i < job->size; i++)
        assert_status(requests[i]->status, RCX_ERR_MISMATCH);
}

/* Print "root is 1 on rank 0 and 0 on rank 2", or only "FIELD is " if the
 * values are not known. */
static void print_difference(const struct deviation *d,
                             const struct checked_call *calls, int odd,
                             const int ranks[2], char text[160])
{
    char values[2][32];

    if (!d->print) {
        snprintf(text, 160, "%s is ", d->field);
        return;
    }
    for (int i = 0; i < 2; i++)
        d->print(&calls[ranks[i] == odd], values[i]);
    snprintf(text, 160, "%s is %s on rank %d and %s on rank %d", d->field,
             values[0], ranks[0], values[1], ranks[1]);
}

/* On all ranks, rcx_comm_error() must name the same two ranks: odd and another
 * one, the lower rank first. Its text or the log must describe the difference.
 * calls[0] is the usual call, calls[1] that of rank odd. */
static void check_culprits(struct job *job, const struct deviation *d,
                           const struct checked_call *calls, int odd)
{
    rcx_error_info_t first, info;
    char expected[160];

    assert_ok(rcx_comm_error(rcx_world(job->contexts[0]), &first));
    assert_int_equal(first.rank_count, 2);
    assert_true(first.ranks[0] < first.ranks[1]);
    assert_true(first.ranks[0] == odd || first.ranks[1] == odd);
    print_difference(d, calls, odd, first.ranks, expected);
    for (int i = 0; i < job->size; i++) {
        assert_ok(rcx_comm_error(rcx_world(job->contexts[i]), &info));
        assert_ok(info.status); /* the communicator has not failed */
        assert_int_equal(info.rank_count, 2);
        assert_memory_equal(info.ranks, first.ranks, 2 * sizeof *info.ranks);
        if (!strstr(info.text, expected) && !strstr(said[i].error, expected))
            fail_msg("%s, rank %d: \"%s\" does not say \"%s\"",
                     collectives[calls->coll].name, i, info.text, expected);
    }
}

/* After a mismatch, all collectives must work. */
static void go_on(struct job *job)
{
    for (int coll = 0; coll < COLLECTIVES; coll++) {
        const size_t recvcounts[ODD_RANK_MAX] = {3, 0, 5, 1, 9, 2, 4, 8};
        const struct call call = {.coll = (enum collective)coll,
                                  .count = 40,
                                  .blocks = recvcounts,
                                  .kind = &sums};

        calls_run(job, &call, false);
        calls_run(job, &call, true);
    }
}

static void deviate(int size, int odd, enum collective coll,
                    const struct deviation *d)
{
    int64_t in[ODD_RANK_MAX][COUNT] = {{1}}, out[ODD_RANK_MAX][COUNT];
    rcx_request_t *requests[ODD_RANK_MAX];
    struct checked_call calls[2];
    struct job job;

    open_checked(&job, size);
    memset(out, 0x11, sizeof out);
    for (int i = 0; i < 2; i++)
        set_usual(&calls[i], coll, size);
    d->change(&calls[1], size);
    for (int i = 0; i < size; i++)
        assert_ok(start_call(&calls[i == odd], world_of(&job, i), in[i], out[i],
                             &requests[i]));
    wait_for_errors(&job, requests);
    check_culprits(&job, d, calls, odd);
    for (int i = 0; i < size; i++) {
        for (int k = 0; k < COUNT; k++) /* no data moved */
            assert_int_equal(out[i][k], INT64_C(0x1111111111111111));
        assert_ok(rcx_request_free(&requests[i]));
    }
    go_on(&job);
    assert_ok(job_close(&job));
}

/* Every collective, with each argument in turn different on one rank. */
static void need_4_a_call_that_differs_is_a_mismatch_on_all_ranks(void **state)
{
    (void)state;
    for (int coll = 0; coll < COLLECTIVES; coll++)
        for (size_t i = 0; i < sizeof deviations / sizeof *deviations; i++)
            for (int size = 2; size <= MOST_SIZE; size++)
                if (deviations[i].applies((enum collective)coll))
                    deviate(size, (coll + size) % size, (enum collective)coll,
                            &deviations[i]);
}

/* One rank makes two calls in the reverse order: both must be a mismatch on all
 * ranks. */
static void need_4_calls_in_another_order_are_both_a_mismatch(void **state)
{
    enum { SIZE = 3 };
    int64_t in[2][SIZE][COUNT] = {{{1}}}, out[2][SIZE][COUNT];
    rcx_request_t *requests[2][SIZE];

    (void)state;
    for (int coll = 0; coll < COLLECTIVES; coll++) {
        const int odd = coll % SIZE;
        struct checked_call calls[2];
        struct job job;

        open_checked(&job, SIZE);
        memset(out, 0x11, sizeof out);
        set_usual(&calls[0], (enum collective)coll, SIZE);
        set_usual(&calls[1], other_than((enum collective)coll), SIZE);
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < SIZE; i++)
                assert_ok(start_call(&calls[(i == odd) ^ k], world_of(&job, i),
                                     in[k][i], out[k][i], &requests[k][i]));
        for (int k = 0; k < 2; k++) {
            wait_for_errors(&job, requests[k]);
            for (int i = 0; i < SIZE; i++)
                assert_ok(rcx_request_free(&requests[k][i]));
        }
        for (size_t i = 0; i < sizeof out / sizeof(int64_t); i++)
            assert_int_equal(((int64_t *)out)[i], 0x1111111111111111);
        go_on(&job);
        assert_ok(job_close(&job));
    }
}

/* Rank 2 leaves out a call, so its next call meets the first call of the
 * others. */
static void need_4_a_skipped_call_is_found_at_the_next_one(void **state)
{
    int64_t in[3][COUNT] = {{1}}, out[3][COUNT];
    rcx_request_t *requests[3];
    struct checked_call calls[2];
    struct job job;

    (void)state;
    open_checked(&job, 3);
    for (int i = 0; i < 2; i++)
        set_usual(&calls[i], REDUCE, 3);
    change_count(&calls[1], 3);
    for (int i = 0; i < 3; i++)
        assert_ok(start_call(&calls[i == 2], world_of(&job, i), in[i], out[i],
                             &requests[i]));
    wait_for_errors(&job, requests);
    check_culprits(&job, &deviations[0], calls, 2);
    for (int i = 0; i < 3; i++)
        assert_ok(rcx_request_free(&requests[i]));
    go_on(&job);
    assert_ok(job_close(&job));
}

/* Rank 1 starts a persistent request that does not match rank 0's. Then both
 * start requests that match, of which rank 0's is the one that failed
 * before. */
static void need_4_a_request_that_was_refused_can_be_started_again(void **state)
{
    int64_t in[COUNT], out[2][COUNT];
    rcx_request_t *first[2], *second[2], *odd;
    struct job job;

    (void)state;
    open_checked(&job, 2);
    for (int i = 0; i < COUNT; i++)
        in[i] = i + 1;
    memset(out, 0x11, sizeof out);
    for (int i = 0; i < 2; i++)
        assert_ok(rcx_allreduce_init(in, out[i], COUNT, RCX_INT64, RCX_SUM,
                                     world_of(&job, i), &first[i]));
    assert_ok(rcx_allreduce_init(in, out[1], COUNT - 1, RCX_INT64, RCX_SUM,
                                 world_of(&job, 1), &odd));
    second[0] = first[0];
    second[1] = odd;
    for (int i = 0; i < 2; i++)
        assert_ok(rcx_start(second[i]));
    wait_for_errors(&job, second);
    for (int i = 0; i < 2; i++)
        assert_ok(rcx_start(first[i]));
    assert_ok(job_wait(&job, first));
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < COUNT; k++)
            assert_int_equal(out[i][k], 2 * (k + 1));
    for (int i = 0; i < 2; i++)
        assert_ok(rcx_request_free(&first[i]));
    assert_ok(rcx_request_free(&odd));
    go_on(&job);
    assert_ok(job_close(&job));
}

/* ---- Mismatches among calls in flight ------------------------------------ */

enum { FLIGHT = 9, LONG = 64 };

/* Count of call k on rank. In every third call one rank has a different count,
 * and so another number of segments. */
static size_t count_of(int k, int rank, int size)
{
    const size_t usual = (size_t)(k * 7) % LONG + 1;

    return k % 3 == 1 && rank == k % size ? LONG + 1 - usual : usual;
}

static bool is_special(int k, int size)
{
    const int other = (k + 1) % size;

    return count_of(k, k % size, size) != count_of(k, other, size);
}

/* All calls are started before the first is checked, and waited for in reverse
 * order. Only the calls with different counts must fail. */
static void need_4_operations_in_flight_beside_a_mismatch_complete(void **state)
{
    enum { SIZE = 4 };
    static int64_t in[LONG], out[SIZE][FLIGHT][LONG];
    rcx_request_t *requests[FLIGHT][SIZE];
    struct job job;
    int refused = 0;

    (void)state;
    setenv("RCX_ALLREDUCE", "ring:segment=24,window=2", 1);
    open_checked(&job, SIZE);
    unsetenv("RCX_ALLREDUCE");
    for (int i = 0; i < LONG; i++)
        in[i] = i;
    for (int i = 0; i < SIZE; i++)
        for (int k = 0; k < FLIGHT; k++)
            assert_ok(rcx_iallreduce(in, out[i][k], count_of(k, i, SIZE),
                                     RCX_INT64, RCX_SUM, world_of(&job, i),
                                     &requests[k][i]));
    for (int k = FLIGHT - 1; k >= 0; k--) {
        job_wait(&job, requests[k]);
        refused += is_special(k, SIZE);
        for (int i = 0; i < SIZE; i++) {
            const size_t n = count_of(k, i, SIZE);

            assert_status(requests[k][i]->status,
                          is_special(k, SIZE) ? RCX_ERR_MISMATCH : RCX_OK);
            for (size_t at = 0; at < n && !is_special(k, SIZE); at++)
                assert_int_equal(out[i][k][at], SIZE * (int64_t)at);
            assert_ok(rcx_request_free(&requests[k][i]));
        }
    }
    assert_true(refused > 1 && refused < FLIGHT);
    go_on(&job);
    assert_ok(job_close(&job));
}

/* ---- Calls that match ---------------------------------------------------- */

static void need_4_calls_that_match_are_no_mismatch(void **state)
{
    const size_t recvcounts[] = {3, 0, 5, 1};
    struct job job;

    (void)state;
    open_checked(&job, 4);
    for (int i = 0; i < 1000; i++) {
        const struct call call = {.coll = (enum collective)(i % COLLECTIVES),
                                  .place = (enum place)(i / 7 % (PLACES + 1)),
                                  .root = i % 4,
                                  .count = (size_t)(i % 40),
                                  .blocks = recvcounts,
                                  .kind = &sums};

        if (collective_has_place(call.coll, call.place))
            calls_run(&job, &call, i % 2);
    }
    for (int i = 0; i < 4; i++)
        assert_string_equal(said[i].error, "");
    job_close(&job);
}

static bool differ(const struct attempt *a, const struct attempt *b)
{
    return a->in.gap != b->in.gap || a->out.gap != b->out.gap;
}

/* Displacements may differ between ranks, as may the counts of an alltoallv:
 * these must not be a mismatch. */
static void need_4_displacements_may_differ_between_ranks(void **state)
{
    const size_t blocks[] = {3, 0, 5, 1};
    struct job job;

    (void)state;
    open_checked(&job, 4);
    for (int coll = 0; coll < COLLECTIVES; coll++) {
        int other = 0;

        for (uint64_t seed = 0; seed < 8 && collectives[coll].has_displs;
             seed++) {
            const struct call call = {.coll = (enum collective)coll,
                                      .blocks = blocks,
                                      .kind = &sums,
                                      .seed = seed};
            struct calls c;

            calls_open(&c, &job, &call);
            calls_make(&c, false);
            calls_wait(&c, RCX_OK);
            calls_check(&c);
            for (int i = 1; i < 4; i++)
                other += differ(&c.attempts[0], &c.attempts[i]);
            calls_close(&c);
        }
        assert_true(other > 0 || !collectives[coll].has_displs);
    }
    for (int i = 0; i < 4; i++)
        assert_string_equal(said[i].error, "");
    assert_ok(job_close(&job));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(need_4_a_call_that_differs_is_a_mismatch_on_all_ranks),
        cmocka_unit_test(need_4_calls_in_another_order_are_both_a_mismatch),
        cmocka_unit_test(need_4_a_skipped_call_is_found_at_the_next_one),
        cmocka_unit_test(
            need_4_a_request_that_was_refused_can_be_started_again),
        cmocka_unit_test(
            need_4_operations_in_flight_beside_a_mismatch_complete),
        cmocka_unit_test(need_4_calls_that_match_are_no_mismatch),
        cmocka_unit_test(need_4_displacements_may_differ_between_ranks),
    };

    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
