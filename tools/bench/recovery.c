/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_recovery WHAT
 *
 * One rank of a job that recovers from a failure once, or several times if no
 * rank is lost. The lowest rank that lives prints one line:
 *
 *   ranks,what,found_ms,shrink_us,allreduce_us,dup_us
 *
 * found_ms: from the failure until the last rank has an error. shrink_us: from
 * then until the last rank has left rcx_comm_shrink(). allreduce_us, dup_us: of
 * an allreduce of 8 bytes and of rcx_comm_dup() with the same ranks before the
 * failure.
 *
 *   revoke   rank 0 revokes the communicator
 *   last     the last rank is killed
 *   first    rank 0 is killed, which would coordinate
 *   two      rank 0 and the last rank are killed
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rcx/rcx.h>

enum { TIMES = 200, REVOKES = 20 };
#define LIMIT_NS INT64_C(30000000000)
#define SOON_NS INT64_C(20000000)

static int rank, size;

static void must(rcx_status_t status)
{
    if (status == RCX_OK)
        return;
    fprintf(stderr, "bench_recovery: rank %d: %s\n", rank,
            rcx_status_string(status));
    exit(1);
}

/* The same clock in all processes of a machine. */
static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int64_t median(int64_t values[], int n)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    return values[n / 2];
}

static int64_t most(int64_t value, rcx_comm_t *comm)
{
    int64_t result;

    must(rcx_allreduce(&value, &result, 1, RCX_INT64, RCX_MAX, comm));
    return result;
}

static int64_t time_allreduce(rcx_comm_t *comm)
{
    int64_t times[TIMES];

    for (int i = 0; i < TIMES; i++) {
        const int64_t begin = now_ns();

        most(0, comm);
        times[i] = now_ns() - begin;
    }
    return median(times, TIMES);
}

static int64_t time_dup(rcx_comm_t *comm)
{
    int64_t times[REVOKES];

    for (int i = 0; i < REVOKES; i++) {
        int64_t begin;
        rcx_comm_t *copy;

        must(rcx_barrier(comm));
        begin = now_ns();
        must(rcx_comm_dup(comm, &copy));
        times[i] = now_ns() - begin;
        must(rcx_comm_free(&copy));
    }
    return median(times, REVOKES);
}

static void fail(const char *what)
{
    const int is_first = rank == 0, is_last = rank == size - 1;

    if ((is_last && strcmp(what, "first") != 0 &&
         strcmp(what, "revoke") != 0) ||
        (is_first && strcmp(what, "last") != 0 && strcmp(what, "revoke") != 0))
        kill(getpid(), SIGKILL);
}

/* All ranks work until the failure at a time that they have agreed on. Shrinks
 * *comm, and returns how long its parts took on this rank. */
static void recover(const char *what, rcx_comm_t **comm, int64_t *found_ns,
                    int64_t *shrink_ns)
{
    const int64_t at = most(now_ns(), *comm) + SOON_NS;
    int64_t value = 0, error, end;
    rcx_comm_t *next;

    while (now_ns() < at)
        usleep(100);
    fail(what);
    if (strcmp(what, "revoke") == 0 && rank == 0)
        must(rcx_comm_revoke(*comm));
    while (rcx_allreduce(RCX_IN_PLACE, &value, 1, RCX_INT64, RCX_SUM, *comm) ==
           RCX_OK)
        continue;
    error = now_ns();
    must(rcx_comm_shrink(*comm, LIMIT_NS, &next));
    end = now_ns();
    error = most(error, next);
    *shrink_ns = most(end, next) - error;
    *found_ns = error - at;
    must(rcx_comm_free(comm));
    *comm = next;
}

/* Errors are expected. A launcher that forwards them would take a core. */
static void ignore(rcx_log_level_t level, const char *text, void *arg)
{
    (void)level, (void)text, (void)arg;
}

int main(int argc, char **argv)
{
    const rcx_params_t params = {.field_mask = RCX_PARAM_LOG, .log = ignore};

    int64_t found[REVOKES], shrink[REVOKES], allreduce, dup;
    rcx_context_t *context;
    rcx_comm_t *comm;
    int n;

    if (argc != 2) {
        fprintf(stderr, "usage: bench_recovery revoke|last|first|two\n");
        return 2;
    }
    must(rcx_init(&params, &context));
    must(rcx_comm_dup(rcx_world(context), &comm));
    rank = rcx_comm_rank(comm);
    size = rcx_comm_size(comm);
    allreduce = time_allreduce(comm);
    dup = time_dup(comm);
    n = strcmp(argv[1], "revoke") == 0 ? REVOKES : 1;
    for (int i = 0; i < n; i++)
        recover(argv[1], &comm, &found[i], &shrink[i]);
    if (rcx_comm_rank(comm) == 0)
        printf("%d,%s,%.3f,%.1f,%.1f,%.1f\n", size, argv[1],
               (double)median(found, n) / 1e6, (double)median(shrink, n) / 1e3,
               (double)allreduce / 1e3, (double)dup / 1e3);
    must(rcx_comm_free(&comm));
    must(rcx_finalize(&context));
    return 0;
}
