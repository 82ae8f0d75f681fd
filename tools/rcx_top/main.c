/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_top shows what the ranks of the running jobs of this node are in. It only
 * reads the status pages that ranks publish (core/base/status_page.h), so it
 * neither stops nor slows them.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/output.h"
#include "rcx/rcx.h"
#include "rcx_top/rcx_top.h"

static const char usage[] =
    "Usage: rcx_top [options] [JOB...]\n"
    "Show what the ranks of running jobs on this node are in, since when, and for\n"
    "which ranks they wait. JOB: a process number of one of its ranks; default: all\n"
    "jobs of this user.\n"
    "\n"
    "  -1, --once         show it once; else again and again, until Ctrl-C\n"
    "  -d, --delay S      seconds between two times (1)\n"
    "  -j, --json         as JSON, a line each time\n"
    "      --clean        remove the pages of processes that were killed, and exit\n"
    "  -h, --help         print this and exit\n"
    "  -V, --version      print the version and exit\n"
    "\n"
    "Exit status: 0; 1 there is no such job; 2 wrong usage.\n";

struct options {
    bool once, json, clean;
    double delay;
    char **jobs; /* ended by NULL; none: all */
};

void *top_alloc(size_t n, size_t bytes)
{
    void *memory = calloc(n ? n : 1, bytes);

    if (memory)
        return memory;
    fprintf(stderr, "rcx_top: no memory\n");
    exit(1);
}

/* ---- Options ------------------------------------------------------------- */

static double seconds_of(const char *text)
{
    char *end;
    const double s = strtod(text, &end);

    if (end != text && !*end && s >= 0.01 && s <= 3600)
        return s;
    fprintf(stderr, "rcx_top: --delay %s: valid is 0.01..3600 seconds\n", text);
    exit(2);
}

static void check_job(const char *text)
{
    char *end;
    const long pid = strtol(text, &end, 10);

    if (end != text && !*end && pid >= 1)
        return;
    fprintf(stderr, "rcx_top: %s: not a process number (try rcx_top --help)\n",
            text);
    exit(2);
}

static struct options parse(int argc, char **argv)
{
    static const struct option names[] = {
        {"once", no_argument, NULL, '1'},
        {"delay", required_argument, NULL, 'd'},
        {"json", no_argument, NULL, 'j'},
        {"clean", no_argument, NULL, 'C'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    struct options o = {.delay = 1};
    int option;

    while ((option = getopt_long(argc, argv, "1d:jhV", names, NULL)) != -1) {
        switch (option) {
        case '1': o.once = true; break;
        case 'd': o.delay = seconds_of(optarg); break;
        case 'j': o.json = true; break;
        case 'C': o.clean = true; break;
        case 'h': fputs(usage, stdout); exit(0);
        case 'V': printf("rcx_top (RCX) %s\n", rcx_version()); exit(0);
        default: exit(2);
        }
    }
    o.jobs = argv + optind;
    for (char **job = o.jobs; *job; job++)
        check_job(*job);
    return o;
}

/* ---- Jobs ---------------------------------------------------------------- */

static bool has_number(const struct top_job *job, int pid)
{
    bool has = pid == rcx_status_job_pid(job->job);

    for (size_t i = 0; i < job->n && !has; i++)
        has = pid == job->ranks[i].page.pid;
    return has;
}

static bool has_ended(const struct top_job *job)
{
    for (size_t i = 0; i < job->n; i++)
        if (job->ranks[i].state != TOP_ENDED)
            return false;
    return true;
}

/* Process numbers come again: if several jobs have this one, those that have
 * ended are not meant, unless all have. */
static void want(struct top_job *jobs, size_t n, int pid)
{
    bool lives = false;

    for (size_t i = 0; i < n; i++)
        lives |= has_number(&jobs[i], pid) && !has_ended(&jobs[i]);
    for (size_t i = 0; i < n; i++)
        jobs[i].is_wanted |=
            has_number(&jobs[i], pid) && !(lives && has_ended(&jobs[i]));
}

/* Divide the sorted ranks into jobs. Returns how many. */
static size_t divide(const struct top_rank *ranks, size_t n, bool are_wanted,
                     struct top_job *jobs)
{
    size_t found = 0;

    for (size_t i = 0, end; i < n; i = end) {
        struct top_job *job = &jobs[found++];

        *job = (struct top_job){.job = ranks[i].page.job,
                                .size = ranks[i].page.size,
                                .ranks = &ranks[i],
                                .is_wanted = are_wanted};
        for (end = i; end < n && ranks[end].page.job == job->job; end++)
            job->n++;
    }
    return found;
}

/* The jobs of the numbers that are given, or all. */
static size_t find_jobs(const struct top_rank *ranks, size_t n, char **numbers,
                        struct top_job *jobs)
{
    const size_t count = divide(ranks, n, !*numbers, jobs);
    size_t found = 0;

    for (; *numbers; numbers++)
        want(jobs, count, atoi(*numbers));
    for (size_t i = 0; i < count; i++)
        if (jobs[i].is_wanted)
            jobs[found++] = jobs[i];
    return found;
}

static void print(const struct top_job *jobs, size_t n, bool json)
{
    if (json)
        top_print_json(jobs, n);
    else if (isatty(STDOUT_FILENO))
        printf("\033[H\033[J"); /* clear the screen */
    for (size_t i = 0; i < n && !json; i++) {
        printf("%s", i ? "\n" : "");
        top_print(&jobs[i]);
    }
    fflush(stdout);
}

static bool may_be_stuck(const struct top_look *look)
{
    for (size_t i = 0; i < look->n; i++)
        if (look->ranks[i].state == TOP_IN_CALL &&
            look->ranks[i].for_ns >= TOP_LONG_NS)
            return true;
    return false;
}

/* Look again. Returns how many jobs there are. */
static size_t show(const struct options *o, struct top_look *last)
{
    struct top_look look = top_read(last);
    struct top_job *jobs = top_alloc(look.n, sizeof *jobs);
    const size_t found = find_jobs(look.ranks, look.n, o->jobs, jobs);

    if (found > 0)
        print(jobs, found, o->json);
    free(jobs);
    top_look_free(last);
    *last = look;
    return found;
}

static int clean(void)
{
    const struct top_look none = {NULL, 0};
    struct top_look look = top_read(&none);
    int removed = 0, failed = 0;

    for (size_t i = 0; i < look.n; i++) {
        if (look.ranks[i].state != TOP_ENDED)
            continue;
        if (top_remove(&look.ranks[i])) {
            removed++;
            continue;
        }
        if (errno == ENOENT) /* another process has removed it meanwhile */
            continue;
        fprintf(stderr, "rcx_top: %s: %s\n", look.ranks[i].file,
                strerror(errno));
        failed++;
    }
    printf("%d page%s removed\n", removed, removed == 1 ? "" : "s");
    top_look_free(&look);
    return failed > 0;
}

static void pause_for(double s)
{
    const struct timespec t = {.tv_sec = (time_t)s,
                               .tv_nsec = (long)((s - (time_t)s) * 1e9)};

    nanosleep(&t, NULL);
}

/* One look does not tell whether ranks that wait are stuck. */
static struct top_look look_first(void)
{
    const struct top_look none = {NULL, 0};
    const struct top_look look = top_read(&none);

    if (may_be_stuck(&look))
        pause_for(TOP_LONG_NS / 1e9);
    return look;
}

int main(int argc, char **argv)
{
    const struct options o = parse(argc, argv);
    struct top_look last;
    size_t found;

    atexit(check_output);
    if (o.clean)
        return clean();
    last = look_first();
    found = show(&o, &last);
    if (found == 0)
        fprintf(stderr, "rcx_top: no %s runs on this node\n",
                *o.jobs ? "such job" : "job of RCX");
    for (bool goes_on = found > 0 && !o.once; goes_on;) {
        pause_for(o.delay);
        if (!o.json && !isatty(STDOUT_FILENO))
            printf("\n");
        goes_on = show(&o, &last) > 0;
    }
    top_look_free(&last);
    return found == 0;
}
