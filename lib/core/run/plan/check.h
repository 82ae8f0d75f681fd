/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RCX_CHECK=full: before data moves, ranks compare their calls by an allreduce
 * of records. Its op keeps the first two records that differ.
 */
#ifndef RCX_CORE_RUN_PLAN_CHECK_H
#define RCX_CORE_RUN_PLAN_CHECK_H

#include "core/exec/exec.h"
#include "core/op/registry.h"

/* In the order of comparison. */
enum rcx_check_field {
    RCX_CHECK_SAME, /* no difference */
    RCX_CHECK_NUMBER,
    RCX_CHECK_COLLECTIVE,
    RCX_CHECK_COUNT,
    RCX_CHECK_COUNTS,
    RCX_CHECK_TYPE,
    RCX_CHECK_OP,
    RCX_CHECK_ROOT,
    RCX_CHECK_FIELDS
};

struct rcx_check_record {
    int64_t
        value[RCX_CHECK_FIELDS]; /* [SAME]: the field that differs, if any */
    int64_t other;               /* its value on other_rank */
    int32_t rank;
    int32_t other_rank;
    uint64_t balance; /* sum over all ranks: 0 if neighbours send what they
                         receive */
};

_Static_assert(sizeof(struct rcx_check_record) <= RCX_EXEC_OWN_BYTES,
               "an execution has room for one");

/* Type and op of the allreduce of records. Not for users. */
enum { RCX_TYPE_CHECK = -1, RCX_OP_CHECK = -1 };
struct rcx_combine rcx_check_combine(void);

/* What a rank adds to the balance. */
uint64_t rcx_check_balance(const struct rcx_neighbors *n, int rank);

/* "count is 10 on rank 0 and 12 on rank 3" */
void rcx_check_print(const struct rcx_check_record *r, char *text,
                     size_t bytes);

#endif
