/* SPDX-License-Identifier: BSD-3-Clause */
/* The place of a process among the sockets, NUMA domains and caches of its
 * machine. */
#ifndef RCX_CORE_BASE_PLACES_H
#define RCX_CORE_BASE_PLACES_H

#include <stdint.h>

/* Ids plus one of the objects that have all CPUs of a process; 0: it may run on
 * several of them, or they are not known. */
struct rcx_place {
    uint32_t socket, numa, cache;
};

#endif
