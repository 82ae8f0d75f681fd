/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of all times: a line for each method of each point, which rcx_sim
 * regret reads. common/times.h describes it.
 */
#include "common/times.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/run/object/comm.h"
#include "core/run/object/context.h"
#include "rcx_tune/rcx_tune.h"

static bool fail(const struct tune_job *job)
{
    fprintf(stderr, "rcx_tune: --times %s: %s\n", job->options.times,
            strerror(errno));
    return false;
}

bool tune_times_put_machine(const struct tune_job *job,
                            const struct rcx_link *far)
{
    const char *path = job->options.times;
    FILE *file = path ? fopen(path, "a") : NULL;
    bool is_written = file && tune_machine_print(file, far);

    if (file && fclose(file) != 0)
        is_written = false;
    return !path || is_written || fail(job);
}

bool tune_times_put(const struct tune_job *job, const struct tune_point *point)
{
    const char *path = job->options.times;
    const struct rcx_nodes *nodes =
        rcx_nodes_linked(job->world->members->nodes);
    FILE *file = path ? fopen(path, "a") : NULL;
    bool is_written = file != NULL;

    if (!path)
        return true;
    for (int i = 0; i < point->count && is_written; i++) {
        const struct tune_candidate *c = &point->candidates[i];
        struct times_line line = {.coll = point->coll->row,
                                  .ranks = job->size,
                                  .nodes = job->nodes,
                                  .is_scattered = nodes && !nodes->in_order,
                                  .cores = job->context->cores,
                                  .bytes = point->bytes,
                                  .seconds = c->seconds};

        snprintf(line.method, sizeof line.method, "%s", c->method);
        is_written = times_print(file, &line);
    }
    if (file && fclose(file) != 0)
        is_written = false;
    return is_written || fail(job);
}
