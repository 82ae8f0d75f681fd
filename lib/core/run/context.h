/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts, communicators and requests from the inside. */
#ifndef RCX_CORE_CONTEXT_H
#define RCX_CORE_CONTEXT_H

#include "core/base/clock.h"
#include "core/base/guard.h"
#include "core/exec/exec.h"
#include "core/op/registry.h"
#include "core/run/bootstrap.h"
#include "core/run/call.h"
#include "core/run/check.h"
#include "core/run/config.h"
#include "core/run/recorder.h"
#include "core/sched/segment.h"

/* ---- A call, and what is prepared for it --------------------------------- */

/* How a collective is carried out. */
struct rcx_method {
    const struct rcx_algo *algo;
    int64_t params[RCX_PARAMS]; /* of algo; none is auto */
    size_t segment; /* elements; 0: one piece */
    unsigned window;
};

/* The plan that a row of segments shares, and its executions. */
struct rcx_piece {
    struct rcx_entry *entry;
    struct rcx_row row;
    uint64_t end; /* the first segment behind the row */
    struct rcx_piece *credited; /* the same with a credit for every message,
                                   for one-way calls; else NULL */
    size_t weight;              /* of a segment: how far it gets one ahead */
    struct rcx_plan *plan;
    struct rcx_exec *idle;
    size_t out_count;
    size_t scratch_bytes;
    bool owns_scratch; /* little: part of each execution, not pooled */
};

/* A call's shape compiled: kept in the communicator's plan cache. */
struct rcx_entry {
    struct rcx_call call;
    uint64_t hash;
    struct rcx_method method;
    struct rcx_combine combine;
    struct rcx_piece *pieces; /* one_way: credited ones behind the others */
    size_t piece_count;
    uint64_t segments;
    uint64_t weight; /* of all */
    struct rcx_record record; /* what the recorder is told of each run */
    bool one_way;  /* a rank may only send in it */
    bool has_rounds;  /* before or after it: */
    bool has_opening;
    bool has_closing;
    uint64_t tag;  /* communicator and fingerprint */
    uint32_t pins; /* requests that hold it */
    size_t bytes;
    struct rcx_entry *chain;          /* of its hash bucket */
    struct rcx_entry *newer, *older;  /* by last use */
    char text[128];                   /* the method, for people */
    size_t displs[];                  /* size + 1 where irregular */
};

/*
 * How far who only sends may get ahead of who receives, in bytes: what the
 * buffers of a socket take, since the last message must have left them for the
 * peer when the call returns. A segment weighs 1 KB at least.
 */
enum { RCX_AHEAD = 64 << 10 };

enum { RCX_PLAN_BUCKETS = 256 };

struct rcx_plan_cache {
    struct rcx_entry *buckets[RCX_PLAN_BUCKETS];
    struct rcx_entry *recent; /* by last use: newest */
    struct rcx_entry *oldest;
    size_t bytes;
    uint64_t hits, misses, evictions;
};

/* ---- Objects ------------------------------------------------------------- */

enum rcx_request_state {
    RCX_REQUEST_FREE,
    RCX_REQUEST_IDLE,
    RCX_REQUEST_ACTIVE
};

struct rcx_request {
    enum rcx_request_state state;
    bool persistent;
    rcx_status_t status;
    struct rcx_comm *comm;
    struct rcx_entry *entry;
    char *in, *out;
    uint64_t begin;     /* ticks */
    uint64_t record;    /* its number in the recorder */
    bool is_recorded;
    bool waits_inside;  /* blocking: nothing else happens before its end */
    int64_t timeout_ns; /* from there; 0: none */
    uint64_t sequence;  /* of its first segment */
    uint64_t ahead;     /* the weight of one-way segments before the next */
    uint64_t mark;      /* of the call's number, in tags */
    uint64_t launched;  /* stages: the opening, segments, the closing */
    uint64_t finished;
    uint64_t total;
    struct rcx_exec *slots[RCX_WINDOW_MAX]; /* segments in flight */
    bool has_rounds;           /* else neither of: */
    struct rcx_entry *opening; /* of the round in which ranks compare calls */
    struct rcx_entry *closing; /* of the round in which ranks agree */
    struct rcx_request *next;  /* of the communicator's active ones */
    struct rcx_request **link; /* what points here: next, or first */
    struct rcx_request *free_next;
    rcx_callback_fn_t callback; /* NULL: none */
    void *callback_arg;
    struct rcx_request *called_next;
};

struct rcx_comm {
    uint64_t magic;
    struct rcx_context *context;
    uint32_t id;
    int rank;
    int size;
    int *ranks;                /* the context's, of each; NULL: the same */
    int tag;                   /* of a group in the making */
    uint32_t group;            /* a hash of its members; 0: no such group */
    _Atomic bool starting;     /* MULTIPLE: a thread is in a collective call */
    struct rcx_comm *prev, *next; /* of the context, or among free slots */
    uint64_t live_requests;    /* of users */
    bool is_freed;             /* by the user; goes with the last of these */
    rcx_status_t failed;       /* not RCX_OK: broken for good */
    uint64_t sequence;         /* the next to give out */
    uint64_t mark;             /* of the last call, in tags */
    uint64_t mark_mask;        /* where marks are */
    uint64_t sequence_limit;   /* numbers below it are free to use */
    uint64_t ahead;            /* the weight of all one-way segments so far */
    struct rcx_request *first; /* active requests in the order of their start */
    struct rcx_request **end;  /* where the next one is linked */
    struct rcx_request *stalled; /* the first that waits for the window */
    bool unstalling;
    struct rcx_request *judged; /* its opening is under way; NULL: none's */
    _Atomic bool aborted;      /* by the user; failed follows */
    struct rcx_failure *why;   /* it failed, or refused a call; or NULL */
    int64_t timeout_ns;        /* of operations that start; 0: none */
    struct rcx_roll *roll;     /* while it is called, for one that is overdue */
    uint64_t next_probe_ns;
    uint64_t patience_ns;      /* of who waits without a deadline */
    uint64_t warned;           /* of the wait in the call of this number */
    struct rcx_recorder recorder;
    struct rcx_plan_cache cache;
};

enum {
    RCX_COMM_ID_INTERNAL = 0, /* of the barriers at both ends of life */
    RCX_COMM_ID_WORLD = 1,
    RCX_COMM_ID_GROUP = 2,    /* of groups that agree on an id */
    RCX_COMM_ID_SETTLE = 3,   /* of the same, in their second round */
    RCX_COMM_ID_FIRST = 4     /* of those that users make */
};

/* All groups in the making share these ids; their messages differ in the
 * sequence number, which is the caller's tag. */
static inline bool rcx_comm_is_for_groups(uint32_t id)
{
    return id == RCX_COMM_ID_GROUP || id == RCX_COMM_ID_SETTLE;
}

enum { RCX_SCRATCH_CLASSES = 64 };

struct rcx_scratch_block {
    struct rcx_scratch_block *next;
};

struct rcx_memory_block { /* in front of what rcx_mem_alloc() returned */
    struct rcx_memory_block *next;
    char padding[56]; /* keeps what follows aligned */
};

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
    bool broken;               /* a communicator has failed */
    bool parting;              /* whoever goes now may: see leave.c */
    _Atomic bool attention;    /* rcx_watch() has something to do */
    uint64_t next_watch_ns;
    uint64_t here_since_ns;    /* it looks after things without a long break */
    unsigned deaths;           /* of peers, that are dealt with */
    uint64_t skipped_ns;       /* tests take it to have passed */
    uint64_t ticks;            /* when a collective was last called */
    unsigned turns;            /* of progress, since the last watch */
    struct rcx_request *called; /* complete, their callbacks not made yet */
    struct rcx_request **called_end;
    bool calling;              /* somebody makes them */
    bool can_sleep;            /* what follows is there */
    int sleep_fd, timer_fd;
    bool is_armed;             /* a thread may sleep on sleep_fd */
    bool has_thread;
    pthread_t thread;
    _Atomic bool stops;        /* the thread shall */
    struct rcx_exec *abandoned; /* with messages under way */
    uint64_t abandoned_receives;
    struct rcx_boot *boot;
    struct rcx_transport *transport; /* NULL for a single process */
    size_t credit_bytes;       /* the least of any rank's transport */
    struct rcx_comm *world;
    struct rcx_comm *internal; /* for its own collectives */
    struct rcx_comm *comms;    /* all of them */
    struct rcx_comm *free_comms;
    unsigned char *used_ids;   /* a bit each */
    unsigned unsettled_ids;    /* of them */
    struct rcx_early_note *early_notes; /* of failures */
    uint64_t live_comms;       /* of users */
    unsigned spin;             /* empty polls before the core is yielded */
    unsigned polls;            /* of them in a row, before anything else */
    unsigned local_size;
    struct rcx_request *free_requests;
    struct rcx_request_slab *request_slabs;
    uint64_t live_requests;    /* of users */
    struct rcx_scratch_block *scratch[RCX_SCRATCH_CLASSES];
    struct rcx_memory_block *memory;
};

/* Where a context's bootstrap comes from. */
struct rcx_boot_source {
    rcx_status_t (*open)(const struct rcx_boot_args *args, void *arg,
                         struct rcx_boot **boot_p);
    void *arg;
    uint64_t heap_budget;         /* allocations that may succeed */
    struct rcx_tag_layout layout;
    struct rcx_transport *transport; /* NULL: the best that is compiled in */
};

/* rcx_init() is this with the table of bootstraps; tests come in here with one
 * of their own, a heap that runs out, or small tags. */
rcx_status_t rcx_context_create(const rcx_params_t *params,
                                const struct rcx_boot_source *source,
                                rcx_context_t **context_p);

/* Read the environment, then log, name and order of params. RCX_ERR_CONFIG is
 * not said yet: see rcx_config_tell(). */
rcx_status_t rcx_context_configure(const rcx_params_t *params,
                                   struct rcx_log *log,
                                   struct rcx_config *config);

/* Scratch of at least bytes from the context's pool. */
void *rcx_scratch_get(struct rcx_context *context, size_t bytes);
void rcx_scratch_put(struct rcx_context *context, void *ptr, size_t bytes);

/* ---- Communicators (comm.c) ----------------------------------------------- */

/* Takes over ranks, also on failure; id is taken, and goes with it. */
rcx_status_t rcx_comm_new(struct rcx_context *context, uint32_t id, int rank,
                          int size, int *ranks, struct rcx_comm **comm_p);
void rcx_comm_delete(struct rcx_comm *comm);
/* As far as it can be: of one that failed, UCX may have some memory, and nobody
 * is to use its messages' tags again. NULL is fine. */
void rcx_comm_retire(struct rcx_comm *comm);
rcx_status_t rcx_comm_ids_open(struct rcx_context *context);
void rcx_comm_slots_free(struct rcx_context *context); /* and ids */
static inline size_t rcx_comm_ids_bytes(const struct rcx_context *context)
{
    return ((size_t)1 << context->layout.comm_bits) / 8 + 1;
}
/* The n-th id, from 0 and round and round, that is not marked in used; 0: there
 * is none. */
uint32_t rcx_comm_id_free_in(const struct rcx_context *context,
                             const unsigned char *used, uint64_t n);
/* Mark one as used. False: it is already. */
bool rcx_comm_id_take(struct rcx_context *context, uint32_t id);
void rcx_comm_id_drop(struct rcx_context *context, uint32_t id);
/* The context's rank of comm's. */
static inline int rcx_comm_context_rank(const struct rcx_comm *comm, int rank)
{
    return comm->ranks ? comm->ranks[rank] : rank;
}
/* New ones for the user, of what all members, or those of a group, agree on;
 * comm_make.c. */
rcx_status_t rcx_comm_make_split(struct rcx_comm *comm, int color, int key,
                                 struct rcx_comm **new_p);
rcx_status_t rcx_comm_make_group(struct rcx_comm *comm, int n,
                                 const int ranks[], int tag,
                                 struct rcx_comm **new_p);
/* One blocking operation of RCX's own. */
rcx_status_t rcx_comm_run(struct rcx_comm *comm, const struct rcx_call *call,
                          const void *in, void *out);
#define RCX_COMM_MAGIC UINT64_C(0x5243585f434f4d4d) /* "RCX_COMM" */

static inline bool rcx_comm_is_valid(const struct rcx_comm *comm)
{
    return comm && comm->magic == RCX_COMM_MAGIC;
}

/* ---- Entering ------------------------------------------------------------- */

/* Every public function that touches more than constants of a context stands
 * between these two. */
static inline rcx_status_t rcx_enter(struct rcx_context *context)
{
    return context->threads == RCX_THREAD_SINGLE
               ? rcx_guard_enter_alone(context->guard, &context->log)
               : rcx_guard_enter(context->guard, &context->log);
}

/* Give the guard away, and take it again. False: in a forked child. */
static inline void rcx_step_out(struct rcx_context *context)
{
    rcx_guard_leave(context->guard);
}
static inline bool rcx_step_in(struct rcx_context *context)
{
    return rcx_guard_return(context->guard);
}

/* Leave, with callbacks of requests that are complete; no one is made inside. */
void rcx_leave_with_callbacks(struct rcx_context *context);

static inline void rcx_leave(struct rcx_context *context)
{
    if (__builtin_expect(context->called != NULL, 0))
        rcx_leave_with_callbacks(context);
    else
        rcx_step_out(context);
}

/* See all that has come while this process was elsewhere. */
void rcx_context_catch_up(struct rcx_context *context);

/* MULTIPLE: the one thread that may start a collective. */
rcx_status_t rcx_comm_claim(struct rcx_comm *comm);
static inline void rcx_comm_unclaim(struct rcx_comm *comm)
{
    atomic_store_explicit(&comm->starting, false, memory_order_release);
}

enum { RCX_LONG_AWAY_TICKS = 1 << 28 /* about 0.1 s */ };

/*
 * A collective call began at ticks. Who has not been here for long may have
 * missed that a communicator failed, and that its peers have left: that is seen
 * to first.
 */
static inline void rcx_note_call(struct rcx_context *context, uint64_t ticks)
{
    const int64_t away = (int64_t)(ticks - context->ticks);

    if (__builtin_expect(away > RCX_LONG_AWAY_TICKS, 0))
        rcx_context_catch_up(context);
    context->ticks = ticks;
}

/* As rcx_enter(), for collective calls: one at a time on a communicator. */
static inline rcx_status_t rcx_comm_enter(struct rcx_comm *comm)
{
    struct rcx_context *context = comm->context;
    const uint64_t now = rcx_ticks();
    rcx_status_t status = RCX_OK;

    if (context->threads == RCX_THREAD_MULTIPLE)
        status = rcx_comm_claim(comm);
    if (status != RCX_OK)
        return status;
    status = rcx_enter(context);
    if (status != RCX_OK) {
        rcx_comm_unclaim(comm);
        return status;
    }
    rcx_note_call(context, now);
    return RCX_OK;
}

static inline void rcx_comm_leave(struct rcx_comm *comm)
{
    if (comm->context->threads == RCX_THREAD_MULTIPLE)
        rcx_comm_unclaim(comm);
    rcx_leave(comm->context);
}

/* ---- Plan cache (plan_cache.c) -------------------------------------------- */

/*
 * The entry of a call: found, or compiled. Pinned: it stays until
 * rcx_entry_unpin(). Errors are logged; nothing has been sent then.
 */
rcx_status_t rcx_entry_get(struct rcx_comm *comm, const struct rcx_call *call,
                           struct rcx_entry **entry_p);
/* The newest entry once more, whose call is known to be the one wanted. */
static inline struct rcx_entry *rcx_entry_repeat(struct rcx_comm *comm)
{
    comm->cache.hits++;
    comm->cache.recent->pins++;
    return comm->cache.recent;
}
void rcx_plan_cache_shrink(struct rcx_comm *comm);
static inline void rcx_entry_unpin(struct rcx_comm *comm,
                                   struct rcx_entry *entry)
{
    entry->pins--;
    if (__builtin_expect(comm->cache.bytes >
                         comm->context->config.plan_cache_bytes, 0))
        rcx_plan_cache_shrink(comm);
}
int64_t rcx_entry_counts_hash(const struct rcx_entry *entry, int size);
void rcx_plan_cache_clear(struct rcx_comm *comm);
/* Give up what was compiled for a user's type or op that is freed; 0: none. */
void rcx_plan_cache_forget(struct rcx_comm *comm, rcx_datatype_t type,
                           rcx_op_t op);

/* An execution of piece, with scratch; NULL when memory ran out. */
struct rcx_exec *rcx_exec_find(struct rcx_comm *comm, struct rcx_piece *piece);
static inline struct rcx_exec *rcx_exec_get(struct rcx_comm *comm,
                                            struct rcx_piece *piece)
{
    struct rcx_exec *x = piece->idle;

    if (__builtin_expect(!x || !piece->owns_scratch, 0))
        return rcx_exec_find(comm, piece);
    piece->idle = x->next;
    return x;
}
static inline void rcx_exec_give_back(struct rcx_piece *piece,
                                      struct rcx_exec *x)
{
    x->next = piece->idle;
    piece->idle = x;
}
static inline void rcx_exec_put(struct rcx_comm *comm, struct rcx_exec *x)
{
    struct rcx_piece *piece = x->home;

    if (!piece->owns_scratch)
        rcx_scratch_put(comm->context, x->base[RCX_BUFFER_TMP],
                        piece->scratch_bytes);
    rcx_exec_give_back(piece, x);
}

/* ---- Selection (select.c) -------------------------------------------------- */

/* The lowest order level that is good enough for an op. */
rcx_order_t rcx_order_needed(const struct rcx_config *config, bool commutative,
                             bool exact);
/* Errors are logged. Looks only at what all ranks agree on; what users force is
 * not for internal operations. */
rcx_status_t rcx_method_select(const struct rcx_context *context,
                               const struct rcx_shape *shape,
                               const struct rcx_combine *combine,
                               bool internal, struct rcx_method *method_p);

/* ---- Requests (request.c) --------------------------------------------------- */

/* Takes over the caller's pin of entry, also on failure. */
rcx_status_t rcx_request_new(struct rcx_comm *comm, struct rcx_entry *entry,
                             const void *in, void *out,
                             struct rcx_request **request_p);
void rcx_request_delete(struct rcx_request *request);
/* A whole operation; takes over the pin, too. */
rcx_status_t rcx_request_run(struct rcx_comm *comm, struct rcx_entry *entry,
                             const void *in, void *out);
/* Start it; complete at once or by rcx_context_progress(). */
void rcx_request_launch(struct rcx_request *request);
rcx_status_t rcx_request_wait(struct rcx_request *request);
/* Progress the transport and all requests, and watch now and then; events
 * handled. */
int rcx_context_progress(struct rcx_context *context);
/* rcx_context_progress() without watching. */
int rcx_context_poll(struct rcx_context *context);
/* How many of its slots have been used. */
static inline unsigned rcx_request_slots(const struct rcx_request *r)
{
    return r->launched < RCX_WINDOW_MAX ? (unsigned)r->launched
                                        : RCX_WINDOW_MAX;
}
/* A request whose executions are gone ends with the status that it has. */
void rcx_request_finish(struct rcx_request *r);
/* An execution of it is complete: go on with what follows. */
void rcx_request_advance(struct rcx_request *r, struct rcx_exec *x);
/* Have its callback made when the guard is left next; or never. */
void rcx_request_call_back(struct rcx_request *r);
void rcx_callback_forget(struct rcx_request *r);
/* Ranks that it has messages with under way; how many, at most most. */
int rcx_request_peers(const struct rcx_request *r, int peers[], int most);
void rcx_request_slabs_free(struct rcx_context *context);

/* ---- Watching (watch.c) ------------------------------------------------------ */

/* Look after notes, aborts, deadlines and calls that do not match; from the top
 * of a call, where no message's completion is being handled. */
void rcx_watch(struct rcx_context *context);
/* Have the next rcx_watch() look for failures; from any thread. */
void rcx_attract(struct rcx_context *context);
/* Wake a thread of this process that sleeps in RCX; from any thread. */
static inline void rcx_wake(struct rcx_context *context)
{
    if (context->can_sleep && context->transport)
        context->transport->ops->wake(context->transport);
}
/* With the guard held: something began that whoever sleeps knows nothing of. */
static inline void rcx_wake_sleeper(struct rcx_context *context)
{
    if (__builtin_expect(context->is_armed, 0)) {
        context->is_armed = false;
        rcx_wake(context);
    }
}
/* From any thread; the next one is for who is inside. */
static inline bool rcx_is_alarmed(const struct rcx_context *context)
{
    return atomic_load_explicit(&context->attention, memory_order_relaxed);
}
static inline bool rcx_is_attracted(const struct rcx_context *context)
{
    const struct rcx_transport *t = context->transport;

    return rcx_is_alarmed(context) ||
           (t && (t->notes || t->deaths != context->deaths));
}
void rcx_roll_free(struct rcx_comm *comm);

/* A barrier of RCX's own over comm. */
rcx_status_t rcx_comm_barrier(struct rcx_comm *comm);

#endif
