/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For LD_PRELOAD: prints what rcx_init() requests of PMIx. Counts fences,
 * fences with data, values put for all nodes, and values of any rank that were
 * read. A PMIx_Fence_nb() inside PMIx_Fence() is not counted again.
 *
 * ALTER="I V" sets byte I of the values that rank 0 puts for all nodes to V.
 */
#include <dlfcn.h>
#include <pmix.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rcx/rcx.h"

static atomic_int fences, fences_with_data, n_put, n_got;
static _Thread_local bool inside;

static void count(const pmix_info_t infos[], size_t n)
{
    bool data = false;

    for (size_t i = 0; i < n; i++)
        data |= strcmp(infos[i].key, PMIX_COLLECT_DATA) == 0 &&
                infos[i].value.data.flag;
    fences += !inside;
    fences_with_data += !inside && data;
}

pmix_status_t PMIx_Fence(const pmix_proc_t procs[], size_t nprocs,
                         const pmix_info_t infos[], size_t n)
{
    pmix_status_t (*next)(const pmix_proc_t[], size_t, const pmix_info_t[],
                          size_t) = dlsym(RTLD_NEXT, "PMIx_Fence");
    pmix_status_t rc;

    count(infos, n);
    inside = true;
    rc = next(procs, nprocs, infos, n);
    inside = false;
    return rc;
}

pmix_status_t PMIx_Fence_nb(const pmix_proc_t procs[], size_t nprocs,
                            const pmix_info_t infos[], size_t n,
                            pmix_op_cbfunc_t done, void *arg)
{
    pmix_status_t (*next)(const pmix_proc_t[], size_t, const pmix_info_t[],
                          size_t, pmix_op_cbfunc_t, void *) =
        dlsym(RTLD_NEXT, "PMIx_Fence_nb");

    count(infos, n);
    return next(procs, nprocs, infos, n, done, arg);
}

static void alter(pmix_byte_object_t *object)
{
    const char *text = getenv("ALTER"), *rank = getenv("PMIX_RANK");
    unsigned at, value;

    if (text && rank && strcmp(rank, "0") == 0 &&
        sscanf(text, "%u %u", &at, &value) == 2 && at < object->size)
        object->bytes[at] = (char)value;
}

pmix_status_t PMIx_Put(pmix_scope_t scope, const char key[],
                       pmix_value_t *value)
{
    pmix_status_t (*next)(pmix_scope_t, const char *, pmix_value_t *) =
        dlsym(RTLD_NEXT, "PMIx_Put");

    if (scope == PMIX_GLOBAL) {
        n_put++;
        alter(&value->data.bo);
    }
    return next(scope, key, value);
}

/* Whether key is that of a published blob: "rcx." and the number of a run; or of
 * a record for all nodes, which has a prefix. */
static bool is_published(const char *key)
{
    static const char nodes[] = "nodes.";

    if (key && strncmp(key, nodes, sizeof nodes - 1) == 0)
        key += sizeof nodes - 1;
    return key && strncmp(key, "rcx.", 4) == 0 && key[4] >= '0' &&
           key[4] <= '9';
}

pmix_status_t PMIx_Get(const pmix_proc_t *proc, const char key[],
                       const pmix_info_t infos[], size_t n,
                       pmix_value_t **value_p)
{
    pmix_status_t (*next)(const pmix_proc_t *, const char *,
                          const pmix_info_t[], size_t, pmix_value_t **) =
        dlsym(RTLD_NEXT, "PMIx_Get");
    const pmix_status_t rc = next(proc, key, infos, n, value_p);

    n_got += rc == PMIX_SUCCESS && is_published(key);
    return rc;
}

rcx_status_t rcx_init(const rcx_params_t *params, rcx_context_t **context_p)
{
    rcx_status_t (*next)(const rcx_params_t *, rcx_context_t **) =
        dlsym(RTLD_NEXT, "rcx_init");
    rcx_status_t status;

    fences = fences_with_data = n_put = n_got = 0;
    status = next(params, context_p);
    printf("rcx_init: %d fences, %d with data\n"
           "rcx_init: %d values put, %d had\n",
           fences, fences_with_data, n_put, n_got);
    return status;
}
