/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_probe: how far the cores of ranks 0 and 1 are from each other now, in
 * nanoseconds that handing over a line takes; "busy" if they do not say. A virtual machine's cores may
 * change between near and far ones for seconds at a time.
 */
#include <stdio.h>

#include "core/base/clock.h"
#include "pin.h"
#include "transport/node/pair_bench.h"

enum { OWN_CACHE = 512 << 10, LIMIT_NS = 20000000 };

int main(void)
{
    struct rcx_node_figures figures = {.own = OWN_CACHE};
    struct rcx_bench_cores cores = {.far = -1};
    struct pin_cpus cpus;

    pin_cpus_find(&cpus);
    if (cpus.threads < 2) {
        fprintf(stderr, "bench_probe: there is one core\n");
        return 1;
    }
    pin_to(&cpus, 0);
    cores.here = cpus.cpus[0];
    cores.near = cpus.cpus[1];
    rcx_bench_run(&cores, rcx_now_ns() + LIMIT_NS, &figures);
    if (figures.near.line > 0)
        printf("%.1f\n", figures.near.line);
    else
        puts("busy");
    return 0;
}
