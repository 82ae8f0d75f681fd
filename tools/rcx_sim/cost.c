/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_sim cost: the cost that each algorithm states, and below it the cost of
 * its simulated schedules.
 */
#include "rcx_sim/rcx_sim.h"

#include <stdlib.h>
#include <string.h>

#include "sim/links.h"

/* width of a method; a longer one gets a line of its own */
enum { METHOD = 21 };

static void print_cost(const struct sim_options *o, const struct rcx_cost *cost,
                       double time)
{
    printf(" %6g %11.6g %11.6g %10.5g\n", cost->rounds, cost->volume,
           cost->combines, time);
    if (o->per_node)
        printf("%17s%-*s %6g %11.6g\n", "", METHOD, "  between nodes",
               cost->across[RCX_LEVEL_NODE].rounds,
               cost->across[RCX_LEVEL_NODE].volume);
}

/* Simulate the schedules, and add the extra cost of messages between nodes.
 * False: no memory, or a deadlock, which s.text describes. */
static bool simulate(const struct sim_options *o, struct sim_run *run,
                     struct rcx_cost *cost, double *time_p)
{
    struct simulation *s = &run->s;
    const struct rcx_nodes *nodes = run->call.shape.nodes;

    /* A deadlock is possible in paper mode only: proofs exclude it in the
     * overlapping mode. */
    if (!simulation_clock(s, cost) ||
        !simulation_time(s, &o->machine, o->mode, time_p) ||
        (nodes && !simulation_links(s, nodes, cost)))
        return false;
    *time_p += cost->across[RCX_LEVEL_NODE].rounds *
                   o->machine.link[RCX_LEVEL_NODE].alpha +
               (double)o->elem_bytes * cost->across[RCX_LEVEL_NODE].volume *
                   o->machine.link[RCX_LEVEL_NODE].beta;
    return true;
}

/* Print the simulated cost below the stated one. */
static void print_simulated(const struct sim_options *o, struct sim_run *run)
{
    struct rcx_cost cost;
    double time;

    printf("%17s%-*s", "", METHOD, "  simulated");
    if (simulate(o, run, &cost, &time))
        print_cost(o, &cost, time);
    else if (run->s.lacks_memory)
        sim_exit_without_memory();
    else
        printf("\n      %s\n", run->s.text);
}

static void print_row(const struct sim_options *o, const struct sim_method *m,
                      int size)
{
    const size_t count = sim_count_for(o, size);
    struct simulated_call call = sim_call_of(o, m, size, count);
    const struct rcx_shape *s = &call.shape;
    char method[METHOD_TEXT];

    rcx_algo_print(m->algo, s->params, method, METHOD_TEXT);
    printf("%5d %10zu %-*s", size, s->count, METHOD, method);
    if (rcx_algo_fits(m->algo, s)) {
        const struct rcx_cost cost = m->algo->cost(s);
        struct sim_run run;

        if (strlen(method) > METHOD)
            printf("\n%*s", 17 + METHOD, "");
        print_cost(o, &cost,
                   rcx_cost_seconds(&cost, s->elem_bytes, &o->machine));
        sim_open(&run, o, m, size, count);
        print_simulated(o, &run);
        sim_close(&run);
    } else {
        printf(" needs %s\n", m->algo->needs);
    }
    proof_call_free(&call);
}

int sim_cost(const struct sim_options *o)
{
    printf("%s; stated, then simulated%s\n%5s %10s %-*s %6s %11s %11s %10s\n",
           rcx_coll_name(o->coll),
           o->mode == SIMULATION_PAPER ? ", combines not overlapped" : "", "p",
           "count", METHOD, "algorithm", "rounds", "volume", "combines",
           "time");
    for (int i = 0; i < o->size_count; i++)
        for (int k = 0; k < o->method_count; k++)
            print_row(o, &o->methods[k], o->sizes[i]);
    return EXIT_SUCCESS;
}
