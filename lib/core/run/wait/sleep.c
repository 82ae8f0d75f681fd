/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sleeping on one epoll descriptor, for RCX_WAIT=block and the progress thread.
 */
#include "core/run/wait/sleep.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/run/detect/detector.h"
#include "core/run/request/request.h"

enum { LONGEST_NS = 100 * 1000 * 1000, LOOK_NS = 100 * 1000 * 1000 };

static bool add(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    return fd >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

rcx_status_t rcx_sleep_open(struct rcx_context *context)
{
    struct rcx_sleeper *s = &context->sleeper;
    struct rcx_transport *t = context->transport;
    bool good;

    s->fd = epoll_create1(EPOLL_CLOEXEC);
    s->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    s->host_fd = epoll_create1(EPOLL_CLOEXEC);
    s->told_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->transport = t;
    good = s->fd >= 0 && add(s->fd, s->timer_fd) &&
           (!t || add(s->fd, t->ops->event_fd(t))) && s->host_fd >= 0 &&
           add(s->host_fd, s->fd) && add(s->host_fd, s->told_fd);
    return good ? RCX_OK
                : rcx_fail(&context->log, RCX_ERR_TRANSPORT,
                           "rcx_init: cannot create a descriptor to sleep on: "
                           "%m");
}

void rcx_sleep_close(struct rcx_sleeper *s)
{
    const int fds[] = {s->told_fd, s->host_fd, s->timer_fd, s->fd};

    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static bool is_active(const struct rcx_context *context)
{
    const struct rcx_comm *c = context->comms.busy;

    while (c && !rcx_comm_is_active(c))
        c = c->next_busy;
    return c != NULL;
}

/* When rcx_detector_poll() has to run again; 0: never. */
static uint64_t next_look(const struct rcx_context *context)
{
    return is_active(context) ? rcx_now_ns() + LOOK_NS : 0;
}

static void set_timer(const struct rcx_sleeper *s, uint64_t ns)
{
    const struct itimerspec at = {
        .it_value = {.tv_sec = (time_t)(ns / 1000000000u),
                     .tv_nsec = (long)(ns % 1000000000u)}};

    timerfd_settime(s->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

/* RCX_OK: events from now on wake a thread that sleeps on the descriptor. */
static rcx_status_t arm(struct rcx_context *context)
{
    struct rcx_transport *t = context->transport;
    rcx_status_t status = RCX_OK;

    if (rcx_detector_is_due(&context->detector, t) ||
        context->callbacks.first || (t && t->done))
        return RCX_IN_PROGRESS;
    set_timer(&context->sleeper, next_look(context));
    if (t)
        status = t->ops->arm(t);
    context->sleeper.is_armed = status == RCX_OK;
    return status;
}

rcx_status_t rcx_sleep_arm_host(struct rcx_context *context)
{
    struct rcx_sleeper *s = &context->sleeper;
    rcx_status_t status = RCX_IN_PROGRESS;
    eventfd_t times;

    s->host = 0;
    if (eventfd_read(s->told_fd, &times) != 0)
        status = arm(context);
    if (status == RCX_OK)
        s->host = rcx_this_thread();
    return status;
}

void rcx_sleep_pass_on(struct rcx_context *context)
{
    if (is_active(context))
        rcx_sleeper_tell(&context->sleeper);
}

/* The timer is shared, so a caller with a deadline of its own limits the sleep
 * by the call. */
void rcx_sleep(struct rcx_context *context, uint64_t until_ns)
{
    struct pollfd at = {.fd = context->sleeper.fd, .events = POLLIN};
    struct timespec most = {.tv_nsec = LONGEST_NS};
    uint64_t now;

    if (arm(context) != RCX_OK)
        return;
    now = rcx_now_ns();
    if (until_ns < now + LONGEST_NS)
        most.tv_nsec = until_ns > now ? (long)(until_ns - now) : 0;
    rcx_guard_leave(context->guard);
    ppoll(&at, 1, &most, NULL);
    rcx_guard_return(context->guard);
}
