/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of messages between nodes, as a context measures it when it opens,
 * but not rounded. For messages within a node RCX's assumptions hold.
 */
#include "core/api/network.h"
#include "core/run/object/comm.h"
#include "rcx_tune/rcx_tune.h"

rcx_status_t tune_machine(const struct tune_job *job, double *far_alpha_p,
                          double *far_beta_p)
{
    struct rcx_link far = {0, 0};
    double seconds[2];
    rcx_status_t status = rcx_network_time(job->context, &far);

    seconds[0] = far.alpha;
    seconds[1] = far.beta;
    if (status == RCX_OK)
        status = rcx_bcast(seconds, 2, RCX_FLOAT64, 0, job->world);
    *far_alpha_p = seconds[0];
    *far_beta_p = seconds[1];
    return status;
}
