/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls the functions as LightGBM does (Network::ReduceScatter, ::Allgather),
 * with blocks of any length, on two threads with a communicator each. Compares
 * the results with sums that are computed here.
 */
#include <rcx/rcx_lightgbm.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, ROOM = 4096 };

/* Like an entry of a LightGBM histogram: not a type of RCX's. */
struct bin {
    double sum;
    float weight;
    int32_t count;
};

static void add(const char *input, char *output, int type_size, int32_t bytes)
{
    const struct bin *in = (const struct bin *)(const void *)input;
    struct bin *out = (struct bin *)(void *)output;

    for (int i = 0; i < bytes / type_size; i++) {
        out[i].sum += in[i].sum;
        out[i].weight += in[i].weight;
        out[i].count += in[i].count;
    }
}

static struct bin bin_of(int rank, int i)
{
    return (struct bin){
        .sum = rank + i, .weight = (float)(2 * rank), .count = i};
}

struct job {
    rcx_context_t *context;
    rcx_comm_t *comm;
    int failures;
};

/* Number of elements of block i; some blocks are empty. */
static int length(int round, int i)
{
    return round == 0 ? 4 : (i * 7 + round) % 6;
}

static bool reduce_scatter(int rank, int size, int round, bool in_place)
{
    static const rcx_lightgbm_op_t op = add;
    struct bin input[ROOM], output[ROOM], *result = in_place ? input : output;
    int32_t start[MOST] = {0}, len[MOST] = {0};
    int n = 0, first = 0;
    bool good = true;

    for (int i = 0; i < size; i++) {
        start[i] = n * (int)sizeof *input;
        len[i] = length(round, i) * (int)sizeof *input;
        if (i == rank)
            first = n;
        n += length(round, i);
    }
    for (int i = 0; i < n; i++)
        input[i] = bin_of(rank, i);
    rcx_lightgbm_reduce_scatter((char *)input, n * (int)sizeof *input,
                                sizeof *input, start, len, size, (char *)result,
                                sizeof output, &op);
    for (int i = 0; i < length(round, rank); i++)
        good = good &&
               result[i].sum == size * (first + i) + size * (size - 1) / 2 &&
               result[i].weight == (float)(size * (size - 1)) &&
               result[i].count == size * (first + i);
    return good;
}

/* Blocks are in the order of ranks, or in reverse. This rank's block is at the
 * start of input. */
static bool allgather(int rank, int size, int round, bool in_place)
{
    char input[ROOM], output[ROOM], *result = in_place ? input : output;
    int32_t start[MOST] = {0}, len[MOST] = {0};
    int32_t end = 0;
    bool good = true;

    for (int k = 0; k < size; k++) {
        const int i = round % 2 ? size - 1 - k : k;

        start[i] = end;
        len[i] = 3 * length(round, i) + round % 2;
        end += len[i];
    }
    memset(input, 'a' + rank, (size_t)len[rank]);
    rcx_lightgbm_allgather(input, len[rank], start, len, size, result, end);
    for (int i = 0; i < size; i++)
        for (int k = 0; k < len[i]; k++)
            good = good && result[start[i] + k] == 'a' + i;
    return good;
}

static void *train(void *arg)
{
    struct job *job = arg;
    const int rank = rcx_comm_rank(job->comm), size = rcx_comm_size(job->comm);

    rcx_lightgbm_use(job->context, job->comm);
    for (int round = 0; round < 20; round++)
        for (int in_place = 0; in_place < 2; in_place++) {
            job->failures += !reduce_scatter(rank, size, round, in_place);
            job->failures += !allgather(rank, size, round, in_place);
        }
    return NULL;
}

/* stub unused: the call aborts, as rcx_lightgbm_use() was not called */
static void train_without_use(void)
{
    const int32_t start[] = {0, 1}, len[] = {1, 1};
    char input = 0, output[2];

    rcx_lightgbm_allgather(&input, 1, start, len, 2, output, 2);
}

/* stub wrong: blocks that are not adjacent, which ends the job */
static void train_wrongly(struct job *job)
{
    static const rcx_lightgbm_op_t op = add;
    struct bin bins[2] = {{0}};
    const int32_t start[] = {0, 32}, len[] = {16, 16};

    rcx_lightgbm_use(job->context, job->comm);
    rcx_lightgbm_reduce_scatter((char *)bins, 32, 16, start, len, 2,
                                (char *)bins, 32, &op);
}

int main(int argc, char **argv)
{
    const rcx_params_t params = {.field_mask = RCX_PARAM_THREADS,
                                 .threads = RCX_THREAD_MULTIPLE};
    struct job jobs[2] = {{0}};
    pthread_t threads[2];
    int failures = 0;

    if (rcx_init(&params, &jobs[0].context) != RCX_OK)
        return 1;
    jobs[1].context = jobs[0].context;
    for (int i = 0; i < 2; i++)
        failures +=
            rcx_comm_dup(rcx_world(jobs[i].context), &jobs[i].comm) != RCX_OK;
    if (argc > 1 && strcmp(argv[1], "wrong") == 0)
        train_wrongly(&jobs[0]);
    if (argc > 1 && strcmp(argv[1], "unused") == 0)
        train_without_use();
    for (int i = 0; i < 2; i++)
        failures += pthread_create(&threads[i], NULL, train, &jobs[i]) != 0;
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        failures += jobs[i].failures;
    }
    if (rcx_comm_rank(jobs[0].comm) == 0)
        printf("%d failures\n", failures);
    for (int i = 0; i < 2; i++)
        rcx_comm_free(&jobs[i].comm);
    return rcx_finalize(&jobs[0].context) != RCX_OK || failures > 0;
}
