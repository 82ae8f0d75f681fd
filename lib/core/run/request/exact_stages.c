/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stages of sums of vectors that are rounded at the end: what each stage
 * gives and gets, and the programs of stages, which depend on the numbers where
 * sums are exact. Results are rounded when a chunk's numbers have arrived.
 */
#include "core/run/request/exact_stages.h"

#include "core/op/exact_vector.h"
#include "core/op/float_rows.h"
#include "core/run/plan/cache.h"
#include "core/run/request/veclist.h"

/* A vector has parts, one for each rank's block, or one. Blocks of numbers do
 * not cross parts, so that each part is a block of the stage, too. */
struct rcx_exact_stages {
    struct rcx_exact_vector how;            /* exact sums */
    const struct rcx_float_kernels *floats; /* sums in float; else NULL */
    size_t bytes;                           /* of this */
    size_t parts;                           /* of the vector */
    size_t width;                           /* of a chunk in each part */
    size_t chunks;                          /* at least 1 */
    size_t chunk;                           /* in progress */
    size_t *counts;                /* words of each part of the chunk; or
                                      floats, the same of all chunks */
    struct rcx_exact_form forms[]; /* of the chunk's blocks */
};

/* ---- Parts and blocks ---------------------------------------------------- */

static bool has_parts(const struct rcx_request *r)
{
    return rcx_coll_has_blocks(r->program->call.coll);
}

static size_t part_start(const struct rcx_request *r, size_t part)
{
    const struct rcx_program *e = r->program;

    return e->displs ? e->displs[part] : part * e->given;
}

static size_t part_count(const struct rcx_request *r, size_t part)
{
    const struct rcx_program *e = r->program;

    return e->displs ? e->displs[part + 1] - e->displs[part] : e->given;
}

/* A row of elements of one part. */
struct row {
    size_t first, count; /* in the part */
};

static struct row chunk_of(const struct rcx_request *r, size_t part)
{
    const struct rcx_exact_stages *s = r->exact;
    const size_t width = s->floats ? s->counts[part] : s->width;
    const size_t count = part_count(r, part), at = s->chunk * width;
    const size_t left = at < count ? count - at : 0;

    return (struct row){at, left < width ? left : width};
}

static size_t blocks_in(size_t count)
{
    return count / RCX_EXACT_BLOCK + (count % RCX_EXACT_BLOCK > 0);
}

static struct row block_of(struct row chunk, size_t block)
{
    const size_t at = block * RCX_EXACT_BLOCK, left = chunk.count - at;

    return (struct row){chunk.first + at,
                        left < RCX_EXACT_BLOCK ? left : RCX_EXACT_BLOCK};
}

static size_t blocks_of_chunk(const struct rcx_request *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->exact->parts; i++)
        n += blocks_in(chunk_of(r, i).count);
    return n;
}

/* ---- The user's vectors -------------------------------------------------- */

enum { BLOCK_BYTES = RCX_EXACT_BLOCK * sizeof(double) };

static const struct rcx_stage *users(const struct rcx_request *r)
{
    return &r->stages[r->stage_count - 1];
}

/* The elements of a row of the operand; if they are not contiguous, a copy. */
static const char *operand(const struct rcx_request *r, size_t part,
                           struct row row, char copy[BLOCK_BYTES])
{
    const size_t bytes = r->program->combine.reducer.elem_bytes;
    const size_t at = (part_start(r, part) + row.first) * bytes;

    if (!r->veclist)
        return users(r)->in + at;
    rcx_veclist_gather(r->veclist, copy, at, row.count * bytes);
    return copy;
}

/* Round a row of sums: words in a form, or floats. */
static void round_block(const struct rcx_request *r,
                        const struct rcx_exact_form *form, struct row row,
                        const void *sums)
{
    const size_t bytes = r->program->combine.reducer.elem_bytes;
    const struct rcx_exact_stages *s = r->exact;
    _Alignas(double) char copy[BLOCK_BYTES];
    void *const to = r->veclist ? copy : users(r)->out + row.first * bytes;

    if (s->floats)
        s->floats->narrow(to, sums, row.count);
    else
        rcx_exact_decode(&s->how, form, sums, row.count, to);
    if (r->veclist)
        rcx_veclist_unpack(r->veclist, copy, row.first * bytes,
                           row.count * bytes);
}

/* ---- Programs ------------------------------------------------------------ */

static rcx_status_t set_program(struct rcx_request *r, struct rcx_stage *stage,
                                const struct rcx_call *call)
{
    struct rcx_program *program;
    const rcx_status_t status = rcx_program_get(r->comm, call, &program);

    if (status != RCX_OK)
        return status;
    if (stage->program != r->program)
        rcx_program_unpin(r->comm->cache, stage->program);
    stage->program = program;
    return RCX_OK;
}

enum { RANGE_COUNT = sizeof(struct rcx_exact_range) / sizeof(int16_t) };
_Static_assert(RANGE_COUNT == 4, "a range is integers of 16 bits");

static struct rcx_call ranges_call(const struct rcx_request *r)
{
    return (struct rcx_call){.coll = RCX_COLL_ALLREDUCE,
                             .alias = RCX_ALIAS_SAME,
                             .type = RCX_INT16,
                             .op = RCX_MAX,
                             .count = RANGE_COUNT * blocks_of_chunk(r),
                             .role = RCX_CALL_RANGES};
}

/* Words of a part, rounded up so that few counts occur, and few programs are
 * compiled, where forms depend on the numbers. */
static size_t padded(size_t words, size_t count)
{
    const size_t step = (count + 3) / 4;

    return step > 0 ? (words + step - 1) / step * step : words;
}

static struct rcx_call numbers_call(struct rcx_request *r)
{
    const struct rcx_exact_stages *s = r->exact;
    const struct rcx_exact_form *form = s->forms;
    struct rcx_call call = {.coll = r->program->call.coll,
                            .alias =
                                has_parts(r) ? RCX_ALIAS_BLOCK : RCX_ALIAS_SAME,
                            .type = RCX_INT64,
                            .op = RCX_SUM,
                            .root = r->program->call.root,
                            .role = RCX_CALL_NUMBERS};

    for (size_t i = 0; i < s->parts; i++) {
        const struct row chunk = chunk_of(r, i);
        size_t words = 0;

        for (size_t k = 0; k < blocks_in(chunk.count); k++)
            words += block_of(chunk, k).count * rcx_exact_form_words(form++);
        s->counts[i] = padded(words, chunk.count);
        call.count += s->counts[i];
        call.irregular |= s->counts[i] != s->counts[0];
    }
    if (call.irregular)
        call.lists[RCX_CALL_COUNTS] = s->counts;
    return call;
}

/* The call on floats, of any chunk. */
static struct rcx_call floats_call(const struct rcx_request *r)
{
    const struct rcx_exact_stages *s = r->exact;
    const struct rcx_program *e = r->program;
    struct rcx_call call = {.coll = e->call.coll,
                            .alias =
                                has_parts(r) ? RCX_ALIAS_BLOCK : RCX_ALIAS_SAME,
                            .type = RCX_FLOAT32,
                            .op = e->combine.averages ? RCX_AVG : RCX_SUM,
                            .root = e->call.root,
                            .role = RCX_CALL_FLOATS};

    for (size_t i = 0; i < s->parts; i++) {
        call.count += s->counts[i];
        call.irregular |= s->counts[i] != s->counts[0];
    }
    if (call.irregular)
        call.lists[RCX_CALL_COUNTS] = s->counts;
    return call;
}

/* ---- Stages -------------------------------------------------------------- */

static size_t longest_part(const struct rcx_request *r, size_t parts)
{
    size_t most = 0;

    for (size_t i = 0; i < parts; i++)
        most = part_count(r, i) > most ? part_count(r, i) : most;
    return most;
}

/* Of a chunk in each part. */
static size_t width_of(const struct rcx_request *r, size_t parts,
                       size_t longest)
{
    const size_t chunk = r->program->method.segment;

    if (chunk == 0)
        return longest > 0 ? longest : 1;
    return chunk / parts + (chunk < parts);
}

static void set_arithmetic(const struct rcx_request *r,
                           struct rcx_exact_stages *s)
{
    const struct rcx_program *e = r->program;
    const enum rcx_isa isa = r->comm->context->registry.isa;

    s->floats = NULL;
    if (e->combine.in_float) {
        s->floats = rcx_float_kernels(isa, e->call.type);
        return;
    }
    s->how = rcx_exact_vector(e->call.type, r->comm->size, isa);
    if (e->combine.averages)
        s->how.by = (unsigned)r->comm->size;
}

static rcx_status_t create(struct rcx_request *r)
{
    struct rcx_context *context = r->comm->context;
    const size_t parts = has_parts(r) ? (size_t)r->comm->size : 1;
    const size_t longest = longest_part(r, parts);
    const size_t width = width_of(r, parts, longest);
    const size_t most = longest < width ? longest : width;
    const bool in_float = r->program->combine.in_float;
    const size_t forms =
        in_float ? 0 : parts * blocks_in(most) * sizeof *r->exact->forms;
    const size_t lists = (forms + 7) / 8 * 8;
    const size_t bytes = sizeof *r->exact + lists + parts * sizeof(size_t);
    struct rcx_exact_stages *s =
        rcx_scratch_get(&context->scratch, &context->heap, bytes);

    if (!s)
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "no memory for the forms of an exact sum");
    set_arithmetic(r, s);
    s->bytes = bytes;
    s->parts = parts;
    s->width = width;
    s->chunks = longest / width + (longest % width > 0 || longest == 0);
    s->chunk = 0;
    s->counts = (size_t *)(void *)((char *)s->forms + lists);
    for (size_t i = 0; i < parts && in_float; i++)
        s->counts[i] =
            part_count(r, i) / s->chunks + (part_count(r, i) % s->chunks > 0);
    r->exact = s;
    return RCX_OK;
}

void rcx_exact_free(struct rcx_request *r)
{
    if (r->exact)
        rcx_scratch_put(&r->comm->context->scratch, r->exact, r->exact->bytes);
    r->exact = NULL;
}

rcx_status_t rcx_exact_add_stages(struct rcx_request *r)
{
    struct rcx_program *program;
    rcx_status_t status = create(r);
    struct rcx_call call;

    if (status != RCX_OK)
        return status;
    if (r->exact->floats) {
        call = floats_call(r);
        return set_program(r, &r->stages[0], &call);
    }
    call = ranges_call(r);
    status = rcx_program_get(r->comm, &call, &program);
    if (status != RCX_OK)
        return status;
    r->stages[1] = r->stages[0];
    r->stages[0] = (struct rcx_stage){.program = program};
    r->stage_count = 2;
    return RCX_OK;
}

uint64_t rcx_exact_more_segments(const struct rcx_request *r)
{
    return (r->exact->floats ? 1 : 2) * ((uint64_t)r->exact->chunks - 1);
}

/* The vector of a stage, at the end of its scratch. */
static void *vector_of(const struct rcx_exec *x)
{
    const struct rcx_program *e = rcx_piece_of(x)->program;

    return x->base[RCX_BUFFER_TMP] +
           (x->plan->scratch - e->call.count) * e->combine.reducer.elem_bytes;
}

static void find_ranges(struct rcx_request *r, struct rcx_exact_range *range)
{
    _Alignas(double) char copy[BLOCK_BYTES];

    for (size_t i = 0; i < r->exact->parts; i++) {
        const struct row chunk = chunk_of(r, i);

        for (size_t k = 0; k < blocks_in(chunk.count); k++) {
            const struct row row = block_of(chunk, k);

            rcx_exact_range(&r->exact->how, operand(r, i, row, copy), row.count,
                            range++);
        }
    }
}

static void encode(struct rcx_request *r, int64_t *words)
{
    const struct rcx_exact_stages *s = r->exact;
    const struct rcx_exact_form *form = s->forms;
    _Alignas(double) char copy[BLOCK_BYTES];

    for (size_t i = 0; i < s->parts; i++) {
        const struct row chunk = chunk_of(r, i);
        int64_t *const end = words + s->counts[i];

        for (size_t k = 0; k < blocks_in(chunk.count); k++, form++) {
            const struct row row = block_of(chunk, k);

            rcx_exact_encode(&s->how, form, operand(r, i, row, copy), row.count,
                             words);
            words += row.count * rcx_exact_form_words(form);
        }
        while (words < end)
            *words++ = 0;
    }
}

/* Write the chunk as floats, and zeros behind what is shorter. */
static void widen(struct rcx_request *r, float *floats)
{
    const struct rcx_exact_stages *s = r->exact;
    _Alignas(double) char copy[BLOCK_BYTES];

    for (size_t i = 0; i < s->parts; i++) {
        const struct row chunk = chunk_of(r, i);
        float *const end = floats + s->counts[i];

        for (size_t k = 0; k < blocks_in(chunk.count); k++) {
            const struct row row = block_of(chunk, k);

            s->floats->widen(
                floats,
                (const uint16_t *)(const void *)operand(r, i, row, copy),
                row.count);
            floats += row.count;
        }
        while (floats < end)
            *floats++ = 0;
    }
}

/* The part of the result. */
static size_t own_part(const struct rcx_request *r)
{
    return has_parts(r) ? (size_t)r->comm->rank : 0;
}

/* Forms and words before this rank's part. */
static void decode(const struct rcx_request *r, const int64_t *words)
{
    const struct rcx_exact_stages *s = r->exact;
    const struct rcx_exact_form *form = s->forms;
    const struct row chunk = chunk_of(r, own_part(r));

    for (size_t i = 0; i < own_part(r); i++)
        form += blocks_in(chunk_of(r, i).count);
    for (size_t k = 0; k < blocks_in(chunk.count); k++, form++) {
        const struct row row = block_of(chunk, k);

        round_block(r, form, row, words);
        words += row.count * rcx_exact_form_words(form);
    }
}

static void narrow(const struct rcx_request *r, const float *floats)
{
    const struct row chunk = chunk_of(r, own_part(r));

    for (size_t k = 0; k < blocks_in(chunk.count); k++) {
        const struct row row = block_of(chunk, k);

        round_block(r, NULL, row, floats);
        floats += row.count;
    }
}

/* The user's call, in tags: calls that differ may have equal stages. */
static uint64_t users_fingerprint(const struct rcx_request *r)
{
    return r->program->tag &
           rcx_tag_base(&r->comm->context->layout, 0, UINT64_MAX);
}

void rcx_exact_stage_begin(struct rcx_request *r, struct rcx_exec *x)
{
    char *const vector = vector_of(x);
    const size_t bytes = r->stage->program->combine.reducer.elem_bytes;
    size_t own = 0;

    if (r->exact->floats)
        widen(r, (float *)(void *)vector);
    else if (rcx_request_is_exact_numbers(r))
        encode(r, (int64_t *)(void *)vector);
    else
        find_ranges(r, (struct rcx_exact_range *)(void *)vector);
    if (r->exact->floats || rcx_request_is_exact_numbers(r))
        for (size_t i = 0; i < own_part(r); i++)
            own += r->exact->counts[i];
    x->tag_base ^= users_fingerprint(r);
    x->base[RCX_BUFFER_IN] = vector;
    x->base[RCX_BUFFER_OUT] = vector + own * bytes;
}

/* All ranks know the ranges of all numbers. */
static rcx_status_t agree(struct rcx_request *r,
                          const struct rcx_exact_range *range)
{
    const size_t n = blocks_of_chunk(r);
    struct rcx_call call;

    for (size_t i = 0; i < n; i++)
        r->exact->forms[i] = rcx_exact_form(&r->exact->how, &range[i]);
    call = numbers_call(r);
    return set_program(r, &r->stages[r->stage_count - 1], &call);
}

/* The next start of a persistent request begins with the first chunk again. */
static rcx_status_t next_chunk(struct rcx_request *r)
{
    struct rcx_exact_stages *s = r->exact;
    struct rcx_call call;

    if (s->chunks == 1)
        return RCX_OK;
    s->chunk = s->chunk + 1 < s->chunks ? s->chunk + 1 : 0;
    if (s->floats)
        return RCX_OK;
    call = ranges_call(r);
    return set_program(r, &r->stages[r->stage_count - 2], &call);
}

rcx_status_t rcx_exact_stage_end(struct rcx_request *r, struct rcx_exec *x)
{
    const void *const sums = x->base[RCX_BUFFER_OUT];

    if (!r->exact->floats && !rcx_request_is_exact_numbers(r))
        return agree(r, vector_of(x));
    if (r->program->gets && r->exact->floats)
        narrow(r, sums);
    else if (r->program->gets)
        decode(r, sums);
    return next_chunk(r);
}
