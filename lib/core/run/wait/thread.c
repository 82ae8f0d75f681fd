/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The progress thread (RCX_PROGRESS=thread): makes progress while no thread of
 * the program is in RCX.
 */
#include "core/run/wait/thread.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "core/run/wait/enter.h"

enum { POLLS = 200, AWAY_US = 50 };

/* Make progress until there is nothing to do for a while. */
static void work(struct rcx_context *context)
{
    for (int vain = 0; vain < POLLS && !context->callbacks.first; vain++)
        if (rcx_context_progress(context) > 0)
            vain = 0;
}

static void *run(void *arg)
{
    struct rcx_context *context = arg;

    while (
        !atomic_load_explicit(&context->thread.stops, memory_order_acquire)) {
        if (!rcx_guard_try(context->guard)) {
            usleep(AWAY_US); /* the thread inside makes progress */
            continue;
        }
        work(context);
        rcx_sleep(context, UINT64_MAX);
        rcx_leave(context);
    }
    return NULL;
}

/* Signals belong to the host's threads, except those that a user-defined op
 * raises here. */
static void block_signals(sigset_t *before)
{
    static const int raised[] = {SIGILL, SIGTRAP, SIGBUS,
                                 SIGFPE, SIGSEGV, SIGSYS};
    sigset_t set;

    sigfillset(&set);
    for (size_t i = 0; i < sizeof raised / sizeof *raised; i++)
        sigdelset(&set, raised[i]);
    pthread_sigmask(SIG_BLOCK, &set, before);
}

rcx_status_t rcx_thread_start(struct rcx_context *context)
{
    sigset_t before;
    int error;

    block_signals(&before); /* inherited by the new thread */
    error = pthread_create(&context->thread.id, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0)
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "rcx_init: cannot start the progress thread: %s",
                        strerror(error));
    context->thread.runs = true;
    return RCX_OK;
}

void rcx_thread_stop(struct rcx_context *context)
{
    if (!context->thread.runs)
        return;
    atomic_store_explicit(&context->thread.stops, true, memory_order_release);
    rcx_wake(&context->sleeper);
    pthread_join(context->thread.id, NULL);
    context->thread.runs = false;
}
