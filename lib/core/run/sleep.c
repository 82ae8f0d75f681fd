/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/run/sleep.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/run/enter.h"
#include "core/run/progress.h"
#include "core/run/watch.h"

enum { LONGEST_MS = 100, LOOK_NS = 100 * 1000 * 1000 };

/* ---- The descriptor --------------------------------------------------------- */

static bool add(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    return fd >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

rcx_status_t rcx_sleep_open(struct rcx_context *context)
{
    struct rcx_transport *t = context->transport;
    bool good;

    context->sleep_fd = epoll_create1(EPOLL_CLOEXEC);
    context->timer_fd =
        timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    context->can_sleep = true;
    good = context->sleep_fd >= 0 &&
           add(context->sleep_fd, context->timer_fd) &&
           (!t || add(context->sleep_fd, t->ops->event_fd(t)));
    return good ? RCX_OK
                : rcx_fail(&context->log, RCX_ERR_TRANSPORT,
                           "no descriptor to sleep on: %m");
}

void rcx_sleep_close(struct rcx_context *context)
{
    if (!context->can_sleep)
        return;
    if (context->timer_fd >= 0)
        close(context->timer_fd);
    if (context->sleep_fd >= 0)
        close(context->sleep_fd);
}

/* When rcx_watch() has to look again; 0: at no time. */
static uint64_t next_look(const struct rcx_context *context)
{
    for (const struct rcx_comm *c = context->comms; c; c = c->next)
        if (c->first)
            return rcx_now_ns() + LOOK_NS;
    return 0;
}

static void set_timer(const struct rcx_context *context, uint64_t ns)
{
    const struct itimerspec at = {
        .it_value = {.tv_sec = (time_t)(ns / 1000000000u),
                     .tv_nsec = (long)(ns % 1000000000u)}};

    timerfd_settime(context->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

rcx_status_t rcx_sleep_arm(struct rcx_context *context)
{
    struct rcx_transport *t = context->transport;
    rcx_status_t status = RCX_OK;

    if (rcx_is_attracted(context) || context->called || (t && t->done))
        return RCX_IN_PROGRESS;
    set_timer(context, next_look(context));
    if (t)
        status = t->ops->arm(t);
    context->is_armed = status == RCX_OK;
    return status;
}

void rcx_sleep(struct rcx_context *context)
{
    struct epoll_event event;

    if (rcx_sleep_arm(context) != RCX_OK)
        return;
    rcx_step_out(context);
    epoll_wait(context->sleep_fd, &event, 1, LONGEST_MS);
    rcx_step_in(context);
}

/* ---- The thread ------------------------------------------------------------- */

enum { POLLS = 200, AWAY_US = 50 };

/* Progress until there is nothing to do for a while. */
static void work(struct rcx_context *context)
{
    for (int vain = 0; vain < POLLS && !context->called; vain++)
        if (rcx_context_progress(context) > 0)
            vain = 0;
}

static void *run(void *arg)
{
    struct rcx_context *context = arg;

    while (!atomic_load_explicit(&context->stops, memory_order_acquire)) {
        if (!rcx_guard_try(context->guard)) {
            usleep(AWAY_US); /* whoever is inside makes progress */
            continue;
        }
        work(context);
        rcx_sleep(context);
        rcx_leave(context);
    }
    return NULL;
}

/* The host's signals are its own threads' to handle, but for those that an op
 * of the user's raises here. */
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

    block_signals(&before); /* which the new thread inherits */
    error = pthread_create(&context->thread, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0)
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "the progress thread cannot be started");
    context->has_thread = true;
    return RCX_OK;
}

void rcx_thread_stop(struct rcx_context *context)
{
    if (!context->has_thread)
        return;
    atomic_store_explicit(&context->stops, true, memory_order_release);
    rcx_wake(context);
    pthread_join(context->thread, NULL);
    context->has_thread = false;
}
