/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints what the PMIx server tells about the job: namespace, rank, sizes,
 * peers on this node, host. rcx_info prints it.
 */
#include "bootstrap/pmix_describe.h"

#include <stdio.h>

typedef void (*line_fn)(const char *name, const char *value, void *arg);

static void describe_key(const char *name, const char *key, const char *nspace,
                         pmix_rank_t rank, line_fn line, void *arg)
{
    pmix_value_t *value = NULL;
    char text[32];
    pmix_proc_t proc;
    pmix_status_t rc;

    PMIX_LOAD_PROCID(&proc, nspace, rank);
    rc = PMIx_Get(&proc, key, NULL, 0, &value);
    if (rc != PMIX_SUCCESS) {
        line(name, PMIx_Error_string(rc), arg);
        return;
    }
    if (value->type == PMIX_STRING) {
        line(name, value->data.string, arg);
    } else if (value->type == PMIX_UINT32) {
        snprintf(text, sizeof text, "%u", (unsigned)value->data.uint32);
        line(name, text, arg);
    } else {
        line(name, PMIx_Data_type_string(value->type), arg);
    }
    PMIX_VALUE_RELEASE(value);
}

void rcx_pmix_describe_job(const pmix_proc_t *me, line_fn line, void *arg)
{
    char rank[16];

    snprintf(rank, sizeof rank, "%u", (unsigned)me->rank);
    line("namespace", me->nspace, arg);
    line("rank", rank, arg);
    describe_key("job size", PMIX_JOB_SIZE, me->nspace, PMIX_RANK_WILDCARD,
                 line, arg);
    describe_key("local size", PMIX_LOCAL_SIZE, me->nspace, PMIX_RANK_WILDCARD,
                 line, arg);
    describe_key("local peers", PMIX_LOCAL_PEERS, me->nspace,
                 PMIX_RANK_WILDCARD, line, arg);
    describe_key("hostname", PMIX_HOSTNAME, me->nspace, me->rank, line, arg);
}
