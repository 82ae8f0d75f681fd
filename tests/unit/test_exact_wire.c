/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact sums in messages: packed sums come back, or are added as they are; what
 * is no packed sum is refused. The executor sends short sums packed, unless the
 * room for it is in use, and adds what arrives without unpacking it. A repeated
 * call allocates nothing.
 */
#include "exact_sums.h"

#include <math.h>
#include <stdlib.h>

#include "calls.h"
#include "core/base/random.h"
#include "core/exec/exec.h"
#include "core/op/exact_wire.h"
#include "core/sched/algo.h"

enum { SEED = 13, SUMS = 3, WORDS = RCX_EXACT_WORDS, LINE_ROOM = 48 };
enum { EACH = WORDS * 8 }; /* bytes */

static const struct rcx_wire *wire_of(const struct sum *s)
{
    return rcx_exact_wire_find(RCX_SUM, s->format == &rcx_exact_float32
                                            ? RCX_EXACT_FLOAT32
                                            : RCX_EXACT_FLOAT64);
}

static size_t bytes_of(const struct sum *s)
{
    return (size_t)s->format->words * sizeof *s->words;
}

static const struct rcx_wire *wire64(void)
{
    return rcx_exact_wire_find(RCX_SUM, RCX_EXACT_FLOAT64);
}

static struct sum some_sum(enum rcx_exact_kind kind, int set, uint64_t seed,
                           size_t n)
{
    static struct operands o;
    struct sum s = sum_of(kind);

    fill(&o, kind, set, seed, n);
    add_part(&s, &o, 0, n, rcx_exact_isa());
    return s;
}

/* ---- Packing ------------------------------------------------------------- */

/* Pack into all rooms up to one that is enough; unpack. */
static void check_packing(const struct sum *s)
{
    const size_t words = (size_t)s->format->words;
    uint64_t sums[SUMS * WORDS], packed[2 + SUMS * (WORDS + 1)];
    uint64_t back[1 + SUMS * WORDS];
    size_t bytes = 0, room = 0;

    for (int i = 0; i < SUMS; i++)
        memcpy(sums + (size_t)i * words, s->words, words * sizeof *sums);
    for (; bytes == 0; room += 8) {
        memset(packed, 0x5a, sizeof packed);
        bytes = wire_of(s)->put(packed, room, sums, SUMS, bytes_of(s));
        assert_int_equal(packed[room / 8], 0x5a5a5a5a5a5a5a5a);
        assert_true(room <= SUMS * (words + 1) * 8);
    }
    assert_int_equal(bytes, room - 8);
    memset(back, 0x5a, sizeof back);
    assert_true(wire_of(s)->take(back, SUMS, bytes_of(s), packed, bytes));
    assert_memory_equal(back, sums, SUMS * words * sizeof *sums);
    assert_int_equal(back[SUMS * words], 0x5a5a5a5a5a5a5a5a);
    assert_false(wire_of(s)->take(back, SUMS, bytes_of(s), packed, bytes - 8));
    assert_false(wire_of(s)->take(back, SUMS - 1, bytes_of(s), packed, bytes));
    assert_false(wire_of(s)->take(back, SUMS + 1, bytes_of(s), packed, bytes));
}

static void packed_sums_come_back(void **state)
{
    static const double special[] = {INFINITY, -INFINITY, NAN, -0.0, 0.0};

    (void)state;
    for (int kind = 0; kind < RCX_EXACT_KINDS; kind++) {
        for (int set = 0; set < TRUTH_SETS; set++)
            for (uint64_t seed = 0; seed < 20; seed++) {
                const struct sum s =
                    some_sum((enum rcx_exact_kind)kind, set, seed, 1 + seed);

                check_packing(&s);
            }
        check_packing(&(struct sum){.format = sum_of(kind).format});
    }
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        struct sum s = sum_of(RCX_EXACT_SUM64);

        rcx_exact_add_many(s.words, s.format, RCX_EXACT_SUM64, &special[i],
                           NULL, 1, RCX_ISA_BASELINE);
        check_packing(&s);
    }
}

/* Sums of every value of their words. */
static void any_words_come_back(void **state)
{
    static const uint64_t words[] = {0, UINT64_MAX, 1, (uint64_t)1 << 63};
    uint64_t random = SEED;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct sum s = sum_of(i % 2 ? RCX_EXACT_SUM32 : RCX_EXACT_SUM64);

        for (int k = 0; k < s.format->words; k++)
            s.words[k] = words[rcx_random(&random) % (1 + (unsigned)i % 4)];
        check_packing(&s);
    }
}

/* ---- Addition of packed sums --------------------------------------------- */

static struct sum random_sum(bool is_float, uint64_t *random)
{
    static const uint64_t words[] = {0, UINT64_MAX, 1, (uint64_t)1 << 63};
    const unsigned few = 1 + rcx_random(random) % 4;
    const size_t from = rcx_random(random) % WORDS;
    struct sum s = sum_of(is_float ? RCX_EXACT_SUM32 : RCX_EXACT_SUM64);

    for (size_t i = from; i < (size_t)s.format->words; i++)
        s.words[i] = words[rcx_random(random) % few];
    /* usual flags; infinities have no integer, as of every sum */
    s.words[s.format->words - 1] &= ~RCX_EXACT_SPECIAL;
    return s;
}

/* Several sums: add packed ones to them, elsewhere and in place. */
static void check_addition(const struct sum *a, const struct sum *b)
{
    const struct rcx_wire *const wire = wire_of(a);
    const size_t words = (size_t)a->format->words, all = SUMS * words;
    const size_t each = bytes_of(a);
    uint64_t sums[SUMS * WORDS], packed[SUMS * (WORDS + 1)];
    uint64_t got[SUMS * WORDS + 1], expected[SUMS * WORDS];
    struct sum first = *a;
    size_t bytes;

    merge(&first, b);
    for (size_t i = 0; i < all; i++) {
        sums[i] = a->words[i % words];
        expected[i] = b->words[i % words];
    }
    bytes = wire->put(packed, sizeof packed, expected, SUMS, each);
    for (size_t i = 0; i < all; i++)
        expected[i] = first.words[i % words];
    memset(got, 0x5a, sizeof got);
    assert_true(wire->combine(got, sums, SUMS, each, packed, bytes));
    assert_memory_equal(got, expected, all * sizeof *got);
    assert_int_equal(got[all], 0x5a5a5a5a5a5a5a5a);
    assert_false(wire->combine(got, sums, SUMS, each, packed, bytes - 8));
    assert_false(wire->combine(got, sums, SUMS - 1, each, packed, bytes));
    assert_false(wire->combine(got, sums, SUMS + 1, each, packed, bytes));
    assert_true(wire->combine(sums, sums, SUMS, each, packed, bytes));
    assert_memory_equal(sums, expected, all * sizeof *sums);
}

static void packed_sums_are_added_as_if_unpacked(void **state)
{
    static const double special[] = {INFINITY, -INFINITY, NAN, -0.0, 0.0, 1};
    enum { SPECIAL = sizeof special / sizeof *special };
    uint64_t random = SEED;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        const struct sum a = random_sum(i % 2, &random);
        const struct sum b = random_sum(i % 2, &random);

        check_addition(&a, &b);
    }
    for (int kind = 0; kind < RCX_EXACT_KINDS; kind++)
        for (int i = 0; i < TRUTH_SETS * TRUTH_SETS; i++) {
            const struct sum a = some_sum((enum rcx_exact_kind)kind,
                                          i % TRUTH_SETS, (uint64_t)i, 7);
            const struct sum b = some_sum((enum rcx_exact_kind)kind,
                                          i / TRUTH_SETS, (uint64_t)i + 1, 5);

            check_addition(&a, &b);
        }
    for (int i = 0; i < SPECIAL * SPECIAL; i++) {
        struct sum a = sum_of(RCX_EXACT_SUM64), b = a;

        rcx_exact_add_many(a.words, a.format, RCX_EXACT_SUM64,
                           &special[i % SPECIAL], NULL, 1, RCX_ISA_BASELINE);
        rcx_exact_add_many(b.words, b.format, RCX_EXACT_SUM64,
                           &special[i / SPECIAL], NULL, 1, RCX_ISA_BASELINE);
        check_addition(&a, &b);
    }
}

static void sums_of_usual_numbers_fit_one_line(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        const struct sum s =
            some_sum(RCX_EXACT_SUM64, 3 /* near each other */, seed, 5000);
        uint64_t packed[LINE_ROOM / 8];
        size_t bytes =
            wire_of(&s)->put(packed, sizeof packed, s.words, 1, bytes_of(&s));

        assert_in_range(bytes, 1, LINE_ROOM);
    }
}

static void random_bytes_are_refused_or_a_sum(void **state)
{
    uint64_t random = SEED;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        const size_t n = rcx_random(&random) % 12;
        /* on the heap, so that a sanitizer finds accesses beyond */
        uint64_t *packed = malloc(n * 8 + 1);
        uint64_t *sums = malloc(SUMS * WORDS * 8);

        assert_true(packed && sums);
        for (size_t k = 0; k < n; k++)
            packed[k] = rcx_random(&random) & (k % 3 ? ~0u : 0x10f4fu);
        memset(sums, 0, SUMS * WORDS * 8);
        wire64()->take(sums, SUMS, EACH, packed, n * 8);
        assert_false(wire64()->take(sums, SUMS, EACH, packed, n * 8 + 1));
        wire64()->combine(sums, sums, SUMS, EACH, packed, n * 8);
        assert_false(
            wire64()->combine(sums, sums, SUMS, EACH, packed, n * 8 + 1));
        free(packed);
        free(sums);
    }
}

/* ---- The executor -------------------------------------------------------- */

/* A transport that keeps what is sent, and delivers what is to arrive. */
static struct {
    struct rcx_transport base;
    rcx_status_t answer; /* of a send */
    size_t sent[2];      /* bytes */
    int sends;
    const void *arriving;
    size_t arriving_bytes;
    int kernels; /* calls */
} wire_log;

static rcx_status_t log_send(struct rcx_transport *t, int peer,
                             const void *buffer, size_t bytes, uint64_t tag,
                             struct rcx_message *m)
{
    (void)t, (void)peer, (void)buffer, (void)tag, (void)m;
    wire_log.sent[wire_log.sends++] = bytes;
    return wire_log.answer;
}

static rcx_status_t deliver(struct rcx_transport *t, int peer, void *buffer,
                            size_t bytes, uint64_t tag, struct rcx_message *m)
{
    (void)t, (void)peer, (void)tag;
    assert_true(wire_log.arriving_bytes <= bytes);
    assert_false(m->may_hold); /* it is unpacked in its buffer */
    memcpy(buffer, wire_log.arriving, wire_log.arriving_bytes);
    m->bytes = wire_log.arriving_bytes;
    return RCX_OK;
}

static const struct rcx_transport_ops wire_ops = {
    .name = "wire log", .send = log_send, .recv = deliver};

static void log_sum(void *dst, const void *left, const void *right,
                    size_t count)
{
    wire_log.kernels++;
    rcx_exact_sum_float64(dst, left, right, count);
}

/* Rank 0 of three: send the operand twice, receive two, and add all three, in
 * reductions that the executor fuses. */
static void build_fused(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_span first = rcx_span_scratch(b, 1);
    const struct rcx_span second = rcx_span_scratch(b, 1);
    const struct rcx_span sum = rcx_span_scratch(b, 1);

    rcx_step_send(b, 1, rcx_span_in(s));
    rcx_step_send(b, 2, rcx_span_in(s));
    rcx_step_recv(b, 1, first);
    rcx_step_recv(b, 2, second);
    rcx_step_reduce(b, sum, rcx_span_in(s), first);
    rcx_step_reduce(b, rcx_span_out(s), sum, second);
}

/* Rank 0 of two: the received sum is the left or right operand. */
static void build_right(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_span other = rcx_span_scratch(b, 1);

    rcx_step_send(b, 1, rcx_span_in(s));
    rcx_step_recv(b, 1, other);
    rcx_step_reduce(b, rcx_span_out(s), rcx_span_in(s), other);
}

static void build_left(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_span other = rcx_span_scratch(b, 1);

    rcx_step_recv(b, 1, other);
    rcx_step_send(b, 1, rcx_span_in(s));
    rcx_step_reduce(b, rcx_span_out(s), other, rcx_span_in(s));
}

/* The result replaces the sum that has arrived, in scratch. */
static void build_in_place(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_span sum = rcx_span_scratch(b, 1);

    rcx_step_recv(b, 1, sum);
    rcx_step_reduce(b, sum, rcx_span_in(s), sum);
    rcx_step_copy(b, rcx_span_out(s), sum);
}

static const struct {
    void (*build)(struct rcx_builder *b, const struct rcx_shape *s);
    int others;  /* sums that arrive */
    int kernels; /* calls, if they arrive packed */
} exchanges[] = {{build_fused, 2, 2},
                 {build_right, 1, 0},
                 {build_left, 1, 0},
                 {build_in_place, 1, 1}};
enum { EXCHANGES = sizeof exchanges / sizeof *exchanges };

static rcx_status_t exchange_as(int k, rcx_op_t op, const rcx_exact64_t *in,
                                rcx_exact64_t *out, const void *arriving,
                                size_t bytes)
{
    const struct rcx_shape shape = {.coll = RCX_COLL_ALLREDUCE,
                                    .size = 3,
                                    .count = 1,
                                    .elem_bytes = sizeof *in};
    const struct rcx_reducer reducer = {
        .kernel = log_sum,
        .type = RCX_EXACT_FLOAT64,
        .elem_bytes = sizeof *in,
        .wire = rcx_exact_wire_find(op, RCX_EXACT_FLOAT64)};
    const struct rcx_exec_setting setting = {.transport = &wire_log.base,
                                             .reducer = &reducer,
                                             .layout = RCX_TAG_LAYOUT};
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct rcx_builder b;
    struct rcx_log log;
    struct rcx_plan *plan;
    struct rcx_exec *x;
    rcx_exact64_t scratch[3];
    rcx_status_t status;

    wire_log.base.ops = &wire_ops;
    rcx_log_init(&log);
    rcx_builder_init(&b, &heap, &log);
    rcx_builder_begin(&b, &shape);
    exchanges[k].build(&b, &shape);
    assert_ok(rcx_sched_finish(&b, 1024, &plan));
    x = rcx_heap_alloc(&heap, rcx_exec_bytes(plan));
    rcx_exec_init(x, plan, &setting);
    x->base[RCX_BUFFER_IN] = (char *)(uintptr_t)in;
    x->base[RCX_BUFFER_OUT] = (char *)out;
    x->base[RCX_BUFFER_TMP] = (char *)scratch;
    wire_log.sends = wire_log.kernels = 0;
    wire_log.arriving = arriving;
    wire_log.arriving_bytes = bytes;
    rcx_exec_start(x);
    status = x->status;
    rcx_heap_free(&heap, x);
    rcx_heap_free(&heap, plan);
    rcx_builder_free(&b);
    return status;
}

static rcx_status_t exchange(const rcx_exact64_t *in, rcx_exact64_t *out,
                             const void *arriving, size_t bytes)
{
    return exchange_as(0, RCX_SUM, in, out, arriving, bytes);
}

static rcx_exact64_t sum_of_one(double value)
{
    rcx_exact64_t s;

    rcx_exact64_zero(&s);
    rcx_exact64_add(&s, &value, 1);
    return s;
}

static void short_sums_are_sent_packed_and_unpacked(void **state)
{
    const rcx_exact64_t in = sum_of_one(3), other = sum_of_one(-1e-300);
    uint64_t packed[12];
    rcx_exact64_t out, expected = in;
    size_t bytes;

    (void)state;
    rcx_exact64_merge(&expected, &other);
    rcx_exact64_merge(&expected, &other);
    bytes = wire64()->put(packed, sizeof packed, &other, 1, sizeof other);
    wire_log.answer = RCX_OK;
    assert_ok(exchange(&in, &out, packed, bytes));
    assert_memory_equal(&out, &expected, sizeof out);
    assert_int_equal(wire_log.sends, 2);
    assert_true(wire_log.sent[0] <= LINE_ROOM);
    assert_true(wire_log.sent[1] <= LINE_ROOM);
    assert_ok(exchange(&in, &out, &other, sizeof other)); /* not packed */
    assert_memory_equal(&out, &expected, sizeof out);
}

static void packed_sums_that_arrive_are_added_unless_fused(void **state)
{
    const rcx_exact64_t in = sum_of_one(3), other = sum_of_one(-1e-300);
    uint64_t packed[12];
    const size_t bytes =
        wire64()->put(packed, sizeof packed, &other, 1, sizeof other);

    (void)state;
    wire_log.answer = RCX_OK;
    for (int k = 0; k < EXCHANGES; k++) {
        rcx_exact64_t out, expected = in;

        for (int i = 0; i < exchanges[k].others; i++)
            rcx_exact64_merge(&expected, &other);
        assert_ok(exchange_as(k, RCX_SUM, &in, &out, packed, bytes));
        assert_memory_equal(&out, &expected, sizeof out);
        assert_int_equal(wire_log.kernels, exchanges[k].kernels);
        /* an op other than SUM needs its kernel */
        assert_ok(exchange_as(k, RCX_REPLACE, &in, &out, packed, bytes));
        assert_memory_equal(&out, &expected, sizeof out);
        assert_int_equal(wire_log.kernels, exchanges[k].others);
        assert_ok(exchange_as(k, RCX_SUM, &in, &out, &other, sizeof other));
        assert_memory_equal(&out, &expected, sizeof out);
        assert_int_equal(wire_log.kernels, exchanges[k].others);
    }
}

static void only_one_send_at_a_time_is_packed(void **state)
{
    const rcx_exact64_t in = sum_of_one(3);
    rcx_exact64_t out;

    (void)state;
    wire_log.answer = RCX_IN_PROGRESS;
    assert_ok(exchange(&in, &out, &in, sizeof in));
    assert_int_equal(wire_log.sends, 2);
    assert_true(wire_log.sent[0] <= LINE_ROOM);
    assert_int_equal(wire_log.sent[1], sizeof in);
}

static void long_sums_are_sent_as_they_are(void **state)
{
    static const double apart[] = {0x1p1000, 0x1p-1000};
    rcx_exact64_t in, out;

    (void)state;
    rcx_exact64_zero(&in);
    rcx_exact64_add(&in, apart, 2);
    wire_log.answer = RCX_OK;
    assert_ok(exchange(&in, &out, &in, sizeof in));
    assert_int_equal(wire_log.sent[0], sizeof in);
}

static void another_length_is_a_mismatch(void **state)
{
    static const uint64_t wrong[] = {0x1ff, 1, 2, 3};
    const rcx_exact64_t in = sum_of_one(3);
    rcx_exact64_t out;

    (void)state;
    wire_log.answer = RCX_OK;
    for (int k = 0; k < EXCHANGES; k++) {
        assert_status(exchange_as(k, RCX_SUM, &in, &out, wrong, sizeof wrong),
                      RCX_ERR_MISMATCH);
        assert_status(exchange_as(k, RCX_SUM, &in, &out, &in, sizeof in - 8),
                      RCX_ERR_MISMATCH);
        assert_status(exchange_as(k, RCX_SUM, &in, &out, &in, 0),
                      RCX_ERR_PEER_FAILED);
    }
}

/* ---- Jobs ---------------------------------------------------------------- */

/* All ranks reduce n sums, of 1 and -1e-20 in turns. */
static void sum_all(struct job *job, rcx_op_t op, size_t n)
{
    rcx_exact64_t in[2] = {sum_of_one(1), sum_of_one(-1e-20)};
    rcx_exact64_t out[MOST_RANKS][2], expected[2];
    rcx_request_t *requests[MOST_RANKS];

    memset(expected, 0, sizeof expected);
    for (int r = 0; r < job->size; r++) {
        assert_ok(rcx_iallreduce(in, out[r], n, RCX_EXACT_FLOAT64, op,
                                 world_of(job, r), &requests[r]));
        for (size_t i = 0; i < n; i++)
            rcx_exact64_merge(&expected[i], &in[i]);
    }
    assert_ok(job_wait(job, requests));
    for (int r = 0; r < job->size; r++) {
        assert_memory_equal(out[r], op == RCX_SUM ? expected : in,
                            n * sizeof *in);
        assert_ok(rcx_request_free(&requests[r]));
    }
}

static uint64_t heap_calls_of(const struct job *job)
{
    uint64_t calls = 0;

    for (int r = 0; r < job->size; r++)
        calls += job->contexts[r]->heap.calls;
    return calls;
}

static void a_repeated_allreduce_of_sums_allocates_nothing(void **state)
{
    (void)state;
    for (int p = 1; p <= 5; p++) {
        struct job job;
        uint64_t calls = 0;

        open_with(&job, p, NULL, NULL, NULL);
        for (int i = 0; i < 10; i++) {
            if (i == 1)
                calls = heap_calls_of(&job);
            sum_all(&job, RCX_SUM, 1);
            sum_all(&job, RCX_SUM, 2);
            sum_all(&job, RCX_REPLACE, 2);
        }
        assert_int_equal(heap_calls_of(&job), calls);
        assert_ok(job_close(&job));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_sums_come_back),
        cmocka_unit_test(any_words_come_back),
        cmocka_unit_test(packed_sums_are_added_as_if_unpacked),
        cmocka_unit_test(sums_of_usual_numbers_fit_one_line),
        cmocka_unit_test(random_bytes_are_refused_or_a_sum),
        cmocka_unit_test(short_sums_are_sent_packed_and_unpacked),
        cmocka_unit_test(packed_sums_that_arrive_are_added_unless_fused),
        cmocka_unit_test(only_one_send_at_a_time_is_packed),
        cmocka_unit_test(long_sums_are_sent_as_they_are),
        cmocka_unit_test(another_length_is_a_mismatch),
        cmocka_unit_test(a_repeated_allreduce_of_sums_allocates_nothing),
    };

    return cmocka_run_group_tests_name("exact_wire", tests, NULL, NULL);
}
