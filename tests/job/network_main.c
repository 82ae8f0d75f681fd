/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * network_main methods
 *     Rank 0 prints the methods of calls that the measured network may choose,
 *     and of sums of floating-point numbers, for which it may not.
 * network_main dies RANK MS
 *     RANK is killed MS milliseconds after it begins to open its context. The
 *     others end: they cannot open theirs, or go on without RANK.
 * network_main cut ADDRESS
 *     Rank 0 lets its node, which is an emulated one, send nothing to ADDRESS
 *     any more once it has connected to another node to measure the network.
 *     Each rank prints what rcx_init() returned.
 */
#include <pthread.h>
#include <rcx/rcx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COUNT = 128 };
static double values[COUNT];
static long dies_after_ms;

static void require(rcx_status_t status, const char *what)
{
    if (status == RCX_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, rcx_status_string(status));
    exit(EXIT_FAILURE);
}

static void print_method(const char *what, rcx_comm_t *comm,
                         rcx_request_t *request)
{
    if (rcx_comm_rank(comm) == 0)
        printf("%s %s\n", what, rcx_request_method(request));
    require(rcx_request_free(&request), "free");
}

static int methods(rcx_comm_t *comm)
{
    rcx_request_t *r;

    require(rcx_bcast_init(values, COUNT, RCX_FLOAT64, 0, comm, &r), "bcast");
    print_method("bcast", comm, r);
    require(rcx_allreduce_init(RCX_IN_PLACE, values, COUNT, RCX_INT64, RCX_SUM,
                               comm, &r),
            "int64");
    print_method("int64", comm, r);
    require(rcx_allreduce_init(RCX_IN_PLACE, values, COUNT, RCX_FLOAT64,
                               RCX_SUM, comm, &r),
            "float64");
    print_method("float64", comm, r);
    require(rcx_allreduce_init(RCX_IN_PLACE, values, COUNT, RCX_FLOAT64,
                               RCX_MAX, comm, &r),
            "max");
    print_method("max", comm, r);
    return EXIT_SUCCESS;
}

static void *die(void *arg)
{
    const struct timespec t = {.tv_sec = dies_after_ms / 1000,
                               .tv_nsec = dies_after_ms % 1000 * 1000000};

    nanosleep(&t, NULL);
    kill(getpid(), SIGKILL);
    return arg;
}

/* Sums over those that live, which all have the same methods. */
static int go_on(rcx_comm_t *world)
{
    rcx_status_t status;
    rcx_comm_t *comm;
    int64_t sum;

    do {
        sum = 1;
        status =
            rcx_allreduce(RCX_IN_PLACE, &sum, 1, RCX_INT64, RCX_SUM, world);
    } while (status == RCX_OK);
    require(rcx_comm_shrink(world, 0, &comm), "shrink");
    for (int count = 1; count <= COUNT; count *= 8) {
        values[0] = rcx_comm_rank(comm) ? 0 : count;
        require(rcx_bcast(values, (size_t)count, RCX_FLOAT64, 0, comm),
                "bcast");
        if (values[0] != count)
            return EXIT_FAILURE;
    }
    require(rcx_comm_free(&comm), "free");
    return EXIT_SUCCESS;
}

static int dies(int rank)
{
    const char *mine = getenv("PMIX_RANK");
    pthread_t thread;
    rcx_context_t *context;

    if (mine && atoi(mine) == rank)
        pthread_create(&thread, NULL, die, NULL);
    if (rcx_init(NULL, &context) != RCX_OK)
        return EXIT_SUCCESS;
    if (go_on(rcx_world(context)) != EXIT_SUCCESS)
        return EXIT_FAILURE;
    require(rcx_finalize(&context), "finalize");
    return EXIT_SUCCESS;
}

static void cut_at_first_connection(rcx_log_level_t level, const char *text,
                                    void *arg)
{
    const char *address = arg;
    char command[128];

    if (level == RCX_LOG_ERROR)
        fprintf(stderr, "%s\n", text);
    if (!strstr(text, "[0] lanes to rank"))
        return;
    snprintf(command, sizeof command, "ip route add blackhole %s", address);
    if (system(command) != 0)
        exit(EXIT_FAILURE);
}

/* Ends without rcx_finalize(), which would wait for the other node. */
static int cut(char *address)
{
    const rcx_params_t params = {.field_mask = RCX_PARAM_LOG,
                                 .log = cut_at_first_connection,
                                 .log_arg = address};
    rcx_context_t *context;

    printf("%s\n", rcx_status_string(rcx_init(&params, &context)));
    fflush(stdout);
    sleep(6); /* a launcher ends a job of which one process has ended */
    _exit(EXIT_SUCCESS);
}

int main(int argc, char **argv)
{
    rcx_context_t *context;
    int result;

    if (argc == 4 && strcmp(argv[1], "dies") == 0) {
        dies_after_ms = strtol(argv[3], NULL, 10);
        return dies(atoi(argv[2]));
    }
    if (argc == 3 && strcmp(argv[1], "cut") == 0)
        return cut(argv[2]);
    if (argc != 2 || strcmp(argv[1], "methods") != 0)
        return 2;
    require(rcx_init(NULL, &context), "init");
    result = methods(rcx_world(context));
    require(rcx_finalize(&context), "finalize");
    return result;
}
