/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a context. Each part belongs to the module named above it. */
#ifndef RCX_CORE_RUN_OBJECT_CONTEXT_H
#define RCX_CORE_RUN_OBJECT_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

#include "core/base/gpu.h"
#include "core/base/guard.h"
#include "core/base/places.h"
#include "core/base/start_wait.h"
#include "core/base/status_page.h"
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

struct rcx_observer;
struct rcx_peer;
struct rcx_request;
struct rcx_request_slab;
struct rcx_ctrl_early;
struct rcx_veclist;

/* ---- wait/progress.c ----------------------------------------------------- */

struct rcx_progress {
    uint64_t ticks;     /* time of the last collective call or progress */
    uint64_t last_full; /* time of the last full progress between calls */
    unsigned polls_since_tick; /* since the last housekeeping */
    unsigned polls;            /* empty polls in a row before anything else */
    unsigned spin;             /* empty polls before the core is released */
    unsigned idle_polls;       /* in a row, of calls that have returned before
                               what they look for, since the core was last
                               released */
    bool is_oversubscribed;    /* ranks outnumber cores, and it may choose how
                               to wait */
    bool core_exclusive;       /* no other task uses this core: */
    unsigned yields;           /* so far */
    unsigned long_yield;       /* number of the last long one */
    long switches; /* context switches of the thread, some yields ago */
    uint64_t contended_until;  /* ticks: another task computes on this core
                                 until then */
    unsigned contention_level; /* long yields in a row */
};

/* ---- detect/detector.c --------------------------------------------------- */

struct rcx_detector {
    struct rcx_attention
        attention;           /* raised for a failed or suspected communicator */
    unsigned failed_count;   /* of the transport, as far as handled */
    uint64_t next_ns;        /* time of the next periodic check */
    struct rcx_comm *failed; /* the last one that failed; not handled yet */
    uint64_t present_since_ns; /* start of the time that it polls without a
                                  long break */
    uint64_t stall_ns;         /* longest recent break, and when it ended */
    uint64_t stall_end_ns;
};

/* ---- request/callback.c -------------------------------------------------- */

struct rcx_callbacks {
    struct rcx_request *first; /* completed, callback not run yet */
    struct rcx_request **end;
    bool are_made; /* by a thread, now */
};

/* ---- wait/sleep.c -------------------------------------------------------- */

struct rcx_sleeper {
    bool is_wanted; /* a thread may sleep: the descriptors are opened */
    bool is_armed;  /* a thread may sleep on fd */
    int fd, timer_fd;
    int host_fd, told_fd; /* of rcx_get_fd(): reads fd, and the event told_fd */
    uintptr_t host;       /* the thread that called rcx_arm(); 0: was told */
    struct rcx_transport *transport; /* that wakes; NULL: nothing does */
};

/* This thread may have taken an event that the thread of the host's event loop
 * sleeps for: make its descriptor readable. Called with the guard held. */
static inline void rcx_sleeper_tell(struct rcx_sleeper *s)
{
    if (s->host != rcx_this_thread()) {
        s->host = 0;
        eventfd_write(s->told_fd, 1);
    }
}

/* ---- wait/thread.c ------------------------------------------------------- */

struct rcx_thread {
    bool runs;
    pthread_t id;
    _Atomic bool stops; /* it shall end */
};

/* ---- object/comm.c ------------------------------------------------------- */

struct rcx_comms {
    struct rcx_comm *first; /* all */
    struct rcx_comm *busy;  /* recently used ones, which the detector checks */
    struct rcx_comm *free;  /* slots of freed ones */
    uint64_t live;          /* of users */
    uint64_t kept;          /* freed by the user, but not closed */
    struct rcx_comm_ids ids;
    struct rcx_attempts attempts; /* failed attempts to make groups */
};

/* ---- request/request_pool.c ---------------------------------------------- */

struct rcx_requests {
    struct rcx_request *free;
    struct rcx_request_slab *slabs;
    uint64_t live; /* of users */
};

/* ---- request/orphan.c ---------------------------------------------------- */

struct rcx_orphans {
    struct rcx_exec *first; /* with messages in flight */
    uint64_t receives;      /* of these messages */
};

/* ---- detect/ctrl_dispatch.c ---------------------------------------------- */

struct rcx_ctrl {
    struct rcx_ctrl_early
        *early;     /* failures of communicators that are not made yet */
    int unanswered; /* number of peers that await a reply */
};

/* ---- request/veclist.c --------------------------------------------------- */

struct rcx_veclists {
    struct rcx_veclist *kept; /* UCX may still use them */
};

/* Phases of a start: waiting for the launcher; opening UCX; exchanging
 * addresses and settings. */
enum rcx_start {
    RCX_START_LAUNCHER,
    RCX_START_NETWORK,
    RCX_START_PEERS,
    RCX_STARTS
};

/* The state of all modules. */
struct rcx_context {
    /* first what short operations use */
    struct rcx_guard *guard;
    struct rcx_transport *transport; /* NULL: not open */
    rcx_thread_mode_t threads;
    uint64_t
        evictions; /* of programs; with one, no call is a repeat any more */
    struct rcx_progress progress;
    struct rcx_detector detector;
    struct rcx_callbacks callbacks;
    struct rcx_sleeper sleeper;
    struct rcx_thread thread;
    struct rcx_comm *world;
    struct rcx_comm *internal; /* for RCX's own collectives */
    struct rcx_comms comms;
    struct rcx_requests requests;
    struct rcx_orphans orphans;
    struct rcx_ctrl ctrl;
    struct rcx_peer *peers; /* by rank; NULL: all are OK */
    uint64_t peer_changes;  /* of their states */
    _Atomic bool
        is_told_of_peers; /* by rcx_peer_failed(), since the last look */
    _Atomic bool *told;   /* by rank: so it is; not looked at yet */
    bool broken;          /* a communicator of the user has failed */
    bool has_shrunk; /* this rank goes on in a communicator of the living */
    bool is_told;    /* the user has got an error of a failed communicator */
    bool in_final_phase; /* peers that exit have not failed; see finalize.c */
    struct rcx_status_writer status; /* for rcx_top */
    struct rcx_time time;
    uint64_t started_ns[RCX_STARTS]; /* end of each phase */
    struct rcx_start_wait start_wait;
    struct rcx_boot *boot;
    struct rcx_place place;  /* of this process */
    struct rcx_nodes *nodes; /* finest map of the ranks; NULL: nothing is known
                                that divides them */
    size_t ack_bytes;        /* minimum over all ranks; the same for ahead */
    int cores; /* that the ranks may use together; 0: several machines */
    bool oversubscribes_cores; /* ranks of this machine outnumber its cores */
    bool is_split;             /* this machine's ranks are on several nodes */
    uint64_t job;              /* number of the job, for rcx_top */
    size_t ahead;
    struct rcx_tag_layout layout;
    struct rcx_heap heap;
    struct rcx_log log;
    struct rcx_config config;
    struct rcx_machine machine; /* that of config, with the network and figures
                                   as they were measured: they differ between
                                   runs */
    struct rcx_registry registry;
    struct rcx_builder builder;
    struct rcx_gpu gpu;
    struct rcx_memory memory;
    struct rcx_scratch scratch;
    struct rcx_veclists veclists;
    void *pair, *marks; /* buffers of measurements of network and clocks that
                           failed: a message may still arrive in them */
    struct rcx_observer *observer; /* NULL: none */
};

/* ---- How long a rank was absent, and how long others wait ---------------- */

#define RCX_STALL_LONG_NS UINT64_C(1000000000)
#define RCX_STALL_RECENT_NS UINT64_C(60000000000)

/* Record how long this rank has not polled; to be called when it polls. */
static inline void rcx_detector_note_stall(struct rcx_detector *w, uint64_t ns)
{
    const uint64_t took = ns > w->next_ns ? ns - w->next_ns : 0;

    if (took > RCX_STALL_LONG_NS)
        w->present_since_ns = ns;
    if (w->next_ns > 0 &&
        (took > w->stall_ns || ns - w->stall_end_ns > RCX_STALL_RECENT_NS)) {
        w->stall_ns = took;
        w->stall_end_ns = ns;
    }
}

/* How long members have to answer, when an operation with this deadline is
 * overdue: half of the deadline, at least 20 ms, at most 0.5 s. */
static inline uint64_t rcx_answer_ns(int64_t timeout_ns)
{
    const uint64_t least = 20000000, most = 500000000;
    const uint64_t half = (uint64_t)timeout_ns / 2;

    return timeout_ns == 0 || half > most ? most : half < least ? least : half;
}

#endif
