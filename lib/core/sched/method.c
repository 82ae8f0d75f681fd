/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Methods: parses and prints method specs, and chooses the method of a call
 * from spec, rules and prices. It does not compile the call; see compile.c.
 */
#include "core/sched/method.h"

#include <string.h>

#include "core/base/hash.h"
#include "core/sched/price.h"
#include "core/sched/tuning.h"

/* ---- Parsing and printing ------------------------------------------------ */

const struct rcx_method_spec rcx_method_any = {.level = RCX_LEVEL_ANY,
                                               .segment_bytes = SIZE_MAX};

/* Parameters that all algorithms have. */
enum { SEGMENT, WINDOW, LEVEL, COMMON };
static const struct rcx_param common[] = {
    [SEGMENT] = {.name = "segment", .most = INT64_MAX},
    [WINDOW] = {.name = "window", .least = 1, .most = RCX_WINDOW_MAX},
    [LEVEL] = {.name = "level", .names = rcx_level_names},
    [COMMON] = {.name = NULL},
};
static const struct rcx_algo any = {.name = RCX_METHOD_AUTO, .params = common};

/* There is no parameter of that name: list the valid ones in r. */
static bool refuse_name(const char *name, const struct rcx_algo *algo,
                        struct rcx_refusal *r)
{
    const struct rcx_algo *const owners[] = {&any, algo};
    struct rcx_suggestion guess = rcx_suggestion(name, strlen(name));
    char names[sizeof r->valid / 2];
    size_t used = 0;

    for (int i = 0; i < 2; i++) {
        const struct rcx_param *p = owners[i] ? owners[i]->params : NULL;

        for (; p && p->name && used < sizeof names; p++) {
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                     used ? ", " : "", p->name);
            rcx_suggest_try(&guess, p->name);
        }
    }
    rcx_suggest_print(&guess, "", r->guess, sizeof r->guess);
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
        rcx_suggest_find(value, p->names, r); /* sets r->guess */
    snprintf(r->valid, sizeof r->valid, "%s: valid is %s", p->name,
             rcx_param_range(p, range, sizeof range));
    return false;
}

static bool refuse_level(const struct rcx_algo *algo, struct rcx_refusal *r)
{
    snprintf(r->valid, sizeof r->valid,
             "level: %s does not divide the ranks by nodes; valid is one that "
             "does, such as hierarchical",
             algo ? algo->name : any.name);
    return false;
}

/* Parameters of a method that have been set. */
struct seen {
    unsigned own, common;
};

/* Parse one "name=value" behind an algorithm's name. */
static bool parse_parameter(char *text, struct rcx_method_spec *spec,
                            struct seen *seen, struct rcx_refusal *r)
{
    int64_t numbers[COMMON] = {-1, -1, -1};
    const struct rcx_algo *owner = spec->algo;
    const struct rcx_param *p;
    int64_t *values = spec->params;
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
        return refuse_name(text, spec->algo, r);
    if (!rcx_suggest_once(text, (int)(p - owner->params),
                          owner == &any ? &seen->common : &seen->own, r))
        return false;
    if (p == &common[LEVEL] && !(spec->algo && spec->algo->is_by_nodes))
        return refuse_level(spec->algo, r);
    if (!value || !rcx_params_parse(owner, text, value, values))
        return refuse_value(p, value ? value : "", r);
    if (numbers[SEGMENT] >= 0)
        spec->segment_bytes = (size_t)numbers[SEGMENT];
    if (numbers[WINDOW] >= 0)
        spec->window = (unsigned)numbers[WINDOW];
    if (numbers[LEVEL] >= 0)
        spec->level = (int)numbers[LEVEL];
    return true;
}

static bool refuse_algo(const char *name, enum rcx_coll coll,
                        struct rcx_refusal *r)
{
    struct rcx_suggestion guess = rcx_suggestion(name, strlen(name));

    if (rcx_algo_is_left_out(coll, name)) {
        snprintf(r->valid, sizeof r->valid,
                 "%s of %s is not in this build of RCX; the build option "
                 "-Dalgorithms=all adds it",
                 name, rcx_coll_name(coll));
        return false;
    }
    rcx_suggest_try(&guess, any.name);
    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++)
        if ((*a)->coll == coll)
            rcx_suggest_try(&guess, (*a)->name);
    rcx_suggest_print(&guess, "", r->guess, sizeof r->guess);
    return false;
}

bool rcx_method_parse(const char *text, enum rcx_coll coll,
                      struct rcx_method_spec *spec_p, struct rcx_refusal *r)
{
    static const char prefer[] = "prefer:";
    struct rcx_method_spec spec = rcx_method_any;
    char copy[128], *rest = copy, *parameters;
    struct seen seen = {0, 0};

    spec.preferred = strncmp(text, prefer, strlen(prefer)) == 0;
    text += spec.preferred ? strlen(prefer) : 0;
    if (strlen(text) >= sizeof copy)
        return false;
    strcpy(copy, text);
    parameters = strchr(copy, ':');
    if (parameters)
        *parameters++ = '\0';
    if (spec.preferred || strcmp(copy, any.name) != 0) {
        spec.algo = rcx_algo_find(coll, copy);
        if (!spec.algo)
            return refuse_algo(copy, coll, r);
        rcx_params_reset(spec.algo, spec.params);
    }
    for (rest = parameters; rest;) {
        char *parameter = strsep(&rest, ",");

        if (!parse_parameter(parameter, &spec, &seen, r))
            return false;
    }
    *spec_p = spec;
    return true;
}

uint64_t rcx_method_hash(const struct rcx_method_spec *spec)
{
    uint64_t hash = rcx_hash(spec->segment_bytes, spec->window);

    hash = rcx_hash(hash, (uint64_t)spec->level);
    if (!spec->algo)
        return hash;
    hash = rcx_hash(hash, spec->preferred);
    for (const char *c = spec->algo->name; *c; c++)
        hash = rcx_hash(hash, (unsigned char)*c);
    for (int i = 0; i < RCX_PARAMS; i++)
        hash = rcx_hash(hash, (uint64_t)spec->params[i]);
    return hash;
}

void rcx_method_print(const struct rcx_method *m, size_t elem_bytes, char *text,
                      size_t bytes)
{
    size_t used = (size_t)rcx_algo_print(m->algo, m->params, text, bytes);

    if (m->algo->is_by_nodes && m->nodes && m->nodes->level > RCX_LEVEL_NODE &&
        used < bytes)
        used += (size_t)snprintf(text + used, bytes - used, "%clevel=%s",
                                 strchr(text, ':') ? ',' : ':',
                                 rcx_level_names[m->nodes->level]);
    if (m->segment && used < bytes)
        snprintf(text + used, bytes - used, "%csegment=%zu,window=%u",
                 strchr(text, ':') ? ',' : ':', m->segment * elem_bytes,
                 m->window);
}

/* ---- Choosing ------------------------------------------------------------ */

enum { WINDOW_USUAL = 2 };

/* Return shape as spec->algo sees it: with the parameters of spec, in which
 * "auto" is replaced, and the map that it divides by. */
static struct rcx_shape settle(const struct rcx_shape *shape,
                               const struct rcx_method_spec *spec)
{
    struct rcx_shape s = *shape;

    memcpy(s.params, spec->params, sizeof s.params);
    if (spec->level != RCX_LEVEL_ANY)
        s.nodes = rcx_nodes_at(s.nodes, (enum rcx_level)spec->level);
    else if (spec->algo->is_by_nodes)
        rcx_price_by_level(spec->algo, &s, RCX_ORDER_LOOSE);
    rcx_params_settle(spec->algo, &s);
    return s;
}

static bool suits(const struct rcx_algo *algo, const struct rcx_shape *s,
                  rcx_order_t needed)
{
    return rcx_algo_fits(algo, s) && rcx_algo_order(algo, s) >= needed;
}

static size_t segment_elements(size_t bytes, const struct rcx_shape *shape)
{
    return bytes && bytes < shape->elem_bytes ? 1 : bytes / shape->elem_bytes;
}

/* The shape of a segment, by which an algorithm is priced: on several nodes
 * with all segments, else by itself. */
static struct rcx_shape segment_of(const struct rcx_shape *shape,
                                   const struct rcx_method *m)
{
    struct rcx_shape s = *shape;

    if (rcx_nodes_linked(shape->nodes))
        return rcx_price_segment(shape, m->segment, m->window);
    if (m->segment > 0 && m->segment < s.count && !rcx_coll_has_blocks(s.coll))
        s.count = m->segment;
    return s;
}

static void adopt(struct rcx_method *m, const struct rcx_algo *algo,
                  const struct rcx_shape *s)
{
    m->algo = algo;
    m->nodes = s->nodes;
    memcpy(m->params, s->params, sizeof m->params);
}

/* is_cut: m has the segments that a rule names, also none. *tie gets the
 * algorithms that are as cheap. */
static void adopt_cheapest(struct rcx_method *m, const struct rcx_shape *shape,
                           rcx_order_t needed, bool is_cut, struct rcx_tie *tie)
{
    struct rcx_shape s = is_cut ? segment_of(shape, m) : *shape;
    const struct rcx_algo *algo = is_cut
                                      ? rcx_price_cheapest(&s, needed, tie)
                                      : rcx_price_cheapest_cut(&s, needed, tie);

    adopt(m, algo, &s);
    if (!is_cut && s.segments > 1) {
        m->segment = s.count;
        m->window = s.window;
    }
}

/* Set m from rule. Its segment length and window apply even if its algorithm
 * does not suit; m->algo stays NULL then. */
static void obey(struct rcx_method *m, const struct rcx_rule *rule,
                 const struct rcx_shape *shape, rcx_order_t needed,
                 struct rcx_tie *tie)
{
    const struct rcx_method_spec *spec = &rule->spec;
    struct rcx_shape s;

    m->segment = spec->segment_bytes == SIZE_MAX
                     ? 0
                     : segment_elements(spec->segment_bytes, shape);
    m->window = spec->window ? spec->window : WINDOW_USUAL;
    if (!spec->algo) {
        adopt_cheapest(m, shape, needed, spec->segment_bytes != SIZE_MAX, tie);
        return;
    }
    s = segment_of(shape, m);
    s = settle(&s, spec);
    if (suits(spec->algo, &s, needed))
        adopt(m, spec->algo, &s);
}

void rcx_method_apply(const struct rcx_method *m, struct rcx_shape *s)
{
    memcpy(s->params, m->params, sizeof s->params);
    s->nodes = m->nodes;
    if (rcx_nodes_linked(s->nodes)) {
        const struct rcx_shape cut =
            rcx_price_segment(s, m->segment, m->window);

        s->segments = cut.segments;
        s->window = cut.window;
    }
}

/* As rcx_method_by_rule(). If a price chooses, *tie has the algorithms that are
 * as cheap as that of m, else none. */
static const struct rcx_rule *find_by_rule(const struct rcx_shape *shape,
                                           rcx_order_t needed,
                                           const struct rcx_tuning *tuning,
                                           struct rcx_method *m,
                                           struct rcx_tie *tie)
{
    const struct rcx_rule *rule = NULL;

    *m = (struct rcx_method){.window = WINDOW_USUAL};
    tie->count = 0;
    do {
        rule = rcx_tuning_next(tuning, shape, rule);
        if (rule)
            obey(m, rule, shape, needed, tie);
        else
            adopt_cheapest(m, shape, needed, m->segment > 0, tie);
    } while (rule && !m->algo);
    return rule;
}

const struct rcx_rule *rcx_method_by_rule(const struct rcx_shape *shape,
                                          rcx_order_t needed,
                                          const struct rcx_tuning *tuning,
                                          struct rcx_method *m)
{
    struct rcx_tie tie;

    return find_by_rule(shape, needed, tuning, m, &tie);
}

/* Give m the algorithm that a tie goes to. No tie costs nothing. */
static rcx_status_t settle_tie(struct rcx_method *m, const struct rcx_tie *tie,
                               struct rcx_builder *b)
{
    const struct rcx_tie_member *member;
    rcx_status_t status;

    if (tie->count < 2)
        return RCX_OK;
    status = rcx_tie_break(tie, b, &member);
    if (status != RCX_OK)
        return status;
    m->algo = member->algo;
    m->nodes = member->nodes;
    memcpy(m->params, member->params, sizeof m->params);
    return RCX_OK;
}

/* Log why the prescribed algorithm does not suit the call. */
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
                    "%s %s keeps order level %s, but this op and RCX_ORDER "
                    "need %s",
                    rcx_coll_name(algo->coll), algo->name,
                    rcx_order_name(rcx_algo_order(algo, s)),
                    rcx_order_name(needed));
}

/* Apply spec to m. The algorithm suits s, which has its parameters. */
static void grant(struct rcx_method *m, const struct rcx_method_spec *spec,
                  const struct rcx_shape *s)
{
    if (spec->algo && spec->algo != m->algo)
        *m = (struct rcx_method){.algo = spec->algo, .window = WINDOW_USUAL};
    if (spec->algo) {
        m->nodes = s->nodes;
        memcpy(m->params, s->params, sizeof m->params);
    }
    if (spec->segment_bytes != SIZE_MAX)
        m->segment = segment_elements(spec->segment_bytes, s);
    if (spec->window)
        m->window = spec->window;
}

rcx_status_t rcx_method_choose(const struct rcx_shape *shape,
                               rcx_order_t needed,
                               const struct rcx_method_spec *spec,
                               const struct rcx_tuning *tuning,
                               struct rcx_builder *b,
                               struct rcx_method *method_p)
{
    struct rcx_shape s = *shape;
    struct rcx_method m;
    struct rcx_tie tie;
    rcx_status_t status = RCX_OK;
    bool suited = true;

    find_by_rule(shape, needed, tuning, &m, &tie);
    if (spec->algo) {
        s = settle(shape, spec);
        suited = suits(spec->algo, &s, needed);
    }
    if (suited)
        grant(&m, spec, &s);
    else if (!spec->preferred) /* a preference is ignored if it does not suit */
        return refuse(spec->algo, &s, needed, b->log);
    if (!m.algo)
        return rcx_fail(b->log, RCX_ERR_UNSUPPORTED,
                        "no algorithm of %s keeps the order that this op "
                        "needs",
                        rcx_coll_name(shape->coll));
    if (!spec->algo || !suited)
        status = settle_tie(&m, &tie, b);
    if (status != RCX_OK)
        return status;
    if (m.segment >= shape->count || rcx_colls[shape->coll].is_local)
        m.segment = 0;
    *method_p = m;
    return RCX_OK;
}
