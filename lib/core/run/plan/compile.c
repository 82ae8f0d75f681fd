/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiles a call: chooses the method, builds the plans of its segments, and
 * makes their executions. */
#include "core/run/plan/compile.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/run/diag/describe.h"
#include "core/run/mem/exec_pool.h"
#include "core/run/observe/observer.h"
#include "core/run/plan/check.h"

/* Least weight of a segment. */
enum { LIGHTEST = 1 << 10 };

void rcx_program_free(struct rcx_heap *heap, struct rcx_program *e)
{
    for (size_t i = 0; i < e->piece_count; i++)
        rcx_pool_close(&e->pieces[i].pool, heap);
    rcx_heap_free(heap, e->pieces);
    rcx_heap_free(heap, e);
}

/* Numbers that the program keeps: the call's lists, and starts of blocks. */
static size_t numbers_of(const struct rcx_call *call, int size)
{
    return call->irregular
               ? rcx_call_entries(call, size) + 2 * ((size_t)size + 1)
               : 0;
}

/* The starts of blocks of these lengths, and the end of the last. */
static const size_t *fill_starts(size_t **at, const size_t counts[], int size)
{
    size_t *const starts = *at;

    if (!counts)
        return NULL;
    starts[0] = 0;
    for (int i = 0; i < size; i++)
        starts[i + 1] = starts[i] + counts[i];
    *at += size + 1;
    return starts;
}

static void fill_numbers(struct rcx_program *e, int size)
{
    size_t *at = e->numbers;

    for (int k = 0; e->call.irregular && k < RCX_CALL_LISTS; k++) {
        const size_t n = rcx_call_length(&e->call, k, size);

        if (!e->call.lists[k])
            continue;
        memcpy(at, e->call.lists[k], n * sizeof *at);
        e->call.lists[k] = at;
        at += n;
    }
    if (rcx_call_has_neighbors(&e->call))
        e->neighbors =
            rcx_neighbors_of(e->call.lists[RCX_CALL_TO], e->call.to,
                             e->call.lists[RCX_CALL_FROM], e->call.from);
    e->displs = fill_starts(&at, e->call.lists[RCX_CALL_COUNTS], size);
    e->gotten = fill_starts(&at, e->call.lists[RCX_CALL_GOTTEN], size);
}

/* Lengths of the blocks that this rank receives. */
static const size_t *received_counts(const struct rcx_call *call)
{
    const size_t *const gotten = call->lists[RCX_CALL_GOTTEN];

    return gotten ? gotten : call->lists[RCX_CALL_COUNTS];
}

/* Where blocks of these lengths lie. */
static struct rcx_places places_of(const size_t starts[], const size_t counts[],
                                   int size)
{
    struct rcx_places places = {.starts = starts};

    for (int i = 0; starts && i < size; i++)
        if (counts[i] > 0 && starts[i] + counts[i] > places.reach)
            places.reach = starts[i] + counts[i];
    return places;
}

static struct rcx_shape shape_of(const struct rcx_comm *comm,
                                 const struct rcx_program *e)
{
    const struct rcx_call *call = &e->call;
    const size_t *const *const lists = call->lists;
    const bool in = rcx_coll_gives(call->coll, comm->rank, call->root);
    const bool out = rcx_coll_gets(call->coll, comm->rank, call->root);

    return (struct rcx_shape){
        .coll = call->coll,
        .rank = comm->rank,
        .size = comm->size,
        .root = call->root,
        .nodes = comm->members->nodes,
        .cores = comm->context->cores,
        .machine = &comm->context->config.tuning.machine,
        .count = call->count,
        .displs = e->displs,
        .gotten = e->gotten,
        .passing = lists[RCX_CALL_PASSING],
        .neighbors = rcx_call_has_neighbors(call) ? &e->neighbors : NULL,
        .in_places = places_of(in ? lists[RCX_CALL_IN_PLACES] : NULL,
                               lists[RCX_CALL_COUNTS], comm->size),
        .out_places = places_of(out ? lists[RCX_CALL_OUT_PLACES] : NULL,
                                received_counts(call), comm->size),
        .alias = in && out ? call->alias : RCX_ALIAS_NONE};
}

/* ---- Places of results --------------------------------------------------- */

struct place {
    size_t start, end;
    int rank; /* whose block is there */
};

static int by_start(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return x->start < y->start ? -1 : x->start > y->start;
}

/* Sorted by start, two blocks that are neighbours overlap if any two do. */
static rcx_status_t compare_places(const struct rcx_comm *comm,
                                   const struct rcx_call *call,
                                   struct place places[], size_t n)
{
    qsort(places, n, sizeof *places, by_start);
    for (size_t i = 1; i < n; i++) {
        const struct place *a = &places[i - 1], *b = &places[i];

        if (b->start < a->end)
            return rcx_fail(
                &comm->context->log, RCX_ERR_ARG,
                "%s: blocks %d (elements %zu to %zu of recvbuf) "
                "and %d (%zu to %zu) overlap",
                rcx_colls[call->coll].is_local ? "recvdispls" : "displs",
                a->rank, a->start, a->end - 1, b->rank, b->start, b->end - 1);
    }
    return RCX_OK;
}

/* Blocks of a result that overlap would overwrite each other. */
static rcx_status_t check_places(struct rcx_comm *comm,
                                 const struct rcx_call *call)
{
    const size_t *const starts = call->lists[RCX_CALL_OUT_PLACES];
    const size_t *const counts = received_counts(call);
    struct rcx_heap *heap = &comm->context->heap;
    struct place *places;
    rcx_status_t status;
    size_t n = 0;

    if (!starts)
        return RCX_OK;
    places = rcx_heap_alloc(heap, (size_t)comm->size * sizeof *places);
    if (!places)
        return rcx_fail(&comm->context->log, RCX_ERR_NOMEM,
                        "no memory for the plan of %s",
                        rcx_call_function(call));
    for (int i = 0; i < comm->size; i++)
        if (counts[i] > 0)
            places[n++] = (struct place){
                .start = starts[i], .end = starts[i] + counts[i], .rank = i};
    status = compare_places(comm, call, places, n);
    rcx_heap_free(heap, places);
    return status;
}

/* ---- Pieces -------------------------------------------------------------- */

/* Whether results are too long for the caches. Those that are worked on
 * afterwards are read again. */
static bool streams(const struct rcx_program *e,
                    const struct rcx_transport *transport)
{
    const size_t in = e->call.alias == RCX_ALIAS_NONE ? e->bytes_in : 0;
    const size_t bytes = in + e->bytes_out;

    return transport->stream_bytes > 0 && bytes >= transport->stream_bytes &&
           !e->combine.finish;
}

static struct rcx_exec_pool pool_of(struct rcx_comm *comm,
                                    const struct rcx_program *e)
{
    struct rcx_context *context = comm->context;

    return (struct rcx_exec_pool){
        .setting = {.transport = context->transport,
                    .reducer = &e->combine.reducer,
                    .streams = streams(e, context->transport),
                    .layout = context->layout,
                    .endpoints = comm->ranks,
                    .rank = rcx_comm_context_rank(comm, comm->rank)},
        .scratch = &context->scratch,
        .heap = &context->heap};
}

/* Messages of ack_bytes and more are acknowledged. */
static rcx_status_t build_piece(struct rcx_comm *comm, struct rcx_program *e,
                                const struct rcx_shape *shape,
                                struct rcx_piece *piece, size_t ack_bytes)
{
    struct rcx_builder *b = &comm->context->builder;
    const uint32_t window = rcx_tag_message_window(&comm->context->layout);
    struct rcx_plan *plan;

    rcx_row_build(b, e->method.algo, shape, &piece->row);
    if (rcx_call_has_own_vector(&e->call)) /* behind the rest */
        rcx_span_scratch(b, shape->count);
    rcx_sched_completion_ack(b, ack_bytes / shape->elem_bytes +
                                    (ack_bytes % shape->elem_bytes > 0));

    const rcx_status_t status = rcx_sched_finish(b, window, &plan);

    if (status == RCX_ERR_NOMEM)
        return rcx_fail(&comm->context->log, status,
                        "no memory for the schedule of %s",
                        rcx_coll_name(shape->coll));
    if (status != RCX_OK)
        return status;
    if (shape->at_once && !rcx_plan_combines_at_once(plan, shape->size)) {
        rcx_heap_free(&comm->context->heap, plan);
        return rcx_fail(&comm->context->log, RCX_ERR_INTERNAL,
                        "the schedule of %s %s combines parts of the operands",
                        rcx_coll_name(shape->coll), e->method.algo->name);
    }
    piece->program = e;
    piece->out_count = rcx_row_out_count(&piece->row, shape);
    piece->pool = pool_of(comm, e);
    rcx_pool_open(&piece->pool, plan);
    e->bytes += sizeof *piece + plan->bytes + rcx_exec_bytes(plan);
    return RCX_OK;
}

/* All ranks must compute the same weight, so it depends on nothing of one
 * rank. */
static size_t weight_of(const struct rcx_program *e, const struct rcx_row *row)
{
    const size_t bytes = row->width * e->combine.reducer.elem_bytes;

    return rcx_colls[e->call.coll].is_local || bytes < LIGHTEST ? LIGHTEST
                                                                : bytes;
}

static void set_row(struct rcx_program *e, struct rcx_cutter *cutter,
                    struct rcx_piece *piece)
{
    rcx_cutter_next(cutter, &piece->row);
    piece->end = e->segments += piece->row.segments;
    if (!e->one_way)
        return;
    piece->weight = weight_of(e, &piece->row);
    e->weight += piece->row.segments * piece->weight;
}

/* Make a piece for each row of segments, which share its plan. */
static rcx_status_t make_pieces(struct rcx_comm *comm, struct rcx_program *e,
                                const struct rcx_shape *shape)
{
    struct rcx_heap *heap = &comm->context->heap;
    struct rcx_cutter cutter;
    struct rcx_row row;
    size_t rows = 0;

    if (rcx_cutter_open(&cutter, heap, shape, e->method.segment) != RCX_OK)
        return RCX_ERR_NOMEM;
    while (rcx_cutter_next(&cutter, &row))
        rows++;
    e->piece_count = e->one_way ? 2 * rows : rows;
    e->pieces = rcx_heap_zalloc_lines(heap, e->piece_count * sizeof *e->pieces);
    if (!e->pieces)
        e->piece_count = rows = 0;
    rcx_cutter_rewind(&cutter);
    for (size_t i = 0; i < rows; i++)
        set_row(e, &cutter, &e->pieces[i]);
    for (size_t i = rows; i < e->piece_count; i++) {
        e->pieces[i] = e->pieces[i - rows];
        e->pieces[i - rows].acked = &e->pieces[i];
    }
    rcx_cutter_close(&cutter);
    return e->pieces ? RCX_OK : RCX_ERR_NOMEM;
}

static rcx_status_t build_pieces(struct rcx_comm *comm, struct rcx_program *e,
                                 const struct rcx_shape *shape)
{
    rcx_status_t status = make_pieces(comm, e, shape);

    if (status != RCX_OK)
        return rcx_fail(&comm->context->log, status,
                        "no memory for the plan of %s",
                        rcx_call_function(&e->call));
    for (size_t i = 0; i < e->piece_count && status == RCX_OK; i++) {
        struct rcx_piece *piece = &e->pieces[i];
        const bool is_for_all = e->one_way && !piece->acked;

        status = build_piece(comm, e, shape, piece,
                             is_for_all ? 0 : comm->context->ack_bytes);
    }
    return status;
}

/* If all of the result is stored by final reductions, these do what follows
 * them, while the data is in registers. */
static void finish_in_reductions(struct rcx_program *e, int ranks)
{
    for (size_t i = 0; i < e->piece_count; i++)
        if (e->pieces[i].pool.plan->combined != e->pieces[i].out_count)
            return;
    e->combine.reducer.finish = e->combine.finish;
    e->combine.reducer.ranks = ranks;
    e->combine.finish = NULL;
}

/*
 * Make the executions and the scratch that one operation may use at once, so
 * that a repeated call allocates nothing, whatever the timing of its segments.
 */
static rcx_status_t reserve(struct rcx_comm *comm, struct rcx_program *e)
{
    struct rcx_exec *taken[RCX_WINDOW_MAX] = {NULL};
    const unsigned window = e->method.window;
    unsigned at = 0;
    bool good = true;

    for (size_t i = 0; i < e->piece_count; i++) {
        const uint64_t segments = e->pieces[i].row.segments;

        for (unsigned k = 0; k < window && k < segments && good; k++) {
            struct rcx_exec **x = &taken[at++ % window];

            if (*x)
                rcx_exec_put(*x);
            *x = rcx_exec_get(&e->pieces[i].pool);
            good = *x != NULL;
        }
    }
    for (unsigned i = 0; i < window; i++)
        if (taken[i])
            rcx_exec_put(taken[i]);
    return good ? RCX_OK
                : rcx_fail(&comm->context->log, RCX_ERR_NOMEM,
                           "no memory for scratch of %s",
                           rcx_call_function(&e->call));
}

int64_t rcx_program_counts_hash(const struct rcx_program *e, int size)
{
    uint64_t hash = 1;

    if (!e->call.irregular || rcx_colls[e->call.coll].is_local)
        return 0;
    for (int i = 0; i < size; i++)
        hash = rcx_hash(hash, e->displs[i + 1]);
    return (int64_t)(hash >> 1);
}

static uint32_t fingerprint(const struct rcx_program *e)
{
    uint64_t hash = rcx_hash((uint64_t)e->call.coll, rcx_call_told(&e->call));

    hash = rcx_hash(hash, rcx_call_has_neighbors(&e->call));
    hash = rcx_hash(hash, e->combine.fingerprint);
    return (uint32_t)(rcx_hash(hash, (uint32_t)e->call.root) >> 32);
}

static struct rcx_record record_of(const struct rcx_program *e)
{
    return (struct rcx_record){.count = e->call.count,
                               .segment = e->method.segment,
                               .algo = e->method.algo,
                               .type = e->call.type,
                               .op = e->call.op,
                               .root = e->call.root,
                               .coll = (uint8_t)e->call.coll};
}

/* The type and op of a second step may be freed; its first step has them. */
static rcx_status_t find_combine(const struct rcx_context *context,
                                 const struct rcx_call *call,
                                 const struct rcx_program *first,
                                 struct rcx_combine *combine_p)
{
    rcx_status_t status = RCX_OK;

    if (first)
        *combine_p = first->combine;
    else if (call->type == RCX_TYPE_CHECK)
        *combine_p = rcx_check_combine();
    else
        status = rcx_registry_combine(&context->registry, call->type, call->op,
                                      combine_p);
    if (status == RCX_OK && combine_p->averages &&
        rcx_colls[call->coll].is_prefix)
        status = rcx_fail(&context->log, RCX_ERR_UNSUPPORTED,
                          "op=%d (%s): not defined for %s, as each rank's "
                          "result combines another number of ranks",
                          call->op, rcx_op_predefined(call->op)->name,
                          rcx_call_function(call));
    return status;
}

/* What users force applies to all steps of their calls, and to no call of RCX's
 * own. The numbers of a sum in stages may have other blocks than the user's
 * call, which an algorithm may not suit. */
static struct rcx_method_spec forced_of(const struct rcx_config *config,
                                        const struct rcx_call *call)
{
    struct rcx_method_spec spec = config->spec[call->coll];

    if (call->role >= RCX_CALL_NUMBERS || rcx_call_has_neighbors(call))
        spec.preferred = true;
    else if (call->role == RCX_CALL_OWN || call->role == RCX_CALL_CREATION ||
             call->role == RCX_CALL_RANGES)
        spec = rcx_method_any;
    return spec;
}

/* Whether all algorithms that keep the order level give the same bits, so that
 * another run may choose another one. */
static bool keeps_bits(const struct rcx_program *e,
                       const struct rcx_shape *shape, rcx_order_t needed)
{
    return !rcx_colls[e->call.coll].reduces || e->combine.exact ||
           shape->at_once || needed == RCX_ORDER_CANONICAL;
}

static bool works_at_once(const struct rcx_comm *comm,
                          const struct rcx_program *e,
                          const struct rcx_shape *shape)
{
    return e->combine.rounds_once &&
           rcx_algo_suits_at_once(shape,
                                  forced_of(comm->config, &e->call).algo);
}

static rcx_status_t choose(const struct rcx_comm *comm, struct rcx_program *e,
                           struct rcx_shape *shape)
{
    struct rcx_context *context = comm->context;
    const uint64_t window = rcx_tag_sequence_window(&context->layout) / 2;
    const struct rcx_method_spec forced = forced_of(comm->config, &e->call);
    const rcx_order_t needed =
        rcx_combine_order(&e->combine, comm->config->order);
    rcx_status_t status;

    if (keeps_bits(e, shape, needed))
        shape->machine = &context->machine;
    status = rcx_method_choose(shape, needed, &forced, &context->config.tuning,
                               &context->builder, &e->method);
    if (status != RCX_OK)
        return status;
    if (!rcx_call_is_users(&e->call)) /* a stage has one sequence number */
        e->method.segment = 0;
    if (e->sums_in_stages) { /* chunks run one after another */
        e->method.segment = rcx_exact_chunk(shape->count, shape->elem_bytes,
                                            forced.segment_bytes);
        e->method.window = 1;
    }
    if (e->method.window > window)
        e->method.window = (unsigned)window;
    /* a result may lie where earlier segments read other blocks */
    if (e->call.irregular && shape->alias == RCX_ALIAS_SAME)
        e->method.window = 1;
    rcx_method_apply(&e->method, shape);
    rcx_method_print(&e->method, shape->elem_bytes, e->text, sizeof e->text);
    return RCX_OK;
}

static size_t elements(const struct rcx_program *e, enum rcx_extent extent,
                       bool has)
{
    if (!has)
        return 0;
    return extent == RCX_EXTENT_BLOCK ? e->given : e->call.count;
}

/* Set what the next call is compared with. A call with lists is no repeat. */
static void measure(struct rcx_program *e, const struct rcx_comm *comm,
                    size_t elem_bytes)
{
    const struct rcx_call *call = &e->call;
    const struct rcx_coll_row *coll = &rcx_colls[call->coll];

    e->gives = rcx_coll_gives(call->coll, comm->rank, call->root);
    e->gets = rcx_coll_gets(call->coll, comm->rank, call->root);
    e->key = call->irregular || !rcx_call_is_users(call)
                 ? RCX_NO_CALL_KEY
                 : rcx_call_key(call->coll, call->alias, call->type, call->op,
                                call->root);
    e->given = rcx_coll_has_blocks(call->coll)
                   ? call->count / (size_t)comm->size
                   : call->count;
    e->bytes_in = elements(e, coll->gives, e->gives) * elem_bytes;
    e->bytes_out = elements(e, coll->gets, e->gets) * elem_bytes;
}

/* Set which stages it has, and what each run checks. */
static void classify(const struct rcx_comm *comm, struct rcx_program *e,
                     const struct rcx_shape *shape)
{
    const struct rcx_call *call = &e->call;
    const struct rcx_algo *algo = e->method.algo;

    e->has_prologue = comm->config->check == RCX_CHECK_FULL &&
                      call->type != RCX_TYPE_CHECK && comm->size > 1 &&
                      comm->id != RCX_COMM_ID_INTERNAL &&
                      !rcx_comm_is_for_groups(comm->id);
    e->has_epilogue = e->combine.may_fail && comm->size > 1;
    if (call->irregular && algo->passing)
        e->passing = algo->passing(shape);
    e->has_first_step = e->passing > 0 && !call->lists[RCX_CALL_PASSING];
    e->makes_comm = call->role == RCX_CALL_CREATION;
    e->has_stages = e->has_prologue || e->has_first_step || e->sums_in_stages ||
                    e->has_epilogue || e->makes_comm;
    measure(e, comm, shape->elem_bytes);
    e->one_way = rcx_colls[call->coll].is_one_way || call->irregular ||
                 e->sums_in_stages; /* a stage may have lists */
    e->is_special = e->one_way || e->has_stages;
    e->record = record_of(e);
    e->tag = rcx_tag_base(&comm->context->layout, 0, fingerprint(e));
}

/* A call whose stages get their programs later. */
static void leave_open(struct rcx_program *e)
{
    e->segments = 1;
    e->weight = LIGHTEST;
}

static rcx_status_t compile(struct rcx_comm *comm, const struct rcx_call *call,
                            const struct rcx_program *first,
                            struct rcx_program *e)
{
    struct rcx_shape shape;
    rcx_status_t status = find_combine(comm->context, call, first, &e->combine);

    if (status != RCX_OK)
        return status;
    rcx_recorder_open(&comm->recorder); /* so that starts do not allocate */
    e->call = *call;
    fill_numbers(e, comm->size);
    status = check_places(comm, &e->call);
    if (status != RCX_OK)
        return status;
    if (!rcx_comm_map_nodes(comm))
        return rcx_fail(&comm->context->log, RCX_ERR_NOMEM,
                        "no memory for a map of nodes");
    shape = shape_of(comm, e);
    shape.elem_bytes = e->combine.reducer.elem_bytes;
    shape.commutative = e->combine.commutative;
    shape.at_once = works_at_once(comm, e, &shape);
    /* of two operands each algorithm has one sum */
    e->sums_in_stages =
        e->combine.rounds_once && comm->size > 2 && !shape.at_once;
    shape.uncut = !rcx_call_is_users(call) || e->sums_in_stages;
    status = choose(comm, e, &shape);
    if (status != RCX_OK)
        return status;
    classify(comm, e, &shape);
    e->vector_bytes = call->count * shape.elem_bytes;
    rcx_observer_adopt(comm, e);
    if (e->has_first_step || e->sums_in_stages) {
        leave_open(e);
        return RCX_OK;
    }
    status = build_pieces(comm, e, &shape);
    if (status == RCX_OK)
        finish_in_reductions(e, comm->size);
    e->is_short = e->segments == 1 && !e->has_stages;
    e->is_single = e->is_short && !e->is_observed;
    return status == RCX_OK ? reserve(comm, e) : status;
}

rcx_status_t rcx_program_compile(struct rcx_comm *comm,
                                 const struct rcx_call *call,
                                 const struct rcx_program *first,
                                 struct rcx_program **program_p)
{
    const size_t bytes = sizeof(struct rcx_program) +
                         numbers_of(call, comm->size) * sizeof(size_t);
    struct rcx_program *e = rcx_heap_zalloc_lines(&comm->context->heap, bytes);
    rcx_status_t status;

    if (!e)
        return rcx_fail(&comm->context->log, RCX_ERR_NOMEM,
                        "no memory for the plan of %s",
                        rcx_call_function(call));
    e->bytes = bytes;
    status = compile(comm, call, first, e);
    if (status != RCX_OK) {
        rcx_program_free(&comm->context->heap, e);
        return status;
    }
    rcx_program_describe(comm, e);
    *program_p = e;
    return RCX_OK;
}
