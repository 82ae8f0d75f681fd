/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collectives as users call them: arguments are checked here, before
 * anything is sent, and become a struct rcx_call. All forms of all collectives
 * then go one way. What a blocking call does each time is inlined into it, so
 * that what its collective has as constants need not be looked at.
 */
#ifndef RCX_CORE_API_COLLECTIVE_H
#define RCX_CORE_API_COLLECTIVE_H

#include "core/api/arguments.h"
#include "core/run/wait/blocking.h"
#include "core/run/wait/enter.h"

/* What the user gave, before it is checked. */
struct rcx_arguments {
    enum rcx_coll coll;
    const void *sendbuf;
    void *recvbuf;
    size_t count;         /* of the vector, or of one block */
    const size_t *counts; /* where irregular: of each rank's block */
    const size_t *displs; /* and where they begin; NULL: one behind the other */
    const size_t *recvcounts, *recvdispls; /* the same of what is received,
                                              where counts are what is sent */
    bool irregular;
    rcx_datatype_t type;
    rcx_op_t op;
    int root;
    struct rcx_comm *comm;
    const struct rcx_vectors *vectors; /* in place of the buffers and count */
};

/* The function that was called, without rcx_. */
static inline const char *rcx_call_name(const struct rcx_arguments *a)
{
    return a->vectors ? "allreduce_many"
                      : rcx_coll_function(a->coll, a->irregular);
}

/* Several vectors that are one operand, and one result. */
struct rcx_vectors {
    size_t n;
    const void *const *sendbufs;
    void *const *recvbufs;
    const size_t *counts;
};

/* Checked: the buffers, and how they lie to each other. */
struct rcx_buffers {
    const char *in;
    char *out;
    enum rcx_alias alias;
};

/*
 * With a's vectors checked: the call that has them as one vector, and where
 * they are none in memory what is to be done about that, the caller's to drop;
 * else NULL. What is wrong but for them and their type is left to the look-up
 * of that call.
 */
rcx_status_t rcx_call_bundle(const struct rcx_arguments *a,
                             struct rcx_arguments *one,
                             struct rcx_veclist **bundle_p);
/* r is one vector made of b's, which it then has. */
rcx_status_t rcx_call_place(const struct rcx_arguments *a,
                            struct rcx_request *r, struct rcx_veclist *b);

/* Check everything and find the plan, pinned, or compile it. */
rcx_status_t rcx_call_look_up(const struct rcx_arguments *a,
                              struct rcx_buffers *b,
                              struct rcx_program **program_p);

/* The plan of a call like the one before, whatever its buffers; NULL: it is
 * another call, or something is odd with these. */
struct rcx_program *rcx_call_find_last(const struct rcx_arguments *a,
                                       struct rcx_buffers *b);

/*
 * The plan where nothing but that has to be found out: most short collectives
 * are in a loop, and have been asked everything before. NULL: not of this one.
 * b has no alias, which the plan is of.
 */
__attribute__((always_inline)) static inline struct rcx_program *
rcx_call_repeat(const struct rcx_arguments *a, struct rcx_buffers *b)
{
    struct rcx_program_cache *cache = &a->comm->cache;
    const struct rcx_repeat *r = &cache->repeat;
    const struct rcx_call_key key =
        rcx_call_key(a->coll, RCX_ALIAS_NONE, a->type, a->op, a->root);

    if (a->sendbuf == r->sendbuf && a->recvbuf == r->recvbuf &&
        a->count == r->count && key.what == r->key.what &&
        key.how == r->key.how && !a->irregular &&
        !rcx_comm_is_failed(a->comm)) {
        b->in = r->in;
        b->out = r->out;
        cache->hits++;
        return r->program;
    }

    const struct rcx_arguments copy = *a; /* a's own are in registers */

    return rcx_call_find_last(&copy, b);
}

static inline rcx_status_t rcx_call_enter(const struct rcx_arguments *a)
{
    return rcx_comm_is_valid(a->comm)
               ? rcx_comm_enter(a->comm)
               : rcx_bad_handle(rcx_call_name(a), "comm", a->comm);
}

/* The plan, pinned. Whatever is odd is looked up, which says what is wrong. */
rcx_status_t rcx_call_resolve(const struct rcx_arguments *a,
                              struct rcx_buffers *b,
                              struct rcx_program **program_p);
/* What is no repetition. */
rcx_status_t rcx_call_run(const struct rcx_arguments *a);

/* A blocking call; inlined likewise. */
__attribute__((always_inline)) static inline rcx_status_t
rcx_call_blocking(const struct rcx_arguments *a)
{
    struct rcx_program *program;
    struct rcx_buffers b;
    rcx_status_t status;

    if (!rcx_comm_is_valid(a->comm))
        return rcx_bad_handle(rcx_call_name(a), "comm", a->comm);
    status = rcx_comm_lock(a->comm);
    if (status != RCX_OK)
        return status;
    rcx_stamp_before(a->comm->context);
    program = rcx_call_repeat(a, &b);
    if (__builtin_expect(program != NULL, 1)) {
        status = rcx_request_run(a->comm, program, b.in, b.out);
    } else {
        const struct rcx_arguments copy = *a; /* a's own are in registers */

        status = rcx_call_run(&copy);
    }
    rcx_comm_leave(a->comm);
    return status;
}

/* The same of several vectors. */
rcx_status_t rcx_call_bundled(const struct rcx_arguments *a);

/* A request, which starts at once where it is not persistent. */
rcx_status_t rcx_call_request(const struct rcx_arguments *a, bool persistent,
                              rcx_request_t **request_p);

#endif
