/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact sums in messages. Most have few words that say more than the sign, so a
 * short message holds these words alone: for each sum a word of what they are,
 * and then they.
 */
#ifndef RCX_CORE_OP_EXACT_WIRE_H
#define RCX_CORE_OP_EXACT_WIRE_H

#include "core/op/reducer.h"

/* How op sends elements of type; NULL: as they are. */
const struct rcx_wire *rcx_exact_wire_find(rcx_op_t op, rcx_datatype_t type);

#endif
