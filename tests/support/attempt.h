/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One collective call of one rank, from data to verdict, through the public
 * API: operands and expectation by serial.h, canaries around the buffers, and a
 * look at what must not be written.
 */
#ifndef RCX_TESTS_SUPPORT_ATTEMPT_H
#define RCX_TESTS_SUPPORT_ATTEMPT_H

#include "collectives.h"

/* What ranks agree on, but for place. */
struct call {
    enum collective coll;
    enum form form;
    enum place place; /* one that there is not is as SAME_POINTER, or apart */
    const struct kind *kind;
    size_t count; /* of the vector; of each block, where all are equal */
    /* Of each rank's block, where these may differ. NULL: some are empty, drawn
     * by the seed, and count in all */
    const size_t *blocks;
    int root;
    uint64_t seed;
    bool in_rcx_memory; /* its buffers are of rcx_mem_alloc() */
};

/* Where a buffer has what is given, or gotten. */
struct layout {
    int parts;      /* blocks, or 1 */
    size_t *starts; /* of each */
    size_t gap;     /* elements behind each */
    size_t reach;   /* of all */
};

/* One rank's side of it. */
struct attempt {
    struct call call;
    struct view view;
    struct arguments arguments;
    size_t *numbers; /* of all lists: as passed, and as kept */
    struct layout in, out;
    size_t given, gotten; /* elements */
    char *memory[2]; /* with canaries at both ends; [1]: of a separate result */
    size_t held[2];
    rcx_comm_t *comm; /* whose memory it is; NULL: the heap's */
    size_t bytes[2];  /* without */
    char *operand, *result;
    bool spoils; /* the rest of the operand is undefined afterwards */
    rcx_request_t *request;
    char problem[256];
};

/* Prepare buffers; data is there for call->seed. */
void attempt_open(struct attempt *a, const struct call *call, rcx_comm_t *comm);
/* To another call on the same communicator, over the same memory if that is
 * enough; no request is left. */
void attempt_change(struct attempt *a, const struct call *call);
/* Make the call, or create the request; a persistent one is not started. */
rcx_status_t attempt_call(struct attempt *a, rcx_comm_t *comm);
/* New data, for a persistent request's next start. */
void attempt_load(struct attempt *a, uint64_t seed);
/* After completion. NULL if all is as it must be, else what is wrong. */
const char *attempt_check(struct attempt *a);
/* The same of all but the result. */
const char *attempt_check_rest(struct attempt *a);
/* Frees the request as well. */
void attempt_close(struct attempt *a);

/* All of it at once, for a process per rank; RCX_ERR_INTERNAL: a wrong result,
 * and problem says which. */
rcx_status_t call_run(const struct call *call, rcx_comm_t *comm,
                      char problem[256]);

/* The k-th of many calls that mix collectives, forms and places. */
struct call call_mixed(const struct kind *kind, size_t count, int size,
                       uint64_t k);

const char *call_text(const struct call *call, char text[200]);

#endif
