/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures figures of pairs of cores, by this thread and one of its own. Each
 * step has a deadline, which a thread that does not run cannot exceed. Used by
 * figures.c and tests.
 */
#ifndef RCX_TRANSPORT_NODE_PAIR_BENCH_H
#define RCX_TRANSPORT_NODE_PAIR_BENCH_H

#include <sched.h>

#include "core/base/places.h"
#include "transport/node/figures.h"

/* The cores to measure: of this thread, and of the other one; -1: none. */
struct rcx_bench_cores {
    int here, near, far;
};

/* Choose among allowed cpus, of which preferred ones come first. levels: of
 * here. far: in another cache, NUMA domain and socket, if possible. No two are
 * threads of one core. */
struct rcx_bench_cores rcx_bench_choose(int here,
                                        const struct rcx_cpu_levels *levels,
                                        const cpu_set_t *allowed,
                                        const cpu_set_t *preferred);

/* Measure what is possible until until_ns; other figures stay. */
enum rcx_figures_reason rcx_bench_run(const struct rcx_bench_cores *cores,
                                      uint64_t until_ns,
                                      struct rcx_node_figures *f);

#endif
