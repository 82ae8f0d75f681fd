/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sockets, NUMA domains and caches, from the files of /sys. Only files of one
 * cpu are read, so it takes as long on large machines as on small ones.
 * places_hwloc.c asks hwloc.
 */
#include "core/base/places.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Sets of cpus -------------------------------------------------------- */

int rcx_cpus_lowest(const cpu_set_t *cpus)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, cpus))
            return cpu;
    return -1;
}

bool rcx_cpus_contain(const cpu_set_t *all, const cpu_set_t *some)
{
    cpu_set_t both;

    CPU_AND(&both, all, some);
    return CPU_EQUAL(&both, some);
}

static bool parse_number(const char **text, long *number_p)
{
    char *end;

    if (**text < '0' || **text > '9')
        return false;
    *number_p = strtol(*text, &end, 10);
    *text = end;
    return *number_p <= INT_MAX;
}

bool rcx_cpus_parse(const char *text, cpu_set_t *cpus_p)
{
    long first, last;

    CPU_ZERO(cpus_p);
    while (*text && *text != '\n') {
        if (!parse_number(&text, &first))
            return false;
        last = first;
        if (*text == '-' && (text++, !parse_number(&text, &last)))
            return false;
        for (long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
            CPU_SET((size_t)cpu, cpus_p);
        if (*text == ',')
            text++;
        else if (*text && *text != '\n')
            return false;
    }
    return true;
}

/* ---- Files --------------------------------------------------------------- */

/* The first line of a file below root. False: it cannot be read. */
__attribute__((format(printf, 4, 5))) static bool
read_line(const char *root, char *line, int bytes, const char *format, ...)
{
    char path[PATH_MAX], below[128];
    FILE *file;
    va_list args;
    bool good;

    va_start(args, format);
    vsnprintf(below, sizeof below, format, args);
    va_end(args);
    if (snprintf(path, sizeof path, "%s/devices/system/%s", root, below) >=
        (int)sizeof path)
        return false;
    file = fopen(path, "re");
    good = file && fgets(line, bytes, file);
    if (file)
        fclose(file);
    return good;
}

/* Longest list of a cpu_set_t: every second cpu, with four digits each. */
enum { LIST = CPU_SETSIZE / 2 * 5 + 2, CACHES = 16, DOMAINS_MOST = 1024 };

/* The set in file NAME of a cpu's folder, if it has cpu; else it is empty. */
static bool read_set(const char *root, int cpu, const char *name,
                     cpu_set_t *cpus_p)
{
    char list[LIST];

    if (read_line(root, list, sizeof list, "cpu/cpu%d/%s", cpu, name) &&
        rcx_cpus_parse(list, cpus_p) && CPU_ISSET((size_t)cpu, cpus_p))
        return true;
    CPU_ZERO(cpus_p);
    return false;
}

/* Names are those of Linux 5.3, and older ones. */
static void read_core_and_socket(const char *root, int cpu,
                                 struct rcx_cpu_levels *l)
{
    char text[32];
    long id;
    char *end;

    if (!read_set(root, cpu, "topology/core_cpus_list", &l->core))
        read_set(root, cpu, "topology/thread_siblings_list", &l->core);
    if (!read_line(root, text, sizeof text,
                   "cpu/cpu%d/topology/physical_package_id", cpu))
        return;
    id = strtol(text, &end, 10);
    if (end == text || id < 0 || id >= UINT32_MAX) /* -1: not known */
        return;
    if (read_set(root, cpu, "topology/package_cpus_list", &l->socket) ||
        read_set(root, cpu, "topology/core_siblings_list", &l->socket))
        l->socket_id = (uint32_t)id + 1;
}

static void read_numa(const char *root, int cpu, struct rcx_cpu_levels *l)
{
    char list[LIST];
    cpu_set_t domains;

    if (!read_line(root, list, sizeof list, "node/online") ||
        !rcx_cpus_parse(list, &domains))
        return;
    for (int id = 0; id < DOMAINS_MOST; id++) {
        if (!CPU_ISSET(id, &domains) ||
            !read_line(root, list, sizeof list, "node/node%d/cpulist", id) ||
            !rcx_cpus_parse(list, &l->numa))
            continue;
        if (CPU_ISSET((size_t)cpu, &l->numa)) {
            l->numa_id = (uint32_t)id + 1;
            return;
        }
    }
    CPU_ZERO(&l->numa);
}

void rcx_cpu_levels_add_cache(struct rcx_cpu_levels *l, const cpu_set_t *cpus,
                              uint64_t bytes)
{
    const bool is_in_domain =
        CPU_COUNT(&l->numa) == 0 || rcx_cpus_contain(&l->numa, cpus);
    const bool is_own =
        CPU_COUNT(&l->core) > 0 && rcx_cpus_contain(&l->core, cpus);

    if (bytes > 0)
        l->last_bytes = bytes;
    if (bytes > 0 && is_own)
        l->own_bytes = bytes;
    if (CPU_COUNT(&l->core) == 0 || is_own || !is_in_domain)
        return;
    if (CPU_COUNT(&l->cache) == 0 || !CPU_EQUAL(&l->numa, cpus))
        l->cache = *cpus;
}

/* "1024K", as the kernel prints it; 0: not known. */
static uint64_t read_size(const char *root, int cpu, int cache)
{
    char text[32], *end;
    unsigned long long bytes;

    if (!read_line(root, text, sizeof text, "cpu/cpu%d/cache/index%d/size", cpu,
                   cache))
        return 0;
    bytes = strtoull(text, &end, 10);
    return *end == 'K' ? bytes << 10 : *end == 'M' ? bytes << 20 : bytes;
}

static void read_caches(const char *root, int cpu, struct rcx_cpu_levels *l)
{
    for (int i = 0; i < CACHES; i++) {
        char text[32], name[64];
        cpu_set_t cpus;

        if (!read_line(root, text, sizeof text, "cpu/cpu%d/cache/index%d/type",
                       cpu, i))
            return;
        snprintf(name, sizeof name, "cache/index%d/shared_cpu_list", i);
        if (strncmp(text, "Instruction", 11) != 0 &&
            read_set(root, cpu, name, &cpus))
            rcx_cpu_levels_add_cache(l, &cpus, read_size(root, cpu, i));
    }
}

bool rcx_cpu_levels_from_sys(const char *root, int cpu,
                             struct rcx_cpu_levels *levels_p)
{
    struct rcx_cpu_levels *l = levels_p;

    memset(l, 0, sizeof *l);
    if (cpu < 0 || cpu >= CPU_SETSIZE)
        return false;
    read_core_and_socket(root, cpu, l);
    read_numa(root, cpu, l);
    read_caches(root, cpu, l);
    return l->socket_id || l->numa_id || CPU_COUNT(&l->cache) > 0;
}

/* ---- Places -------------------------------------------------------------- */

void rcx_cpu_levels_find(int cpu, struct rcx_cpu_levels *levels_p)
{
    const bool hwloc_first = getenv("HWLOC_XMLFILE") ||
                             getenv("HWLOC_SYNTHETIC") ||
                             getenv("HWLOC_FSROOT");

    if (hwloc_first && rcx_cpu_levels_from_hwloc(cpu, levels_p))
        return;
    if (!rcx_cpu_levels_from_sys("/sys", cpu, levels_p) && !hwloc_first)
        rcx_cpu_levels_from_hwloc(cpu, levels_p);
}

struct rcx_place rcx_place_of(const struct rcx_cpu_levels *l,
                              const cpu_set_t *cpus)
{
    struct rcx_place place = {0};

    if (CPU_COUNT(cpus) == 0)
        return place;
    if (rcx_cpus_contain(&l->socket, cpus))
        place.socket = l->socket_id;
    if (rcx_cpus_contain(&l->numa, cpus))
        place.numa = l->numa_id;
    if (rcx_cpus_contain(&l->cache, cpus))
        place.cache = (uint32_t)rcx_cpus_lowest(&l->cache) + 1;
    return place;
}

void rcx_place_find(const cpu_set_t *cpus, struct rcx_place *place_p)
{
    struct rcx_cpu_levels levels = {0};
    const int lowest = rcx_cpus_lowest(cpus);

    if (lowest >= 0)
        rcx_cpu_levels_find(lowest, &levels);
    *place_p = rcx_place_of(&levels, cpus);
}
