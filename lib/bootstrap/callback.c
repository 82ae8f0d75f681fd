/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bootstrap of a host: an allgather and a barrier over all ranks, as
 * callbacks. Blobs differ in length, but an allgather has one length. So
 * lengths are gathered first, and then the blobs, padded to the longest one.
 */
#include "bootstrap/bootstraps.h"

#include <assert.h>
#include <sched.h>
#include <string.h>

struct callback {
    struct rcx_boot base;
    struct rcx_heap *heap;
    struct rcx_log *log;
    rcx_bootstrap_t host;
    int (*end_job)(int code, const char *text, void *arg); /* NULL: not given */
    uint64_t *lengths;    /* length of each rank's blob */
    unsigned char *blobs; /* blob of each rank, slot_bytes apart */
    size_t slot_bytes;
};

static rcx_status_t no_memory(const struct rcx_log *log, size_t bytes)
{
    return rcx_fail(log, RCX_ERR_NOMEM, "rcx_init: no memory for %zu bytes",
                    bytes);
}

static rcx_status_t check(const struct rcx_log *log,
                          const rcx_bootstrap_t *host)
{
    if (host->size < 1)
        return rcx_fail(log, RCX_ERR_ARG,
                        "bootstrap.size is %d, valid is 1 or more", host->size);
    if (host->rank < 0 || host->rank >= host->size)
        return rcx_fail(log, RCX_ERR_ARG,
                        "bootstrap.rank is %d, valid is 0 to %d", host->rank,
                        host->size - 1);
    if (!host->allgather)
        return rcx_fail(log, RCX_ERR_ARG,
                        "bootstrap.allgather is NULL, valid is a function");
    return RCX_OK;
}

static rcx_status_t open_boot(const struct rcx_boot_args *args,
                              struct rcx_boot **boot_p)
{
    const rcx_params_t *params = args->params;
    struct callback *callback;
    rcx_status_t status;

    if (!params || !(params->field_mask & RCX_PARAM_BOOTSTRAP))
        return RCX_ERR_UNSUPPORTED;
    status = check(args->log, &params->bootstrap);
    if (status != RCX_OK)
        return status;
    callback = rcx_heap_zalloc(args->heap, sizeof *callback);
    if (!callback)
        return no_memory(args->log, sizeof *callback);
    callback->base = (struct rcx_boot){.ops = &rcx_boot_callback,
                                       .rank = params->bootstrap.rank,
                                       .size = params->bootstrap.size};
    callback->heap = args->heap;
    callback->log = args->log;
    callback->host = params->bootstrap;
    if (params->field_mask & RCX_PARAM_ABORT)
        callback->end_job = params->bootstrap_abort;
    *boot_p = &callback->base;
    return RCX_OK;
}

static rcx_status_t allgather(const struct callback *callback, const void *send,
                              void *recv, size_t bytes)
{
    const rcx_bootstrap_t *host = &callback->host;
    const int result = host->allgather(send, recv, bytes, host->arg);

    if (result != 0)
        return rcx_fail(callback->log, RCX_ERR_LAUNCH,
                        "bootstrap.allgather of %zu bytes returned %d, 0 means "
                        "success",
                        bytes, result);
    /* detects a wrong rank, or a wrong order, of the host */
    if (memcmp((const char *)recv + (size_t)host->rank * bytes, send, bytes))
        return rcx_fail(callback->log, RCX_ERR_LAUNCH,
                        "bootstrap.allgather did not store what rank %d sent "
                        "at recv[%d * bytes]",
                        host->rank, host->rank);
    return RCX_OK;
}

/* The ranks of this node are not known, so this is also the exchange with the
 * ranks of the node. */
static rcx_status_t exchange(struct rcx_boot *boot, const void *record,
                             size_t bytes, rcx_local_fn_t see, void *arg)
{
    const struct callback *callback = (const struct callback *)boot;
    const size_t all = (size_t)boot->size * bytes;
    char *records = rcx_heap_zalloc(callback->heap, all);
    rcx_status_t status;

    if (!records)
        return no_memory(callback->log, all);
    status = allgather(callback, record, records, bytes);
    for (int i = 0; i < boot->size && status == RCX_OK; i++)
        see(i, records + (size_t)i * bytes, arg);
    rcx_heap_free(callback->heap, records);
    return status;
}

/* Gather all lengths, and set slot_bytes to the longest. */
static rcx_status_t exchange_lengths(struct callback *callback, size_t bytes)
{
    const size_t size = (size_t)callback->base.size;
    const uint64_t length = bytes;
    uint64_t longest = 0;
    rcx_status_t status;

    callback->lengths =
        rcx_heap_zalloc(callback->heap, size * sizeof *callback->lengths);
    if (!callback->lengths)
        return no_memory(callback->log, size * sizeof *callback->lengths);
    status = allgather(callback, &length, callback->lengths, sizeof length);
    if (status != RCX_OK)
        return status;
    for (size_t i = 0; i < size; i++) {
        if (callback->lengths[i] > longest)
            longest = callback->lengths[i];
    }
    if (longest > SIZE_MAX / 2 / (size + 1))
        return rcx_fail(callback->log, RCX_ERR_LAUNCH,
                        "bootstrap.allgather stored %llu bytes as the length "
                        "of a rank's address, more than memory can hold",
                        (unsigned long long)longest);
    callback->slot_bytes = (size_t)longest;
    return RCX_OK;
}

static rcx_status_t exchange_blobs(struct callback *callback, const void *blob,
                                   size_t bytes)
{
    const size_t size = (size_t)callback->base.size;
    const size_t slot = callback->slot_bytes;
    unsigned char *padded;

    /* the last slot contains this rank's padded blob */
    callback->blobs = rcx_heap_zalloc(callback->heap, (size + 1) * slot);
    if (!callback->blobs)
        return no_memory(callback->log, (size + 1) * slot);
    if (slot == 0)
        return RCX_OK;
    padded = callback->blobs + size * slot;
    memcpy(padded, blob, bytes);
    return allgather(callback, padded, callback->blobs, slot);
}

static rcx_status_t publish(struct rcx_boot *boot, const void *blob,
                            size_t bytes)
{
    struct callback *callback = (struct callback *)boot;
    const rcx_status_t status = exchange_lengths(callback, bytes);

    return status == RCX_OK ? exchange_blobs(callback, blob, bytes) : status;
}

static rcx_status_t lookup(struct rcx_boot *boot, int rank, const void **blob_p,
                           size_t *bytes_p)
{
    const struct callback *callback = (const struct callback *)boot;

    assert(rank >= 0 && rank < boot->size && callback->blobs);
    *blob_p = callback->blobs + (size_t)rank * callback->slot_bytes;
    *bytes_p = (size_t)callback->lengths[rank];
    return RCX_OK;
}

/* A barrier of the host that blocks is called once; there is no progress
 * meanwhile. */
static rcx_status_t barrier(struct rcx_boot *boot, bool (*go_on)(void *arg),
                            void *arg)
{
    const struct callback *callback = (const struct callback *)boot;
    const rcx_bootstrap_t *host = &callback->host;
    int result;

    if (!host->barrier)
        return RCX_OK;
    while ((result = host->barrier(host->arg)) == RCX_IN_PROGRESS) {
        if (go_on && !go_on(arg))
            return RCX_IN_PROGRESS;
        sched_yield();
    }
    if (result != 0)
        return rcx_fail(callback->log, RCX_ERR_LAUNCH,
                        "bootstrap.barrier returned %d, 0 means success",
                        result);
    return RCX_OK;
}

static rcx_status_t end_job(struct rcx_boot *boot, int code, const char *text)
{
    const struct callback *callback = (const struct callback *)boot;
    int result;

    if (!callback->end_job)
        return RCX_ERR_UNSUPPORTED;
    result = callback->end_job(code, text, callback->host.arg);
    if (result != 0)
        return rcx_fail(callback->log, RCX_ERR_LAUNCH,
                        "bootstrap_abort returned %d, 0 means success", result);
    return RCX_OK;
}

static void close_boot(struct rcx_boot *boot)
{
    struct callback *callback = (struct callback *)boot;
    struct rcx_heap *heap = callback->heap;

    rcx_heap_free(heap, callback->blobs);
    rcx_heap_free(heap, callback->lengths);
    rcx_heap_free(heap, callback);
}

static void describe(void (*line)(const char *name, const char *value,
                                  void *arg),
                     void *arg)
{
    line("used", "if rcx_params_t.bootstrap is given", arg);
}

const struct rcx_boot_ops rcx_boot_callback = {
    .name = "callback",
    .open = open_boot,
    .local_exchange = exchange,
    .exchange = exchange,
    .publish = publish,
    .lookup = lookup,
    .barrier = barrier,
    .end_job = end_job,
    .close = close_boot,
    .describe = describe,
};
