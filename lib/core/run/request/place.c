/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments that may not be at their offset. */
#include "core/run/request/place.h"

#include "core/run/request/stages.h"
#include "core/run/request/veclist.h"

void rcx_request_find_place(struct rcx_request *r,
                            const struct rcx_piece *piece, struct rcx_exec *x)
{
    char **const base = x->base;

    if (piece->program != r->program && !rcx_request_is_creating(r)) {
        rcx_stage_begin(r, x);
    } else if (r->veclist) {
        rcx_veclist_pack(r->veclist, x->segment,
                         rcx_request_offset(r, piece, x->segment),
                         rcx_request_segment_bytes(piece), &base[RCX_BUFFER_IN],
                         &base[RCX_BUFFER_OUT]);
    } else {
        rcx_request_place(r, piece, x);
    }
}
