/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several vectors that are reduced as one, which is made of them one after
 * another. Where they do not lie so, each segment of the operation is packed
 * when it begins, and unpacked when it has ended well; one that is in a single
 * vector's result stays there.
 */
#ifndef RCX_CORE_RUN_REQUEST_VECLIST_H
#define RCX_CORE_RUN_REQUEST_VECLIST_H

#include "core/run/object/context.h"

struct rcx_part {
    const char *in;
    char *out;
    size_t bytes; /* not 0 */
    size_t at;    /* in the one vector */
};

struct rcx_veclist {
    bool packs, unpacks;  /* operands, results are not in a row */
    size_t bytes;         /* of all */
    char *scratch;        /* for results of segments under way; NULL: none */
    size_t segment_bytes; /* of each */
    size_t scratch_bytes;
    unsigned segments;        /* under way at once */
    struct rcx_veclist *next; /* among those that are kept */
    size_t room, n;
    struct rcx_part parts[];
};

/* With room for n parts, and none yet; NULL when memory ran out. */
struct rcx_veclist *rcx_veclist_create(struct rcx_context *context, size_t n);
/* Its parts stand: settle where they are in a row. */
void rcx_veclist_finish(struct rcx_veclist *b);
/* Make room for so many segments at once. False: memory ran out. */
bool rcx_veclist_reserve(struct rcx_context *context, struct rcx_veclist *b,
                         unsigned segments, size_t segment_bytes);
/* Segment number n, bytes from at on: where its operand and result are to be,
 * with the operand in place; and its result into the vectors. */
void rcx_veclist_pack(const struct rcx_veclist *b, uint64_t n, size_t at,
                      size_t bytes, char **in_p, char **out_p);
void rcx_veclist_unpack(const struct rcx_veclist *b, const char *out, size_t at,
                        size_t bytes);
void rcx_veclist_destroy(struct rcx_context *context, struct rcx_veclist *b);
/* The same where messages of it may be under way, until the transport is gone. */
void rcx_veclist_defer_destroy(struct rcx_context *context,
                               struct rcx_veclist *b);
void rcx_veclists_close(struct rcx_context *context);

#endif
