/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What there is to try. The library says it to nobody but in a message, so the
 * build takes it from the library's table.
 */
#include "rcx_perf/rcx_perf.h"

#include <string.h>

#include "rcx_perf_algos.h"

/* The length of what symbol begins with, if that is what coll's do. */
static size_t start_of(enum rcx_coll coll, const char *symbol)
{
    const char *name = rcx_coll_name(coll);
    const size_t length = strlen(name);

    return strncmp(symbol, name, length) == 0 && symbol[length] == '_'
               ? length + 1
               : 0;
}

/* Behind "COLLECTIVE_"; NULL: another collective's, with a longer name. */
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
