/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Candidates of a point, and their measurement. RCX's choice comes first, then
 * the methods whose price is not too high. Candidates are timed in rounds, each
 * in turn, so that disturbances hit all alike.
 */
#include "rcx_tune/rcx_tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/run/object/comm.h"
#include "core/run/object/context.h"
#include "core/run/plan/cache.h"
#include "core/run/plan/members.h"
#include "core/sched/price.h"
#include "common/regret.h"

/* A candidate that is slower than the fastest by the first factor after some
 * rounds, or by the second after one, is timed no more.
 * The best of many noisy medians is biased to a lucky candidate. So RCX's
 * choice and the fastest others are timed anew at the end, and only these times
 * count. */
static const double hopeless = 1.5, at_once = 4;
enum { FAIR_ROUNDS = 2, FINALISTS = 4 };

/* Segments to try. A vector has CUT_FROM to CUT_TO of them, or is whole. */
static const struct cut {
    size_t bytes; /* 0: the whole vector */
    unsigned window;
    bool is_variant; /* only with --variants */
} cuts[] = {{0, 0, false},       {64 << 10, 2, false}, {256 << 10, 2, false},
            {4 << 10, 2, true},  {16 << 10, 2, true},  {4 << 10, 4, true},
            {16 << 10, 4, true}, {64 << 10, 4, true},  {256 << 10, 4, true}};
enum { CUTS = sizeof cuts / sizeof *cuts, CUT_FROM = 2, CUT_TO = 64 };

/* ---- Candidates ---------------------------------------------------------- */

struct rcx_shape tune_shape(const struct tune_job *job,
                            const struct tune_point *point)
{
    const enum rcx_coll coll = point->coll->row;
    const size_t count = point->bytes / sizeof(float);

    return (struct rcx_shape){
        .coll = coll,
        .size = job->size,
        .count = rcx_coll_has_blocks(coll) ? count * (size_t)job->size : count,
        .elem_bytes = sizeof(float),
        .commutative = true,
        .nodes = job->world->members->nodes,
        .cores = job->context->cores,
        .machine = &job->context->config.tuning.machine};
}

/*
 * The root of call i. Calls with one root would overlap: a chain would take as
 * long as one of its messages. So the root of a call is the rank that is last
 * to have its part of the call before, in a tree whose ranks follow each other
 * from the root on: the rank below the root after a bcast, the one above it if
 * data go to the root.
 */
static int root_of(const struct tune_job *job, enum rcx_coll row, int i)
{
    const int roots = job->size < TUNE_ROOTS ? job->size : TUNE_ROOTS;

    return rcx_colls[row].giver == RCX_RANKS_ROOT ? roots - 1 - i : i;
}

static rcx_status_t request_to(const struct tune_job *job,
                               const struct tune_point *point, rcx_comm_t *comm,
                               int root, rcx_request_t **request_p)
{
    const enum rcx_coll row = point->coll->row;
    const struct perf_call call = {
        .comm = comm,
        .in = rcx_rank_set_has(rcx_colls[row].giver, job->rank, root) ? job->in
                                                                      : NULL,
        .out = job->out,
        .count = point->bytes / sizeof(float),
        .type = RCX_FLOAT32,
        .op = RCX_SUM,
        .root = root};

    return point->coll->call(&call, FORM_PERSISTENT, request_p);
}

/* A communicator of all ranks with programs of its own. */
static rcx_status_t make_comm(const struct tune_job *job, rcx_comm_t **comm_p)
{
    const rcx_status_t status = rcx_comm_dup(job->world, comm_p);
    struct rcx_members *own = NULL;

    if (status == RCX_OK)
        own = rcx_members_copy(job->context, (*comm_p)->members);
    if (own)
        rcx_members_replace(*comm_p, own);
    return status == RCX_OK && !own ? RCX_ERR_NOMEM : status;
}

/* Create persistent requests of the point, with the method that spec
 * prescribes. */
static rcx_status_t request(struct tune_job *job, struct tune_point *point,
                            const struct rcx_method_spec *spec)
{
    const enum rcx_coll row = point->coll->row;
    struct tune_candidate *c = &point->candidates[point->count];
    rcx_comm_t **comm = &job->comms[point->count];
    rcx_status_t status = *comm ? RCX_OK : make_comm(job, comm);
    int i = 0;

    job->context->config.spec[row] = *spec;
    do {
        if (status == RCX_OK)
            status = request_to(job, point, *comm, root_of(job, row, i),
                                &c->requests[i]);
        i++;
    } while (status == RCX_OK && rcx_coll_is_rooted(row) && i < job->size &&
             i < TUNE_ROOTS);
    c->roots = i;
    job->context->config.spec[row] = rcx_method_any;
    return status;
}

static rcx_status_t free_requests(struct tune_candidate *c)
{
    rcx_status_t status = RCX_OK;

    for (int i = 0; i < c->roots && status == RCX_OK; i++)
        status = rcx_request_free(&c->requests[i]);
    return status;
}

/* Add a candidate unless its method is there already. It gets a communicator of
 * its own, as equal calls on one communicator share a method. rule: its text in
 * a rule; NULL: RCX's own choice. */
static rcx_status_t add_candidate(struct tune_job *job,
                                  struct tune_point *point,
                                  const struct rcx_method_spec *spec,
                                  const char *rule)
{
    struct tune_candidate *c = &point->candidates[point->count], *same;
    rcx_status_t status;

    *c = (struct tune_candidate){.rounds = 0};
    status = request(job, point, spec);
    if (status != RCX_OK)
        return status;
    snprintf(c->method, sizeof c->method, "%s",
             rcx_request_method(c->requests[0]));
    for (same = point->candidates; strcmp(same->method, c->method) != 0;)
        same++;
    /* the usual parameters come before their variants, and serve other sizes as
     * well: their rule stays */
    if (same == c || strcmp(same->rule, same->method) == 0)
        snprintf(same->rule, sizeof same->rule, "%s", rule ? rule : c->method);
    if (same == c) {
        point->count++;
        return RCX_OK;
    }
    status = free_requests(c);
    rcx_cache_clear(job->comms[point->count]->cache);
    return status;
}

static bool is_tried(const struct tune_job *job, const struct tune_point *point,
                     const struct cut *cut)
{
    const bool fits =
        cut->bytes == 0 ||
        (point->bytes >= CUT_FROM * cut->bytes &&
         (!cut->is_variant || point->bytes <= CUT_TO * cut->bytes));

    return fits && point->count < TUNE_CANDIDATES &&
           (job->options.variants || !cut->is_variant);
}

static rcx_status_t add_segments(struct tune_job *job, struct tune_point *point,
                                 const struct rcx_algo *algo)
{
    struct rcx_method_spec spec = rcx_method_any;
    rcx_status_t status = RCX_OK;

    spec.algo = algo;
    rcx_params_reset(algo, spec.params);
    for (int i = 0; i < CUTS && status == RCX_OK; i++) {
        const struct cut *cut = &cuts[i];
        char rule[TUNE_METHOD];

        if (!is_tried(job, point, cut))
            continue;
        spec.segment_bytes = cut->bytes;
        spec.window = cut->window;
        snprintf(rule, sizeof rule,
                 cut->window > 2 ? "%s:segment=%zuK,window=%u"
                 : cut->bytes    ? "%s:segment=%zuK"
                                 : "%s",
                 algo->name, cut->bytes >> 10, cut->window);
        status = add_candidate(job, point, &spec, rule);
    }
    return status;
}

/* Value number k to try: a name, a candidate of "auto", or a value that proofs
 * test. RCX_PARAM_END: there are no more. */
static int64_t value_of(const struct rcx_param *p, const struct rcx_shape *s,
                        int k)
{
    if (p->names)
        return p->names[k] ? k : RCX_PARAM_END;
    if (p->candidate)
        return p->candidate(s, k);
    return p->proved ? p->proved[k] : RCX_PARAM_END;
}

/* The price with these parameters; INFINITY: the algorithm is not suitable. 0
 * for algorithms by cores, which have no price and are always tried. */
static double price_of(const struct tune_job *job, const struct rcx_algo *algo,
                       const struct rcx_shape *s, const int64_t params[])
{
    const rcx_order_t needed = job->context->config.order;
    struct rcx_shape as_it = *s;

    if (!rcx_price_is_none(algo, s))
        return rcx_price_with(algo, s, params, needed);
    memcpy(as_it.params, params, sizeof as_it.params);
    rcx_params_settle(algo, &as_it);
    return rcx_algo_fits(algo, &as_it) && rcx_algo_order(algo, &as_it) >= needed
               ? 0
               : INFINITY;
}

/* The state of add_variants(). */
struct variants {
    struct tune_job *job;
    struct tune_point *point;
    const struct rcx_algo *algo;
    const struct rcx_shape *shape;
    double most; /* highest price */
    struct rcx_method_spec spec;
};

static rcx_status_t add_variant(struct variants *v)
{
    char rule[TUNE_METHOD];

    if (price_of(v->job, v->algo, v->shape, v->spec.params) > v->most)
        return RCX_OK;
    rcx_algo_print(v->algo, v->spec.params, rule, sizeof rule);
    return add_candidate(v->job, v->point, &v->spec, rule);
}

static rcx_status_t add_values(struct variants *v, const struct rcx_param *p,
                               bool is_second);

/* The meaning of numbers may depend on a named value, such as a tree's shape.
 * So vary each number as well, with the named value in place. */
static rcx_status_t add_seconds(struct variants *v,
                                const struct rcx_param *named)
{
    rcx_status_t status = RCX_OK;

    for (const struct rcx_param *p = v->algo->params;
         p->name && status == RCX_OK; p++)
        if (p != named && !p->names)
            status = add_values(v, p, true);
    return status;
}

/* Add candidates with the values of a parameter; of numbers only powers of two,
 * as there may be many. is_second: a named parameter is varied already. */
static rcx_status_t add_values(struct variants *v, const struct rcx_param *p,
                               bool is_second)
{
    int64_t *place = &v->spec.params[p - v->algo->params], value;
    const int64_t usual = *place;
    rcx_status_t status = RCX_OK;

    for (int k = 0; (value = value_of(p, v->shape, k)) != RCX_PARAM_END &&
                    status == RCX_OK && v->point->count < TUNE_CANDIDATES;
         k++) {
        if (!p->names && (value & (value - 1)))
            continue;
        *place = value;
        status = add_variant(v);
        if (p->names && !is_second && status == RCX_OK)
            status = add_seconds(v, p);
    }
    *place = usual;
    return status;
}

/* Add candidates in which one parameter differs from its usual value, or a
 * named one and a number. */
static rcx_status_t add_variants(struct tune_job *job, struct tune_point *point,
                                 const struct rcx_algo *algo,
                                 const struct rcx_shape *s, double most)
{
    struct variants v = {.job = job,
                         .point = point,
                         .algo = algo,
                         .shape = s,
                         .most = most,
                         .spec = rcx_method_any};
    rcx_status_t status = RCX_OK;

    v.spec.algo = algo;
    v.spec.segment_bytes = 0;
    rcx_params_reset(algo, v.spec.params);
    for (const struct rcx_param *p = algo->params;
         p && p->name && status == RCX_OK; p++)
        status = add_values(&v, p, false);
    return status;
}

/* Find candidates: RCX's choice, then all methods whose price is low enough. */
static rcx_status_t find_candidates(struct tune_job *job,
                                    struct tune_point *point)
{
    struct rcx_shape s = tune_shape(job, point);
    const rcx_order_t needed = job->context->config.order;
    rcx_status_t status;
    double least = INFINITY;

    point->count = 0;
    status = add_candidate(job, point, &rcx_method_any, NULL);
    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++)
        if ((*a)->coll == s.coll)
            least = fmin(least, rcx_price_of(*a, &s, needed));
    for (const struct rcx_algo *const *a = rcx_algo_table;
         *a && status == RCX_OK; a++) {
        const double most = job->options.ratio * least;

        rcx_params_reset(*a, s.params);
        if ((*a)->coll != s.coll || price_of(job, *a, &s, s.params) > most)
            continue;
        status = add_segments(job, point, *a);
        if (status == RCX_OK && job->options.variants)
            status = add_variants(job, point, *a, &s, most);
    }
    return status;
}

/* ---- Times --------------------------------------------------------------- */

/* Store the time of a call on the slowest rank. All ranks get it, so that they
 * take the same decisions. */
static rcx_status_t time_calls(struct tune_job *job,
                               const struct tune_candidate *c, long calls,
                               double *seconds_p)
{
    rcx_status_t status = rcx_barrier(job->world);
    const uint64_t start = rcx_now_ns();

    for (long i = 0; i < calls && status == RCX_OK; i++) {
        rcx_request_t *request = c->requests[i % c->roots];

        status = rcx_start(request);
        if (status == RCX_OK)
            status = rcx_wait(request);
    }
    *seconds_p = 1e-9 * (double)(rcx_now_ns() - start) / (double)calls;
    if (status == RCX_OK)
        status = rcx_allreduce(RCX_IN_PLACE, seconds_p, 1, RCX_FLOAT64, RCX_MAX,
                               job->world);
    return status;
}

static double median(const double times[], int n)
{
    double sorted[TUNE_ROUNDS];

    memcpy(sorted, times, (size_t)n * sizeof *times);
    qsort(sorted, (size_t)n, sizeof *sorted, regret_ascending);
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

static void find_best(struct tune_point *point)
{
    point->best = 0;
    for (int i = 0; i < point->count; i++) {
        struct tune_candidate *c = &point->candidates[i];

        if (c->is_out)
            continue;
        c->seconds = median(c->times, c->rounds);
        if (c->seconds < point->candidates[point->best].seconds)
            point->best = i;
    }
}

static rcx_status_t run_round(struct tune_job *job, struct tune_point *point)
{
    rcx_status_t status = RCX_OK;

    for (int i = 0; i < point->count && status == RCX_OK; i++) {
        struct tune_candidate *c = &point->candidates[i];
        double once, calls;

        if (c->is_out)
            continue;
        /* a call that does not count tells how many calls fill the time */
        status = time_calls(job, c, 1, &once);
        calls = fmax(1, fmin(1e5, job->options.seconds / once));
        if (status == RCX_OK)
            status = time_calls(job, c, (long)calls, &c->times[c->rounds++]);
    }
    if (status == RCX_OK) /* after an error, candidates may have no times */
        find_best(point);
    return status;
}

/* Exclude slower candidates from further rounds, except RCX's choice. */
static void leave_out(struct tune_point *point, double slower_than)
{
    for (int i = 1; i < point->count; i++)
        point->candidates[i].is_out |=
            point->candidates[i].seconds > slower_than;
}

static rcx_status_t run_rounds(struct tune_job *job, struct tune_point *point)
{
    rcx_status_t status = RCX_OK;

    for (int round = 1; round <= job->options.rounds && status == RCX_OK;
         round++) {
        status = run_round(job, point);
        leave_out(point, (round >= FAIR_ROUNDS ? hopeless : at_once) *
                             point->candidates[point->best].seconds);
    }
    return status;
}

static rcx_status_t run_final(struct tune_job *job, struct tune_point *point)
{
    double seconds[TUNE_CANDIDATES];

    for (int i = 1; i < point->count; i++)
        seconds[i - 1] = point->candidates[i].seconds;
    qsort(seconds, (size_t)point->count - 1, sizeof *seconds, regret_ascending);
    leave_out(point, seconds[FINALISTS - 2]);
    for (int i = 0; i < point->count; i++)
        if (!point->candidates[i].is_out)
            point->candidates[i].rounds = 0;
    return run_rounds(job, point);
}

rcx_status_t tune_measure(struct tune_job *job, struct tune_point *point)
{
    rcx_status_t status = find_candidates(job, point);

    if (status == RCX_OK)
        status = run_rounds(job, point);
    if (status == RCX_OK && point->count > FINALISTS)
        status = run_final(job, point);
    for (int i = 0; i < point->count && status == RCX_OK; i++)
        status = free_requests(&point->candidates[i]);
    return status;
}
