/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_info prints properties of this build of RCX and of the library's tables.
 * All output comes from these tables, so nothing here has to be kept up to
 * date.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/output.h"
#include "rcx_info/rcx_info.h"

#include "algo/algorithms.h"
#include "core/base/parse.h"
#include "core/iface/bootstrap.h"
#include "core/iface/transport.h"
#include "core/run/object/context.h"
#include "core/sched/params.h"

static const char usage[] =
    "Usage: rcx_info [options]\n"
    "Print what this build of RCX is and offers. With no option: --build, and the\n"
    "environment variables that are set.\n"
    "\n"
    "  -A, --all          all of the following but --launch and --explain\n"
    "      --build        versions, and instruction sets of the kernels\n"
    "  -c, --config       the environment variables, and what they are set to\n"
    "  -t, --types        which op is defined on which type\n"
    "  -a, --algorithms   algorithms of each collective: order level, cost, source\n"
    "  -m, --machine      caches, NUMA domains and sockets, what it costs to pass data\n"
    "                     between cores, measured now, and what RCX_SHM=auto decides\n"
    "                     by that for --ranks N (4) on the cores of this process\n"
    "  -l, --launch       what this process's launcher provides, and which transport\n"
    "                     reaches each other rank of its job; all ranks of the job\n"
    "                     must run this\n"
    "  -e, --explain COLLECTIVE  the method that a call gets, and the prices of all\n"
    "                     others. The call: --bytes B of the vector or of a block\n"
    "                     (64K) of floats, --exact: by an exact sum or average,\n"
    "                     --float: of bfloat16, summed in float (RCX_SUM_FLOAT),\n"
    "                     --ranks N (4), --nodes K (1), --scattered: ranks are\n"
    "                     dealt to nodes in turn, --cores C: cores that the ranks\n"
    "                     share, --bound: each rank is bound to one core, in turn,\n"
    "                     --per-socket N, --per-numa N, --per-cache N: ranks of each,\n"
    "                     which are bound within it, in blocks\n"
    "      --markdown     the algorithms with their costs, as a table of Markdown\n"
    "  -h, --help         print this and exit\n"
    "  -V, --version      print the version and exit\n"
    "\n"
    "Exit status: 0; 1 an environment value is not valid; 2 wrong usage.\n";

/* ---- Build --------------------------------------------------------------- */

enum { TEXT = 128 };

/* Keep the "library" line of a bootstrap: the name and version of its library.
 * The rest in parentheses is for --launch. */
static void keep_library(const char *name, const char *value, void *arg)
{
    char *text = arg;

    if (strcmp(name, "library") == 0)
        snprintf(text, TEXT, "%.*s", (int)strcspn(value, "("), value);
}

static void print_fact(const char *label, const char *name, const char *value)
{
    printf("  %-14s %s", label, name);
    if (*value)
        printf("%*s %s", 10 - (int)strlen(name), "", value);
    printf("\n");
}

static bool is_compiled(enum rcx_isa isa)
{
#ifdef RCX_HAVE_AVX2
    if (isa == RCX_ISA_AVX2)
        return true;
#endif
#ifdef RCX_HAVE_AVX512
    if (isa == RCX_ISA_AVX512)
        return true;
#endif
    return isa == RCX_ISA_BASELINE;
}

static void print_isas(void)
{
    struct rcx_config config = {0};
    struct rcx_option o;

    for (int i = 0; rcx_option_at(i, &o); i++)
        info_read_option(&o, &config);
    for (int i = 0; i < RCX_ISA_COUNT; i++) {
        const enum rcx_isa isa = (enum rcx_isa)i;

        print_fact(i ? "" : "kernels", rcx_isa_name(isa),
                   !is_compiled(isa)         ? "not compiled in"
                   : !rcx_isa_available(isa) ? "compiled in, not on this CPU"
                   : isa == config.isa       ? "available, in use"
                                             : "available");
    }
}

static void print_build(void)
{
    const char *label = "transports";
    char text[TEXT];

    printf("RCX %s\n\n", rcx_version());
    for (const struct rcx_transport_ops *const *t = rcx_transport_table; *t;
         t++, label = "") {
        (*t)->version(text, sizeof text);
        print_fact(label, (*t)->name, text);
    }
    if (!rcx_transport_table[0])
        print_fact(label, "none: built without UCX, single processes only", "");
    label = "bootstraps";
    for (const struct rcx_boot_ops *const *b = rcx_boot_table; *b;
         b++, label = "") {
        text[0] = '\0';
        (*b)->describe(keep_library, text);
        print_fact(label, (*b)->name, text);
    }
#ifndef RCX_HAVE_PMIX
    print_fact("", "pmix", "not compiled in");
#endif
    print_isas();
    printf("\n");
}

/* ---- Types and ops ------------------------------------------------------- */

static void print_pairs(rcx_datatype_t type)
{
    const struct rcx_type_info *info = rcx_type_predefined(type);

    /* names are short where bytes have three digits */
    printf("%s %*zu", info->name, 19 - (int)strlen(info->name), info->bytes);
    for (rcx_op_t op = RCX_OP_FIRST; op < RCX_OP_END; op++)
        if (rcx_kernel_find(RCX_ISA_BASELINE, op, type))
            printf(" %s%s", rcx_op_predefined(op)->name,
                   rcx_op_exact(op, type) ? "" : "~");
    printf("\n");
}

static void print_types(void)
{
    printf("Ops and types   (bytes of each type, the ops that are defined on "
           "it; ~ rounds,\nso that the order counts)\n\n");
    for (rcx_datatype_t type = 1; type < RCX_TYPE_END; type++)
        print_pairs(type);
    printf("\n");
}

/* ---- Algorithms ---------------------------------------------------------- */

/* The shape of a typical call. */
static struct rcx_shape shape_at(const struct rcx_algo *algo, int size)
{
    struct rcx_shape shape = {.coll = algo->coll,
                              .size = size,
                              .count = 1000,
                              .elem_bytes = 8,
                              .commutative = true};

    rcx_params_reset(algo, shape.params);
    rcx_params_settle(algo, &shape);
    return shape;
}

static const char *level_at(const struct rcx_algo *algo, int size)
{
    const struct rcx_shape shape = shape_at(algo, size);

    return rcx_algo_fits(algo, &shape)
               ? rcx_order_name(rcx_algo_order(algo, &shape))
               : "unfit";
}

enum { PARAMETER_TEXT = 512 };

__attribute__((format(printf, 2, 3))) static void
append(char text[PARAMETER_TEXT], const char *format, ...)
{
    const size_t used = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + used, PARAMETER_TEXT - used, format, args);
    va_end(args);
}

/* Describe a parameter as users write it: "radix=2..16 (4): ...",
 * "fold=half|full (half)". */
static void describe_parameter(const struct rcx_param *p,
                               char text[PARAMETER_TEXT])
{
    snprintf(text, PARAMETER_TEXT, "%s=", p->name);
    for (int i = 0; p->names && p->names[i]; i++)
        append(text, "%s%s", i ? "|" : "", p->names[i]);
    if (!p->names && p->most == INT64_MAX)
        append(text, "%lld..", (long long)p->least);
    else if (!p->names)
        append(text, "%lld..%lld", (long long)p->least, (long long)p->most);
    if (p->candidate)
        append(text, "|auto");
    if (p->usual == RCX_PARAM_AUTO)
        append(text, " (auto)");
    else if (p->names)
        append(text, " (%s)", p->names[p->usual]);
    else if (p->usual == INT64_MAX)
        append(text, " (no limit)");
    else
        append(text, " (%lld)", (long long)p->usual);
    append(text, ": %s", p->doc);
}

static void print_parameter(const struct rcx_param *p)
{
    char text[PARAMETER_TEXT];

    describe_parameter(p, text);
    info_print_wrapped("      with:   ", text);
}

static void print_algorithm(const struct rcx_algo *algo, bool reduces)
{
    if (reduces)
        printf("    %-28s %-12s %s\n", algo->name, level_at(algo, 8),
               level_at(algo, 7));
    else
        printf("    %s\n", algo->name);
    info_print_wrapped("      cost:   ", algo->formula);
    if (algo->needs)
        info_print_wrapped("      needs:  ", algo->needs);
    for (const struct rcx_param *p = algo->params; p && p->name; p++)
        print_parameter(p);
    info_print_wrapped("      source: ", algo->source);
}

/* Print the names of those that the build option -Dalgorithms=all adds. */
static void print_left_out(void)
{
    const char *const *const names = rcx_algo_left_out;

    if (!names[0])
        return;
    printf("\n  Not in this build; the build option -Dalgorithms=all adds "
           "them:\n");
    for (int i = 0; names[i]; i++)
        printf("      %s\n", names[i] + strlen("rcx_"));
}

static void print_algorithms(void)
{
    printf("Algorithms   (cost on the slowest of p ranks for n bytes: a a "
           "message, b a byte\nsent, g a byte combined; lg is the logarithm "
           "to base 2; [conditions] is 1 where\nthey hold, else 0; order: see "
           "rcx_order_t)\n\n");
    for (int i = 0; i < RCX_COLL_COUNT; i++) {
        const enum rcx_coll coll = (enum rcx_coll)i;
        const char *variable = rcx_colls[coll].variable;
        const bool reduces = rcx_colls[coll].reduces;

        printf("  %s (%s)\n", rcx_coll_name(coll),
               variable ? variable : "internal");
        if (reduces)
            printf("    %-28s %-12s %s\n", "NAME", "order p=8", "order p=7");
        for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++)
            if ((*a)->coll == coll)
                print_algorithm(*a, reduces);
    }
    print_left_out();
    printf("\n");
}

/* ---- The table in Markdown ----------------------------------------------- */

enum { LARGEST = 64 }; /* most ranks tried for the order columns */

/* The page is the same of every build: it has all algorithms. */
static const struct rcx_algo *const every[] = {
    RCX_ALGORITHMS(RCX_ALGORITHM_ENTRY, RCX_ALGORITHM_ENTRY) NULL};
static const struct rcx_algo *const optional[] = {
    RCX_ALGORITHMS(RCX_ALGORITHM_NONE, RCX_ALGORITHM_ENTRY) NULL};

static bool is_optional(const struct rcx_algo *algo)
{
    int i = 0;

    while (optional[i] && optional[i] != algo)
        i++;
    return optional[i];
}

/* Print text for a table cell, with bars escaped: a bar ends a cell. */
static void print_cell_text(const char *text)
{
    for (; *text; text++)
        printf("%s%c", *text == '|' ? "\\" : "", *text);
}

static void print_cell(const char *text)
{
    print_cell_text(text);
    printf(" | ");
}

/* The lowest order level over all numbers of ranks that are powers of two, or
 * over all others. */
static const char *least_level(const struct rcx_algo *algo, bool powers)
{
    rcx_order_t least = RCX_ORDER_CANONICAL;
    bool fits = false;

    for (int size = 2; size <= LARGEST; size++) {
        struct rcx_shape s = shape_at(algo, size);

        if ((size == rcx_pow2_floor(size)) != powers ||
            !rcx_algo_fits(algo, &s))
            continue;
        fits = true;
        if (rcx_algo_order(algo, &s) < least)
            least = rcx_algo_order(algo, &s);
    }
    return fits ? rcx_order_name(least) : "-";
}

static void print_row(const struct rcx_algo *algo)
{
    const bool reduces = rcx_colls[algo->coll].reduces;

    printf("| %s | `%s` | ", rcx_coll_name(algo->coll), algo->name);
    print_cell(algo->formula);
    print_cell(reduces ? least_level(algo, true) : "");
    print_cell(reduces ? least_level(algo, false) : "");
    if (is_optional(algo))
        printf("`-Dalgorithms=all`%s", algo->needs ? "; " : "");
    print_cell(algo->needs ? algo->needs : "");
    for (const struct rcx_param *p = algo->params; p && p->name; p++) {
        char text[PARAMETER_TEXT];

        describe_parameter(p, text);
        print_cell_text(text);
        if (p[1].name)
            printf("; ");
    }
    printf(" | ");
    print_cell(algo->known_as ? algo->known_as : "");
    print_cell_text(algo->source);
    printf(" |\n");
}

static void print_markdown(void)
{
    printf(
        "# Algorithms\n\n"
        "Written by `rcx_info --markdown`, from the library's own table.\n\n"
        "Cost on the slowest of p ranks for n bytes: a a message (a round), "
        "b a byte sent (volume), g a byte combined\n"
        "(combines); lg is the logarithm to base 2, [conditions] is 1 where "
        "they hold, else 0, twos x is how often 2 divides x.\n"
        "What is before the first semicolon, under the conditions before a "
        "colon, is exact where blocks are equal; the rest\n"
        "is in words. Order: the least level (docs/reference/guarantees.md) with the "
        "usual parameters,\n"
        "for p = 2^k and for other p up to %d. Parameters are given as "
        "`NAME:PARAMETER=VALUE,...`; in parentheses the usual value.\n"
        "Those that need `-Dalgorithms=all`, an option of RCX's build, are "
        "chosen by no rule and no price; the simulator always has them.\n"
        "Known as: the names of the OCC manual 2005, MPICH 5, Open MPI 5 "
        "and UCC 1.3.\n\n"
        "| collective | algorithm | cost | order, p = 2^k | else | needs | "
        "parameters | known as | source |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
        LARGEST);
    for (int i = 0; i < RCX_COLL_COUNT; i++)
        for (const struct rcx_algo *const *a = every; *a; a++)
            if ((*a)->coll == (enum rcx_coll)i)
                print_row(*a);
}

/* ---- Launch -------------------------------------------------------------- */

static void print_line(const char *name, const char *value, void *arg)
{
    char label[64];

    (void)arg;
    snprintf(label, sizeof label, "    %-22s ", name);
    info_print_wrapped(label, value);
}

/* Print the transport's way to each other rank. All ranks of the job must call
 * it. rcx_init() logs its own errors. */
static void print_ways(void)
{
    rcx_context_t *context;

    fflush(stdout);
    if (rcx_init(NULL, &context) != RCX_OK)
        return;
    if (context->transport && context->transport->ops->way) {
        printf("Ways to the other ranks\n\n");
        for (int peer = 0; peer < context->boot->size; peer++) {
            char name[32], way[256];

            if (peer == context->boot->rank)
                continue;
            snprintf(name, sizeof name, "rank %d", peer);
            context->transport->ops->way(context->transport, peer, way,
                                         sizeof way);
            print_line(name, way, NULL);
        }
        printf("\n");
    }
    rcx_finalize(&context);
}

static void print_launch(void)
{
    printf("Bootstraps, in the order of trial\n\n");
    for (const struct rcx_boot_ops *const *b = rcx_boot_table; *b; b++) {
        printf("  %s\n", (*b)->name);
        (*b)->describe(print_line, NULL);
    }
    printf("\n");
    print_ways();
}

/* ---- Main ---------------------------------------------------------------- */

enum {
    BUILD = 1u << 0,
    CONFIG = 1u << 1,
    TYPES = 1u << 2,
    ALGORITHMS = 1u << 3,
    LAUNCH = 1u << 4,
    EXPLAIN = 1u << 5,
    CHANGED = 1u << 6,
    MACHINE = 1u << 7
};

/* Parse an option's number. Exits if it is not valid. */
static int number_of(const char *option, const char *text)
{
    char *end;
    const long number = strtol(text, &end, 10);

    if (end == text || *end || number < 1 || number > 1 << 24) {
        fprintf(stderr, "rcx_info: %s %s: valid is 1..%d\n", option, text,
                1 << 24);
        exit(2);
    }
    return (int)number;
}

static size_t bytes_of(const char *text)
{
    size_t bytes;

    if (rcx_parse_bytes(text, &bytes))
        return bytes;
    fprintf(stderr, "rcx_info: --bytes %s: valid is a size: 8, 64K, 16M\n",
            text);
    exit(2);
}

static const struct option names[] = {
    {"all", no_argument, NULL, 'A'},
    {"build", no_argument, NULL, 'b'},
    {"config", no_argument, NULL, 'c'},
    {"types", no_argument, NULL, 't'},
    {"algorithms", no_argument, NULL, 'a'},
    {"machine", no_argument, NULL, 'm'},
    {"launch", no_argument, NULL, 'l'},
    {"explain", required_argument, NULL, 'e'},
    {"bytes", required_argument, NULL, 'B'},
    {"exact", no_argument, NULL, 'E'},
    {"float", no_argument, NULL, 'F'},
    {"ranks", required_argument, NULL, 'n'},
    {"nodes", required_argument, NULL, 'N'},
    {"scattered", no_argument, NULL, 'S'},
    {"cores", required_argument, NULL, 'C'},
    {"per-socket", required_argument, NULL, 'X'},
    {"per-numa", required_argument, NULL, 'Y'},
    {"per-cache", required_argument, NULL, 'Z'},
    {"bound", no_argument, NULL, 'O'},
    {"markdown", no_argument, NULL, 'M'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

static int parse(int argc, char **argv, struct info_question *q)
{
    int sections = 0, option;

    while ((option = getopt_long(argc, argv, "Actamle:n:hV", names, NULL)) !=
           -1) {
        switch (option) {
        case 'A':
            sections |= BUILD | CONFIG | TYPES | ALGORITHMS | MACHINE;
            break;
        case 'b': sections |= BUILD; break;
        case 'c': sections |= CONFIG; break;
        case 't': sections |= TYPES; break;
        case 'a': sections |= ALGORITHMS; break;
        case 'm': sections |= MACHINE; break;
        case 'l': sections |= LAUNCH; break;
        case 'e':
            sections |= EXPLAIN;
            q->coll = optarg;
            break;
        case 'B': q->bytes = bytes_of(optarg); break;
        case 'n': q->ranks = number_of("--ranks", optarg); break;
        case 'N': q->nodes = number_of("--nodes", optarg); break;
        case 'S': q->scattered = true; break;
        case 'C': q->cores = number_of("--cores", optarg); break;
        case 'X': q->per_socket = number_of("--per-socket", optarg); break;
        case 'Y': q->per_numa = number_of("--per-numa", optarg); break;
        case 'Z': q->per_cache = number_of("--per-cache", optarg); break;
        case 'E': q->is_exact = true; break;
        case 'F': q->in_float = true; break;
        case 'O': q->bound = true; break;
        case 'M': print_markdown(); exit(0);
        case 'h': fputs(usage, stdout); exit(0);
        case 'V': printf("rcx_info (RCX) %s\n", rcx_version()); exit(0);
        default: exit(2);
        }
    }
    if (optind < argc) {
        fprintf(stderr, "rcx_info: %s: not an option (try rcx_info --help)\n",
                argv[optind]);
        exit(2);
    }
    return sections ? sections : BUILD | CHANGED;
}

int main(int argc, char **argv)
{
    struct info_question question = {.bytes = 64 << 10, .ranks = 4, .nodes = 1};
    int sections;
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct rcx_config config;
    struct rcx_log log;
    rcx_status_t status;
    int said = 0;

    atexit(check_output);
    sections = parse(argc, argv, &question);
    if (sections & BUILD)
        print_build();
    if (sections & CONFIG)
        info_print_config();
    if (sections & CHANGED)
        info_print_changed();
    if (sections & TYPES)
        print_types();
    if (sections & ALGORITHMS)
        print_algorithms();
    if (sections & LAUNCH)
        print_launch();
    fflush(stdout);
    /* last, at the end of the output: log messages on the environment, as from
     * rcx_init() */
    rcx_log_init(&log);
    status = rcx_config_read(&config, NULL, &log);
    if (status == RCX_OK)
        status = rcx_config_load(&config, &heap, &log);
    if (sections & MACHINE && status == RCX_OK)
        info_print_machine(question.ranks, &config);
    if (sections & EXPLAIN && status == RCX_OK)
        said = info_explain(&question, &config);
    rcx_config_unload(&config, &heap);
    rcx_config_tell_all(&config, &log);
    fflush(stdout);
    return status == RCX_OK ? said : 1;
}
