/* SPDX-License-Identifier: BSD-3-Clause */
/* The rank that a launcher sets in the environment, for use before rcx_init(),
 * and a common exit of all ranks. */
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

/*
 * Launchers end a job at its first failed exit. So ranks that print nothing
 * wait for rank 0, which prints: until the launcher ends them, or for 5 s with
 * one that does not. Rank 0 may be late where there are few cores.
 */
void perf_exit(int status)
{
    const struct timespec most = {5, 0};

    if (status != EXIT_SUCCESS && perf_launched_rank() != 0)
        nanosleep(&most, NULL);
    exit(status);
}
