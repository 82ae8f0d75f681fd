/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looks up algorithms by name in the table, and names order levels. The table
 * itself is in lib/algo.
 */
#include "core/sched/algo.h"

#include <stdio.h>
#include <string.h>

const struct rcx_algo *rcx_algo_find(enum rcx_coll coll, const char *name)
{
    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++)
        if ((*a)->coll == coll && strcmp((*a)->name, name) == 0)
            return *a;
    return NULL;
}

bool rcx_algo_is_left_out(enum rcx_coll coll, const char *name)
{
    char symbol[64];

    snprintf(symbol, sizeof symbol, "rcx_%s_%s", rcx_coll_name(coll), name);
    for (const char *const *left_out = rcx_algo_left_out; *left_out; left_out++)
        if (strcmp(*left_out, symbol) == 0)
            return true;
    return false;
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

bool rcx_algo_any_at_once(enum rcx_coll coll)
{
    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++)
        if ((*a)->coll == coll && (*a)->at_once)
            return true;
    return false;
}

bool rcx_algo_suits_at_once(const struct rcx_shape *s,
                            const struct rcx_algo *forced)
{
    const int most =
        rcx_nodes_linked(s->nodes) ? RCX_FUSED_OPERANDS : RCX_AT_ONCE_OPERANDS;

    return s->size > 2 && s->size <= most &&
           (forced ? forced->at_once : rcx_algo_any_at_once(s->coll));
}
