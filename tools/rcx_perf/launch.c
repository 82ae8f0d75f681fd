/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program knows of its launcher before the library does. */
#include "rcx_perf/rcx_perf.h"

#include <stdlib.h>
#include <time.h>

int perf_launched_rank(void)
{
    static const char *const names[] = {"PMIX_RANK", "OMPI_COMM_WORLD_RANK",
                                        "SLURM_PROCID"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (getenv(names[i]))
            return atoi(getenv(names[i]));
    return 0;
}

/* Launchers end a job with its first rank: the silent ones give rank 0 time. */
void perf_exit(int status)
{
    const struct timespec half = {0, 500000000};

    if (perf_launched_rank() != 0)
        nanosleep(&half, NULL);
    exit(status);
}
