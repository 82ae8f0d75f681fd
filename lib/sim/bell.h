/* SPDX-License-Identifier: BSD-3-Clause */
/* A descriptor that can be read once something has happened after it was armed:
 * what a network of hardware has by itself. */
#ifndef RCX_SIM_BELL_H
#define RCX_SIM_BELL_H

#include <stdbool.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct rcx_bell {
    int fd; /* -1: nobody has asked for it */
    bool is_armed;
};

static inline int rcx_bell_open(struct rcx_bell *bell)
{
    if (bell->fd < 0)
        bell->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return bell->fd;
}

/* From any thread, armed or not: the next rcx_bell_arm() says so. */
static inline void rcx_bell_wake(struct rcx_bell *bell)
{
    eventfd_write(bell->fd, 1);
}

static inline void rcx_bell_ring(struct rcx_bell *bell)
{
    if (bell->is_armed)
        rcx_bell_wake(bell);
    bell->is_armed = false;
}

/* False: it has rung. */
static inline bool rcx_bell_arm(struct rcx_bell *bell)
{
    eventfd_t times;

    bell->is_armed = eventfd_read(bell->fd, &times) != 0;
    return bell->is_armed;
}

static inline void rcx_bell_close(struct rcx_bell *bell)
{
    if (bell->fd >= 0)
        close(bell->fd);
}

#endif
