/* SPDX-License-Identifier: BSD-3-Clause */
/* What the log says of calls: the same words and numbers everywhere. */
#ifndef RCX_CORE_RUN_DIAG_DESCRIBE_H
#define RCX_CORE_RUN_DIAG_DESCRIBE_H

#include "core/run/object/request.h"

/*
 * Calls of a communicator count from 1, RCX's own among them: dup, split. A
 * request is recorded in the order of its start, the newest one last.
 */
static inline uint64_t rcx_request_number(const struct rcx_request *r)
{
    return 1 + (r->is_recorded ? r->record : r->comm->recorder.next);
}

enum { RCX_CALL_TEXT = 160 };

/* "reduce of 24 int64, sum, root 1, number 6 on communicator 1". Returns
 * text. */
const char *rcx_request_print(const struct rcx_request *r,
                              char text[RCX_CALL_TEXT]);

/* "receive of up to 24 int64 from rank 3, tag 7" */
int rcx_p2p_print(const struct rcx_p2p *p, char *text, size_t bytes);
/* Ranks that it has messages with under way; how many, at most most. */
int rcx_request_peers(const struct rcx_request *r, int peers[], int most);

enum { RCX_RANK_TEXT = 80 };

/* "3", or where ranks are on several nodes "3 on n2". Returns text. */
const char *rcx_rank_print(const struct rcx_comm *comm, int rank,
                           char text[RCX_RANK_TEXT]);
/* "; because of rank 3 on n2, 4 on n2", where that is how first begins. Returns
 * text. */
const char *rcx_ranks_print(const struct rcx_comm *comm, const char *first,
                            const int ranks[], int n, char *text, size_t bytes);

/*
 * With RCX_LOG=info, rank 0 tells what was chosen for the context, and rank 0
 * of a communicator the method of each call that is new; with debug every rank
 * tells, of RCX's own calls, too.
 */
void rcx_context_describe(const struct rcx_context *context);
void rcx_program_describe(const struct rcx_comm *comm,
                          const struct rcx_program *program);

#endif
