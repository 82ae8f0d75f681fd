/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulates a call as a phase of an outer schedule. The ranks of the call are a
 * group of the outer ranks, and IN and OUT are parts of longer outer buffers.
 * Only members of the group are simulated; framed_check_others() proves that
 * the other outer ranks have no steps.
 */
#ifndef RCX_SIM_FRAMED_H
#define RCX_SIM_FRAMED_H

#include "sim/simulate.h"

struct simulated_frame {
    int size;           /* number of outer ranks */
    const int *members; /* outer rank of each rank of the call */
    int first, stride; /* describe members, too; stride 0: members are a list */
    bool in_scratch;   /* in and out are copied to and from scratch */
};

/* Number of outer elements before those of the call, if IN and OUT do not
 * alias. One element follows them. Buffers of a run need at least as many guard
 * elements. */
enum { FRAMED_IN_AT = 2, FRAMED_OUT_AT = 1 };

/* Write the outer schedule of rank s->rank of the call into b. Stores its shape
 * in *whole, which must stay valid until b is finished. */
void framed_write(struct rcx_builder *b, const struct simulated_call *call,
                  const struct rcx_shape *s, struct rcx_shape *whole);

/* Translate the peers in rank's plan from outer ranks to ranks of the call, and
 * set in_at and out_at. False: s->text says why. */
bool framed_take(struct simulation *s, const struct simulated_call *call,
                 struct simulated_rank *rank);

/* Whether outer ranks that are not members have no steps. False: s->text says
 * why. */
bool framed_check_others(struct simulation *s, struct rcx_builder *b,
                         const struct simulated_call *call);

#endif
