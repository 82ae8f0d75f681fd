/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flight recorder: the last operations of a communicator, for dumps
 * (core/run/dump.h). It runs with every operation, so a record is a few stores and
 * two readings of the CPU's ticks: no lock, no system call, and no allocation
 * but that of the ring, once.
 *
 *     number = rcx_recorder_begin(&comm->recorder, like, sequence,
 *                                 rcx_ticks());
 *     ...
 *     rcx_recorder_end(&comm->recorder, number, status, rcx_ticks());
 */
#ifndef RCX_CORE_RECORDER_H
#define RCX_CORE_RECORDER_H

#include "core/base/clock.h"
#include "core/base/heap.h"
#include "rcx/rcx.h"

struct rcx_algo;

enum { RCX_RECORDER_DEPTH = 1024 }; /* a power of two */

enum rcx_record_state {
    RCX_RECORD_STARTED,
    RCX_RECORD_DONE,
    RCX_RECORD_FAILED
};

struct rcx_record {
    uint64_t begin;              /* ticks */
    uint64_t end;                /* ticks, once it is over */
    uint64_t sequence;           /* of the caller: its number among the calls */
    uint64_t count;              /* of the caller: elements */
    uint64_t segment;            /* of the caller: elements; 0: one piece */
    const struct rcx_algo *algo; /* of the caller */
    rcx_datatype_t type;         /* of the caller */
    rcx_op_t op;                 /* of the caller */
    int root;                    /* of the caller */
    uint8_t coll;                /* of the caller: an enum rcx_coll */
    uint8_t state;               /* an enum rcx_record_state */
    int16_t status;              /* an rcx_status_t */
};
_Static_assert(sizeof(struct rcx_record) == 64, "a record is a cache line");

/* Stays where it is: slots may point into it. */
struct rcx_recorder {
    struct rcx_record *slots; /* NULL: not opened yet */
    uint64_t mask;            /* number of slots - 1 */
    uint64_t next;            /* number of the next record, from 0 */
    struct rcx_instant born;
    struct rcx_heap *heap;
    struct rcx_record scratch; /* the only slot where memory ran out */
};

void rcx_recorder_init(struct rcx_recorder *r, struct rcx_heap *heap);
void rcx_recorder_free(struct rcx_recorder *r);

/*
 * Allocate the ring, unless it is there. The first record does it, too: this is
 * for those who may allocate now, and not then. Its memory is not touched
 * before it is used, so that idle communicators cost address space only.
 */
void rcx_recorder_open(struct rcx_recorder *r);

/* The next record, in place of the oldest, of an operation begun at ticks; like
 * says the rest: a record of state STARTED and status RCX_IN_PROGRESS. Returns
 * its number. */
static inline uint64_t rcx_recorder_begin(struct rcx_recorder *r,
                                          const struct rcx_record *like,
                                          uint64_t sequence, uint64_t ticks)
{
    struct rcx_record *record;

    if (__builtin_expect(!r->slots, 0))
        rcx_recorder_open(r);
    record = &r->slots[r->next & r->mask];
    *record = *like;
    record->sequence = sequence;
    record->begin = ticks;
    return r->next++;
}

/* The operation whose record has that number is over. By then a later one may
 * have its place. */
static inline void rcx_recorder_end(struct rcx_recorder *r, uint64_t number,
                                    rcx_status_t status, uint64_t ticks)
{
    struct rcx_record *record = &r->slots[number & r->mask];

    if (r->next - number > r->mask + 1)
        return;
    record->state = status == RCX_OK ? RCX_RECORD_DONE : RCX_RECORD_FAILED;
    record->status = (int16_t)status;
    record->end = ticks;
}

/* Numbers from here to next are kept, the rest is overwritten. */
static inline uint64_t rcx_recorder_oldest(const struct rcx_recorder *r)
{
    return r->next > r->mask ? r->next - r->mask - 1 : 0;
}

static inline const struct rcx_record *
rcx_recorder_at(const struct rcx_recorder *r, uint64_t number)
{
    return &r->slots[number & r->mask];
}

#endif
