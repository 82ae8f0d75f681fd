/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looks up algorithms by name in the table, and names order levels. The table
 * itself is in lib/algo/algorithms.c.
 */
#include "core/sched/algo.h"

#include <string.h>

const struct rcx_algo *rcx_algo_find(enum rcx_coll coll, const char *name)
{
    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++)
        if ((*a)->coll == coll && strcmp((*a)->name, name) == 0)
            return *a;
    return NULL;
}

const char *rcx_order_name(rcx_order_t order)
{
    static const char *const names[] = {[RCX_ORDER_LOOSE] = "loose",
                                        [RCX_ORDER_SAME] = "same",
                                        [RCX_ORDER_RANK] = "rank",
                                        [RCX_ORDER_UNIFORM] = "uniform",
                                        [RCX_ORDER_CANONICAL] = "canonical"};

    return names[order];
}
