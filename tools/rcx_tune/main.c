/* SPDX-License-Identifier: BSD-3-Clause */
/* rcx_tune finds the fastest methods for jobs with these numbers of ranks and
 * nodes. This file has the command line and the loop over points. */
#include "common/output.h"
#include "rcx_tune/rcx_tune.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/api/network.h"
#include "core/base/clock.h"
#include "core/base/parse.h"
#include "core/run/object/comm.h"
#include "core/run/object/context.h"
#include "common/regret.h"

/* ---- The command line ---------------------------------------------------- */

enum {
    SVG = 254,
    TIMES,
    AGAIN,
    VARIANTS,
    MIN,
    MAX,
    FACTOR,
    ROUNDS,
    TIME,
    RATIO
};

static const char doc[] =
    "As in: rcxrun -n 4 rcx_tune -o my.tuning\n\n"
    "Times the methods of collectives in turn, for the ranks and nodes that the "
    "launcher has started, and writes rules for RCX_TUNING=FILE. Without a "
    "file it prints how far RCX's choices are from the best."
    "\v"
    "The file is written after each collective; an interrupted run that is "
    "started again continues with the next one. Rules for other numbers of "
    "ranks and nodes stay in it, so one file serves many kinds of jobs. A regret "
    "is the time of the method that RCX chooses divided by that of the best "
    "one.";

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "write rules to FILE", 0},
    {"svg", SVG, "FILE", 0,
     "draw the methods that the rules select for jobs like this one", 0},
    {"times", TIMES, "FILE", 0,
     "append the times of all methods to FILE, for rcx_sim regret", 0},
    {"variants", VARIANTS, NULL, 0,
     "also measure other parameters of algorithms, which takes longer", 0},
    {"again", AGAIN, NULL, 0, "also measure what FILE has rules for", 0},
    {"coll", 'c', "LIST", 0, "collectives, separated by commas (all)", 0},
    {"min", MIN, "BYTES", 0, "shortest vector, or block (8)", 0},
    {"max", MAX, "BYTES", 0, "longest vector, all blocks together (4M)", 0},
    {"factor", FACTOR, "N", 0, "from one size to the next (4)", 0},
    {"rounds", ROUNDS, "N", 0,
     "rounds over all candidates, then over the fastest few; the median counts "
     "(5)",
     0},
    {"time", TIME, "TIME", 0, "time of a candidate in a round (2ms)", 0},
    {"ratio", RATIO, "N", 0,
     "measure methods whose price is at most N times the lowest (8)", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static void print_version(FILE *to, struct argp_state *state)
{
    (void)state;
    fprintf(to, "rcx_tune (RCX) %s\n", rcx_version());
}

const struct perf_coll *tune_coll_of(enum rcx_coll row)
{
    for (const struct perf_coll *c = perf_colls; c->name; c++)
        if (c->row == row && !c->irregular && !c->is_messages &&
            c->vectors == 0)
            return c;
    return NULL;
}

__attribute__((noreturn)) static void
refuse_coll(const char *name, const struct argp_state *state)
{
    char text[1024];
    int n = 0;

    for (int i = 0; i < RCX_COLL_COUNT; i++)
        if (tune_coll_of((enum rcx_coll)i))
            n += snprintf(text + n, sizeof text - (size_t)n, " %s",
                          rcx_coll_name((enum rcx_coll)i));
    argp_error(state, "%s: no such collective; valid:%s", name, text);
    perf_exit(EXIT_USAGE);
}

static void parse_colls(char *list, const struct argp_state *state)
{
    struct tune_options *o = state->input;
    char *name;

    while ((name = strsep(&list, ","))) {
        int row = 0;

        while (row < RCX_COLL_COUNT &&
               (!tune_coll_of((enum rcx_coll)row) ||
                strcmp(name, rcx_coll_name((enum rcx_coll)row)) != 0))
            row++;
        if (row == RCX_COLL_COUNT)
            refuse_coll(name, state);
        o->colls[row] = true;
    }
}

static bool parse_number(const char *text, long least, long most, int *number_p)
{
    char *end;
    const long number = strtol(text, &end, 10);

    *number_p = (int)number;
    return end != text && !*end && least <= number && number <= most;
}

static bool parse_value(int key, char *text, struct tune_options *o)
{
    int number = 0;
    int64_t ns = 0;
    bool good = true;

    switch (key) {
    case MIN: return rcx_parse_bytes(text, &o->least) && o->least >= 4;
    case MAX: return rcx_parse_bytes(text, &o->most) && o->most >= 4;
    case FACTOR:
        good = parse_number(text, 2, 1024, &number);
        o->factor = (unsigned)number;
        return good;
    case ROUNDS: return parse_number(text, 1, TUNE_ROUNDS, &o->rounds);
    case TIME:
        good = rcx_parse_time(text, &ns) && ns > 0;
        o->seconds = 1e-9 * (double)ns;
        return good;
    default: /* RATIO */
        good = parse_number(text, 1, 1000000, &number);
        o->ratio = number;
        return good;
    }
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct tune_options *o = state->input;

    if (key == 'o')
        o->path = text;
    else if (key == SVG)
        o->svg = text;
    else if (key == AGAIN)
        o->again = true;
    else if (key == TIMES)
        o->times = text;
    else if (key == VARIANTS)
        o->variants = true;
    else if (key == ARGP_KEY_ARG)
        argp_error(state, "%s: not an option", text);
    else if (key == 'c')
        parse_colls(text, state);
    else if (key < MIN || key > RATIO)
        return ARGP_ERR_UNKNOWN;
    else if (!parse_value(key, text, o))
        argp_error(state, "%s: not a valid value of this option", text);
    return 0;
}

/* Parse the command line, on all ranks. Rank 0 prints messages; all ranks exit
 * alike. */
static struct tune_options parse(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse_option, .args_doc = "", .doc = doc};
    struct tune_options o = {.least = 8,
                             .most = 4 << 20,
                             .factor = 4,
                             .rounds = 5,
                             .seconds = 2e-3,
                             .ratio = 8};
    bool any = false;

    argp_err_exit_status = EXIT_USAGE;
    argp_program_version_hook = print_version;
    if (perf_launched_rank() != 0 && !freopen("/dev/null", "w", stdout))
        perf_exit(EXIT_FAILURE);
    if (argp_parse(&argp, argc, argv,
                   perf_launched_rank() == 0 ? 0 : ARGP_NO_ERRS, NULL, &o) != 0)
        perf_exit(EXIT_USAGE);
    for (int i = 0; i < RCX_COLL_COUNT; i++)
        any |= o.colls[i];
    for (int i = 0; i < RCX_COLL_COUNT; i++)
        o.colls[i] = tune_coll_of((enum rcx_coll)i) && (!any || o.colls[i]);
    return o;
}

/* ---- Points -------------------------------------------------------------- */

int tune_sizes(const struct tune_job *job, const struct perf_coll *coll,
               size_t sizes[TUNE_SIZES])
{
    const struct tune_options *o = &job->options;
    const size_t parts = rcx_coll_has_blocks(coll->row) ? (size_t)job->size : 1;
    size_t bytes = rcx_coll_has_data(coll->row) ? o->least : 0;
    int n = 0;

    do
        sizes[n++] = bytes;
    while (bytes > 0 && n < TUNE_SIZES && bytes <= o->most / o->factor &&
           (bytes *= o->factor) <= o->most / parts);
    return n;
}

static double regret_of(const struct tune_point *p)
{
    return p->candidates[0].seconds / p->candidates[p->best].seconds;
}

/* Print the line of a point, on rank 0. */
static void print_point(const struct tune_point *p)
{
    const struct tune_candidate *own = &p->candidates[0];
    const struct tune_candidate *best = &p->candidates[p->best];

    printf("%-15s %9zu %10.2f %10.2f %7.2f  %s", rcx_coll_name(p->coll->row),
           p->bytes, 1e6 * own->seconds, 1e6 * best->seconds, regret_of(p),
           own->method);
    printf(p->best ? " -> %s\n" : "\n", best->method);
    fflush(stdout);
}

static void print_head(const struct tune_job *job)
{
    printf("# RCX %s, %d ranks, %d nodes, at most %d on one; us, medians of "
           "%d rounds\n%-15s %9s %10s %10s %7s  %s\n",
           rcx_version(), job->size, job->nodes, job->per_node,
           job->options.rounds, "# collective", "bytes", "chosen", "best",
           "regret", "chosen -> best method");
}

/* Show a progress bar on rank 0, if stderr is a terminal. */
static void show_progress(const struct tune_job *job, double done,
                          uint64_t since_ns)
{
    enum { WIDTH = 30 };
    const double spent = 1e-9 * (double)(rcx_now_ns() - since_ns);
    const int filled = (int)(done * WIDTH);

    if (job->rank != 0 || !isatty(STDERR_FILENO))
        return;
    if (done >= 1)
        fprintf(stderr, "\r%*s\r", WIDTH + 40, "");
    else
        fprintf(stderr, "\r[%.*s%*s] %3.0f %%, about %.0f s left  ", filled,
                "##############################", WIDTH - filled, "",
                100 * done, done > 0 ? spent / done - spent : 0.0);
}

/* ---- A run --------------------------------------------------------------- */

struct tally {
    double *regrets;
    int points, colls_done, colls; /* counts */
    uint64_t start_ns;
};

/* Broadcast a number from rank 0, which reads the file, so that all ranks
 * decide alike. */
static rcx_status_t agree(struct tune_job *job, int *number)
{
    return rcx_bcast(number, 1, RCX_INT, 0, job->world);
}

static rcx_status_t tune_coll(struct tune_job *job,
                              const struct perf_coll *coll, struct tally *t)
{
    static struct tune_point points[TUNE_SIZES];
    size_t sizes[TUNE_SIZES];
    const int n = tune_sizes(job, coll, sizes);
    rcx_status_t status = RCX_OK;
    int good = 1;

    for (int i = 0; i < n && status == RCX_OK; i++) {
        points[i] = (struct tune_point){.coll = coll, .bytes = sizes[i]};
        status = tune_measure(job, &points[i]);
        if (status != RCX_OK)
            break;
        t->regrets[t->points++] = regret_of(&points[i]);
        show_progress(job, 1, t->start_ns);
        if (job->rank == 0) {
            print_point(&points[i]);
            good = good && tune_times_put(job, &points[i]);
        }
        show_progress(job, (t->colls_done + (i + 1.0) / n) / t->colls,
                      t->start_ns);
    }
    if (status == RCX_OK && good && job->options.path && job->rank == 0)
        good = tune_file_put(job, points, n);
    if (status == RCX_OK)
        status = agree(job, &good);
    return status == RCX_OK && !good ? RCX_ERR_ARG : status;
}

static void print_summary(const struct tally *t)
{
    if (t->points == 0)
        return;
    printf("# regret of %d points: ", t->points);
    regret_print(t->regrets, (size_t)t->points);
}

/* The file of another program was not meant. */
static rcx_status_t check_file(struct tune_job *job)
{
    int goes_on = job->rank != 0 || !job->options.path || tune_file_check(job);
    const rcx_status_t status = agree(job, &goes_on);

    return status == RCX_OK && !goes_on ? RCX_ERR_ARG : status;
}

static rcx_status_t measure_machine(struct tune_job *job)
{
    const bool has_file = job->rank == 0 && job->options.path;
    struct rcx_link far = {0};
    int goes_on =
        !has_file || job->options.again || !tune_file_has_machine(job);
    rcx_status_t status = agree(job, &goes_on);

    if (status != RCX_OK || !goes_on)
        return status;
    status = rcx_network_time(job->context, &far); /* for rank 0 */
    if (status == RCX_OK && job->rank == 0)
        printf(
            "# between nodes: a message %.2f us, one that waits for no other "
            "%.2f us, a byte %.4f ns more\n",
            1e6 * far.alpha, 1e6 * far.tell, 1e9 * far.beta);
    if (status == RCX_OK && job->rank == 0)
        goes_on = tune_times_put_machine(job, &far);
    if (status == RCX_OK && has_file && goes_on)
        goes_on = tune_file_put_machine(job, &far);
    if (status == RCX_OK)
        status = agree(job, &goes_on);
    return status == RCX_OK && !goes_on ? RCX_ERR_ARG : status;
}

static rcx_status_t tune(struct tune_job *job)
{
    struct tally t = {.start_ns = rcx_now_ns()};
    rcx_status_t status = RCX_OK;

    t.regrets = calloc(RCX_COLL_COUNT * TUNE_SIZES, sizeof *t.regrets);
    if (!t.regrets)
        return RCX_ERR_NOMEM;
    for (int i = 0; i < RCX_COLL_COUNT; i++)
        t.colls += job->options.colls[i];
    for (int i = 0; i < RCX_COLL_COUNT && status == RCX_OK; i++) {
        const struct perf_coll *coll = tune_coll_of((enum rcx_coll)i);
        int is_there = 0;

        if (!job->options.colls[i])
            continue;
        if (job->rank == 0 && job->options.path && !job->options.again)
            is_there = tune_file_has(job, coll);
        status = agree(job, &is_there);
        if (status == RCX_OK && !is_there)
            status = tune_coll(job, coll, &t);
        if (job->rank == 0 && is_there)
            printf("# %s: skipped, as the file has its rules (--again measures "
                   "it)\n",
                   rcx_coll_name((enum rcx_coll)i));
        t.colls_done++;
    }
    show_progress(job, 1, t.start_ns);
    if (job->rank == 0 && status == RCX_OK)
        print_summary(&t);
    free(t.regrets);
    return status;
}

/* ---- Begin and end ------------------------------------------------------- */

/* Bytes of the longest vector. The shortest block is measured even if all
 * blocks together are longer than --max. */
static size_t most_bytes(const struct tune_options *o, int size)
{
    const size_t blocks = o->least * (size_t)size;

    return o->most > blocks ? o->most : blocks;
}

static rcx_status_t open_job(struct tune_job *job)
{
    const struct rcx_nodes *nodes;
    size_t bytes;
    rcx_status_t status = rcx_init(NULL, &job->context);

    if (status != RCX_OK)
        return status;
    job->world = rcx_world(job->context);
    job->rank = rcx_comm_rank(job->world);
    job->size = rcx_comm_size(job->world);
    bytes = most_bytes(&job->options, job->size) + 64;
    job->in = calloc(1, bytes);
    job->out = calloc(1, bytes);
    if (!job->in || !job->out || !rcx_comm_map_nodes(job->world))
        return RCX_ERR_NOMEM;
    nodes = rcx_nodes_linked(job->world->members->nodes);
    job->nodes = nodes ? nodes->count : 1;
    job->per_node = nodes ? nodes->most : job->size;
    return RCX_OK;
}

static rcx_status_t close_job(struct tune_job *job)
{
    rcx_status_t status = RCX_OK;

    for (int i = 0; i < TUNE_CANDIDATES && job->comms[i] && status == RCX_OK;
         i++)
        status = rcx_comm_free(&job->comms[i]);
    if (status == RCX_OK)
        status = rcx_finalize(&job->context);
    free(job->in);
    free(job->out);
    return status;
}

int main(int argc, char **argv)
{
    static struct tune_job job;
    int drawn = EXIT_SUCCESS;
    rcx_status_t status;

    atexit(check_output);
    job.options = parse(argc, argv);
    status = open_job(&job);
    if (status == RCX_ERR_CONFIG || status == RCX_ERR_ARG)
        perf_exit(EXIT_USAGE); /* rcx_init() has logged the reason */
    if (status == RCX_OK)
        status = check_file(&job);
    if (status == RCX_OK && job.nodes > 1)
        status = measure_machine(&job);
    if (status == RCX_OK && job.rank == 0)
        print_head(&job);
    if (status == RCX_OK)
        status = tune(&job);
    if (status == RCX_OK && job.rank == 0 && job.options.svg)
        drawn = tune_map(&job);
    if (status == RCX_OK || status == RCX_ERR_ARG) {
        const rcx_status_t closed = close_job(&job);

        status = status == RCX_OK ? closed : status;
    }
    if (status != RCX_OK)
        fprintf(stderr, "rcx_tune: rank %d: %s\n", job.rank,
                rcx_status_string(status));
    return status == RCX_OK ? drawn : EXIT_FAILURE;
}
