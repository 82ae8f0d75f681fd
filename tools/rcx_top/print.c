/* SPDX-License-Identifier: BSD-3-Clause */
/* A job as a table, and a sentence for each rank that others wait for. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rcx_top/rcx_top.h"

enum { CELL = 64 };

const char *top_state_name(enum top_state state)
{
    static const char *const names[] = {"in call", "outside", "stopped",
                                        "ended", "unknown"};

    return names[state];
}

static const char *print_time(uint64_t ns, char text[CELL])
{
    const double s = (double)ns / 1e9;

    if (s < 1)
        snprintf(text, CELL, "%.0f ms", s * 1e3);
    else if (s < 120)
        snprintf(text, CELL, "%.1f s", s);
    else if (s < 7200)
        snprintf(text, CELL, "%.0f min", s / 60);
    else
        snprintf(text, CELL, "%.1f h", s / 3600);
    return text;
}

static const char *print_comm(const struct top_rank *rank, uint32_t id,
                              char text[CELL])
{
    if (id == rank->page.internal)
        snprintf(text, CELL, "rcx");
    else
        snprintf(text, CELL, "%" PRIu32, id);
    return text;
}

/* "allreduce", "receive, tag 7", and "+2" if 2 more are in flight. */
static const char *print_call(const struct top_rank *rank, char text[CELL])
{
    const struct rcx_status_op *op = rank->op;
    const bool is_message =
        strcmp(op->call, "send") == 0 || strcmp(op->call, "receive") == 0;
    char tag[24] = "", more[16] = "";

    if (is_message)
        snprintf(tag, sizeof tag, ", tag %d", op->tag);
    if (rank->page.op_count > 1)
        snprintf(more, sizeof more, " +%" PRIu32, rank->page.op_count - 1);
    snprintf(text, CELL, "%s%s%s", op->call, tag, more);
    return text;
}

static void print_op(const struct top_rank *rank)
{
    const struct rcx_status_op *op = rank->op;
    char call[CELL], comm[CELL];

    printf("%-18s %5s %9" PRIu64 " %10" PRIu64 "  %-24s",
           print_call(rank, call), print_comm(rank, op->comm, comm), op->number,
           op->bytes, op->algorithm[0] ? op->algorithm : "-");
    for (int i = 0; i < op->waits; i++)
        printf("%s %d", i ? "," : "", op->waits_for[i]);
    printf("%s\n", op->waits ? "" : " -");
}

static void print_last(const struct top_rank *rank)
{
    char comm[CELL] = "-", number[CELL] = "-";

    if (rank->last) {
        print_comm(rank, rank->last->id, comm);
        snprintf(number, sizeof number, "%" PRIu64,
                 rank->last->collectives.count);
    }
    printf("%-18s %5s %9s %10s  %-24s -\n", "-", comm, number, "-", "-");
}

static void print_rank(const struct top_rank *rank)
{
    char time[CELL];

    printf("%6d %8d %-8s %8s  ", rank->page.rank, rank->page.pid,
           top_state_name(rank->state), print_time(rank->for_ns, time));
    if (rank->op)
        print_op(rank);
    else
        print_last(rank);
}

/* "0-2, 5": the marked ranks. */
static void print_marked(const struct top_job *job, const bool marks[])
{
    const char *separator = "";

    for (size_t i = 0; i < job->n; i++) {
        size_t last = i;

        if (!marks[i])
            continue;
        while (last + 1 < job->n && marks[last + 1] &&
               job->ranks[last + 1].page.rank == job->ranks[last].page.rank + 1)
            last++;
        printf("%s%d", separator, job->ranks[i].page.rank);
        if (last > i)
            printf("-%d", job->ranks[last].page.rank);
        separator = ", ";
        i = last;
    }
}

static size_t count(const bool marks[], size_t n)
{
    size_t marked = 0;

    for (size_t i = 0; i < n; i++)
        marked += marks[i];
    return marked;
}

static void print_missing(const struct top_job *job,
                          const struct top_missing *m)
{
    const size_t n = count(m->waits, job->n);
    char time[CELL];

    printf("rank%s ", n == 1 ? "" : "s");
    print_marked(job, m->waits);
    printf(" wait%s for rank %d", n == 1 ? "s" : "", m->rank);
    if (!m->found)
        printf(", which has no page here: it has ended, or is on another "
               "node\n");
    else if (m->found->state == TOP_STOPPED)
        printf(" (pid %d), which is stopped by a signal or a debugger\n",
               m->found->page.pid);
    else if (m->found->state == TOP_ENDED)
        printf(" (pid %d), which has ended\n", m->found->page.pid);
    else if (m->found->state == TOP_UNKNOWN)
        printf(" (pid %d), whose page is being written since %s\n",
               m->found->page.pid, print_time(m->found->for_ns, time));
    else if (m->found->for_ns < TOP_LONG_NS)
        printf(" (pid %d), whose last call was %s ago\n", m->found->page.pid,
               print_time(m->found->for_ns, time));
    else
        printf(" (pid %d), which is not in RCX since %s\n", m->found->page.pid,
               print_time(m->found->for_ns, time));
}

/* A rank may be within a long step: a message of which only a part has come, or
 * elements that are combined. */
static void print_circle(const struct top_job *job)
{
    bool *marks = top_alloc(job->n, sizeof *marks);
    uint64_t still_ns = UINT64_MAX;
    char time[CELL];

    if (top_find_circle(job, marks) > 0) {
        for (size_t i = 0; i < job->n; i++)
            if (marks[i] && job->ranks[i].still_ns < still_ns)
                still_ns = job->ranks[i].still_ns;
        printf("ranks ");
        print_marked(job, marks);
        printf(" wait for each other, and have completed no step for %s: a "
               "long message, or calls that differ (rcx_trace, "
               "RCX_CHECK=full)\n",
               print_time(still_ns, time));
    }
    free(marks);
}

void top_print(const struct top_job *job)
{
    struct top_missing *missing;
    const size_t n = top_find_missing(job, &missing);

    printf("job %d: %d rank%s, %zu here\n", rcx_status_job_pid(job->job),
           job->size, job->size == 1 ? "" : "s", job->n);
    printf("%6s %8s %-8s %8s  %-18s %5s %9s %10s  %-24s %s\n", "rank", "pid",
           "state", "for", "call", "comm", "number", "bytes", "algorithm",
           "waits for");
    for (size_t i = 0; i < job->n; i++)
        print_rank(&job->ranks[i]);
    for (size_t i = 0; i < n; i++)
        print_missing(job, &missing[i]);
    print_circle(job);
    top_free_missing(missing, n);
}
