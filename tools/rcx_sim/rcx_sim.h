/* SPDX-License-Identifier: BSD-3-Clause */
/* rcx_sim: what its files share. */
#ifndef RCX_TOOLS_RCX_SIM_RCX_SIM_H
#define RCX_TOOLS_RCX_SIM_RCX_SIM_H

#include "sim/timing.h"
#include "prove.h"

enum { EXIT_USAGE = 2, METHOD_TEXT = 128 };
#define NO_COUNT SIZE_MAX

/* An algorithm and its parameters, as NAME[:parameter=value,...] names them. */
struct sim_method {
    const struct rcx_algo *algo;
    int64_t params[RCX_PARAMS];
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
    rcx_order_t order; /* the least */
    int per_node; /* ranks of a node; 0: there are none, or verify tries all */
    bool scattered;
    bool chosen;
    bool simulated;
    bool in_place;
    bool commutative;
    bool inject;
    enum simulation_mode mode;
    struct rcx_machine machine;
    /* by which phases are chosen; NULL: the usual one */
    const struct rcx_machine *prices;
    const char *svg;   /* a file; NULL: text on stdout */
    const char *rules; /* a file for RCX_TUNING; empty: RCX's own alone */
    struct rcx_heap *heap;
};

struct sim_command {
    const char *name;
    const char *accepts; /* letters of its options */
    const char *sizes;   /* unless --ranks says otherwise; NULL: it must */
    bool one_method;     /* needs exactly one */
    int (*run)(const struct sim_options *o); /* the exit status */
};

int sim_print(const struct sim_options *o);
int sim_cost(const struct sim_options *o);
int sim_verify(const struct sim_options *o);
int sim_draw(const struct sim_options *o);
int sim_map(const struct sim_options *o);
int sim_table1(const struct sim_options *o);

/* ---- The command line (rcx_sim/options.c) -------------------------------- */

/* argv[0] is the command; exits where it is wrong, or asks for help. */
void sim_options_parse(const struct sim_command *command, int argc, char **argv,
                       struct sim_options *o);
__attribute__((noreturn)) void sim_print_and_exit(const char *text);
__attribute__((format(printf, 1, 2), noreturn)) void
sim_refuse(const char *format, ...);
extern const char sim_usage[];

/* ---- Memory (rcx_sim/call.c) --------------------------------------------- */

/* Zeros; exits where there is no memory. */
void *sim_alloc(const struct sim_options *o, size_t n, size_t bytes);
/* Adds room for more elements behind n of them; exits likewise. */
void *sim_grow(const struct sim_options *o, void *at, size_t n, size_t more,
               size_t bytes);
__attribute__((noreturn)) void sim_exit_without_memory(void);

/* ---- Calls (rcx_sim/call.c) ---------------------------------------------- */

/* A call, and the schedules of all ranks for it. */
struct sim_run {
    struct simulated_call call;
    struct simulation s;
};

/* Of nodes, as the options have it. */
enum proof_map sim_map_of(const struct sim_options *o);

/* A call as the options have it; exits where there is no memory for it.
 * proof_call_free() frees it. */
struct simulated_call sim_call_of(const struct sim_options *o,
                                  const struct sim_method *m, int size,
                                  size_t count);
/* Exits where a schedule cannot be written. */
void sim_open(struct sim_run *run, const struct sim_options *o,
              const struct sim_method *m, int size, size_t count);
void sim_close(struct sim_run *run);

/* The options' count, else the least one that is cut evenly into a block a
 * rank, and into a block a rank of the largest cube. */
size_t sim_count_for(const struct sim_options *o, int size);
/* Exits, saying what it needs, where the algorithm does not do the call. */
void sim_require_fit(const struct simulated_call *call);

#endif
