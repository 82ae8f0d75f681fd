/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators: who they are made of, and what is under way on them. */
#ifndef RCX_CORE_RUN_COMM_H
#define RCX_CORE_RUN_COMM_H

#include "core/run/context.h"
#include "core/run/program.h"

struct rcx_comm {
    uint64_t magic;
    struct rcx_context *context;
    uint32_t id;
    int rank;
    int size;
    int *ranks;            /* the context's, of each; NULL: the same */
    int tag;               /* of a group in the making */
    uint32_t group;        /* a hash of its members; 0: no such group */
    _Atomic bool starting; /* MULTIPLE: a thread is in a collective call */
    struct rcx_comm *prev, *next; /* of the context, or among free slots */
    uint64_t live_requests;       /* of users */
    bool is_freed;                /* by the user; goes with the last of these */
    rcx_status_t failed;          /* not RCX_OK: broken for good */
    uint64_t sequence;            /* the next to give out */
    uint64_t mark;                /* of the last call, in tags */
    uint64_t mark_mask;           /* where marks are */
    uint64_t sequence_limit;      /* numbers below it are free to use */
    uint64_t ahead;            /* the weight of all one-way segments so far */
    struct rcx_request *first; /* active requests in the order of their start */
    struct rcx_request **end;  /* where the next one is linked */
    struct rcx_request *stalled; /* the first that waits for the window */
    bool unstalling;
    struct rcx_request *judged; /* its opening is under way; NULL: none's */
    _Atomic bool aborted;       /* by the user; failed follows */
    struct rcx_failure *why;    /* it failed, or refused a call; or NULL */
    int64_t timeout_ns;         /* of operations that start; 0: none */
    struct rcx_roll *roll; /* while it is called, for one that is overdue */
    uint64_t next_probe_ns;
    uint64_t patience_ns; /* of who waits without a deadline */
    uint64_t warned;      /* of the wait in the call of this number */
    struct rcx_recorder recorder;
    struct rcx_program_cache cache;
};

enum {
    RCX_COMM_ID_INTERNAL = 0, /* of the barriers at both ends of life */
    RCX_COMM_ID_WORLD = 1,
    RCX_COMM_ID_GROUP = 2,  /* of groups that agree on an id */
    RCX_COMM_ID_SETTLE = 3, /* of the same, in their second round */
    RCX_COMM_ID_FIRST = 4   /* of those that users make */
};

/* All groups in the making share these ids; their messages differ in the
 * sequence number, which is the caller's tag. */
static inline bool rcx_comm_is_for_groups(uint32_t id)
{
    return id == RCX_COMM_ID_GROUP || id == RCX_COMM_ID_SETTLE;
}

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

/* A barrier of RCX's own over comm. */
rcx_status_t rcx_comm_barrier(struct rcx_comm *comm);

#endif
