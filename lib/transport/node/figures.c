/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures of a node: which are plausible, and how they are printed. The usual
 * ones are in core/base/machine.c; pair_bench.c measures.
 */
#include "transport/node/figures.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "transport/node/pair_bench.h"

/* Beyond these a figure says something of other tasks. */
static const double line_least = 2, line_most = 3000, byte_least = 0.002,
                    byte_most = 5, call_least = 30, call_most = 30000,
                    turn_least = 50, turn_most = 100000;

/* What /sys does not tell, the C library may know; its figure of the last
 * cache may be that of all of them. */
static void read_caches(struct rcx_node_figures *f,
                        const struct rcx_cpu_levels *l)
{
    long own = 0, shared = 0;

#ifdef _SC_LEVEL3_CACHE_SIZE
    own = sysconf(_SC_LEVEL2_CACHE_SIZE);
    shared = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    f->own = l->own_bytes ? l->own_bytes : own > 0 ? (uint64_t)own : f->own;
    f->shared = l->last_bytes ? l->last_bytes
                : shared > 0  ? (uint64_t)shared
                              : f->shared;
}

static void begin(struct rcx_node_figures *f, struct rcx_cpu_levels *levels)
{
    rcx_cpu_levels_from_sys("/sys", sched_getcpu(), levels);
    *f = rcx_machine_usual.figures;
    read_caches(f, levels);
}

void rcx_figures_usual(struct rcx_node_figures *f)
{
    struct rcx_cpu_levels levels;

    begin(f, &levels);
}

/* ---- Plausible figures --------------------------------------------------- */

/* False: it is replaced. A NaN is not plausible. */
static bool check(double *figure, double least, double most, double instead)
{
    if (*figure >= least && *figure <= most)
        return true;
    *figure = instead;
    return false;
}

static bool check_pair(struct rcx_pair_figures *p,
                       const struct rcx_pair_figures *instead)
{
    bool good = check(&p->line, line_least, line_most, instead->line);

    good &= check(&p->write, byte_least, byte_most, instead->write);
    good &= check(&p->read, byte_least, byte_most, instead->read);
    good &= check(&p->write_out, byte_least, byte_most, instead->write_out);
    good &= check(&p->read_out, byte_least, byte_most, instead->read_out);
    return good;
}

/* Cores that are farther are not faster. */
static void raise(struct rcx_pair_figures *far,
                  const struct rcx_pair_figures *near)
{
    far->line = rcx_larger(far->line, near->line);
    far->write = rcx_larger(far->write, near->write);
    far->read = rcx_larger(far->read, near->read);
    far->write_out = rcx_larger(far->write_out, near->write_out);
    far->read_out = rcx_larger(far->read_out, near->read_out);
}

void rcx_figures_check(struct rcx_node_figures *f)
{
    const struct rcx_node_figures *usual = &rcx_machine_usual.figures;
    bool good = check_pair(&f->near, &usual->near);

    if (f->far_is_near)
        f->far = f->near;
    good &= check_pair(&f->far, &usual->far);
    good &= check(&f->cma_call, call_least, call_most, usual->cma_call);
    good &= check(&f->cma_byte, byte_least, byte_most, usual->cma_byte);
    good &= check(&f->turn, turn_least, turn_most, usual->turn);
    raise(&f->far, &f->near);
    if (!good && f->reason == RCX_FIGURES_GOOD)
        f->reason = RCX_FIGURES_IMPLAUSIBLE;
}

/* ---- Measuring ----------------------------------------------------------- */

/* Of the 3 ms, the rest is for starting and ending a thread. */
enum { LIMIT_NS = 2000 * 1000 };

/* The cpus that this process may use if it is bound to none. */
static bool find_allowed(const cpu_set_t *bound, cpu_set_t *allowed)
{
    memset(allowed, 0xFF, sizeof *allowed);
    return sched_setaffinity(0, sizeof *allowed, allowed) == 0 &&
           sched_getaffinity(0, sizeof *allowed, allowed) == 0 &&
           rcx_cpus_contain(allowed, bound);
}

static enum rcx_figures_reason measure(const struct rcx_cpu_levels *levels,
                                       const cpu_set_t *bound,
                                       uint64_t until_ns,
                                       struct rcx_node_figures *f)
{
    const int here = sched_getcpu();
    struct rcx_bench_cores cores;
    cpu_set_t allowed;

    if (here < 0 || !find_allowed(bound, &allowed) ||
        !CPU_ISSET((size_t)here, &allowed))
        return RCX_FIGURES_ONE_CORE;
    cores = rcx_bench_choose(here, levels, &allowed, bound);
    CPU_ZERO(&allowed);
    CPU_SET((size_t)here, &allowed);
    if (cores.near < 0 || sched_setaffinity(0, sizeof allowed, &allowed) != 0)
        return RCX_FIGURES_ONE_CORE;
    return rcx_bench_run(&cores, until_ns, f);
}

void rcx_figures_measure(struct rcx_node_figures *f)
{
    const uint64_t start = rcx_now_ns();
    struct rcx_cpu_levels levels;
    cpu_set_t bound;

    begin(f, &levels);
    f->reason = RCX_FIGURES_ONE_CORE;
    if (sched_getaffinity(0, sizeof bound, &bound) != 0)
        return;
    f->reason = measure(&levels, &bound, start + LIMIT_NS, f);
    sched_setaffinity(0, sizeof bound, &bound);
    rcx_figures_check(f);
    f->took_us = (uint32_t)((rcx_now_ns() - start) / 1000);
}

/* ---- Text ---------------------------------------------------------------- */

const char *rcx_figures_origin(const struct rcx_node_figures *f, char *text,
                               size_t bytes)
{
    static const char *const reasons[] = {
        [RCX_FIGURES_GOOD] = "",
        [RCX_FIGURES_UNWANTED] = "nothing depends on them",
        [RCX_FIGURES_ONE_CORE] = "this process may use one core only",
        [RCX_FIGURES_NO_THREAD] = "no thread could be started",
        [RCX_FIGURES_NO_MEMORY] = "there was no memory for it",
        [RCX_FIGURES_LATE] = "the cores were busy",
        [RCX_FIGURES_IMPLAUSIBLE] = "the cores were busy"};
    const char *why =
        f->reason < sizeof reasons / sizeof *reasons ? reasons[f->reason] : "";

    if (f->origin != RCX_FIGURES_MEASURED)
        snprintf(text, bytes, "usual ones, not measured: %s", why);
    else
        snprintf(text, bytes, "measured in %.1f ms%s%s", f->took_us / 1e3,
                 *why ? ", in part the usual ones: " : "", why);
    return text;
}

static size_t print_pair(const struct rcx_pair_figures *p, const char *name,
                         char *text, size_t bytes)
{
    const int used =
        snprintf(text, bytes,
                 "%s cores: line %.0f ns, %.3f + %.3f ns/B, beyond their "
                 "caches %.3f + %.3f ns/B; ",
                 name, p->line, p->write, p->read, p->write_out, p->read_out);

    return (size_t)used < bytes ? (size_t)used : bytes;
}

const char *rcx_figures_print(const struct rcx_node_figures *f, char *text,
                              size_t bytes)
{
    size_t used = print_pair(&f->near, "near", text, bytes);

    if (!f->far_is_near)
        used += print_pair(&f->far, "far", text + used, bytes - used);
    snprintf(text + used, bytes - used,
             "CMA %.0f ns + %.3f ns/B; turn %.1f us; caches %lluK, %lluK",
             f->cma_call, f->cma_byte, f->turn / 1e3,
             (unsigned long long)f->own >> 10,
             (unsigned long long)f->shared >> 10);
    return text;
}
