/* SPDX-License-Identifier: BSD-3-Clause */
/* What follows from the arguments of a collective: sizes, and where its buffers
 * are relative to each other. */
#ifndef RCX_CORE_API_SIZING_H
#define RCX_CORE_API_SIZING_H

#include "core/api/collective.h"

/* What a rank gives or receives, in elements. */
struct rcx_side {
    const size_t *counts, *displs; /* of blocks of irregular calls */
    size_t count;
    size_t reach; /* of the buffer, with gaps between blocks */
    size_t own;   /* start of this rank's block */
};

/* A checked call: all that follows from its arguments. */
struct rcx_sizing {
    struct rcx_side in, out;
    size_t count; /* of the vector */
    size_t elem_bytes;
};

/* Find out which of the in-place forms this is, if any. RCX_ERR_ARG if a buffer
 * is missing or they overlap, RCX_ERR_UNSUPPORTED if one is a GPU's. */
rcx_status_t rcx_relate_buffers(const struct rcx_arguments *a,
                                const struct rcx_sizing *z,
                                struct rcx_buffers *b);

/* Whether this process can read both. */
static inline bool rcx_are_on_host(struct rcx_context *context,
                                   const struct rcx_buffers *b)
{
    return rcx_is_on_host(&context->gpu, b->in) &&
           rcx_is_on_host(&context->gpu, b->out);
}

#endif
