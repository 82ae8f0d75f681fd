/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bootstraps: how processes that start without knowledge of each other find
 * each other. Each rank publishes one blob; peers look it up. Implementations
 * are in lib/bootstrap.
 */
#ifndef RCX_CORE_IFACE_BOOTSTRAP_H
#define RCX_CORE_IFACE_BOOTSTRAP_H

#include <stdbool.h>

#include "core/base/hash.h"
#include "core/base/heap.h"
#include "core/base/host.h"
#include "core/base/log.h"
#include "core/base/start_wait.h"

struct rcx_boot {
    const struct rcx_boot_ops *ops;
    int rank;
    int size;
    /* By the launcher's map: */
    int local_size; /* ranks on this node, this one included; 0: not known */
    const int *local_ranks; /* local_size of them; NULL: not known */
    bool one_process;       /* all ranks are in this process */
};

struct rcx_boot_args {
    const rcx_params_t *params; /* may be NULL */
    bool allow_singleton;       /* RCX_ALLOW_SINGLETON */
    /* Of open and publish together; 0: none. A host bounds its own waits. */
    int64_t timeout_ns;
    /* Of all waits of open, publish and the exchanges; NULL: none warns. It
     * exists as long as the bootstrap. */
    struct rcx_start_wait *wait;
    struct rcx_heap *heap;
    struct rcx_log *log;
};

/* Called with the record of rank; NULL if it has not arrived in time. */
typedef void (*rcx_local_fn_t)(int rank, const void *record, void *arg);

struct rcx_boot_ops {
    const char *name;

    /*
     * Join the job. RCX_ERR_UNSUPPORTED, not logged: not for these arguments;
     * try the next bootstrap of the table. Other errors are final and logged.
     */
    rcx_status_t (*open)(const struct rcx_boot_args *args,
                         struct rcx_boot **boot_p);

    /*
     * Exchange a record with the ranks of this node; bytes is the same on all
     * ranks. fn is called for every rank of the node, this one included. If
     * nodes are not known, for every rank of the job or, with
     * RCX_ERR_UNSUPPORTED, not logged, for this one only. Collective. Called at
     * most once, before publish.
     */
    rcx_status_t (*local_exchange)(struct rcx_boot *boot, const void *record,
                                   size_t bytes, rcx_local_fn_t see, void *arg);

    /*
     * Exchange a record with all ranks; bytes is the same on all. see is called
     * for every rank, this one included. Collective. Called at most once, after
     * local_exchange and before publish; not called if all ranks are on one
     * node. NULL: ranks are always on one node.
     */
    rcx_status_t (*exchange)(struct rcx_boot *boot, const void *record,
                             size_t bytes, rcx_local_fn_t see, void *arg);

    /* Make blob visible to all ranks. Collective. Called once. */
    rcx_status_t (*publish)(struct rcx_boot *boot, const void *blob,
                            size_t bytes);

    /* What rank has published, after publish. Valid until close. */
    rcx_status_t (*lookup)(struct rcx_boot *boot, int rank, const void **blob_p,
                           size_t *bytes_p);

    /*
     * Send blob of the lowest of local_ranks, which are known, to the others;
     * bytes is the same on all. They receive it, or NULL if it does not come in
     * time. Collective on the node. Called at most once, after publish. NULL:
     * not needed, as each rank can look up everything at no cost.
     */
    rcx_status_t (*local_bcast)(struct rcx_boot *boot, const void *blob,
                                size_t bytes, rcx_local_fn_t see, void *arg);

    /*
     * RCX_OK once all ranks have called it. Calls go_on(arg) while it waits, to
     * make progress; a host's barrier that blocks does not. If go_on() returns
     * false it stops waiting and returns RCX_IN_PROGRESS. go_on may be NULL.
     */
    rcx_status_t (*barrier)(struct rcx_boot *boot, bool (*go_on)(void *arg),
                            void *arg);

    /*
     * End the processes of all ranks, whatever they do. RCX_OK: that is
     * arranged, and this process may end. Errors are logged, except
     * RCX_ERR_UNSUPPORTED. From any thread, concurrently with any other call.
     */
    rcx_status_t (*end_job)(struct rcx_boot *boot, int code, const char *text);

    /* Leave the job, locally, and free boot. */
    void (*close)(struct rcx_boot *boot);

    /* Print what this bootstrap finds out about its launcher, one fact a line,
     * for rcx_info. Needs no open boot. */
    void (*describe)(void (*line)(const char *name, const char *value,
                                  void *arg),
                     void *arg);
};

/* rcx_get_id(), whose errors are logged. */
rcx_status_t rcx_boot_make_id(const char *address, const struct rcx_log *log,
                              rcx_id_t *id_p);

/* Whether all ranks are on this node by the launcher's map. */
static inline bool rcx_boot_is_one_node(const struct rcx_boot *boot)
{
    return boot->local_size == boot->size;
}

/* The lowest rank of this node by the launcher's map; this rank if it is not
 * known. */
static inline int rcx_boot_lowest(const struct rcx_boot *boot)
{
    int lowest = boot->rank;

    for (int i = 0; boot->local_ranks && i < boot->local_size; i++)
        if (boot->local_ranks[i] < lowest)
            lowest = boot->local_ranks[i];
    return lowest;
}

/*
 * The node of this rank: equal for ranks on one kernel, in one IPC namespace,
 * and on one node of the launcher's map, if there is one. All of RCX tells
 * nodes apart by it. Host names are for texts only.
 */
static inline uint64_t rcx_boot_node(const struct rcx_boot *boot)
{
    const uint64_t node = rcx_host_node();

    return boot->local_ranks ? rcx_hash(node, (uint64_t)rcx_boot_lowest(boot))
                             : node;
}

/* The bootstraps that are compiled in, in the order of trial, ended by NULL. */
extern const struct rcx_boot_ops *const rcx_boot_table[];

#endif
