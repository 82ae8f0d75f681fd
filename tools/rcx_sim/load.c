/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_sim load: what algorithms send over the links of a ring or torus, and
 * between groups of ranks that share thin links. Stated in vectors, so that
 * numbers of ranks can be compared.
 */
#include "rcx_sim/rcx_sim.h"

#include <stdlib.h>

#include "sim/torus.h"

enum { METHOD = 36 };

static void print_groups(const struct sim_options *o, const struct sim_run *run)
{
    const double n = (double)run->call.shape.count;
    const int g = o->group;

    printf(" %10.4g %10.4g %10.4g\n",
           simulation_between_groups(&run->s, g, 0) / n,
           simulation_between_groups_mean(&run->s, g) / n,
           simulation_between_groups_random(&run->s, g) / n);
}

static void print_torus(const struct sim_options *o, struct sim_run *run)
{
    const int size = run->call.shape.size;
    const double n = (double)run->call.shape.count;
    const struct simulated_torus torus = {
        .columns = o->columns ? o->columns : size,
        .rows = o->columns ? size / o->columns : 1};
    struct torus_load load;

    if (simulation_torus(&run->s, &torus, &load))
        printf(" %10.4g %10.4g %10.4g\n", load.in_rounds / n, load.busiest / n,
               load.moved / n);
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
    const bool fits = rcx_algo_fits(m->algo, &call.shape);
    char method[METHOD_TEXT];
    struct sim_run run;

    rcx_algo_print(m->algo, call.shape.params, method, METHOD_TEXT);
    proof_call_free(&call);
    printf("%5d %-*s", size, METHOD, method);
    if (!fits) {
        printf(" needs %s\n", m->algo->needs);
        return;
    }
    sim_open(&run, o, m, size, count);
    if (o->group)
        print_groups(o, &run);
    else
        print_torus(o, &run);
    sim_close(&run);
}

int sim_load(const struct sim_options *o)
{
    for (int i = 0; i < o->size_count; i++)
        if (o->columns && o->sizes[i] % o->columns != 0)
            sim_refuse("--columns %d: does not divide %d ranks", o->columns,
                       o->sizes[i]);
    printf("%s, in vectors: ", rcx_coll_name(o->coll));
    if (o->group)
        printf("sent between groups of %d ranks\n%5s %-*s %10s %10s %10s\n",
               o->group, "p", METHOD, "algorithm", "aligned", "any offset",
               "random");
    else
        printf("over the links of %s\n%5s %-*s %10s %10s %10s\n",
               o->columns ? "a torus" : "a ring", "p", METHOD, "algorithm",
               "in rounds", "busiest", "all links");
    for (int i = 0; i < o->size_count; i++)
        for (int k = 0; k < o->method_count; k++)
            print_row(o, &o->methods[k], o->sizes[i]);
    return EXIT_SUCCESS;
}
