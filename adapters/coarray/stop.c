/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of stopped images. Each image has a coarray of records, one for each
 * image: an image that stops stores its record on all others. The program ends
 * when all images have stopped. Failed images are not here; RCX finds them.
 */
#include "stop.h"

#include <stddef.h>
#include <stdlib.h>

#include "far.h"
#include "memory.h"

/* The record that an image stores on the others when it stops. In its own
 * coarray, its own record has the number of collectives that it has begun.
 * Counts those of the initial team only. */
struct stop {
    uint64_t entered;  /* collectives begun, plus 1; 0: it has not stopped */
    uint64_t syncs;    /* sync images with the image that has the record */
    uint64_t is_known; /* 1: another image knows that it has stopped */
};
static struct caf_coarray stops; /* a struct stop for each image */
static uint64_t *syncs;          /* number of sync images with each image */
static bool has_given_up;
static rcx_comm_t *ends; /* barrier of images that have stopped */

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

/* ---- Other images -------------------------------------------------------- */

/* The record that rank has stored here, for this image only. */
static const struct stop *stop_of(int rank)
{
    return (const struct stop *)stops.memory + rank;
}

static bool has_record_of(int rank)
{
    return stops.memory && rank != caf_me() &&
           __atomic_load_n(&stop_of(rank)->entered, __ATOMIC_SEQ_CST) > 0;
}

bool caf_has_stopped(int rank)
{
    return has_record_of(rank) ||
           (stops.memory &&
            __atomic_load_n(&stop_of(rank)->is_known, __ATOMIC_SEQ_CST) > 0);
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
        if (has_record_of(i) && stop_of(i)->entered <= caf_initial()->entered)
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
    return has_record_of(rank) && stop_of(rank)->syncs < syncs[rank];
}

/* Tell rank that the image stopped has stopped. */
static void tell_known(int rank, int stopped)
{
    const uint64_t known = 1,
                   address = stops.addresses[rank] +
                             (uint64_t)stopped * sizeof(struct stop) +
                             offsetof(struct stop, is_known);
    const struct caf_section there = {.base = address, .element = sizeof known};
    uint64_t *here = (uint64_t *)caf_near(rank, address, sizeof known);

    if (here)
        __atomic_store_n(here, known, __ATOMIC_SEQ_CST);
    else
        caf_far_put(rank, &there, (const char *)&known);
}

/* The record of a stopped image may reach an image later than this image's own,
 * so say first which images have stopped. */
void caf_give_up(void)
{
    const int n = rcx_comm_size(caf_initial()->comm);

    if (has_given_up)
        return;
    for (int stopped = 0; stopped < n; stopped++)
        for (int i = 0; has_record_of(stopped) && i < n; i++)
            if (i != caf_me() && i != stopped && !caf_has_failed(i))
                tell_known(i, stopped);
    rcx_comm_abort(caf_initial()->comm);
    has_given_up = true;
}

/* ---- This image ---------------------------------------------------------- */

static void tell_stop_to(int rank)
{
    const struct stop mine = {caf_initial()->entered + 1, syncs[rank], 1};
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

/* Whether an image on this node has begun more collectives than this one, and
 * so waits for it. A blocking call there does not check for stopped images, so
 * stopped images check for waiting ones. */
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
    caf_coarray_free(&stops);
    free(syncs);
}
