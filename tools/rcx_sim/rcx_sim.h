/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared declarations of rcx_sim. main.c has the commands and print, call.c
 * memory and calls, options.c the command line, usage.c the help; each further
 * command has a file. */
#ifndef RCX_TOOLS_RCX_SIM_RCX_SIM_H
#define RCX_TOOLS_RCX_SIM_RCX_SIM_H

#include "sim/node_model.h"
#include "sim/timing.h"
#include "prove.h"

enum { EXIT_USAGE = 2, METHOD_TEXT = 128 };
#define NO_COUNT SIZE_MAX

/* An algorithm and its parameters: NAME[:PARAMETER=VALUE,...] on the command
 * line. */
struct sim_method {
    const struct rcx_algo *algo;
    int64_t params[RCX_PARAMS];
    size_t segment_bytes; /* node: 0: no segments */
    unsigned window;      /* node: segments in flight */
};

struct sim_options {
    enum rcx_coll coll;
    struct sim_method *methods;
    int method_count;
    int *sizes; /* numbers of ranks */
    int size_count;
    int rank;     /* -1: all */
    int root;     /* -1: not given */
    size_t count; /* or NO_COUNT */
    size_t elem_bytes;
    size_t min_bytes, max_bytes;
    rcx_order_t order; /* lowest order level */
    int per_node; /* ranks of a node; 0: no nodes (verify: maps of all kinds) */
    bool scattered;
    bool chosen;
    bool simulated;
    bool in_place;
    bool commutative;
    bool inject;
    enum simulation_mode mode;
    struct rcx_machine machine;
    /* for the choice of phases; NULL: the usual one */
    const struct rcx_machine *prices;
    const char *svg;   /* file of the picture; NULL: text on stdout */
    const char *rules; /* file for RCX_TUNING; empty: RCX's own rules only */
    const char *machine_file; /* of a node; NULL: not given */
    enum node_placement placement;
    struct node_lane lane; /* of methods that are not chosen */
    bool best, counts, csv;
    const char *times; /* regret: file of measured times; NULL: not given */
    bool usual;        /* regret: prices of the usual machine */
    int group;         /* load: ranks of a group; 0: a torus instead */
    int columns, rows; /* load: of the torus; 0: a ring; 0: one plane */
    struct rcx_heap *heap;
};

struct sim_command {
    const char *name;
    const char *accepts; /* letters of its options */
    const char *sizes;   /* default of --ranks; NULL: it must be given */
    bool one_method;     /* needs exactly one method and number of ranks */
    bool segments; /* methods may have segments; none is given by default */
    int (*run)(const struct sim_options *o); /* returns the exit status */
};

int sim_print(const struct sim_options *o);
int sim_cost(const struct sim_options *o);
int sim_verify(const struct sim_options *o);
int sim_draw(const struct sim_options *o);
int sim_load(const struct sim_options *o);
int sim_regret(const struct sim_options *o);
int sim_map(const struct sim_options *o);
int sim_node(const struct sim_options *o);
int sim_table1(const struct sim_options *o);

/* ---- The command line (rcx_sim/options.c) -------------------------------- */

/* Parse the options of a command, whose name is argv[0]. Exits after a usage
 * error and --help. */
void sim_options_parse(const struct sim_command *command, int argc, char **argv,
                       struct sim_options *o);
__attribute__((noreturn)) void sim_print_and_exit(const char *text);
__attribute__((format(printf, 1, 2), noreturn)) void
sim_refuse(const char *format, ...);
extern const char sim_usage[];

/* ---- Memory (rcx_sim/call.c) --------------------------------------------- */

/* Allocate zeroed memory. Exits if there is none. */
void *sim_alloc(const struct sim_options *o, size_t n, size_t bytes);
/* Grow an array of n elements by more zeroed elements. Exits if there is no
 * memory. */
void *sim_grow(const struct sim_options *o, void *at, size_t n, size_t more,
               size_t bytes);
__attribute__((noreturn)) void sim_exit_without_memory(void);

/* ---- Calls (rcx_sim/call.c) ---------------------------------------------- */

/* A call, and its simulation with the schedules of all ranks. */
struct sim_run {
    struct simulated_call call;
    struct simulation s;
};

/* The kind of node map that the options ask for. */
enum proof_map sim_map_of(const struct sim_options *o);

/* The call that the options describe. Exits if there is no memory. Free it with
 * proof_call_free(). */
struct simulated_call sim_call_of(const struct sim_options *o,
                                  const struct sim_method *m, int size,
                                  size_t count);
/* Open a run. Exits if the algorithm does not fit or cannot write a
 * schedule. */
void sim_open(struct sim_run *run, const struct sim_options *o,
              const struct sim_method *m, int size, size_t count);
void sim_close(struct sim_run *run);

/* The count of the options. By default the lowest one that divides evenly into
 * a block a rank, and into a block a rank of the largest power of two. */
size_t sim_count_for(const struct sim_options *o, int size);
/* Exit with a message on its needs if the algorithm does not fit the call. */
void sim_require_fit(const struct simulated_call *call);

#endif
