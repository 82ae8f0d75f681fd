/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collectives of rcx.h, a row each, for all tests that make calls: how each
 * is called, what its ranks give and get, and by definition of what operands a
 * result is made. Written from rcx.h, and not from the library's own rows, so
 * that one holds the other. A new collective gets into the tests by its row.
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

/* How the result lies to the operand. */
enum place {
    SEPARATE,
    IN_PLACE,     /* RCX_IN_PLACE */
    SAME_POINTER, /* sendbuf == recvbuf */
    OWN_BLOCK,    /* a block in the other buffer's blocks, where it belongs */
    PLACES,
    MIXED = PLACES /* another one on each rank */
};

/* What a rank gives or gets, of a vector that may be cut into blocks. */
enum extent { EXTENT_NONE, EXTENT_VECTOR, EXTENT_BLOCK, EXTENT_BLOCKS };

/* Which ranks do. */
enum who { ALL_RANKS, ROOT_ALONE, ALL_BUT_ROOT, ALL_BUT_FIRST };

/* What a function of a collective is passed; each takes what it knows. */
struct arguments {
    const void *sendbuf;
    void *recvbuf;
    size_t count;         /* of the vector, or of each block */
    const size_t *blocks; /* of each block; of those received, where local */
    const size_t *displs; /* where they begin; NULL: side by side */
    const size_t *sendcounts, *senddispls; /* local: of those sent */
    rcx_datatype_t type;
    rcx_op_t op;
    int root;
    rcx_comm_t *comm;
};

/* A call as a rank sees it: all that what it gives and gets depends on. */
struct view {
    int rank, size, root;
    size_t count;         /* of the whole vector */
    const size_t *blocks; /* by rank, where there are any */
};

struct collective_row {
    const char *name;
    const char *variable; /* of the environment, which forces an algorithm */
    enum extent gives, gets;
    enum who giver, getter;
    bool reduces;
    bool irregular;  /* a count for each block is passed */
    bool has_displs; /* and where it begins */
    bool is_local;   /* each rank has counts of its own */
    bool is_prefix;  /* a rank's result is of the ranks up to it */
    unsigned places; /* 1 << enum place of those that there are */
    rcx_status_t (*call)(const struct arguments *a, enum form form,
                         rcx_request_t **request_p);
    /* Block k of what a rank gets; k is 0 where that is no blocks. */
    struct part (*part)(const struct view *v, int k);
};

/* By enum collective. */
extern const struct collective_row collectives[COLLECTIVES];

/* COLLECTIVES: there is none of that name. */
enum collective collective_by_name(const char *name);

/* Blocking: request_p is not looked at. A persistent one is not started. */
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
/* A rank's block is as long as any other's. */
static inline bool collective_has_equal_blocks(enum collective coll)
{
    return collective_has_blocks(coll) && !collectives[coll].irregular;
}
static inline bool collective_has_place(enum collective coll, enum place place)
{
    return place == MIXED || collectives[coll].places >> place & 1;
}

/* It knows op: an average of a prefix is none. */
static inline bool collective_takes(enum collective coll, rcx_op_t op)
{
    return op != RCX_AVG || !collectives[coll].is_prefix;
}

/* Where rank's block begins. */
size_t view_first(const struct view *v, int rank);
/* Elements of what rank sends to another one, where counts are local: the
 * second sends as many to the first. */
static inline size_t view_local(const struct view *v, int rank, int other)
{
    return v->blocks[(rank + other) % v->size];
}
/* Elements of block k as this rank gives or gets it. */
static inline size_t view_block(const struct view *v, enum collective coll,
                                int k)
{
    return collectives[coll].is_local ? view_local(v, v->rank, k)
                                      : v->blocks[k];
}
/* Elements that the view's rank gives and gets. */
size_t view_given(const struct view *v, enum collective coll);
size_t view_gotten(const struct view *v, enum collective coll);

/* Whether it looks at sendbuf, at recvbuf. */
bool view_sends(const struct view *v, enum collective coll);
bool view_receives(const struct view *v, enum collective coll);

/* What the rank gets, part by part, from part 0 on. */
int view_parts(const struct view *v, enum collective coll);
struct part view_part(const struct view *v, enum collective coll, int k);

#endif
