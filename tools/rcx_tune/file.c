/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of rules: finds rules of a job, and replaces them by rules for
 * measured points. Other lines of the file stay as they are.
 */
#include "rcx_tune/rcx_tune.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file.h"
#include "core/base/file.h"
#include "common/method_map.h"

/* A method is good enough if its time is at most this factor of the best one's.
 * RCX's choice, or the method of the next shorter size, is preferred if it is
 * good enough. */
static const double hardly = 1.03;

/* Print the beginning of rules for this job and collective. */
static int print_prefix(const struct tune_job *job,
                        const struct perf_coll *coll, char *text, size_t bytes)
{
    return snprintf(text, bytes, "%s ranks=%d nodes=%d per-node=%d ",
                    rcx_coll_name(coll->row), job->size, job->nodes,
                    job->per_node);
}

/* Call do_line for each line of the file. Returns false as soon as do_line
 * does. */
static bool each_line(const char *path,
                      bool (*do_line)(const char *line, void *arg), void *arg)
{
    FILE *file = file_open(path);
    char *line = NULL;
    size_t room = 0;
    bool goes_on = true;

    while (file && goes_on && getline(&line, &room, file) >= 0)
        goes_on = do_line(line, arg);
    free(line);
    if (file)
        fclose(file);
    return goes_on;
}

static bool is_other(const char *line, void *prefix)
{
    return strncmp(line, prefix, strlen(prefix)) != 0;
}

bool tune_file_check(const struct tune_job *job)
{
    const char *path = job->options.path;
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct rcx_refusal refusal;
    struct rcx_tuning tuning;
    bool good;

    if (access(path, F_OK) != 0)
        return true;
    good = rcx_tuning_open(&tuning, &heap, path, &refusal) == RCX_OK;
    if (!good)
        fprintf(stderr, "rcx_tune: %s: the file exists, and has no rules: %s\n",
                path, refusal.valid);
    rcx_tuning_close(&tuning, &heap);
    return good;
}

bool tune_file_has(const struct tune_job *job, const struct perf_coll *coll)
{
    char prefix[96];

    print_prefix(job, coll, prefix, sizeof prefix);
    return !each_line(job->options.path, is_other, prefix);
}

/* ---- Writing ------------------------------------------------------------- */

struct rewrite {
    FILE *to;
    const char *prefix; /* lines with this prefix are left out */
};

static bool keep_others(const char *line, void *arg)
{
    const struct rewrite *r = arg;

    if (is_other(line, (void *)(uintptr_t)r->prefix))
        fputs(line, r->to);
    return true;
}

static void print_size(FILE *to, size_t bytes)
{
    char name[MAP_NAME];

    method_map_bytes(name, bytes);
    fputs(name, to);
}

static double time_of(const struct tune_point *point, const char *method)
{
    for (int i = 0; i < point->count; i++)
        if (strcmp(point->candidates[i].rule, method) == 0)
            return point->candidates[i].seconds;
    return INFINITY;
}

static bool is_good_enough(const struct tune_point *point, const char *method)
{
    return time_of(point, method) <=
           hardly * point->candidates[point->best].seconds;
}

static const char *choose(const struct tune_point *point)
{
    const char *usual = point->candidates[0].rule;

    return is_good_enough(point, usual) ? usual
                                        : point->candidates[point->best].rule;
}

/* Number of points from the first one on for which the method is good
 * enough. */
static int run_of(const struct tune_point points[], int n, const char *method)
{
    int i = 1;

    while (i < n && is_good_enough(&points[i], method))
        i++;
    return i;
}

/* Print a comment line for readers of the file: size, time, and the method and
 * time of the runner-up. */
static void print_times(FILE *to, const struct tune_point *point,
                        const char *method)
{
    const struct tune_candidate *next = NULL;

    for (int i = 0; i < point->count; i++) {
        const struct tune_candidate *c = &point->candidates[i];

        if (strcmp(c->rule, method) != 0 &&
            (!next || c->seconds < next->seconds))
            next = c;
    }
    fputs("#     ", to);
    print_size(to, point->bytes);
    fprintf(to, ": %.3g us", 1e6 * time_of(point, method));
    if (next)
        fprintf(to, "; %s %.3g us", next->rule, 1e6 * next->seconds);
    fputc('\n', to);
}

/* Print rules for the points. A rule ends at the geometric mean of two sizes,
 * the last one has no end. */
static void print_rules(FILE *to, const char *prefix,
                        const struct tune_point points[], int n)
{
    for (int first = 0; first < n;) {
        const char *method = choose(&points[first]);
        const int next = first + run_of(&points[first], n - first, method);

        fputs(prefix, to);
        if (next < n) {
            fputs("bytes=..", to);
            print_size(to, (size_t)sqrt((double)points[next - 1].bytes *
                                        (double)points[next].bytes));
            fputc(' ', to);
        }
        fprintf(to, "%s\n", method);
        for (int i = first; i < next; i++)
            print_times(to, &points[i], method);
        first = next;
    }
}

static bool fails(const char *path)
{
    char why[RCX_FILE_WHY];

    rcx_file_why(path, errno, why, sizeof why);
    fprintf(stderr, "rcx_tune: %s: %s\n", path, why);
    return false;
}

/* Rewrite the file: lines that begin with prefix are replaced by the output of
 * print, before all other lines if is_first, else behind them. */
static bool rewrite(const char *path, const char *prefix, bool is_first,
                    void (*print)(FILE *to, const void *arg), const void *arg)
{
    struct rewrite r = {.prefix = prefix};
    struct rcx_file_text text;

    rcx_file_text_open(&text);
    r.to = text.to;
    if (is_first && r.to)
        print(r.to, arg);
    if (r.to)
        each_line(path, keep_others, &r);
    if (!is_first && r.to)
        print(r.to, arg);
    return rcx_file_text_close(&text, path, rcx_file_replace) || fails(path);
}

struct rules {
    const char *prefix;
    const struct tune_point *points;
    int n;
};

static void put_rules(FILE *to, const void *arg)
{
    const struct rules *r = arg;

    print_rules(to, r->prefix, r->points, r->n);
}

bool tune_file_put(const struct tune_job *job, const struct tune_point points[],
                   int n)
{
    char prefix[96];
    const struct rules rules = {prefix, points, n};

    print_prefix(job, points[0].coll, prefix, sizeof prefix);
    return rewrite(job->options.path, prefix, false, put_rules, &rules);
}

/* ---- The machine --------------------------------------------------------- */

static const char machine[] = "machine ";

bool tune_file_has_machine(const struct tune_job *job)
{
    return !each_line(job->options.path, is_other, (void *)(uintptr_t)machine);
}

bool tune_machine_print(FILE *to, const struct rcx_link *far)
{
    return fprintf(to,
                   "machine far-alpha=%.2fus far-beta=%.4fns far-tell=%.2fus\n",
                   1e6 * far->alpha, 1e9 * far->beta, 1e6 * far->tell) > 0;
}

static void put_machine(FILE *to, const void *arg)
{
    tune_machine_print(to, arg);
}

bool tune_file_put_machine(const struct tune_job *job,
                           const struct rcx_link *far)
{
    return rewrite(job->options.path, machine, true, put_machine, far);
}
