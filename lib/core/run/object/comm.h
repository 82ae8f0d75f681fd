/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators: who they are made of, and what is under way on them. */
#ifndef RCX_CORE_RUN_OBJECT_COMM_H
#define RCX_CORE_RUN_OBJECT_COMM_H

#include "core/run/object/context.h"
#include "core/run/object/program.h"

/* ---- request/seq_window.c ---- */

struct rcx_seq_window {
    uint64_t next;  /* the number to give out next */
    uint64_t limit; /* numbers below it are free to use */
    uint64_t mark;  /* of the last call, in tags */
    uint64_t mark_mask;
    uint64_t sequence_mask; /* of numbers, in tags; and where they are */
    unsigned sequence_shift;
    uint64_t ahead;              /* weight of all one-way segments so far */
    struct rcx_request *stalled; /* the first that waits for a number */
    struct rcx_request *gate;    /* its opening is under way; NULL: none's */
    bool unstalling;
};

/* ---- request/p2p.c ---- */

/* A communicator's. */
struct rcx_p2p_queue {
    struct rcx_recorder recorder;
    struct rcx_p2p *idle;
    uint64_t warned; /* of the wait for the message of this number */
    struct rcx_request **end;
    struct rcx_request *first; /* active ones in the order of their start */
};

enum { RCX_RANKS_LISTED = 8, RCX_REASON_TEXT = 224 };

/* What rcx_comm_error() tells. */
struct rcx_failure {
    char text[RCX_REASON_TEXT];
    int reported_by; /* the context's rank; -1: this rank found it out */
    int rank_count;
    int ranks[]; /* of the communicator; room for all of them */
};

/* The numbers that an operation's segments had, and when it was under way. */
struct rcx_ended {
    uint64_t first, next; /* next: not its own */
    uint64_t begin, end;  /* ticks */
};

struct rcx_comm {
    uint64_t magic;
    struct rcx_context *context;
    uint32_t id;
    int rank;
    int size;
    int *ranks;       /* the context's, of each; NULL: the same */
    int tag;          /* of a group in the making */
    uint32_t group;   /* a hash of its members; 0: no such group */
    uint32_t attempt; /* so many earlier ones of these members have failed */
    struct rcx_comm *parent; /* what it is made from, while it is being made */
    _Atomic bool starting;   /* MULTIPLE: a thread is in a collective call */
    struct rcx_comm *prev, *next; /* of the context, or among free slots */
    uint64_t live_requests;       /* of users */
    bool is_freed;                /* by the user; goes with the last of these */
    struct rcx_p2p_queue
        p2p;             /* what is looked at often lies together from here */
    rcx_status_t failed; /* not RCX_OK: broken for good */
    rcx_status_t
        suspected; /* not RCX_OK: what it fails with if nobody says why */
    struct rcx_request *first; /* active requests in the order of their start */
    struct rcx_request **end;  /* where the next one is linked */
    bool is_busy;              /* among the context's busy ones */
    struct rcx_comm *next_busy;
    struct rcx_seq_window window;
    struct rcx_ended ended;  /* the last that did not end in its first polls */
    _Atomic bool aborted;    /* by the user; failed follows */
    struct rcx_failure *why; /* it failed, or refused a call; or NULL */
    int64_t timeout_ns;      /* of operations that start; 0: none */
    struct rcx_straggler_query
        *query; /* while it is called, for one that is overdue */
    uint64_t next_probe_ns;
    uint64_t stall_warn_ns; /* of who waits without a deadline */
    uint64_t warned;        /* of the wait in the call of this number */
    uint64_t asked;         /* whom it waits for in the call of this number */
    struct rcx_recorder recorder;
    struct rcx_program_cache cache;
    bool has_nodes;          /* that is settled: */
    struct rcx_nodes *nodes; /* the context's, or its own; NULL: one, or not
                                known */
};

/* Takes over ranks, also on failure; id is taken, and goes with it. */
rcx_status_t rcx_comm_new(struct rcx_context *context, uint32_t id, int rank,
                          int size, int *ranks, struct rcx_comm **comm_p);
/* The programs that it keeps, and what else others have of it, are gone: see
 * comm_close.h. */
void rcx_comm_delete(struct rcx_comm *comm);
/* The table, when all are gone. */
void rcx_comms_free(struct rcx_comms *comms, struct rcx_heap *heap);
/* Something is under way on it. */
static inline bool rcx_comm_is_active(const struct rcx_comm *comm)
{
    return comm->first || comm->p2p.first;
}
/* To be called when something begins: rcx_detector_poll() does not visit thousands that
 * nobody uses. It also takes those out of the list where nothing is under way
 * any more, so that nobody else has to. */
void rcx_comm_note_busy(struct rcx_comm *comm);
void rcx_comms_drop_idle(struct rcx_comms *comms);
/* Its rank of the context's; -1: no member. */
int rcx_comm_index(const struct rcx_comm *comm, int context_rank);
/* The context's rank of its. */
static inline int rcx_comm_context_rank(const struct rcx_comm *comm, int rank)
{
    return comm->ranks ? comm->ranks[rank] : rank;
}
/* Whether it has failed because of this rank of the context. */
bool rcx_comm_has_failed_for(const struct rcx_comm *comm, int context_rank);
/* Have its map of nodes, which is made when it is first asked for. False: no
 * memory. */
bool rcx_comm_map_nodes(struct rcx_comm *comm);
#define RCX_COMM_MAGIC UINT64_C(0x5243585f434f4d4d) /* "RCX_COMM" */

static inline bool rcx_comm_is_valid(const struct rcx_comm *comm)
{
    return comm && comm->magic == RCX_COMM_MAGIC;
}

#endif
