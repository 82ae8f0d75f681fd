/* SPDX-License-Identifier: BSD-3-Clause */
/* A descriptor that becomes readable when an event follows rcx_notifier_arm().
 * The simulated network needs it; real networks have their own. */
#ifndef RCX_SIM_NOTIFIER_H
#define RCX_SIM_NOTIFIER_H

#include <stdbool.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct rcx_notifier {
    int fd; /* -1: not open */
    bool is_armed;
};

static inline int rcx_notifier_open(struct rcx_notifier *notifier)
{
    if (notifier->fd < 0)
        notifier->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return notifier->fd;
}

/* Make the descriptor readable, armed or not. From any thread. The next
 * rcx_notifier_arm() returns false. */
static inline void rcx_notifier_wake(struct rcx_notifier *notifier)
{
    eventfd_write(notifier->fd, 1);
}

static inline void rcx_notifier_notify(struct rcx_notifier *notifier)
{
    if (notifier->is_armed)
        rcx_notifier_wake(notifier);
    notifier->is_armed = false;
}

/* Arm the notifier. False: there was an event since; call it again to arm. */
static inline bool rcx_notifier_arm(struct rcx_notifier *notifier)
{
    eventfd_t times;

    notifier->is_armed = eventfd_read(notifier->fd, &times) != 0;
    return notifier->is_armed;
}

static inline void rcx_notifier_close(struct rcx_notifier *notifier)
{
    if (notifier->fd >= 0)
        close(notifier->fd);
}

#endif
