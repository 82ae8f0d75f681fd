/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of messages between nodes, as a context measures it when it opens,
 * but not rounded. For messages within a node RCX's assumptions hold.
 */
#include "core/api/network.h"
#include "core/run/object/comm.h"
#include "rcx_tune/rcx_tune.h"

rcx_status_t tune_machine(const struct tune_job *job, struct rcx_link *far_p)
{
    rcx_status_t status = rcx_network_time(job->context, far_p);

    if (status == RCX_OK)
        status = rcx_bcast(far_p, sizeof *far_p, RCX_BYTE, 0, job->world);
    return status;
}

bool tune_machine_print(FILE *to, const struct rcx_link *far)
{
    return fprintf(to,
                   "machine far-alpha=%.2fus far-beta=%.4fns far-tell=%.2fus\n",
                   1e6 * far->alpha, 1e9 * far->beta, 1e6 * far->tell) > 0;
}
