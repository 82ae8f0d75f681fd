/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packed messages (struct rcx_wire) in the executor. The data of each message
 * decides whether it is packed; its receiver tells by the length.
 */
#ifndef RCX_CORE_EXEC_PACKED_H
#define RCX_CORE_EXEC_PACKED_H

#include "core/exec/exec.h"

/* Whether the data of a message may be packed. */
static inline bool rcx_packed_may_be(const struct rcx_exec *x,
                                     const struct rcx_step *step)
{
    const struct rcx_wire *wire = x->reducer->wire;

    return wire && step->count <= wire->most;
}

/* The data of send m: packed, if it becomes short enough and x->own is free;
 * else as it is. *bytes: its length; 0 stays. */
const void *rcx_packed_data(struct rcx_exec *x, const struct rcx_message *m,
                            size_t *bytes);

/* Take what m has received: combine it with the other operand of its sink, if
 * the sink is ready and can, or else unpack it in its place. False: it is not
 * packed data. */
bool rcx_packed_take(struct rcx_exec *x, const struct rcx_message *m,
                     bool is_sink_ready);

#endif
