/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_sim node: predicted times on a node with many cores, of what RCX chooses,
 * of methods by name and of the best one; and what they move over the links of
 * each level.
 */
#include "rcx_sim/node.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/method_map.h"
#include "core/sched/method.h"
#include "core/sched/tuning.h"

static const char *const lanes[] = {
    [NODE_COPIES] = "copies", [NODE_ONCE] = "once", [NODE_DIRECT] = "direct"};

/* ---- Printing ------------------------------------------------------------ */

static void print_head(const struct sim_options *o,
                       const struct node_machine *m)
{
    if (o->csv) {
        printf("machine,placement,coll,ranks,bytes,lane,many_way,what,seconds,"
               "ratio,method\n");
        return;
    }
    printf("%s on %s, %d cores, ranks placed %s\n\n%4s %6s %10s %6s  %s\n",
           rcx_coll_name(o->coll), m->name, node_machine_cores(m),
           o->placement == NODE_SCATTER ? "scatter" : "compact", "p", "bytes",
           "us", "ratio", "method");
}

static void print_counts(const struct node_query *q,
                         const struct node_answer *a)
{
    const double vector = (double)(node_query_count(q) * q->o->elem_bytes);

    for (int i = 0; i < a->counts.levels - 1; i++) {
        const int groups = a->counts.groups[i];
        const struct node_traffic in =
            node_traffic_most(a->counts.in[i], groups, -1);
        const struct node_traffic out =
            node_traffic_most(a->counts.out[i], groups, -1);

        printf("%16s%-10s into one %.4g n, %.4g lines; out %.4g n, %.4g "
               "lines\n",
               "", q->machine->level[i].name,
               vector > 0 ? in.bytes / vector : 0, in.lines,
               vector > 0 ? out.bytes / vector : 0, out.lines);
    }
}

/* Print an answer, and its time over that of what is chosen. */
static void print_answer(const struct node_query *q, struct node_answer *a,
                         const char *what, double chosen)
{
    const struct sim_options *o = q->o;
    char method[METHOD_TEXT], bytes[MAP_NAME];

    method_map_bytes(bytes, q->bytes);
    node_answer_print(q, a, method, sizeof method);
    if (o->csv)
        printf("%s,%s,%s,%d,%zu,%s,%d,%s,%.4g,%.4g,\"%s\"\n", q->machine->name,
               o->placement == NODE_SCATTER ? "scatter" : "compact",
               rcx_coll_name(o->coll), q->size, q->bytes,
               lanes[q->lane.staging], q->lane.many_way, what, a->seconds,
               a->seconds / chosen, method);
    else if (isinf(a->seconds))
        printf("%4d %6s %10s %6s  %s does not suit\n", q->size, bytes, "-", "-",
               method);
    else
        printf("%4d %6s %10.2f %6.2f  %s\n", q->size, bytes, a->seconds * 1e6,
               a->seconds / chosen, method);
    if (o->counts && !o->csv && !isinf(a->seconds))
        print_counts(q, a);
    if (o->counts)
        node_counts_free(&a->counts);
}

/* ---- What is predicted --------------------------------------------------- */

/* Print what RCX chooses if it knows the levels, or not. Returns its time. */
static double print_chosen(const struct node_query *q,
                           const struct rcx_tuning *tuning, bool levels,
                           double other)
{
    const struct sim_options *o = q->o;
    const int all = q->machine->levels;
    struct simulated_call call =
        node_query_call(q, &o->methods[0], levels ? all : -1);
    struct sim_method m = {0};
    struct rcx_method chosen;
    struct rcx_builder builder;
    struct rcx_log log;
    struct node_answer a;
    rcx_status_t status;
    int level = -1;

    rcx_log_init(&log);
    rcx_builder_init(&builder, o->heap, &log);
    status = rcx_method_choose(&call.shape, o->order, &rcx_method_any, tuning,
                               &builder, &chosen);
    rcx_builder_free(&builder);
    if (status != RCX_OK)
        sim_refuse("no algorithm of %s keeps that order",
                   rcx_coll_name(o->coll));
    m.algo = chosen.algo;
    memcpy(m.params, chosen.params, sizeof m.params);
    m.segment_bytes = chosen.segment * o->elem_bytes;
    m.window = chosen.window;
    if (levels && chosen.algo->is_by_nodes && chosen.nodes)
        level = chosen.nodes == call.shape.nodes ? all : 0;
    while (level >= 0 && level < all &&
           node_query_level(q, level) != (int)chosen.nodes->level)
        level++;
    proof_call_free(&call);
    a = node_predict(q, &m, level);
    print_answer(q, &a, levels ? "levels" : "chosen",
                 levels ? other : a.seconds);
    return a.seconds;
}

/* Print a method; one by nodes on the groups of each level. */
static void print_method(const struct node_query *q, const struct sim_method *m,
                         double chosen)
{
    const int all = q->machine->levels;

    for (int i = -1; i <= all; i++) {
        struct node_answer a;

        if (i >= 0 && !m->algo->is_by_nodes)
            continue;
        if (m->algo->is_by_nodes && i < all &&
            node_query_level(q, i) == RCX_LEVELS)
            continue;
        a = node_predict(q, m, i);
        print_answer(q, &a, "method", chosen);
    }
}

static void print_size(const struct sim_options *o,
                       const struct node_machine *machine,
                       const struct rcx_tuning *tuning, const int core[],
                       int size, size_t bytes)
{
    struct node_query q = {
        .o = o, .machine = machine, .core = core, .size = size, .bytes = bytes};
    const double chosen = print_chosen(&q, tuning, false, 0);

    q.lane = o->lane;
    print_chosen(&q, tuning, true, chosen);
    for (int k = 1; k < o->method_count; k++)
        print_method(&q, &o->methods[k], chosen);
    if (o->best) {
        struct node_answer best = node_best(&q);

        print_answer(&q, &best, "best", chosen);
    }
}

static void print_ranks(const struct sim_options *o,
                        const struct node_machine *machine,
                        const struct rcx_tuning *tuning, int size)
{
    int *core = sim_alloc(o, (size_t)size, sizeof *core);

    if (size > node_machine_cores(machine))
        sim_refuse("--ranks %d: %s has %d cores", size, machine->name,
                   node_machine_cores(machine));
    node_place(machine, o->placement, size, core);
    if (o->coll == RCX_COLL_BARRIER)
        print_size(o, machine, tuning, core, size, 0);
    else
        for (size_t bytes = o->min_bytes; bytes <= o->max_bytes; bytes *= 2)
            print_size(o, machine, tuning, core, size, bytes);
    rcx_heap_free(o->heap, core);
}

/* Put an algorithm of the collective, any one, before the methods: calls are
 * made of it. */
static struct sim_options with_any(const struct sim_options *given)
{
    const struct rcx_algo *const *a = rcx_algo_table;
    const size_t count = (size_t)given->method_count;
    struct sim_options o = *given;

    o.methods = sim_alloc(given, count + 1, sizeof *o.methods);
    o.method_count++;
    if (count > 0)
        memcpy(o.methods + 1, given->methods, count * sizeof *o.methods);
    while ((*a)->coll != o.coll)
        a++;
    o.methods[0].algo = *a;
    rcx_params_reset(*a, o.methods[0].params);
    return o;
}

int sim_node(const struct sim_options *given)
{
    struct sim_options o = with_any(given);
    struct node_machine machine;
    struct rcx_tuning tuning;
    struct rcx_refusal refusal;
    char why[NODE_TEXT];
    rcx_status_t status;

    if (!o.machine_file)
        sim_refuse("node: needs --machine FILE");
    if (rcx_colls[o.coll].is_local)
        sim_refuse("--coll %s: node has no predictions of it",
                   rcx_coll_name(o.coll));
    if (!node_machine_read(&machine, o.machine_file, why))
        sim_refuse("--machine %s: %s", o.machine_file, why);
    status = rcx_tuning_open(&tuning, o.heap, o.rules, &refusal);
    if (status == RCX_ERR_CONFIG)
        sim_refuse("--rules %s: %s%s", o.rules, refusal.valid, refusal.guess);
    if (status != RCX_OK)
        sim_exit_without_memory();
    print_head(&o, &machine);
    for (int i = 0; i < o.size_count; i++)
        print_ranks(&o, &machine, &tuning, o.sizes[i]);
    rcx_tuning_close(&tuning, o.heap);
    rcx_heap_free(o.heap, o.methods);
    return EXIT_SUCCESS;
}
