/* SPDX-License-Identifier: BSD-3-Clause */
/* A descriptor that can be read once something has happened after it was armed:
 * what a network of hardware has by itself. */
#ifndef RCX_SIM_NOTIFIER_H
#define RCX_SIM_NOTIFIER_H

#include <stdbool.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct rcx_notifier {
    int fd; /* -1: nobody has asked for it */
    bool is_armed;
};

static inline int rcx_notifier_open(struct rcx_notifier *bell)
{
    if (bell->fd < 0)
        bell->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return bell->fd;
}

/* From any thread, armed or not: the next rcx_notifier_arm() says so. */
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

/* False: it has rung. */
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
