/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flight recorder: the last operations of a communicator, for dumps
 * (core/run/diag/dump.h). It runs with every operation, so an entry is two
 * stores: no lock, no system call, and no allocation but that of its rings,
 * once.
 *
 *     number = rcx_recorder_begin(&comm->recorder, &record, rcx_ticks());
 *     ...
 *     rcx_recorder_end(&comm->recorder, number, status, rcx_ticks());
 *
 * Entries are a quarter of a cache line, and what operations are is kept apart
 * from them, once for all that are alike. For a ring that short calls fill goes
 * through the innermost cache: with 64 bytes an entry it threw out, call after
 * call, what the next one needed, and cost up to a third of its time.
 */
#ifndef RCX_CORE_RUN_OBJECT_RECORDER_H
#define RCX_CORE_RUN_OBJECT_RECORDER_H

#include "core/base/clock.h"
#include "core/base/heap.h"
#include "core/base/status_page.h"
#include "rcx/rcx.h"

struct rcx_algo;

enum { RCX_RECORDER_DEPTH = 512 }; /* a power of two */

/* Describes an operation; filled in by the caller. */
struct rcx_record {
    uint64_t count;   /* elements */
    uint64_t segment; /* elements; 0: one piece */
    const struct rcx_algo *algo;
    rcx_datatype_t type;
    rcx_op_t op;
    int root;
    uint8_t coll;    /* an enum rcx_coll */
    uint16_t place;  /* of its copy in the recorder */
    uint64_t number; /* number of that copy; 0: none yet */
};

struct rcx_entry {
    uint64_t begin;  /* ticks */
    uint32_t took;   /* see rcx_took() */
    uint16_t record; /* place of its record */
    int16_t status;  /* rcx_status_t; RCX_IN_PROGRESS: in flight */
};

/* Must not move: slots may point into it. */
struct rcx_recorder {
    struct rcx_entry *slots;        /* NULL: not opened yet */
    uint64_t mask;                  /* number of slots - 1 */
    uint64_t next;                  /* number of the next entry, from 0 */
    struct rcx_record *records;     /* two for each slot */
    uint64_t described;             /* records so far, plus mask + 1 */
    struct rcx_status_calls *calls; /* for rcx_top; never NULL */
    struct rcx_instant born;
    struct rcx_heap *heap;
    struct rcx_entry scratch; /* the only slot if memory ran out */
    struct rcx_record scratch_records[2];
    struct rcx_status_calls unseen; /* if rcx_top cannot read them */
};

void rcx_recorder_init(struct rcx_recorder *r, struct rcx_heap *heap);
void rcx_recorder_free(struct rcx_recorder *r);

/*
 * Allocate the rings, unless that is done. The first entry does it as well;
 * this is for callers that may not allocate then. Their memory is not touched
 * before its use, so that idle communicators cost address space only.
 */
void rcx_recorder_open(struct rcx_recorder *r);

/* Copy the record. The copy stays valid as long as entries refer to it: for up
 * to a ring's length after the last one. */
void rcx_recorder_describe(struct rcx_recorder *r, struct rcx_record *record);

/* Add an entry, in place of the oldest, for an operation that began at ticks.
 * It has completed, unless status is RCX_IN_PROGRESS. */
static inline void rcx_recorder_add(struct rcx_recorder *r,
                                    struct rcx_record *record, uint64_t ticks,
                                    rcx_status_t status)
{
    if (__builtin_expect(r->described - record->number > r->mask, 0))
        rcx_recorder_describe(r, record);
    r->slots[r->next++ & r->mask] = (struct rcx_entry){
        .begin = ticks, .record = record->place, .status = (int16_t)status};
    rcx_status_note_call(r->calls, r->next, ticks);
}

/* Add an entry for an operation in flight. Returns its number. */
static inline uint64_t rcx_recorder_begin(struct rcx_recorder *r,
                                          struct rcx_record *record,
                                          uint64_t ticks)
{
    rcx_recorder_add(r, record, ticks, RCX_IN_PROGRESS);
    return r->next - 1;
}

/* Ticks in 32 bits: exact for about a second, then to some thousands of ticks.
 * Clocks of cores may differ slightly. */
enum { RCX_TOOK_SHIFT = 12 };
#define RCX_TOOK_LONG (UINT32_C(1) << 31)
static inline uint32_t rcx_took(uint64_t begin, uint64_t end)
{
    const uint64_t ticks = end - begin;

    if (__builtin_expect(ticks < RCX_TOOK_LONG, 1))
        return (uint32_t)ticks;
    if ((int64_t)ticks < 0)
        return 0;
    return ticks >> RCX_TOOK_SHIFT < RCX_TOOK_LONG
               ? RCX_TOOK_LONG | (uint32_t)(ticks >> RCX_TOOK_SHIFT)
               : UINT32_MAX;
}

/* The operation of this number has completed. A later one may have overwritten
 * its entry. */
static inline void rcx_recorder_end(struct rcx_recorder *r, uint64_t number,
                                    rcx_status_t status, uint64_t ticks)
{
    struct rcx_entry *entry = &r->slots[number & r->mask];

    if (r->next - number > r->mask + 1)
        return;
    entry->status = (int16_t)status;
    entry->took = rcx_took(entry->begin, ticks);
}

/* The newest entry, recorded as complete, is in flight. Returns its number. */
static inline uint64_t rcx_recorder_reopen(struct rcx_recorder *r)
{
    const uint64_t number = r->next - 1;

    r->slots[number & r->mask].status = RCX_IN_PROGRESS;
    return number;
}

/* Entries from here to next are kept. */
static inline uint64_t rcx_recorder_oldest(const struct rcx_recorder *r)
{
    return r->next > r->mask ? r->next - r->mask - 1 : 0;
}

static inline const struct rcx_entry *
rcx_recorder_at(const struct rcx_recorder *r, uint64_t number)
{
    return &r->slots[number & r->mask];
}

/* The operation of an entry. */
static inline const struct rcx_record *
rcx_recorder_of(const struct rcx_recorder *r, const struct rcx_entry *entry)
{
    return &r->records[entry->record];
}

/* When it ended, in ticks. */
static inline uint64_t rcx_entry_ended(const struct rcx_entry *entry)
{
    const uint64_t took = entry->took;

    return entry->begin + (took < RCX_TOOK_LONG
                               ? took
                               : (took - RCX_TOOK_LONG) << RCX_TOOK_SHIFT);
}

#endif
