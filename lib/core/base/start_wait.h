/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Warnings of a start that takes long. All waits of a rcx_init() share one
 * struct, whichever module waits: after 5 s, and again whenever the start has
 * taken twice as long, the wait that is then in progress logs its reason.
 */
#ifndef RCX_CORE_BASE_START_WAIT_H
#define RCX_CORE_BASE_START_WAIT_H

#include <stdbool.h>

#include "core/base/log.h"

struct rcx_start_wait {
    const struct rcx_log *log;
    uint64_t begin_ns; /* of rcx_init() */
    uint64_t next_ns;  /* of the next warning; UINT64_MAX: none comes */
};

/* The rcx_init() that began at begin_ns may wait from now on. */
void rcx_start_wait_begin(struct rcx_start_wait *w, const struct rcx_log *log,
                          uint64_t begin_ns);
/* It does not wait any more: no call below has an effect. */
void rcx_start_wait_end(struct rcx_start_wait *w);

/* When to look again; UINT64_MAX: never. w may be NULL. */
uint64_t rcx_start_wait_next(const struct rcx_start_wait *w);
/* The same for a wait that began at begin_ns, and may be one of many: it lasts
 * a second before it warns. */
uint64_t rcx_start_wait_next_of(const struct rcx_start_wait *w,
                                uint64_t begin_ns);
/* Whether a warning is due. w may be NULL. */
bool rcx_start_wait_is_due(const struct rcx_start_wait *w);
/* Log how long the start has taken, and what it waits for. */
void rcx_start_wait_warn(struct rcx_start_wait *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Another rank logs that. */
void rcx_start_wait_skip(struct rcx_start_wait *w);

#endif
