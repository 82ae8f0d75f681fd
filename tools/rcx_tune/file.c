/* SPDX-License-Identifier: BSD-3-Clause */
#include "rcx_tune/rcx_tune.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "common/method_map.h"

/* What RCX chooses anyhow, or the next shorter size has, is kept where the best
 * one is hardly better. */
static const double hardly = 1.03;

/* What rules of a job of this kind begin with. */
static int print_prefix(const struct tune_job *job,
                        const struct perf_coll *coll, char *text, size_t bytes)
{
    return snprintf(text, bytes, "%s ranks=%d nodes=%d per-node=%d ",
                    rcx_coll_name(coll->row), job->size, job->nodes,
                    job->per_node);
}

/* Call do_line for each line of the file; false: it said no. */
static bool each_line(const char *path,
                      bool (*do_line)(const char *line, void *arg), void *arg)
{
    FILE *file = rcx_file_open(path);
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

bool tune_file_has(const struct tune_job *job, const struct perf_coll *coll)
{
    char prefix[96];

    print_prefix(job, coll, prefix, sizeof prefix);
    return !each_line(job->options.path, is_other, prefix);
}

/* ---- Writing ------------------------------------------------------------- */

struct rewrite {
    FILE *to;
    const char *prefix; /* of lines that are left out */
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

/* For how many points that is good enough. */
static int run_of(const struct tune_point points[], int n, const char *method)
{
    int i = 1;

    while (i < n && is_good_enough(&points[i], method))
        i++;
    return i;
}

/* How long it took, for people: size, time, and that of the runner-up. */
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

/* The last one has no upper end; between two sizes is the geometric mean. */
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
    fprintf(stderr, "rcx_tune: %s: %s\n", path, strerror(errno));
    return false;
}

/* The file again, with what print writes in place of lines that begin with
 * prefix; where is_first, before all others. */
static bool rewrite(const char *path, const char *prefix, bool is_first,
                    void (*print)(FILE *to, const void *arg), const void *arg)
{
    struct rewrite r = {.prefix = prefix};
    char fresh[4096];

    r.to = rcx_file_begin(path, fresh, sizeof fresh);
    if (!r.to)
        return fails(path);
    if (is_first)
        print(r.to, arg);
    each_line(path, keep_others, &r);
    if (!is_first)
        print(r.to, arg);
    return rcx_file_end(r.to, fresh, path) || fails(path);
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

static void put_machine(FILE *to, const void *arg)
{
    const double *far = arg;

    fprintf(to, "%sfar-alpha=%.2fus far-beta=%.4fns\n", machine, 1e6 * far[0],
            1e9 * far[1]);
}

bool tune_file_put_machine(const struct tune_job *job, double far_alpha,
                           double far_beta)
{
    const double far[] = {far_alpha, far_beta};

    return rewrite(job->options.path, machine, true, put_machine, far);
}
