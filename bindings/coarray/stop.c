/* SPDX-License-Identifier: BSD-3-Clause */
#include "stop.h"

#include <stdlib.h>

#include "far.h"
#include "memory.h"

/* What an image tells the others when it stops; of itself, what it has entered
 * yet. */
struct stop {
    uint64_t entered; /* of the initial team's collectives, and 1 */
    uint64_t syncs;   /* the images that it tells */
};
static struct caf_coarray stops; /* a struct stop of each image's */
static uint64_t *syncs;          /* sync images with each */
static bool has_given_up;
static rcx_comm_t *ends; /* for those that have stopped */

rcx_status_t caf_stops_open(void)
{
    rcx_comm_t *comm = caf_initial()->comm;
    const size_t n = (size_t)rcx_comm_size(comm);
    rcx_status_t status = rcx_comm_dup(comm, &ends);

    syncs = calloc(n, sizeof *syncs);
    if (!syncs)
        return RCX_ERR_NOMEM;
    return status == RCX_OK
               ? caf_coarray_new(n * sizeof(struct stop), true, &stops)
               : status;
}

/* ---- Others -------------------------------------------------------------- */

/* What others have stored here is read by nobody else any more. */
static const struct stop *stop_of(int rank)
{
    return (const struct stop *)stops.memory + rank;
}

bool caf_has_stopped(int rank)
{
    return stops.memory && rank != caf_me() &&
           __atomic_load_n(&stop_of(rank)->entered, __ATOMIC_SEQ_CST) > 0;
}

bool caf_any_stopped(void)
{
    for (int i = 0; i < rcx_comm_size(caf_initial()->comm); i++)
        if (caf_has_stopped(i))
            return true;
    return false;
}

bool caf_waits_for_stopped(void)
{
    for (int i = 0;
         caf_team() == caf_initial() && i < rcx_comm_size(caf_initial()->comm);
         i++)
        if (caf_has_stopped(i) && stop_of(i)->entered <= caf_initial()->entered)
            return true;
    return false;
}

void caf_note_entered(void)
{
    if (stops.memory)
        __atomic_store_n(&((struct stop *)stops.memory)[caf_me()].entered,
                         caf_initial()->entered, __ATOMIC_RELEASE);
}

void caf_note_sync(int rank)
{
    syncs[rank]++;
}

bool caf_has_left(int rank)
{
    return caf_has_stopped(rank) && stop_of(rank)->syncs < syncs[rank];
}

void caf_give_up(void)
{
    if (!has_given_up)
        rcx_comm_abort(caf_initial()->comm);
    has_given_up = true;
}

/* ---- This one ------------------------------------------------------------ */

static void tell_stop_to(int rank)
{
    const struct stop mine = {caf_initial()->entered + 1, syncs[rank]};
    const uint64_t address =
        stops.addresses[rank] + (uint64_t)caf_me() * sizeof mine;
    const struct caf_section there = {.base = address, .element = sizeof mine};
    struct stop *here = (struct stop *)caf_near(rank, address, sizeof mine);

    if (!here) {
        caf_far_put(rank, &there, (const char *)&mine);
        return;
    }
    here->syncs = mine.syncs;
    __atomic_store_n(&here->entered, mine.entered, __ATOMIC_SEQ_CST);
}

/* An image in a blocking call cannot look for stopped images, so the others
 * look for images that are ahead of them. */
static bool is_waited_for(void)
{
    const size_t size = sizeof(struct stop);

    for (int i = 0; i < rcx_comm_size(caf_initial()->comm); i++) {
        const struct stop *theirs = (const struct stop *)caf_near(
            i, stops.addresses[i] + (uint64_t)i * size, size);

        if (theirs && __atomic_load_n(&theirs->entered, __ATOMIC_SEQ_CST) >
                          caf_initial()->entered)
            return true;
    }
    return false;
}

static void wait_for_others(void)
{
    rcx_request_t *request = NULL;
    rcx_status_t status = rcx_ibarrier(ends, &request);

    if (status == RCX_OK)
        status = RCX_IN_PROGRESS;
    while (status == RCX_IN_PROGRESS) {
        status = caf_wait_a_little(request);
        if (is_waited_for())
            caf_give_up();
    }
    if (request)
        rcx_request_free(&request);
}

void caf_stop(void)
{
    caf_complete();
    for (int i = 0; i < rcx_comm_size(caf_initial()->comm); i++)
        if (i != caf_me() && !caf_has_failed(i))
            tell_stop_to(i);
    caf_complete();
    wait_for_others();
    rcx_comm_free(&ends);
    free(syncs);
}
