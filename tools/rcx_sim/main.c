/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_sim inspects algorithms without running them over a network. Its commands
 * print, price, prove and draw their schedules, and compare them. This file has
 * the table of commands, and the command print.
 */
#include "common/output.h"
#include "rcx_sim/rcx_sim.h"

#include <stdlib.h>
#include <string.h>

#include "common/suggest_list.h"

/* ---- print --------------------------------------------------------------- */

static int print_rank(struct rcx_builder *b, const struct simulated_call *call,
                      int rank)
{
    struct rcx_shape shape = call->shape;
    struct rcx_plan *plan;
    rcx_status_t status;

    shape.rank = rank;
    shape.alias = call->alias[rank];
    rcx_builder_begin(b, &shape);
    call->algo->build(b, &shape);
    status = rcx_sched_finish(b, rcx_tag_message_window(&call->layout), &plan);
    if (status == RCX_ERR_NOMEM)
        sim_exit_without_memory();
    if (status != RCX_OK) {
        fprintf(stderr, "rcx_sim: rank %d has no schedule: %s\n", rank,
                rcx_status_string(status));
        return EXIT_FAILURE;
    }
    printf("rank %d, scratch %zu\n", rank, plan->scratch);
    rcx_plan_print(plan, stdout);
    rcx_heap_free(b->heap, plan);
    return EXIT_SUCCESS;
}

/* Only the requested schedules are written, so one rank out of a million is
 * quick. */
int sim_print(const struct sim_options *o)
{
    const int size = o->sizes[0];
    const int first = o->rank < 0 ? 0 : o->rank;
    const int end = o->rank < 0 ? size : o->rank + 1;
    struct simulated_call call =
        sim_call_of(o, &o->methods[0], size, sim_count_for(o, size));
    struct rcx_log log;
    struct rcx_builder b;
    int status = EXIT_SUCCESS;

    sim_require_fit(&call);
    rcx_log_init(&log);
    rcx_builder_init(&b, o->heap, &log);
    for (int rank = first; rank < end && status == EXIT_SUCCESS; rank++) {
        if (rank > first)
            printf("\n");
        status = print_rank(&b, &call, rank);
    }
    rcx_builder_free(&b);
    proof_call_free(&call);
    return status;
}

/* ---- Main ---------------------------------------------------------------- */

static const struct sim_command commands[] = {
    {"print", "caprRneiNkS", NULL, true, false, sim_print},
    {"cost", "capRneNABGPkS", "1..16", false, false, sim_cost},
    {"verify", "capRnjkS", "1..16", false, false, sim_verify},
    {"draw", "capRneNskS", NULL, true, false, sim_draw},
    {"load", "capRngtwNkS", "8,16,64", false, false, sim_load},
    {"map", "capRemMoNABGskSCuU", "2..64", false, false, sim_map},
    {"node", "capReNmMouHxLWTKv", "16,64", false, true, sim_node},
    {"regret", "ouIy", "1", false, false, sim_regret},
    {"table1", "", "1", false, false, sim_table1},
    {NULL, NULL, NULL, false, false, NULL},
};
enum { COMMANDS = sizeof commands / sizeof *commands - 1 };

int main(int argc, char **argv)
{
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct sim_options o = {.heap = &heap};
    char offer[256];
    int status;

    atexit(check_output);
    if (argc < 2)
        sim_refuse("no command");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        sim_print_and_exit(sim_usage);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("rcx_sim (RCX) %s\n", rcx_version());
        return EXIT_SUCCESS;
    }
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(argv[1], commands[i].name) != 0)
            continue;
        sim_options_parse(&commands[i], argc - 1, argv + 1, &o);
        status = commands[i].run(&o);
        rcx_heap_free(&heap, o.methods);
        rcx_heap_free(&heap, o.sizes);
        return status;
    }
    sim_refuse(
        "%s: no such command; valid are %s", argv[1],
        suggest_list(argv[1], commands, sizeof *commands, offer, sizeof offer));
}
