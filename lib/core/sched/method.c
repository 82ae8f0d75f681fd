/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/sched/method.h"

#include <limits.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/sched/params.h"

/* ---- What users write ---------------------------------------------------- */

const struct rcx_method_wish rcx_method_any = {.segment_bytes = SIZE_MAX};

/* Parameters that go with every algorithm. */
enum { SEGMENT, WINDOW, COMMON };
static const struct rcx_param common[] = {
    [SEGMENT] = {.name = "segment", .most = INT64_MAX},
    [WINDOW] = {.name = "window", .least = 1, .most = RCX_WINDOW_MAX},
    [COMMON] = {.name = NULL},
};
static const struct rcx_algo any = {.name = RCX_METHOD_AUTO, .params = common};

/* There is no parameter of that name: tell those there are. */
static bool refuse_name(const char *name, const struct rcx_algo *algo,
                        struct rcx_refusal *r)
{
    const struct rcx_algo *const owners[] = {&any, algo};
    struct rcx_guess guess = rcx_guess(name, strlen(name));
    char names[sizeof r->valid / 2];
    size_t used = 0;

    for (int i = 0; i < 2; i++) {
        const struct rcx_param *p = owners[i] ? owners[i]->params : NULL;

        for (; p && p->name && used < sizeof names; p++) {
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                     used ? ", " : "", p->name);
            rcx_guess_try(&guess, p->name);
        }
    }
    rcx_guess_print(&guess, "", r->guess, sizeof r->guess);
    snprintf(r->valid, sizeof r->valid,
             "\"%.32s\" is no parameter of %s; valid are %s", name,
             algo ? algo->name : any.name, names);
    return false;
}

static bool refuse_value(const struct rcx_param *p, const char *value,
                         struct rcx_refusal *r)
{
    char range[sizeof r->valid / 2];

    if (p->names)
        rcx_word_find(value, p->names, r); /* for its guess */
    snprintf(r->valid, sizeof r->valid, "%s: valid is %s", p->name,
             rcx_param_range(p, range, sizeof range));
    return false;
}

/* One "name=value" after an algorithm's name. */
static bool parse_parameter(char *text, struct rcx_method_wish *wish,
                            struct rcx_refusal *r)
{
    int64_t numbers[COMMON] = {[SEGMENT] = -1, [WINDOW] = -1};
    const struct rcx_algo *owner = wish->algo;
    const struct rcx_param *p;
    int64_t *values = wish->params;
    char *value = strchr(text, '=');

    if (value)
        *value++ = '\0';
    p = owner ? rcx_params_find(owner, text) : NULL;
    if (!p) {
        owner = &any;
        values = numbers;
        p = rcx_params_find(owner, text);
    }
    if (!p)
        return refuse_name(text, wish->algo, r);
    if (!value || !rcx_params_parse(owner, text, value, values))
        return refuse_value(p, value ? value : "", r);
    if (numbers[SEGMENT] >= 0)
        wish->segment_bytes = (size_t)numbers[SEGMENT];
    if (numbers[WINDOW] >= 0)
        wish->window = (unsigned)numbers[WINDOW];
    return true;
}

static bool refuse_algo(const char *name, enum rcx_coll coll,
                        struct rcx_refusal *r)
{
    struct rcx_guess guess = rcx_guess(name, strlen(name));

    rcx_guess_try(&guess, any.name);
    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++)
        if ((*a)->coll == coll)
            rcx_guess_try(&guess, (*a)->name);
    rcx_guess_print(&guess, "", r->guess, sizeof r->guess);
    return false;
}

bool rcx_method_parse(const char *text, enum rcx_coll coll,
                      struct rcx_method_wish *wish_p, struct rcx_refusal *r)
{
    static const char prefer[] = "prefer:";
    struct rcx_method_wish wish = rcx_method_any;
    char copy[128], *rest = copy, *parameters;

    wish.preferred = strncmp(text, prefer, strlen(prefer)) == 0;
    text += wish.preferred ? strlen(prefer) : 0;
    if (strlen(text) >= sizeof copy)
        return false;
    strcpy(copy, text);
    parameters = strchr(copy, ':');
    if (parameters)
        *parameters++ = '\0';
    if (wish.preferred || strcmp(copy, any.name) != 0) {
        wish.algo = rcx_algo_find(coll, copy);
        if (!wish.algo)
            return refuse_algo(copy, coll, r);
        rcx_params_reset(wish.algo, wish.params);
    }
    for (rest = parameters; rest;) {
        char *parameter = strsep(&rest, ",");

        if (!parse_parameter(parameter, &wish, r))
            return false;
    }
    *wish_p = wish;
    return true;
}

uint64_t rcx_method_hash(const struct rcx_method_wish *wish)
{
    uint64_t hash = rcx_hash(wish->segment_bytes, wish->window);

    if (!wish->algo)
        return hash;
    hash = rcx_hash(hash, wish->preferred);
    for (const char *c = wish->algo->name; *c; c++)
        hash = rcx_hash(hash, (unsigned char)*c);
    for (int i = 0; i < RCX_PARAMS; i++)
        hash = rcx_hash(hash, (uint64_t)wish->params[i]);
    return hash;
}

void rcx_method_print(const struct rcx_method *m, size_t elem_bytes, char *text,
                      size_t bytes)
{
    const size_t used = (size_t)rcx_algo_print(m->algo, m->params, text, bytes);

    if (m->segment && used < bytes)
        snprintf(text + used, bytes - used, "%csegment=%zu,window=%u",
                 strchr(text, ':') ? ',' : ':', m->segment * elem_bytes,
                 m->window);
}

/* ---- Choosing ------------------------------------------------------------ */

enum rule_nodes {
    ANY_NODES,
    SHARED,    /* ranks share nodes, of which there are several */
    ADJACENT,  /* and those of a node are side by side */
    SCATTERED, /* or not */
    APART      /* each rank has a node of its own */
};

/*
 * The first row for its collective, nodes, ranks and size whose algorithm fits
 * the shape and keeps the order that the op needs is taken; else any algorithm that
 * does. docs/performance.md has the measurements; of collectives behind
 * barrier most rows are what the model says. A row whose algorithm is not there
 * is passed over.
 */
struct rule {
    enum rcx_coll coll;
    enum rule_nodes nodes;
    int ranks;          /* communicators up to this size */
    size_t bytes;       /* vectors, blocks on average, up to this size where
                           ranks are 2^k */
    size_t other_bytes; /* and where they are not: folding has its price */
    const char *algo;   /* NULL: what costs least between nodes */
    size_t segment_bytes;
    unsigned window;
};

/* clang-format off */
static const struct rule rules[] = {
    {.coll = RCX_COLL_ALLREDUCE, .nodes = APART, .ranks = INT_MAX,
     .bytes = 2 << 10, .other_bytes = 2 << 10,
     .algo = "recursive_doubling", .window = 1},
    {.coll = RCX_COLL_ALLREDUCE, .nodes = APART, .ranks = INT_MAX,
     .bytes = 256 << 10, .other_bytes = 256 << 10, .window = 1},
    {.coll = RCX_COLL_ALLREDUCE, .nodes = SHARED, .ranks = INT_MAX,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "hierarchical", .segment_bytes = 128 << 10, .window = 2},
    {.coll = RCX_COLL_REDUCE, .nodes = SCATTERED, .ranks = INT_MAX,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "hierarchical", .segment_bytes = 64 << 10, .window = 2},
    {.coll = RCX_COLL_REDUCE_SCATTER, .nodes = SHARED, .ranks = INT_MAX,
     .bytes = 1 << 10, .other_bytes = 1 << 10,
     .algo = "hierarchical", .window = 1},
    {.coll = RCX_COLL_REDUCE_SCATTER, .nodes = SCATTERED, .ranks = INT_MAX,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "hierarchical", .segment_bytes = 256 << 10, .window = 2},
    {.coll = RCX_COLL_REDUCE_SCATTER, .nodes = SHARED, .ranks = INT_MAX,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "ring", .window = 1},
    {.coll = RCX_COLL_BARRIER, .nodes = SHARED, .ranks = INT_MAX,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "hierarchical", .window = 1},
    /* short ones go down a tree, which crosses few links if ranks of a node are
       side by side */
    {.coll = RCX_COLL_BCAST, .nodes = ADJACENT, .ranks = INT_MAX,
     .bytes = 4 << 10, .other_bytes = 4 << 10,
     .algo = "tree", .window = 1},
    {.coll = RCX_COLL_BCAST, .nodes = SHARED, .ranks = INT_MAX,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "hierarchical", .segment_bytes = 64 << 10, .window = 2},
    {.coll = RCX_COLL_ALLGATHER, .nodes = SHARED, .ranks = INT_MAX,
     .bytes = 16 << 10, .other_bytes = 16 << 10,
     .algo = "hierarchical", .window = 1},
    {.coll = RCX_COLL_ALLGATHER, .nodes = SCATTERED, .ranks = INT_MAX,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "hierarchical", .segment_bytes = 256 << 10, .window = 4},
    {.coll = RCX_COLL_ALLGATHER, .nodes = SHARED, .ranks = INT_MAX,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "ring", .window = 1},
    {.coll = RCX_COLL_ALLREDUCE, .ranks = 2, .bytes = 128 << 10,
     .algo = "recursive_doubling", .window = 1},
    {.coll = RCX_COLL_ALLREDUCE, .ranks = 3, .other_bytes = 8 << 10,
     .algo = "direct", .window = 1},
    {.coll = RCX_COLL_ALLREDUCE, .ranks = 8, .bytes = 128, .other_bytes = 128,
     .algo = "direct", .window = 1},
    /* few ranks: the ring has few rounds more, and combines less */
    {.coll = RCX_COLL_ALLREDUCE, .ranks = 4, .bytes = 64 << 10,
     .algo = "recursive_doubling", .window = 1},
    {.coll = RCX_COLL_ALLREDUCE, .ranks = 4, .bytes = SIZE_MAX,
     .algo = "ring", .segment_bytes = 256 << 10, .window = 2},
    {.coll = RCX_COLL_ALLREDUCE, .ranks = INT_MAX,
     .bytes = 128 << 10, .other_bytes = 64 << 10,
     .algo = "recursive_doubling", .window = 1},
    {.coll = RCX_COLL_ALLREDUCE, .ranks = INT_MAX,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "ring", .segment_bytes = 256 << 10, .window = 2},
    {.coll = RCX_COLL_REDUCE, .ranks = INT_MAX,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "binomial", .segment_bytes = 256 << 10, .window = 2},
    {.coll = RCX_COLL_REDUCE_SCATTER, .ranks = INT_MAX,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "pairwise", .window = 1},
    {.coll = RCX_COLL_BARRIER, .ranks = INT_MAX,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "dissemination", .window = 1},
    {.coll = RCX_COLL_BCAST, .ranks = INT_MAX,
     .bytes = 8 << 10, .other_bytes = 8 << 10,
     .algo = "tree", .window = 1},
    {.coll = RCX_COLL_BCAST, .ranks = INT_MAX,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "circulant", .window = 1},
    {.coll = RCX_COLL_GATHER, .ranks = INT_MAX,
     .bytes = 4 << 10, .other_bytes = 4 << 10,
     .algo = "tree", .window = 1},
    {.coll = RCX_COLL_GATHER, .ranks = INT_MAX,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "linear", .window = 1},
    {.coll = RCX_COLL_SCATTER, .ranks = INT_MAX,
     .bytes = 4 << 10, .other_bytes = 4 << 10,
     .algo = "tree", .window = 1},
    {.coll = RCX_COLL_SCATTER, .ranks = INT_MAX,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "linear", .window = 1},
    {.coll = RCX_COLL_ALLGATHER, .ranks = INT_MAX, .bytes = 32 << 10,
     .algo = "recursive_doubling", .window = 1},
    {.coll = RCX_COLL_ALLGATHER, .ranks = INT_MAX, .other_bytes = 8 << 10,
     .algo = "bruck", .window = 1},
    {.coll = RCX_COLL_ALLGATHER, .ranks = INT_MAX,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "ring", .window = 1},
    {.coll = RCX_COLL_ALLTOALL, .ranks = 8,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "linear", .window = 1},
    {.coll = RCX_COLL_ALLTOALL, .ranks = INT_MAX,
     .bytes = 2 << 10, .other_bytes = 2 << 10,
     .algo = "bruck", .window = 1},
    {.coll = RCX_COLL_ALLTOALL, .ranks = INT_MAX,
     .bytes = 32 << 10, .other_bytes = 32 << 10,
     .algo = "linear", .window = 1},
    {.coll = RCX_COLL_ALLTOALL, .ranks = INT_MAX,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "pairwise", .window = 1},
    {.coll = RCX_COLL_ALLTOALLV, .ranks = INT_MAX,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "linear", .window = 1},
    /* nobody waits for who is behind, as in an exchange; long ones from rank to
       rank, down a tree where that is too far for the segments that there are */
    {.coll = RCX_COLL_SCAN, .ranks = 4,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "linear", .segment_bytes = 64 << 10, .window = 2},
    {.coll = RCX_COLL_SCAN, .ranks = INT_MAX,
     .bytes = 8 << 10, .other_bytes = 8 << 10,
     .algo = "doubling", .window = 1},
    {.coll = RCX_COLL_SCAN, .ranks = INT_MAX,
     .bytes = 256 << 10, .other_bytes = 256 << 10,
     .algo = "recursive_doubling", .window = 1},
    {.coll = RCX_COLL_SCAN, .ranks = 16,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "linear", .segment_bytes = 64 << 10, .window = 2},
    {.coll = RCX_COLL_SCAN, .ranks = INT_MAX,
     .bytes = 2 << 20, .other_bytes = 2 << 20,
     .algo = "tree", .segment_bytes = 64 << 10, .window = 2},
    {.coll = RCX_COLL_SCAN, .ranks = 64,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "linear", .segment_bytes = 64 << 10, .window = 2},
    {.coll = RCX_COLL_SCAN, .ranks = INT_MAX,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "tree", .segment_bytes = 64 << 10, .window = 2},
    {.coll = RCX_COLL_EXSCAN, .ranks = 4,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "linear", .segment_bytes = 64 << 10, .window = 2},
    {.coll = RCX_COLL_EXSCAN, .ranks = INT_MAX,
     .bytes = 8 << 10, .other_bytes = 8 << 10,
     .algo = "doubling", .window = 1},
    {.coll = RCX_COLL_EXSCAN, .ranks = INT_MAX,
     .bytes = 256 << 10, .other_bytes = 256 << 10,
     .algo = "recursive_doubling", .window = 1},
    {.coll = RCX_COLL_EXSCAN, .ranks = 16,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "linear", .segment_bytes = 64 << 10, .window = 2},
    {.coll = RCX_COLL_EXSCAN, .ranks = INT_MAX,
     .bytes = 2 << 20, .other_bytes = 2 << 20,
     .algo = "tree", .segment_bytes = 64 << 10, .window = 2},
    {.coll = RCX_COLL_EXSCAN, .ranks = 64,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "linear", .segment_bytes = 64 << 10, .window = 2},
    {.coll = RCX_COLL_EXSCAN, .ranks = INT_MAX,
     .bytes = SIZE_MAX, .other_bytes = SIZE_MAX,
     .algo = "tree", .segment_bytes = 64 << 10, .window = 2},
};
/* clang-format on */
enum { RULES = sizeof rules / sizeof *rules, WINDOW_USUAL = 2 };

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

/* Make algo the method, if it suits; params NULL: the usual ones. */
static void adopt(struct rcx_method *m, const struct rcx_algo *algo,
                  const int64_t params[], const struct rcx_shape *shape,
                  rcx_order_t needed)
{
    const struct rcx_shape s = settle(shape, algo, params);

    if (!suits(algo, &s, needed))
        return;
    m->algo = algo;
    memcpy(m->params, s.params, sizeof m->params);
}

/* Among ranks that have a node each. */
static void adopt_cheapest(struct rcx_method *m, const struct rcx_shape *shape,
                           rcx_order_t needed)
{
    const struct rcx_phase phase =
        rcx_phase_cheapest(shape->coll, needed, shape, shape->size,
                           shape->count, RCX_WAY_BETWEEN, 1);

    if (phase.algo)
        adopt(m, phase.algo, phase.params, shape, needed);
}

static size_t segment_elements(size_t bytes, const struct rcx_shape *shape)
{
    return bytes && bytes < shape->elem_bytes ? 1 : bytes / shape->elem_bytes;
}

/* By which rows are chosen. Nothing, where counts are a rank's own. */
static size_t size_of(const struct rcx_shape *s)
{
    const size_t bytes = s->count * s->elem_bytes;

    if (rcx_colls[s->coll].is_local)
        return 0;
    return rcx_coll_has_blocks(s->coll) ? bytes / (size_t)s->size : bytes;
}

static bool has_nodes(const struct rcx_shape *s, enum rule_nodes nodes)
{
    switch (nodes) {
    case ANY_NODES: return true;
    case APART: return s->nodes && s->nodes->most == 1;
    case SHARED: return rcx_nodes_are_shared(s->nodes);
    default:
        return rcx_nodes_are_shared(s->nodes) &&
               s->nodes->in_order == (nodes == ADJACENT);
    }
}

/* What the table says for shape; segments also where the algorithm changes. */
static struct rcx_method look_up(const struct rcx_shape *shape,
                                 rcx_order_t needed)
{
    const size_t bytes = size_of(shape);
    const bool is_power = shape->size == rcx_pow2_floor(shape->size);
    struct rcx_method m = {.window = WINDOW_USUAL};

    for (int i = 0; i < RULES && !m.algo; i++) {
        const struct rule *rule = &rules[i];

        if (rule->coll != shape->coll || shape->size > rule->ranks ||
            !has_nodes(shape, rule->nodes) ||
            bytes > (is_power ? rule->bytes : rule->other_bytes))
            continue;
        m.segment = segment_elements(rule->segment_bytes, shape);
        m.window = rule->window;
        if (rule->algo)
            adopt(&m, rcx_algo_find(rule->coll, rule->algo), NULL, shape,
                  needed);
        else
            adopt_cheapest(&m, shape, needed);
    }
    for (const struct rcx_algo *const *a = rcx_algo_table; *a && !m.algo; a++)
        if ((*a)->coll == shape->coll)
            adopt(&m, *a, NULL, shape, needed);
    return m;
}

/* The algorithm that is wanted cannot do it. */
static rcx_status_t refuse(const struct rcx_algo *algo,
                           const struct rcx_shape *s, rcx_order_t needed,
                           const struct rcx_log *log)
{
    if (!rcx_algo_fits(algo, s))
        return rcx_fail(log, RCX_ERR_UNSUPPORTED,
                        "%s %s does not work for this call on %d ranks: it "
                        "needs %s",
                        rcx_coll_name(algo->coll), algo->name, s->size,
                        algo->needs);
    return rcx_fail(log, RCX_ERR_UNSUPPORTED,
                    "%s %s keeps order level %s, this op and RCX_ORDER "
                    "need %s",
                    rcx_coll_name(algo->coll), algo->name,
                    rcx_order_name(rcx_algo_order(algo, s)),
                    rcx_order_name(needed));
}

/* Take over what is wanted; the algorithm suits s, which has its parameters. */
static void grant(struct rcx_method *m, const struct rcx_method_wish *wish,
                  const struct rcx_shape *s)
{
    if (wish->algo && wish->algo != m->algo)
        *m = (struct rcx_method){.algo = wish->algo, .window = WINDOW_USUAL};
    if (wish->algo)
        memcpy(m->params, s->params, sizeof m->params);
    if (wish->segment_bytes != SIZE_MAX)
        m->segment = segment_elements(wish->segment_bytes, s);
    if (wish->window)
        m->window = wish->window;
}

rcx_status_t rcx_method_choose(const struct rcx_shape *shape,
                               rcx_order_t needed,
                               const struct rcx_method_wish *wish,
                               const struct rcx_log *log,
                               struct rcx_method *method_p)
{
    struct rcx_shape s = *shape;
    struct rcx_method m = look_up(shape, needed);
    bool suited = true;

    if (wish->algo) {
        s = settle(shape, wish->algo, wish->params);
        suited = suits(wish->algo, &s, needed);
    }
    if (suited)
        grant(&m, wish, &s);
    else if (!wish->preferred) /* who only prefers it wants nothing then */
        return refuse(wish->algo, &s, needed, log);
    if (!m.algo)
        return rcx_fail(log, RCX_ERR_UNSUPPORTED,
                        "no algorithm of %s keeps the order that this op "
                        "needs",
                        rcx_coll_name(shape->coll));
    if (m.segment >= shape->count || rcx_colls[shape->coll].is_local)
        m.segment = 0;
    *method_p = m;
    return RCX_OK;
}
