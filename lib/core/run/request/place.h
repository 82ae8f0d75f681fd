/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the segments of a request lie in its buffers. */
#ifndef RCX_CORE_RUN_REQUEST_PLACE_H
#define RCX_CORE_RUN_REQUEST_PLACE_H

#include "core/run/object/request.h"

/* The offset of a segment in each block, in bytes. */
static inline size_t rcx_request_offset(const struct rcx_request *r,
                                        const struct rcx_piece *piece,
                                        uint64_t segment)
{
    const struct rcx_row *row = &piece->row;
    const uint64_t number = segment - r->first - (piece->end - row->segments);

    return (row->first + number * row->width) *
           piece->program->combine.reducer.elem_bytes;
}

/* In integers: a rank without operand or result may have no buffer, and C adds
 * nothing to NULL, not even zero. */
static inline char *rcx_request_move(char *buffer, size_t bytes)
{
    return (char *)((uintptr_t)buffer + bytes);
}

static inline size_t rcx_request_segment_bytes(const struct rcx_piece *piece)
{
    return piece->row.width * piece->program->combine.reducer.elem_bytes;
}

/* Place a segment at its offset. */
static inline void rcx_request_place(const struct rcx_request *r,
                                     const struct rcx_piece *piece,
                                     struct rcx_exec *x)
{
    const struct rcx_stage *stage = r->stage;
    const size_t offset = rcx_request_offset(r, piece, x->segment);

    x->base[RCX_BUFFER_IN] = rcx_request_move(stage->in, offset);
    x->base[RCX_BUFFER_OUT] = rcx_request_move(stage->out, offset);
}

/* The same where segments may not be at their offset (RCX_REQUEST_PLACED). */
void rcx_request_find_place(struct rcx_request *r,
                            const struct rcx_piece *piece, struct rcx_exec *x);

#endif
