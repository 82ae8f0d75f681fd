/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What watches calls of users while RCX_PROFILE or RCX_TRACE is set: a profile,
 * a recording, and the offset of this machine's clock. Without these variables
 * a context has no observer, and its programs take paths that never ask for
 * one.
 */
#ifndef RCX_CORE_RUN_OBSERVE_OBSERVER_H
#define RCX_CORE_RUN_OBSERVE_OBSERVER_H

#include "core/run/object/request.h"
#include "core/run/observe/profile.h"
#include "core/run/observe/recording.h"

/* One measurement: this machine's clock less that of rank 0. */
struct rcx_clock_mark {
    uint64_t at_ns; /* on this machine's clock */
    int64_t offset_ns;
    int64_t error_ns; /* the true offset is at most so far away */
};

enum { RCX_CLOCK_MARKS = 2 }; /* start and end */

struct rcx_observer {
    struct rcx_profile *profile;     /* NULL: none */
    struct rcx_recording *recording; /* NULL: none */
    unsigned marks;
    struct rcx_clock_mark mark[RCX_CLOCK_MARKS];
};

/* Opens what the configuration asks for. The transport is open. */
rcx_status_t rcx_observer_open(struct rcx_context *context);
/* To be called when the transport is closed. */
void rcx_observer_close(struct rcx_context *context);

/* A time of this machine on rank 0's clock: by the line through both
 * measurements, or by the only one. */
int64_t rcx_observer_align(const struct rcx_observer *o, uint64_t ns);

/* Finds the rows of a program that is compiled except its pieces, if it is of a
 * user's call, and marks it as observed. */
void rcx_observer_adopt(struct rcx_comm *comm, struct rcx_program *e);

/* A nonblocking call has begun, or is over. */
void rcx_observe_start(struct rcx_request *r);
void rcx_observe_end(const struct rcx_request *r, uint64_t now);

#endif
