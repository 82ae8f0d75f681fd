/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What there is to try. The library says it to nobody but in a message, so the
 * build takes it from the library's table.
 */
#include "rcx_perf.h"

#include <string.h>

#include "rcx_perf_algos.h"

/* Behind "COLLECTIVE_"; NULL: another collective's. */
static const char *name_in(enum perf_coll coll, const char *symbol)
{
    static const char *const starts[] = {"allreduce_", "reduce_",
                                         "reduce_scatter_", "reduce_scatter_"};
    const char *scatter = starts[COLL_REDUCE_SCATTER], *start = starts[coll];

    if (coll == COLL_REDUCE && strncmp(symbol, scatter, strlen(scatter)) == 0)
        return NULL;
    return strncmp(symbol, start, strlen(start)) == 0 ? symbol + strlen(start)
                                                      : NULL;
}

const char *perf_algorithm(enum perf_coll coll, int i)
{
    for (const char *const *a = algorithms; *a; a++) {
        const char *name = name_in(coll, *a);

        if (name && i-- == 0)
            return name;
    }
    return NULL;
}
