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

struct rcx_bundle {
    bool packs, unpacks;  /* operands, results are not in a row */
    size_t bytes;         /* of all */
    char *scratch;        /* for results of segments under way; NULL: none */
    size_t segment_bytes; /* of each */
    size_t scratch_bytes;
    unsigned segments;       /* under way at once */
    struct rcx_bundle *next; /* among those that are kept */
    size_t room, n;
    struct rcx_part parts[];
};

/* With room for n parts, and none yet; NULL when memory ran out. */
struct rcx_bundle *rcx_bundle_new(struct rcx_context *context, size_t n);
/* Its parts stand: settle where they are in a row. */
void rcx_bundle_settle(struct rcx_bundle *b);
/* Make room for so many segments at once. False: memory ran out. */
bool rcx_bundle_make_room(struct rcx_context *context, struct rcx_bundle *b,
                          unsigned segments, size_t segment_bytes);
/* Segment number n, bytes from at on: where its operand and result are to be,
 * with the operand in place; and its result into the vectors. */
void rcx_bundle_begin(const struct rcx_bundle *b, uint64_t n, size_t at,
                      size_t bytes, char **in_p, char **out_p);
void rcx_bundle_end(const struct rcx_bundle *b, const char *out, size_t at,
                    size_t bytes);
void rcx_bundle_drop(struct rcx_context *context, struct rcx_bundle *b);
/* The same where messages of it may be under way, until the transport is gone. */
void rcx_bundle_keep(struct rcx_context *context, struct rcx_bundle *b);
void rcx_bundles_free(struct rcx_context *context);

#endif
