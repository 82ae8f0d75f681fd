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

static inline int rcx_notifier_open(struct rcx_notifier *bell)
{
    if (bell->fd < 0)
        bell->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return bell->fd;
}

/* Make the descriptor readable, armed or not. From any thread. The next
 * rcx_notifier_arm() returns false. */
static inline void rcx_notifier_wake(struct rcx_notifier *bell)
{
    eventfd_write(bell->fd, 1);
}

static inline void rcx_notifier_notify(struct rcx_notifier *bell)
{
    if (bell->is_armed)
        rcx_notifier_wake(bell);
    bell->is_armed = false;
}

/* Arm the notifier. False: there was an event since; call it again to arm. */
static inline bool rcx_notifier_arm(struct rcx_notifier *bell)
{
    eventfd_t times;

    bell->is_armed = eventfd_read(bell->fd, &times) != 0;
    return bell->is_armed;
}

static inline void rcx_notifier_close(struct rcx_notifier *bell)
{
    if (bell->fd >= 0)
        close(bell->fd);
}

#endif
