/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for other images: sync all, sync images, sync memory, and the waits
 * of all other statements. A wait answers requests of other images (far.h).
 * Collectives and sync images also check for stopped images (stop.h). */
#include <sched.h>
#include <stdlib.h>

#include "far.h"
#include "stop.h"

/* ---- Waiting ------------------------------------------------------------- */

enum {
    LOOKS = 64, /* polls between two yields of the core */
    SLICE_NS = 10 * 1000 * 1000
};

bool caf_pause(unsigned *looks)
{
    caf_far_progress();
    if (++*looks % LOOKS > 0)
        return false;
    rcx_progress(caf_context());
    sched_yield();
    return true;
}

rcx_status_t caf_wait_a_little(rcx_request_t *request)
{
    static unsigned looks;
    const rcx_status_t status =
        rcx_wait_for(request, caf_far_is_asked() ? 0 : SLICE_NS);

    caf_far_progress();
    if (status == RCX_IN_PROGRESS && ++looks % LOOKS == 0)
        sched_yield();
    return status;
}

rcx_status_t caf_wait(rcx_status_t begun, rcx_request_t **request_p)
{
    rcx_status_t status = begun;

    if (status == RCX_OK)
        status = RCX_IN_PROGRESS;
    while (status == RCX_IN_PROGRESS) {
        status = caf_wait_a_little(*request_p);
        if (status == RCX_IN_PROGRESS && caf_waits_for_stopped())
            caf_give_up();
    }
    if (*request_p)
        rcx_request_free(request_p);
    return status;
}

rcx_comm_t *caf_enter(void)
{
    struct caf_team *team = caf_team();

    team->entered++;
    if (team == caf_initial())
        caf_note_entered();
    return team->comm;
}

rcx_status_t caf_complete(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return caf_far_complete();
}

rcx_status_t caf_sync(void)
{
    rcx_status_t status = caf_complete();

    if (status == RCX_OK)
        status = CAF_CALL(barrier, caf_enter());
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return status;
}

/* ---- Synchronisation ----------------------------------------------------- */

void _gfortran_caf_sync_all(int *stat, char *errmsg, size_t errmsg_len)
{
    const struct caf_outcome outcome = {"sync all", stat, errmsg, errmsg_len,
                                        true};

    caf_end(&outcome, caf_sync());
}

void _gfortran_caf_sync_memory(int *stat, char *errmsg, size_t errmsg_len)
{
    const struct caf_outcome outcome = {"sync memory", stat, errmsg, errmsg_len,
                                        true};

    caf_far_progress();
    caf_end(&outcome, caf_complete());
}

enum { SYNC_TAG = 1 };

static bool is_wanted(int image, int count, const int images[], int me)
{
    if (count < 0)
        return image != me;
    for (int i = 0; i < count; i++)
        if (images[i] == image)
            return image != me;
    return false;
}

/* Start an empty send to an image, and an empty receive from it. */
static rcx_status_t begin_sync(int image, rcx_request_t *requests[2])
{
    const int rank = caf_rank_of(caf_team(), image);
    rcx_status_t status;

    caf_note_sync(rank);
    status = rcx_isend(NULL, 0, RCX_BYTE, rank, SYNC_TAG, caf_initial()->comm,
                       &requests[0]);
    return status == RCX_OK ? rcx_irecv(NULL, 0, RCX_BYTE, rank, SYNC_TAG,
                                        caf_initial()->comm, &requests[1])
                            : status;
}

/* Whether an image to synchronise with has stopped before this
 * synchronisation. */
static bool is_left_alone(int count, const int images[])
{
    for (int i = 1; i <= rcx_comm_size(caf_team()->comm); i++) {
        const int rank = caf_rank_of(caf_team(), i);

        if (is_wanted(i, count, images, rcx_comm_rank(caf_team()->comm) + 1) &&
            caf_has_left(rank))
            return true;
    }
    return false;
}

static rcx_status_t end_syncs(int n, rcx_request_t *requests[], int count,
                              const int images[])
{
    rcx_status_t status = RCX_OK;
    unsigned looks = 0;

    for (int i = 0; i < 2 * n; i++) {
        rcx_status_t ended = RCX_IN_PROGRESS;

        while (requests[i] && ended == RCX_IN_PROGRESS) {
            ended = rcx_wait_for(requests[i], 0);
            if (ended != RCX_IN_PROGRESS)
                break;
            if (caf_pause(&looks) && is_left_alone(count, images))
                caf_give_up();
        }
        if (requests[i] && ended != RCX_OK)
            status = ended;
        if (requests[i])
            rcx_request_free(&requests[i]);
    }
    return status;
}

/* Synchronise with the images (count < 0: all others). The k-th one of two
 * images completes when each has named the other k times. */
static rcx_status_t sync_with(int count, const int images[])
{
    const int n = rcx_comm_size(caf_team()->comm),
              me = rcx_comm_rank(caf_team()->comm) + 1;
    rcx_request_t **requests = calloc((size_t)n * 2, sizeof *requests);
    rcx_status_t status = requests ? caf_complete() : RCX_ERR_NOMEM, ended;

    if (!requests)
        return status;
    for (int i = 1; status == RCX_OK && i <= n; i++)
        if (is_wanted(i, count, images, me))
            status = begin_sync(i, &requests[2 * i - 2]);
    ended = end_syncs(n, requests, count, images);
    free(requests);
    return status != RCX_OK ? status : ended;
}

void _gfortran_caf_sync_images(int count, int images[], int *stat, char *errmsg,
                               size_t errmsg_len)
{
    const struct caf_outcome outcome = {"sync images", stat, errmsg, errmsg_len,
                                        true};

    for (int i = 0; i < count; i++)
        if (images[i] < 1 || caf_rank_of(caf_team(), images[i]) < 0) {
            caf_refuse(&outcome, "no such image");
            return;
        }
    caf_end(&outcome, sync_with(count, images));
}
