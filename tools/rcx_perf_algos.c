/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What there is to try. The library says it to nobody but in a message, so the
 * build takes it from the library's table.
 */
#include "rcx_perf.h"

#include <string.h>

#include "rcx_perf_algos.h"

/* The length of what symbol begins with, if that is what coll's do. */
static size_t start_of(const struct perf_coll *coll, const char *symbol)
{
    const size_t length = strlen(coll->algos);

    return strncmp(symbol, coll->algos, length) == 0 && symbol[length] == '_'
               ? length + 1
               : 0;
}

/* Behind "COLLECTIVE_"; NULL: another collective's, with a longer name. */
static const char *name_in(const struct perf_coll *coll, const char *symbol)
{
    const size_t start = start_of(coll, symbol);

    for (const struct perf_coll *other = perf_colls; other->name; other++)
        if (start_of(other, symbol) > start)
            return NULL;
    return start ? symbol + start : NULL;
}

const char *perf_algorithm(const struct perf_coll *coll, int i)
{
    for (const char *const *a = algorithms; *a; a++) {
        const char *name = name_in(coll, *a);

        if (name && i-- == 0)
            return name;
    }
    return NULL;
}
