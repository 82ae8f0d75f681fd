/* SPDX-License-Identifier: BSD-3-Clause */
/* A call compiled, and executions of it. */
#ifndef RCX_CORE_RUN_PROGRAM_H
#define RCX_CORE_RUN_PROGRAM_H

#include "core/op/registry.h"
#include "core/run/call.h"
#include "core/run/pool.h"
#include "core/run/recorder.h"
#include "core/sched/method.h"
#include "core/sched/segment.h"

struct rcx_comm;

/* The plan that a row of segments shares, and its executions. */
struct rcx_piece {
    struct rcx_exec_pool pool; /* comes first: see rcx_piece_of() */
    struct rcx_program *program;
    struct rcx_row row;
    uint64_t end;               /* the first segment behind the row */
    struct rcx_piece *credited; /* the same with a credit for every message,
                                   for one-way calls; else NULL */
    size_t weight;              /* of a segment: how far it gets one ahead */
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
    struct rcx_piece *pieces; /* one_way: credited ones behind the others */
    size_t piece_count;
    uint64_t segments;
    uint64_t weight;            /* of all */
    struct rcx_record record;   /* what the recorder is told of each run */
    size_t given;               /* count, as it is in the call of a user */
    size_t bytes_in, bytes_out; /* of this rank's operand and result */
    bool gives, gets;           /* this rank does */
    bool one_way;               /* a rank may only send in it */
    bool is_odd;                /* that, or has_rounds */
    bool is_single;             /* one segment, and none of what follows */
    bool has_rounds;            /* any of these three */
    bool has_opening;
    bool has_first_step; /* which is to tell the lengths of what passes: this
                            has no pieces, the program with them takes over */
    bool has_closing;
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

/* Compile call for comm; without what a cache adds. first: the program that it
 * takes over from, or NULL. Errors are logged. */
rcx_status_t rcx_program_compile(struct rcx_comm *comm,
                                 const struct rcx_call *call,
                                 const struct rcx_program *first,
                                 struct rcx_program **program_p);
void rcx_program_free(struct rcx_heap *heap, struct rcx_program *program);
/* Differs where counts do that ranks agree on; 0: there are none. */
int64_t rcx_program_counts_hash(const struct rcx_program *program, int size);

#endif
