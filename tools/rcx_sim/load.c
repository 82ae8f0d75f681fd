/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_sim load: what algorithms send over the links of a ring or torus, and
 * between groups of ranks that share thin links. Stated in vectors, so that
 * numbers of ranks can be compared.
 */
#include "rcx_sim/rcx_sim.h"

#include <stdlib.h>

#include "sim/links.h"
#include "sim/torus.h"

enum { METHOD = 36 };

/* Print why a simulation has no times. */
static void print_fault(const struct sim_run *run)
{
    if (run->s.lacks_memory)
        sim_exit_without_memory();
    printf("\n      %s\n", run->s.text);
}

/* Store the rounds between aligned groups, within which messages take no
 * time. */
static bool count_rounds(const struct sim_options *o, struct sim_run *run,
                         double *rounds_p)
{
    const int size = run->call.shape.size;
    uint64_t *ids = sim_alloc(o, (size_t)size, sizeof *ids);
    struct rcx_cost cost;
    struct rcx_nodes *groups;
    bool good;

    for (int i = 0; i < size; i++)
        ids[i] = (uint64_t)(i / o->group);
    groups = rcx_nodes_create(o->heap, ids, size);
    if (!groups)
        sim_exit_without_memory();
    good = simulation_links(&run->s, groups, &cost);
    if (good)
        *rounds_p = cost.across[groups->level].rounds;
    rcx_nodes_free(o->heap, groups);
    rcx_heap_free(o->heap, ids);
    return good;
}

static void print_groups(const struct sim_options *o, struct sim_run *run)
{
    const double n = (double)run->call.shape.count;
    const int g = o->group;
    double rounds;

    if (!count_rounds(o, run, &rounds)) {
        print_fault(run);
        return;
    }
    printf(" %6g %9.4g %10.4g %9.4g\n", rounds,
           simulation_between_groups(&run->s, g, 0) / n,
           simulation_between_groups_mean(&run->s, g) / n,
           simulation_between_groups_random(&run->s, g) / n);
}

static void print_torus(const struct sim_options *o, struct sim_run *run)
{
    const int size = run->call.shape.size;
    const double n = (double)run->call.shape.count;
    const int columns = o->columns ? o->columns : size;
    const int rows = o->rows ? o->rows : size / columns;
    const struct simulated_torus torus = {
        .columns = columns, .rows = rows, .planes = size / columns / rows};
    struct torus_load load;

    if (simulation_torus(&run->s, &torus, &load))
        printf(" %10.4g %10.4g %10.4g\n", load.in_rounds / n, load.busiest / n,
               load.moved / n);
    else
        print_fault(run);
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
    const int plane = (o->columns ? o->columns : 1) * (o->rows ? o->rows : 1);

    if (o->rows && !o->columns)
        sim_refuse("--rows %d: needs --columns", o->rows);
    for (int i = 0; i < o->size_count; i++)
        if (o->sizes[i] % plane != 0)
            sim_refuse("planes of %d ranks do not divide %d ranks", plane,
                       o->sizes[i]);
    printf("%s, in vectors: ", rcx_coll_name(o->coll));
    if (o->group)
        printf("sent between groups of %d ranks\n%5s %-*s %6s %9s %10s %9s\n",
               o->group, "p", METHOD, "algorithm", "rounds", "aligned",
               "any offset", "random");
    else
        printf("over the links of %s\n%5s %-*s %10s %10s %10s\n",
               o->columns ? "a torus" : "a ring", "p", METHOD, "algorithm",
               "in rounds", "busiest", "all links");
    for (int i = 0; i < o->size_count; i++)
        for (int k = 0; k < o->method_count; k++)
            print_row(o, &o->methods[k], o->sizes[i]);
    return EXIT_SUCCESS;
}
