/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places of ranks in a machine: the socket, the NUMA domain and the cache that
 * hold all cpus of a set, for example those that a rank is bound to. Linux
 * tells them in /sys. hwloc is asked where /sys tells nothing, as in some
 * containers, or where its own variables name a topology: it takes 30 ms and
 * more to look at a machine, /sys takes less than one.
 */
#ifndef RCX_CORE_BASE_PLACES_H
#define RCX_CORE_BASE_PLACES_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* 1 + the id of the object that holds all cpus; 0: they are in several, or it
 * is not known. */
struct rcx_place {
    uint32_t socket; /* the kernel's number of it */
    uint32_t numa;   /* the kernel's number of the domain */
    uint32_t cache;  /* the id is the lowest cpu of the cache */
};

/*
 * The objects that hold one cpu. A set is empty, and an id 0, where it is not
 * known. cache: a cache that several cores share, within the NUMA domain; the
 * outermost one that does not serve the whole domain, if there is one.
 */
struct rcx_cpu_levels {
    cpu_set_t core, cache, numa, socket;
    uint32_t numa_id, socket_id; /* plus 1 */
    uint64_t own_bytes;          /* of the largest cache of the core alone */
    uint64_t last_bytes;         /* of the last cache, which may be the same */
};

/* The place of these cpus in this machine. */
void rcx_place_find(const cpu_set_t *cpus, struct rcx_place *place_p);
/* The objects that hold cpu in this machine. */
void rcx_cpu_levels_find(int cpu, struct rcx_cpu_levels *levels_p);

/* The same as files below root tell, which is "/sys" or like it. False: they
 * tell nothing of cpu. */
bool rcx_cpu_levels_from_sys(const char *root, int cpu,
                             struct rcx_cpu_levels *levels_p);
/* The same as hwloc tells, of this machine or the one that its variables name.
 * False: it tells nothing, or is not compiled in. */
bool rcx_cpu_levels_from_hwloc(int cpu, struct rcx_cpu_levels *levels_p);

/* The place of cpus, whose lowest one has these levels. */
struct rcx_place rcx_place_of(const struct rcx_cpu_levels *levels,
                              const cpu_set_t *cpus);

/* The lowest cpu of a set, or -1. */
int rcx_cpus_lowest(const cpu_set_t *cpus);
/* Whether all of some are in all. */
bool rcx_cpus_contain(const cpu_set_t *all, const cpu_set_t *some);
/* Parse "0-3,8" as the kernel prints a set. False: it is not one. Cpus beyond
 * the size of a cpu_set_t are left out. */
bool rcx_cpus_parse(const char *text, cpu_set_t *cpus_p);

/* Note a cache of this size that serves these cpus. Caches of a cpu come from
 * the innermost outwards, when core and numa are known. */
void rcx_cpu_levels_add_cache(struct rcx_cpu_levels *levels,
                              const cpu_set_t *cpus, uint64_t bytes);

#endif
