/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The algorithms that --algo all tries. The library has no function that lists
 * them, so the build extracts their symbols from lib/algo/algorithms.h.
 */
#include "rcx_perf/rcx_perf.h"

#include <string.h>

#include "rcx_perf_algos.h"

/* The length of "COLLECTIVE_" if symbol begins with it; else 0. */
static size_t start_of(enum rcx_coll coll, const char *symbol)
{
    const char *name = rcx_coll_name(coll);
    const size_t length = strlen(name);

    return strncmp(symbol, name, length) == 0 && symbol[length] == '_'
               ? length + 1
               : 0;
}

/* The algorithm's name, behind "COLLECTIVE_". NULL: symbol belongs to another
 * collective, maybe one whose name is longer. */
static const char *name_in(enum rcx_coll coll, const char *symbol)
{
    const size_t start = start_of(coll, symbol);

    for (int other = 0; other < RCX_COLL_COUNT; other++)
        if (start_of((enum rcx_coll)other, symbol) > start)
            return NULL;
    return start ? symbol + start : NULL;
}

const char *perf_algorithm(const struct perf_coll *coll, int i)
{
    for (const char *const *a = algorithms; *a; a++) {
        const char *name = name_in(coll->row, *a);

        if (name && i-- == 0)
            return name;
    }
    return NULL;
}
