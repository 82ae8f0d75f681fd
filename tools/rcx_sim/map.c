/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_sim map: the fastest algorithm over numbers of ranks and sizes, by stated
 * or simulated costs. This is the picture of Thakur, Rabenseifner, Gropp 2005,
 * Fig. 14, for any machine.
 */
#include "rcx_sim/rcx_sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/sched/price.h"
#include "core/sched/tuning.h"
#include "common/method_map.h"
#include "common/regret.h"
#include "sim/links.h"

/* One field of the map: indices of methods, -1 for none, and the time of the
 * shown method over that of the fastest. */
struct field {
    int shown, fastest;
    double regret;
};

struct map {
    const struct sim_options *o; /* with the prices of tuning's machine */
    struct rcx_tuning tuning;    /* the rules of --rules, then RCX's own */
    int columns;                 /* sizes in bytes: min_bytes << column */
    struct field *fields;        /* by row and column */
    int *letters; /* by method, in the order of appearance; -1: none */
    char (*names)[MAP_METHOD]; /* by letter */
    int named;
    struct rcx_machine chooses_by; /* what RCX chooses by prices is chosen by
                                      these; shown are those of tuning */
};

static bool has_prices(const struct sim_options *o)
{
    const struct rcx_machine *usual = &rcx_machine_usual;

    return o->machine.alpha != usual->alpha || o->machine.beta != usual->beta ||
           o->machine.gamma != usual->gamma;
}

/* Seconds of the simulated schedules, on the shape's machine. */
static double simulate(const struct sim_options *o, const struct sim_method *m,
                       const struct rcx_shape *s)
{
    struct rcx_cost cost;
    struct sim_run run;

    sim_open(&run, o, m, s->size, s->count);
    if (!simulation_clock(&run.s, &cost) ||
        (s->nodes && !simulation_links(&run.s, s->nodes, &cost)))
        sim_exit_without_memory();
    sim_close(&run);
    return rcx_cost_seconds(&cost, s->elem_bytes, rcx_machine_of(s));
}

/* The price in seconds, stated or simulated. INFINITY: not suitable. */
static double price(const struct sim_options *o, const struct rcx_algo *algo,
                    const int64_t params[], const struct rcx_shape *shape)
{
    const double stated = rcx_price_with(algo, shape, params, o->order);
    struct sim_method m = {.algo = algo};
    struct rcx_shape s = *shape;

    if (!o->simulated || isinf(stated))
        return stated;
    memcpy(s.params, params, sizeof s.params);
    rcx_params_settle(algo, &s);
    memcpy(m.params, s.params, sizeof m.params);
    return simulate(o, &m, &s);
}

/* The fastest method; among equals, the first in the table. */
static int fastest_of(const struct sim_options *o,
                      const struct rcx_shape *shape, double *seconds_p)
{
    int best = -1;

    *seconds_p = INFINITY;
    for (int k = 0; k < o->method_count; k++) {
        const struct sim_method *m = &o->methods[k];
        const double seconds = price(o, m->algo, m->params, shape);

        if (seconds < *seconds_p * (1 - 1e-9)) {
            *seconds_p = seconds;
            best = k;
        }
    }
    return best;
}

/* The method that RCX chooses, and its price. -1: it is not among the
 * methods. */
static int chosen_of(const struct map *map, const struct rcx_shape *shape,
                     double *seconds_p)
{
    const struct sim_options *o = map->o;
    struct rcx_shape s = *shape;
    struct rcx_builder builder;
    struct rcx_log log;
    struct rcx_method chosen;
    rcx_status_t status;

    s.machine = &map->chooses_by;
    rcx_log_init(&log);
    rcx_builder_init(&builder, o->heap, &log);
    status = rcx_method_choose(&s, o->order, &rcx_method_any, &map->tuning,
                               &builder, &chosen);
    rcx_builder_free(&builder);
    if (status != RCX_OK)
        return -1;
    *seconds_p = price(o, chosen.algo, chosen.params, shape);
    for (int k = 0; k < o->method_count; k++)
        if (o->methods[k].algo == chosen.algo)
            return k;
    return -1;
}

static struct field field_of(const struct map *map, int size, size_t bytes)
{
    const struct sim_options *o = map->o;
    const size_t count = (bytes + o->elem_bytes - 1) / o->elem_bytes;
    struct simulated_call call = sim_call_of(o, &o->methods[0], size, count);
    double least, seconds = 0;
    struct field f = {.shown = -1};

    f.fastest = fastest_of(o, &call.shape, &least);
    f.shown = o->chosen ? chosen_of(map, &call.shape, &seconds) : f.fastest;
    if (o->chosen && f.shown >= 0 && f.fastest >= 0)
        f.regret = seconds / least;
    proof_call_free(&call);
    return f;
}

static const struct field *field_at(const struct map *map, int row, int column)
{
    return &map->fields[(size_t)row * (size_t)map->columns + (size_t)column];
}

static int letter_of(const struct map *map, int method)
{
    return method < 0 ? -1 : map->letters[method];
}

static void give_letter(struct map *map, int method)
{
    if (method < 0 || map->letters[method] >= 0)
        return;
    map->letters[method] = map->named;
    rcx_algo_print(map->o->methods[method].algo, map->o->methods[method].params,
                   map->names[map->named++], MAP_METHOD);
}

static void open_rules(struct map *map)
{
    const struct sim_options *o = map->o;
    struct rcx_refusal refusal;
    const rcx_status_t status =
        rcx_tuning_open(&map->tuning, o->heap, o->rules, &refusal);

    if (status == RCX_ERR_CONFIG)
        sim_refuse("--rules %s: %s%s", o->rules, refusal.valid, refusal.guess);
    if (status != RCX_OK)
        sim_exit_without_memory();
    if (has_prices(o)) {
        map->tuning.machine.alpha = o->machine.alpha;
        map->tuning.machine.beta = o->machine.beta;
        map->tuning.machine.gamma = o->machine.gamma;
        /* the same between nodes as within one */
        memset(map->tuning.machine.link, 0, sizeof map->tuning.machine.link);
    }
    map->chooses_by = map->tuning.machine;
    map->tuning.machine.tell = o->machine.tell;
}

static void fill_map(struct map *map)
{
    const struct sim_options *o = map->o;
    const size_t methods = (size_t)o->method_count;

    while (o->min_bytes << map->columns <= o->max_bytes)
        map->columns++;
    map->fields = sim_alloc(o, (size_t)o->size_count * (size_t)map->columns,
                            sizeof *map->fields);
    map->letters = sim_alloc(o, methods, sizeof *map->letters);
    map->names = sim_alloc(o, methods, sizeof *map->names);
    for (int k = 0; k < o->method_count; k++)
        map->letters[k] = -1;
    for (int i = 0; i < o->size_count; i++) {
        for (int j = 0; j < map->columns; j++) {
            struct field *f = &map->fields[i * map->columns + j];

            *f = field_of(map, o->sizes[i], o->min_bytes << j);
            give_letter(map, f->shown);
            give_letter(map, f->fastest);
        }
    }
}

static const char *kind_of_cost(const struct sim_options *o)
{
    return o->simulated ? "simulated" : "stated";
}

/* Print what the map shows, and for which machine. */
static void print_title(const struct map *map, char title[2][MAP_TITLE])
{
    const struct rcx_machine *m = &map->tuning.machine;
    const char *unit = has_prices(map->o) ? "" : " s"; /* users' unit */
    int length;

    snprintf(title[0], MAP_TITLE,
             map->o->chosen ? "%s: what RCX chooses, and the fastest by %s "
                              "cost where that is another"
                            : "Fastest %s by %s cost",
             rcx_coll_name(map->o->coll), kind_of_cost(map->o));
    length = snprintf(title[1], MAP_TITLE,
                      "times: a message %g%s, a byte %g%s, to combine it %g%s",
                      m->alpha, unit, m->beta, unit, m->gamma, unit);
    if (map->o->per_node)
        snprintf(title[1] + length, MAP_TITLE - (size_t)length,
                 "; more between nodes %g%s, %g%s",
                 m->link[RCX_LEVEL_NODE].alpha, unit,
                 m->link[RCX_LEVEL_NODE].beta, unit);
}

/* ---- As text ------------------------------------------------------------- */

enum { CELL = 3 };

/* Width of the column of ranks. */
static int first_column(const struct map *map)
{
    int most = 0;

    for (int i = 0; i < map->o->size_count; i++)
        most = map->o->sizes[i] > most ? map->o->sizes[i] : most;
    return most < 100000 ? 5 : 7;
}

/* Print every second size only, as a line has 80 columns. */
static void print_sizes(const struct map *map)
{
    const int first = first_column(map);
    int at = printf("%*s ", first, "p");

    for (int j = 0; j < map->columns; j += 2) {
        char bytes[MAP_NAME];
        const int end = first + 1 + (j + 1) * CELL;

        method_map_bytes(bytes, map->o->min_bytes << j);
        at += printf("%*s", end - at, bytes);
    }
    printf("\n");
}

/* Print the letter of the shown method, then that of the fastest if it
 * differs. */
static void print_field(const struct map *map, const struct field *f)
{
    char text[CELL] = ".";

    if (f->shown >= 0)
        text[0] = method_map_letter(map->letters[f->shown]);
    if (f->fastest >= 0 && f->fastest != f->shown)
        text[1] = method_map_letter(map->letters[f->fastest]);
    printf("%*s", CELL, text);
}

static void print_regret(const struct map *map)
{
    const size_t fields = (size_t)map->o->size_count * (size_t)map->columns;
    double *regrets = sim_alloc(map->o, fields, sizeof *regrets);
    size_t n = 0;

    for (size_t i = 0; i < fields; i++)
        if (map->fields[i].regret > 0)
            regrets[n++] = map->fields[i].regret;
    if (n > 0) {
        printf("\n%s cost of what is chosen / of the fastest: ",
               kind_of_cost(map->o));
        regret_print(regrets, n);
    }
    rcx_heap_free(map->o->heap, regrets);
}

static void print_text(const struct map *map)
{
    char title[2][MAP_TITLE];

    print_title(map, title);
    printf("%s\n%s\n\n", title[0], title[1]);
    print_sizes(map);
    for (int i = 0; i < map->o->size_count; i++) {
        printf("%*d ", first_column(map), map->o->sizes[i]);
        for (int j = 0; j < map->columns; j++)
            print_field(map, field_at(map, i, j));
        printf("\n");
    }
    printf("\n");
    for (int i = 0; i < map->named; i++)
        printf("%c  %s\n", method_map_letter(i), map->names[i]);
    if (map->o->chosen)
        print_regret(map);
}

/* ---- As SVG -------------------------------------------------------------- */

/* The map in the format of common/method_map.h. */
static struct method_map picture_of(const struct map *map)
{
    const struct sim_options *o = map->o;
    const size_t cells = (size_t)o->size_count * (size_t)map->columns;
    struct method_map m = {
        .rows_are = "ranks",
        .columns_are = "bytes of the vector (K, M, G: powers of 1024)",
        .legend_is =
            o->chosen ? "chosen (dot: not the fastest)" : "the fastest is",
        .rows = o->size_count,
        .columns = map->columns,
        .methods = map->named,
        .row_names = sim_alloc(o, (size_t)o->size_count, sizeof *m.row_names),
        .column_names =
            sim_alloc(o, (size_t)map->columns, sizeof *m.column_names),
        .method_names = map->names,
        .cells = sim_alloc(o, cells, sizeof *m.cells)};

    print_title(map, m.title);
    for (int i = 0; i < m.rows; i++)
        snprintf(m.row_names[i], MAP_NAME, "%d", o->sizes[i]);
    for (int j = 0; j < m.columns; j++)
        method_map_bytes(m.column_names[j], o->min_bytes << j);
    for (size_t i = 0; i < cells; i++)
        m.cells[i] = (struct method_cell){
            .method = letter_of(map, map->fields[i].shown),
            .dotted = map->fields[i].fastest != map->fields[i].shown};
    return m;
}

static int write_svg(const struct map *map, const char *path)
{
    struct method_map m = picture_of(map);
    const int status = method_map_svg(&m, path);

    rcx_heap_free(map->o->heap, m.row_names);
    rcx_heap_free(map->o->heap, m.column_names);
    rcx_heap_free(map->o->heap, m.cells);
    return status;
}

int sim_map(const struct sim_options *o)
{
    struct sim_options own = *o;
    struct map map = {.o = &own};
    int status = EXIT_SUCCESS;

    open_rules(&map);
    own.prices = &map.tuning.machine;
    fill_map(&map);
    if (o->svg)
        status = write_svg(&map, o->svg);
    else
        print_text(&map);
    rcx_tuning_close(&map.tuning, o->heap);
    rcx_heap_free(o->heap, map.fields);
    rcx_heap_free(o->heap, map.letters);
    rcx_heap_free(o->heap, map.names);
    return status;
}
