/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Placement of ranks on cores: rank i on core i, on its first hardware thread,
 * round robin where there are more ranks than cores. All libraries are pinned
 * by this code, and not by their launchers.
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

void pin_cores_find(struct pin_cores *cores)
{
    cpu_set_t mask;

    cores->n = 0;
    if (sched_getaffinity(0, sizeof(mask), &mask) != 0)
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE && cores->n < PIN_MAX_CORES; cpu++)
        if (CPU_ISSET(cpu, &mask) && is_core(cpu))
            cores->cpus[cores->n++] = cpu;
}

void pin_to(const struct pin_cores *cores, int rank)
{
    cpu_set_t one;

    if (cores->n == 0 || rank < 0)
        return;
    CPU_ZERO(&one);
    CPU_SET(cores->cpus[rank % cores->n], &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0)
        perror("bench: sched_setaffinity");
}
