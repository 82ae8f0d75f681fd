/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares builds of RCX:
 *
 *       bench_builds -n RANKS --coll NAME --type TYPE --bytes BYTES
 *                    --rounds N [--memory] [--fresh | --cold]
 *                    LIBRARY[@VARIABLE=VALUE]...
 *
 * Each process opens all libraries, each with its own context, and times them
 * in turn, a batch of calls each. So disturbances by the machine affect all of
 * them alike. Ratios are to the first library. The same library twice, as two
 * files, shows the noise: the placement of memory alone accounts for 3 %. With
 * a variable, as in librcx.so@RCX_SHM=chunk=64K, the context of that library is
 * opened with it, so settings can be compared.
 *
 * --type: float32, the default, float64, or exact_float32 and exact_float64:
 * exact sums, each of a number with as many bits as its type has. Bytes are at
 * least those of one element.
 * --memory: buffers come from rcx_mem_alloc(). --fresh: the operand is written
 * before each call, and that time counts. --cold: between calls the operand and
 * more memory than a core's own caches hold are written, as by a program that
 * computes, and only the calls' time counts.
 */
#include <dlfcn.h>
#include <getopt.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rcx/rcx.h"

#include "ranks.h"

enum {
    LIBRARIES_MOST = 8,
    WARM_UP = 50,
    BATCH_NS = 400000,
    COLD_BYTES = 8 << 20,
    COLD_CALLS = 8,
    ONCE_AROUND = 10000 /* calls until a library has used all of its memory */
};

static const struct ranks *my_ranks;

static struct options {
    const char *coll;
    const struct type *type;
    size_t bytes;
    int rounds;
    int libraries;
    int memory, fresh, cold;
    char **paths;
} options = {.coll = "allreduce", .bytes = 8, .rounds = 200};

static const struct type {
    const char *name;
    rcx_datatype_t type;
    size_t bytes;
    const char *add; /* adds numbers to an exact sum; NULL: is none */
} types[] = {
    {"float32", RCX_FLOAT32, sizeof(float), NULL},
    {"float64", RCX_FLOAT64, sizeof(double), NULL},
    {"exact_float32", RCX_EXACT_FLOAT32, sizeof(rcx_exact32_t),
     "rcx_exact32_add"},
    {"exact_float64", RCX_EXACT_FLOAT64, sizeof(rcx_exact64_t),
     "rcx_exact64_add"},
};

static void *common_operand, *common_result;
static unsigned char *other_memory;

struct library {
    rcx_status_t (*init)(const rcx_params_t *params, rcx_context_t **context_p);
    rcx_status_t (*finalize)(rcx_context_t **context_p);
    rcx_comm_t *(*world)(rcx_context_t *context);
    rcx_status_t (*barrier)(rcx_comm_t *comm);
    rcx_status_t (*mem_alloc)(rcx_comm_t *comm, size_t bytes, void **ptr_p);
    void *coll; /* the collective under test */
    rcx_context_t *context;
    rcx_comm_t *comm;
    void *operand, *result;
    double *ns; /* of a call, by round */
};

/* ---- Collectives --------------------------------------------------------- */

typedef rcx_status_t reduction_fn(const void *in, void *out, size_t count,
                                  rcx_datatype_t type, rcx_op_t op,
                                  rcx_comm_t *comm);
typedef rcx_status_t movement_fn(const void *in, void *out, size_t count,
                                 rcx_datatype_t type, rcx_comm_t *comm);
typedef rcx_status_t bcast_fn(void *buf, size_t count, rcx_datatype_t type,
                              int root, rcx_comm_t *comm);

static size_t count(void)
{
    return options.bytes / options.type->bytes;
}

static rcx_status_t reduce(const struct library *l)
{
    return ((reduction_fn *)l->coll)(l->operand, l->result, count(),
                                     options.type->type, RCX_SUM, l->comm);
}

static rcx_status_t move(const struct library *l)
{
    return ((movement_fn *)l->coll)(l->operand, l->result, count(),
                                    options.type->type, l->comm);
}

static rcx_status_t bcast(const struct library *l)
{
    return ((bcast_fn *)l->coll)(l->operand, count(), options.type->type, 0,
                                 l->comm);
}

static rcx_status_t barrier(const struct library *l)
{
    return l->barrier(l->comm);
}

static const struct coll {
    const char *name, *function;
    rcx_status_t (*call)(const struct library *l);
} colls[] = {
    {"allreduce", "rcx_allreduce", reduce},
    {"scan", "rcx_scan", reduce},
    {"exscan", "rcx_exscan", reduce},
    {"allgather", "rcx_allgather", move},
    {"alltoall", "rcx_alltoall", move},
    {"bcast", "rcx_bcast", bcast},
    {"barrier", "rcx_barrier", barrier},
};

static const struct type *type_of(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, name))
            return &types[i];
    return NULL;
}

static const struct coll *coll_of(const char *name)
{
    for (size_t i = 0; i < sizeof colls / sizeof *colls; i++)
        if (!strcmp(colls[i].name, name))
            return &colls[i];
    return NULL;
}

/* ---- Libraries ----------------------------------------------------------- */

static int allgather(const void *send, void *recv, size_t bytes, void *arg)
{
    return ranks_allgather(arg, send, recv, bytes);
}

/* Make each element of the operand the sum of one number, other ones on each
 * rank. */
static int fill_exact(void *handle, struct library *l)
{
    const struct type *t = options.type;
    void *const add = dlsym(handle, t->add);
    const double x = 1 / (3.0 + my_ranks->rank);
    const float single = (float)x;

    for (size_t i = 0; add && i < count(); i++) {
        char *sum = (char *)l->operand + i * t->bytes;

        memset(sum, 0, t->bytes);
        if (t->type == RCX_EXACT_FLOAT32)
            ((void (*)(void *, const float *, size_t))add)(sum, &single, 1);
        else
            ((void (*)(void *, const double *, size_t))add)(sum, &x, 1);
    }
    return !add;
}

/* All libraries use the same buffers, except with --memory. */
static int find_buffers(void *handle, struct library *l)
{
    const size_t space = options.bytes * (size_t)my_ranks->size + 1;

    l->operand = common_operand;
    l->result = common_result;
    if (options.memory &&
        (l->mem_alloc(l->comm, space, &l->operand) != RCX_OK ||
         l->mem_alloc(l->comm, space, &l->result) != RCX_OK))
        return 1;
    return options.type->add && fill_exact(handle, l);
}

/* Cut "@VARIABLE=VALUE" off path, and set the variable. NULL: there is none. */
static const char *set_variable(char *path)
{
    char *name = strchr(path, '@');
    char *value = name ? strchr(name, '=') : NULL;

    if (!value)
        return NULL;
    *name++ = *value++ = '\0';
    setenv(name, value, 1);
    return name;
}

static int open_library(char *path, struct library *l)
{
    const char *variable = set_variable(path);
    const rcx_params_t params = {.field_mask = RCX_PARAM_BOOTSTRAP,
                                 .bootstrap = {.rank = my_ranks->rank,
                                               .size = my_ranks->size,
                                               .allgather = allgather,
                                               .arg = (void *)my_ranks}};
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!handle) {
        fprintf(stderr, "bench_builds: %s\n", dlerror());
        return 1;
    }
    *(void **)&l->init = dlsym(handle, "rcx_init");
    *(void **)&l->finalize = dlsym(handle, "rcx_finalize");
    *(void **)&l->world = dlsym(handle, "rcx_world");
    *(void **)&l->barrier = dlsym(handle, "rcx_barrier");
    *(void **)&l->mem_alloc = dlsym(handle, "rcx_mem_alloc");
    l->coll = dlsym(handle, coll_of(options.coll)->function);
    l->ns = malloc((size_t)options.rounds * sizeof *l->ns);
    if (!l->init || !l->finalize || !l->world || !l->barrier || !l->mem_alloc ||
        !l->coll || !l->ns || l->init(&params, &l->context) != RCX_OK) {
        fprintf(stderr, "bench_builds: %s: is not a working librcx\n", path);
        return 1;
    }
    if (variable)
        unsetenv(variable);
    l->comm = l->world(l->context);
    return find_buffers(handle, l);
}

/* ---- Timing -------------------------------------------------------------- */

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Nanoseconds a call takes on average; below 0: a call has failed. */
static double time_calls(const struct library *l, int calls)
{
    const struct coll *coll = coll_of(options.coll);
    double begin = 0;

    l->barrier(l->comm);
    for (int i = -WARM_UP; i < calls; i++) {
        if (i == 0)
            begin = now_ns();
        if (options.fresh)
            memset(l->operand, 0, options.bytes);
        if (coll->call(l) != RCX_OK)
            return -1;
    }
    return (now_ns() - begin) / calls;
}

/* Write memory, as a program does between two calls, so that caches are
 * cold. */
static void compute(const struct library *l)
{
    for (size_t i = 0; i < COLD_BYTES; i += 64)
        other_memory[i]++;
    memset(l->operand, 0, options.bytes);
    l->barrier(l->comm);
}

static double time_cold_calls(const struct library *l)
{
    double sum = 0;

    for (int i = 0; i < COLD_CALLS; i++) {
        double begin;

        compute(l);
        begin = now_ns();
        if (coll_of(options.coll)->call(l) != RCX_OK)
            return -1;
        sum += now_ns() - begin;
    }
    return sum / COLD_CALLS;
}

/* The number of calls in a batch, as rank 0 measures it, on all ranks; 0: a
 * call has failed. */
static int calls_of_a_batch(const struct library *l)
{
    const double mine = time_calls(l, WARM_UP);
    double *all = malloc((size_t)my_ranks->size * sizeof *all);
    int calls = 0;

    if (all && !ranks_allgather(my_ranks, &mine, all, sizeof mine))
        calls = all[0] < 0               ? 0
                : all[0] > BATCH_NS / 10 ? 10
                                         : (int)(BATCH_NS / (all[0] + 1));
    free(all);
    return calls;
}

static int time_all(struct library libraries[])
{
    const int n = options.libraries, calls = calls_of_a_batch(&libraries[0]);

    for (int k = 0; k < n && options.cold; k++)
        if (time_calls(&libraries[k], ONCE_AROUND) < 0)
            return 1;
    for (int r = 0; r < options.rounds && calls > 0; r++) {
        for (int k = 0; k < n; k++) {
            struct library *l = &libraries[r % 2 ? n - 1 - k : k];

            l->ns[r] = options.cold ? time_cold_calls(l) : time_calls(l, calls);
            if (l->ns[r] < 0)
                return 1;
        }
    }
    return calls == 0;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void report(const struct library *l, const struct library *first,
                   const char *path)
{
    const size_t n = (size_t)options.rounds;
    double *ns = malloc(n * sizeof *ns), *ratios = malloc(n * sizeof *ratios);

    for (size_t i = 0; ns && ratios && i < n; i++) {
        ns[i] = l->ns[i];
        ratios[i] = l->ns[i] / first->ns[i];
    }
    if (ns && ratios) {
        qsort(ns, n, sizeof *ns, by_value);
        qsort(ratios, n, sizeof *ratios, by_value);
        printf("%9.1f ns, least %9.1f; %.3f of the first (%.3f to %.3f)  %s\n",
               ns[n / 2], ns[0], ratios[n / 2], ratios[n / 4],
               ratios[3 * n / 4], path);
    }
    free(ns);
    free(ratios);
}

/* ---- A rank -------------------------------------------------------------- */

static void pin(int rank)
{
    cpu_set_t usable, one;
    int skip;

    if (sched_getaffinity(0, sizeof usable, &usable) != 0)
        return;
    skip = rank % CPU_COUNT(&usable);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &usable) && skip-- == 0) {
            CPU_SET(cpu, &one);
            break;
        }
    }
    sched_setaffinity(0, sizeof one, &one);
}

static int run(int argc, char **argv, const struct ranks *ranks)
{
    const size_t space = options.bytes * (size_t)ranks->size + 1;
    struct library libraries[LIBRARIES_MOST] = {0};
    int failed = 0;

    (void)argc, (void)argv;
    my_ranks = ranks;
    pin(ranks->rank);
    common_operand = calloc(space, 1);
    common_result = calloc(space, 1);
    other_memory = calloc(COLD_BYTES, 1);
    if (!common_operand || !common_result || !other_memory)
        return 1;
    for (int i = 0; i < options.libraries && !failed; i++)
        failed = open_library(options.paths[i], &libraries[i]);
    if (!failed)
        failed = time_all(libraries);
    for (int i = 0; i < options.libraries && !failed && !ranks->rank; i++)
        report(&libraries[i], &libraries[0], options.paths[i]);
    for (int i = 0; i < options.libraries && !failed; i++)
        failed = libraries[i].finalize(&libraries[i].context) != RCX_OK;
    return failed;
}

int main(int argc, char **argv)
{
    static const struct option known[] = {{"coll", required_argument, 0, 'c'},
                                          {"type", required_argument, 0, 't'},
                                          {"bytes", required_argument, 0, 'b'},
                                          {"rounds", required_argument, 0, 'r'},
                                          {"memory", no_argument, 0, 'm'},
                                          {"fresh", no_argument, 0, 'f'},
                                          {"cold", no_argument, 0, 'o'},
                                          {0, 0, 0, 0}};
    int option;

    options.type = types;
    while ((option = getopt_long(argc, argv, "n:", known, NULL)) != -1) {
        switch (option) {
        case 'c': options.coll = optarg; break;
        case 't': options.type = type_of(optarg); break;
        case 'b': options.bytes = strtoull(optarg, NULL, 0); break;
        case 'r': options.rounds = atoi(optarg); break;
        case 'm': options.memory = 1; break;
        case 'f': options.fresh = 1; break;
        case 'o': options.cold = 1; break;
        case 'n': break; /* ranks_fork() reads it */
        default: return 2;
        }
    }
    options.paths = argv + optind;
    if (options.type && options.bytes < options.type->bytes)
        options.bytes = options.type->bytes;
    options.libraries = argc - optind;
    if (!coll_of(options.coll) || !options.type || options.rounds < 1 ||
        options.libraries < 1 || options.libraries > LIBRARIES_MOST) {
        fprintf(stderr,
                "bench_builds: needs a known collective and type, at least one "
                "round, and 1 to %d libraries\n",
                LIBRARIES_MOST);
        return 2;
    }
    return ranks_fork(argc, argv, run);
}
