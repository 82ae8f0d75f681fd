/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that the options of rcx_sim describe, and their simulation. Also
 * memory: all functions here exit if there is none.
 */
#include "rcx_sim/rcx_sim.h"

#include <stdlib.h>
#include <string.h>

void sim_exit_without_memory(void)
{
    fflush(stdout);
    fputs("rcx_sim: out of memory: try fewer ranks or elements\n", stderr);
    exit(EXIT_FAILURE);
}

void *sim_alloc(const struct sim_options *o, size_t n, size_t bytes)
{
    return sim_grow(o, NULL, 0, n, bytes);
}

void *sim_grow(const struct sim_options *o, void *at, size_t n, size_t more,
               size_t bytes)
{
    char *grown =
        more < SIZE_MAX / 2 / bytes
            ? rcx_heap_grow(o->heap, at, n * bytes, (n + more) * bytes)
            : NULL;

    if (!grown)
        sim_exit_without_memory();
    memset(grown + n * bytes, 0, more * bytes);
    return grown;
}

enum proof_map sim_map_of(const struct sim_options *o)
{
    if (o->per_node == 0)
        return PROOF_MAP_NONE;
    return o->scattered ? PROOF_MAP_CYCLIC : PROOF_MAP_BLOCKS;
}

struct simulated_call sim_call_of(const struct sim_options *o,
                                  const struct sim_method *m, int size,
                                  size_t count)
{
    struct proof_case c = {.algo = m->algo,
                           .size = size,
                           .root = o->root < 0 ? 0 : o->root,
                           .count = count,
                           .place = o->in_place ? PROOF_IN_PLACE : PROOF_APART,
                           .map = sim_map_of(o),
                           .per_node = o->per_node,
                           .commutative = o->commutative};
    struct simulated_call call;

    memcpy(c.params, m->params, sizeof c.params);
    call = proof_call_of(&c, o->heap);
    if (!call.algo)
        sim_exit_without_memory();
    call.shape.elem_bytes = o->elem_bytes; /* instead of the proofs' own size */
    call.shape.machine = o->prices;
    memcpy(call.shape.params, m->params, sizeof call.shape.params);
    rcx_params_settle(m->algo, &call.shape);
    return call;
}

void sim_open(struct sim_run *run, const struct sim_options *o,
              const struct sim_method *m, int size, size_t count)
{
    run->call = sim_call_of(o, m, size, count);
    sim_require_fit(&run->call);
    if (!simulation_open(&run->s, &run->call)) {
        if (run->s.lacks_memory)
            sim_exit_without_memory();
        fprintf(stderr, "rcx_sim: %s %s: %s\n", rcx_coll_name(o->coll),
                m->algo->name, run->s.text);
        exit(EXIT_FAILURE);
    }
}

void sim_close(struct sim_run *run)
{
    simulation_close(&run->s);
    proof_call_free(&run->call);
}

size_t sim_count_for(const struct sim_options *o, int size)
{
    const int odd = size / (size & -size);

    return o->count != NO_COUNT ? o->count
                                : (size_t)odd * (size_t)rcx_pow2_floor(size);
}

void sim_require_fit(const struct simulated_call *call)
{
    const struct rcx_algo *algo = call->algo;

    if (!rcx_algo_fits(algo, &call->shape))
        sim_refuse("%s %s does not work for this call on %d ranks: it needs %s",
                   rcx_coll_name(algo->coll), algo->name, call->shape.size,
                   algo->needs);
}
