/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the table of a profile from the parts of all ranks: brings rows
 * together that are alike, and compares the samples of a call on all of its
 * ranks.
 *
 * A rank waits in a call until the latest of the ranks has begun whose operands
 * it needs: of all; of the root, where the root gives; of the ranks up to its
 * own, in prefix sums. A rank that leaves before that has not waited for it.
 * The rest of its time in the call is moving.
 */
#include <stdlib.h>
#include <string.h>

#include "core/api/profile.h"
#include "core/sched/coll.h"

/* A row of a rank, while it is compared. */
struct entry {
    const struct rcx_profile_part *part;
    const struct rcx_part_row *row;
    struct rcx_part_sample *samples;
    uint32_t next;
    uint64_t compared;
    double waiting, moving; /* of the samples that are compared, in seconds */
    double late;            /* what others waited for it */
};

static struct rcx_part_sample *samples_of(const struct rcx_part_row *row)
{
    return (struct rcx_part_sample *)(uintptr_t)(row + 1);
}

/* ---- Spreads ------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts values. */
static struct rcx_spread spread_of(double *values, size_t n)
{
    struct rcx_spread s = {0};

    if (n == 0)
        return s;
    qsort(values, n, sizeof *values, by_value);
    for (size_t i = 0; i < n; i++)
        s.mean += values[i] / (double)n;
    s.least = values[0];
    s.median = 0.5 * (values[(n - 1) / 2] + values[n / 2]);
    s.most = values[n - 1];
    return s;
}

/* ---- Rows that are alike ------------------------------------------------- */

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* 0: the same kind of calls, on two ranks. */
static int compare_kinds(const struct rcx_part_row *a,
                         const struct rcx_part_row *b)
{
    const uint64_t kind_a =
        (uint64_t)a->coll << 16 | (uint64_t)a->form << 8 | a->bytes;
    const uint64_t kind_b =
        (uint64_t)b->coll << 16 | (uint64_t)b->form << 8 | b->bytes;
    int c = compare(a->comm, b->comm);

    c = c ? c : compare(a->group, b->group);
    c = c ? c : compare(kind_a, kind_b);
    return c ? c : strcmp(a->algorithm, b->algorithm);
}

static int by_kind(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int c = compare_kinds(x->row, y->row);

    if (c == 0)
        c = compare((uint32_t)x->row->first, (uint32_t)y->row->first);
    return c ? c
             : (x->row->rank > y->row->rank) - (x->row->rank < y->row->rank);
}

static int by_sequence(const void *a, const void *b)
{
    const struct rcx_part_sample *x = a, *y = b;

    return compare(x->sequence, y->sequence);
}

/* ---- Samples ------------------------------------------------------------- */

/* Advance all entries to the next sequence number that they all have. */
static bool find_common(struct entry *e, size_t n)
{
    size_t agreed = 0;
    uint64_t wanted = 0;

    for (size_t i = 0; agreed < n; i = (i + 1) % n) {
        while (e[i].next < e[i].row->samples &&
               e[i].samples[e[i].next].sequence < wanted)
            e[i].next++;
        if (e[i].next == e[i].row->samples)
            return false;
        if (e[i].samples[e[i].next].sequence > wanted || agreed == 0) {
            wanted = e[i].samples[e[i].next].sequence;
            agreed = 0;
        }
        agreed++;
    }
    return true;
}

/* The entry that began last of those that entry i needs; n: none is there.
 * latest: of those before i, in prefix sums; else of all. */
static size_t needed_by(const struct entry *e, size_t n, size_t i,
                        size_t latest)
{
    const struct rcx_coll_row *coll = &rcx_colls[e[i].row->coll];
    const int64_t root = e[i].samples[e[i].next].root;

    if (coll->giver != RCX_RANKS_ROOT)
        return latest;
    for (size_t k = 0; k < n; k++)
        if (e[k].row->rank == root)
            return k;
    return n;
}

static void compare_call(struct entry *e, size_t n)
{
    const bool is_prefix = rcx_colls[e->row->coll].is_prefix;
    size_t latest = 0;

    for (size_t i = 1; !is_prefix && i < n; i++)
        if (e[i].samples[e[i].next].begin_ns >
            e[latest].samples[e[latest].next].begin_ns)
            latest = i;
    for (size_t i = 0; i < n; i++) {
        const struct rcx_part_sample *own = &e[i].samples[e[i].next];
        int64_t waited;
        size_t k;

        if (is_prefix &&
            own->begin_ns > e[latest].samples[e[latest].next].begin_ns)
            latest = i;
        k = needed_by(e, n, i, latest);
        waited = k < n ? e[k].samples[e[k].next].begin_ns - own->begin_ns : 0;
        if (waited < 0 || waited > own->took_ns)
            waited = 0;
        e[i].waiting += 1e-9 * (double)waited;
        e[i].moving += 1e-9 * (double)(own->took_ns - waited);
        if (k < n)
            e[k].late += 1e-9 * (double)waited;
    }
}

/* Of the members of one communicator. */
static void compare_calls(struct entry *e, size_t n)
{
    if (e->row->coll >= RCX_COLL_COUNT)
        return;
    for (size_t i = 0; i < n; i++) {
        e[i].samples = samples_of(e[i].row);
        qsort(e[i].samples, e[i].row->samples, sizeof *e[i].samples,
              by_sequence);
    }
    while (find_common(e, n)) {
        compare_call(e, n);
        for (size_t i = 0; i < n; i++) {
            e[i].next++;
            e[i].compared++;
        }
    }
}

/* Communicators of one split share a line. */
static void compare_comms(struct entry *e, size_t n)
{
    size_t end;

    for (size_t i = 0; i < n; i = end) {
        for (end = i + 1; end < n && e[end].row->first == e[i].row->first;)
            end++;
        compare_calls(e + i, end - i);
    }
}

/* ---- Lines --------------------------------------------------------------- */

/* If not all calls were compared, moving is that of the mean one that was, and
 * the rest of the time is waiting. */
static double moving_of(const struct entry *e)
{
    const double moving = e->compared > 0 ? e->moving / (double)e->compared *
                                                (double)e->row->calls
                                          : 0;

    return moving < e->row->seconds ? moving : e->row->seconds;
}

static void find_latest(struct rcx_profile_line *line, const struct entry *e,
                        size_t n)
{
    double all = 0;
    size_t latest = 0;

    for (size_t i = 0; i < n; i++) {
        all += e[i].late;
        if (e[i].late > e[latest].late)
            latest = i;
    }
    line->latest = e[latest].part->rank;
    line->latest_part = all > 0 ? e[latest].late / all : 0;
}

/* values: room for n. */
static void fill_line(struct rcx_profile_line *line, struct entry *e, size_t n,
                      double *values)
{
    *line = (struct rcx_profile_line){.row = e->row, .ranks = (int)n};
    compare_comms(e, n);
    line->compared = e->compared;
    find_latest(line, e, n);
    for (size_t i = 0; i < n; i++) {
        if (e[i].row->calls > line->calls)
            line->calls = e[i].row->calls;
        if (e[i].row->longest_s > line->longest)
            line->longest = e[i].row->longest_s;
        line->moved += e[i].row->moved;
        values[i] = moving_of(&e[i]);
        if (e[i].compared < line->compared)
            line->compared = e[i].compared;
    }
    line->moved /= n;
    line->moving = spread_of(values, n);
    for (size_t i = 0; i < n; i++)
        values[i] = e[i].row->seconds - moving_of(&e[i]);
    line->waiting = spread_of(values, n);
    for (size_t i = 0; i < n; i++)
        values[i] = e[i].row->seconds;
    line->time = spread_of(values, n);
}

static void fill_lines(struct rcx_profile_table *table, struct entry *e,
                       size_t n, double *values)
{
    size_t end;

    qsort(e, n, sizeof *e, by_kind);
    for (size_t i = 0; i < n; i = end) {
        for (end = i + 1; end < n && compare_kinds(e[i].row, e[end].row) == 0;)
            end++;
        fill_line(&table->line[table->lines++], e + i, end - i, values);
    }
}

/* ---- Sites --------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    const struct rcx_part_site *x = a, *y = b;

    return strcmp(x->text, y->text);
}

static int by_seconds(const void *a, const void *b)
{
    const struct rcx_part_site *x = a, *y = b;

    return (y->seconds > x->seconds) - (y->seconds < x->seconds);
}

static void merge_sites(struct rcx_profile_table *table)
{
    struct rcx_part_site *site = table->site;
    size_t kept = 0;

    qsort(site, table->sites, sizeof *site, by_text);
    for (size_t i = 0; i < table->sites; i++) {
        if (kept > 0 && strcmp(site[kept - 1].text, site[i].text) == 0) {
            site[kept - 1].seconds += site[i].seconds;
            site[kept - 1].calls += site[i].calls;
        } else {
            site[kept++] = site[i];
        }
    }
    table->sites = kept;
    qsort(site, kept, sizeof *site, by_seconds);
}

/* ---- Parts --------------------------------------------------------------- */

struct totals {
    size_t parts, rows, sites;
};

/* Go through all parts. out: NULL, or where their entries go; the same for
 * sites and shares. */
static struct totals walk(const struct rcx_parts *parts, struct entry *out,
                          struct rcx_part_site *sites, double *shares)
{
    struct totals t = {0};

    for (size_t at = 0; at < parts->bytes; t.parts++) {
        const unsigned char *p = parts->data + at;
        const struct rcx_profile_part *part = (const void *)p;
        double inside = 0;

        p += sizeof *part;
        for (uint32_t i = 0; i < part->rows; i++, t.rows++) {
            const struct rcx_part_row *row = (const void *)p;

            if (out)
                out[t.rows] = (struct entry){.part = part, .row = row};
            inside += row->form == RCX_FORM_BLOCKING ? row->seconds : 0;
            p += sizeof *row + row->samples * sizeof(struct rcx_part_sample);
        }
        if (sites)
            memcpy(sites + t.sites, p, part->sites * sizeof *sites);
        if (shares)
            shares[t.parts] = part->run_s > 0 ? inside / part->run_s : 0;
        t.sites += part->sites;
        at += part->bytes;
    }
    return t;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static void find_extremes(struct rcx_profile_table *table,
                          const struct rcx_parts *parts)
{
    for (size_t at = 0; at < parts->bytes;) {
        const struct rcx_profile_part *part = (const void *)(parts->data + at);

        table->run_s = larger(table->run_s, part->run_s);
        table->clock_error_s =
            larger(table->clock_error_s, part->clock_error_s);
        at += part->bytes;
    }
}

bool rcx_profile_compute(struct rcx_profile_table *table,
                         const struct rcx_parts *parts, int size)
{
    const struct totals t = walk(parts, NULL, NULL, NULL);
    struct rcx_heap *heap = parts->heap;
    struct entry *e = rcx_heap_zalloc(heap, (t.rows + 1) * sizeof *e);
    double *values =
        rcx_heap_zalloc(heap, (t.rows + t.parts + 1) * sizeof *values);
    bool good;

    *table = (struct rcx_profile_table){
        .ranks = (int)t.parts,
        .size = size,
        .line = rcx_heap_zalloc(heap, (t.rows + 1) * sizeof *table->line),
        .sites = t.sites,
        .site = rcx_heap_zalloc(heap, (t.sites + 1) * sizeof *table->site),
        .heap = heap};
    good = e && values && table->line && table->site;
    if (good) {
        walk(parts, e, table->site, values);
        find_extremes(table, parts);
        table->share = spread_of(values, t.parts);
        fill_lines(table, e, t.rows, values);
        merge_sites(table);
    }
    rcx_heap_free(heap, e);
    rcx_heap_free(heap, values);
    if (!good)
        rcx_profile_table_free(table);
    return good;
}

void rcx_profile_table_free(struct rcx_profile_table *table)
{
    rcx_heap_free(table->heap, table->line);
    rcx_heap_free(table->heap, table->site);
    table->line = NULL;
    table->site = NULL;
}
