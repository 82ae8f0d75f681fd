/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs in one process: open a context per rank over the simulated network or
 * UCX, run functions on a thread per rank, force algorithms, and finalize. For
 * jobs of several processes see tests/job.
 */
#include "context.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/run/context/context.h"
#include "core/sched/params.h"

struct opening {
    struct job *job;
    int rank;
};

static rcx_status_t open_boot(const struct rcx_boot_args *args, void *arg,
                              struct rcx_boot **boot_p)
{
    const struct opening *opening = arg;

    return inproc_open(opening->job->inproc, opening->rank, args, boot_p);
}

rcx_status_t job_open(struct job *job, int size,
                      const struct job_options *options)
{
    rcx_status_t status = RCX_OK;

    *job = (struct job){.size = size,
                        .threaded = options->threaded,
                        .heap = RCX_HEAP_INIT,
                        .sim_heap = RCX_HEAP_INIT};
    job->contexts = calloc((size_t)size, sizeof *job->contexts);
    job->inproc = inproc_create(&job->heap, size);
    if (!options->ucx)
        job->sim = rcx_sim_create(&job->sim_heap, size, options->seed);
    if (job->sim && job->threaded)
        rcx_sim_set_threaded(job->sim);
    for (int i = 0; i < size && status == RCX_OK; i++) {
        struct opening opening = {job, i};
        const struct rcx_boot_source source = {
            .open = open_boot,
            .arg = &opening,
            .heap_budget = UINT64_MAX,
            .layout = options->layout ? *options->layout : RCX_TAG_LAYOUT,
            .transport = job->sim ? rcx_sim_port(job->sim, i) : NULL};

        status =
            rcx_context_create(options->params, &source, &job->contexts[i]);
    }
    return status;
}

void job_listen(struct job *job, struct lines said[])
{
    memset(said, 0, (size_t)job->size * sizeof *said);
    for (int i = 0; i < job->size; i++) {
        job->contexts[i]->log.fn = lines_keep;
        job->contexts[i]->log.arg = &said[i];
    }
}

void job_hush(struct job *job)
{
    for (int i = 0; i < job->size; i++)
        job->contexts[i]->log.fn = lines_discard;
}

struct visit {
    pthread_t thread;
    struct job *job;
    int rank;
    void (*fn)(struct job *job, int rank, void *arg);
    void *arg;
};

static void *run_visit(void *arg)
{
    struct visit *visit = arg;

    visit->fn(visit->job, visit->rank, visit->arg);
    return NULL;
}

void job_each(struct job *job, void (*fn)(struct job *job, int rank, void *arg),
              void *arg)
{
    struct visit *visits = calloc((size_t)job->size, sizeof *visits);

    for (int i = 0; i < job->size; i++) {
        visits[i] = (struct visit){.job = job, .rank = i, .fn = fn, .arg = arg};
        if (pthread_create(&visits[i].thread, NULL, run_visit, &visits[i]))
            abort();
    }
    for (int i = 0; i < job->size; i++)
        pthread_join(visits[i].thread, NULL);
    free(visits);
}

static void finalize(struct job *job, int rank, void *arg)
{
    rcx_status_t *statuses = arg;

    statuses[rank] = rcx_finalize(&job->contexts[rank]);
}

/* Run the final barrier on this thread, for a simulated network that is not
 * threaded. rcx_finalize() then needs no network. */
static void barrier_on_sim(struct job *job)
{
    const struct rcx_call call = {
        .coll = RCX_COLL_BARRIER, .type = RCX_BYTE, .op = RCX_BOR};
    rcx_request_t **requests = calloc((size_t)job->size, sizeof *requests);

    for (int i = 0; i < job->size; i++) {
        struct rcx_comm *internal = job->contexts[i]->internal;
        struct rcx_program *entry;

        if (rcx_program_get(internal, &call, &entry) == RCX_OK &&
            rcx_request_create(internal, entry, NULL, NULL, &requests[i]) ==
                RCX_OK)
            rcx_request_launch(requests[i]);
    }
    job_wait(job, requests);
    for (int i = 0; i < job->size; i++)
        rcx_request_destroy(requests[i]);
    free(requests);
}

void job_free(struct job *job)
{
    rcx_sim_destroy(job->sim);
    inproc_destroy(job->inproc);
    free(job->contexts);
}

void job_abandon(struct job *job)
{
    for (int i = 0; i < job->size; i++)
        rcx_finalize(&job->contexts[i]);
    job_free(job);
}

static rcx_status_t close_on_sim(struct job *job)
{
    barrier_on_sim(job);
    for (int i = 0; i < job->size; i++)
        mark_failed(job->contexts[i]->world);
    job_abandon(job);
    return RCX_OK;
}

rcx_status_t job_close(struct job *job)
{
    rcx_status_t status = RCX_OK;
    rcx_status_t *statuses;

    if (job->sim && !job->threaded)
        return close_on_sim(job);
    statuses = calloc((size_t)job->size, sizeof *statuses);
    job_each(job, finalize, statuses);
    for (int i = 0; i < job->size; i++)
        status = status == RCX_OK ? statuses[i] : status;
    free(statuses);
    job_free(job);
    return status;
}

rcx_status_t job_wait(struct job *job, rcx_request_t *requests[])
{
    rcx_status_t status = RCX_OK;
    int active;

    do {
        active = 0;
        for (int i = 0; i < job->size; i++) {
            active += requests[i]->state == RCX_REQUEST_ACTIVE;
            rcx_context_progress(job->contexts[i]);
        }
    } while (active > 0);
    for (int i = 0; i < job->size; i++)
        status = status == RCX_OK ? requests[i]->status : status;
    return status;
}

static void set_method_spec(struct job *job, enum rcx_coll coll,
                            const struct rcx_method_spec *spec)
{
    for (int i = 0; i < job->size; i++) {
        job->contexts[i]->config.spec[coll] = *spec;
        rcx_cache_clear(job->contexts[i]->world->cache);
    }
}

/* Map ranks 2i and 2i + 1 to node i. The last rank of an odd number is alone on
 * its node. */
static void map_nodes(struct job *job)
{
    uint64_t *ids = rcx_heap_alloc(&job->heap, (size_t)job->size * sizeof *ids);

    for (int i = 0; i < job->size; i++)
        ids[i] = (uint64_t)i / 2;
    for (int i = 0; i < job->size; i++) {
        rcx_context_t *context = job->contexts[i];

        if (!context->nodes)
            context->nodes = rcx_nodes_create(&context->heap, ids, job->size);
        context->world->members->has_nodes = false;
    }
    rcx_heap_free(&job->heap, ids);
}

void job_force(struct job *job, const struct rcx_algo *algo,
               size_t segment_bytes)
{
    struct rcx_method_spec spec = {
        .algo = algo, .window = 3, .segment_bytes = segment_bytes};

    if (algo->is_by_nodes && job->size <= 2)
        return;
    if (algo->is_by_nodes)
        map_nodes(job);
    rcx_params_reset(algo, spec.params);
    set_method_spec(job, algo->coll, &spec);
}

void job_unforce(struct job *job, enum rcx_coll coll)
{
    set_method_spec(job, coll, &rcx_method_any);
}
