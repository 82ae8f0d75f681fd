/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks for libraries that come without a launcher: forks of one process that
 * share some memory; or, where BENCH_DIRECTORY names a new folder of theirs,
 * tasks of a Slurm job whose nodes are this machine.
 */
#ifndef RCX_TOOLS_BENCH_RANKS_H
#define RCX_TOOLS_BENCH_RANKS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ranks {
    int rank, size;
    const char *directory; /* for the library's files; removed in the end */
    struct ranks_exchange *exchange; /* memory of ranks_allgather() */
};

/*
 * Be a rank of the job, and return what run() does. Or:
 * Fork as many ranks as "-n SIZE" among the arguments says, call run() in each,
 * and wait for them. If one fails the others are killed. A rank dies with its
 * parent. Returns what main() returns: 0 if all runs returned 0, else what the
 * first that did not returned.
 */
int ranks_fork(int argc, char **argv,
               int (*run)(int argc, char **argv, const struct ranks *ranks));

/*
 * recv = what each rank gave as send, in the order of ranks. Blocking. bytes is
 * at most 1 MiB; returns non-zero for more.
 */
int ranks_allgather(const struct ranks *ranks, const void *send, void *recv,
                    size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
