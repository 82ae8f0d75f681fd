/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collectives of rcx.h, a row each, for all tests that make calls: the
 * functions, the operand and result of each rank, and the definition of the
 * result. The rows follow rcx.h and not the library's own table, so that each
 * table checks the other. A new collective is tested as soon as it has a row
 * here.
 */
#ifndef RCX_TESTS_SUPPORT_COLLECTIVES_H
#define RCX_TESTS_SUPPORT_COLLECTIVES_H

#include "serial.h"

enum collective {
    ALLREDUCE,
    REDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    BARRIER,
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    SCAN,
    EXSCAN,
    ALLREDUCE_MANY,
    COLLECTIVES
};

enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

/* Where the result lies relative to the operand. */
enum place {
    SEPARATE,
    IN_PLACE,     /* RCX_IN_PLACE */
    SAME_POINTER, /* sendbuf == recvbuf */
    OWN_BLOCK,    /* a block at its own place in the other buffer */
    PLACES,
    MIXED = PLACES /* another place on each rank */
};

/* The extent of an operand or result: a vector, one block of it, or all
 * blocks. */
enum extent { EXTENT_NONE, EXTENT_VECTOR, EXTENT_BLOCK, EXTENT_BLOCKS };

/* The ranks that have an operand, or a result. */
enum rank_set { ALL_RANKS, ROOT_ALONE, ALL_BUT_ROOT, ALL_BUT_FIRST };

/* The arguments of a call; each function takes those that it has. */
struct arguments {
    const void *sendbuf;
    void *recvbuf;
    size_t count;         /* of the vector, or of each block */
    const size_t *blocks; /* count of each block; local: of those received */
    const size_t *displs; /* of each block; NULL: side by side */
    const size_t *sendcounts, *senddispls; /* local: those of the send blocks */
    rcx_datatype_t type;
    rcx_op_t op;
    int root;
    rcx_comm_t *comm;
};

/* A call as seen by one rank: all that its operand and result depend on. */
struct view {
    int rank, size, root;
    size_t count;         /* of the whole vector */
    const size_t *blocks; /* count of each rank's block, if there are blocks */
};

struct collective_row {
    const char *name;
    const char *variable; /* environment variable that selects an algorithm */
    enum extent gives, gets;
    enum rank_set giver, getter;
    bool reduces;
    bool irregular;  /* takes a count for each block */
    bool has_displs; /* takes a displacement for each block */
    bool is_local;   /* each rank has counts of its own */
    bool is_prefix;  /* the result is of ranks up to this one */
    unsigned places; /* 1 << enum place of each valid one */
    rcx_status_t (*call)(const struct arguments *a, enum form form,
                         rcx_request_t **request_p);
    /* Block k of a rank's result; k is 0 if the result is not in blocks. */
    struct part (*part)(const struct view *v, int k);
};

/* Indexed by enum collective. */
extern const struct collective_row collectives[COLLECTIVES];

/* Returns COLLECTIVES if no row has that name. */
enum collective collective_by_name(const char *name);

/* Make a call. A blocking one does not use request_p; a persistent request is
 * not started. */
rcx_status_t collective_call(enum collective coll, enum form form,
                             const struct arguments *a,
                             rcx_request_t **request_p);

static inline bool collective_is_rooted(enum collective coll)
{
    return collectives[coll].giver == ROOT_ALONE ||
           collectives[coll].getter == ROOT_ALONE;
}
static inline bool collective_has_blocks(enum collective coll)
{
    return collectives[coll].gives >= EXTENT_BLOCK ||
           collectives[coll].gets >= EXTENT_BLOCK;
}
/* Whether all ranks' blocks have the same length. */
static inline bool collective_has_equal_blocks(enum collective coll)
{
    return collective_has_blocks(coll) && !collectives[coll].irregular;
}
static inline bool collective_has_place(enum collective coll, enum place place)
{
    return place == MIXED || collectives[coll].places >> place & 1;
}

/* Whether op is valid: averages are not for prefix reductions. */
static inline bool collective_takes(enum collective coll, rcx_op_t op)
{
    return (op != RCX_AVG && op != RCX_AVG_EXACT && op != RCX_AVG_FLOAT) ||
           !collectives[coll].is_prefix;
}

/* Index of the first element of rank's block. */
size_t view_first(const struct view *v, int rank);
/* Elements that rank sends to other in a collective with local counts.
 * Symmetric: other sends as many to rank. */
static inline size_t view_local(const struct view *v, int rank, int other)
{
    return v->blocks[(rank + other) % v->size];
}
/* Elements of block k in this rank's operand or result. */
static inline size_t view_block(const struct view *v, enum collective coll,
                                int k)
{
    return collectives[coll].is_local ? view_local(v, v->rank, k)
                                      : v->blocks[k];
}
/* Elements of the operand and of the result of the view's rank. */
size_t view_given(const struct view *v, enum collective coll);
size_t view_gotten(const struct view *v, enum collective coll);

/* Whether the rank uses sendbuf, and recvbuf. */
bool view_sends(const struct view *v, enum collective coll);
bool view_receives(const struct view *v, enum collective coll);

/* The result of the rank: number of parts, and part k from 0 on. */
int view_parts(const struct view *v, enum collective coll);
struct part view_part(const struct view *v, enum collective coll, int k);

#endif
