/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vector list: several vectors that are reduced as one, which is their
 * concatenation. If they are not contiguous, each segment is packed when it
 * starts and unpacked when it has completed. A segment within the result of one
 * vector needs neither.
 */
#ifndef RCX_CORE_RUN_REQUEST_VECLIST_H
#define RCX_CORE_RUN_REQUEST_VECLIST_H

#include "core/run/object/context.h"

struct rcx_part {
    const char *in;
    char *out;
    size_t bytes; /* not 0 */
    size_t at;    /* offset in the one vector */
};

struct rcx_veclist {
    bool packs, unpacks;  /* operands, results are not contiguous */
    size_t bytes;         /* of all parts */
    char *scratch;        /* results of segments in flight; NULL: none */
    size_t segment_bytes; /* of each segment */
    size_t scratch_bytes;
    unsigned segments;        /* in flight at once */
    struct rcx_veclist *next; /* in the list of kept ones */
    size_t room, n;
    struct rcx_part parts[];
};

/* With room for n parts, and none yet. NULL: no memory. */
struct rcx_veclist *rcx_veclist_create(struct rcx_context *context, size_t n);
/* All parts are set: find out whether they are contiguous. */
void rcx_veclist_finish(struct rcx_veclist *b);
/* Make room for so many segments in flight. False: no memory. */
bool rcx_veclist_reserve(struct rcx_context *context, struct rcx_veclist *b,
                         unsigned segments, size_t segment_bytes);
/* Segment n, of bytes from at on: pack its operand, and set where operand and
 * result lie; and unpack its result. */
void rcx_veclist_pack(const struct rcx_veclist *b, uint64_t n, size_t at,
                      size_t bytes, char **in_p, char **out_p);
void rcx_veclist_unpack(const struct rcx_veclist *b, const char *out, size_t at,
                        size_t bytes);
/* Copy bytes of the operand from at on. */
void rcx_veclist_gather(const struct rcx_veclist *b, char *to, size_t at,
                        size_t bytes);
void rcx_veclist_destroy(struct rcx_context *context, struct rcx_veclist *b);
/* The same if messages of it may be in flight: when the transport is closed. */
void rcx_veclist_defer_destroy(struct rcx_context *context,
                               struct rcx_veclist *b);
void rcx_veclists_close(struct rcx_context *context);

#endif
