/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One collective call of one rank, from data to verdict, through the public
 * API: operands and expectation by serial.h, canaries around the buffers, a
 * checksum of what must not be written.
 */
#ifndef RCX_TESTS_TRIAL_H
#define RCX_TESTS_TRIAL_H

#include "serial.h"

enum trial_coll {
    TRIAL_ALLREDUCE,
    TRIAL_REDUCE,
    TRIAL_REDUCE_SCATTER, /* irregular blocks, empty ones among them */
    TRIAL_REDUCE_SCATTER_BLOCK,
    TRIAL_COLLS
};

enum trial_form {
    TRIAL_BLOCKING,
    TRIAL_NONBLOCKING,
    TRIAL_PERSISTENT,
    TRIAL_FORMS
};

enum trial_place {
    TRIAL_SEPARATE,
    TRIAL_IN_PLACE,  /* RCX_IN_PLACE */
    TRIAL_SAME,      /* sendbuf == recvbuf */
    TRIAL_OWN_BLOCK, /* reduce_scatter's third form; else as TRIAL_SAME */
    TRIAL_PLACES
};

/* What ranks agree on, but for place. */
struct trial {
    enum trial_coll coll;
    enum trial_form form;
    enum trial_place place;
    struct serial_kind kind;
    size_t count; /* of the vector; of blocks times size at most */
    int root;
    uint64_t seed;
};

/* One rank's side of it. */
struct attempt {
    struct trial trial;
    int rank, size;
    size_t *blocks;   /* recvcounts */
    size_t own;       /* where the own block begins */
    size_t out_count; /* of the result here */
    char *memory[2];  /* sendbuf and recvbuf with their canaries */
    size_t bytes[2];  /* without */
    char *operand, *result;
    const void *sendbuf; /* as passed to the call */
    void *recvbuf;
    uint64_t checksum; /* of the operand, unless in place */
    rcx_request_t *request;
    char problem[256];
};

/* Prepare buffers; data is there for trial->seed. */
void attempt_open(struct attempt *a, const struct trial *trial,
                  rcx_comm_t *comm);
/* Make the call, or create the request; a persistent one is not started. */
rcx_status_t attempt_call(struct attempt *a, rcx_comm_t *comm);
/* New data, for a persistent request's next start. */
void attempt_load(struct attempt *a, uint64_t seed);
/* After completion. NULL if all is as it must be, else what is wrong. */
const char *attempt_check(struct attempt *a);
/* Frees the request as well. */
void attempt_close(struct attempt *a);

/* All of it at once, for a process per rank; RCX_ERR_INTERNAL: a wrong result,
 * and problem says which. */
rcx_status_t trial_run(const struct trial *trial, rcx_comm_t *comm,
                       char problem[256]);

/* The k-th of many trials that mix collectives, forms and places. */
struct trial trial_mixed(const struct serial_kind *kind, size_t count, int size,
                         uint64_t k);

const char *trial_text(const struct trial *trial, char text[200]);

#endif
