/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bootstrap for several ranks in one process, for tests: blobs are in shared
 * memory under a mutex, and the barrier is a counter. It starts no threads.
 */
#include "inproc.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

struct blob {
    struct blob *older; /* published earlier by the same rank */
    size_t bytes;
    unsigned char data[];
};

struct slot {
    bool taken;
    struct blob *blob;
};

struct inproc {
    struct rcx_heap *heap;
    pthread_mutex_t mutex; /* protects slots, arrived and heap */
    int size;
    int arrived;
    atomic_uint generation; /* number of the current barrier */
    struct slot slots[];
};

struct inproc_boot {
    struct rcx_boot base;
    struct inproc *job;
    struct rcx_heap *heap;
    struct rcx_log *log;
};

static const struct rcx_boot_ops inproc_ops;

struct inproc *inproc_create(struct rcx_heap *heap, int size)
{
    struct inproc *job = rcx_heap_zalloc(
        heap, sizeof *job + (size_t)size * sizeof job->slots[0]);

    if (!job)
        return NULL;
    job->heap = heap;
    job->size = size;
    pthread_mutex_init(&job->mutex, NULL);
    atomic_init(&job->generation, 0);
    return job;
}

void inproc_destroy(struct inproc *job)
{
    if (!job)
        return;
    for (int i = 0; i < job->size; i++) {
        struct blob *blob = job->slots[i].blob;

        while (blob) {
            struct blob *older = blob->older;

            rcx_heap_free(job->heap, blob);
            blob = older;
        }
    }
    pthread_mutex_destroy(&job->mutex);
    rcx_heap_free(job->heap, job);
}

static bool take_slot(struct inproc *job, int rank)
{
    bool taken;

    pthread_mutex_lock(&job->mutex);
    taken = job->slots[rank].taken;
    job->slots[rank].taken = true;
    pthread_mutex_unlock(&job->mutex);
    return !taken;
}

rcx_status_t inproc_open(struct inproc *job, int rank,
                         const struct rcx_boot_args *args,
                         struct rcx_boot **boot_p)
{
    struct inproc_boot *boot;

    if (rank < 0 || rank >= job->size)
        return rcx_fail(args->log, RCX_ERR_ARG, "rank is %d, valid is 0 to %d",
                        rank, job->size - 1);
    boot = rcx_heap_zalloc(args->heap, sizeof *boot);
    if (!boot)
        return rcx_fail(args->log, RCX_ERR_NOMEM, "no memory for %zu bytes",
                        sizeof *boot);
    if (!take_slot(job, rank)) {
        rcx_heap_free(args->heap, boot);
        return rcx_fail(args->log, RCX_ERR_ARG,
                        "rank %d of this in-process job is open already", rank);
    }
    boot->base = (struct rcx_boot){.ops = &inproc_ops,
                                   .rank = rank,
                                   .size = job->size,
                                   .local_size = job->size,
                                   .one_process = true};
    boot->job = job;
    boot->heap = args->heap;
    boot->log = args->log;
    *boot_p = &boot->base;
    return RCX_OK;
}

/* All ranks are in this process, so the record of each rank equals this one. */
static rcx_status_t local_exchange(struct rcx_boot *base, const void *record,
                                   size_t bytes, rcx_local_fn_t see, void *arg)
{
    (void)bytes;
    for (int i = 0; i < base->size; i++)
        see(i, record, arg);
    return RCX_OK;
}

static rcx_status_t publish(struct rcx_boot *base, const void *data,
                            size_t bytes)
{
    struct inproc_boot *boot = (struct inproc_boot *)base;
    struct inproc *job = boot->job;
    struct slot *slot = &job->slots[base->rank];
    struct blob *blob;

    pthread_mutex_lock(&job->mutex);
    blob = rcx_heap_alloc(job->heap, sizeof *blob + bytes);
    if (blob) {
        blob->older = slot->blob;
        blob->bytes = bytes;
        memcpy(blob->data, data, bytes);
        slot->blob = blob;
    }
    pthread_mutex_unlock(&job->mutex);
    if (!blob)
        return rcx_fail(boot->log, RCX_ERR_NOMEM, "no memory for %zu bytes",
                        sizeof *blob + bytes);
    return RCX_OK;
}

static rcx_status_t lookup(struct rcx_boot *base, int rank, const void **blob_p,
                           size_t *bytes_p)
{
    struct inproc_boot *boot = (struct inproc_boot *)base;
    const struct blob *blob = NULL;

    if (rank >= 0 && rank < base->size) {
        pthread_mutex_lock(&boot->job->mutex);
        blob = boot->job->slots[rank].blob;
        pthread_mutex_unlock(&boot->job->mutex);
    }
    if (!blob)
        return rcx_fail(boot->log, RCX_ERR_LAUNCH,
                        "rank %d of this in-process job has not published yet",
                        rank);
    *blob_p = blob->data;
    *bytes_p = blob->bytes;
    return RCX_OK;
}

/* Leave the barrier before its end. RCX_OK: all ranks have arrived
 * meanwhile. */
static rcx_status_t turn_back(struct inproc *job, unsigned generation)
{
    bool waits;

    pthread_mutex_lock(&job->mutex);
    waits = atomic_load(&job->generation) == generation;
    job->arrived -= waits;
    pthread_mutex_unlock(&job->mutex);
    return waits ? RCX_IN_PROGRESS : RCX_OK;
}

static rcx_status_t barrier(struct rcx_boot *base, bool (*go_on)(void *arg),
                            void *arg)
{
    struct inproc *job = ((struct inproc_boot *)base)->job;
    unsigned mine;

    pthread_mutex_lock(&job->mutex);
    mine = atomic_load(&job->generation);
    if (++job->arrived == job->size) {
        job->arrived = 0;
        atomic_store(&job->generation, mine + 1);
    }
    pthread_mutex_unlock(&job->mutex);
    while (atomic_load(&job->generation) == mine) {
        if (go_on && !go_on(arg))
            return turn_back(job, mine);
        sched_yield();
    }
    return RCX_OK;
}

static void close_boot(struct rcx_boot *base)
{
    struct inproc_boot *boot = (struct inproc_boot *)base;

    pthread_mutex_lock(&boot->job->mutex);
    boot->job->slots[base->rank].taken = false;
    pthread_mutex_unlock(&boot->job->mutex);
    rcx_heap_free(boot->heap, boot);
}

/* All ranks are in this process and end with it, so nothing is done. */
static rcx_status_t end_job(struct rcx_boot *base, int code, const char *text)
{
    (void)base;
    (void)code;
    (void)text;
    return RCX_OK;
}

static void describe(void (*line)(const char *name, const char *value,
                                  void *arg),
                     void *arg)
{
    line("used", "by tests, for several ranks in one process", arg);
}

static const struct rcx_boot_ops inproc_ops = {
    .name = "inproc",
    .open = NULL, /* tests call inproc_open() */
    .local_exchange = local_exchange,
    .publish = publish,
    .lookup = lookup,
    .barrier = barrier,
    .end_job = end_job,
    .close = close_boot,
    .describe = describe,
};
