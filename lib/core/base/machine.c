/* SPDX-License-Identifier: BSD-3-Clause */
/* The usual machine; reads the prices of a machine from text, and hashes them.
 * Measures nothing. */
#include "core/base/machine.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/parse.h"

const char *const rcx_level_names[] = {
    [RCX_LEVEL_NODE] = "node", [RCX_LEVEL_SOCKET] = "socket",
    [RCX_LEVEL_NUMA] = "numa", [RCX_LEVEL_CACHE] = "cache",
    [RCX_LEVEL_CORE] = "core", [RCX_LEVELS] = NULL};

/*
 * Prices: within a node what processors of many cores have (tools/tables): a
 * line from another cache takes 0.08 us longer, from another socket 0.15 us; a
 * cache has 32 GB/s to the rest of its socket, a socket 100 GB/s to another. A
 * message takes 0.1 us of the cores of both ranks.
 *
 * Figures: between published ones of servers of 2017 to 2024: 20 to 60 ns from
 * core to core within a cache, 50 to 200 ns beyond it; 10 to 25 GB/s for a copy
 * between cores; half a microsecond for a system call that pins pages, and a
 * copy by the kernel; 1 to 2 us for two switches. Sources are in
 * tests/unit/test_decide.c.
 */
const struct rcx_machine rcx_machine_usual = {
    .alpha = 0.25e-6,
    .beta = 0.15e-9,
    .gamma = 0.05e-9,
    .tell = 0.1e-6,
    .share = 0.03e-9,
    .link = {[RCX_LEVEL_NODE] = {20e-6, 8e-9, 5e-6},
             [RCX_LEVEL_SOCKET] = {0.15e-6, 0.01e-9, 0.15e-6},
             [RCX_LEVEL_NUMA] = {0.01e-6, 0.01e-9, 0.01e-6},
             [RCX_LEVEL_CACHE] = {0.08e-6, 0.03e-9, 0.08e-6}},
    .figures = {.origin = RCX_FIGURES_USUAL,
                .near = {55, 0.03, 0.04, 0.02, 0.03},
                .far = {120, 0.04, 0.06, 0.03, 0.05},
                .cma_call = 700,
                .cma_byte = 0.15,
                .turn = 1500,
                .own = 1 << 20,
                .shared = 32 << 20}};

uint64_t rcx_machine_hash(const struct rcx_machine *m)
{
    uint64_t hash = 0, bits[offsetof(struct rcx_machine, figures) /
                            sizeof(uint64_t)]; /* its prices, as integers */

    memcpy(bits, m, sizeof bits);
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        hash = rcx_hash(hash, bits[i]);
    return hash;
}

static const char blanks[] = " \t\r";

/* Cut the first item off *rest: blanks, or a comma, separate it from the next
 * one. False: none follows it. */
static bool cut_item(char **rest, char **item_p)
{
    char *end, *next;

    *item_p = *rest + strspn(*rest, blanks);
    end = *item_p + strcspn(*item_p, " \t\r,");
    next = end + strspn(end, blanks);
    *rest = next + (*next == ',');
    if (!*next)
        *rest = NULL;
    *end = '\0';
    return *rest != NULL;
}

bool rcx_machine_parse(char *text, struct rcx_machine *m, struct rcx_refusal *r)
{
    static const char *const names[] = {
        "alpha",      "tell",      "share",       "beta",         "gamma",
        "far-alpha",  "far-beta",  "far-tell",    "socket-alpha", "socket-beta",
        "numa-alpha", "numa-beta", "cache-alpha", "cache-beta",   NULL};
    struct rcx_link *const far = &m->link[RCX_LEVEL_NODE];
    struct rcx_link *const socket = &m->link[RCX_LEVEL_SOCKET];
    struct rcx_link *const numa = &m->link[RCX_LEVEL_NUMA];
    struct rcx_link *const cache = &m->link[RCX_LEVEL_CACHE];
    double *const values[] = {
        &m->alpha,    &m->tell,    &m->share,     &m->beta,       &m->gamma,
        &far->alpha,  &far->beta,  &far->tell,    &socket->alpha, &socket->beta,
        &numa->alpha, &numa->beta, &cache->alpha, &cache->beta};
    char *word, *value, *rest = text;
    unsigned seen = 0;
    bool more;
    int i;

    *r = (struct rcx_refusal){.valid = ""};
    snprintf(
        r->valid, sizeof r->valid,
        "machine: valid are alpha, beta, gamma, tell, share, far-tell, and "
        "with far-, socket-, numa- or cache- before them alpha and beta = a "
        "time such as 0.4us, 0.15ns");
    do {
        more = cut_item(&rest, &word);
        value = strchr(word, '=');
        if (!value)
            return false;
        *value++ = '\0';
        i = rcx_suggest_find_once(word, names, &seen, r);
        if (i < 0 || !rcx_parse_seconds(value, values[i]))
            return false;
    } while (more);
    r->valid[0] = r->guess[0] = '\0';
    return true;
}
