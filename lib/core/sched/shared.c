/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds sends of the same span to several peers that become ready together. A
 * transport may then copy the data once, for all peers that can read the copy.
 * The sends remain separate steps, so dependencies and messages do not change.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/sched/schedule.h"

/* A send, for sorting. Equal up to the last field: perhaps of one group. */
struct send {
    uint64_t buffer, at, count;
    uint64_t waits, sum; /* number of predecessors; sum of their hashes */
    uint64_t step;
};

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    for (size_t i = 0; i < sizeof(struct send) / sizeof *x; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

static bool is_alike(const struct send *a, const struct send *b)
{
    return memcmp(a, b, offsetof(struct send, step)) == 0;
}

static size_t list_sends(const struct rcx_step *steps, uint32_t count,
                         const uint64_t sums[], struct send sends[])
{
    size_t n = 0;

    for (uint32_t i = 0; i < count; i++)
        if (steps[i].kind == RCX_STEP_SEND && steps[i].count > 0)
            sends[n++] = (struct send){.buffer = steps[i].left,
                                       .at = steps[i].left_at,
                                       .count = steps[i].count,
                                       .waits = steps[i].waits,
                                       .sum = sums[i],
                                       .step = i};
    qsort(sends, n, sizeof *sends, compare);
    return n;
}

static void add_sums(const struct rcx_step *steps, uint32_t count,
                     const uint32_t *successors, uint64_t sums[])
{
    memset(sums, 0, count * sizeof *sums);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < steps[i].successor_count; k++)
            sums[successors[steps[i].first_successor + k]] += rcx_hash(1, i);
}

static int compare_step(const void *key, const void *send)
{
    const uint64_t step = *(const uint32_t *)key;
    const uint64_t other = ((const struct send *)send)->step;

    return step < other ? -1 : step > other;
}

/* Whether each step has all of the group among its successors, or none: equal
 * sums do not prove it. */
static bool have_same_predecessors(const struct rcx_step *steps, uint32_t count,
                                   const uint32_t *successors,
                                   const struct send group[], size_t n)
{
    for (uint32_t i = 0; i < count && group->waits > 0; i++) {
        const uint32_t *mine = successors + steps[i].first_successor;
        size_t found = 0;

        for (uint32_t k = 0; k < steps[i].successor_count; k++)
            found += bsearch(&mine[k], group, n, sizeof *group, compare_step) !=
                     NULL;
        if (found != 0 && found != n)
            return false;
    }
    return true;
}

void rcx_shared_sends_find(struct rcx_builder *b, struct rcx_step *steps,
                           uint32_t count, const uint32_t *successors)
{
    uint32_t sends_count = 0;
    uint64_t *sums;
    struct send *sends;
    size_t n, end;

    for (uint32_t i = 0; i < count; i++)
        sends_count += steps[i].kind == RCX_STEP_SEND;
    if (sends_count < 2)
        return;
    sums =
        rcx_builder_work(b, count * sizeof *sums + sends_count * sizeof *sends);
    if (!sums) /* each send is copied */
        return;
    sends = (void *)(sums + count);
    add_sums(steps, count, successors, sums);
    n = list_sends(steps, count, sums, sends);
    for (size_t i = 0; i < n; i = end) {
        for (end = i + 1; end < n && is_alike(&sends[i], &sends[end]);)
            end++;
        if (end - i < 2 || !have_same_predecessors(steps, count, successors,
                                                   sends + i, end - i))
            continue;
        for (size_t k = i; k < end; k++)
            steps[sends[k].step].next_shared =
                (uint32_t)sends[k + 1 < end ? k + 1 : i].step + 1;
    }
}
