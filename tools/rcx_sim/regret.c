/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_sim regret: what RCX chooses, held against times that rcx_tune --times
 * measured: the time of the chosen method over that of the best one.
 */
#include "rcx_sim/rcx_sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "core/sched/price.h"
#include "core/sched/tuning.h"
#include "common/regret.h"
#include "common/times.h"

enum { POINT_METHODS = 1024 };
static const double good = 1.15, bad = 1.5;

struct held {
    const struct sim_options *o;
    struct rcx_tuning tuning;
    struct rcx_machine machine;             /* of the lines that follow */
    struct times_line lines[POINT_METHODS]; /* of the point */
    int count;
    double *regrets;
    int points, missing; /* numbers of points; of those whose choice has no
                            time */
};

/* ---- A point ------------------------------------------------------------- */

/* The map of the point's nodes; NULL: one node. */
static struct rcx_nodes *nodes_of(const struct sim_options *o,
                                  const struct times_line *l)
{
    uint64_t *ids = sim_alloc(o, (size_t)l->ranks, sizeof *ids);
    const int on_node = l->ranks / l->nodes;
    struct rcx_nodes *nodes = NULL;

    for (int i = 0; i < l->ranks; i++)
        ids[i] = 1 + (uint64_t)(l->is_scattered ? i % l->nodes : i / on_node);
    if (l->nodes > 1) {
        nodes = rcx_nodes_create(o->heap, ids, l->ranks);
        if (!nodes)
            sim_exit_without_memory();
    }
    rcx_heap_free(o->heap, ids);
    return nodes;
}

/* Print the method that RCX chooses into text. */
static void choose(const struct held *h, char text[TIMES_METHOD])
{
    const struct times_line *l = &h->lines[0];
    struct rcx_nodes *nodes = nodes_of(h->o, l);
    const size_t count = l->bytes / sizeof(float);
    const struct rcx_shape s = {.coll = l->coll,
                                .size = l->ranks,
                                .count = rcx_coll_has_blocks(l->coll)
                                             ? count * (size_t)l->ranks
                                             : count,
                                .elem_bytes = sizeof(float),
                                .commutative = true,
                                .nodes = nodes,
                                .cores = l->cores,
                                .machine = &h->machine};
    struct rcx_builder builder;
    struct rcx_log log;
    struct rcx_method m;

    rcx_log_init(&log);
    rcx_builder_init(&builder, h->o->heap, &log);
    text[0] = '\0';
    if (rcx_method_choose(&s, h->o->order, &rcx_method_any, &h->tuning,
                          &builder, &m) == RCX_OK)
        rcx_method_print(&m, s.elem_bytes, text, TIMES_METHOD);
    rcx_builder_free(&builder);
    rcx_nodes_free(h->o->heap, nodes);
}

static const struct times_line *line_of(const struct held *h,
                                        const char *method)
{
    for (int i = 0; i < h->count; i++)
        if (strcmp(h->lines[i].method, method) == 0)
            return &h->lines[i];
    return NULL;
}

static void print_point(const struct times_line *own,
                        const struct times_line *best, const char *method)
{
    printf("%-10s %5d %5d %8zu %11.2f %11.2f %6.2f  %s -> %s\n",
           rcx_coll_name(best->coll), best->ranks, best->nodes, best->bytes,
           own ? 1e6 * own->seconds : 0, 1e6 * best->seconds,
           own ? own->seconds / best->seconds : 0, method, best->method);
}

static void end_point(struct held *h)
{
    const struct times_line *best = &h->lines[0], *own;
    char method[TIMES_METHOD];

    if (h->count == 0)
        return;
    for (int i = 1; i < h->count; i++)
        if (h->lines[i].seconds < best->seconds)
            best = &h->lines[i];
    choose(h, method);
    own = line_of(h, method);
    h->regrets =
        sim_grow(h->o, h->regrets, (size_t)h->points, 1, sizeof *h->regrets);
    if (own)
        h->regrets[h->points++] = own->seconds / best->seconds;
    else
        h->missing++;
    print_point(own, best, method);
    h->count = 0;
}

/* ---- The file ------------------------------------------------------------ */

static void take_line(struct held *h, char *text)
{
    static const char machine[] = "machine ";
    const struct sim_options *o = h->o;
    struct times_line line;
    struct rcx_refusal refusal;

    text[strcspn(text, "\n")] = '\0';
    if (text[0] == '#' || text[0] == '\0')
        return;
    if (strncmp(text, machine, strlen(machine)) == 0) {
        end_point(h);
        if (!o->usual &&
            !rcx_machine_parse(text + strlen(machine), &h->machine, &refusal))
            sim_refuse("--times %s: %s", o->times, refusal.valid);
        return;
    }
    if (!times_parse(text, &line))
        sim_refuse("--times %s: not a line of rcx_tune --times: %s", o->times,
                   text);
    if (h->count == POINT_METHODS ||
        (h->count > 0 && !times_meet(&h->lines[0], &line)))
        end_point(h);
    h->lines[h->count++] = line;
}

/* Returns the exit status: 1 if a choice has no time, or is bad. */
static int print_summary(struct held *h)
{
    int within = 0, too_bad = 0;

    for (int i = 0; i < h->points; i++) {
        within += h->regrets[i] <= good;
        too_bad += h->regrets[i] > bad;
    }
    printf("\n%d points, %d without a time of the choice",
           h->points + h->missing, h->missing);
    if (h->points > 0) {
        printf("; %.1f %% within %.2f; ", 100.0 * within / h->points, good);
        regret_print(h->regrets, (size_t)h->points);
    } else {
        printf("\n");
    }
    return h->missing > 0 || too_bad > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int sim_regret(const struct sim_options *o)
{
    struct held *h = sim_alloc(o, 1, sizeof *h);
    struct rcx_refusal refusal;
    char *line = NULL;
    size_t room = 0;
    FILE *file;
    rcx_status_t status;
    int exit_status;

    if (!o->times)
        sim_refuse("regret: needs --times FILE");
    h->o = o;
    status = rcx_tuning_open(&h->tuning, o->heap, o->rules, &refusal);
    if (status == RCX_ERR_CONFIG)
        sim_refuse("--rules %s: %s%s", o->rules, refusal.valid, refusal.guess);
    if (status != RCX_OK)
        sim_exit_without_memory();
    h->machine = h->tuning.machine;
    file = file_open(o->times);
    if (!file)
        sim_refuse("--times %s: %s", o->times, strerror(errno));
    printf("%-10s %5s %5s %8s %11s %11s %6s  chosen -> best\n", "collective",
           "ranks", "nodes", "bytes", "chosen, us", "best, us", "regret");
    while (getline(&line, &room, file) >= 0)
        take_line(h, line);
    end_point(h);
    exit_status = print_summary(h);
    free(line);
    fclose(file);
    rcx_tuning_close(&h->tuning, o->heap);
    rcx_heap_free(o->heap, h->regrets);
    rcx_heap_free(o->heap, h);
    return exit_status;
}
