/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How processes that do not know each other yet find each other. Each rank
 * publishes one blob; peers look it up. Implementations: lib/bootstrap.
 */
#ifndef RCX_CORE_IFACE_BOOTSTRAP_H
#define RCX_CORE_IFACE_BOOTSTRAP_H

#include <stdbool.h>

#include "core/base/heap.h"
#include "core/base/log.h"

struct rcx_boot {
    const struct rcx_boot_ops *ops;
    int rank;
    int size;
    int local_size; /* ranks on this node, this one included; 0: not known */
    const int *local_ranks; /* local_size of them; NULL: not known */
    bool one_process;       /* all ranks are in this process */
};

struct rcx_boot_args {
    const rcx_params_t *params; /* may be NULL */
    bool allow_singleton;       /* RCX_ALLOW_SINGLETON */
    int64_t timeout_ns;         /* of open and publish, together; 0: none. Where
                                   RCX does not wait itself, the host bounds it */
    struct rcx_heap *heap;
    struct rcx_log *log;
};

/* Look at the card of rank; card is NULL where it showed none in time. */
typedef void (*rcx_local_fn_t)(int rank, const void *card, void *arg);

struct rcx_boot_ops {
    const char *name;

    /*
     * Join the job. RCX_ERR_UNSUPPORTED, unlogged: not for these arguments, ask
     * the next bootstrap of the table. Other errors are final and logged.
     */
    rcx_status_t (*open)(const struct rcx_boot_args *args,
                         struct rcx_boot **boot_p);

    /*
     * Show a card to the ranks of this node, and see theirs; bytes is the same
     * on all ranks. see is called for every rank of the node, the own one
     * included; where nodes are not known, for every rank of the job or, with
     * RCX_ERR_UNSUPPORTED, unlogged, for the own one alone. Collective; called
     * once at most, before publish.
     */
    rcx_status_t (*local_exchange)(struct rcx_boot *boot, const void *card,
                                   size_t bytes, rcx_local_fn_t see, void *arg);

    /* Make blob visible to all ranks. Collective; called once. */
    rcx_status_t (*publish)(struct rcx_boot *boot, const void *blob,
                            size_t bytes);

    /* What rank published; valid until close. After publish only. */
    rcx_status_t (*lookup)(struct rcx_boot *boot, int rank, const void **blob_p,
                           size_t *bytes_p);

    /*
     * NULL where each rank looks up what it wants at no cost. Else: show blob
     * of the lowest of local_ranks, which are known, to the others of them;
     * bytes is the same on all. They see it, or NULL where it does not come in
     * time. Collective on the node; called once at most, after publish.
     */
    rcx_status_t (*local_bcast)(struct rcx_boot *boot, const void *blob,
                                size_t bytes, rcx_local_fn_t see, void *arg);

    /*
     * RCX_OK once all ranks called it. While it waits it calls go_on(arg),
     * which makes progress, but for a host's that blocks; where that returns
     * false, it waits not for the others, and returns RCX_IN_PROGRESS. go_on is
     * NULL: nothing.
     */
    rcx_status_t (*barrier)(struct rcx_boot *boot, bool (*go_on)(void *arg),
                            void *arg);

    /*
     * Have all ranks' processes ended, whatever they and this one do. RCX_OK:
     * that is seen to, and this one may go. An error is logged, but for
     * RCX_ERR_UNSUPPORTED. From any thread, beside any other call.
     */
    rcx_status_t (*end_job)(struct rcx_boot *boot, int code, const char *text);

    /* Leave the job (local) and free boot. */
    void (*close)(struct rcx_boot *boot);

    /* What this bootstrap sees of its launcher, a line a fact; for rcx_info.
     * Needs no open boot. */
    void (*describe)(void (*line)(const char *name, const char *value,
                                  void *arg),
                     void *arg);
};

/* Whether all ranks are known to be on this node. */
static inline bool rcx_boot_is_one_node(const struct rcx_boot *boot)
{
    return boot->local_size == boot->size;
}

/* Of the ranks of this node; the own one where they are not known. */
static inline int rcx_boot_lowest(const struct rcx_boot *boot)
{
    int lowest = boot->rank;

    for (int i = 0; boot->local_ranks && i < boot->local_size; i++)
        if (boot->local_ranks[i] < lowest)
            lowest = boot->local_ranks[i];
    return lowest;
}

/* The bootstraps compiled in, in the order of trial, ended by NULL. */
extern const struct rcx_boot_ops *const rcx_boot_table[];

#endif
