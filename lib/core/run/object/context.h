/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts from the inside. */
#ifndef RCX_CORE_RUN_OBJECT_CONTEXT_H
#define RCX_CORE_RUN_OBJECT_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/base/gpu.h"
#include "core/base/guard.h"
#include "core/exec/exec.h"
#include "core/iface/bootstrap.h"
#include "core/op/registry.h"
#include "core/run/mem/memory.h"
#include "core/run/mem/scratch.h"
#include "core/run/object/attempts.h"
#include "core/run/object/attention.h"
#include "core/run/object/cid_set.h"
#include "core/run/object/config.h"
#include "core/run/object/time.h"

struct rcx_request;
struct rcx_request_slab;
struct rcx_ctrl_early;
struct rcx_veclist;

/* ---- wait/progress.c ---- */

struct rcx_progress {
    uint64_t ticks; /* when a collective was last called, or progress made */
    uint64_t last_full; /* when it was last last_full around between calls */
    unsigned polls_since_tick; /* since the last detector */
    unsigned polls;            /* in a row, before anything else */
    unsigned spin;             /* empty polls before the core is yielded */
    bool
        is_oversubscribed; /* cores with other ranks, and may choose how to wait */
    bool core_exclusive; /* but nobody takes this one when it is given away: */
    unsigned yields;     /* so far */
    unsigned long_yield; /* of these the last that took long */
    long switches;       /* of the thread, some yields ago */
    uint64_t contended_until; /* ticks: who computes has this core till then */
    unsigned
        contention_level; /* yields in a row that took long, but the first */
};

/* ---- detect/detector.c ---- */

struct rcx_detector {
    struct rcx_attention
        attention;             /* of a communicator that failed, or shall */
    unsigned failed_count;     /* of peers, that are dealt with */
    uint64_t next_ns;          /* when the time is last_full at again */
    struct rcx_comm *failed;   /* the last that did; not attended to yet */
    uint64_t present_since_ns; /* it looks after things without a long break */
    uint64_t stall_ns;         /* the longest break lately, and when it ended */
    uint64_t stall_end_ns;
};

/* ---- request/callback.c ---- */

struct rcx_callbacks {
    struct rcx_request *first; /* complete, not called back yet */
    struct rcx_request **end;
    bool are_made; /* by some thread, now */
};

/* ---- wait/sleep.c ---- */

struct rcx_sleeper {
    bool is_wanted; /* somebody may sleep: what follows is opened */
    bool is_armed;  /* a thread may sleep on fd */
    int fd, timer_fd;
    struct rcx_transport *transport; /* that wakes; NULL: nothing does */
};

/* ---- wait/thread.c ---- */

struct rcx_thread {
    bool runs;
    pthread_t id;
    _Atomic bool stops; /* it shall */
};

/* ---- object/comm.c ---- */

struct rcx_comms {
    struct rcx_comm *first; /* all of them */
    struct rcx_comm *busy;  /* those in use lately, which are watched */
    struct rcx_comm *free;  /* slots of those that are gone */
    uint64_t live;          /* of users */
    struct rcx_comm_ids ids;
    struct rcx_attempts attempts; /* to make groups, that failed */
};

/* ---- request/request_pool.c ---- */

struct rcx_requests {
    struct rcx_request *free;
    struct rcx_request_slab *slabs;
    uint64_t live; /* of users */
};

/* ---- request/orphan.c ---- */

struct rcx_orphans {
    struct rcx_exec *first; /* with messages under way */
    uint64_t receives;      /* among these */
};

/* ---- detect/ctrl_dispatch.c ---- */

enum {
    RCX_PEER_FINALIZES = 1,   /* it has said that it finalizes */
    RCX_PEER_ACKNOWLEDGED = 2 /* it knows that this one does */
};

struct rcx_ctrl {
    struct rcx_ctrl_early *early; /* failures, told too early */
    unsigned char *known;         /* by rank: some of these; or NULL */
};

/* What is known of a rank of the context. */
static inline unsigned rcx_ctrl_known(const struct rcx_ctrl *ctrl, int rank)
{
    return ctrl->known ? ctrl->known[rank] : 0;
}

/* ---- request/veclist.c ---- */

struct rcx_veclists {
    struct rcx_veclist *kept; /* UCX may have something of them yet */
};

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
    struct rcx_detector detector;
    struct rcx_callbacks callbacks;
    struct rcx_sleeper sleeper;
    struct rcx_thread thread;
    struct rcx_comm *world;
    struct rcx_comm *internal; /* for its own collectives */
    struct rcx_comms comms;
    struct rcx_requests requests;
    struct rcx_orphans orphans;
    struct rcx_ctrl ctrl;
    bool broken;         /* a communicator of the user's has failed */
    bool in_final_phase; /* whoever goes now may: see finalize.c */
    struct rcx_time time;
    uint64_t started_ns[RCX_STARTS]; /* when each was over */
    struct rcx_boot *boot;
    struct rcx_nodes *nodes; /* NULL: all ranks are on one, or nobody knows */
    /* Then, where each is bound to a core, and not all have one to themselves;
     * else NULL. */
    struct rcx_nodes *by_core;
    size_t ack_bytes; /* the least of any rank's transport; likewise */
    int cores; /* that all its ranks may use; 0: they are on several machines */
    bool
        oversubscribes_cores; /* this machine has more of its ranks than cores */
    bool is_split;            /* the machine's ranks are on several nodes */
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
    struct rcx_veclists veclists;
};

#endif
