/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What may be in flight on a communicator. Each segment takes a sequence number.
 * Numbers repeat after the tag's sequence window, so an operation stalls while a
 * segment that old is still outstanding.
 */
#ifndef RCX_CORE_RUN_REQUEST_SEQ_WINDOW_H
#define RCX_CORE_RUN_REQUEST_SEQ_WINDOW_H

#include "core/run/object/comm.h"

/* Move the limit as far as can be. */
void rcx_seq_window_advance(struct rcx_comm *comm);
static inline bool rcx_seq_window_has(struct rcx_comm *comm,
                                      const struct rcx_seq_window *w,
                                      uint64_t number)
{
    if (__builtin_expect(number >= w->limit, 0))
        rcx_seq_window_advance(comm);
    return number < w->limit;
}

/* What a number is in tags. */
static inline uint64_t rcx_seq_window_tag(const struct rcx_seq_window *w,
                                          uint64_t number)
{
    return number << w->sequence_shift & w->sequence_mask;
}

/* What the next call has in its tags. */
static inline uint64_t rcx_seq_window_next_mark(struct rcx_seq_window *w)
{
    w->mark = (w->mark - w->mark_mask) & w->mark_mask;
    return w->mark;
}

/* r waits for a number. */
void rcx_seq_window_stall(struct rcx_seq_window *w, struct rcx_request *r);

/* Those that start after r wait for the verdict on it. */
void rcx_seq_window_gate(struct rcx_seq_window *w, struct rcx_request *r);

/* The numbers that r was to use yet go to those after it. */
void rcx_seq_window_return(struct rcx_seq_window *w, struct rcx_request *r);

/* The piece to use for the next segment of r, which is one of piece's: with
 * credits now and then. */
struct rcx_piece *rcx_seq_window_choose_piece(struct rcx_request *r,
                                              struct rcx_piece *piece);

#endif
