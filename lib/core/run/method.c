/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which algorithm a call gets: the first row of the table for its collective,
 * ranks and size whose algorithm fits the shape and keeps the order that the
 * op needs; else any algorithm that does. All of it depends only on values
 * that are equal on all ranks. docs/performance.md has the measurements.
 */
#include "core/run/method.h"

#include <limits.h>
#include <string.h>

#include "core/run/context.h"
#include "core/sched/params.h"

struct rule {
    enum rcx_coll coll;
    int ranks;          /* communicators up to this size */
    size_t bytes;       /* vectors up to this size where ranks are 2^k */
    size_t other_bytes; /* and where they are not: folding has its price */
    const char *algo;
    size_t segment_bytes;
    unsigned window;
};

static const struct rule rules[] = {
    {RCX_COLL_ALLREDUCE, 2, 32 << 10, 0, "recursive_doubling", 0, 1},
    {RCX_COLL_ALLREDUCE, 3, 0, 8 << 10, "direct", 0, 1},
    {RCX_COLL_ALLREDUCE, 8, 128, 128, "direct", 0, 1},
    /* few ranks: the ring has few rounds more, and combines less */
    {RCX_COLL_ALLREDUCE, 4, 32 << 10, 0, "recursive_doubling", 0, 1},
    {RCX_COLL_ALLREDUCE, 4, SIZE_MAX, 0, "ring", 256 << 10, 2},
    {RCX_COLL_ALLREDUCE, INT_MAX, 128 << 10, 64 << 10, "recursive_doubling", 0,
     1},
    {RCX_COLL_ALLREDUCE, INT_MAX, SIZE_MAX, SIZE_MAX, "ring", 256 << 10, 2},
    {RCX_COLL_REDUCE, INT_MAX, SIZE_MAX, SIZE_MAX, "binomial", 256 << 10, 2},
    {RCX_COLL_REDUCE_SCATTER, INT_MAX, SIZE_MAX, SIZE_MAX, "pairwise", 0, 1},
    {RCX_COLL_BARRIER, INT_MAX, SIZE_MAX, SIZE_MAX, "dissemination", 0, 1},
};
enum { RULES = sizeof rules / sizeof *rules, WINDOW = 2 };

rcx_order_t rcx_order_needed(const struct rcx_config *config, bool commutative,
                             bool exact)
{
    const rcx_order_t floor = commutative ? RCX_ORDER_LOOSE : RCX_ORDER_RANK;

    if (exact || config->order < floor)
        return floor;
    return config->order;
}

/* shape with the parameters of algo; NULL: the usual ones. */
static struct rcx_shape settle(const struct rcx_shape *shape,
                               const struct rcx_algo *algo,
                               const int64_t params[])
{
    struct rcx_shape s = *shape;

    if (params)
        memcpy(s.params, params, sizeof s.params);
    else
        rcx_params_reset(algo, s.params);
    rcx_params_settle(algo, &s, &rcx_machine_usual);
    return s;
}

static bool suits(const struct rcx_algo *algo, const struct rcx_shape *s,
                  rcx_order_t needed)
{
    return rcx_algo_fits(algo, s) && rcx_algo_order(algo, s) >= needed;
}

/* Make algo the method, if it suits. */
static bool adopt(struct rcx_method *m, const struct rcx_algo *algo,
                  const struct rcx_shape *shape, rcx_order_t needed)
{
    const struct rcx_shape s = settle(shape, algo, NULL);

    if (!suits(algo, &s, needed))
        return false;
    m->algo = algo;
    memcpy(m->params, s.params, sizeof m->params);
    return true;
}

static rcx_status_t check_forced(const struct rcx_context *context,
                                 const struct rcx_algo *algo,
                                 const struct rcx_shape *shape,
                                 rcx_order_t needed)
{
    if (!rcx_algo_fits(algo, shape))
        return rcx_fail(&context->log, RCX_ERR_UNSUPPORTED,
                        "%s %s does not work for this call on %d ranks: it "
                        "needs %s",
                        rcx_coll_name(algo->coll), algo->name, shape->size,
                        algo->needs);
    if (rcx_algo_order(algo, shape) < needed)
        return rcx_fail(&context->log, RCX_ERR_UNSUPPORTED,
                        "%s %s keeps order level %s, this op and RCX_ORDER "
                        "need %s",
                        rcx_coll_name(algo->coll), algo->name,
                        rcx_order_name(rcx_algo_order(algo, shape)),
                        rcx_order_name(needed));
    return RCX_OK;
}

static size_t segment_elements(size_t bytes, const struct rcx_shape *shape)
{
    return bytes && bytes < shape->elem_bytes ? 1 : bytes / shape->elem_bytes;
}

/* What the table says for shape; segments also where the algorithm changes. */
static struct rcx_method choose(const struct rcx_shape *shape, size_t bytes,
                                rcx_order_t needed)
{
    const bool is_power = (shape->size & (shape->size - 1)) == 0;
    struct rcx_method m = {.window = WINDOW};

    for (int i = 0; i < RULES && !m.algo; i++) {
        const struct rule *rule = &rules[i];

        if (rule->coll != shape->coll || shape->size > rule->ranks ||
            bytes > (is_power ? rule->bytes : rule->other_bytes))
            continue;
        m.segment = segment_elements(rule->segment_bytes, shape);
        m.window = rule->window;
        adopt(&m, rcx_algo_find(rule->coll, rule->algo), shape, needed);
    }
    for (const struct rcx_algo *const *a = rcx_algo_table; *a && !m.algo; a++)
        if ((*a)->coll == shape->coll)
            adopt(&m, *a, shape, needed);
    return m;
}

/* What the user wants for this call. Who only prefers an algorithm that does
 * not suit it wants nothing. */
static const struct rcx_forced *wanted(const struct rcx_context *context,
                                       const struct rcx_shape *shape,
                                       bool internal, rcx_order_t needed)
{
    static const struct rcx_forced nothing = {.segment_bytes = SIZE_MAX};
    const struct rcx_forced *forced = &context->config.forced[shape->coll];
    struct rcx_shape s;

    if (internal)
        return &nothing;
    if (!forced->preferred)
        return forced;
    s = settle(shape, forced->algo, forced->params);
    return suits(forced->algo, &s, needed) ? forced : &nothing;
}

rcx_status_t rcx_method_select(const struct rcx_context *context,
                               const struct rcx_shape *shape,
                               const struct rcx_combine *combine, bool internal,
                               struct rcx_method *method_p)
{
    const rcx_order_t needed = rcx_order_needed(
        &context->config, combine->commutative, combine->exact);
    const struct rcx_forced *forced = wanted(context, shape, internal, needed);
    struct rcx_method m =
        choose(shape, shape->count * shape->elem_bytes, needed);

    if (forced->algo) {
        const struct rcx_shape s = settle(shape, forced->algo, forced->params);
        const rcx_status_t status =
            check_forced(context, forced->algo, &s, needed);

        if (status != RCX_OK)
            return status;
        if (forced->algo != m.algo)
            m = (struct rcx_method){.algo = forced->algo, .window = WINDOW};
        memcpy(m.params, s.params, sizeof m.params);
    }
    if (!m.algo)
        return rcx_fail(&context->log, RCX_ERR_UNSUPPORTED,
                        "no algorithm of %s keeps the order that this op "
                        "needs",
                        rcx_coll_name(shape->coll));
    if (forced->segment_bytes != SIZE_MAX)
        m.segment = segment_elements(forced->segment_bytes, shape);
    if (forced->window)
        m.window = forced->window;
    if (m.segment >= shape->count)
        m.segment = 0;
    *method_p = m;
    return RCX_OK;
}
