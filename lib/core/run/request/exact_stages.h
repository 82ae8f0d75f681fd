/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stages of RCX_SUM_FLOAT and of RCX_SUM_EXACT, and of their averages.
 *
 * Numbers to be summed in float are converted to floats, for which the
 * collective is carried out, and the result is rounded. The call is divided
 * into equal chunks, the last one padded: so all have one program, and all
 * elements are summed alike, as RCX_ORDER_UNIFORM requires.
 *
 * For exact sums (core/op/exact_vector.h) a call is divided into
 * chunks, the same elements of every rank's block, which run one after another
 * in two stages each: an allreduce of the ranges of all blocks of numbers, by
 * which ranks agree on forms, and the collective itself on integers, the
 * numbers in these forms. So memory is bounded by that of a chunk, and the
 * count of stages by the user's count alone.
 */
#ifndef RCX_CORE_RUN_REQUEST_EXACT_STAGES_H
#define RCX_CORE_RUN_REQUEST_EXACT_STAGES_H

#include "core/run/object/request.h"

/* r has one stage, the call, which becomes that of the numbers or floats. */
rcx_status_t rcx_exact_add_stages(struct rcx_request *r);
void rcx_exact_free(struct rcx_request *r);
/* The segments of all chunks but one. */
uint64_t rcx_exact_more_segments(const struct rcx_request *r);

/* Whether r is in the second stage of a chunk. */
static inline bool rcx_request_is_exact_numbers(const struct rcx_request *r)
{
    return r->stage->program->call.role == RCX_CALL_NUMBERS;
}

/* A stage of r is about to start, has completed. */
void rcx_exact_stage_begin(struct rcx_request *r, struct rcx_exec *x);
rcx_status_t rcx_exact_stage_end(struct rcx_request *r, struct rcx_exec *x);

#endif
