/* SPDX-License-Identifier: BSD-3-Clause */
/* Placement of ranks on cores. */
#ifndef RCX_TOOLS_BENCH_PIN_H
#define RCX_TOOLS_BENCH_PIN_H

enum { PIN_MAX_CORES = 1024 };

/* The first hardware thread of each core that this process may use. */
struct pin_cores {
    int n; /* 0: unknown */
    int cpus[PIN_MAX_CORES];
};

void pin_cores_find(struct pin_cores *cores);

/* The rank on this machine from the launcher's environment; -1: unknown. */
int pin_rank(void);

/* Pin this process to one core. Ranks are placed round robin. Does nothing if
 * the rank is negative. */
void pin_to(const struct pin_cores *cores, int rank);

#endif
