/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the table of a profile, to the log or to a file, as text or JSON; and
 * runs all that an observed context does at its end.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/api/clocks.h"
#include "core/api/profile.h"
#include "core/base/file.h"
#include "core/run/diag/dump_context.h"
#include "core/run/wait/enter.h"
#include "core/sched/coll.h"

enum { SITES = 5 };

/* ---- Text ---------------------------------------------------------------- */

/* Where lines go: to a file, or to the log. */
struct sink {
    FILE *file; /* NULL: to the log */
    struct rcx_log log;
};

__attribute__((format(printf, 2, 3))) static void say(const struct sink *sink,
                                                      const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (sink->file)
        fprintf(sink->file, "%s\n", text);
    else
        rcx_info(&sink->log, "%s", text);
}

/* The least bytes of a class. */
static const char *name_class(uint8_t n, char text[16])
{
    static const char units[] = " KMGTPE";
    const uint64_t least = n > 0 ? UINT64_C(1) << 2 * (n - 1) : 0;
    int unit = 0;

    if (n == RCX_PROFILE_NO_CLASS)
        return "any";
    while (least >> 10 * (unit + 1) > 0)
        unit++;
    snprintf(text, 16, "%d%.*s", (int)(least >> 10 * unit), unit > 0,
             units + unit);
    return text;
}

static const char *name_comm(const struct rcx_part_row *row, char text[32])
{
    if (row->coll >= RCX_COLL_COUNT)
        return "any";
    if (row->comm == RCX_COMM_ID_WORLD)
        return "world";
    snprintf(text, 32, "%" PRIu32 "/%d", row->comm, row->size);
    return text;
}

static const char *name_coll(uint8_t coll, uint8_t form, char text[32])
{
    if (coll >= RCX_COLL_COUNT)
        return "other";
    snprintf(text, 32, "%s%s", form == RCX_FORM_REQUEST ? "i" : "",
             rcx_coll_name((enum rcx_coll)coll));
    return text;
}

static void say_line(const struct sink *sink,
                     const struct rcx_profile_line *line)
{
    char comm[32], coll[32], bytes[16], moved[64] = "        -         -";
    const struct rcx_part_row *row = line->row;

    if (line->compared > 0)
        snprintf(moved, sizeof moved, "%9.3f %9.3f  %d (%.0f %%)",
                 1e3 * line->waiting.mean, 1e3 * line->moving.mean,
                 line->latest, 100 * line->latest_part);
    say(sink, "%-7s %-14s %5s %9" PRIu64 "  %-20s %9.3f %9.3f %9.3f %s",
        name_comm(row, comm), name_coll(row->coll, row->form, coll),
        name_class(row->bytes, bytes), line->calls, row->algorithm,
        1e3 * line->time.least, 1e3 * line->time.median, 1e3 * line->time.most,
        moved);
}

static void say_table(const struct sink *sink,
                      const struct rcx_profile_table *t)
{
    char coll[32];

    say(sink,
        "profile of %d of %d ranks, %.3f s: %.1f %% of it in blocking "
        "collectives (%.1f to %.1f %%)",
        t->ranks, t->size, t->run_s, 100 * t->share.mean, 100 * t->share.least,
        100 * t->share.most);
    say(sink, "%-52s%-30s %9s %9s  %s", "", "time in it, ms", "waiting",
        "moving", "latest rank,");
    say(sink, "%-7s %-14s %5s %9s  %-20s %9s %9s %9s %9s %9s  %s", "comm",
        "collective", "bytes", "calls", "algorithm", "least", "median", "most",
        "ms", "ms", "its part");
    for (size_t i = 0; i < t->lines; i++)
        say_line(sink, &t->line[i]);
    for (size_t i = 0; i < t->sites && i < SITES; i++)
        say(sink, "site %zu: %.3f ms a rank, %.0f calls of %s: %s", i + 1,
            1e3 * t->site[i].seconds / t->ranks,
            (double)t->site[i].calls / t->ranks,
            name_coll(t->site[i].coll, t->site[i].form, coll), t->site[i].text);
}

/* ---- JSON ---------------------------------------------------------------- */

static void put_spread(FILE *file, const char *name, const struct rcx_spread *s)
{
    fprintf(file,
            ", \"%s\": {\"min\": %.9g, \"median\": %.9g, \"max\": %.9g, "
            "\"mean\": %.9g}",
            name, s->least, s->median, s->most, s->mean);
}

static void put_line(FILE *file, const struct rcx_profile_line *line)
{
    const struct rcx_part_row *row = line->row;
    const bool is_rest = row->coll >= RCX_COLL_COUNT;

    fprintf(file,
            "{\"comm\": %" PRIu32 ", \"group\": %" PRIu32
            ", \"size\": %d, \"collective\": \"%s\", \"form\": \"%s\"",
            row->comm, row->group, row->size,
            is_rest ? "other" : rcx_coll_name((enum rcx_coll)row->coll),
            row->form == RCX_FORM_REQUEST ? "nonblocking" : "blocking");
    if (row->bytes == RCX_PROFILE_NO_CLASS)
        fprintf(file, ", \"bytes_from\": null");
    else
        fprintf(file, ", \"bytes_from\": %" PRIu64,
                row->bytes > 0 ? UINT64_C(1) << 2 * (row->bytes - 1) : 0);
    fprintf(file,
            ", \"algorithm\": \"%s\", \"ranks\": %d, \"calls\": %" PRIu64
            ", \"bytes\": %" PRIu64 ", \"longest_s\": %.9g",
            row->algorithm, line->ranks, line->calls, line->moved,
            line->longest);
    put_spread(file, "time_s", &line->time);
    fprintf(file, ", \"compared\": %" PRIu64, line->compared);
    if (line->compared > 0) {
        put_spread(file, "waiting_s", &line->waiting);
        put_spread(file, "moving_s", &line->moving);
        fprintf(file, ", \"latest\": %d, \"latest_part\": %.4f", line->latest,
                line->latest_part);
    }
    fputc('}', file);
}

/* Of the text of a site; names of files may have any letters. */
static void put_text(FILE *file, const char *s)
{
    fputc('"', file);
    for (; *s; s++)
        if (*s < 0x20 || *s > 0x7e || *s == '"' || *s == '\\')
            fprintf(file, "\\u%04x", (unsigned char)*s);
        else
            fputc(*s, file);
    fputc('"', file);
}

static void put_json(FILE *file, const struct rcx_profile_table *t)
{
    char coll[32];

    fprintf(file,
            "{\"rcx_profile\": 1, \"ranks\": %d, \"size\": %d, "
            "\"run_s\": %.9g, \"clock_error_s\": %.9g",
            t->ranks, t->size, t->run_s, t->clock_error_s);
    put_spread(file, "share", &t->share);
    fprintf(file, ", \"rows\": [");
    for (size_t i = 0; i < t->lines; i++) {
        fprintf(file, i ? ",\n" : "\n");
        put_line(file, &t->line[i]);
    }
    fprintf(file, "],\n \"sites\": [");
    for (size_t i = 0; i < t->sites && i < SITES; i++) {
        fprintf(file, i ? ",\n{\"site\": " : "\n{\"site\": ");
        put_text(file, t->site[i].text);
        fprintf(file, ", \"call\": \"%s\", \"calls\": %.9g, \"time_s\": %.9g}",
                name_coll(t->site[i].coll, t->site[i].form, coll),
                (double)t->site[i].calls / t->ranks,
                t->site[i].seconds / t->ranks);
    }
    fprintf(file, "]}\n");
}

/* ---- Where it goes ------------------------------------------------------- */

static bool is_json(const char *path)
{
    const size_t length = strlen(path);

    return length >= 5 && strcmp(path + length - 5, ".json") == 0;
}

static rcx_status_t write_profile(const struct rcx_profile_table *table,
                                  const struct rcx_log *log, const char *path)
{
    char why[RCX_FILE_WHY];
    struct rcx_file_text text;
    struct sink sink = {.file = NULL};

    rcx_file_text_open(&text);
    sink.file = text.to;
    if (sink.file && is_json(path))
        put_json(sink.file, table);
    else if (sink.file)
        say_table(&sink, table);
    if (rcx_file_text_close(&text, path, rcx_file_write))
        return RCX_OK;
    rcx_file_why(path, errno, why, sizeof why);
    return rcx_fail(log, RCX_ERR_ARG,
                    "RCX_PROFILE=%s: the profile cannot be written there: %s",
                    path, why);
}

/* To the log if path is "1", else to a file, which is replaced: as JSON if its
 * name ends in .json. */
static rcx_status_t print(const struct rcx_profile_table *table,
                          const struct rcx_log *log, const char *path)
{
    const struct sink to_log = {.log = {.level = RCX_LOG_INFO, /* asked for */
                                        .rank = log->rank,
                                        .fn = log->fn,
                                        .arg = log->arg}};

    if (strcmp(path, "1") != 0)
        return write_profile(table, log, path);
    say_table(&to_log, table);
    return RCX_OK;
}

/* ---- The end of a context ------------------------------------------------ */

static void report_profile(struct rcx_context *context)
{
    struct rcx_parts parts = {.heap = &context->heap};
    struct rcx_profile_table table;
    bool is_root = false;
    const rcx_status_t status = rcx_parts_gather(&parts, context, &is_root);

    if (is_root && status != RCX_OK)
        rcx_warn(&context->log, "RCX_PROFILE: the profile is of this rank "
                                "alone, as the others cannot be reached");
    if (is_root && rcx_profile_compute(&table, &parts, context->boot->size)) {
        print(&table, &context->log, context->config.profile);
        rcx_profile_table_free(&table);
    }
    rcx_heap_free(&context->heap, parts.data);
}

static void write_recording(struct rcx_context *context)
{
    char path[RCX_CONFIG_PATH + 32];

    snprintf(path, sizeof path, "%s.%d.json", context->config.trace,
             context->boot->rank);
    if (rcx_enter(context) != RCX_OK)
        return;
    rcx_dump_context(context, path, "RCX_TRACE", NULL);
    rcx_leave(context);
}

void rcx_observer_report(struct rcx_context *context)
{
    const struct rcx_observer *o = context->observer;
    const bool was_told = context->is_told;
    rcx_status_t status = RCX_OK;

    if (!o)
        return;
    context->internal->timeout_ns = rcx_parts_limit(context->internal);
    if (!rcx_comm_is_failed(context->internal))
        status = rcx_clocks_measure(context);
    if (o->profile)
        report_profile(context);
    if (o->recording)
        write_recording(context);
    if (status != RCX_OK)
        rcx_warn(&context->log,
                 "the clocks of the nodes were not compared at "
                 "the end: %s",
                 rcx_status_string(status));
    context->is_told = was_told; /* the user has seen no error */
}
