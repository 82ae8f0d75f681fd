/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What may be in flight on a communicator. Each segment takes a sequence
 * number. Numbers repeat after the tag's sequence window, so an operation
 * stalls while a segment that old is in flight.
 */
#ifndef RCX_CORE_RUN_REQUEST_SEQ_WINDOW_H
#define RCX_CORE_RUN_REQUEST_SEQ_WINDOW_H

#include "core/run/object/comm.h"

/* Move the limit as far as possible. */
void rcx_seq_window_advance(struct rcx_comm *comm);
static inline bool rcx_seq_window_has(struct rcx_comm *comm,
                                      const struct rcx_seq_window *w,
                                      uint64_t number)
{
    if (__builtin_expect(number >= w->limit, 0))
        rcx_seq_window_advance(comm);
    return number < w->limit;
}

/* A number, in tags. */
static inline uint64_t rcx_seq_window_tag(const struct rcx_seq_window *w,
                                          uint64_t number)
{
    return number << w->sequence_shift & w->sequence_mask;
}

/* The communicator and the mark of the last call, in tags. */
static inline uint64_t rcx_seq_window_mark(const struct rcx_seq_window *w)
{
    return w->tag ^ w->mark;
}

/* The same for the next call. */
static inline uint64_t rcx_seq_window_next_mark(struct rcx_seq_window *w)
{
    w->mark = (w->mark - w->mark_mask) & w->mark_mask;
    return rcx_seq_window_mark(w);
}

/* r waits for a number. */
void rcx_seq_window_stall(struct rcx_seq_window *w, struct rcx_request *r);

/* Operations behind r wait until its prologue has completed. */
void rcx_seq_window_gate(struct rcx_seq_window *w, struct rcx_request *r);

/* Return the numbers that r will not use to the operations after it. */
void rcx_seq_window_return(struct rcx_seq_window *w, struct rcx_request *r);

/* The piece for the next segment of r: piece, or the acknowledged one. */
struct rcx_piece *rcx_seq_window_choose_piece(struct rcx_request *r,
                                              struct rcx_piece *piece);

#endif
