/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several vectors that are reduced as one, which is made of them one after
 * another. Where they do not lie so, they are packed when the operation begins,
 * and unpacked when it has ended well.
 */
#ifndef RCX_CORE_RUN_BUNDLE_H
#define RCX_CORE_RUN_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>

struct rcx_context;

struct rcx_part {
    const char *in;
    char *out;
    size_t bytes; /* not 0 */
};

struct rcx_bundle {
    const char *in; /* all of them in a row, given and gotten */
    char *out;
    bool packs, unpacks; /* where these are not the parts' own places */
    void *scratch;       /* that in or out is; NULL: neither */
    size_t bytes;
    struct rcx_bundle *next; /* among those that are kept */
    size_t room, n;
    struct rcx_part parts[];
};

struct rcx_bundles {
    struct rcx_bundle *kept; /* UCX may have something of them yet */
};

/* With room for n parts, and none yet; NULL when memory ran out. */
struct rcx_bundle *rcx_bundle_new(struct rcx_context *context, size_t n);
/* Its parts stand: settle where they are in a row. False: memory ran out. */
bool rcx_bundle_settle(struct rcx_context *context, struct rcx_bundle *b);
void rcx_bundle_pack(struct rcx_bundle *b);
void rcx_bundle_unpack(const struct rcx_bundle *b);
void rcx_bundle_drop(struct rcx_context *context, struct rcx_bundle *b);
/* The same where messages of it may be under way, until the transport is gone. */
void rcx_bundle_keep(struct rcx_context *context, struct rcx_bundle *b);
void rcx_bundles_free(struct rcx_context *context);

#endif
