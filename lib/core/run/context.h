/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts from the inside. */
#ifndef RCX_CORE_RUN_CONTEXT_H
#define RCX_CORE_RUN_CONTEXT_H

#include "core/base/clock.h"
#include "core/base/guard.h"
#include "core/exec/exec.h"
#include "core/op/registry.h"
#include "core/run/bootstrap.h"
#include "core/run/config.h"
#include "core/run/memory.h"
#include "core/run/scratch.h"

struct rcx_request_slab;

struct rcx_context {
    struct rcx_heap heap;
    struct rcx_log log;
    struct rcx_config config;
    struct rcx_registry registry;
    struct rcx_tag_layout layout;
    struct rcx_guard *guard;
    rcx_thread_mode_t threads;
    struct rcx_builder builder;
    struct rcx_instant born;
    bool broken;            /* a communicator has failed */
    bool parting;           /* whoever goes now may: see leave.c */
    _Atomic bool attention; /* rcx_watch() has something to do */
    uint64_t next_watch_ns;
    uint64_t here_since_ns;     /* it looks after things without a long break */
    unsigned deaths;            /* of peers, that are dealt with */
    uint64_t skipped_ns;        /* tests take it to have passed */
    uint64_t ticks;             /* when a collective was last called */
    unsigned turns;             /* of progress, since the last watch */
    struct rcx_request *called; /* complete, their callbacks not made yet */
    struct rcx_request **called_end;
    bool calling;   /* somebody makes them */
    bool can_sleep; /* what follows is there */
    int sleep_fd, timer_fd;
    bool is_armed; /* a thread may sleep on sleep_fd */
    bool has_thread;
    pthread_t thread;
    _Atomic bool stops;         /* the thread shall */
    struct rcx_exec *abandoned; /* with messages under way */
    uint64_t abandoned_receives;
    struct rcx_boot *boot;
    struct rcx_transport *transport; /* NULL for a single process */
    size_t credit_bytes;             /* the least of any rank's transport */
    struct rcx_comm *world;
    struct rcx_comm *internal; /* for its own collectives */
    struct rcx_comm *comms;    /* all of them */
    struct rcx_comm *free_comms;
    unsigned char *used_ids;            /* a bit each */
    unsigned unsettled_ids;             /* of them */
    struct rcx_early_note *early_notes; /* of failures */
    uint64_t live_comms;                /* of users */
    unsigned spin;  /* empty polls before the core is yielded */
    unsigned polls; /* of them in a row, before anything else */
    struct rcx_request *free_requests;
    struct rcx_request_slab *request_slabs;
    uint64_t live_requests; /* of users */
    struct rcx_memory memory;
    struct rcx_scratch scratch;
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
