/* SPDX-License-Identifier: BSD-3-Clause */
/* rcx_info --machine: the caches, NUMA domains and sockets of this machine, the
 * figures that are measured now, and what ranks decide by them. */
#include <stdio.h>

#include "rcx_info/rcx_info.h"

#include "common/cpus.h"
#include "core/base/places.h"
#include "transport/node/caps.h"
#include "transport/node/cma.h"
#include "transport/node/decide.h"

enum { LIST = 1024, WIDTH = 22, TRIES = 20 };

/* ---- Places -------------------------------------------------------------- */

static void print_line(const char *label, const char *text)
{
    char indented[96];

    snprintf(indented, sizeof indented, "  %-*s ", WIDTH, label);
    info_print_wrapped(indented, text);
}

/* The cpus of a level, if the one before was another one. */
static void print_level(const char *name, uint32_t id, const cpu_set_t *cpus,
                        uint64_t bytes)
{
    char label[WIDTH + 8], list[LIST], text[LIST + 64];

    if (CPU_COUNT(cpus) == 0)
        return;
    snprintf(label, sizeof label, "%s %u", name, id);
    cpus_print(cpus, list, sizeof list);
    if (bytes > 0)
        snprintf(text, sizeof text, "cpus %s, %lluK", list,
                 (unsigned long long)bytes >> 10);
    else
        snprintf(text, sizeof text, "cpus %s", list);
    print_line(label, text);
}

static void print_levels_of(const struct rcx_cpu_levels *l,
                            const struct rcx_cpu_levels *before)
{
    if (l->socket_id != before->socket_id)
        print_level("socket", l->socket_id - 1, &l->socket, 0);
    if (l->numa_id != before->numa_id)
        print_level("  NUMA domain", l->numa_id - 1, &l->numa, 0);
    if (!CPU_EQUAL(&l->cache, &before->cache))
        print_level("    cache of cpu", (uint32_t)rcx_cpus_lowest(&l->cache),
                    &l->cache, l->last_bytes);
}

/* What is in no cache that cores share is looked at once per core. */
static void remove_seen(cpu_set_t *rest, const struct rcx_cpu_levels *l,
                        int cpu)
{
    const cpu_set_t *seen = CPU_COUNT(&l->cache) > 0  ? &l->cache
                            : CPU_COUNT(&l->core) > 0 ? &l->core
                                                      : NULL;

    CPU_CLR((size_t)cpu, rest);
    for (int i = 0; seen && i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, seen))
            CPU_CLR((size_t)i, rest);
}

static void print_levels(const cpu_set_t *cpus)
{
    struct rcx_cpu_levels before = {0};
    cpu_set_t rest = *cpus;
    int cpu;

    while ((cpu = rcx_cpus_lowest(&rest)) >= 0) {
        struct rcx_cpu_levels levels;

        rcx_cpu_levels_find(cpu, &levels);
        print_levels_of(&levels, &before);
        remove_seen(&rest, &levels, cpu);
        before = levels;
    }
}

static const char *print_id(uint32_t id, char text[16])
{
    snprintf(text, 16, "%u", id - 1);
    return id > 0 ? text : "several, or not known";
}

static void print_place(const cpu_set_t *cpus)
{
    char list[LIST], text[LIST + 128], ids[3][16];
    struct rcx_place place;

    rcx_place_find(cpus, &place);
    snprintf(text, sizeof text,
             "cpus %s; socket: %s; NUMA domain: %s; cache of cpu: %s",
             cpus_print(cpus, list, sizeof list),
             print_id(place.socket, ids[0]), print_id(place.numa, ids[1]),
             print_id(place.cache, ids[2]));
    print_line("this process", text);
}

/* ---- Figures ------------------------------------------------------------- */

static void print_pair(const char *label, const struct rcx_pair_figures *p)
{
    char text[160];

    snprintf(text, sizeof text,
             "a line %.0f ns; a byte in and out %.3f + %.3f ns within the own "
             "caches, %.3f + %.3f ns beyond them",
             p->line, p->write, p->read, p->write_out, p->read_out);
    print_line(label, text);
}

static void print_figures(const struct rcx_node_figures *f)
{
    char text[160];

    printf("\nFigures, %s\n\n", rcx_figures_origin(f, text, sizeof text));
    print_pair("near cores", &f->near);
    if (f->far_is_near)
        print_line("far cores", "none were measured");
    else
        print_pair("far cores", &f->far);
    snprintf(text, sizeof text, "a call %.0f ns, a byte %.3f ns", f->cma_call,
             f->cma_byte);
    print_line("process_vm_readv", text);
    snprintf(text, sizeof text, "%.1f us to another thread and back",
             f->turn / 1e3);
    print_line("yield of a core", text);
    snprintf(text, sizeof text, "%lluK of a core, %lluK shared",
             (unsigned long long)f->own >> 10,
             (unsigned long long)f->shared >> 10);
    print_line("caches", text);
}

/* ---- Settings ------------------------------------------------------------ */

static void print_settings(const struct rcx_decide_facts *facts,
                           const struct rcx_shm_settings *set)
{
    struct rcx_shm_settings settings, is_set = *set;
    char text[128];

    rcx_decide(facts, set, &settings);
    printf("\nDecided for %zu rank%s on %zu core%s\n\n", facts->ranks,
           facts->ranks == 1 ? "" : "s", facts->cores,
           facts->cores == 1 ? "" : "s");
    printf("  RCX_SHM=%s\n\n",
           rcx_shm_settings_print(&settings, text, sizeof text));
    for (int i = 0; i < RCX_SHM_SETTINGS; i++) {
        struct rcx_shm_settings one = {0};
        char value[64];

        *rcx_shm_setting(&one, i) = *rcx_shm_setting(&settings, i);
        snprintf(text, sizeof text, "%s%s", rcx_shm_setting_doc(i),
                 *rcx_shm_setting(&is_set, i) ? " (set)" : "");
        print_line(rcx_shm_settings_print(&one, value, sizeof value), text);
    }
    printf("\n");
}

/* A job tries once. Here there is time until other tasks leave the cores. */
static void measure(struct rcx_node_figures *f)
{
    int tries = TRIES;

    do
        rcx_figures_measure(f);
    while (--tries > 0 && (f->reason == RCX_FIGURES_LATE ||
                           f->reason == RCX_FIGURES_IMPLAUSIBLE));
}

void info_print_machine(int ranks, const struct rcx_config *config)
{
    struct rcx_decide_facts facts = {.ranks = (size_t)ranks,
                                     .tasks = (size_t)ranks,
                                     .has_cma = rcx_cma_works()};
    struct rcx_cpu_levels levels;
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    sched_getaffinity(0, sizeof cpus, &cpus);
    rcx_cpu_levels_find(rcx_cpus_lowest(&cpus), &levels);
    rcx_facts_set_cpus(&facts, &levels, &cpus);
    printf("Machine\n\n");
    print_place(&cpus);
    print_levels(&cpus);
    measure(&facts.figures);
    print_figures(&facts.figures);
    print_settings(&facts, &config->shm);
}
