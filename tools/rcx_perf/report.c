/* SPDX-License-Identifier: BSD-3-Clause */
/* The report of rank 0: a table to read, or CSV or JSON for programs. */
#include "rcx_perf/rcx_perf.h"

#include <stdio.h>
#include <string.h>

/* iterations from which a 99th percentile is meaningful */
enum { ENOUGH = 100 };

static const char *const verdicts[] = {"-", "ok", "WRONG"};

/* clang-format off */
const struct perf_mode_row perf_modes[] = {
    [MODE_SYNC] = {
        .name = "sync", .figures = {"median", "p99", "max"}, .typical = 0,
        .has_p99 = true,
        .text = "# Iterations from a common start: median, 99th percentile and "
                "maximum in us of\n# their times on the slowest rank.\n"},
    [MODE_LOOP] = {
        .name = "loop", .figures = {"mean", "least", "most"}, .typical = 2,
        .text = "# Iterations back to back: mean, least and most in us of the "
                "ranks' average\n# times.\n"},
    [MODE_REPORT] = {
        .name = "report-to-root", .figures = {"least", "mean", "sd", "most"},
        .typical = 1,
        .text = "# Iterations that end with a report to rank 0: least, mean, "
                "standard deviation\n# and largest in us of their times on its "
                "clock, the report included.\n"},
    {.name = NULL},
};

/* clang-format on */
static const struct perf_mode_row *mode_of(const struct perf_job *job)
{
    return &perf_modes[job->options.mode];
}

/* Bandwidth of a row in MB (10^6 bytes) a second: its bytes over the time of an
 * operation. The literature calls this algorithm bandwidth. */
static double bandwidth(const struct perf_job *job, const struct perf_row *row)
{
    const double seconds = row->figures[mode_of(job)->typical];

    return seconds > 0 ? (double)row->bytes / seconds / 1e6 : 0;
}

/* ---- Table --------------------------------------------------------------- */

/* Parts of a method's text. */
enum { ALGORITHM, PARAMETERS, SEGMENT, PARTS };
static const char *const part_names[PARTS] = {"algorithm", "parameters",
                                              "segment"};

/* Split "NAME:PARAMETER=VALUE,segment=BYTES,..." into its parts. A missing part
 * is "-". */
static void take_apart(const char *method, char parts[PARTS][80])
{
    static const char segment[] = "segment=";
    char copy[80], *rest = copy, *word;
    size_t used = 0;

    snprintf(copy, sizeof copy, "%s", method);
    snprintf(parts[ALGORITHM], 80, "%s", strsep(&rest, ":"));
    strcpy(parts[PARAMETERS], "-");
    strcpy(parts[SEGMENT], "-");
    while ((word = strsep(&rest, ",")) != NULL)
        if (strncmp(word, segment, strlen(segment)) == 0)
            snprintf(parts[SEGMENT], 80, "%s", word + strlen(segment));
        else
            used += (size_t)snprintf(parts[PARAMETERS] + used, 80 - used,
                                     "%s%s", used ? "," : "", word);
}

/* Widths of columns. Those that depend on the rows have a minimum, so that
 * common tables are laid out alike. */
static struct {
    int bytes, count, method;
    int parts[PARTS]; /* with --segments: a column for each part */
    int printed;      /* rows */
    long fewest;      /* iterations of a row */
    long checked;     /* iterations of all rows */
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
    table.parts[ALGORITHM] = 22; /* the longest name of an algorithm */
    table.parts[PARAMETERS] = 17;
    table.parts[SEGMENT] = 8;
    if (job->options.all) /* with parameters; fits a line of 80 columns */
        table.method = 29;
    for (int i = 0; i < n; i++) {
        const struct perf_row *r = &rows[i];

        table.bytes = wider(table.bytes, snprintf(NULL, 0, "%zu", r->bytes));
        table.count = wider(table.count, snprintf(NULL, 0, "%zu", r->count));
        table.method = wider(table.method, (int)strlen(r->method));
    }
}

/* Print the columns that name a row's collective and method. */
static void print_names(const struct perf_job *job, const char *coll,
                        const char *method, char parts[PARTS][80])
{
    if (job->options.segment_count == 0) {
        printf("%-*s", table.method, method);
        return;
    }
    printf(
        "%-*s",
        wider((int)strlen("collective"), (int)strlen(job->options.coll->name)),
        coll);
    for (int k = 0; k < PARTS; k++)
        printf(" %-*s", table.parts[k], parts[k]);
}

static void print_what(const struct perf_job *job)
{
    const struct perf_options *o = &job->options;
    const enum rcx_coll coll = o->coll->row;

    printf("# RCX %s: %s", rcx_version(), o->coll->name);
    if (perf_is_list(o->coll))
        printf(" of %d vectors", o->vectors);
    if (rcx_coll_has_data(coll))
        printf(" of %s", o->type->name);
    if (o->coll->is_messages && o->vectors > 1)
        printf(", %d at once", o->vectors);
    if (rcx_colls[coll].reduces)
        printf(", %s", o->op->name);
    if (rcx_coll_is_rooted(coll))
        printf(" %s rank %d",
               rcx_colls[coll].getter == RCX_RANKS_ROOT ? "to" : "from",
               o->root);
    printf("; %d rank%s\n# %s%s%s; rcx_init() took up to %.1f ms "
           "and %.1f MiB\n",
           job->size, job->size == 1 ? "" : "s", perf_form_name(o->form),
           o->in_place ? ", in place" : "",
           o->uneven ? ", uneven"
           : o->gaps ? ", gaps"
                     : "",
           1e3 * job->init_seconds, job->init_bytes / (1 << 20));
}

/* What bytes and count of a row refer to. */
static const char *unit_of(const struct perf_job *job)
{
    const struct perf_coll *coll = job->options.coll;

    if (coll->is_messages)
        return "a message";
    if (perf_is_list(coll))
        return "a vector";
    return rcx_coll_has_blocks(coll->row) ? "a block" : "the vector";
}

static void begin_table(const struct perf_job *job)
{
    const struct perf_mode_row *mode = mode_of(job);
    char parts[PARTS][80];

    print_what(job);
    printf("%s# bytes, count: of %s. MB/s: 10^6 of these bytes over the %s.\n",
           mode->text, unit_of(job), mode->figures[mode->typical]);
    if (job->options.coll->is_messages)
        printf(
            "# Times are per message: of a round trip, divided by its number "
            "of messages.\n");
    printf("#\n");
    printf("#%*s %*s ", table.bytes - 1, "bytes", table.count, "count");
    for (int k = 0; k < PARTS; k++)
        snprintf(parts[k], sizeof parts[k], "%s", part_names[k]);
    print_names(job, "collective", "algorithm", parts);
    for (int i = 0; i < PERF_FIGURES && mode->figures[i]; i++)
        printf("%s%6s", i == 2 ? "  " : " ", mode->figures[i]);
    printf(" %6s  check\n", "MB/s");
}

/* Print a number in six columns, or in more from a million on. */
static void print_number(double number)
{
    printf(" %6.*f", number < 999.995 ? 2 : number < 9999.95 ? 1 : 0, number);
}

static void table_row(const struct perf_job *job, const struct perf_row *row)
{
    const struct perf_mode_row *mode = mode_of(job);
    const bool few = mode->has_p99 && row->iterations < ENOUGH;
    char parts[PARTS][80];

    take_apart(row->method, parts);
    printf("%*zu %*zu ", table.bytes, row->bytes, table.count, row->count);
    print_names(job, job->options.coll->name, row->method, parts);
    for (int i = 0; i < PERF_FIGURES && mode->figures[i]; i++) {
        if (i == 2)
            printf("%c", few ? '*' : ' ');
        print_number(1e6 * row->figures[i]);
    }
    print_number(bandwidth(job, row));
    printf("  %s\n", verdicts[row->verdict]);
}

static void end_table(const struct perf_job *job)
{
    if (table.fewest < ENOUGH && mode_of(job)->has_p99)
        printf("# *: of fewer than %d iterations (%ld at least), so p99 is "
               "near the maximum\n",
               ENOUGH, table.fewest);
    if (table.checked > 0)
        printf("# checked: %ld iterations, apart from the timed ones: %s\n",
               table.checked, job->wrong ? "WRONG RESULTS" : "all ok");
}

/* ---- CSV and JSON -------------------------------------------------------- */

static void begin_csv(const struct perf_job *job)
{
    const struct perf_mode_row *mode = mode_of(job);

    printf("coll,type,op,root,ranks,form,in_place,mode,bytes,count,method,"
           "iterations,");
    for (int i = 0; i < PERF_FIGURES && mode->figures[i]; i++)
        printf("%s_us,", mode->figures[i]);
    printf("mb_per_s,checked,check,vectors\n");
}

static void csv_row(const struct perf_job *job, const struct perf_row *row)
{
    const struct perf_options *o = &job->options;
    const struct perf_mode_row *mode = mode_of(job);

    printf("%s,%s,%s,%d,%d,%s,%d,%s,%zu,%zu,\"%s\",%ld,", o->coll->name,
           o->type->name, perf_op_name(o), o->root, job->size,
           perf_form_name(o->form), o->in_place, mode->name, row->bytes,
           row->count, row->method, row->iterations);
    for (int i = 0; i < PERF_FIGURES && mode->figures[i]; i++)
        printf("%.3f,", 1e6 * row->figures[i]);
    printf("%.3f,%ld,%s,%d\n", bandwidth(job, row), row->checked,
           verdicts[row->verdict], o->vectors > 0 ? o->vectors : 1);
}

static void begin_json(const struct perf_job *job)
{
    const struct perf_options *o = &job->options;

    printf("{\"rcx\": \"%s\", \"coll\": \"%s\", \"type\": \"%s\", "
           "\"op\": \"%s\", \"root\": %d, \"ranks\": %d,\n \"form\": \"%s\", "
           "\"in_place\": %s, \"mode\": \"%s\", \"vectors\": %d,\n "
           "\"init_ms\": %.3f, "
           "\"init_bytes\": %.0f,\n \"rows\": [",
           rcx_version(), o->coll->name, o->type->name, perf_op_name(o),
           o->root, job->size, perf_form_name(o->form),
           o->in_place ? "true" : "false", mode_of(job)->name,
           o->vectors > 0 ? o->vectors : 1, 1e3 * job->init_seconds,
           job->init_bytes);
}

static void json_row(const struct perf_job *job, const struct perf_row *row,
                     bool first)
{
    static const char *const values[] = {"null", "true", "false"};
    const struct perf_mode_row *mode = mode_of(job);

    printf("%s\n  {\"bytes\": %zu, \"count\": %zu, \"method\": \"%s\", "
           "\"iterations\": %ld, ",
           first ? "" : ",", row->bytes, row->count, row->method,
           row->iterations);
    for (int i = 0; i < PERF_FIGURES && mode->figures[i]; i++)
        printf("\"%s_us\": %.3f, ", mode->figures[i], 1e6 * row->figures[i]);
    printf("\"mb_per_s\": %.3f, \"checked\": %ld, \"ok\": %s}",
           bandwidth(job, row), row->checked, values[row->verdict]);
}

/* ---- All formats --------------------------------------------------------- */

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
