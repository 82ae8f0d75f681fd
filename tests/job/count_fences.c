/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For LD_PRELOAD: says how many PMIx fences rcx_init() enters, and how many of
 * them carry data. PMIx_Fence() may itself call PMIx_Fence_nb(), which is one.
 */
#include <dlfcn.h>
#include <pmix.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "rcx/rcx.h"

static atomic_int fences, fences_with_data;
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

rcx_status_t rcx_init(const rcx_params_t *params, rcx_context_t **context_p)
{
    rcx_status_t (*next)(const rcx_params_t *, rcx_context_t **) =
        dlsym(RTLD_NEXT, "rcx_init");
    const int before = fences, before_with_data = fences_with_data;
    const rcx_status_t status = next(params, context_p);

    printf("rcx_init: %d fences, %d with data\n", fences - before,
           fences_with_data - before_with_data);
    return status;
}
