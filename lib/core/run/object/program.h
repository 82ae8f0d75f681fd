/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiled calls: programs, their pieces, a cache of them, and its users. */
#ifndef RCX_CORE_RUN_OBJECT_PROGRAM_H
#define RCX_CORE_RUN_OBJECT_PROGRAM_H

#include <stddef.h>

#include "core/op/registry.h"
#include "core/run/mem/exec_pool.h"
#include "core/run/object/call.h"
#include "core/run/object/recorder.h"
#include "core/sched/method.h"
#include "core/sched/nodes.h"
#include "core/sched/segment.h"

struct rcx_context;
struct rcx_profile_row;

/* The plan of a row of segments, and its executions. */
struct rcx_piece {
    struct rcx_exec_pool pool; /* first: see rcx_piece_of() */
    struct rcx_program *program;
    struct rcx_row row;
    uint64_t end;            /* the segment behind the row */
    struct rcx_piece *acked; /* for one-way calls, the same with every
                                message acknowledged; else NULL */
    size_t weight; /* of a segment: how far it lets a sender run ahead */
    size_t out_count;
};

/* A plain call, except its buffers and count. */
struct rcx_call_key {
    uint64_t what, how;
};
static inline struct rcx_call_key rcx_call_key(enum rcx_coll coll,
                                               enum rcx_alias alias,
                                               rcx_datatype_t type, rcx_op_t op,
                                               int root)
{
    return (struct rcx_call_key){(uint64_t)(uint32_t)type << 32 |
                                     (uint64_t)alias << 8 | (uint64_t)coll,
                                 (uint64_t)(uint32_t)op << 32 | (uint32_t)root};
}
#define RCX_NO_CALL_KEY ((struct rcx_call_key){UINT64_MAX, UINT64_MAX})

/* Elements of a chunk of a sum in stages, of all blocks together, unless
 * ranks are more, or users force segments: see request/exact_stages.h. */
enum { RCX_EXACT_CHUNK = 1 << 15 };

/* Elements of a chunk, 0: all; segment_bytes of users, SIZE_MAX: none. */
static inline size_t rcx_exact_chunk(size_t count, size_t elem_bytes,
                                     size_t segment_bytes)
{
    size_t chunk = RCX_EXACT_CHUNK;

    if (segment_bytes != SIZE_MAX)
        chunk = segment_bytes / elem_bytes + (segment_bytes % elem_bytes > 0);
    return chunk < count ? chunk : 0;
}

/* A compiled call, in the plan cache of communicators with the same members. */
struct rcx_program {
    struct rcx_call call;
    struct rcx_call_key key; /* of users' calls without lists */
    uint64_t hash;
    struct rcx_method method;
    struct rcx_combine combine;
    struct rcx_piece *pieces; /* one_way: followed by the acknowledged ones */
    size_t piece_count;
    uint64_t segments;
    uint64_t weight;            /* of all segments */
    struct rcx_record record;   /* for the recorder */
    size_t given;               /* count of the user's call */
    size_t bytes_in, bytes_out; /* of this rank's operand and result */
    bool gives, gets;           /* this rank has an operand, a result */
    bool one_way;               /* some rank only sends */
    bool is_special;            /* one_way or has_stages */
    bool is_short;              /* one segment, and no stages */
    bool is_single;             /* the same, and it is not observed */
    bool is_observed;           /* by the context's observer */
    bool has_stages;            /* any of the next five */
    bool has_prologue;
    bool has_first_step; /* to tell the lengths of blocks in transit. It has
                            no pieces; the program that follows has them */
    bool sums_in_stages; /* in stages, which have programs of their own; it has
                            no pieces, and method.segment is a chunk */
    bool has_epilogue;
    bool makes_comm; /* it is followed by steps of its own */
    bool is_p2p;     /* of a message: see p2p.h */
    size_t passing;  /* blocks in transit; 0: none, or all equal */
    uint64_t tag;    /* fingerprint */
    uint32_t pins;   /* requests that use it */
    size_t bytes;
    struct rcx_program *chain;         /* in its hash bucket */
    struct rcx_program *newer, *older; /* by last use */
    struct rcx_profile_row *rows[2]; /* if is_observed: by enum rcx_form; NULL:
                                        none */
    size_t vector_bytes;             /* of all blocks together */
    char text[128];                  /* the method, for messages */
    const size_t *displs, *gotten;   /* starts of blocks of irregular calls */
    struct rcx_neighbors neighbors;  /* of a call that has some */
    size_t numbers[];                /* the call's lists, and these */
};

static inline struct rcx_piece *rcx_piece_of(const struct rcx_exec *x)
{
    return x->home;
}

/* ---- plan/cache.c -------------------------------------------------------- */

enum { RCX_CACHE_BUCKETS = 256 };

/* The last call with its exact arguments, and its program. */
struct rcx_repeat {
    const void *sendbuf;
    void *recvbuf;
    size_t count;
    struct rcx_call_key key;     /* as if in and out did not overlap */
    struct rcx_program *program; /* NULL: none */
    uint64_t evictions;          /* of the context, before it */
    char *in, *out;
};

struct rcx_program_cache {
    struct rcx_context *context;
    uint64_t misses;
    struct rcx_program *recent; /* by last use, newest first */
    size_t bytes, limit;
    struct rcx_program *oldest;
    struct rcx_program *buckets[RCX_CACHE_BUCKETS];
};

/* ---- plan/members.c ------------------------------------------------------ */

/* What communicators of the same ranks and settings share. */
struct rcx_members {
    unsigned users; /* communicators */
    int size;
    int *ranks;     /* ranks in the context; NULL: the same */
    bool has_nodes; /* nodes is valid: */
    struct rcx_nodes
        *nodes; /* finest map: the context's, or its own; NULL: none */
    struct rcx_program_cache cache;
};

/* ---- request/p2p.c ------------------------------------------------------- */

/* A checked call. */
struct rcx_p2p_call {
    bool sends;
    char *buffer;
    size_t count;
    rcx_datatype_t type;
    size_t elem_bytes;
    int peer; /* in the communicator; or RCX_ANY_SOURCE */
    int tag;
};

struct rcx_p2p {
    struct rcx_piece piece;
    struct rcx_plan plan;
    struct rcx_step step;
    struct rcx_p2p_call call;
    uint64_t tag, mask;
    bool has_info; /* a message has arrived */
    rcx_recv_info_t info;
    struct rcx_p2p *next;       /* in the list of idle ones */
    struct rcx_program program; /* last, as its size varies */
};

static inline struct rcx_p2p *rcx_p2p_of(struct rcx_program *program)
{
    char *p = (char *)program - offsetof(struct rcx_p2p, program);

    return (struct rcx_p2p *)(void *)p;
}

#endif
