/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks for libraries without a launcher. By default they are forked processes
 * with shared memory. If BENCH_DIRECTORY names a new folder that all can
 * access, they are tasks of a Slurm job whose nodes are all this machine.
 */
#ifndef RCX_TOOLS_BENCH_RANKS_H
#define RCX_TOOLS_BENCH_RANKS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ranks {
    int rank, size;
    const char *directory; /* for the library's files; forked ranks: removed at
                              the end */
    struct ranks_exchange *exchange; /* memory of ranks_allgather() */
};

/*
 * Call run() in each rank.
 *
 * Without BENCH_DIRECTORY, fork as many ranks as "-n SIZE" in the arguments
 * says (2), and wait for them. If a rank fails, the others are killed; ranks
 * die with their parent. Returns the exit status: 0, or that of the first rank
 * that failed.
 *
 * With BENCH_DIRECTORY, this process is one of the ranks. Returns the value of
 * run().
 */
int ranks_fork(int argc, char **argv,
               int (*run)(int argc, char **argv, const struct ranks *ranks));

/*
 * recv = the send buffers of all ranks, in the order of ranks. Blocking.
 * Returns non-zero if bytes exceeds 1 MiB.
 */
int ranks_allgather(const struct ranks *ranks, const void *send, void *recv,
                    size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
