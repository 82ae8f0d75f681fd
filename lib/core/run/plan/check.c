/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RCX_CHECK=full: combines and prints records of calls.
 */
#include "core/run/plan/check.h"

#include "core/base/hash.h"
#include "core/op/types.h"
#include "core/sched/coll.h"

/* dst = the lower rank's record, with the first difference between the two,
 * unless one of them has a difference already. */
static void compare(struct rcx_check_record *dst,
                    const struct rcx_check_record *left,
                    const struct rcx_check_record *right)
{
    const bool keeps_right =
        !left->value[RCX_CHECK_SAME] && right->value[RCX_CHECK_SAME];
    const uint64_t balance = left->balance + right->balance;
    struct rcx_check_record r = keeps_right ? *right : *left;

    r.balance = balance;

    for (int i = 1; i < RCX_CHECK_FIELDS && !r.value[RCX_CHECK_SAME]; i++) {
        if (left->value[i] == right->value[i])
            continue;
        r.value[RCX_CHECK_SAME] = i;
        r.other = right->value[i];
        r.other_rank = right->rank;
    }
    *dst = r;
}

static int compare_all(void *dst, const void *left, const void *right,
                       size_t count, rcx_datatype_t type, void *arg)
{
    (void)type, (void)arg;
    for (size_t i = 0; i < count; i++)
        compare((struct rcx_check_record *)dst + i,
                (const struct rcx_check_record *)left + i,
                (const struct rcx_check_record *)right + i);
    return 0;
}

struct rcx_combine rcx_check_combine(void)
{
    return (struct rcx_combine){
        .reducer = {.fn = compare_all,
                    .type = RCX_TYPE_CHECK,
                    .elem_bytes = sizeof(struct rcx_check_record)},
        .exact = true,
        .fingerprint = UINT32_MAX};
}

/* A number for the k-th block from one rank to another. */
static uint64_t hash_edge(size_t from, size_t to, uint64_t k, size_t count)
{
    return rcx_hash(rcx_hash(rcx_hash(from, to), k), count);
}

uint64_t rcx_check_balance(const struct rcx_neighbors *n, int rank)
{
    const size_t *const lists[] = {n->to, n->from};
    const size_t ends[] = {n->tos * RCX_EDGE_NUMBERS,
                           n->froms * RCX_EDGE_NUMBERS};
    const size_t own = (size_t)rank;
    uint64_t sum = 0;

    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < ends[side]; i += RCX_EDGE_NUMBERS) {
            const size_t *const edge = lists[side] + i;
            uint64_t k = 0;

            for (size_t j = 0; j < i; j += RCX_EDGE_NUMBERS)
                k += lists[side][j] == edge[RCX_EDGE_RANK];
            sum += side == 0
                       ? hash_edge(own, edge[0], k, edge[RCX_EDGE_COUNT])
                       : -hash_edge(edge[0], own, k, edge[RCX_EDGE_COUNT]);
        }
    return sum;
}

/* Print a value as the user knows it. */
static void print_value(int64_t field, int64_t value, char *text, size_t bytes)
{
    const struct rcx_type_info *type =
        rcx_type_predefined((rcx_datatype_t)value);
    const struct rcx_op_info *op = rcx_op_predefined((rcx_op_t)value);

    if (field == RCX_CHECK_COLLECTIVE && value >= 0 && value < RCX_COLL_COUNT)
        snprintf(text, bytes, "%s", rcx_coll_name((enum rcx_coll)value));
    else if (field == RCX_CHECK_COLLECTIVE)
        snprintf(text, bytes,
                 "rcx_comm_set() or the creation of a communicator");
    else if (field == RCX_CHECK_TYPE && value < 0)
        snprintf(text, bytes, "a user-defined one of %lld bytes",
                 -(long long)value);
    else if (field == RCX_CHECK_TYPE && type)
        snprintf(text, bytes, "%s", type->name);
    else if (field == RCX_CHECK_OP && value < 0)
        snprintf(text, bytes, "a user-defined one with flags %lld",
                 -(long long)value - 1);
    else if (field == RCX_CHECK_OP && op)
        snprintf(text, bytes, "%s", op->name);
    else
        snprintf(text, bytes, "%lld", (long long)value);
}

void rcx_check_print(const struct rcx_check_record *r, char *text, size_t bytes)
{
    static const char *const names[RCX_CHECK_FIELDS] = {
        [RCX_CHECK_SAME] = "nothing",
        [RCX_CHECK_NUMBER] = "the call's number",
        [RCX_CHECK_COLLECTIVE] = "the collective",
        [RCX_CHECK_COUNT] = "count",
        [RCX_CHECK_COUNTS] = "the hash of the counts",
        [RCX_CHECK_TYPE] = "datatype",
        [RCX_CHECK_OP] = "op",
        [RCX_CHECK_ROOT] = "root"};
    const int64_t field = r->value[RCX_CHECK_SAME];
    char mine[64], other[64];

    print_value(field, r->value[field], mine, sizeof mine);
    print_value(field, r->other, other, sizeof other);
    snprintf(text, bytes, "%s is %s on rank %d and %s on rank %d", names[field],
             mine, r->rank, other, r->other_rank);
}
