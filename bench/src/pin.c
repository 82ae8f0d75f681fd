/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Placement of ranks on cores: rank i on the first hardware thread of core i,
 * more ranks than cores on the other threads, and still more round robin. All
 * libraries are pinned by this code, and not by their launchers.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "pin.h"

int pin_rank(void)
{
    static const char *const names[] = {
        "BENCH_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
        "PMI_RANK", "PMIX_RANK"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *text = getenv(names[i]);

        if (text)
            return atoi(text);
    }
    return -1;
}

/* Whether cpu is the first hardware thread of its core. */
static int is_core(int cpu)
{
    char path[96];
    int first = cpu;
    FILE *file;

    snprintf(path, sizeof(path),
             "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
             cpu);
    file = fopen(path, "r");
    if (!file)
        return 1;
    if (fscanf(file, "%d", &first) != 1)
        first = cpu;
    fclose(file);
    return first == cpu;
}

/* Add the hardware threads of mask that are the first of their core, or those
 * that are not. */
static void add_cpus(struct pin_cpus *cpus, const cpu_set_t *mask, int first)
{
    for (int cpu = 0; cpu < CPU_SETSIZE && cpus->threads < PIN_MAX_CPUS; cpu++)
        if (CPU_ISSET(cpu, mask) && is_core(cpu) == first)
            cpus->cpus[cpus->threads++] = cpu;
}

void pin_cpus_find(struct pin_cpus *cpus)
{
    cpu_set_t mask;

    cpus->threads = cpus->cores = 0;
    if (sched_getaffinity(0, sizeof(mask), &mask) != 0)
        return;
    add_cpus(cpus, &mask, 1);
    cpus->cores = cpus->threads;
    add_cpus(cpus, &mask, 0);
}

void pin_to(const struct pin_cpus *cpus, int rank)
{
    cpu_set_t one;

    if (cpus->threads == 0 || rank < 0)
        return;
    CPU_ZERO(&one);
    CPU_SET(cpus->cpus[rank % cpus->threads], &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0)
        perror("bench: sched_setaffinity");
}
