/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * OpenSHMEM's collectives over RCX, for unmodified programs. This library is
 * preloaded before Open MPI's OSHMEM, whose functions of the same names are
 * weak symbols. All other functions are OSHMEM's own.
 *
 * shmem_init() initialises RCX as well. An active set is a communicator, which
 * is created at its first use. OSHMEM has a UCX worker of its own, and emulates
 * put and get in software over some networks. So a process that waits here
 * makes OSHMEM's progress, too.
 *
 * SHMEM functions return no errors: an error is printed to stderr, and ends the
 * job.
 */
#include <complex.h>
#include <rcx/rcx.h>
#include <shmem.h>
#include <pshmem.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* OpenSHMEM 1.5: a macro, which for active sets calls a function of its own. */
#ifdef shmem_sync
#undef shmem_sync
#define shmem_sync shmem_sync_deprecated
#endif

/* An active set: processes start, start + (1 << log_stride), ... of the
 * world. */
struct set {
    int start;
    int log_stride;
    int size;
    rcx_comm_t *comm;
    size_t *counts; /* for collect: size elements */
    struct set *next;
};

static struct {
    rcx_context_t *context;
    struct set *sets; /* list; the last one used is the first */
} job;

/* ---- Errors and waiting -------------------------------------------------- */

static void check(const char *function, rcx_status_t status, rcx_comm_t *comm)
{
    rcx_error_info_t info;

    if (status == RCX_OK)
        return;
    if (!comm || rcx_comm_error(comm, &info) != RCX_OK)
        info.text = "";
    dprintf(STDERR_FILENO, "PE %d: %s: %s%s%s\n", pshmem_my_pe(), function,
            rcx_status_string(status), info.text[0] ? ": " : "", info.text);
    pshmem_global_exit(1);
}

/* Open MPI's progress. No pshmem_ function makes progress without waiting. */
extern void opal_progress(void);

static void finish(const char *function, rcx_comm_t *comm, rcx_status_t started,
                   rcx_request_t *request)
{
    enum { OWN_NS = 20000 }; /* RCX's progress between two calls of OSHMEM's */

    check(function, started, comm);
    while ((started = rcx_wait_for(request, OWN_NS)) == RCX_IN_PROGRESS)
        opal_progress();
    rcx_request_free(&request);
    check(function, started, comm);
}

/* ---- Active sets --------------------------------------------------------- */

static void send_word(const char *function, int rank, int tag)
{
    rcx_comm_t *world = rcx_world(job.context);
    rcx_request_t *request = NULL;
    const rcx_status_t status =
        rcx_isend(NULL, 0, RCX_BYTE, rank, tag, world, &request);

    finish(function, world, status, request);
}

static void receive_word(const char *function, int rank, int tag)
{
    rcx_comm_t *world = rcx_world(job.context);
    rcx_request_t *request = NULL;
    const rcx_status_t status =
        rcx_irecv(NULL, 0, RCX_BYTE, rank, tag, world, &request);

    finish(function, world, status, request);
}

/* Wait until all members of a set have called this, with OSHMEM's progress. The
 * calls that follow make no progress of OSHMEM's. Without this, a member could
 * still be in a get from this process, and never arrive. */
static void await_members(const char *function, const int ranks[], int n,
                          int tag)
{
    const bool is_first = ranks[0] == rcx_comm_rank(rcx_world(job.context));

    if (!is_first) {
        send_word(function, ranks[0], tag);
        receive_word(function, ranks[0], tag);
        return;
    }
    for (int i = 1; i < n; i++)
        receive_word(function, ranks[i], tag);
    for (int i = 1; i < n; i++)
        send_word(function, ranks[i], tag);
}

static rcx_comm_t *comm_of(const char *function, const struct set *s)
{
    const int tag = (s->start * 31 + s->log_stride * 7 + s->size) % 8192;
    rcx_comm_t *world = rcx_world(job.context);
    int *ranks = malloc((size_t)s->size * sizeof *ranks);
    rcx_comm_t *comm = world;

    check(function, ranks ? RCX_OK : RCX_ERR_NOMEM, world);
    for (int i = 0; i < s->size; i++)
        ranks[i] = s->start + (i << s->log_stride);
    if (s->size < rcx_comm_size(world)) {
        await_members(function, ranks, s->size, tag);
        check(function,
              rcx_comm_create_group(world, s->size, ranks, tag, &comm), world);
    }
    free(ranks);
    return comm;
}

static struct set *set_of(const char *function, int start, int log_stride,
                          int size)
{
    const struct set wanted = {
        .start = start, .log_stride = size > 1 ? log_stride : 0, .size = size};
    struct set *s, **place;

    if (!job.context)
        check(function, RCX_ERR_ARG, NULL); /* called before shmem_init() */
    for (place = &job.sets; (s = *place); place = &s->next)
        if (s->start == wanted.start && s->log_stride == wanted.log_stride &&
            s->size == wanted.size)
            break;
    if (s) {
        *place = s->next;
    } else {
        s = malloc(sizeof *s);
        check(function, s ? RCX_OK : RCX_ERR_NOMEM, NULL);
        *s = wanted;
        s->comm = comm_of(function, s);
        s->counts = calloc((size_t)size, sizeof *s->counts);
        check(function, s->counts ? RCX_OK : RCX_ERR_NOMEM, NULL);
    }
    s->next = job.sets;
    job.sets = s;
    return s;
}

static struct set *everybody(const char *function)
{
    return set_of(function, 0, 0, pshmem_n_pes());
}

static void meet_set(const char *function, const struct set *s)
{
    rcx_request_t *request = NULL;
    const rcx_status_t status = rcx_ibarrier(s->comm, &request);

    finish(function, s->comm, status, request);
}

/* ---- Start and end ------------------------------------------------------- */

static void meet(bool threaded)
{
    rcx_params_t params = {.field_mask = RCX_PARAM_THREADS,
                           .threads = threaded ? RCX_THREAD_MULTIPLE
                                               : RCX_THREAD_SERIALIZED};

    if (!job.context)
        check("shmem_init", rcx_init(&params, &job.context), NULL);
}

void shmem_init(void)
{
    pshmem_init();
    meet(false);
}

int shmem_init_thread(int requested, int *provided)
{
    const int status = pshmem_init_thread(requested, provided);

    meet(*provided == SHMEM_THREAD_MULTIPLE);
    return status;
}

void start_pes(int npes)
{
    pstart_pes(npes);
    meet(false);
}

/* Wait for all processes before RCX finalizes, which makes no progress of
 * OSHMEM's: until then another process may get data from this one. */
void shmem_finalize(void)
{
    struct set *s;

    pshmem_quiet();
    if (job.context)
        meet_set(__func__, everybody(__func__));
    while ((s = job.sets)) {
        job.sets = s->next;
        if (s->comm != rcx_world(job.context))
            rcx_comm_free(&s->comm);
        free(s->counts);
        free(s);
    }
    if (job.context)
        check(__func__, rcx_finalize(&job.context), NULL);
    pshmem_finalize();
}

/* ---- Barriers ------------------------------------------------------------ */

/* Whether RCX is not initialised. OSHMEM calls shmem_barrier_all() itself in
 * shmem_init() and shmem_finalize(), but never shmem_sync_all(). */
static bool is_early_or_late(void)
{
    return !job.context;
}

void shmem_barrier_all(void)
{
    if (is_early_or_late()) {
        pshmem_barrier_all();
        return;
    }
    pshmem_quiet();
    meet_set(__func__, everybody(__func__));
}

void shmem_sync_all(void)
{
    meet_set(__func__, everybody(__func__));
}

void shmem_barrier(int start, int log_stride, int size, long *sync)
{
    (void)sync;
    pshmem_quiet();
    meet_set(__func__, set_of(__func__, start, log_stride, size));
}

void shmem_sync(int start, int log_stride, int size, long *sync)
{
    static const char name[] = "shmem_sync";

    (void)sync;
    meet_set(name, set_of(name, start, log_stride, size));
}

/* ---- Data movement; names end with the bits of an element ---------------- */

/* Does not write target on root, as SHMEM prescribes. */
static void broadcast(const char *function, const struct set *s, void *target,
                      const void *source, size_t count, rcx_datatype_t type,
                      int root)
{
    void *buf =
        rcx_comm_rank(s->comm) == root ? (void *)(uintptr_t)source : target;
    rcx_request_t *request = NULL;
    const rcx_status_t status =
        rcx_ibcast(buf, count, type, root, s->comm, &request);

    finish(function, s->comm, status, request);
}

static void fcollect(const char *function, const struct set *s, void *target,
                     const void *source, size_t count, rcx_datatype_t type)
{
    rcx_request_t *request = NULL;
    const rcx_status_t status =
        rcx_iallgather(source, target, count, type, s->comm, &request);

    finish(function, s->comm, status, request);
}

/* Gathers the lengths first, as a process knows its own length only. */
static void collect(const char *function, const struct set *s, void *target,
                    const void *source, size_t count, rcx_datatype_t type)
{
    rcx_request_t *request = NULL;
    rcx_status_t status;

    fcollect(function, s, s->counts, &count, sizeof count, RCX_BYTE);
    status = rcx_iallgatherv(source, target, s->counts, NULL, type, s->comm,
                             &request);
    finish(function, s->comm, status, request);
}

static void alltoall(const char *function, const struct set *s, void *target,
                     const void *source, size_t count, rcx_datatype_t type)
{
    rcx_request_t *request = NULL;
    const rcx_status_t status =
        rcx_ialltoall(source, target, count, type, s->comm, &request);

    finish(function, s->comm, status, request);
}

/* Copy count elements of size bytes between vectors with strides, which are in
 * elements. */
static void spread(char *to, ptrdiff_t to_stride, const char *from,
                   ptrdiff_t from_stride, size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++)
        memcpy(to + (ptrdiff_t)(i * size) * to_stride,
               from + (ptrdiff_t)(i * size) * from_stride, size);
}

static void alltoalls(const char *function, const struct set *s, void *target,
                      const void *source, ptrdiff_t to_stride,
                      ptrdiff_t from_stride, size_t count, rcx_datatype_t type)
{
    const size_t all = count * (size_t)s->size;
    const size_t size = type == RCX_UINT32 ? 4 : 8;
    char *packed = malloc(2 * all * size + 1);

    check(function, packed ? RCX_OK : RCX_ERR_NOMEM, NULL);
    spread(packed, 1, source, from_stride, all, size);
    alltoall(function, s, packed + all * size, packed, count, type);
    spread(target, to_stride, packed + all * size, 1, all, size);
    free(packed);
}

#define SET set_of(__func__, start, log_stride, size)
#define MOVEMENTS(bits)                                                        \
    void shmem_broadcast##bits(void *target, const void *source, size_t count, \
                               int root, int start, int log_stride, int size,  \
                               long *sync)                                     \
    {                                                                          \
        (void)sync;                                                            \
        broadcast(__func__, SET, target, source, count, RCX_UINT##bits, root); \
    }                                                                          \
    void shmem_collect##bits(void *target, const void *source, size_t count,   \
                             int start, int log_stride, int size, long *sync)  \
    {                                                                          \
        (void)sync;                                                            \
        collect(__func__, SET, target, source, count, RCX_UINT##bits);         \
    }                                                                          \
    void shmem_fcollect##bits(void *target, const void *source, size_t count,  \
                              int start, int log_stride, int size, long *sync) \
    {                                                                          \
        (void)sync;                                                            \
        fcollect(__func__, SET, target, source, count, RCX_UINT##bits);        \
    }                                                                          \
    void shmem_alltoall##bits(void *target, const void *source, size_t count,  \
                              int start, int log_stride, int size, long *sync) \
    {                                                                          \
        (void)sync;                                                            \
        alltoall(__func__, SET, target, source, count, RCX_UINT##bits);        \
    }                                                                          \
    void shmem_alltoalls##bits(void *target, const void *source,               \
                               ptrdiff_t to_stride, ptrdiff_t from_stride,     \
                               size_t count, int start, int log_stride,        \
                               int size, long *sync)                           \
    {                                                                          \
        (void)sync;                                                            \
        alltoalls(__func__, SET, target, source, to_stride, from_stride,       \
                  count, RCX_UINT##bits);                                      \
    }

MOVEMENTS(32)
MOVEMENTS(64)

/* ---- Reductions ---------------------------------------------------------- */

static void reduce(const char *function, const struct set *s, void *target,
                   const void *source, int count, rcx_datatype_t type,
                   rcx_op_t op)
{
    rcx_request_t *request = NULL;
    const rcx_status_t status = rcx_iallreduce(source, target, (size_t)count,
                                               type, op, s->comm, &request);

    finish(function, s->comm, status, request);
}

#define REDUCTION(name, ctype, type, op_name, op)                              \
    void shmem_##name##_##op_name##_to_all(                                    \
        ctype *target, const ctype *source, int count, int start,              \
        int log_stride, int size, ctype *work, long *sync)                     \
    {                                                                          \
        (void)work, (void)sync;                                                \
        reduce(__func__, SET, target, source, count, type, op);                \
    }
#define SUMS(name, ctype, type)                                                \
    REDUCTION(name, ctype, type, sum, RCX_SUM)                                 \
    REDUCTION(name, ctype, type, prod, RCX_PROD)
#define REALS(name, ctype, type)                                               \
    SUMS(name, ctype, type)                                                    \
    REDUCTION(name, ctype, type, max, RCX_MAX)                                 \
    REDUCTION(name, ctype, type, min, RCX_MIN)
#define INTEGERS(name, ctype, type)                                            \
    REALS(name, ctype, type)                                                   \
    REDUCTION(name, ctype, type, and, RCX_BAND)                                \
    REDUCTION(name, ctype, type, or, RCX_BOR)                                  \
    REDUCTION(name, ctype, type, xor, RCX_BXOR)

INTEGERS(short, short, RCX_SHORT)
INTEGERS(int, int, RCX_INT)
INTEGERS(long, long, RCX_LONG)
INTEGERS(longlong, long long, RCX_LONG_LONG)
REALS(float, float, RCX_FLOAT)
REALS(double, double, RCX_DOUBLE)
REALS(longdouble, long double, RCX_LONG_DOUBLE)
SUMS(complexf, float _Complex, RCX_COMPLEX_FLOAT)
SUMS(complexd, double _Complex, RCX_COMPLEX_DOUBLE)
