/* SPDX-License-Identifier: BSD-3-Clause */
/* The timing loop over MPI: mpirun -n 2 bench_openmpi, bench_mpich */
#include <limits.h>
#include <stdio.h>

#include <mpi.h>

#include "loop.h"

static int init(int *argc, char ***argv)
{
    return MPI_Init(argc, argv) != MPI_SUCCESS;
}

static int allreduce(const float *in, float *out, size_t count)
{
    if (count > INT_MAX)
        return 1;
    return MPI_Allreduce(in, out, (int)count, MPI_FLOAT, MPI_SUM,
                         MPI_COMM_WORLD) != MPI_SUCCESS;
}

static int barrier(void)
{
    return MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS;
}

static int rank(void)
{
    int rank;

    return MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS ? rank : -1;
}

static int size(void)
{
    int size;

    return MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS ? size : -1;
}

/* The library's own text says much more than its name and version. */
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
    const struct loop_peer peer = {init, allreduce, barrier, rank,
                                   size, version,   finalize};

    return loop_main(argc, argv, &peer);
}
