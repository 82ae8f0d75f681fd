/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timing loop that RCX and its peers share.
 *
 * For each library there is a program that passes a struct loop_peer to
 * loop_main(), and does nothing else. So every library is timed by the same
 * code with the same data.
 */
#ifndef RCX_BENCH_LOOP_H
#define RCX_BENCH_LOOP_H

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

enum { LOOP_VECTORS = 64 }; /* most vectors of allreduce_many */

/* Arguments of a call. Elements are floats, the op is the sum, the root is
 * 0. */
struct loop_call {
    enum loop_coll coll;
    const float *in;
    float *out;
    size_t count; /* elements of the vector, of a block, or of each of n
                     vectors */
    size_t in_count, out_count; /* elements of the whole operand and result */
    const size_t *counts, *displs; /* of each block */
    size_t n; /* vectors of allreduce_many, with gaps between them */
    const float *ins[LOOP_VECTORS];
    float *outs[LOOP_VECTORS];
    int partner;     /* sendrecv: the rank at the other end */
    int sends_first; /* sendrecv: send, then receive */
};

/* A library under test. init, colls and finalize return 0 for success. */
struct loop_peer {
    int (*init)(int *argc, char ***argv);
    /* in and out do not overlap. bcast: the root's vector is in, the others' is
     * out. NULL: not supported */
    int (*colls[LOOP_COLLS])(const struct loop_call *c);
    /* Allocates buffers, before the first call; finalize() frees them. Returns
     * NULL without memory. The member is NULL if the library has no memory of
     * its own */
    void *(*memory)(size_t bytes);
    int (*rank)(void);
    int (*size)(void);
    /* the library's name and version; the first line is printed */
    const char *(*version)(void);
    int (*finalize)(void);
};

enum { LOOP_LACKS = 3 };

/*
 * Time collectives of the library. Other arguments than these options are left
 * in argv for peer->init():
 *
 *     --coll LIST      "allreduce,barrier", of rcx.h; sendrecv: a message
 *                      between each rank of the first half and one of the
 *                      second, and back; an operation is half a round trip
 *     --sizes LIST     bytes per vector, or per block where there are blocks,
 *                      "8,64,512"; a barrier has none
 *     --total BYTES    leave out sizes at which a rank's blocks are more bytes
 *     --vectors N      vectors of allreduce_many, each of that size (8)
 *     --uneven         if blocks have a count each: 0.5 and 1.5 times the size
 *                      alternately
 *     --time SECONDS   how long to measure each size
 *     --first N        time each of the first N calls of a size instead: a line
 *                      has the call's number in place of count, and 1
 *     --limit SECONDS  when to stop measuring: SIGALRM ends the process
 *     --no-pin         leave each rank where the launcher has put it
 *
 * Rank 0 prints "# version", "# ranks" and "# cores" lines, and for each
 * collective "# coll NAME" and one line per size:
 *
 *     bytes count iterations seconds_per_op
 *
 * A collective that the library lacks has "# lacks NAME"; so has sendrecv with
 * an odd number of ranks. Returns the exit status: 0; 1 if the library failed
 * or a result was wrong; 2 for wrong arguments; LOOP_LACKS if the library lacks
 * all of the collectives.
 */
int loop_main(int argc, char **argv, const struct loop_peer *peer);

#ifdef __cplusplus
}
#endif

#endif
