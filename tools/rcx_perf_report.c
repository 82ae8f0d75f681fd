/* SPDX-License-Identifier: BSD-3-Clause */
/* What rank 0 prints: a table for people, CSV or JSON for programs. */
#include "rcx_perf.h"

#include <stdio.h>
#include <string.h>

enum { ENOUGH = 100 }; /* iterations that make a 99th percentile */

static const char *const verdicts[] = {"-", "ok", "WRONG"};

static bool is_loop(const struct perf_job *job)
{
    return job->options.mode == MODE_LOOP;
}

/* The bytes of a vector over the time of an operation, in MB (10^6) a second:
 * what the literature calls algorithm bandwidth. */
static double bandwidth(const struct perf_job *job, const struct perf_row *row)
{
    const double seconds = is_loop(job) ? row->most : row->median;

    return seconds > 0 ? (double)row->bytes / seconds / 1e6 : 0;
}

/* ---- Table --------------------------------------------------------------- */

/* Widths of columns that depend on what is in them: at least what makes the
 * usual tables look alike. */
static struct {
    int bytes, count, method;
    int printed;  /* rows */
    long fewest;  /* iterations of a row */
    long checked; /* of all */
} table;

static int wider(int width, int other)
{
    return other > width ? other : width;
}

static void set_widths(const struct perf_job *job, const struct perf_row *rows,
                       int n)
{
    table.bytes = 7;
    table.count = 6;
    table.method = (int)strlen("algorithm");
    table.fewest = ENOUGH;
    if (job->options.all) /* with parameters; what a line of 80 has room for */
        table.method = 29;
    for (int i = 0; i < n; i++) {
        const struct perf_row *r = &rows[i];

        table.bytes = wider(table.bytes, snprintf(NULL, 0, "%zu", r->bytes));
        table.count = wider(table.count, snprintf(NULL, 0, "%zu", r->count));
        table.method = wider(table.method, (int)strlen(r->method));
    }
}

static void begin_table(const struct perf_job *job)
{
    const struct perf_options *o = &job->options;

    printf("# RCX %s: %s of %s, %s", rcx_version(), o->coll->name,
           o->type->name, o->op->name);
    if (o->coll->root_gets)
        printf(" to rank %d", o->root);
    printf("; %d rank%s; %s%s\n", job->size, job->size == 1 ? "" : "s",
           perf_form_name(o->form), o->in_place ? ", in place" : "");
    printf("# rcx_init() took %.1f ms and %.1f MiB, the most of the ranks.\n",
           1e3 * job->init_seconds, job->init_bytes / (1 << 20));
    if (is_loop(job))
        printf("# Iterations back to back: mean, least and most in us of the "
               "ranks' average\n# times. MB/s: 10^6 bytes of the vector over "
               "the most.\n#\n");
    else
        printf("# Iterations from a common start: median, 99th percentile and "
               "maximum in us of\n# their times on the slowest rank. MB/s: "
               "10^6 bytes of the vector over the\n# median.\n#\n");
    printf("#%*s %*s %-*s %6s %6s  %6s %6s  check\n", table.bytes - 1, "bytes",
           table.count, "count", table.method, "algorithm",
           is_loop(job) ? "mean" : "median", is_loop(job) ? "least" : "p99",
           is_loop(job) ? "most" : "max", "MB/s");
}

/* Six columns where it is below a million. */
static void print_number(double number)
{
    printf(" %6.*f", number < 999.995 ? 2 : number < 9999.95 ? 1 : 0, number);
}

static void table_row(const struct perf_job *job, const struct perf_row *row)
{
    const bool loop = is_loop(job);
    const bool few = !loop && row->iterations < ENOUGH;

    printf("%*zu %*zu %-*s", table.bytes, row->bytes, table.count, row->count,
           table.method, row->method);
    print_number(1e6 * (loop ? row->mean : row->median));
    print_number(1e6 * (loop ? row->least : row->p99));
    printf("%c", few ? '*' : ' ');
    print_number(1e6 * (loop ? row->most : row->max));
    print_number(bandwidth(job, row));
    printf("  %s\n", verdicts[row->verdict]);
}

static void end_table(const struct perf_job *job)
{
    if (table.fewest < ENOUGH && !is_loop(job))
        printf("# *: of fewer than %d iterations (%ld at least), so close to "
               "the maximum\n",
               ENOUGH, table.fewest);
    if (table.checked > 0)
        printf("# checked: %ld iterations, apart from the timed ones: %s\n",
               table.checked, job->wrong ? "WRONG RESULTS" : "all ok");
}

/* ---- CSV and JSON -------------------------------------------------------- */

static void begin_csv(const struct perf_job *job)
{
    printf("coll,type,op,root,ranks,form,in_place,mode,bytes,count,method,"
           "iterations,%s,mb_per_s,checked,check\n",
           is_loop(job) ? "mean_us,least_us,most_us"
                        : "median_us,p99_us,max_us");
}

static void csv_row(const struct perf_job *job, const struct perf_row *row)
{
    const struct perf_options *o = &job->options;
    const bool loop = is_loop(job);

    printf("%s,%s,%s,%d,%d,%s,%d,%s,%zu,%zu,\"%s\",%ld,%.3f,%.3f,%.3f,%.3f,"
           "%ld,%s\n",
           o->coll->name, o->type->name, o->op->name, o->root, job->size,
           perf_form_name(o->form), o->in_place, perf_mode_name(o->mode),
           row->bytes, row->count, row->method, row->iterations,
           1e6 * (loop ? row->mean : row->median),
           1e6 * (loop ? row->least : row->p99),
           1e6 * (loop ? row->most : row->max), bandwidth(job, row),
           row->checked, verdicts[row->verdict]);
}

static void begin_json(const struct perf_job *job)
{
    const struct perf_options *o = &job->options;

    printf("{\"rcx\": \"%s\", \"coll\": \"%s\", \"type\": \"%s\", "
           "\"op\": \"%s\", \"root\": %d, \"ranks\": %d,\n \"form\": \"%s\", "
           "\"in_place\": %s, \"mode\": \"%s\",\n \"init_ms\": %.3f, "
           "\"init_bytes\": %.0f,\n \"rows\": [",
           rcx_version(), o->coll->name, o->type->name, o->op->name, o->root,
           job->size, perf_form_name(o->form), o->in_place ? "true" : "false",
           perf_mode_name(o->mode), 1e3 * job->init_seconds, job->init_bytes);
}

static void json_row(const struct perf_job *job, const struct perf_row *row,
                     bool first)
{
    static const char *const values[] = {"null", "true", "false"};
    const bool loop = is_loop(job);

    printf("%s\n  {\"bytes\": %zu, \"count\": %zu, \"method\": \"%s\", "
           "\"iterations\": %ld, \"%s_us\": %.3f, \"%s_us\": %.3f, "
           "\"%s_us\": %.3f, \"mb_per_s\": %.3f, \"checked\": %ld, "
           "\"ok\": %s}",
           first ? "" : ",", row->bytes, row->count, row->method,
           row->iterations, loop ? "mean" : "median",
           1e6 * (loop ? row->mean : row->median), loop ? "least" : "p99",
           1e6 * (loop ? row->least : row->p99), loop ? "most" : "max",
           1e6 * (loop ? row->most : row->max), bandwidth(job, row),
           row->checked, values[row->verdict]);
}

/* ---- All three ----------------------------------------------------------- */

void perf_report_begin(const struct perf_job *job, const struct perf_row *rows,
                       int n)
{
    if (job->rank != 0)
        return;
    set_widths(job, rows, n);
    if (job->options.output == OUTPUT_TABLE)
        begin_table(job);
    else if (job->options.output == OUTPUT_CSV)
        begin_csv(job);
    else
        begin_json(job);
    fflush(stdout);
}

void perf_report_row(const struct perf_job *job, const struct perf_row *row)
{
    if (job->rank != 0)
        return;
    if (job->options.output == OUTPUT_TABLE)
        table_row(job, row);
    else if (job->options.output == OUTPUT_CSV)
        csv_row(job, row);
    else
        json_row(job, row, table.printed == 0);
    table.printed++;
    table.checked += row->checked;
    if (row->iterations < table.fewest)
        table.fewest = row->iterations;
    fflush(stdout);
}

void perf_report_end(const struct perf_job *job)
{
    if (job->rank != 0 || !job->begun)
        return;
    if (job->options.output == OUTPUT_TABLE)
        end_table(job);
    else if (job->options.output == OUTPUT_JSON)
        printf("\n ]}\n");
    fflush(stdout);
}
