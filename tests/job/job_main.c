/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job_main MODE [COLLECTIVE]
 *
 * One rank of a job under any launcher. Makes collective calls through the
 * public API, and compares results with those that each process computes alone.
 * Exits with 0, and prints nothing, if all are correct. Otherwise one line
 * describes the first error, and the job ends.
 *
 *   all      all parts but stress, mixed and the long ones
 *   quick    as all, with fewer calls and without cycles
 *   cycles   contexts are opened and closed repeatedly, several are open at
 *            once, and ranks finalize at different times
 *   stress   many calls back to back, with delays; more ranks make fewer calls
 *   soak     as stress, with the full number of calls for any number of ranks
 *   mixed    all collectives and messages, mixed, on several communicators
 *   huge     more than 2^31 elements: needs 9 GiB of memory for two ranks
 *   sums     fewer elements in each block, more than 2^32 in all: 18 GiB for
 *            three ranks
 *   long     16 MiB, for slow links
 *   launch   rcx_init() and one allreduce: exits with the negated status
 *
 * Without a job: variables prints the environment variables that force an
 * algorithm.
 */
#include "job.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void job_fail(const struct member *m, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "job_main: rank %d of %d: %s\n", m->rank, m->size, text);
    exit(1);
}

static void take_line(rcx_log_level_t level, const char *text, void *arg)
{
    struct member *m = arg;

    m->lines++;
    if (!m->expect_log)
        fprintf(stderr, "job_main: log level %d: %s\n", level, text);
}

/* Whether the environment forces the algorithm of coll. It may not suit all
 * calls. */
static bool is_forced(enum collective coll)
{
    const char *value = getenv(collectives[coll].variable);

    return value && strncmp(value, "auto", 4) != 0;
}

static bool is_any_forced(void)
{
    int coll = 0;

    while (coll < COLLECTIVES && !is_forced((enum collective)coll))
        coll++;
    return coll < COLLECTIVES;
}

void job_open(struct member *m, const char *name)
{
    const rcx_params_t params = {
        .field_mask = RCX_PARAM_LOG | (name ? RCX_PARAM_NAME : 0),
        .name = name,
        .log = take_line,
        .log_arg = m,
    };

    m->rank = m->size = -1;
    m->lines = 0;
    job_require(m, rcx_init(&params, &m->context), "rcx_init");
    m->comm = rcx_world(m->context);
    m->rank = rcx_comm_rank(m->comm);
    m->size = rcx_comm_size(m->comm);
    m->expect_log = m->forced = is_any_forced();
    m->delays = (uint64_t)m->rank + 1;
}

void job_close(struct member *m)
{
    job_require(m, rcx_finalize(&m->context), "rcx_finalize");
}

bool job_does_not_suit(const struct call *call, rcx_status_t status)
{
    return status == RCX_ERR_UNSUPPORTED && is_forced(call->coll);
}

void job_call(struct member *m, const struct call *call)
{
    char problem[256];
    rcx_status_t status;

    if (!collective_takes(call->coll, call->kind->op))
        return;
    m->lines = 0;
    status = call_run(call, m->comm, problem);
    if (job_does_not_suit(call, status) && m->lines == 1)
        return;
    if (status != RCX_OK)
        job_fail(m, "%s", problem);
    if (m->lines != 0)
        job_fail(m, "%d log lines of a call that went well", m->lines);
}

void job_delay(struct member *m)
{
    m->delays = serial_mix(m->delays, (uint64_t)m->rank, 2);
    if (m->delays % 8 == 0)
        for (uint64_t i = 0; i < (m->delays >> 8) % 16; i++)
            sched_yield();
    if (m->delays % 64 == 1)
        usleep((m->delays >> 8) % 200);
}

static void run_parts(const struct member *like,
                      void (*const parts[])(struct member *m))
{
    struct member m = *like;

    job_open(&m, NULL);
    for (int i = 0; parts[i]; i++)
        parts[i](&m);
    job_close(&m);
}

/* Run the part of mode; only: the name of the one collective to call; NULL:
 * all. */
static bool run_long(const struct member *like, const char *mode,
                     const char *only)
{
    static const struct {
        const char *mode;
        void (*part)(struct member *m, const char *only);
    } parts[] = {{"huge", job_huge}, {"sums", job_sums}, {"long", job_long}};
    struct member m = *like;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strcmp(mode, parts[i].mode) != 0)
            continue;
        job_open(&m, NULL);
        /* with no deadline at all, long waits are logged as stalls */
        job_require(&m, rcx_comm_set_timeout(m.comm, INT64_MAX),
                    "rcx_comm_set_timeout");
        parts[i].part(&m, only);
        job_close(&m);
        return true;
    }
    return false;
}

static int print_variables(void)
{
    for (int coll = 0; coll < COLLECTIVES; coll++)
        printf("%s\n", collectives[coll].variable);
    return 0;
}

int main(int argc, char **argv)
{
    static void (*const work[])(struct member * m) = {job_types_and_ops,
                                                      job_counts,
                                                      job_thresholds,
                                                      job_outstanding,
                                                      job_persistent,
                                                      job_user_ops,
                                                      job_failing_op,
                                                      job_same_bits,
                                                      job_exact,
                                                      job_exact_vectors,
                                                      NULL};
    static void (*const stress[])(struct member * m) = {job_stress, NULL};
    static void (*const exact[])(struct member * m) = {job_exact,
                                                       job_exact_vectors, NULL};
    static void (*const mixed[])(struct member * m) = {job_nodes, job_mixed,
                                                       NULL};
    const char *mode = argc == 2 || argc == 3 ? argv[1] : "";
    const bool quick = strcmp(mode, "quick") == 0;
    const bool brief = quick || strcmp(mode, "stress") == 0;
    struct member m = {.brief = brief};

    if (strcmp(mode, "launch") == 0)
        return job_launch();
    if (strcmp(mode, "variables") == 0)
        return print_variables();
    if (strcmp(mode, "all") == 0 || quick)
        run_parts(&m, work);
    if (strcmp(mode, "all") == 0 || strcmp(mode, "cycles") == 0) {
        job_cycles(&m);
        job_contexts(&m);
        job_skew(&m);
    } else if (strcmp(mode, "stress") == 0 || strcmp(mode, "soak") == 0) {
        run_parts(&m, stress);
    } else if (strcmp(mode, "exact") == 0) {
        run_parts(&m, exact);
    } else if (strcmp(mode, "mixed") == 0) {
        run_parts(&m, mixed);
    } else if (!run_long(&m, mode, argv[2]) && !quick) {
        fprintf(stderr,
                "usage: %s all|quick|cycles|stress|soak|mixed|launch|"
                "huge|sums|long [COLLECTIVE]\n",
                argv[0]);
        return 2;
    }
    return 0;
}
