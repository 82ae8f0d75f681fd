/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One collective call of one rank through the public API, from operands to
 * checks. serial.h has the operands and the expected results. Canaries around
 * the buffers and a check of the operand detect writes to other memory.
 */
#ifndef RCX_TESTS_SUPPORT_ATTEMPT_H
#define RCX_TESTS_SUPPORT_ATTEMPT_H

#include "collectives.h"

/* The arguments of a call. All but place are the same on all ranks. */
struct call {
    enum collective coll;
    enum form form;
    enum place place; /* if missing: SAME_POINTER, else SEPARATE */
    const struct kind *kind;
    size_t count; /* of the vector; or of each block, if all are equal */
    /* Elements of each rank's block, if blocks may differ. NULL: drawn from the
     * seed, count in total, and some empty. */
    const size_t *blocks;
    int root;
    uint64_t seed;
    bool in_rcx_memory; /* buffers come from rcx_mem_alloc() */
};

/* Where the parts of an operand or of a result lie in their buffer. */
struct layout {
    int parts;      /* number of blocks, or 1 */
    size_t *starts; /* of each part, in elements */
    size_t gap;     /* elements behind each part */
    size_t reach;   /* elements of all parts and gaps */
};

/* The call of one rank: arguments, memory, and the result of the checks. */
struct attempt {
    struct call call;
    struct view view;
    struct arguments arguments;
    size_t *numbers; /* all lists: as passed, then the copies */
    struct layout in, out;
    size_t given, gotten; /* elements of the operand, of the result */
    char *memory[2]; /* with canaries at both ends; [1]: a separate result */
    size_t held[2];
    rcx_comm_t *comm; /* allocates the memory; NULL: the heap does */
    size_t bytes[2];  /* without the canaries */
    char *operand, *result;
    bool spoils; /* the call may overwrite all of the operand */
    rcx_request_t *request;
    char problem[256];
};

/* Allocate buffers, and fill them for call->seed. */
void attempt_open(struct attempt *a, const struct call *call, rcx_comm_t *comm);
/* Prepare another call on the same communicator. Memory that is large enough is
 * used again. a must have no request. */
void attempt_change(struct attempt *a, const struct call *call);
/* Make the call, or create the request. A persistent request is not started. */
rcx_status_t attempt_call(struct attempt *a, rcx_comm_t *comm);
/* Fill the operand for seed, before the next start of a persistent request. */
void attempt_load(struct attempt *a, uint64_t seed);
/* Check result and memory after completion. NULL: all is correct; else a
 * description of the error. */
const char *attempt_check(struct attempt *a);
/* The same without the result. */
const char *attempt_check_rest(struct attempt *a);
/* Free the buffers and the request. */
void attempt_close(struct attempt *a);

/* Make, wait for and check a call; for tests with a process per rank.
 * RCX_ERR_INTERNAL: the check failed, and problem describes the error. */
rcx_status_t call_run(const struct call *call, rcx_comm_t *comm,
                      char problem[256]);

/* Call number k of a sequence that mixes collectives, forms, places and
 * roots. */
struct call call_mixed(const struct kind *kind, size_t count, int size,
                       uint64_t k);

const char *call_text(const struct call *call, char text[200]);

#endif
