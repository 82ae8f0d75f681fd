/* SPDX-License-Identifier: BSD-3-Clause */
/* A call compiled: its plans, and the programs that a communicator keeps. */
#ifndef RCX_CORE_RUN_OBJECT_PROGRAM_H
#define RCX_CORE_RUN_OBJECT_PROGRAM_H

#include <stddef.h>

#include "core/op/registry.h"
#include "core/run/mem/exec_pool.h"
#include "core/run/object/call.h"
#include "core/run/object/recorder.h"
#include "core/sched/method.h"
#include "core/sched/segment.h"

/* The plan that a row of segments shares, and its executions. */
struct rcx_piece {
    struct rcx_exec_pool pool; /* comes first: see rcx_piece_of() */
    struct rcx_program *program;
    struct rcx_row row;
    uint64_t end;            /* the first segment behind the row */
    struct rcx_piece *acked; /* the same with a credit for every message,
                                   for one-way calls; else NULL */
    size_t weight;           /* of a segment: how far it gets one ahead */
    size_t out_count;
};

/* What a call has, but for its buffers and count; of plain ones. */
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

/* A call's shape compiled: kept in the communicator's plan cache. */
struct rcx_program {
    struct rcx_call call;
    struct rcx_call_key key; /* of the users' calls without lists */
    uint64_t hash;
    struct rcx_method method;
    struct rcx_combine combine;
    struct rcx_piece *pieces; /* one_way: acked ones behind the others */
    size_t piece_count;
    uint64_t segments;
    uint64_t weight;            /* of all */
    struct rcx_record record;   /* what the recorder is told of each run */
    size_t given;               /* count, as it is in the call of a user */
    size_t bytes_in, bytes_out; /* of this rank's operand and result */
    bool gives, gets;           /* this rank does */
    bool one_way;               /* a rank may only send in it */
    bool is_special;            /* that, or has_stages */
    bool is_single;             /* one segment, and none of what follows */
    bool has_stages;            /* any of these three */
    bool has_prologue;
    bool has_first_step; /* which is to tell the lengths of what passes: this
                            has no pieces, the program with them takes over */
    bool has_epilogue;
    bool is_p2p;    /* it is a message's: see p2p.h */
    size_t passing; /* blocks that come on their way; 0: none, or all equal */
    uint64_t tag;   /* communicator and fingerprint */
    uint32_t pins;  /* requests that hold it */
    size_t bytes;
    struct rcx_program *chain;         /* of its hash bucket */
    struct rcx_program *newer, *older; /* by last use */
    char text[128];                    /* the method, for people */
    const size_t *displs, *gotten;     /* starts of blocks where irregular */
    size_t numbers[];                  /* of the call's lists and these */
};

static inline struct rcx_piece *rcx_piece_of(const struct rcx_exec *x)
{
    return x->home;
}

/* ---- plan/cache.c ---- */

enum { RCX_CACHE_BUCKETS = 256 };

/* What a call was given, to the last bit, and what came of that. */
struct rcx_repeat {
    const void *sendbuf;
    void *recvbuf;
    size_t count;
    struct rcx_call_key key;     /* as if in and out lay apart */
    struct rcx_program *program; /* NULL: there is none */
    char *in, *out;
};

struct rcx_program_cache {
    struct rcx_repeat repeat;
    uint64_t hits, misses, evictions;
    struct rcx_program *recent; /* by last use: newest */
    size_t bytes, limit;
    struct rcx_program *oldest;
    struct rcx_heap *heap;
    struct rcx_program *buckets[RCX_CACHE_BUCKETS];
};

/* ---- request/p2p.c ---- */

/* What is asked for; checked. */
struct rcx_p2p_call {
    bool sends;
    char *buffer;
    size_t count;
    rcx_datatype_t type;
    size_t elem_bytes;
    int peer; /* of the communicator; RCX_ANY_SOURCE */
    int tag;
};

struct rcx_p2p {
    struct rcx_piece piece;
    struct rcx_plan plan;
    struct rcx_step step;
    struct rcx_p2p_call call;
    uint64_t tag, mask;
    bool has_info; /* a message came */
    rcx_recv_info_t info;
    struct rcx_p2p *next;       /* of the idle ones */
    struct rcx_program program; /* comes last: its end is open */
};

static inline struct rcx_p2p *rcx_p2p_of(struct rcx_program *program)
{
    char *p = (char *)program - offsetof(struct rcx_p2p, program);

    return (struct rcx_p2p *)(void *)p;
}

#endif
