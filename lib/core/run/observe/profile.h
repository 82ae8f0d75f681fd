/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The profile of RCX_PROFILE: how many calls of what kind a rank has made, and
 * how long they took. A row has the calls of one communicator, collective,
 * form, class of bytes and algorithm. Rows are made when a call is compiled, so
 * that a call allocates nothing; the lock of the context protects them.
 *
 * Reading the clock takes 2 to 3 % of a short call. So calls that complete
 * within their first polls are timed in samples, and all others always. A call
 * is sampled by a hash of its sequence number, which is the same on all of its
 * ranks: at finalize the samples of all ranks are compared, which tells when
 * the latest rank came.
 */
#ifndef RCX_CORE_RUN_OBSERVE_PROFILE_H
#define RCX_CORE_RUN_OBSERVE_PROFILE_H

#include "core/run/object/comm.h"

enum rcx_form { RCX_FORM_BLOCKING, RCX_FORM_REQUEST, RCX_FORMS };

enum {
    RCX_PROFILE_SAMPLES = 256,    /* of a row */
    RCX_PROFILE_INTERRUPTED = 64, /* times the usual time */
    RCX_PROFILE_ROWS = 512,       /* of a rank; the last one takes the rest */
    RCX_PROFILE_SITES = 256,      /* a power of two */
    RCX_PROFILE_NO_CLASS = 0xff   /* bytes differ between ranks */
};

/* What the calls of a row have in common. */
struct rcx_profile_key {
    uint32_t comm, group; /* which tell communicators apart: see rcx_comm */
    int32_t rank, size;   /* of the communicator */
    int32_t first;        /* rank of the context of its rank 0 */
    const struct rcx_algo *algo; /* NULL: several, as in the row of the rest */
    uint8_t coll, form;
    uint8_t bytes; /* class: 0: none, n: from 4^(n - 1) to 4^n - 1 */
};

/* Times in ticks. */
struct rcx_profile_sample {
    uint64_t sequence; /* of the call's first segment */
    uint64_t begin, took;
    int64_t root; /* rank of the communicator */
};

struct rcx_profile_row {
    uint64_t calls, bytes;
    uint64_t limit; /* calls whose hash is up to this are sampled */
    unsigned shift; /* that is one of 2^shift */
    unsigned samples;
    uint64_t slow_calls, slow_ticks; /* each stands for itself */
    /* quick ones that were timed, each with the number of calls that it stands
     * for */
    uint64_t quick_weight, quick_ticks;
    uint64_t recent[3]; /* ticks of the last quick ones that were timed */
    uint64_t longest;   /* ticks */
    struct rcx_profile_key key;
    struct rcx_profile_row *next;
    struct rcx_profile_sample sample[RCX_PROFILE_SAMPLES];
};

/* A place in the program that calls RCX. */
struct rcx_profile_site {
    const void *address; /* to which the call returns; NULL: unused */
    uint64_t calls, ticks;
    uint8_t coll, form;
};

struct rcx_profile {
    struct rcx_profile_row *first, *rest;
    unsigned rows;
    struct rcx_instant begin;
    struct rcx_profile_site sites[RCX_PROFILE_SITES];
};

/* NULL: no memory. */
struct rcx_profile *rcx_profile_create(struct rcx_heap *heap);
void rcx_profile_free(struct rcx_profile *p, struct rcx_heap *heap);

/* The row of the calls of e, which is compiled except its pieces. NULL: no
 * memory, and these calls are not counted. */
struct rcx_profile_row *rcx_profile_row(struct rcx_comm *comm,
                                        const struct rcx_program *e,
                                        enum rcx_form form);

/* Keep about half of the samples, the same ones on all ranks. */
void rcx_profile_thin(struct rcx_profile_row *row);

/* Whether the call with that number is timed in any case. */
static inline bool rcx_profile_samples(const struct rcx_profile_row *row,
                                       uint64_t sequence)
{
    return sequence * UINT64_C(0x9e3779b97f4a7c15) <= row->limit;
}

/* A call that has been timed is over. quick: within its first polls. */
struct rcx_timed_call {
    uint64_t sequence, begin, end;
    const void *site; /* NULL: not known */
    int root;
    bool quick;
};
void rcx_profile_add(struct rcx_profile *p, struct rcx_profile_row *row,
                     const struct rcx_timed_call *call);

/* Time of all calls of a row, in ticks: quick ones by those that were timed. */
double rcx_profile_ticks(const struct rcx_profile_row *row);

#endif
