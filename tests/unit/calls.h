/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One collective of a whole job: buffers with canaries around them, the call
 * on every rank, and a comparison of all memory with a serial reduction.
 */
#ifndef RCX_TESTS_CALLS_H
#define RCX_TESTS_CALLS_H

#include "context.h"

enum collective {
    ALLREDUCE,
    REDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    COLLECTIVES
};

enum form {
    SEPARATE,
    IN_PLACE,     /* RCX_IN_PLACE */
    SAME_POINTER, /* sendbuf == recvbuf */
    OWN_BLOCK,    /* reduce_scatter: recvbuf == sendbuf + own block */
    MIXED,        /* another one on each rank */
    FORMS
};

/* What is reduced, and how one would do it by hand. */
struct kind {
    rcx_datatype_t type;
    rcx_op_t op;
    size_t bytes; /* of an element */
    void (*fill)(void *element, int rank, size_t i);
    void (*combine)(void *dst, const void *left, const void *right);
    void (*finish)(void *element, int ranks); /* NULL: nothing */
};

/* Sums of 64-bit integers. */
extern const struct kind sums;

struct call {
    enum collective coll;
    enum form form;
    int root;
    size_t count;             /* REDUCE_SCATTER_BLOCK: of one block */
    const size_t *recvcounts; /* REDUCE_SCATTER */
    const struct kind *kind;
};

enum { MOST_RANKS = 16 };

/* One rank's memory; the argument buffers point into it. */
struct side {
    char *memory, *expected;
    size_t bytes;
    const void *sendbuf;
    void *recvbuf;
    char *operand, *result;
    size_t operand_bytes, result_bytes;
    bool spoils; /* the rest of the operand is undefined afterwards */
};

struct calls {
    struct job *job;
    struct call call;
    struct side sides[MOST_RANKS];
    rcx_request_t *requests[MOST_RANKS];
};

/* Whether the form exists for the collective. */
bool form_fits(enum collective coll, enum form form);

void calls_open(struct calls *c, struct job *job, const struct call *call);
void calls_close(struct calls *c); /* frees requests, too */

/* Make every rank's request; nonblocking ones start. Aborts on errors. */
void calls_make(struct calls *c, bool persistent);
/* One rank's, into requests[rank]. */
rcx_status_t calls_make_one(struct calls *c, int rank, bool persistent);
/* One rank's blocking call. */
rcx_status_t calls_block(struct calls *c, int rank);

void calls_fill(struct calls *c); /* operands and canaries anew */
void calls_start(struct calls *c);
void calls_wait(struct calls *c, rcx_status_t expected);
/* All memory of all ranks is as it has to be. */
void calls_check(struct calls *c);

/* Make, wait, check; persistent ones twice. */
void calls_run(struct job *job, const struct call *call, bool persistent);

/* Open over the simulated network; name=value in the environment meanwhile. */
void open_with(struct job *job, int size, const char *name, const char *value,
               const struct job_options *options);

#endif
