/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sockets, NUMA domains and caches, from hwloc. The topology is loaded and
 * destroyed by each call: it is needed once, where /sys tells nothing.
 */
#include "core/base/places.h"

#ifdef RCX_HAVE_HWLOC

#include <hwloc.h>
#include <string.h>

/* All cpus count, also those that this process may not use: ids must be the
 * same in all processes of the machine. */
static bool load(hwloc_topology_t *topology_p)
{
    hwloc_topology_t topology;

    if (hwloc_topology_init(&topology) != 0)
        return false;
    if (hwloc_topology_set_flags(topology,
                                 HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) == 0 &&
        hwloc_topology_load(topology) == 0) {
        *topology_p = topology;
        return true;
    }
    hwloc_topology_destroy(topology);
    return false;
}

static void copy_set(hwloc_const_bitmap_t from, cpu_set_t *to)
{
    CPU_ZERO(to);
    for (int cpu = hwloc_bitmap_first(from); cpu >= 0 && cpu < CPU_SETSIZE;
         cpu = hwloc_bitmap_next(from, cpu))
        CPU_SET((size_t)cpu, to);
}

static void find_numa(hwloc_topology_t topology, int cpu,
                      struct rcx_cpu_levels *l)
{
    hwloc_obj_t domain = NULL, next = NULL;

    while ((next = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE,
                                              next)) != NULL)
        if (next->cpuset && hwloc_bitmap_isset(next->cpuset, (unsigned)cpu) &&
            (!domain || next->os_index < domain->os_index))
            domain = next;
    if (!domain || domain->os_index == HWLOC_UNKNOWN_INDEX)
        return;
    copy_set(domain->cpuset, &l->numa);
    l->numa_id = domain->os_index + 1;
}

/* Objects around a cpu come from the innermost outwards. hwloc leaves out a
 * core that is the same as its cpu. */
static void find_around(hwloc_obj_t pu, struct rcx_cpu_levels *l)
{
    cpu_set_t set;

    copy_set(pu->cpuset, &l->core);
    for (hwloc_obj_t o = pu->parent; o; o = o->parent) {
        copy_set(o->cpuset, &set);
        if (o->type == HWLOC_OBJ_CORE)
            l->core = set;
    }
    for (hwloc_obj_t o = pu->parent; o; o = o->parent) {
        copy_set(o->cpuset, &set);
        if (hwloc_obj_type_is_dcache(o->type))
            rcx_cpu_levels_add_cache(l, &set, o->attr->cache.size);
        if (o->type == HWLOC_OBJ_PACKAGE &&
            o->os_index != HWLOC_UNKNOWN_INDEX) {
            l->socket = set;
            l->socket_id = o->os_index + 1;
        }
    }
}

bool rcx_cpu_levels_from_hwloc(int cpu, struct rcx_cpu_levels *levels_p)
{
    hwloc_topology_t topology;
    hwloc_obj_t pu;

    memset(levels_p, 0, sizeof *levels_p);
    if (cpu < 0 || cpu >= CPU_SETSIZE || !load(&topology))
        return false;
    pu = hwloc_get_pu_obj_by_os_index(topology, (unsigned)cpu);
    if (pu) {
        find_numa(topology, cpu, levels_p);
        find_around(pu, levels_p);
    }
    hwloc_topology_destroy(topology);
    return levels_p->socket_id || levels_p->numa_id ||
           CPU_COUNT(&levels_p->cache) > 0;
}

#else

bool rcx_cpu_levels_from_hwloc(int cpu, struct rcx_cpu_levels *levels_p)
{
    (void)cpu, (void)levels_p;
    return false;
}

#endif
