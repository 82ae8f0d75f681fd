/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of messages between nodes: rank 0 and the first rank of another node
 * run a ping-pong. For messages within a node RCX's assumptions hold, and the
 * result is the difference to them.
 */
#include <math.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/run/object/comm.h"
#include "rcx_tune/rcx_tune.h"
#include "common/regret.h"

enum { SHORT = 8, LONG = TUNE_LONG, TRIPS = 5 };

static int first_elsewhere(const struct rcx_nodes *nodes)
{
    int rank = 1;

    while (nodes->node[rank] == nodes->node[0])
        rank++;
    return rank;
}

/* Send a message from rank 0 to other, and one back. */
static rcx_status_t go(const struct tune_job *job, int other, size_t bytes)
{
    const bool is_first = job->rank == 0;
    const int peer = is_first ? other : 0;
    rcx_status_t status = RCX_OK;

    for (int i = 0; i < 2 && status == RCX_OK; i++)
        status = is_first == (i == 0)
                     ? rcx_send(job->in, bytes, RCX_BYTE, peer, 0, job->world)
                     : rcx_recv(job->out, bytes, RCX_BYTE, peer, 0, job->world,
                                NULL);
    return status;
}

/* The median time of one way, by rank 0's clock. The first round trip connects
 * and does not count. */
static rcx_status_t time_of(const struct tune_job *job, int other, size_t bytes,
                            double *seconds_p)
{
    double times[TRIPS];
    rcx_status_t status = RCX_OK;

    for (int i = -1; i < TRIPS && status == RCX_OK; i++) {
        const uint64_t start = rcx_now_ns();

        status = go(job, other, bytes);
        times[i < 0 ? 0 : i] = 0.5e-9 * (double)(rcx_now_ns() - start);
    }
    qsort(times, TRIPS, sizeof *times, regret_ascending);
    *seconds_p = times[TRIPS / 2];
    return status;
}

rcx_status_t tune_machine(const struct tune_job *job, double *far_alpha_p,
                          double *far_beta_p)
{
    const struct rcx_machine *near = &rcx_machine_usual;
    const int other = first_elsewhere(rcx_nodes_linked(job->world->nodes));
    double seconds[2] = {0, 0};
    rcx_status_t status = RCX_OK;

    if (job->rank == 0 || job->rank == other) {
        status = time_of(job, other, SHORT, &seconds[0]);
        if (status == RCX_OK)
            status = time_of(job, other, LONG, &seconds[1]);
    }
    if (status == RCX_OK)
        status = rcx_bcast(seconds, 2, RCX_FLOAT64, 0, job->world);
    *far_alpha_p = fmax(0, seconds[0] - near->alpha);
    *far_beta_p = fmax(0, (seconds[1] - seconds[0]) / LONG - near->beta);
    return status;
}
