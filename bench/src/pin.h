/* SPDX-License-Identifier: BSD-3-Clause */
/* Placement of ranks on cores. */
#ifndef RCX_BENCH_PIN_H
#define RCX_BENCH_PIN_H

enum { PIN_MAX_CPUS = 1024 };

/* The hardware threads that this process may use: the first one of each core,
 * then the others. */
struct pin_cpus {
    int cores, threads; /* 0: unknown */
    int cpus[PIN_MAX_CPUS];
};

void pin_cpus_find(struct pin_cpus *cpus);

/* The rank on this machine from the launcher's environment; -1: unknown. */
int pin_rank(void);

/* Pin this process to one hardware thread. Ranks are placed round robin, on
 * cores first. Does nothing if the rank is negative. */
void pin_to(const struct pin_cpus *cpus, int rank);

#endif
