/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptions of calls and ranks, the same in all log messages. */
#ifndef RCX_CORE_RUN_DIAG_DESCRIBE_H
#define RCX_CORE_RUN_DIAG_DESCRIBE_H

#include "core/run/object/request.h"

/*
 * The number of a call on its communicator, from 1; RCX's own calls, as for dup
 * and split, count as well. Requests are recorded in the order of their start.
 */
static inline uint64_t rcx_request_number(const struct rcx_request *r)
{
    return 1 + (r->is_recorded ? r->record : r->comm->recorder.next);
}

/* CALL: with the name of the communicator. */
enum { RCX_COMM_TEXT = 96, RCX_CALL_TEXT = 240 };

/* "communicator 4", or "communicator 4 (solver)": its number, and its name if
 * it has one. Returns text. */
const char *rcx_comm_print(const struct rcx_comm *comm,
                           char text[RCX_COMM_TEXT]);

/* "reduce of 24 int64, sum, root 1, number 6 on communicator 1 (world)".
 * Returns text. */
const char *rcx_request_print(const struct rcx_request *r,
                              char text[RCX_CALL_TEXT]);

/* "receive of up to 24 int64 from rank 3, tag 7" */
int rcx_p2p_print(const struct rcx_p2p *p, char *text, size_t bytes);
/* Ranks with which it has messages in flight. Returns how many, at most
 * most. */
int rcx_request_peers(const struct rcx_request *r, int peers[], int most);

enum { RCX_RANK_TEXT = 80 };

/* "3", or "3 on n2" if ranks are on several nodes. Returns text. */
const char *rcx_rank_print(const struct rcx_comm *comm, int rank,
                           char text[RCX_RANK_TEXT]);
/* "; because of rank 3 on n2, 4 on n2", which begins with first. Returns
 * text. */
const char *rcx_ranks_print(const struct rcx_comm *comm, const char *first,
                            const int ranks[], int n, char *text, size_t bytes);

/*
 * With RCX_LOG=info, rank 0 logs what was chosen for the context, and rank 0 of
 * a communicator the method of each new call. With debug every rank does, for
 * RCX's own calls as well.
 */
void rcx_context_describe(const struct rcx_context *context);
void rcx_program_describe(const struct rcx_comm *comm,
                          const struct rcx_program *program);

#endif
