/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a communicator. */
#ifndef RCX_CORE_RUN_OBJECT_COMM_H
#define RCX_CORE_RUN_OBJECT_COMM_H

#include "core/run/object/context.h"
#include "core/run/object/fault_state.h"
#include "core/run/object/program.h"

/* ---- request/seq_window.c ------------------------------------------------ */

struct rcx_seq_window {
    uint64_t next;  /* next number to use */
    uint64_t limit; /* numbers below it are free */
    uint64_t tag;   /* the communicator, in tags */
    uint64_t mark;  /* of the last call, in tags */
    uint64_t mark_mask;
    uint64_t sequence_mask; /* where numbers are in tags */
    unsigned sequence_shift;
    uint64_t ahead;              /* total weight of one-way segments */
    struct rcx_request *stalled; /* the first that waits for a number */
    struct rcx_request *gate;    /* its prologue is in flight; NULL: none */
    bool unstalling;
};

/* ---- request/p2p.c ------------------------------------------------------- */

/* The messages of a communicator. */
struct rcx_p2p_queue {
    struct rcx_recorder recorder;
    struct rcx_p2p *idle;
    uint64_t warned; /* number of the message whose wait was warned of */
    struct rcx_request **end;
    struct rcx_request *first; /* active ones in the order of their start */
};

enum { RCX_RANKS_LISTED = 8, RCX_REASON_TEXT = 304 };

/* What rcx_comm_error() returns. */
struct rcx_failure {
    char text[RCX_REASON_TEXT];
    int reported_by; /* rank of the context; -1: found by this rank */
    int rank_count;
    int ranks[]; /* of the communicator; room for all */
};

/* The sequence numbers of an operation, and when it was in flight. */
struct rcx_ended {
    uint64_t first, next; /* next: behind its last */
    uint64_t begin, end;  /* ticks */
};

/* What the host keeps in a communicator, and what frees it; or NULL. */
struct rcx_host_data {
    void *data;
    rcx_destroy_fn_t destroy;
};

static inline void rcx_host_data_destroy(struct rcx_host_data host)
{
    if (host.destroy)
        host.destroy(host.data);
}

/* Settings of communicators: of one, and of those that were made from it. */
struct rcx_comm_config {
    unsigned users;
    struct rcx_config config;
};

struct rcx_comm {
    uint64_t magic;
    struct rcx_context *context;
    uint32_t id;
    int rank;
    int size;
    const int *ranks; /* ranks in the context; NULL: the same */
    int tag;          /* of a group in the making */
    uint32_t group;   /* tells it from earlier ones with its id; of a group in
                       the making: hash of its members */
    uint32_t attempt; /* number of failed attempts of these members */
    struct rcx_members *members; /* has ranks and cache */
    struct rcx_comm *parent;     /* while it is being made from it */
    _Atomic bool
        starting;     /* RCX_THREAD_MULTIPLE: a thread starts a collective */
    bool is_replaced; /* by rcx_comm_shrink(): no member sends in it any more */
    uint32_t replacement_id; /* of what replaces it, once all members have the
                                decision; 0: nothing */
    uint32_t replacement_group;
    const struct rcx_config *config;  /* the context's, or: */
    struct rcx_comm_config *own;      /* that of rcx_comm_set(); or NULL */
    char name[RCX_COMM_NAME_MAX + 1]; /* empty: none */
    struct rcx_host_data host;
    struct rcx_agreement *agreement; /* fault/agreement.c; NULL: none yet */
    struct rcx_comm *prev, *next;    /* of the context, or among free slots */
    uint64_t live_requests;          /* of users */
    bool is_freed; /* by the user; closed with the last request */
    struct rcx_p2p_queue
        p2p; /* frequently used fields are adjacent from here */
    enum rcx_comm_state state;
    bool is_announced;         /* its failure, by this rank */
    rcx_status_t status;       /* FAILED, SUSPECT: of the failure */
    struct rcx_request *first; /* active requests in the order of their start */
    struct rcx_request **end;  /* where the next one is linked */
    bool is_busy;              /* in the context's list of busy ones */
    struct rcx_comm *next_busy;
    struct rcx_seq_window window;
    struct rcx_ended
        ended; /* the last operation that did not complete in its first polls */
    _Atomic bool aborted; /* by the user; failed follows */
    struct rcx_failure
        *why; /* reason of the failure or of a rejected call; or NULL */
    int64_t timeout_ns; /* of operations that start; 0: none */
    struct rcx_straggler_query
        *query; /* the straggler query in progress; or NULL */
    uint64_t next_probe_ns;
    uint64_t
        stall_warn_ns; /* warn of a wait without a deadline after this time */
    uint64_t warned;   /* number of the call whose wait was warned of */
    uint64_t asked;    /* number of the call that was announced to the ranks it
                       waits for */
    struct rcx_recorder recorder;
    struct rcx_status_comm *shown; /* its place in the status page, or NULL */
    struct rcx_program_cache *cache;
    uint64_t hits; /* programs found in it */
    struct rcx_repeat repeat;
};

/* It becomes a user of members if it is made. NULL: there was no memory for
 * them. id is taken, and freed with the communicator. */
rcx_status_t rcx_comm_create(struct rcx_context *context, uint32_t id, int rank,
                             struct rcx_members *members,
                             struct rcx_comm **comm_p);
/* Set what tells it from others with its id: see group and attempt. */
void rcx_comm_set_group(struct rcx_comm *comm, uint32_t group,
                        uint32_t attempt);
/* Use other members with the same ranks from now on. */
void rcx_comm_use_members(struct rcx_comm *comm, struct rcx_members *members);
/* Other modules have freed what they keep for it: see comm_close.h. */
void rcx_comm_destroy(struct rcx_comm *comm);
/* Free the table, when all communicators are deleted. */
void rcx_comms_free(struct rcx_comms *comms, struct rcx_heap *heap);
static inline bool rcx_comm_is_failed(const struct rcx_comm *comm)
{
    return comm->state == RCX_COMM_FAILED;
}
/* The status that it has failed with, or RCX_OK. */
static inline rcx_status_t rcx_comm_failure(const struct rcx_comm *comm)
{
    return rcx_comm_is_failed(comm) ? comm->status : RCX_OK;
}
/* Whether an operation is in flight. */
static inline bool rcx_comm_is_active(const struct rcx_comm *comm)
{
    return comm->first || comm->p2p.first;
}
/* To be called when an operation starts: the detector checks busy communicators
 * only. This also removes from the list those on which nothing is in flight. */
void rcx_comm_note_busy(struct rcx_comm *comm);
void rcx_comms_unlist_idle(struct rcx_comms *comms);
/* The rank of a context's rank; -1: not a member. */
int rcx_comm_index(const struct rcx_comm *comm, int context_rank);
/* The context's rank of a rank. */
static inline int rcx_comm_context_rank(const struct rcx_comm *comm, int rank)
{
    return comm->ranks ? comm->ranks[rank] : rank;
}
/* Whether it has failed because of this rank of the context. */
bool rcx_comm_has_failed_for(const struct rcx_comm *comm, int context_rank);
/* Use these settings from now on, instead of the context's or others. */
void rcx_comm_use_config(struct rcx_comm *comm, struct rcx_comm_config *config);
/* Make its map of nodes at first use. False: no memory. */
bool rcx_comm_map_nodes(const struct rcx_comm *comm);
#define RCX_COMM_MAGIC UINT64_C(0x5243585f434f4d4d) /* "RCX_COMM" */

static inline bool rcx_comm_is_valid(const struct rcx_comm *comm)
{
    return comm && comm->magic == RCX_COMM_MAGIC;
}

#endif
