/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call that is a phase of another schedule: its ranks are a group there, its
 * IN and OUT are parts of longer ones. The steps of its ranks outside are
 * simulated, by the members alone; the others are shown to have none.
 */
#ifndef RCX_SIM_FRAMED_H
#define RCX_SIM_FRAMED_H

#include "sim/simulate.h"

struct simulated_frame {
    int size;           /* ranks outside */
    const int *members; /* the ranks outside that are the call's */
    int first, stride;  /* as members says; stride 0: they are listed */
    bool in_scratch;    /* in and out are copied to and from scratch */
};

/* Elements of IN and OUT, apart, in front of the call's; a memory has at least
 * as many guards. One is behind them. */
enum { FRAMED_IN_AT = 2, FRAMED_OUT_AT = 1 };

/* The schedule outside of rank s of the call, of shape *whole, which stays
 * valid until b is finished. */
void framed_write(struct rcx_builder *b, const struct simulated_call *call,
                  const struct rcx_shape *s, struct rcx_shape *whole);

/* Number the peers of rank's plan as members. False: s->text says why. */
bool framed_take(struct simulation *s, const struct simulated_call *call,
                 struct simulated_rank *rank);

/* Whether ranks outside that are no members have nothing to do. */
bool framed_check_others(struct simulation *s, struct rcx_builder *b,
                         const struct simulated_call *call);

#endif
