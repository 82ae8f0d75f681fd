/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs as JSON. Texts of a page have no characters to be quoted. */
#include <inttypes.h>
#include <stdio.h>

#include "rcx_top/rcx_top.h"

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static void print_text(const char *name, const char *text)
{
    if (text[0])
        printf("\"%s\": \"%s\"", name, text);
    else
        printf("\"%s\": null", name);
}

static void print_op(const struct top_rank *rank,
                     const struct rcx_status_op *op)
{
    printf("{");
    print_text("call", op->call);
    printf(", \"communicator\": %" PRIu32 ", \"is_internal\": %s"
           ", \"number\": %" PRIu64 ", \"count\": %" PRIu64 ", ",
           op->comm, op->comm == rank->page.internal ? "true" : "false",
           op->number, op->count);
    print_text("type", op->type);
    printf(", \"bytes\": %" PRIu64 ", ", op->bytes);
    print_text("algorithm", op->algorithm);
    if (op->peer >= 0)
        printf(", \"peer\": %d", op->peer);
    printf(", \"tag\": %d, \"is_blocking\": %s, \"seconds\": %.6f"
           ", \"step\": %" PRIu32 ", \"steps\": %" PRIu32 ", \"waits_for\": [",
           op->tag, op->is_blocking ? "true" : "false",
           seconds(top_age(rank, op->begin)), op->step, op->steps);
    for (int i = 0; i < op->waits; i++)
        printf("%s%d", i ? ", " : "", op->waits_for[i]);
    printf("]}");
}

static void print_rank(const struct top_rank *rank)
{
    printf("{\"rank\": %d, \"pid\": %d, \"state\": \"%s\""
           ", \"seconds\": %.6f, \"last_call\": ",
           rank->page.rank, rank->page.pid, top_state_name(rank->state),
           seconds(rank->for_ns));
    if (rank->last)
        printf("{\"communicator\": %" PRIu32 ", \"number\": %" PRIu64
               ", \"seconds\": %.6f}",
               rank->last->id, rank->last->collectives.count,
               seconds(top_age(rank, rank->last->collectives.ticks)));
    else
        printf("null");
    printf(", \"operations\": [");
    for (uint32_t i = 0; i < rank->page.op_count; i++) {
        printf("%s", i ? ", " : "");
        print_op(rank, &rank->page.ops[i]);
    }
    printf("]}");
}

static void print_missing(const struct top_job *job,
                          const struct top_missing *m)
{
    const char *separator = "";

    printf("{\"rank\": %d, \"state\": \"%s\", \"by\": [", m->rank,
           m->found ? top_state_name(m->found->state) : "no page");
    for (size_t i = 0; i < job->n; i++) {
        if (!m->waits[i])
            continue;
        printf("%s%d", separator, job->ranks[i].page.rank);
        separator = ", ";
    }
    printf("]}");
}

static void print_job(const struct top_job *job)
{
    struct top_missing *missing;
    const size_t n = top_find_missing(job, &missing);

    printf("{\"job\": %d, \"size\": %d, \"ranks\": [",
           rcx_status_job_pid(job->job), job->size);
    for (size_t i = 0; i < job->n; i++) {
        printf("%s\n", i ? "," : "");
        print_rank(&job->ranks[i]);
    }
    printf("], \"waited_for\": [");
    for (size_t i = 0; i < n; i++) {
        printf("%s", i ? ", " : "");
        print_missing(job, &missing[i]);
    }
    printf("]}");
    top_free_missing(missing, n);
}

void top_print_json(const struct top_job *jobs, size_t n)
{
    printf("{\"rcx_top\": 1, \"jobs\": [");
    for (size_t i = 0; i < n; i++) {
        printf("%s", i ? ", " : "");
        print_job(&jobs[i]);
    }
    printf("]}\n");
}
