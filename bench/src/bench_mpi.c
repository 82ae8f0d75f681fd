/* SPDX-License-Identifier: BSD-3-Clause */
/* The timing loop over MPI: mpirun -n 2 bench_openmpi, or bench_mpich. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>

#include <mpi.h>

#include "loop.h"

/* MPI_STATUSES_IGNORE, in a variable: GCC takes MPICH's constant for an array
 * if it sees it. */
static MPI_Status *no_statuses;

static int init(int *argc, char ***argv)
{
    no_statuses = MPI_STATUSES_IGNORE;
    return MPI_Init(argc, argv) != MPI_SUCCESS;
}

/* Counts and displacements of the current call's blocks, as MPI takes them. */
enum { MAX_RANKS = 4096 };
static int counts[MAX_RANKS], displs[MAX_RANKS], ranks;
static size_t cut_for = SIZE_MAX;
static enum loop_coll cut_coll;

static int size(void)
{
    int size;

    return MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS ? size : -1;
}

/* Whether the operand or the result has more elements than MPI can count. */
static int is_too_large(const struct loop_call *c)
{
    const size_t most = c->in_count > c->out_count ? c->in_count : c->out_count;

    return most > INT_MAX;
}

static int cut(const struct loop_call *c)
{
    if (c->count == cut_for && c->coll == cut_coll)
        return 0;
    ranks = size();
    if (ranks > MAX_RANKS || is_too_large(c))
        return 1;
    for (int i = 0; i < ranks; i++) {
        counts[i] = (int)c->counts[i];
        displs[i] = (int)c->displs[i];
    }
    cut_for = c->count;
    cut_coll = c->coll;
    return 0;
}

#define CALL(name, function, ...)                                              \
    static int name(const struct loop_call *c)                                 \
    {                                                                          \
        const int n = (int)c->count;                                           \
                                                                               \
        (void)n;                                                               \
        return is_too_large(c) ||                                              \
               function(__VA_ARGS__, MPI_COMM_WORLD) != MPI_SUCCESS;           \
    }
/* the same with a count for each block */
#define CALLV(name, function, ...)                                             \
    static int name(const struct loop_call *c)                                 \
    {                                                                          \
        return cut(c) || function(__VA_ARGS__, MPI_COMM_WORLD) != MPI_SUCCESS; \
    }
CALL(allreduce, MPI_Allreduce, c->in, c->out, n, MPI_FLOAT, MPI_SUM)
CALL(reduce, MPI_Reduce, c->in, c->out, n, MPI_FLOAT, MPI_SUM, 0)
CALLV(reduce_scatter, MPI_Reduce_scatter, c->in, c->out, counts, MPI_FLOAT,
      MPI_SUM)
CALL(reduce_scatter_block, MPI_Reduce_scatter_block, c->in, c->out, n,
     MPI_FLOAT, MPI_SUM)
CALL(gather, MPI_Gather, c->in, n, MPI_FLOAT, c->out, n, MPI_FLOAT, 0)
CALLV(gatherv, MPI_Gatherv, c->in, (int)c->in_count, MPI_FLOAT, c->out, counts,
      displs, MPI_FLOAT, 0)
CALL(scatter, MPI_Scatter, c->in, n, MPI_FLOAT, c->out, n, MPI_FLOAT, 0)
CALLV(scatterv, MPI_Scatterv, c->in, counts, displs, MPI_FLOAT, c->out,
      (int)c->out_count, MPI_FLOAT, 0)
CALL(allgather, MPI_Allgather, c->in, n, MPI_FLOAT, c->out, n, MPI_FLOAT)
CALLV(allgatherv, MPI_Allgatherv, c->in, (int)c->in_count, MPI_FLOAT, c->out,
      counts, displs, MPI_FLOAT)
CALL(alltoall, MPI_Alltoall, c->in, n, MPI_FLOAT, c->out, n, MPI_FLOAT)
CALLV(alltoallv, MPI_Alltoallv, c->in, counts, displs, MPI_FLOAT, c->out,
      counts, displs, MPI_FLOAT)
CALL(scan, MPI_Scan, c->in, c->out, n, MPI_FLOAT, MPI_SUM)
CALL(exscan, MPI_Exscan, c->in, c->out, n, MPI_FLOAT, MPI_SUM)

static int barrier(const struct loop_call *c)
{
    (void)c;
    return MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS;
}

static int rank(void)
{
    int rank;

    return MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS ? rank : -1;
}

static int bcast(const struct loop_call *c)
{
    void *buffer = rank() == 0 ? (void *)(uintptr_t)c->in : c->out;

    return is_too_large(c) || MPI_Bcast(buffer, (int)c->count, MPI_FLOAT, 0,
                                        MPI_COMM_WORLD) != MPI_SUCCESS;
}

/* MPI has no call for a list: start one operation for each vector, and wait for
 * all. */
static int allreduce_many(const struct loop_call *c)
{
    MPI_Request requests[LOOP_VECTORS];
    int failed = is_too_large(c);

    for (size_t i = 0; i < c->n && !failed; i++)
        failed = MPI_Iallreduce(c->ins[i], c->outs[i], (int)c->count, MPI_FLOAT,
                                MPI_SUM, MPI_COMM_WORLD,
                                &requests[i]) != MPI_SUCCESS;
    return failed ||
           MPI_Waitall((int)c->n, requests, no_statuses) != MPI_SUCCESS;
}

static int send(const struct loop_call *c)
{
    return MPI_Send(c->in, (int)c->count, MPI_FLOAT, c->partner, 0,
                    MPI_COMM_WORLD) != MPI_SUCCESS;
}

static int receive(const struct loop_call *c)
{
    return MPI_Recv(c->out, (int)c->count, MPI_FLOAT, c->partner, 0,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS;
}

static int sendrecv(const struct loop_call *c)
{
    if (is_too_large(c))
        return 1;
    return c->sends_first ? send(c) || receive(c) : receive(c) || send(c);
}

/* Name and version of the library; its own text is much longer. */
static const char *version(void)
{
    static char text[MPI_MAX_LIBRARY_VERSION_STRING], name[64];
    char word[32];
    int length;

    if (MPI_Get_library_version(text, &length) != MPI_SUCCESS)
        return "MPI";
    if (sscanf(text, "Open MPI v%31[^, \n]", word) == 1)
        snprintf(name, sizeof(name), "Open MPI %s", word);
    else if (sscanf(text, "MPICH Version:%31s", word) == 1)
        snprintf(name, sizeof(name), "MPICH %s", word);
    else
        return text;
    return name;
}

static int finalize(void)
{
    return MPI_Finalize() != MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    const struct loop_peer peer = {
        .init = init,
        .colls = {[LOOP_ALLREDUCE] = allreduce,
                  [LOOP_REDUCE] = reduce,
                  [LOOP_REDUCE_SCATTER] = reduce_scatter,
                  [LOOP_REDUCE_SCATTER_BLOCK] = reduce_scatter_block,
                  [LOOP_BARRIER] = barrier,
                  [LOOP_BCAST] = bcast,
                  [LOOP_GATHER] = gather,
                  [LOOP_GATHERV] = gatherv,
                  [LOOP_SCATTER] = scatter,
                  [LOOP_SCATTERV] = scatterv,
                  [LOOP_ALLGATHER] = allgather,
                  [LOOP_ALLGATHERV] = allgatherv,
                  [LOOP_ALLTOALL] = alltoall,
                  [LOOP_ALLTOALLV] = alltoallv,
                  [LOOP_SCAN] = scan,
                  [LOOP_EXSCAN] = exscan,
                  [LOOP_ALLREDUCE_MANY] = allreduce_many,
                  [LOOP_SENDRECV] = sendrecv},
        .rank = rank,
        .size = size,
        .version = version,
        .finalize = finalize};

    return loop_main(argc, argv, &peer);
}
