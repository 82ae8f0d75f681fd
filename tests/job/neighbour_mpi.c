/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * neighbour_mpi mpi|rcx mpi|rcx
 *
 * One rank of a job that uses MPI as well. The arguments say which of the two
 * is initialised first, and which is finalised first. Each makes allreduces
 * while it is alone and while both are initialised. Exits with 0, and prints
 * nothing, if all results are correct.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rcx/rcx.h"

enum { MOST = 1 << 17 };

static rcx_context_t *context;

static void require(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "neighbour_mpi: %s\n", what);
    exit(1);
}

/* ---- Vectors: rank r's element i is (r + 1) (i + 1) ---------------------- */

struct vectors {
    int count, size;
    double *in, *out;
};

static struct vectors make(int count, int rank, int size)
{
    struct vectors v = {.count = count,
                        .size = size,
                        .in = malloc((size_t)count * sizeof(double)),
                        .out = calloc((size_t)count, sizeof(double))};

    require(v.in && v.out, "no memory");
    for (int i = 0; i < count; i++)
        v.in[i] = (rank + 1.0) * (i + 1.0);
    return v;
}

static void check_and_free(struct vectors *v, const char *whose)
{
    for (int i = 0; i < v->count; i++)
        require(v->out[i] == v->size * (v->size + 1.0) / 2 * (i + 1.0), whose);
    free(v->in);
    free(v->out);
}

/* ---- MPI and RCX --------------------------------------------------------- */

static struct vectors make_mpi(int count)
{
    int rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    require(size > 1, "MPI is alone");
    return make(count, rank, size);
}

static struct vectors make_rcx(int count)
{
    rcx_comm_t *comm = rcx_world(context);

    require(rcx_comm_size(comm) > 1, "RCX is alone");
    return make(count, rcx_comm_rank(comm), rcx_comm_size(comm));
}

static void use_mpi(int count)
{
    struct vectors v = make_mpi(count);

    require(MPI_Allreduce(v.in, v.out, count, MPI_DOUBLE, MPI_SUM,
                          MPI_COMM_WORLD) == MPI_SUCCESS,
            "MPI_Allreduce");
    check_and_free(&v, "MPI's sum is wrong");
}

static void use_rcx(int count)
{
    struct vectors v = make_rcx(count);

    require(rcx_allreduce(v.in, v.out, (size_t)count, RCX_DOUBLE, RCX_SUM,
                          rcx_world(context)) == RCX_OK,
            "rcx_allreduce");
    check_and_free(&v, "RCX's sum is wrong");
}

/* Operations of MPI and RCX are in flight at the same time. */
static void use_both(int count)
{
    struct vectors a = make_mpi(count), b = make_rcx(count);
    rcx_request_t *request;
    MPI_Request mpi;

    require(MPI_Iallreduce(a.in, a.out, count, MPI_DOUBLE, MPI_SUM,
                           MPI_COMM_WORLD, &mpi) == MPI_SUCCESS,
            "MPI_Iallreduce");
    require(rcx_iallreduce(b.in, b.out, (size_t)count, RCX_DOUBLE, RCX_SUM,
                           rcx_world(context), &request) == RCX_OK,
            "rcx_iallreduce");
    require(rcx_wait(request) == RCX_OK, "rcx_wait");
    require(MPI_Wait(&mpi, MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_Wait");
    require(rcx_request_free(&request) == RCX_OK, "rcx_request_free");
    check_and_free(&a, "MPI's sum beside RCX's is wrong");
    check_and_free(&b, "RCX's sum beside MPI's is wrong");
}

static void begin_rcx(void)
{
    require(rcx_init(NULL, &context) == RCX_OK, "rcx_init");
}

static void end_rcx(void)
{
    require(rcx_finalize(&context) == RCX_OK, "rcx_finalize");
}

static void begin(bool mpi)
{
    if (mpi) {
        require(MPI_Init(NULL, NULL) == MPI_SUCCESS, "MPI_Init");
        return;
    }
    /* twice: RCX must not release MPI's reference to PMIx */
    for (int i = 0; i < 2; i++) {
        begin_rcx();
        use_rcx(1);
        end_rcx();
    }
    begin_rcx();
}

static void end(bool mpi)
{
    if (mpi)
        require(MPI_Finalize() == MPI_SUCCESS, "MPI_Finalize");
    else
        end_rcx();
}

/* Use short and long messages. */
static void use(bool mpi)
{
    for (int count = 1; count <= MOST; count *= 8)
        (mpi ? use_mpi : use_rcx)(count);
}

int main(int argc, char **argv)
{
    const bool mpi_begins = argc == 3 && strcmp(argv[1], "mpi") == 0;
    const bool mpi_ends = argc == 3 && strcmp(argv[2], "mpi") == 0;

    if (argc != 3) {
        fprintf(stderr, "usage: %s mpi|rcx mpi|rcx\n", argv[0]);
        return 2;
    }
    begin(mpi_begins);
    use(mpi_begins);
    begin(!mpi_begins);
    use(true);
    use(false);
    for (int count = 1; count <= MOST; count *= 8)
        use_both(count);
    end(mpi_ends);
    use(!mpi_ends);
    end(!mpi_ends);
    return 0;
}
