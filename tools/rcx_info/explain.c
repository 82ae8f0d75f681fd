/* SPDX-License-Identifier: BSD-3-Clause */
/* rcx_info --explain: which method a call gets, by which rule, and the prices
 * of all algorithms or why they are not available. */
#include "rcx_info/rcx_info.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/op/exact_vector.h"
#include "core/run/object/program.h"
#include "core/sched/price.h"

/* Bytes of a float, and of a bfloat16. */
enum { USAGE = 2, ALGOS = 128, ELEMENT = 4, HALF = 2 };

/* An algorithm and its price. */
struct offer {
    const struct rcx_algo *algo;
    double seconds; /* INFINITY: not available */
    char text[128]; /* the method, or why it is not available */
};

/* Return the part of rank i of so many, in intervals or round-robin. */
static uint64_t part_of(size_t i, size_t size, size_t parts, bool in_turns)
{
    return in_turns ? i % parts : i * parts / size;
}

/* Fill in ids of the groups of a level. False: the question does not say. */
static bool fill_level(const struct info_question *q, enum rcx_level level,
                       uint64_t ids[])
{
    const int per_group[RCX_LEVELS] = {[RCX_LEVEL_SOCKET] = q->per_socket,
                                       [RCX_LEVEL_NUMA] = q->per_numa,
                                       [RCX_LEVEL_CACHE] = q->per_cache};
    const size_t size = (size_t)q->ranks, nodes = (size_t)q->nodes;
    const bool shares_cores =
        nodes == 1 && q->bound && q->cores > 1 && q->cores < q->ranks;

    if (level == RCX_LEVEL_CORE ? !shares_cores
                                : level > RCX_LEVEL_NODE && !per_group[level])
        return false;
    for (size_t i = 0; i < size; i++) {
        if (level == RCX_LEVEL_NODE)
            ids[i] = part_of(i, size, nodes, q->scattered);
        else if (level == RCX_LEVEL_CORE)
            ids[i] = i % (size_t)q->cores;
        else /* of the ranks of its node */
            ids[i] = (q->scattered ? i / nodes : i) / (size_t)per_group[level];
    }
    return true;
}

/* The finest map of the question's ranks. NULL: none divides them, or no
 * memory. */
static struct rcx_nodes *map_places(const struct info_question *q,
                                    struct rcx_heap *heap)
{
    const size_t size = (size_t)q->ranks;
    uint64_t *ids = malloc(RCX_LEVELS * size * sizeof *ids);
    const uint64_t *known[RCX_LEVELS] = {NULL};
    struct rcx_nodes *map = NULL;

    for (int level = 0; ids && level < RCX_LEVELS; level++)
        if (fill_level(q, (enum rcx_level)level, ids + (size_t)level * size))
            known[level] = ids + (size_t)level * size;
    if (ids)
        rcx_nodes_map(heap, known, q->ranks, &map);
    free(ids);
    return map;
}

static struct offer offer_of(const struct rcx_algo *algo, struct rcx_shape s,
                             rcx_order_t needed)
{
    struct offer o = {.algo = algo, .seconds = rcx_price_of(algo, &s, needed)};
    struct rcx_method m = {.algo = algo, .nodes = s.nodes};

    memcpy(m.params, s.params, sizeof m.params);
    if (!isinf(o.seconds))
        rcx_method_print(&m, s.elem_bytes, o.text, sizeof o.text);
    else if (s.at_once && !algo->at_once)
        snprintf(o.text, sizeof o.text, "combines parts of the operands");
    else if (!rcx_algo_fits(algo, &s))
        snprintf(o.text, sizeof o.text, "needs %s", algo->needs);
    else if (rcx_algo_order(algo, &s) < needed)
        snprintf(o.text, sizeof o.text, "keeps order level %s",
                 rcx_order_name(rcx_algo_order(algo, &s)));
    else
        snprintf(o.text, sizeof o.text, "has no price where ranks share cores");
    return o;
}

static int cheaper_first(const void *a, const void *b)
{
    const double x = ((const struct offer *)a)->seconds;
    const double y = ((const struct offer *)b)->seconds;

    return (x > y) - (x < y);
}

static void print_offers(const struct rcx_shape *s, rcx_order_t needed)
{
    struct offer offers[ALGOS];
    size_t n = 0;

    for (const struct rcx_algo *const *a = rcx_algo_table; *a && n < ALGOS; a++)
        if ((*a)->coll == s->coll)
            offers[n++] = offer_of(*a, *s, needed);
    qsort(offers, n, sizeof *offers, cheaper_first);
    printf("\n  price, us  algorithm\n");
    for (size_t i = 0; i < n; i++) {
        if (isinf(offers[i].seconds))
            printf("          -  %-22s %s\n", offers[i].algo->name,
                   offers[i].text);
        else
            printf("%11.1f  %s\n", 1e6 * offers[i].seconds, offers[i].text);
    }
}

/* Print a rule of RCX's own tuning file, which is a string in the library. */
static void print_own_rule(int line)
{
    const char *text = rcx_tuning_own;

    while (--line > 0)
        text += strcspn(text, "\n") + 1;
    printf("by RCX's rule \"%.*s\"", (int)strcspn(text, "\n"), text);
}

static void print_reason(const struct rcx_config *config,
                         const struct rcx_shape *s,
                         const struct rcx_method_spec *spec,
                         const struct rcx_method *chosen, rcx_order_t needed)
{
    struct rcx_method m;
    const struct rcx_rule *rule =
        rcx_method_by_rule(s, needed, &config->tuning, &m);

    if (spec->algo && spec->algo == chosen->algo)
        printf("as %s prescribes it\n", rcx_colls[s->coll].variable);
    else if (!rule)
        printf("as it has the lowest price, and no rule applies\n");
    else {
        if (rule->is_users)
            printf("by the rule in line %d of %s", rule->line,
                   config->tuning_path);
        else
            print_own_rule(rule->line);
        printf("%s\n",
               rule->spec.algo ? "" : ", which selects the lowest price");
    }
}

/* Print the method of a call that needs an order level, and why. */
static void print_choice(const struct rcx_config *config,
                         const struct rcx_shape *s,
                         const struct rcx_method_spec *spec, rcx_order_t needed)
{
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct rcx_builder builder;
    struct rcx_method m;
    struct rcx_log log;
    rcx_status_t status;
    char text[128];

    rcx_log_init(&log);
    rcx_builder_init(&builder, &heap, &log);
    status = rcx_method_choose(s, needed, spec, &config->tuning, &builder, &m);
    rcx_builder_free(&builder);
    if (status != RCX_OK)
        return;
    if (m.segment >= s->count)
        m.segment = 0;
    rcx_method_print(&m, s->elem_bytes, text, sizeof text);
    printf("  %s, ", text);
    print_reason(config, s, spec, &m, needed);
}

/* An exact sum in stages: the ranges of blocks of numbers, then the numbers as
 * integers, of one word each if they are usual. */
static void explain_stages(const struct rcx_config *config,
                           const struct rcx_shape *s)
{
    enum { WORD = sizeof(int64_t), MEMBERS = 4 };
    const size_t segment = rcx_exact_chunk(s->count, s->elem_bytes,
                                           config->spec[s->coll].segment_bytes);
    const size_t chunk = segment ? segment : s->count;
    struct rcx_shape ranges = *s, numbers = *s;
    struct rcx_method_spec preferred = config->spec[s->coll];

    ranges.coll = RCX_COLL_ALLREDUCE;
    ranges.elem_bytes = sizeof(int16_t);
    ranges.count = MEMBERS * ((chunk + RCX_EXACT_BLOCK - 1) / RCX_EXACT_BLOCK);
    numbers.elem_bytes = WORD;
    numbers.count = chunk;
    preferred.preferred = true;
    preferred.segment_bytes = 0; /* of integers there are none */
    printf("  in stages, for each chunk of %zu elements:\n"
           "  an allreduce of ranges, %zu bytes:\n",
           chunk, ranges.count * ranges.elem_bytes);
    print_choice(config, &ranges, &rcx_method_any, RCX_ORDER_LOOSE);
    printf("  and the call on integers, %zu bytes and more:\n",
           numbers.count * WORD);
    print_choice(config, &numbers, &preferred, RCX_ORDER_LOOSE);
    print_offers(&numbers, RCX_ORDER_LOOSE);
}

/* A sum in float in stages: equal chunks, of the same call on floats. */
static void explain_floats(const struct rcx_config *config,
                           const struct rcx_shape *s, rcx_order_t needed)
{
    const size_t segment = rcx_exact_chunk(s->count, s->elem_bytes,
                                           config->spec[s->coll].segment_bytes);
    const size_t chunk = segment ? segment : s->count;
    const size_t chunks = chunk ? (s->count + chunk - 1) / chunk : 1;
    struct rcx_shape floats = *s;
    struct rcx_method_spec preferred = config->spec[s->coll];

    floats.elem_bytes = ELEMENT;
    floats.uncut = true;
    floats.count = (s->count + chunks - 1) / chunks;
    preferred.preferred = true;
    preferred.segment_bytes = 0;
    printf("  as floats, %zu time%s a call of %zu bytes:\n", chunks,
           chunks == 1 ? "" : "s", floats.count * ELEMENT);
    print_choice(config, &floats, &preferred, needed);
    print_offers(&floats, needed);
}

static void explain(const struct info_question *q,
                    const struct rcx_config *config, struct rcx_shape *s)
{
    const struct rcx_method_spec *spec = &config->spec[s->coll];
    const bool reduces = rcx_colls[s->coll].reduces;
    const rcx_order_t needed =
        reduces && !q->is_exact ? config->order : RCX_ORDER_LOOSE;

    printf("%s of %zu byte%s on %d ranks, %d node%s with up to %d each%s%s\n",
           rcx_coll_name(s->coll), q->bytes,
           rcx_coll_has_blocks(s->coll) ? " a block" : "", q->ranks, q->nodes,
           q->nodes > 1 ? "s" : "",
           q->nodes > 1 ? rcx_nodes_linked(s->nodes)->most : q->ranks,
           reduces ? ", order level " : "",
           reduces ? rcx_order_name(needed) : "");
    s->at_once = (q->is_exact || q->in_float) && reduces &&
                 rcx_algo_suits_at_once(s, spec->algo);
    if (q->is_exact && reduces && q->ranks > 2 && !s->at_once) {
        explain_stages(config, s);
        return;
    }
    if (q->in_float && reduces && q->ranks > 2 && !s->at_once) {
        explain_floats(config, s, needed);
        return;
    }
    if (s->at_once)
        printf("  all operands of an element are combined at once:\n");
    print_choice(config, s, spec, needed);
    print_offers(s, needed);
}

int info_explain(const struct info_question *q, const struct rcx_config *config)
{
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct rcx_nodes *map;
    struct rcx_shape s = {.commutative = true,
                          .machine = &config->tuning.machine};
    struct rcx_refusal refusal;

    if (!rcx_tuning_coll(q->coll, &s.coll, &refusal)) {
        fprintf(stderr,
                "rcx_info: --explain %s: no such collective%s; valid:", q->coll,
                refusal.guess);
        for (int i = 0; i < RCX_COLL_COUNT; i++)
            if (rcx_colls[i].variable)
                fprintf(stderr, " %s", rcx_coll_name((enum rcx_coll)i));
        fputc('\n', stderr);
        return USAGE;
    }
    if (q->nodes > q->ranks) {
        fprintf(stderr, "rcx_info: --nodes %d: more nodes than ranks\n",
                q->nodes);
        return USAGE;
    }
    s.size = q->ranks;
    s.elem_bytes = q->in_float ? HALF : ELEMENT;
    s.count = q->bytes / s.elem_bytes;
    if (rcx_coll_has_blocks(s.coll))
        s.count *= (size_t)q->ranks;
    s.nodes = map = map_places(q, &heap);
    s.cores = q->cores;
    explain(q, config, &s);
    rcx_nodes_free(&heap, map);
    return EXIT_SUCCESS;
}
