/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts from the inside. */
#ifndef RCX_CORE_RUN_CONTEXT_H
#define RCX_CORE_RUN_CONTEXT_H

#include "core/base/gpu.h"
#include "core/base/guard.h"
#include "core/exec/exec.h"
#include "core/op/registry.h"
#include "core/run/abandon.h"
#include "core/iface/bootstrap.h"
#include "core/run/bundle.h"
#include "core/run/callback.h"
#include "core/run/comm_table.h"
#include "core/run/config.h"
#include "core/run/hear.h"
#include "core/run/memory.h"
#include "core/run/progress.h"
#include "core/run/request_pool.h"
#include "core/run/scratch.h"
#include "core/run/sleep.h"
#include "core/run/thread.h"
#include "core/run/time.h"
#include "core/run/watch.h"

/* Parts of a start: until the launcher answers; UCX; until all have published
 * where they are, and what each of them says. */
enum rcx_start {
    RCX_START_LAUNCHER,
    RCX_START_NETWORK,
    RCX_START_PEERS,
    RCX_STARTS
};

/* Each module has its part of it, which its header declares. */
struct rcx_context {
    /* what a short operation touches lies together */
    struct rcx_guard *guard;
    struct rcx_transport *transport; /* NULL while it is not open */
    rcx_thread_mode_t threads;
    struct rcx_progress progress;
    struct rcx_watch watch;
    struct rcx_callbacks callbacks;
    struct rcx_sleeper sleeper;
    struct rcx_thread thread;
    struct rcx_comm *world;
    struct rcx_comm *internal; /* for its own collectives */
    struct rcx_comms comms;
    struct rcx_requests requests;
    struct rcx_abandoned abandoned;
    struct rcx_notes notes;
    bool broken;  /* a communicator of the user's has failed */
    bool parting; /* whoever goes now may: see leave.c */
    struct rcx_time time;
    uint64_t started_ns[RCX_STARTS]; /* when each was over */
    struct rcx_boot *boot;
    struct rcx_nodes *nodes; /* NULL: all ranks are on one, or nobody knows */
    /* Then, where each is bound to a core, and not all have one to themselves;
     * else NULL. */
    struct rcx_nodes *by_core;
    size_t credit_bytes; /* the least of any rank's transport; likewise */
    int cores; /* that all its ranks may use; 0: they are on several machines */
    bool shares_cores; /* this machine has more of its ranks than cores */
    bool is_split;     /* the machine's ranks are on several nodes */
    size_t ahead;
    struct rcx_tag_layout layout;
    struct rcx_heap heap;
    struct rcx_log log;
    struct rcx_config config;
    struct rcx_registry registry;
    struct rcx_builder builder;
    struct rcx_gpu gpu;
    struct rcx_memory memory;
    struct rcx_scratch scratch;
    struct rcx_bundles bundles;
};

/* Where a context's bootstrap comes from. */
struct rcx_boot_source {
    rcx_status_t (*open)(const struct rcx_boot_args *args, void *arg,
                         struct rcx_boot **boot_p);
    void *arg;
    uint64_t heap_budget; /* allocations that may succeed */
    struct rcx_tag_layout layout;
    struct rcx_transport *transport; /* NULL: the best that is compiled in */
};

/* rcx_init() is this with the table of bootstraps; tests come in here with one
 * of their own, a heap that runs out, or small tags. */
rcx_status_t rcx_context_create(const rcx_params_t *params,
                                const struct rcx_boot_source *source,
                                rcx_context_t **context_p);

/* Free it, with all that it has. */
void rcx_context_drop(struct rcx_context *context);

/* Read the environment, then log, name and order of params. RCX_ERR_CONFIG is
 * not said yet: see rcx_config_tell(). */
rcx_status_t rcx_context_configure(const rcx_params_t *params,
                                   struct rcx_log *log,
                                   struct rcx_config *config);

#endif
