/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timing loop that RCX and its peers share.
 *
 * One program per library gives a struct loop_peer to loop_main() and nothing
 * else, so that every library is timed by the same code over the same data.
 */
#ifndef RCX_TOOLS_BENCH_LOOP_H
#define RCX_TOOLS_BENCH_LOOP_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum loop_coll {
    LOOP_ALLREDUCE,
    LOOP_REDUCE,
    LOOP_REDUCE_SCATTER,
    LOOP_REDUCE_SCATTER_BLOCK,
    LOOP_BARRIER,
    LOOP_BCAST,
    LOOP_GATHER,
    LOOP_GATHERV,
    LOOP_SCATTER,
    LOOP_SCATTERV,
    LOOP_ALLGATHER,
    LOOP_ALLGATHERV,
    LOOP_ALLTOALL,
    LOOP_ALLTOALLV,
    LOOP_SCAN,
    LOOP_EXSCAN,
    LOOP_ALLREDUCE_MANY,
    LOOP_SENDRECV,
    LOOP_COLLS
};

enum { LOOP_VECTORS = 64 }; /* the most of allreduce_many */

/* What a collective is called with: floats, sums, root 0. */
struct loop_call {
    enum loop_coll coll;
    const float *in;
    float *out;
    size_t count; /* of the vector, of each block as a rule, of each vector */
    size_t in_count, out_count; /* of all that is given and gotten, if it is */
    const size_t *counts, *displs; /* of each block */
    size_t
        n; /* vectors of allreduce_many, none of which ends where one begins */
    const float *ins[LOOP_VECTORS];
    float *outs[LOOP_VECTORS];
    int partner;     /* of sendrecv: receiver and sender */
    int sends_first; /* before it receives */
};

/* A library under test. Functions that return int return 0 for success. */
struct loop_peer {
    int (*init)(int *argc, char ***argv);
    /* in and out do not overlap. bcast: root's vector is in, others' is out */
    int (*colls[LOOP_COLLS])(const struct loop_call *c); /* NULL: has it not */
    /* for buffers, before the first call; NULL: no memory. Freed by finalize().
     * The library has none of its own: NULL */
    void *(*memory)(size_t bytes);
    int (*rank)(void);
    int (*size)(void);
    /* the library's name and version; printed up to its first line's end */
    const char *(*version)(void);
    int (*finalize)(void);
};

enum { LOOP_LACKS = 3 };

/*
 * Time a collective of the library. Options, after which the program's own may
 * follow in argv as far as peer->init() takes them out:
 *
 *   --coll NAME      allreduce, or another of rcx.h; sendrecv: a message
 *                    between each rank of the first half and one of the
 *                    second, and back, as one operation of half the time
 *   --sizes LIST     bytes per vector, or per block where there are blocks,
 *                    "8,64,512"; a barrier has none
 *   --vectors N      of allreduce_many, each of that size (8)
 *   --uneven         where blocks have a count each: half the size and one and
 *                    a half in turns
 *   --time SECONDS   how long to measure each size
 *   --limit SECONDS  when to stop measuring: SIGALRM ends the process
 *   --no-pin         leave each rank where the launcher put it
 *
 * Rank 0 prints "# version" and "# ranks" lines, and one line per size:
 *
 *   bytes count iterations seconds_per_op
 *
 * Returns what main() returns: 0; 1 if the library failed or a result was
 * wrong; 2 for wrong arguments; LOOP_LACKS where it has no such collective, and
 * for sendrecv where ranks are odd.
 */
int loop_main(int argc, char **argv, const struct loop_peer *peer);

#ifdef __cplusplus
}
#endif

#endif
