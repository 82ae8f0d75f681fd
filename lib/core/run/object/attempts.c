/* SPDX-License-Identifier: BSD-3-Clause */
/* A list, as few attempts fail. */
#include "core/run/object/attempts.h"

struct rcx_attempt {
    struct rcx_attempt *next;
    int tag;
    uint32_t group;
    uint32_t number; /* of the next attempt */
    rcx_status_t owed;
};

bool rcx_attempts_open(struct rcx_attempts *attempts, struct rcx_heap *heap)
{
    attempts->first = NULL;
    attempts->spare = rcx_heap_zalloc(heap, sizeof *attempts->spare);
    return attempts->spare != NULL;
}

void rcx_attempts_close(struct rcx_attempts *attempts, struct rcx_heap *heap)
{
    while (attempts->first) {
        struct rcx_attempt *next = attempts->first->next;

        rcx_heap_free(heap, attempts->first);
        attempts->first = next;
    }
    rcx_heap_free(heap, attempts->spare);
    attempts->spare = NULL;
}

static struct rcx_attempt *find(const struct rcx_attempts *attempts, int tag,
                                uint32_t group)
{
    struct rcx_attempt *a = attempts->first;

    while (a && (a->tag != tag || a->group != group))
        a = a->next;
    return a;
}

static struct rcx_attempt *add(struct rcx_attempts *attempts,
                               struct rcx_heap *heap, int tag, uint32_t group)
{
    struct rcx_attempt *a = rcx_heap_zalloc(heap, sizeof *a);

    if (!a) {
        a = attempts->spare;
        attempts->spare = NULL;
    }
    if (!a)
        return NULL;
    a->tag = tag;
    a->group = group;
    a->next = attempts->first;
    attempts->first = a;
    return a;
}

uint32_t rcx_attempts_next(const struct rcx_attempts *attempts, int tag,
                           uint32_t group)
{
    const struct rcx_attempt *a = find(attempts, tag, group);

    return a ? a->number : 0;
}

bool rcx_attempts_fail(struct rcx_attempts *attempts, struct rcx_heap *heap,
                       int tag, uint32_t group, uint32_t number,
                       rcx_status_t owed)
{
    struct rcx_attempt *a = find(attempts, tag, group);

    if (a && a->number > number)
        return true;
    if (!a)
        a = add(attempts, heap, tag, group);
    if (!a)
        return false;
    if (!attempts->spare) /* it may have been used before */
        attempts->spare = rcx_heap_zalloc(heap, sizeof *attempts->spare);
    a->number = number + 1;
    a->owed = owed;
    return true;
}

rcx_status_t rcx_attempts_take(struct rcx_attempts *attempts, int tag,
                               uint32_t group)
{
    struct rcx_attempt *a = find(attempts, tag, group);
    const rcx_status_t owed = a ? a->owed : RCX_OK;

    if (a)
        a->owed = RCX_OK;
    return owed;
}
