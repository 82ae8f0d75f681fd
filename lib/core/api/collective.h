/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective calls of users: arguments are checked before anything is sent, and
 * become a struct rcx_call. All forms of all collectives then take one path.
 * What a blocking call does each time is inlined into it, so that constants of
 * its collective are not examined at run time.
 */
#ifndef RCX_CORE_API_COLLECTIVE_H
#define RCX_CORE_API_COLLECTIVE_H

#include "core/api/arguments.h"
#include "core/run/wait/blocking.h"
#include "core/run/wait/enter.h"

/* The arguments of the user, not checked. */
struct rcx_arguments {
    enum rcx_coll coll;
    const void *sendbuf;
    void *recvbuf;
    size_t count;         /* of the vector, or of a block */
    const size_t *counts; /* irregular calls: of each rank's block */
    const size_t *displs; /* starts of blocks; NULL: contiguous */
    const size_t *recvcounts,
        *recvdispls; /* the same of what is received, if counts are what is
                        sent */
    bool irregular;
    const struct rcx_neighbor_lists *neighbors; /* counts and displacements are
                                                   theirs; NULL: of ranks */
    rcx_datatype_t type;
    rcx_op_t op;
    int root;
    struct rcx_comm *comm;
    const struct rcx_vectors *vectors; /* in place of buffers and count */
};

/* The function that was called, without rcx_. */
static inline const char *rcx_call_name(const struct rcx_arguments *a)
{
    return a->vectors     ? "allreduce_many"
           : a->neighbors ? "neighbor_alltoallv"
                          : rcx_coll_function(a->coll, a->irregular);
}

/* Ranks that this one sends to, and receives from. */
struct rcx_neighbor_lists {
    size_t dest_count, source_count;
    const int *dests, *sources;
};

/* Several vectors that are one operand and one result. */
struct rcx_vectors {
    size_t n;
    const void *const *sendbufs;
    void *const *recvbufs;
    const size_t *counts;
};

/* Checked buffers, and where they are relative to each other. */
struct rcx_buffers {
    const char *in;
    char *out;
    enum rcx_alias alias;
};

/*
 * With a's vectors checked: the call that has them as one vector. If they are
 * not contiguous, also their vector list, which the caller must destroy; else
 * NULL. Other errors are left to the look-up of that call.
 */
rcx_status_t rcx_call_merge(const struct rcx_arguments *a,
                            struct rcx_arguments *one,
                            struct rcx_veclist **bundle_p);
/* r is a call on one vector made of b's, and owns b from now on. */
rcx_status_t rcx_call_place(const struct rcx_arguments *a,
                            struct rcx_request *r, struct rcx_veclist *b);

/* Check everything, and find the program, pinned, or compile it. */
rcx_status_t rcx_call_look_up(const struct rcx_arguments *a,
                              struct rcx_buffers *b,
                              struct rcx_program **program_p);

/* The same of a call with neighbours. */
rcx_status_t rcx_neighbors_look_up(const struct rcx_arguments *a,
                                   struct rcx_buffers *b,
                                   struct rcx_program **program_p);

/* The program of a call like the one before, for any buffers; NULL: another
 * call, or a special case of these buffers. */
struct rcx_program *rcx_call_find_last(const struct rcx_arguments *a,
                                       struct rcx_buffers *b);

/*
 * The program, if nothing else has to be found out: most short collectives are
 * in a loop, and have been checked before. NULL: not for this call. b has no
 * alias, which the program has.
 */
__attribute__((always_inline)) static inline struct rcx_program *
rcx_call_repeat(const struct rcx_arguments *a, struct rcx_buffers *b)
{
    const struct rcx_repeat *r = &a->comm->repeat;
    const struct rcx_call_key key =
        rcx_call_key(a->coll, RCX_ALIAS_NONE, a->type, a->op, a->root);

    if (a->sendbuf == r->sendbuf && a->recvbuf == r->recvbuf &&
        a->count == r->count && key.what == r->key.what &&
        key.how == r->key.how && r->evictions == a->comm->context->evictions &&
        !a->irregular && !rcx_comm_is_failed(a->comm)) {
        b->in = r->in;
        b->out = r->out;
        a->comm->hits++;
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

/* The program, pinned. Special cases are looked up, which reports errors. */
rcx_status_t rcx_call_resolve(const struct rcx_arguments *a,
                              struct rcx_buffers *b,
                              struct rcx_program **program_p);
/* A call that does not repeat the one before. site: where the user called. */
rcx_status_t rcx_call_run(const struct rcx_arguments *a, const void *site);

/* A blocking call; inlined as well. */
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
        status = rcx_request_run(a->comm, program, b.in, b.out,
                                 __builtin_return_address(0));
    } else {
        const struct rcx_arguments copy = *a; /* a's own are in registers */

        status = rcx_call_run(&copy, __builtin_return_address(0));
    }
    rcx_comm_leave(a->comm);
    return status;
}

/* The same for several vectors. */
rcx_status_t rcx_call_run_merged_from(const struct rcx_arguments *a,
                                      const void *site);
__attribute__((always_inline)) static inline rcx_status_t
rcx_call_run_merged(const struct rcx_arguments *a)
{
    return rcx_call_run_merged_from(a, __builtin_return_address(0));
}

/* A request, which starts at once unless it is persistent. */
rcx_status_t rcx_call_request_from(const struct rcx_arguments *a,
                                   bool persistent, const void *site,
                                   rcx_request_t **request_p);
__attribute__((always_inline)) static inline rcx_status_t
rcx_call_request(const struct rcx_arguments *a, bool persistent,
                 rcx_request_t **request_p)
{
    return rcx_call_request_from(a, persistent, __builtin_return_address(0),
                                 request_p);
}

#endif
