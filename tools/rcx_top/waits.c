/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ranks keep a job: those that others wait for, and that do not wait
 * themselves.
 */
#include <stdlib.h>

#include "rcx_top/rcx_top.h"

bool top_waits_long(const struct top_rank *rank)
{
    return rank->state == TOP_IN_CALL && rank->for_ns >= TOP_LONG_NS &&
           rank->still_ns >= TOP_STILL_NS;
}

static const struct top_rank *rank_of(const struct top_job *job, int rank)
{
    for (size_t i = 0; i < job->n; i++)
        if (job->ranks[i].page.rank == rank)
            return &job->ranks[i];
    return NULL;
}

static bool waits_for(const struct top_rank *rank, int other)
{
    for (uint32_t i = 0; i < rank->page.op_count; i++)
        for (int k = 0; k < rank->page.ops[i].waits; k++)
            if (rank->page.ops[i].waits_for[k] == other)
                return true;
    return false;
}

/* Mark the ranks that wait for m: directly, or for a rank that is marked. */
static void mark(const struct top_job *job, struct top_missing *m)
{
    bool is_changed = true;

    while (is_changed) {
        is_changed = false;
        for (size_t i = 0; i < job->n; i++) {
            bool is_blocked = waits_for(&job->ranks[i], m->rank);

            if (!top_waits_long(&job->ranks[i]) || m->waits[i])
                continue;
            for (size_t k = 0; k < job->n && !is_blocked; k++)
                is_blocked = m->waits[k] &&
                             waits_for(&job->ranks[i], job->ranks[k].page.rank);
            m->waits[i] = is_blocked;
            is_changed |= is_blocked;
        }
    }
}

static bool is_listed(const struct top_missing *missing, size_t n, int rank)
{
    for (size_t i = 0; i < n; i++)
        if (missing[i].rank == rank)
            return true;
    return false;
}

size_t top_find_missing(const struct top_job *job,
                        struct top_missing **missing_p)
{
    const size_t most = job->n * RCX_STATUS_OPS * RCX_STATUS_WAITS;
    struct top_missing *missing = top_alloc(most, sizeof *missing);
    size_t n = 0;

    for (size_t i = 0; i < job->n; i++) {
        const struct rcx_status_page *page = &job->ranks[i].page;

        if (!top_waits_long(&job->ranks[i]))
            continue;
        for (uint32_t o = 0; o < page->op_count; o++) {
            for (int k = 0; k < page->ops[o].waits; k++) {
                const int rank = page->ops[o].waits_for[k];
                const struct top_rank *found = rank_of(job, rank);

                if ((found && found->state == TOP_IN_CALL) ||
                    is_listed(missing, n, rank))
                    continue;
                missing[n] = (struct top_missing){
                    .rank = rank,
                    .found = found,
                    .waits = top_alloc(job->n, sizeof(bool))};
                mark(job, &missing[n++]);
            }
        }
    }
    *missing_p = missing;
    return n;
}

void top_free_missing(struct top_missing *missing, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(missing[i].waits);
    free(missing);
}

/* ---- Circles ------------------------------------------------------------- */

/* Whether it waits for some rank, and only for marked ones. */
static bool is_within(const struct top_job *job, const bool marks[],
                      const struct rcx_status_page *page)
{
    bool waits = false;

    for (uint32_t o = 0; o < page->op_count; o++) {
        for (int k = 0; k < page->ops[o].waits; k++) {
            const struct top_rank *found =
                rank_of(job, page->ops[o].waits_for[k]);

            if (!found || !marks[found - job->ranks])
                return false;
            waits = true;
        }
    }
    return waits;
}

size_t top_find_circle(const struct top_job *job, bool marks[])
{
    size_t n = 0, former = job->n + 1;

    for (size_t i = 0; i < job->n; i++)
        n += marks[i] = top_waits_long(&job->ranks[i]);
    while (n < former) {
        former = n;
        for (size_t i = 0; i < job->n; i++) {
            if (!marks[i] || is_within(job, marks, &job->ranks[i].page))
                continue;
            marks[i] = false;
            n--;
        }
    }
    return n;
}
