/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parameters of algorithms: defaults, parsing, printing, and the choice of
 * values for "auto" by price. Also converts a cost to seconds.
 */
#include "core/sched/params.h"

#include <math.h>
#include <string.h>

#include "core/base/parse.h"

const struct rcx_machine *rcx_machine_of(const struct rcx_shape *s)
{
    return s->machine ? s->machine : &rcx_machine_usual;
}

static double tell_of(const struct rcx_link *link)
{
    return link->tell < link->alpha ? link->tell : link->alpha;
}

double rcx_cost_seconds(const struct rcx_cost *cost, size_t elem_bytes,
                        const struct rcx_machine *machine)
{
    const struct rcx_saving none = {0, 0};
    const struct rcx_saving saved = machine->tell <= 0 ? none : cost->saved;
    double rounds = (cost->rounds - saved.rounds) * machine->alpha +
                    saved.rounds * machine->tell;
    double volume = (cost->volume - saved.volume) * machine->beta +
                    saved.volume * machine->share +
                    cost->combines * machine->gamma;

    for (int l = 0; l < RCX_LEVELS; l++) {
        const struct rcx_link *link = &machine->link[l];
        const double unwaited = machine->tell <= 0 ? 0 : cost->across[l].saved;

        rounds += (cost->across[l].rounds - unwaited) * link->alpha +
                  unwaited * tell_of(link);
        volume += cost->across[l].volume * link->beta;
    }
    return rounds + (double)elem_bytes * volume;
}

/* Seconds for which messages of all ranks occupy the cores that they share.
 * Between nodes both ends of a message take part of its time. */
static double work(const struct rcx_cost *cost, const struct rcx_shape *s)
{
    const struct rcx_machine *m = rcx_machine_of(s);
    enum { ENDS = 2 };
    const double ranks = rcx_shape_taking_part(s);
    double each = (cost->rounds - cost->idle) * m->alpha;

    if (s->cores <= 0 || ranks <= s->cores)
        return 0;
    for (int l = 0; l < RCX_LEVELS; l++)
        each += (cost->across[l].rounds - cost->across[l].idle) * ENDS *
                tell_of(&m->link[l]);
    return each * ranks / s->cores;
}

/* Seconds for which the busiest rank, or the busiest link, is busy. */
static double occupied(const struct rcx_cost *cost, const struct rcx_shape *s)
{
    const struct rcx_machine *m = rcx_machine_of(s);
    const double own = cost->volume - cost->slack.volume;
    const double part = cost->volume > 0 ? own / cost->volume : 1;
    const double rounds = cost->rounds - cost->slack.rounds;
    double most = own * m->beta + part * cost->combines * m->gamma;
    double tell = rounds * m->tell;

    for (int l = 0; l < RCX_LEVELS; l++) {
        const struct rcx_crossing *c = &cost->across[l];
        const double link = part * c->volume * m->link[l].beta;

        most = link > most ? link : most;
        tell +=
            (c->rounds < rounds ? c->rounds : rounds) * tell_of(&m->link[l]);
    }
    return tell + (double)s->elem_bytes * most;
}

double rcx_cost_time(const struct rcx_cost *cost, const struct rcx_shape *s)
{
    const double segments = s->segments > 1 ? s->segments : 1;
    const double busy = segments * work(cost, s);
    double path = rcx_cost_seconds(cost, s->elem_bytes, rcx_machine_of(s));

    if (segments > 1) {
        const double own = occupied(cost, s), turn = path / s->window;

        path += (segments - 1) * (own > turn ? own : turn);
    }
    return busy > path ? busy : path;
}

struct rcx_cost rcx_cost_sum(struct rcx_cost first, struct rcx_cost second)
{
    struct rcx_cost sum = {.rounds = first.rounds + second.rounds,
                           .volume = first.volume + second.volume,
                           .combines = first.combines + second.combines,
                           .idle = first.idle + second.idle};

    sum.saved.rounds = first.saved.rounds + second.saved.rounds;
    sum.saved.volume = first.saved.volume + second.saved.volume;
    sum.slack.rounds = first.slack.rounds + second.slack.rounds;
    sum.slack.volume = first.slack.volume + second.slack.volume;
    for (int l = 0; l < RCX_LEVELS; l++) {
        const struct rcx_crossing *a = &first.across[l], *b = &second.across[l];

        sum.across[l] = (struct rcx_crossing){.rounds = a->rounds + b->rounds,
                                              .volume = a->volume + b->volume,
                                              .saved = a->saved + b->saved,
                                              .idle = a->idle + b->idle};
    }
    return sum;
}

static double beside(const struct rcx_shape *s)
{
    return s->beside > 0 ? s->beside : 1;
}

/* Of what the ranks of a group send, the part that leaves it if each rank sends
 * equally to all others: so many times what one rank sends. */
static double leaving(double size, int group)
{
    return group * (size - group) / size;
}

static double sharing(const struct rcx_nodes *n, int size)
{
    const double a = leaving(size, n->least), b = leaving(size, n->most);

    return a > b ? a : b;
}

void rcx_cost_cross(struct rcx_cost *cost, const struct rcx_nodes *n,
                    const struct rcx_shape *s, struct rcx_crossing each)
{
    const double volume = each.volume * beside(s);

    for (; n; n = n->coarser) {
        each.volume = volume * sharing(n, s->size);
        cost->across[n->level] = each;
    }
}

/* All that a cost has, as crossing a level. */
static struct rcx_crossing whole(const struct rcx_cost *cost)
{
    return (struct rcx_crossing){cost->rounds, cost->volume, cost->saved.rounds,
                                 cost->idle};
}

/* Add what crosses finer levels, which do not divide the ranks of a phase: of a
 * group there, all ranks, or its share of the leaders. */
static void cross_inner(struct rcx_cost *cost, const struct rcx_shape *s)
{
    const double others = s->leaders > 0 ? beside(s) / s->leaders : beside(s);

    for (const struct rcx_nodes *n = s->inner; n; n = n->finer) {
        const int most =
            s->leaders > 0 && s->leaders < n->most ? s->leaders : n->most;

        cost->across[n->level] = whole(cost);
        cost->across[n->level].volume *= most * others;
    }
}

struct rcx_cost rcx_cost_of(const struct rcx_algo *algo,
                            const struct rcx_shape *s)
{
    const bool is_far =
        rcx_nodes_linked(s->nodes) || s->crosses == RCX_LEVEL_NODE + 1;
    struct rcx_cost cost = algo->cost(s);

    if (is_far && !algo->is_by_nodes)
        cost.saved.volume = 0;
    cross_inner(&cost, s);
    if (!algo->is_by_nodes)
        rcx_cost_cross(&cost, s->nodes, s, whole(&cost));
    if (s->crosses > 0) {
        cost.across[s->crosses - 1] = whole(&cost);
        cost.across[s->crosses - 1].volume *= beside(s);
    }
    return cost;
}

void rcx_params_reset(const struct rcx_algo *algo, int64_t params[])
{
    const struct rcx_param *p = algo->params;

    for (int i = 0; i < RCX_PARAMS; i++)
        params[i] = 0;
    for (int i = 0; p && p[i].name; i++)
        params[i] = p[i].usual;
}

static bool parse_value(const struct rcx_param *p, const char *text,
                        int64_t *value_p)
{
    size_t number;

    if (p->candidate && strcmp(text, "auto") == 0) {
        *value_p = RCX_PARAM_AUTO;
        return true;
    }
    for (int i = 0; p->names && p->names[i]; i++) {
        if (strcmp(text, p->names[i]) == 0) {
            *value_p = i;
            return true;
        }
    }
    if (p->names || !rcx_parse_bytes(text, &number) ||
        number > (size_t)p->most || (int64_t)number < p->least)
        return false;
    *value_p = (int64_t)number;
    return true;
}

const struct rcx_param *rcx_params_find(const struct rcx_algo *algo,
                                        const char *name)
{
    const struct rcx_param *p = algo->params;

    while (p && p->name && strcmp(name, p->name) != 0)
        p++;
    return p && p->name ? p : NULL;
}

const char *rcx_param_range(const struct rcx_param *p, char *text, size_t bytes)
{
    size_t used =
        (size_t)snprintf(text, bytes, "%s", p->candidate ? "auto or " : "");

    if (!p->names && p->most == INT64_MAX)
        snprintf(text + used, bytes - used, "%lld or more",
                 (long long)p->least);
    else if (!p->names)
        snprintf(text + used, bytes - used, "%lld..%lld", (long long)p->least,
                 (long long)p->most);
    for (int i = 0; p->names && p->names[i] && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%s",
                                 i ? " or " : "", p->names[i]);
    return text;
}

bool rcx_params_parse(const struct rcx_algo *algo, const char *name,
                      const char *value, int64_t params[])
{
    const struct rcx_param *p = rcx_params_find(algo, name);

    return p && parse_value(p, value, &params[p - algo->params]);
}

int rcx_algo_print(const struct rcx_algo *algo, const int64_t params[],
                   char *text, size_t bytes)
{
    const struct rcx_param *p = algo->params;
    int used = snprintf(text, bytes, "%s", algo->name);
    char before = ':';

    for (int i = 0; p && p[i].name && (size_t)used < bytes; i++) {
        char *at = text + used;
        const size_t room = bytes - (size_t)used;

        if (params[i] == p[i].usual)
            continue;
        if (params[i] == RCX_PARAM_AUTO)
            used += snprintf(at, room, "%c%s=auto", before, p[i].name);
        else if (p[i].names)
            used += snprintf(at, room, "%c%s=%s", before, p[i].name,
                             p[i].names[params[i]]);
        else
            used += snprintf(at, room, "%c%s=%lld", before, p[i].name,
                             (long long)params[i]);
        before = ',';
    }
    return used;
}

static void settle_one(const struct rcx_algo *algo, struct rcx_shape *s, int i)
{
    const struct rcx_param *p = &algo->params[i];
    int64_t best = p->candidate(s, 0);
    double least = INFINITY;

    for (int k = 0; p->candidate(s, k) != RCX_PARAM_END; k++) {
        struct rcx_cost cost;
        double seconds;

        s->params[i] = p->candidate(s, k);
        cost = rcx_cost_of(algo, s);
        seconds = rcx_cost_time(&cost, s);
        if (seconds < least) {
            least = seconds;
            best = s->params[i];
        }
    }
    s->params[i] = best;
}

void rcx_params_settle(const struct rcx_algo *algo, struct rcx_shape *s)
{
    for (int i = 0; algo->params && algo->params[i].name; i++)
        if (s->params[i] == RCX_PARAM_AUTO && algo->params[i].candidate)
            settle_one(algo, s, i);
}
