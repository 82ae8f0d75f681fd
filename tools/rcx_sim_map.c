/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fastest algorithm over numbers of ranks and sizes, by what algorithms
 * say that they cost: the picture of Thakur, Rabenseifner, Gropp 2005, Fig. 14,
 * of any machine.
 */
#include "rcx_sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/sched/price.h"
#include "core/sched/tuning.h"
#include "regret.h"

/* Methods, -1: none; and how much longer what is shown takes than the fastest. */
struct field {
    int shown, fastest;
    double regret;
};

struct map {
    const struct sim_options *o;
    struct rcx_tuning tuning; /* RCX's own */
    int columns;              /* sizes in bytes: min_bytes << column */
    struct field *fields;     /* by row and column */
    int *letters;             /* of methods that are shown somewhere; else -1 */
};

/* Between nodes a byte costs more, if nobody says what it costs. */
static struct rcx_machine machine_of(const struct sim_options *o,
                                     const struct rcx_algo *algo,
                                     const struct rcx_shape *s)
{
    if (memcmp(&o->machine, &rcx_machine_usual, sizeof o->machine) != 0)
        return o->machine;
    return rcx_price_machine(algo, s, rcx_price_sharing(s));
}

/* INFINITY: it does not do that. */
static double price(const struct sim_options *o, const struct sim_method *m,
                    const struct rcx_shape *shape)
{
    const struct rcx_machine machine = machine_of(o, m->algo, shape);
    struct rcx_shape s = *shape;
    struct rcx_cost cost;

    memcpy(s.params, m->params, sizeof s.params);
    rcx_params_settle(m->algo, &s, &machine);
    if (!rcx_algo_fits(m->algo, &s) || rcx_algo_order(m->algo, &s) < o->order)
        return INFINITY;
    cost = m->algo->cost(&s);
    return rcx_cost_seconds(&cost, s.elem_bytes, &machine);
}

/* Among equals, the one that the registry has first. */
static int fastest_of(const struct sim_options *o,
                      const struct rcx_shape *shape, double *seconds_p)
{
    int best = -1;

    *seconds_p = INFINITY;
    for (int k = 0; k < o->method_count; k++) {
        const double seconds = price(o, &o->methods[k], shape);

        if (seconds < *seconds_p * (1 - 1e-9)) {
            *seconds_p = seconds;
            best = k;
        }
    }
    return best;
}

/* What RCX chooses, if it is among the methods. */
static int chosen_of(const struct map *map, const struct rcx_shape *shape)
{
    const struct sim_options *o = map->o;
    struct rcx_log log;
    struct rcx_method chosen;

    rcx_log_init(&log);
    if (rcx_method_choose(shape, o->order, &rcx_method_any, &map->tuning, &log,
                          &chosen) != RCX_OK)
        return -1;
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
    double least;
    struct field f = {.fastest = fastest_of(o, &call.shape, &least)};

    f.shown = o->chosen ? chosen_of(map, &call.shape) : f.fastest;
    if (f.shown >= 0 && f.fastest >= 0)
        f.regret = price(o, &o->methods[f.shown], &call.shape) / least;
    proof_call_free(&call);
    return f;
}

static const struct field *field_at(const struct map *map, int row, int column)
{
    return &map->fields[(size_t)row * (size_t)map->columns + (size_t)column];
}

static int at(const struct map *map, int row, int column)
{
    return field_at(map, row, column)->shown;
}

static void give_letter(struct map *map, int method, int *letters)
{
    if (method >= 0 && map->letters[method] < 0)
        map->letters[method] = (*letters)++;
}

static struct map make_map(const struct sim_options *o)
{
    struct map map = {.o = o};
    struct rcx_refusal refusal;
    int letters = 0;

    if (rcx_tuning_open(&map.tuning, o->heap, "", &refusal) != RCX_OK)
        sim_exit_without_memory();

    while (o->min_bytes << map.columns <= o->max_bytes)
        map.columns++;
    map.fields = sim_alloc(o, (size_t)o->size_count * (size_t)map.columns,
                           sizeof *map.fields);
    map.letters = sim_alloc(o, (size_t)o->method_count, sizeof *map.letters);
    for (int k = 0; k < o->method_count; k++)
        map.letters[k] = -1;
    for (int i = 0; i < o->size_count; i++) {
        for (int j = 0; j < map.columns; j++) {
            const size_t field = (size_t)i * (size_t)map.columns + (size_t)j;

            map.fields[field] = field_of(&map, o->sizes[i], o->min_bytes << j);
            give_letter(&map, map.fields[field].shown, &letters);
            give_letter(&map, map.fields[field].fastest, &letters);
        }
    }
    return map;
}

/* "8", "64K" */
static void print_bytes(char text[32], size_t bytes)
{
    static const char units[] = " KMGT";
    int unit = 0;

    while (bytes >= 1024 && bytes % 1024 == 0 && unit < 4) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, 32, "%zu%.*s", bytes, unit > 0, units + unit);
}

enum { TITLE_TEXT = 100 };

/* What is shown, and for which machine. */
static void print_title(const struct map *map, char title[2][TITLE_TEXT])
{
    const struct rcx_machine *m = &map->o->machine;
    const bool usual = memcmp(m, &rcx_machine_usual, sizeof *m) == 0;
    const char *unit = usual ? " s" : ""; /* others' is theirs to know */

    snprintf(title[0], TITLE_TEXT,
             map->o->chosen ? "%s: what RCX chooses, and the fastest by stated "
                              "cost where that is another"
                            : "Fastest %s by stated cost",
             rcx_coll_name(map->o->coll));
    snprintf(title[1], TITLE_TEXT,
             "times: a message %g%s, a byte sent %g%s, a byte combined %g%s",
             m->alpha, unit, m->beta, unit, m->gamma, unit);
}

/* The methods in the order of their letters; false: no more. */
static bool legend(const struct map *map, int letter, char text[METHOD_TEXT])
{
    for (int k = 0; k < map->o->method_count; k++) {
        const struct sim_method *m = &map->o->methods[k];

        if (map->letters[k] != letter)
            continue;
        rcx_algo_print(m->algo, m->params, text, METHOD_TEXT);
        return true;
    }
    return false;
}

static char letter_of(int letter)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

    return letters[letter % (int)(sizeof letters - 1)];
}

/* ---- As text ------------------------------------------------------------- */

enum { CELL = 3 };

/* Every second size: in a line of 80 letters there is no room for more. */
static void print_sizes(const struct map *map)
{
    int at = printf("    p ");

    for (int j = 0; j < map->columns; j += 2) {
        char bytes[32];
        const int end = 6 + (j + 1) * CELL;

        print_bytes(bytes, map->o->min_bytes << j);
        at += printf("%*s", end - at, bytes);
    }
    printf("\n");
}

/* The letter of what is shown, and of the fastest where it is another. */
static void print_field(const struct map *map, const struct field *f)
{
    char text[CELL] = ".";

    if (f->shown >= 0)
        text[0] = letter_of(map->letters[f->shown]);
    if (f->fastest >= 0 && f->fastest != f->shown)
        text[1] = letter_of(map->letters[f->fastest]);
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
        printf("\nstated cost of what is chosen / of the fastest: ");
        regret_print(regrets, n);
    }
    rcx_heap_free(map->o->heap, regrets);
}

static void print_text(const struct map *map)
{
    char text[METHOD_TEXT], title[2][TITLE_TEXT];

    print_title(map, title);
    printf("%s\n%s\n\n", title[0], title[1]);
    print_sizes(map);
    for (int i = 0; i < map->o->size_count; i++) {
        printf("%5d ", map->o->sizes[i]);
        for (int j = 0; j < map->columns; j++)
            print_field(map, field_at(map, i, j));
        printf("\n");
    }
    printf("\n");
    for (int i = 0; legend(map, i, text); i++)
        printf("%c  %s\n", letter_of(i), text);
    if (map->o->chosen)
        print_regret(map);
}

/* ---- As SVG -------------------------------------------------------------- */

enum { HATCHES = 4 };
enum { LEFT = 60, TOP = 82, WIDTH = 38, FONT = 11, MARGIN = 10, KEY = 18 };

/* What a method looks like: a colour, and hatching where those do not do. */
static void svg_cell(FILE *file, int letter, int x, int y, int width,
                     int height)
{
    const int hatch = letter / SIM_COLOURS % HATCHES;
    const struct sim_colour *colour = &sim_colours[letter % SIM_COLOURS];

    fprintf(file,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
            "fill=\"%s\"/>\n",
            x, y, width, height, colour->fill);
    if (hatch > 0)
        fprintf(file,
                "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                "fill=\"url(#hatch%d)\"/>\n",
                x, y, width, height, hatch);
}

static void svg_letter(FILE *file, int letter, int x, int y, int size)
{
    const struct sim_colour *colour = &sim_colours[letter % SIM_COLOURS];
    char more[160];

    snprintf(more, sizeof more,
             "text-anchor=\"middle\" fill=\"%s\" "
             "stroke=\"%s\" stroke-width=\"4\" paint-order=\"stroke\"",
             colour->text, colour->fill);
    sim_svg_text(file, x, y, size, more, "%c", letter_of(letter));
}

static void svg_hatches(FILE *file)
{
    static const char *const paths[HATCHES] = {"", "M0 6 6 0", "M0 0 6 6",
                                               "M0 3 6 3"};

    fputs("<defs>\n", file);
    for (int i = 1; i < HATCHES; i++)
        fprintf(file,
                "<pattern id=\"hatch%d\" width=\"6\" height=\"6\" "
                "patternUnits=\"userSpaceOnUse\"><path d=\"%s\" "
                "stroke=\"white\" stroke-width=\"1.6\"/></pattern>\n",
                i, paths[i]);
    fputs("</defs>\n", file);
}

/* A rectangle for each run of equal cells; its letter where above it there is
 * another one. */
static void svg_row(const struct map *map, FILE *file, int row, int height)
{
    const int y = TOP + row * height;
    int end;

    for (int j = 0; j < map->columns; j = end) {
        const int best = at(map, row, j), x = LEFT + j * WIDTH;

        for (end = j + 1; end < map->columns; end++)
            if (at(map, row, end) != best)
                break;
        if (best < 0)
            continue;
        svg_cell(file, map->letters[best], x, y, (end - j) * WIDTH, height);
        if (height >= FONT && (row == 0 || at(map, row - 1, j) != best))
            svg_letter(file, map->letters[best], x + WIDTH / 2,
                       y + height / 2 + 4, FONT - 1);
    }
}

/* A dot where another one is the fastest. */
static void svg_dots(const struct map *map, FILE *file, int row, int height)
{
    for (int j = 0; j < map->columns; j++)
        if (field_at(map, row, j)->fastest != at(map, row, j))
            fprintf(file,
                    "<circle cx=\"%d\" cy=\"%d\" r=\"2\" fill=\"black\" "
                    "stroke=\"white\"/>\n",
                    LEFT + (j + 1) * WIDTH - 5,
                    TOP + row * height + height / 2);
}

/* Numbers of ranks, as many as find room; and bytes. */
static void svg_axes(const struct map *map, FILE *file, int height)
{
    const int step = (FONT + 2 + height - 1) / height;

    for (int i = 0; i < map->o->size_count; i += step)
        sim_svg_text(file, LEFT - 6, TOP + i * height + height / 2 + 4, FONT,
                     "text-anchor=\"end\"", "%d", map->o->sizes[i]);
    sim_svg_text(file, LEFT - 6, TOP - 24, FONT, "text-anchor=\"end\"",
                 "ranks");
    sim_svg_text(file, LEFT, TOP - 24, FONT, "",
                 "bytes of the vector (K, M, G: powers of 1024)");
    for (int j = 0; j < map->columns; j++) {
        char bytes[32];

        print_bytes(bytes, map->o->min_bytes << j);
        sim_svg_text(file, LEFT + j * WIDTH + WIDTH / 2, TOP - 7, FONT,
                     "text-anchor=\"middle\"", "%s", bytes);
    }
}

static void svg_legend(const struct map *map, FILE *file)
{
    const int x = LEFT + map->columns * WIDTH + 2 * MARGIN;
    char text[METHOD_TEXT];

    fputs("<g id=\"legend\">\n", file);
    sim_svg_text(file, x, TOP - 7, FONT, "font-weight=\"bold\"",
                 map->o->chosen ? "chosen (dot: not the fastest)"
                                : "the fastest is");
    for (int i = 0; legend(map, i, text); i++) {
        const int y = TOP + i * KEY;

        svg_cell(file, i, x, y, 22, KEY - 4);
        svg_letter(file, i, x + 11, y + FONT, FONT - 1);
        sim_svg_text(file, x + 28, y + FONT, FONT, "", "%s", text);
    }
    fputs("</g>\n", file);
}

/* Of columns and legend, or of the title. */
static int map_width(const struct map *map, int *methods_p)
{
    const int title = sim_svg_width(TITLE_TEXT, FONT) + 2 * MARGIN;
    int longest = map->o->chosen ? 30 : 16, width;
    char text[METHOD_TEXT];

    for (*methods_p = 0; legend(map, *methods_p, text); (*methods_p)++)
        if ((int)strlen(text) > longest)
            longest = (int)strlen(text);
    width = LEFT + map->columns * WIDTH + 2 * MARGIN + 28 +
            sim_svg_width(longest, FONT) + MARGIN;
    return width > title ? width : title;
}

static int write_svg(const struct map *map, const char *path)
{
    const int rows = map->o->size_count;
    const int height = rows <= 24 ? 18 : rows <= 80 ? 13 : rows <= 160 ? 6 : 2;
    int methods;
    const int width = map_width(map, &methods);
    const int tall =
        rows * height > methods * KEY ? rows * height : methods * KEY;
    FILE *file = sim_svg_open(path, width, TOP + tall + 2 * MARGIN);
    char title[2][TITLE_TEXT];

    print_title(map, title);
    svg_hatches(file);
    sim_svg_text(file, MARGIN, 20, 14, "font-weight=\"bold\"", "%s", title[0]);
    sim_svg_text(file, MARGIN, 38, FONT, "", "%s", title[1]);
    svg_axes(map, file, height);
    for (int i = 0; i < rows; i++) {
        svg_row(map, file, i, height);
        svg_dots(map, file, i, height);
    }
    svg_legend(map, file);
    return sim_svg_close(file, path);
}

int sim_map(const struct sim_options *o)
{
    struct map map = make_map(o);
    int status = EXIT_SUCCESS;

    if (o->svg)
        status = write_svg(&map, o->svg);
    else
        print_text(&map);
    rcx_tuning_close(&map.tuning, o->heap);
    rcx_heap_free(o->heap, map.fields);
    rcx_heap_free(o->heap, map.letters);
    return status;
}
