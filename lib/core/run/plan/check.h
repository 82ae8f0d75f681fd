/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RCX_CHECK=full: before data moves, ranks compare what they call. An
 * allreduce of records, whose op keeps the first two that differ.
 */
#ifndef RCX_CORE_RUN_PLAN_CHECK_H
#define RCX_CORE_RUN_PLAN_CHECK_H

#include "core/exec/exec.h"
#include "core/op/registry.h"

/* In the order in which they are compared. */
enum rcx_check_field {
    RCX_CHECK_SAME, /* nothing differs */
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
    int64_t value[RCX_CHECK_FIELDS]; /* [SAME]: which field differs, if any */
    int64_t other;                   /* its value on other_rank */
    int32_t rank;
    int32_t other_rank;
};

_Static_assert(sizeof(struct rcx_check_record) <= RCX_EXEC_OWN_BYTES,
               "an execution has room for one");

/* Type and op of a call that is a check; of RCX's own alone. */
enum { RCX_TYPE_CHECK = -1, RCX_OP_CHECK = -1 };
struct rcx_combine rcx_check_combine(void);

/* "count is 10 on rank 0 and 12 on rank 3" */
void rcx_check_print(const struct rcx_check_record *r, char *text,
                     size_t bytes);

#endif
