/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bootstrap without a launcher: by an id, or by RCX_ROOT. Ranks exchange
 * their data over a tree of TCP connections. It stays open, without traffic,
 * until the barrier of rcx_finalize().
 */
#include "bootstrap/bootstraps.h"
#include "bootstrap/parts.h"
#include "bootstrap/socket_host.h"
#include "bootstrap/socket_join.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "core/base/clock.h"
#include "core/base/host.h"

/* Where the blob of a rank is. */
struct blob {
    const void *data;
    size_t bytes;
};

struct socket_boot {
    struct rcx_boot base;
    struct rcx_heap *heap;
    struct rcx_log *log;
    struct rcx_socket_job job;
    struct rcx_socket_tree tree;
    int *local_ranks;
    unsigned char *packed; /* the blobs of all */
    struct blob *blobs;    /* by rank */
};

static rcx_status_t no_memory(const struct socket_boot *boot)
{
    return rcx_fail(boot->log, RCX_ERR_NOMEM,
                    "no memory to start a job of %d ranks", boot->base.size);
}

/* ---- Exchange ------------------------------------------------------------ */

/* Gather the data of all ranks. The result is freed by the caller, as
 * *packed_p; table points into it. */
static rcx_status_t gather(struct socket_boot *boot, const void *data,
                           size_t bytes, unsigned char **packed_p,
                           struct blob *table)
{
    const struct rcx_blob_part part = {
        .rank = boot->base.rank, .bytes = bytes, .data = data};
    const size_t part_bytes = rcx_parts_bytes(&part, 1);
    unsigned char *packed = rcx_heap_alloc(boot->heap, part_bytes);
    struct rcx_blob_part next;
    size_t all_bytes, at = 0;
    rcx_status_t status;
    int n = 0;

    if (!packed)
        return rcx_socket_tree_fail(&boot->tree, RCX_ERR_NOMEM,
                                    "rank %d has no memory for %zu bytes",
                                    boot->base.rank, part_bytes);
    rcx_parts_pack(&part, 1, packed);
    status = rcx_socket_tree_step(&boot->tree, packed, part_bytes, true, NULL,
                                  packed_p, &all_bytes);
    rcx_heap_free(boot->heap, packed);
    if (status != RCX_OK)
        return status;
    memset(table, 0, (size_t)boot->base.size * sizeof *table);
    while (rcx_parts_next(*packed_p, all_bytes, &at, &next)) {
        if (next.rank < 0 || next.rank >= boot->base.size ||
            table[next.rank].data)
            break;
        table[next.rank] = (struct blob){next.data, next.bytes};
        n++;
    }
    if (n == boot->base.size && at == all_bytes)
        return RCX_OK;
    return rcx_socket_tree_fail(&boot->tree, RCX_ERR_LAUNCH,
                                "rank %d has the data of %d ranks instead of "
                                "%d",
                                boot->base.rank, n, boot->base.size);
}

/* Find the ranks of this node. nodes has rcx_host_node() of each rank. */
static rcx_status_t map_node(struct socket_boot *boot,
                             const struct blob nodes[], uint64_t own)
{
    const int size = boot->base.size;
    int n = 0;

    boot->local_ranks =
        rcx_heap_alloc(boot->heap, (size_t)size * sizeof *boot->local_ranks);
    if (!boot->local_ranks)
        return no_memory(boot);
    for (int i = 0; i < size; i++)
        if (nodes[i].bytes == sizeof own &&
            memcmp(nodes[i].data, &own, sizeof own) == 0)
            boot->local_ranks[n++] = i;
    boot->base.local_ranks = boot->local_ranks;
    boot->base.local_size = n;
    return RCX_OK;
}

/* The first step: returns when all ranks have come. */
static rcx_status_t meet(struct socket_boot *boot)
{
    unsigned char *packed = NULL;
    struct blob *nodes =
        rcx_heap_alloc(boot->heap, (size_t)boot->base.size * sizeof *nodes);
    const uint64_t own = rcx_host_node();
    rcx_status_t status;

    if (!nodes)
        return rcx_socket_tree_fail(&boot->tree, RCX_ERR_NOMEM,
                                    "rank %d has no memory to start",
                                    boot->base.rank);
    status = gather(boot, &own, sizeof own, &packed, nodes);
    if (status == RCX_OK)
        status = map_node(boot, nodes, own);
    rcx_heap_free(boot->heap, packed);
    rcx_heap_free(boot->heap, nodes);
    return status;
}

/* Exchange records with all ranks, and pass those of n ranks to see(); ranks
 * NULL: of all. */
static rcx_status_t exchange_records(struct socket_boot *boot,
                                     const void *record, size_t bytes,
                                     const int ranks[], int n,
                                     rcx_local_fn_t see, void *arg)
{
    unsigned char *packed = NULL;
    struct blob *records =
        rcx_heap_alloc(boot->heap, (size_t)boot->base.size * sizeof *records);
    rcx_status_t status;

    if (!records)
        return no_memory(boot);
    status = gather(boot, record, bytes, &packed, records);
    for (int i = 0; i < n && status == RCX_OK; i++) {
        const int rank = ranks ? ranks[i] : i;

        see(rank, records[rank].bytes == bytes ? records[rank].data : NULL,
            arg);
    }
    rcx_heap_free(boot->heap, packed);
    rcx_heap_free(boot->heap, records);
    return status;
}

static rcx_status_t local_exchange(struct rcx_boot *base, const void *record,
                                   size_t bytes, rcx_local_fn_t see, void *arg)
{
    return exchange_records((struct socket_boot *)base, record, bytes,
                            base->local_ranks, base->local_size, see, arg);
}

static rcx_status_t exchange(struct rcx_boot *base, const void *record,
                             size_t bytes, rcx_local_fn_t see, void *arg)
{
    return exchange_records((struct socket_boot *)base, record, bytes, NULL,
                            base->size, see, arg);
}

static rcx_status_t publish(struct rcx_boot *base, const void *blob,
                            size_t bytes)
{
    struct socket_boot *boot = (struct socket_boot *)base;

    assert(!boot->blobs);
    boot->blobs =
        rcx_heap_alloc(boot->heap, (size_t)base->size * sizeof *boot->blobs);
    return boot->blobs ? gather(boot, blob, bytes, &boot->packed, boot->blobs)
                       : no_memory(boot);
}

static rcx_status_t lookup(struct rcx_boot *base, int rank, const void **blob_p,
                           size_t *bytes_p)
{
    const struct socket_boot *boot = (const struct socket_boot *)base;

    assert(rank >= 0 && rank < base->size && boot->blobs);
    *blob_p = boot->blobs[rank].data;
    *bytes_p = boot->blobs[rank].bytes;
    return RCX_OK;
}

static rcx_status_t barrier(struct rcx_boot *base, bool (*go_on)(void *arg),
                            void *arg)
{
    struct socket_boot *boot = (struct socket_boot *)base;
    const struct rcx_socket_work work = {.go_on = go_on, .arg = arg};
    unsigned char *nothing = NULL;
    size_t bytes;

    return rcx_socket_tree_step(&boot->tree, NULL, 0, false, &work, &nothing,
                                &bytes);
}

/* ---- Life ---------------------------------------------------------------- */

static void close_boot(struct rcx_boot *base)
{
    struct socket_boot *boot = (struct socket_boot *)base;
    struct rcx_heap *heap = boot->heap;

    rcx_socket_unhost(&boot->tree, &boot->job);
    rcx_socket_tree_close(&boot->tree);
    rcx_heap_free(heap, boot->packed);
    rcx_heap_free(heap, boot->blobs);
    rcx_heap_free(heap, boot->local_ranks);
    rcx_heap_free(heap, boot);
}

/* Close the listener of an id that this process made, and that is not used. */
static void close_unused(const struct rcx_socket_job *job)
{
    if (job->rank == 0)
        rcx_socket_listener_close(rcx_socket_own_listener(&job->root));
}

/* All ranks have come. A process that connects from now on belongs to another
 * job, and must not find this one. */
static void stop_hosting(void *arg)
{
    struct socket_boot *boot = arg;

    rcx_socket_unhost(&boot->tree, &boot->job);
}

static rcx_status_t build_tree(struct socket_boot *boot,
                               const struct rcx_boot_args *args)
{
    struct rcx_socket_tree *t = &boot->tree;

    rcx_socket_tree_init(t, boot->heap, boot->log, boot->base.rank,
                         boot->base.size);
    t->timeout_ns = args->timeout_ns;
    t->until_ns =
        t->timeout_ns > 0 ? rcx_now_ns() + (uint64_t)t->timeout_ns : UINT64_MAX;
    t->wait = args->wait;
    t->job = &boot->job;
    t->all_are_here = stop_hosting;
    t->arg = boot;
    t->n_arrived = 1;
    if (boot->base.size == 1)
        close_unused(&boot->job);
    t->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (t->epoll < 0)
        return rcx_fail(boot->log, RCX_ERR_LAUNCH, "epoll_create1: %s",
                        strerror(errno));
    if (boot->base.rank != 0)
        return rcx_socket_join(t, &boot->job);
    rcx_socket_tree_place(t, 0);
    return boot->base.size == 1 ? RCX_OK : rcx_socket_host(t, &boot->job);
}

static rcx_status_t open_boot(const struct rcx_boot_args *args,
                              struct rcx_boot **boot_p)
{
    struct rcx_socket_job job;
    rcx_status_t status = rcx_socket_job_find(args, &job);
    struct socket_boot *boot;

    if (status != RCX_OK)
        return status;
    args->log->rank = job.rank; /* all ranks may log the same line */
    boot = rcx_heap_zalloc(args->heap, sizeof *boot);
    if (!boot) {
        close_unused(&job);
        return rcx_fail(args->log, RCX_ERR_NOMEM, "no memory for %zu bytes",
                        sizeof *boot);
    }
    boot->base = (struct rcx_boot){
        .ops = &rcx_boot_socket, .rank = job.rank, .size = job.size};
    boot->heap = args->heap;
    boot->log = args->log;
    boot->job = job;
    status = build_tree(boot, args);
    if (status == RCX_OK)
        status = meet(boot);
    rcx_socket_server_close(&boot->tree.server, boot->heap);
    if (status == RCX_OK) {
        *boot_p = &boot->base;
        return RCX_OK;
    }
    close_unused(&job);
    close_boot(&boot->base);
    return status;
}

/* Notify the ranks that start or finalize. A rank that computes does not read
 * its connections; its launcher or its own deadline ends it. */
static rcx_status_t end_job(struct rcx_boot *base, int code, const char *text)
{
    const struct socket_boot *boot = (const struct socket_boot *)base;
    char line[RCX_SOCKET_TEXT];

    snprintf(line, sizeof line, "rank %d ended the job with code %d%s%.150s",
             base->rank, code, *text ? ": " : "", text);
    rcx_socket_tree_notify(&boot->tree, RCX_ERR_PEER_FAILED, line);
    return base->size == 1 ? RCX_OK : RCX_ERR_UNSUPPORTED;
}

const struct rcx_boot_ops rcx_boot_socket = {
    .name = "socket",
    .open = open_boot,
    .local_exchange = local_exchange,
    .exchange = exchange,
    .publish = publish,
    .lookup = lookup,
    .barrier = barrier,
    .end_job = end_job,
    .close = close_boot,
    .describe = rcx_socket_job_describe,
};
