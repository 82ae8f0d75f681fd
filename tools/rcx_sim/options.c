/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of rcx_sim: parsers of options. usage.c has the help.
 */
#include "rcx_sim/rcx_sim.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "common/suggest_list.h"
#include "core/sched/method.h"

void sim_print_and_exit(const char *text)
{
    fputs(text, stdout);
    exit(EXIT_SUCCESS);
}

void sim_refuse(const char *format, ...)
{
    va_list args;

    fflush(stdout);
    fputs("rcx_sim: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputs(" (try rcx_sim --help)\n", stderr);
    exit(EXIT_USAGE);
}

/* ---- Values of options --------------------------------------------------- */

static int parse_rank(const char *option, const char *text, int least)
{
    char *end;
    const long value = strtol(text, &end, 10);

    if (end == text || *end || value < least || value > INT_MAX / 2)
        sim_refuse("--%s %s: needs a number from %d on", option, text, least);
    return (int)value;
}

static size_t parse_size(const char *option, const char *text, size_t least)
{
    size_t value;

    if (!rcx_parse_bytes(text, &value) || value < least ||
        value > SIZE_MAX / 1024)
        sim_refuse("--%s %s: needs a number such as 8, 64K, 1M", option, text);
    return value;
}

static double parse_time(const char *option, const char *text)
{
    char *end;
    const double value = strtod(text, &end);

    if (end == text || *end || !(value >= 0 && value < INFINITY))
        sim_refuse("--%s %s: needs a number, not negative", option, text);
    return value;
}

enum { NAMES_MAX = 64, OFFER_TEXT = 1024 };

/* Exit with a message that text is none of names, which NULL ends. */
__attribute__((noreturn)) static void refuse_name(const char *option,
                                                  const char *text,
                                                  const char *what,
                                                  const char *const names[])
{
    char offer[OFFER_TEXT];

    sim_refuse("--%s %s: %s %s", option, text, what,
               suggest_list(text, names, sizeof *names, offer, sizeof offer));
}

/* The number of text among names, which NULL ends. */
static int parse_name(const char *option, const char *text,
                      const char *const names[])
{
    for (int i = 0; names[i]; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    refuse_name(option, text, "needs one of", names);
}

static enum rcx_coll parse_coll(const char *text)
{
    const enum rcx_coll coll = rcx_coll_by_name(text);
    const char *known[RCX_COLL_COUNT + 1] = {NULL};

    if (coll != RCX_COLL_COUNT)
        return coll;
    for (int i = 0; i < RCX_COLL_COUNT; i++)
        known[i] = rcx_coll_name((enum rcx_coll)i);
    refuse_name("coll", text, "needs one of", known);
}

static rcx_order_t parse_order(const char *text)
{
    const char *names[RCX_ORDER_CANONICAL + 2] = {NULL};

    for (int i = 0; i <= RCX_ORDER_CANONICAL; i++)
        names[i] = rcx_order_name((rcx_order_t)i);
    return (rcx_order_t)parse_name("order", text, names);
}

/* ---- Ranks: "5", "2..16", "3,7,32..64" ----------------------------------- */

/* Most ranks, limited by the width of a message's tag; and most numbers in a
 * list. */
enum { RANKS_MAX = 1 << 22, SIZES_MAX = 1 << 22 };

static bool parse_number(const char **text, int *number_p)
{
    char *end;
    const long value =
        isdigit((unsigned char)**text) ? strtol(*text, &end, 10) : 0;

    if (value < 1 || value > RANKS_MAX)
        return false;
    *number_p = (int)value;
    *text = end;
    return true;
}

static bool parse_range(const char **text, int *first_p, int *last_p)
{
    if (!parse_number(text, first_p))
        return false;
    *last_p = *first_p;
    if (strncmp(*text, "..", 2) != 0)
        return true;
    *text += 2;
    return parse_number(text, last_p) && *last_p >= *first_p;
}

static void parse_sizes(const char *text, struct sim_options *o)
{
    const char *at = text;
    int first, last;

    o->size_count = 0;
    for (;;) {
        if (!parse_range(&at, &first, &last) || (*at && *at != ','))
            sim_refuse("--ranks %s: needs numbers of ranks from 1 to %d, as in "
                       "5 or 2..16 or 3,7,32..64",
                       text, RANKS_MAX);
        if (last - first >= SIZES_MAX - o->size_count)
            sim_refuse("--ranks %s: more than %d numbers", text, SIZES_MAX);
        o->sizes = sim_grow(o, o->sizes, (size_t)o->size_count,
                            (size_t)(last - first + 1), sizeof *o->sizes);
        for (int i = first; i <= last; i++)
            o->sizes[o->size_count++] = i;
        if (!*at++)
            return;
    }
}

/* ---- Methods ------------------------------------------------------------- */

enum { ALGOS_MAX = 64 };

static void add_method(const struct rcx_algo *algo, struct sim_options *o)
{
    struct sim_method *m;

    o->methods =
        sim_grow(o, o->methods, (size_t)o->method_count, 1, sizeof *o->methods);
    m = &o->methods[o->method_count++];
    m->algo = algo;
    rcx_params_reset(algo, m->params);
}

static void add_all(struct sim_options *o)
{
    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++)
        if ((*a)->coll == o->coll)
            add_method(*a, o);
}

__attribute__((noreturn)) static void refuse_algo(const char *text,
                                                  enum rcx_coll coll)
{
    const char *known[NAMES_MAX] = {"all"};
    char what[64];
    int n = 1;

    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++)
        if ((*a)->coll == coll && n < NAMES_MAX - 1)
            known[n++] = (*a)->name;
    snprintf(what, sizeof what, "%s has", rcx_coll_name(coll));
    refuse_name("algo", text, what, known);
}

/* segments: they may be set. */
static void parse_method(const char *text, bool segments, struct sim_options *o)
{
    struct rcx_refusal refusal = {.valid = ""};
    struct sim_method *m;
    struct rcx_method_spec spec;

    if (strcmp(text, "all") == 0) {
        add_all(o);
        return;
    }
    if (!rcx_method_parse(text, o->coll, &spec, &refusal)) {
        if (refusal.valid[0])
            sim_refuse("--algo %s: %s%s", text, refusal.valid, refusal.guess);
        refuse_algo(text, o->coll);
    }
    if (!spec.algo || spec.preferred ||
        (!segments && (spec.segment_bytes != SIZE_MAX || spec.window)))
        sim_refuse("--algo %s: needs all or NAME[:PARAMETER=VALUE,...], of the "
                   "algorithm's own parameters",
                   text);
    add_method(spec.algo, o);
    m = &o->methods[o->method_count - 1];
    memcpy(m->params, spec.params, sizeof m->params);
    m->segment_bytes = spec.segment_bytes == SIZE_MAX ? 0 : spec.segment_bytes;
    m->window = spec.window ? spec.window : 2;
}

/* ---- The command line ---------------------------------------------------- */

static const struct option names[] = {
    {"coll", required_argument, NULL, 'c'},
    {"algo", required_argument, NULL, 'a'},
    {"ranks", required_argument, NULL, 'p'},
    {"count", required_argument, NULL, 'n'},
    {"per-node", required_argument, NULL, 'k'},
    {"scattered", no_argument, NULL, 'S'},
    {"root", required_argument, NULL, 'R'},
    {"elem", required_argument, NULL, 'e'},
    {"non-commutative", no_argument, NULL, 'N'},
    {"in-place", no_argument, NULL, 'i'},
    {"rank", required_argument, NULL, 'r'},
    {"alpha", required_argument, NULL, 'A'},
    {"beta", required_argument, NULL, 'B'},
    {"gamma", required_argument, NULL, 'G'},
    {"paper", no_argument, NULL, 'P'},
    {"min", required_argument, NULL, 'm'},
    {"max", required_argument, NULL, 'M'},
    {"order", required_argument, NULL, 'o'},
    {"chosen", no_argument, NULL, 'C'},
    {"rules", required_argument, NULL, 'u'},
    {"simulated", no_argument, NULL, 'U'},
    {"svg", required_argument, NULL, 's'},
    {"inject", no_argument, NULL, 'j'},
    {"machine", required_argument, NULL, 'H'},
    {"placement", required_argument, NULL, 'x'},
    {"lane", required_argument, NULL, 'L'},
    {"many-way", no_argument, NULL, 'W'},
    {"best", no_argument, NULL, 'T'},
    {"counts", no_argument, NULL, 'K'},
    {"csv", no_argument, NULL, 'v'},
    {"times", required_argument, NULL, 'I'},
    {"usual", no_argument, NULL, 'y'},
    {"group", required_argument, NULL, 'g'},
    {"columns", required_argument, NULL, 't'},
    {"rows", required_argument, NULL, 'w'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void check_accepted(const struct sim_command *command, int option)
{
    const struct option *o = names;

    while (o->val != option)
        o++;
    if (!strchr(command->accepts, option))
        sim_refuse("--%s: not an option of %s", o->name, command->name);
}

static void parse_what(int option, const char *value, struct sim_options *o)
{
    switch (option) {
    case 'c': o->coll = parse_coll(value); break;
    case 'p': parse_sizes(value, o); break;
    case 'n': o->count = parse_size("count", value, 0); break;
    case 'k': o->per_node = parse_rank("per-node", value, 1); break;
    case 'S': o->scattered = true; break;
    case 'R': o->root = parse_rank("root", value, 0); break;
    case 'e': o->elem_bytes = parse_size("elem", value, 1); break;
    case 'N': o->commutative = false; break;
    case 'i': o->in_place = true; break;
    case 'r': o->rank = parse_rank("rank", value, 0); break;
    }
}

static void parse_how(int option, const char *value, struct sim_options *o)
{
    switch (option) {
    case 'A': o->machine.alpha = parse_time("alpha", value); break;
    case 'B': o->machine.beta = parse_time("beta", value); break;
    case 'G': o->machine.gamma = parse_time("gamma", value); break;
    case 'P': o->mode = SIMULATION_PAPER; break;
    case 'm': o->min_bytes = parse_size("min", value, 1); break;
    case 'M': o->max_bytes = parse_size("max", value, 1); break;
    case 'o': o->order = parse_order(value); break;
    case 'C': o->chosen = true; break;
    case 'u': o->rules = value; break;
    case 'U': o->simulated = true; break;
    case 's': o->svg = value; break;
    case 'j': o->inject = true; break;
    case 'g': o->group = parse_rank("group", value, 1); break;
    case 't': o->columns = parse_rank("columns", value, 1); break;
    case 'w': o->rows = parse_rank("rows", value, 1); break;
    }
}

static void parse_node(int option, const char *value, struct sim_options *o)
{
    static const char *const placements[] = {"compact", "scatter", NULL};
    static const char *const lanes[] = {"copies", "once", "direct", NULL};

    switch (option) {
    case 'H': o->machine_file = value; break;
    case 'x':
        o->placement =
            (enum node_placement)parse_name("placement", value, placements);
        break;
    case 'L':
        o->lane.staging = (enum node_staging)parse_name("lane", value, lanes);
        break;
    case 'W': o->lane.many_way = true; break;
    case 'T': o->best = true; break;
    case 'K': o->counts = true; break;
    case 'v': o->csv = true; break;
    case 'I': o->times = value; break;
    case 'y': o->usual = true; break;
    }
}

/* Remove sizes in which the option's rank does not exist. */
static void keep_sizes(struct sim_options *o, const char *option, int rank)
{
    int kept = 0;

    for (int i = 0; i < o->size_count; i++)
        if (o->sizes[i] > rank)
            o->sizes[kept++] = o->sizes[i];
    if (o->size_count > 0 && kept == 0)
        sim_refuse("--%s %d: a job of %d ranks has no such rank", option, rank,
                   o->sizes[o->size_count - 1]);
    o->size_count = kept;
}

static void check_together(const struct sim_command *command,
                           struct sim_options *o)
{
    if (o->root >= 0 && !rcx_coll_is_rooted(o->coll))
        sim_refuse("--root %d: %s has no root", o->root,
                   rcx_coll_name(o->coll));
    keep_sizes(o, "root", o->root);
    keep_sizes(o, "rank", o->rank);
    if (o->scattered && o->per_node == 0)
        sim_refuse("--scattered: needs --per-node");
    if (o->min_bytes > o->max_bytes)
        sim_refuse("--min %zu is more than --max %zu", o->min_bytes,
                   o->max_bytes);
    if (command->one_method && (o->method_count != 1 || o->size_count != 1))
        sim_refuse("%s: needs one --algo and one number of --ranks",
                   command->name);
}

void sim_options_parse(const struct sim_command *command, int argc, char **argv,
                       struct sim_options *o)
{
    static char name[] = "rcx_sim"; /* for the messages of getopt */
    const char *algos[ALGOS_MAX];
    int algo_count = 0, option;

    *o = (struct sim_options){.rank = -1,
                              .root = -1,
                              .count = NO_COUNT,
                              .elem_bytes = 8,
                              .min_bytes = 8,
                              .max_bytes = 16 << 20,
                              .commutative = true,
                              .machine = rcx_machine_usual,
                              .rules = "",
                              .heap = o->heap};
    o->machine.tell = 0; /* the model of the papers */
    argv[0] = name;
    while ((option = getopt_long(argc, argv, "c:a:p:n:r:h", names, NULL)) !=
           -1) {
        if (option == '?')
            exit(EXIT_USAGE);
        if (option == 'h')
            sim_print_and_exit(sim_usage);
        check_accepted(command, option);
        if (option == 'a' && algo_count == ALGOS_MAX)
            sim_refuse("--algo: at most %d algorithms", ALGOS_MAX);
        if (option == 'a')
            algos[algo_count++] = optarg;
        parse_what(option, optarg, o);
        parse_how(option, optarg, o);
        parse_node(option, optarg, o);
    }
    if (optind < argc)
        sim_refuse("%s: not an option", argv[optind]);
    for (int i = 0; i < algo_count; i++) /* last, as they depend on --coll */
        parse_method(algos[i], command->segments, o);
    if (algo_count == 0 && !command->one_method && !command->segments)
        add_all(o);
    if (o->size_count == 0 && command->sizes)
        parse_sizes(command->sizes, o);
    check_together(command, o);
}
