/* SPDX-License-Identifier: BSD-3-Clause */
/* The main program of rcx_perf: the rows of a run, contexts, and the library's
 * log messages. Measurement is in run.c and check.c. */
#include "common/output.h"
#include "rcx_perf/rcx_perf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The library's messages ---------------------------------------------- */

/*
 * Log messages of the library. Before the first collective, errors in arguments
 * and environment occur on every rank alike, so only one rank prints them.
 */
static struct {
    bool held; /* messages are kept in text, not printed */
    char text[4096];
    char refusal[1024]; /* --algo all: why the last algorithm was not
                           supported */
} messages;

static void print_message(rcx_log_level_t level, const char *text, void *arg)
{
    static const char *const levels[] = {"error", "warning", "info", "debug"};
    const size_t used = strlen(messages.text);

    (void)arg;
    if (messages.held)
        snprintf(messages.text + used, sizeof(messages.text) - used,
                 "rcx %s: %s\n", levels[level], text);
    else
        fprintf(stderr, "rcx %s: %s\n", levels[level], text);
}

static bool is_usage(rcx_status_t status)
{
    return status == RCX_ERR_ARG || status == RCX_ERR_UNSUPPORTED ||
           status == RCX_ERR_CONFIG;
}

/* Print the held messages and clear them. After success and usage errors only
 * rank 0 prints, as its messages are those of all ranks. Returns status. */
static rcx_status_t release(rcx_status_t status)
{
    const bool said_by_0 = status == RCX_OK || is_usage(status);

    if (!said_by_0 || perf_launched_rank() == 0)
        fputs(messages.text, stderr);
    messages.text[0] = '\0';
    return status;
}

/* ---- Rows ---------------------------------------------------------------- */

/* Elements of a vector, or of a block, of about that many bytes. */
static size_t count_of(const struct perf_job *job, size_t bytes)
{
    const size_t count = bytes / job->options.type->bytes;

    return bytes > 0 && count == 0 ? 1 : count;
}

/* List one row for each size. Sizes with equal counts share a row. */
static int list_rows(const struct perf_job *job, struct perf_row *rows, int max)
{
    const struct perf_options *o = &job->options;
    size_t bytes = o->min_bytes;
    int n = 0;

    if (!rcx_coll_has_data(o->coll->row)) {
        rows[0] = (struct perf_row){.count = 0};
        return 1;
    }
    while (bytes <= o->max_bytes && n < max) {
        const size_t count = count_of(job, bytes);

        if (n == 0 || rows[n - 1].count != count)
            rows[n++] = (struct perf_row){.count = count,
                                          .bytes = count * o->type->bytes};
        if (bytes > o->max_bytes / o->factor)
            break;
        bytes = bytes ? bytes * o->factor : 1;
    }
    return n;
}

/* Store the method of a row. Fails if the library does not support the row. */
static rcx_status_t ask_method(struct perf_job *job, struct perf_row *row)
{
    rcx_status_t status, dropped;

    row->reach = perf_cut(job, row->count);
    status = perf_prepare(job, row);
    if (status == RCX_OK)
        snprintf(row->method, sizeof(row->method), "%s",
                 rcx_request_method(job->requests[0]));
    dropped = perf_drop(job);
    return status == RCX_OK ? dropped : status;
}

static rcx_status_t run_row(struct perf_job *job, struct perf_row *row)
{
    rcx_status_t status = RCX_OK, dropped;

    row->reach = perf_cut(job, row->count);
    if (job->options.form == FORM_PERSISTENT)
        status = perf_prepare(job, row);
    if (status == RCX_OK && job->options.check)
        status = perf_row_check(job, row);
    if (status == RCX_OK)
        status = perf_row_time(job, row);
    if (status != RCX_OK)
        return status;
    dropped = perf_drop(job);
    perf_report_row(job, row);
    return dropped;
}

/* ---- A run --------------------------------------------------------------- */

enum { ROWS = 128 };

/* Allocate the arrays of blocks, vectors and requests. */
static bool allocate_lists(struct perf_job *job)
{
    const size_t n = (size_t)perf_pieces(job) + 1;
    const size_t vectors = (size_t)job->options.vectors + 1;

    job->counts = calloc(n, sizeof(*job->counts));
    job->displs = calloc(n, sizeof(*job->displs));
    job->starts = calloc(n, sizeof(*job->starts));
    job->ins = calloc(n, sizeof(*job->ins));
    job->outs = calloc(n, sizeof(*job->outs));
    job->requests =
        calloc((size_t)perf_turns(job) * vectors, sizeof(rcx_request_t *));
    return job->counts && job->displs && job->starts && job->ins && job->outs &&
           job->requests;
}

static rcx_status_t allocate(struct perf_job *job, const struct perf_row *row)
{
    const size_t ranks = (size_t)job->size;
    size_t bytes = 0;

    job->copies = calloc(ranks, sizeof(*job->copies));
    job->reports = calloc(ranks, sizeof(*job->reports));
    if (allocate_lists(job)) {
        bytes = perf_cut(job, row->count) * job->options.type->bytes;
        bytes = (bytes + 2 * PERF_GUARD - 1) / PERF_GUARD * PERF_GUARD;
        job->send = aligned_alloc(PERF_GUARD, bytes);
        job->recv = aligned_alloc(PERF_GUARD, bytes);
    }
    if (!job->send || !job->recv || !job->copies || !job->reports) {
        fprintf(stderr,
                "rcx_perf: rank %d: no memory for two buffers of %zu "
                "bytes\n",
                job->rank, bytes);
        return RCX_ERR_NOMEM;
    }
    memset(job->send, 0, bytes);
    memset(job->recv, 0, bytes);
    return RCX_OK;
}

static void release_memory(struct perf_job *job)
{
    free(job->send);
    free(job->recv);
    free(job->tiles[0]);
    free(job->tiles[1]);
    free(job->counts);
    free(job->displs);
    free(job->starts);
    free(job->ins);
    free(job->outs);
    free(job->requests);
    free(job->copies);
    free(job->reports);
    free(job->times);
    free(job->slowest);
}

/* Store the methods of all rows. With --algo all, rows that the algorithm does
 * not support are removed. */
static rcx_status_t ask_methods(struct perf_job *job, struct perf_row *rows,
                                int *n_p)
{
    const int n = *n_p;

    *n_p = 0;
    for (int i = 0; i < n; i++) {
        char *said = messages.text + strlen(messages.text);
        const rcx_status_t status = ask_method(job, &rows[i]);

        if (status == RCX_ERR_UNSUPPORTED && job->options.all) {
            snprintf(messages.refusal, sizeof(messages.refusal), "%s", said);
            *said = '\0';
            continue;
        }
        if (status != RCX_OK)
            return status;
        /* Without segments, a row is the same for all segment lengths: keep it
         * for the first one only. */
        if (job->segment == 0 || strstr(rows[i].method, "segment="))
            rows[(*n_p)++] = rows[i];
    }
    return RCX_OK;
}

static rcx_status_t begin_report(struct perf_job *job,
                                 const struct perf_row *rows, int n)
{
    rcx_status_t status = perf_agree(job, &job->init_seconds);

    if (status == RCX_OK)
        status = perf_agree(job, &job->init_bytes);
    if (status == RCX_OK && !job->begun)
        perf_report_begin(job, rows, n);
    job->begun = true;
    return status;
}

static rcx_status_t check_size(const struct perf_job *job)
{
    if (!job->options.coll->is_messages || job->size % 2 == 0)
        return RCX_OK;
    snprintf(messages.text, sizeof(messages.text),
             "rcx_perf: --coll %s: needs an even number of ranks, and has %d\n",
             job->options.coll->name, job->size);
    return RCX_ERR_ARG;
}

static rcx_status_t run(struct perf_job *job)
{
    static struct perf_row rows[ROWS];
    rcx_status_t status = RCX_OK;
    int n;

    job->comm = rcx_world(job->context);
    job->rank = rcx_comm_rank(job->comm);
    job->size = rcx_comm_size(job->comm);
    n = list_rows(job, rows, ROWS);
    status = check_size(job);
    if (status == RCX_OK && !job->send)
        status = allocate(job, &rows[n - 1]);
    if (status == RCX_OK)
        status = perf_types_create(job);
    if (status == RCX_OK)
        status = ask_methods(job, rows, &n);
    if (status == RCX_OK && n == 0 && job->last && !job->begun) {
        /* no algorithm supports any row */
        snprintf(messages.text, sizeof(messages.text), "%s", messages.refusal);
        status = RCX_ERR_UNSUPPORTED;
    }
    messages.held = false;
    if (release(status) != RCX_OK)
        return status;
    if (n > 0)
        status = begin_report(job, rows, n);
    for (int i = 0; i < n && status == RCX_OK; i++)
        status = run_row(job, &rows[i]);
    if (status == RCX_OK && job->last) /* before rcx_finalize(), while all ranks
                                          run */
        perf_report_end(job);
    return status;
}

static void say(const struct perf_job *job, rcx_status_t status)
{
    if (!is_usage(status) || perf_launched_rank() == 0)
        fprintf(stderr, "rcx_perf: rank %d: %s\n", job->rank,
                rcx_status_string(status));
}

/* Bytes of resident memory; 0 if /proc does not tell. */
static double resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    long pages = 0;

    if (!file)
        return 0;
    if (fscanf(file, "%*s %ld", &pages) != 1)
        pages = 0;
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* Call rcx_init(), and record its time and memory on this rank. */
static rcx_status_t open_context(struct perf_job *job)
{
    const rcx_params_t params = {.field_mask = RCX_PARAM_LOG,
                                 .log = print_message};
    const double bytes = resident_bytes(), begin = perf_now();
    const rcx_status_t status = rcx_init(&params, &job->context);

    job->init_seconds = perf_now() - begin;
    job->init_bytes = resident_bytes() - bytes;
    return status;
}

/* Set the algorithm's variable and open the context. Messages are held
 * meanwhile. */
static rcx_status_t start(struct perf_job *job)
{
    const struct perf_options *o = &job->options;

    /* rcx_init() checks the name */
    if (o->algo && setenv(rcx_colls[o->coll->row].variable, o->algo, 1) != 0)
        return RCX_ERR_NOMEM;
    messages.held = true;
    messages.text[0] = '\0';
    return release(open_context(job));
}

/* Run one context, from rcx_init() to rcx_finalize(). Exits if rcx_init() or
 * communication fails. */
static rcx_status_t run_context(struct perf_job *job)
{
    rcx_status_t status = start(job), finalized;

    if (status != RCX_OK) {
        say(job, status);
        perf_exit(is_usage(status) ? EXIT_USAGE : EXIT_FAILURE);
    }
    status = run(job);
    if (status != RCX_OK)
        say(job, status);
    /* After a failure of communication, ranks would not finalize together. */
    if (status != RCX_OK && !is_usage(status))
        exit(EXIT_FAILURE);
    finalized = rcx_finalize(&job->context);
    if (status == RCX_OK && finalized != RCX_OK)
        say(job, finalized);
    return status == RCX_OK ? finalized : status;
}

/* Method number i of --algo all: an algorithm, with the job's segment length if
 * --segments is given. NULL: there are no more. */
static const char *method_of(const struct perf_job *job, int i)
{
    const struct perf_options *o = &job->options;
    const char *name = perf_algorithm(o->coll, i);
    static char text[128];

    if (!name || o->segment_count == 0)
        return name;
    snprintf(text, sizeof text, "%s:segment=%zu", name,
             o->segments[job->segment]);
    return text;
}

/* Run all methods, each in a context of its own: rcx_init() reads the variables
 * that force an algorithm. */
static rcx_status_t run_all(struct perf_job *job)
{
    struct perf_options *o = &job->options;
    const int lengths = o->segment_count > 0 ? o->segment_count : 1;
    rcx_status_t status = RCX_OK;

    for (int i = 0; status == RCX_OK && !job->last; i++)
        for (int k = 0; k < lengths && status == RCX_OK; k++) {
            job->segment = k;
            job->last = k == lengths - 1 && !perf_algorithm(o->coll, i + 1);
            o->algo = method_of(job, i);
            status = run_context(job);
        }
    return status;
}

int main(int argc, char **argv)
{
    struct perf_job job = {.rank = perf_launched_rank()};
    rcx_status_t status;

    atexit(check_output);
    perf_options_parse(argc, argv, &job.options);
    job.last = !job.options.all;
    status = job.options.all ? run_all(&job) : run_context(&job);
    release_memory(&job);
    if (is_usage(status))
        return EXIT_USAGE;
    return job.wrong || status != RCX_OK ? EXIT_WRONG : EXIT_SUCCESS;
}
