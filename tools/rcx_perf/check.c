/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checked iterations: each has new operands, runs the collective, and compares
 * every element of the result with a serial reduction. Any rank can compute the
 * operands of all ranks.
 *
 * Results do not depend on the order or bracketing of combines. Integers wrap
 * around, and reals are small integers whose sums and products every format
 * holds exactly. So results are compared for equality. Yet every rank's operand
 * affects the result: for ops where most operands would decide it alone (a
 * product of zeros, LAND of random bits), few operands differ from the neutral
 * element.
 */
#include "rcx_perf/rcx_perf.h"

#include <stdio.h>
#include <string.h>

enum { ROOM = 1 << 20 }; /* largest magnitude of a summand */

/* ---- Data ---------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

/* Random bits of element i that all ranks share. */
static uint64_t common_bits(const struct perf_data *d, size_t i)
{
    return mix(i * 0x9e3779b97f4a7c15 + mix(d->round + 1));
}

static uint64_t own_bits(uint64_t common, int rank)
{
    return mix(common + ((uint64_t)rank + 1) * 0xd1342543de82ef95);
}

/* An integer from -limit to limit. */
static long small_integer(uint64_t bits, long limit)
{
    return (long)(bits % (uint64_t)(2 * limit + 1)) - limit;
}

static bool has_sign(const struct perf_type *t)
{
    return t->class == CLASS_SIGNED || t->class == CLASS_STRUCT;
}

static uint64_t extend(const struct perf_type *t, uint64_t word)
{
    const unsigned bytes = t->class == CLASS_STRUCT ? 1 : (unsigned)t->bytes;
    const unsigned unused = 64 - 8 * bytes;

    word <<= unused;
    return has_sign(t) ? (uint64_t)((int64_t)word >> unused) : word >> unused;
}

/* Whether this rank is among the few that differ from the neutral element here:
 * n / 2 ranks on average. */
static bool is_chosen(const struct perf_data *d, uint64_t own, unsigned n)
{
    return own >> 16 & 1 && (own >> 20) % (uint64_t)d->ranks < n;
}

static uint64_t word_data(const struct perf_data *d, uint64_t own)
{
    const struct perf_type *t = d->type;
    const uint64_t bit = (uint64_t)1 << (own >> 58) % (8 * t->bytes);
    const uint64_t any = extend(t, own);
    uint64_t word = any;

    if (d->op == RCX_LAND)
        word = is_chosen(d, own, 1) ? 0 : any | 1;
    else if (d->op == RCX_LOR)
        word = is_chosen(d, own, 1) ? any | 1 : 0;
    else if (d->op == RCX_LXOR)
        word = own >> 40 & 1 ? any : 0;
    else if (d->op == RCX_BAND)
        word = is_chosen(d, own, 8) ? ~bit : ~(uint64_t)0;
    else if (d->op == RCX_BOR)
        word = is_chosen(d, own, 8) ? bit : 0;
    else if (d->op == RCX_PROD)
        word = any | 1;
    if (t->class == CLASS_BOOL &&
        (d->op == RCX_LAND || d->op == RCX_LOR || d->op == RCX_LXOR))
        return word != 0;
    return t->class == CLASS_BOOL ? word & 1 : extend(t, word);
}

/*
 * An operand of a sum. If there are so many ranks that not even sums of ones
 * are exact, only every stride-th rank has a value of -1 to 1, and the others
 * 0.
 */
static long double summand(const struct perf_data *d, uint64_t common,
                           uint64_t own, int rank)
{
    const long exact = perf_format_exact(d->type->format);
    const long limit = exact / d->ranks > ROOM ? ROOM : exact / d->ranks;
    const uint64_t stride = (uint64_t)((d->ranks + exact - 1) / exact);

    if ((common + (uint64_t)rank) % stride != 0)
        return 0;
    return (long double)small_integer(own, limit > 0 ? limit : 1);
}

/* An operand of a product: of magnitude one, except on two ranks. */
static void factor(const struct perf_data *d, uint64_t common, uint64_t own,
                   int rank, struct perf_value *v)
{
    static const int units[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    const bool is_complex = d->type->class == CLASS_COMPLEX;
    const int *unit = units[is_complex ? own & 3 : own & 2];
    const uint64_t ranks = (uint64_t)d->ranks;
    const int first = (int)((common >> 8) % ranks);
    const int second = (int)((common >> 24) % ranks);
    const int size = (rank == first ? 2 : 1) * (rank == second ? 3 : 1);

    v->real = size * unit[0];
    v->imag = size * unit[1];
    if (is_complex && rank == first)
        v->imag += 1;
}

static bool is_sum(rcx_op_t op)
{
    return op == RCX_SUM || op == RCX_AVG || op == RCX_SUM_EXACT ||
           op == RCX_AVG_EXACT || op == RCX_SUM_FLOAT || op == RCX_AVG_FLOAT;
}

static struct perf_value element(const struct perf_data *d, int rank, size_t i)
{
    const struct perf_type *t = d->type;
    const uint64_t common = common_bits(d, i), own = own_bits(common, rank);
    const long exact = perf_format_exact(t->format);
    struct perf_value v = {0};

    if (t->class < CLASS_REAL) {
        v.word = word_data(d, own);
    } else if (t->class == CLASS_PAIR) {
        /* few numbers and few indices, so that ties occur */
        v.real = (long double)small_integer(own, 2);
        v.index = (int)small_integer(own >> 32, 20);
    } else if (t->class == CLASS_STRUCT) {
        v.word = extend(t, own);
        v.real = summand(d, common, own >> 8, rank);
    } else if (is_sum(d->op)) {
        v.real = summand(d, common, own, rank);
        v.imag = summand(d, common >> 8, mix(own), rank);
    } else if (d->op == RCX_PROD) {
        factor(d, common, own, rank, &v);
    } else {
        v.real = (long double)small_integer(own, exact);
        v.imag = (long double)small_integer(mix(own), exact);
    }
    return v;
}

/* Fill dst with elements first to first + count - 1 of a rank's operand. */
static void fill(const struct perf_data *d, int rank, void *dst, size_t first,
                 size_t count)
{
    char *at = dst;

    for (size_t i = 0; i < count; i++, at += d->type->bytes) {
        const struct perf_value v = element(d, rank, first + i);

        perf_value_store(d->type, at, &v);
    }
}

void perf_data_fill(const struct perf_data *d, int rank, void *dst,
                    size_t count)
{
    fill(d, rank, dst, 0, count);
}

/* ---- The serial reduction ------------------------------------------------ */

static uint64_t combine_words(rcx_op_t op, bool is_signed, uint64_t a,
                              uint64_t b)
{
    const bool less = is_signed ? (int64_t)a < (int64_t)b : a < b;

    switch (op) {
    case RCX_MAX: return less ? b : a;
    case RCX_MIN: return less ? a : b;
    case RCX_SUM: return a + b;
    case RCX_PROD: return a * b;
    case RCX_LAND: return a && b;
    case RCX_LOR: return a || b;
    case RCX_LXOR: return !a != !b;
    case RCX_BAND: return a & b;
    case RCX_BOR: return a | b;
    default: return a ^ b; /* RCX_BXOR */
    }
}

static struct perf_value combine_reals(rcx_op_t op, struct perf_value a,
                                       struct perf_value b)
{
    switch (op) {
    case RCX_MAX: return a.real < b.real ? b : a;
    case RCX_MIN: return b.real < a.real ? b : a;
    case RCX_PROD:
        return (struct perf_value){.real = a.real * b.real - a.imag * b.imag,
                                   .imag = a.real * b.imag + a.imag * b.real};
    default: /* sums and averages */
        return (struct perf_value){.real = a.real + b.real,
                                   .imag = a.imag + b.imag};
    }
}

static struct perf_value combine_pairs(rcx_op_t op, struct perf_value a,
                                       struct perf_value b)
{
    if (a.real == b.real)
        return a.index <= b.index ? a : b;
    return (a.real < b.real) == (op == RCX_MAXLOC) ? b : a;
}

static struct perf_value combine(const struct perf_data *d, struct perf_value a,
                                 struct perf_value b)
{
    const struct perf_type *t = d->type;

    if (d->op == RCX_REPLACE)
        return b;
    if (d->op == RCX_NO_OP)
        return a;
    if (t->class == CLASS_PAIR)
        return combine_pairs(d->op, a, b);
    if (t->class == CLASS_STRUCT)
        return (struct perf_value){.word = extend(t, a.word + b.word),
                                   .real = a.real + b.real};
    if (t->class >= CLASS_REAL)
        return combine_reals(d->op, a, b);
    a.word = extend(
        t, combine_words(d->op, t->class == CLASS_SIGNED, a.word, b.word));
    return a;
}

struct perf_value perf_data_reduce(const struct perf_data *d,
                                   struct rcx_expected e)
{
    struct perf_value v = element(d, e.lo, e.index);

    for (int rank = e.lo + 1; rank < e.hi; rank++)
        v = combine(d, v, element(d, rank, e.index));
    if (d->op == RCX_AVG || d->op == RCX_AVG_EXACT || d->op == RCX_AVG_FLOAT) {
        v.real = perf_format_divide(d->type->format, v.real, d->ranks);
        v.imag = perf_format_divide(d->type->format, v.imag, d->ranks);
    }
    return v;
}

/* ---- Checked iterations -------------------------------------------------- */

enum { POISON = 0xa5, SHOWN = 3 };

struct findings {
    const struct perf_job *job;
    const struct perf_row *row;
    struct perf_sides sides;
    struct rcx_shape shape;
    struct perf_data data;
    long iteration;
    long count;
};

/* Count a finding. True: it is among the first SHOWN, and its line is begun. */
static bool begin_finding(struct findings *f)
{
    if (f->count++ >= SHOWN)
        return false;
    fprintf(stderr, "rcx_perf: rank %d: %s of %zu bytes by %s, iteration %ld: ",
            f->job->rank, f->job->options.coll->name, f->row->bytes,
            f->row->method, f->iteration);
    return true;
}

static void compare(struct findings *f, const char *what, size_t i,
                    const struct perf_value *want, const void *at)
{
    const struct perf_type *t = f->data.type;
    const struct perf_value got = perf_value_load(t, at);
    char want_text[PERF_TEXT], got_text[PERF_TEXT];

    if (perf_value_equal(t, want, &got) || !begin_finding(f))
        return;
    perf_value_print(t, want, want_text);
    perf_value_print(t, &got, got_text);
    fprintf(stderr, "%s element %zu: expected %s, got %s\n", what, i, want_text,
            got_text);
}

typedef void visit_fn(struct findings *f, size_t i, char *at);

/* Call a function with each element of a side, in the order of the vector. */
static void visit(struct findings *f, const struct perf_side *side,
                  visit_fn *what)
{
    const size_t bytes = f->data.type->bytes;
    size_t i = 0;

    for (int k = 0; k < side->pieces; k++)
        for (size_t j = 0; j < side->counts[k]; j++, i++)
            what(f, i, side->base + (side->at[k] + j) * bytes);
}

static void check_result(struct findings *f, size_t i, char *at)
{
    const struct rcx_coll_row *row = &rcx_colls[f->shape.coll];
    struct rcx_expected e = row->expect(&f->shape, i);
    struct perf_value want;

    if (row->is_local) /* the index is within the sender's operand: add its
                          blocks before this rank's */
        for (int k = 0; k < f->job->rank; k++)
            e.index += perf_block_count(f->job, f->row->count, e.lo, k);
    want = perf_data_reduce(&f->data, e);
    compare(f, "result", i, &want, at);
}

/* Check that an operand that is not in place is unchanged. */
static void check_operand(struct findings *f, size_t i, char *at)
{
    const struct perf_value want = element(&f->data, f->job->rank, i);

    compare(f, "operand", i, &want, at);
}

static void fill_operand(struct findings *f, size_t i, char *at)
{
    fill(&f->data, f->job->rank, at, i, 1);
}

static void poison(struct findings *f, size_t i, char *at)
{
    (void)i;
    memset(at, POISON, f->data.type->bytes);
}

/* Report bytes of a buffer that were written although they are not part of the
 * result. The caller has poisoned both sides, so all bytes must be poison. */
static void check_rest(struct findings *f, const char *buffer, const char *name)
{
    const size_t end = f->row->reach * f->data.type->bytes + PERF_GUARD;

    for (size_t i = 0; i < end; i++)
        if ((unsigned char)buffer[i] != POISON && begin_finding(f))
            fprintf(stderr,
                    "byte %zu of %s was written, which is not part of the "
                    "result\n",
                    i, name);
}

static void check_all(struct findings *f)
{
    const struct perf_sides *s = &f->sides;

    visit(f, &s->gotten, check_result);
    if (!s->in_place)
        visit(f, &s->given, check_operand);
    visit(f, &s->given, poison);
    visit(f, &s->gotten, poison);
    check_rest(f, f->job->recv, "recvbuf");
    check_rest(f, f->job->send, "sendbuf");
}

/* --inject: change one element of the result on the last rank that has one. */
static void inject(struct findings *f)
{
    const struct perf_job *job = f->job;
    const struct perf_side *gotten = &f->sides.gotten;
    struct rcx_shape shape = f->shape;

    for (int rank = job->rank + 1; rank < job->size; rank++) {
        shape.rank = rank;
        if (rcx_shape_out_count(&shape) > 0)
            return;
    }
    for (int k = 0; k < gotten->pieces; k++)
        if (gotten->counts[k] > 0) {
            gotten->base[gotten->at[k] * f->data.type->bytes] ^= 1;
            return;
        }
}

/* Number of checked iterations, the same on all ranks: 50, or fewer where the
 * serial reduction is expensive, but at least 3. */
static long iterations_for(const struct perf_job *job,
                           const struct perf_row *row)
{
    const enum rcx_coll coll = job->options.coll->row;
    const double combined = rcx_colls[coll].reduces ? job->size : 1;
    const int pieces = job->options.coll->is_messages ? job->options.vectors
                                                      : perf_pieces(job);
    const double blocks = pieces > 0 ? pieces : 1;
    const double fits = 4e6 / ((double)row->count * combined * blocks + 1);

    if (job->options.check_iterations > 0)
        return job->options.check_iterations;
    return fits > 50 ? 50 : fits < 3 ? 3 : (long)fits;
}

static rcx_status_t check_once(struct findings *f, struct perf_job *job,
                               bool spoil)
{
    const size_t bytes = f->row->reach * f->data.type->bytes + PERF_GUARD;
    rcx_status_t status;

    memset(job->recv, POISON, bytes);
    memset(job->send, POISON, bytes);
    visit(f, &f->sides.given, fill_operand);
    status = perf_operate(job, f->row);
    if (status != RCX_OK)
        return status;
    if (spoil)
        inject(f);
    check_all(f);
    return RCX_OK;
}

rcx_status_t perf_row_check(struct perf_job *job, struct perf_row *row)
{
    const struct perf_options *o = &job->options;
    struct findings f = {.job = job,
                         .row = row,
                         .sides = perf_sides(job, row),
                         .shape = perf_shape(job, row),
                         .data = {o->type, o->op->op, job->size, 0}};
    const long n = iterations_for(job, row);
    rcx_status_t status = RCX_OK;
    double wrong;

    for (; f.iteration < n && status == RCX_OK; f.iteration++) {
        f.data.round = (uint64_t)f.iteration;
        status = check_once(&f, job, o->inject && f.iteration == n - 1);
    }
    if (f.count > SHOWN)
        fprintf(stderr, "rcx_perf: rank %d: %ld more errors like these\n",
                job->rank, f.count - SHOWN);
    row->checked = rcx_coll_has_data(o->coll->row) ? f.iteration : 0;
    wrong = f.count > 0;
    job->wrong |= f.count > 0;
    if (status == RCX_OK)
        status = perf_agree(job, &wrong);
    if (status != RCX_OK)
        return status;
    job->wrong |= wrong > 0;
    if (row->checked > 0)
        row->verdict = wrong > 0 ? VERDICT_WRONG : VERDICT_OK;
    return RCX_OK;
}
