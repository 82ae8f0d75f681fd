/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads for tests of concurrency: jobs with a thread per rank, groups of
 * further threads, and a mix of collectives that each of them can run. Errors
 * end the process by require().
 */
#include "crew.h"

#include <sched.h>

#include "members.h"
#include "test.h"

void crew_job_with(int size, const rcx_params_t *params, crew_fn_t *fn,
                   void *arg)
{
    const struct job_options options = {
        .params = params, .threaded = true, .seed = (uint64_t)size};
    struct job job;

    assert_ok(job_open(&job, size, &options));
    job_each(&job, fn, arg);
    assert_ok(job_close(&job));
}

void crew_job(int size, rcx_thread_mode_t threads, bool progress_thread,
              crew_fn_t *fn, void *arg)
{
    const rcx_params_t params = {.field_mask =
                                     RCX_PARAM_LOG | RCX_PARAM_THREADS |
                                     RCX_PARAM_WAKEUP | RCX_PARAM_PROGRESS,
                                 .log = lines_discard,
                                 .threads = threads,
                                 .wakeup = 1,
                                 .progress_thread = progress_thread};

    crew_job_with(size, &params, fn, arg);
}

static void *run(void *arg)
{
    const struct crew_member *m = arg;

    m->fn(m->number, m->arg);
    return NULL;
}

void crew_add(struct crew *crew, void (*fn)(int number, void *arg), void *arg)
{
    struct crew_member *m = &crew->members[crew->size];

    *m = (struct crew_member){.fn = fn, .number = crew->size++, .arg = arg};
    require(pthread_create(&m->thread, NULL, run, m) == 0);
}

void crew_join(struct crew *crew)
{
    for (int i = 0; i < crew->size; i++)
        pthread_join(crew->members[i].thread, NULL);
    crew->size = 0;
}

void crew_run(int n, void (*fn)(int number, void *arg), void *arg)
{
    struct crew crew = {.size = 0};

    for (int i = 0; i < n; i++)
        crew_add(&crew, fn, arg);
    crew_join(&crew);
}

void crew_await(atomic_int *number, int least)
{
    while (atomic_load(number) < least)
        sched_yield();
}

void crew_use(rcx_comm_t *comm, int k)
{
    enum { N = 4 };
    struct attempt attempts[N];

    for (int i = 0; i < N; i++)
        members_start(&attempts[i], comm, (uint64_t)(k + i), (uint64_t)(k + i));
    for (int i = 0; i < N; i++)
        members_finish(&attempts[(i + k) % N]);
    members_run(comm, (uint64_t)k);
}
