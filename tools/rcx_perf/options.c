/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line. It is read before rcx_init(), so every rank parses it. Only
 * the rank that the launcher numbers 0 prints messages.
 */
#include "rcx_perf/rcx_perf.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/suggest_list.h"

static const char usage[] =
    "Usage: LAUNCHER rcx_perf [options]          as in: rcxrun -n 4 rcx_perf --check\n"
    "Time a collective of RCX, or messages, over a range of sizes, and check them.\n"
    "\n"
    "What is run\n"
    "  -c, --coll NAME      allreduce (default), allreduce_many, reduce,\n"
    "                       reduce_scatter, reduce_scatter_block, barrier, bcast,\n"
    "                       gather, gatherv, scatter, scatterv, allgather,\n"
    "                       allgatherv, alltoall, alltoallv, scan, exscan; sendrecv:\n"
    "                       a message from each rank of the first half to one of the\n"
    "                       second, and back\n"
    "  -a, --algo METHOD    NAME[:PARAMETER=VALUE,...], as the library's variables\n"
    "                       take it; rcx_info --algorithms lists them; all: each\n"
    "                       that supports the call, one after another. Default: the\n"
    "                       environment's setting, or RCX's own choice\n"
    "      --segments LIST  with --algo all: each with segments of each of these\n"
    "                       sizes, as in 0,64K (0: none). The table then has a column\n"
    "                       for collective, algorithm, parameters and segment each\n"
    "  -t, --type NAME      type of elements (float64); struct: a char and a double,\n"
    "                       as a user-defined type, whose user-defined op is user\n"
    "  -o, --op NAME        op of a reduction (sum)\n"
    "      --root RANK      root of a rooted collective (0)\n"
    "      --in-place       the result replaces the operand, or the block of it\n"
    "      --uneven         blocks of 0, 1, 2, 0, ... times the size, the last one\n"
    "                       first in memory, with gaps between them, for collectives\n"
    "                       with counts and displacements\n"
    "      --gaps           the same, with blocks of equal length\n"
    "      --vectors N      allreduce_many: vectors that are reduced as one (4), of\n"
    "                       different lengths with --uneven; sendrecv: messages in\n"
    "                       flight at once, by requests if more than one (1)\n"
    "      --nonblocking    start, wait and free a request\n"
    "      --persistent     one persistent request for a size, created before it is\n"
    "                       timed\n"
    "\n"
    "Sizes: bytes of the vector, of each of several vectors, of a message, or of a\n"
    "block where a rank has a block for each rank (all but allreduce, reduce, bcast,\n"
    "scan, exscan); K, M, G: powers of 1024. A barrier has none.\n"
    "      --min BYTES      (8)\n"
    "      --max BYTES      (4M)\n"
    "      --factor N       from one size to the next (2)\n"
    "\n"
    "Times\n"
    "  -m, --mode sync      (default) new data and a barrier before every iteration;\n"
    "                       an iteration's time is that of its slowest rank\n"
    "                       A message's time: that of a round trip divided by the\n"
    "                       number of its messages\n"
    "      --mode loop      iterations back to back over the same data; the average\n"
    "                       time of each rank\n"
    "      --mode report-to-root\n"
    "                       each iteration ends with a report of all ranks to rank 0,\n"
    "                       so that none begins before the last has ended; least,\n"
    "                       mean, standard deviation and largest on rank 0's clock\n"
    "      --sample NAME    the same as --mode\n"
    "  -n, --iters N        for each size. Default: 20 to 10000, to fill --time\n"
    "      --time SECONDS   to fill for each size (0.4)\n"
    "      --warmup N       untimed iterations before these (20)\n"
    "\n"
    "Check\n"
    "      --check[=N]      N more iterations for each size (3 to 50), apart from the\n"
    "                       timed ones: each has new data, differing between ranks,\n"
    "                       and every element of every rank's result is compared\n"
    "                       with a serial reduction that the tool does by itself\n"
    "      --inject         spoil one element of one rank's result before it is\n"
    "                       compared: the check must find it\n"
    "\n"
    "Output\n"
    "      --csv, --json    one of these instead of a table\n"
    "  -h, --help           print this and exit\n"
    "  -V, --version        print the library's version and exit\n"
    "\n"
    "Exit status: 0; 1 an element was wrong or the library failed; 2 wrong usage, or\n"
    "a call that RCX does not support (the op is not defined on the type, ...).\n";

const char *perf_op_name(const struct perf_options *o)
{
    return rcx_colls[o->coll->row].reduces ? o->op->name : "-";
}

const char *perf_form_name(enum perf_form form)
{
    static const char *const names[] = {"blocking", "nonblocking",
                                        "persistent"};

    return names[form];
}

__attribute__((format(printf, 1, 2), noreturn)) static void
refuse(const char *format, ...)
{
    va_list args;

    if (perf_launched_rank() == 0) {
        fputs("rcx_perf: ", stderr);
        va_start(args, format);
        vfprintf(stderr, format, args);
        va_end(args);
        fputs(" (try rcx_perf --help)\n", stderr);
    }
    perf_exit(EXIT_USAGE);
}

/* ---- Values of options --------------------------------------------------- */

/* The index of value in a table of names, whose pointers are stride bytes apart
 * and end with NULL. Exits if value is not there. */
static size_t find(const char *option, const char *value, const void *table,
                   size_t stride)
{
    const char *name;
    char offer[1024];
    size_t i = 0;

    for (const char *at = table; (name = *(const char *const *)at) != NULL;
         at += stride, i++)
        if (strcmp(name, value) == 0)
            return i;
    refuse("--%s %s: needs one of %s", option, value,
           suggest_list(value, table, stride, offer, sizeof offer));
}

static long parse_number(const char *option, const char *text, long least)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < least || value > INT_MAX)
        refuse("--%s %s: needs a number from %ld to %d", option, text, least,
               INT_MAX);
    return value;
}

static size_t parse_bytes(const char *option, const char *text)
{
    static const char units[] = "KMGT";
    char *end;
    unsigned long long value;
    const char *unit;
    int shift = 0;

    errno = 0;
    value = strtoull(text, &end, 10);
    unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (unit) {
        shift = 10 * (int)(unit - units + 1);
        end++;
    }
    if (*end && toupper((unsigned char)*end) == 'B')
        end++;
    if (!isdigit((unsigned char)*text) || errno || *end ||
        value > ((size_t)PTRDIFF_MAX / 4) >> shift)
        refuse("--%s %s: needs a size such as 8, 64K, 1M", option, text);
    return (size_t)value << shift;
}

static void parse_segments(const char *text, struct perf_options *o)
{
    char copy[512], *rest = copy, *word;

    if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy)
        refuse("--segments %s: is too long", text);
    for (o->segment_count = 0; (word = strsep(&rest, ",")) != NULL;) {
        if (o->segment_count == PERF_SEGMENTS)
            refuse("--segments %s: takes up to %d", text, PERF_SEGMENTS);
        o->segments[o->segment_count++] = parse_bytes("segments", word);
    }
}

static double parse_seconds(const char *text)
{
    char *end;
    const double value = strtod(text, &end);

    if (end == text || *end || !(value > 0 && value <= 1e6))
        refuse("--time %s: needs a positive number of seconds", text);
    return value;
}

static void set_form(struct perf_options *o, enum perf_form form)
{
    if (o->form != FORM_BLOCKING && o->form != form)
        refuse("--nonblocking and --persistent exclude each other");
    o->form = form;
}

static void set_output(struct perf_options *o, enum perf_output output)
{
    if (o->output != OUTPUT_TABLE && o->output != output)
        refuse("--csv and --json exclude each other");
    o->output = output;
}

__attribute__((noreturn)) static void print_and_exit(const char *text)
{
    if (perf_launched_rank() == 0)
        fputs(text, stdout);
    exit(EXIT_SUCCESS);
}

/* ---- The command line ---------------------------------------------------- */

enum {
    ROOT = 256,
    IN_PLACE,
    UNEVEN,
    GAPS,
    VECTORS,
    SEGMENTS,
    NONBLOCKING,
    PERSISTENT,
    MIN,
    MAX,
    FACTOR,
    SECONDS,
    WARMUP,
    CHECK,
    INJECT,
    CSV,
    JSON
};

static const struct option names[] = {
    {"coll", required_argument, NULL, 'c'},
    {"algo", required_argument, NULL, 'a'},
    {"type", required_argument, NULL, 't'},
    {"op", required_argument, NULL, 'o'},
    {"root", required_argument, NULL, ROOT},
    {"in-place", no_argument, NULL, IN_PLACE},
    {"uneven", no_argument, NULL, UNEVEN},
    {"gaps", no_argument, NULL, GAPS},
    {"vectors", required_argument, NULL, VECTORS},
    {"segments", required_argument, NULL, SEGMENTS},
    {"nonblocking", no_argument, NULL, NONBLOCKING},
    {"persistent", no_argument, NULL, PERSISTENT},
    {"min", required_argument, NULL, MIN},
    {"max", required_argument, NULL, MAX},
    {"factor", required_argument, NULL, FACTOR},
    {"mode", required_argument, NULL, 'm'},
    {"sample", required_argument, NULL, 'm'},
    {"iters", required_argument, NULL, 'n'},
    {"time", required_argument, NULL, SECONDS},
    {"warmup", required_argument, NULL, WARMUP},
    {"check", optional_argument, NULL, CHECK},
    {"inject", no_argument, NULL, INJECT},
    {"csv", no_argument, NULL, CSV},
    {"json", no_argument, NULL, JSON},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

static void parse_what(int option, const char *value, struct perf_options *o)
{
    switch (option) {
    case 'c':
        o->coll =
            &perf_colls[find("coll", value, perf_colls, sizeof(*perf_colls))];
        break;
    case 'a':
        o->all = strcmp(value, "all") == 0;
        o->algo = o->all ? NULL : value;
        break;
    case 't':
        o->type =
            &perf_types[find("type", value, perf_types, sizeof(*perf_types))];
        break;
    case 'o':
        o->op = &perf_ops[find("op", value, perf_ops, sizeof(*perf_ops))];
        break;
    case ROOT: o->root = (int)parse_number("root", value, 0); break;
    case SEGMENTS: parse_segments(value, o); break;
    case IN_PLACE: o->in_place = true; break;
    case UNEVEN: o->uneven = true; break;
    case GAPS: o->gaps = true; break;
    case VECTORS: o->vectors = (int)parse_number("vectors", value, 1); break;
    case NONBLOCKING: set_form(o, FORM_NONBLOCKING); break;
    case PERSISTENT: set_form(o, FORM_PERSISTENT); break;
    }
}

static void parse_how(int option, const char *value, struct perf_options *o)
{
    switch (option) {
    case MIN: o->min_bytes = parse_bytes("min", value); break;
    case MAX: o->max_bytes = parse_bytes("max", value); break;
    case FACTOR: o->factor = (unsigned)parse_number("factor", value, 2); break;
    case 'm':
        o->mode = (enum perf_mode)find("mode", value, perf_modes,
                                       sizeof(*perf_modes));
        break;
    case 'n': o->iterations = parse_number("iters", value, 1); break;
    case SECONDS: o->seconds = parse_seconds(value); break;
    case WARMUP: o->warmup = parse_number("warmup", value, 0); break;
    case CHECK:
        o->check = true;
        o->check_iterations = value ? parse_number("check", value, 1) : 0;
        break;
    }
}

static void parse_output(int option, struct perf_options *o)
{
    char version[64];

    switch (option) {
    case INJECT: o->inject = true; break;
    case CSV: set_output(o, OUTPUT_CSV); break;
    case JSON: set_output(o, OUTPUT_JSON); break;
    case 'h': print_and_exit(usage);
    case 'V':
        snprintf(version, sizeof(version), "rcx_perf (RCX) %s\n",
                 rcx_version());
        print_and_exit(version);
    }
}

/* Whether some rank has both an operand and a result. */
static bool has_place(enum rcx_coll coll)
{
    for (int rank = 0; rank < 2; rank++)
        if (rcx_coll_gives(coll, rank, 0) && rcx_coll_gets(coll, rank, 0))
            return true;
    return false;
}

static void check_collective(const struct perf_options *o, bool has_op)
{
    const enum rcx_coll coll = o->coll->row;

    if (o->root != 0 && !rcx_coll_is_rooted(coll))
        refuse("--root %d: %s has no root", o->root, o->coll->name);
    if (has_op && !rcx_colls[coll].reduces)
        refuse("--op %s: %s has no op", o->op->name, o->coll->name);
    if (o->in_place && (o->coll->is_messages || !has_place(coll)))
        refuse("--in-place: no rank has both an operand and a result in %s",
               o->coll->name);
    if (o->uneven && !o->coll->irregular)
        refuse("--uneven: %s has no blocks of different lengths",
               o->coll->name);
    if (o->gaps && !perf_has_places(o->coll))
        refuse("--gaps: %s takes no displacements of blocks", o->coll->name);
    if (o->inject && !rcx_coll_has_data(coll))
        refuse("--inject: %s has no results", o->coll->name);
}

static void check_list(const struct perf_options *o)
{
    if (o->vectors > 0 && o->coll->vectors == 0)
        refuse("--vectors %d: %s has one vector only", o->vectors,
               o->coll->name);
    if (!o->coll->is_messages)
        return;
    if (o->algo || o->all)
        refuse("--algo: %s has no algorithms", o->coll->name);
    if (o->mode == MODE_REPORT)
        refuse("--mode report-to-root: %s has no such mode, as the reply ends "
               "each round trip",
               o->coll->name);
    if (o->vectors > 1 && o->form == FORM_BLOCKING)
        refuse("--vectors %d: several messages at once need --nonblocking or "
               "--persistent",
               o->vectors);
}

static void check_together(const struct perf_options *o)
{
    if (o->op->op == PERF_OP_USER && o->type->class != CLASS_STRUCT)
        refuse("--op user: needs --type struct");
    if (o->segment_count > 0 && !o->all)
        refuse("--segments: needs --algo all");
    if (o->inject && !o->check)
        refuse("--inject: needs --check");
    if (o->min_bytes > o->max_bytes)
        refuse("--min %zu is more than --max %zu", o->min_bytes, o->max_bytes);
}

static const struct perf_op *usual_op(const struct perf_options *o)
{
    const char *name = o->type->class == CLASS_STRUCT ? "user" : "sum";

    return &perf_ops[find("op", name, perf_ops, sizeof(*perf_ops))];
}

void perf_options_parse(int argc, char **argv, struct perf_options *o)
{
    bool has_max = false, has_op;
    int option;

    *o = (struct perf_options){.coll = perf_colls,
                               .min_bytes = 8,
                               .max_bytes = 4 << 20,
                               .factor = 2,
                               .warmup = 20,
                               .seconds = 0.4};
    o->type =
        &perf_types[find("type", "float64", perf_types, sizeof(*perf_types))];
    opterr = perf_launched_rank() == 0;
    while ((option = getopt_long(argc, argv, "c:a:t:o:m:n:hV", names, NULL)) !=
           -1) {
        if (option == '?')
            perf_exit(EXIT_USAGE);
        parse_what(option, optarg, o);
        parse_how(option, optarg, o);
        parse_output(option, o);
        has_max |= option == MAX;
    }
    if (optind < argc)
        refuse("%s: not an option", argv[optind]);
    if (!has_max && o->min_bytes > o->max_bytes)
        o->max_bytes = o->min_bytes;
    has_op = o->op != NULL;
    if (!has_op)
        o->op = usual_op(o);
    check_collective(o, has_op);
    check_list(o);
    if (o->vectors == 0)
        o->vectors = o->coll->vectors;
    check_together(o);
}
