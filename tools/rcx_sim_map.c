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

struct map {
    const struct sim_options *o;
    int columns;  /* sizes in bytes: min_bytes << column */
    int *fastest; /* method, by row and column; -1: none */
    int *letters; /* of methods that are fastest somewhere; else -1 */
};

static bool price(const struct sim_options *o, const struct sim_method *m,
                  int size, size_t count, double *seconds_p)
{
    struct simulated_call call = sim_call_of(o, m, size, count);
    const struct rcx_shape *s = &call.shape;
    const bool suits =
        rcx_algo_fits(m->algo, s) && rcx_algo_order(m->algo, s) >= o->order;

    if (suits) {
        const struct rcx_cost cost = m->algo->cost(s);

        *seconds_p = rcx_cost_seconds(&cost, s->elem_bytes, &o->machine);
    }
    proof_call_free(&call);
    return suits;
}

/* Among equals, the one that the registry has first. */
static int fastest_of(const struct sim_options *o, int size, size_t bytes)
{
    const size_t count = (bytes + o->elem_bytes - 1) / o->elem_bytes;
    double least = INFINITY;
    int best = -1;

    for (int k = 0; k < o->method_count; k++) {
        double seconds;

        if (price(o, &o->methods[k], size, count, &seconds) &&
            seconds < least * (1 - 1e-9)) {
            least = seconds;
            best = k;
        }
    }
    return best;
}

static int at(const struct map *map, int row, int column)
{
    return map->fastest[(size_t)row * (size_t)map->columns + (size_t)column];
}

static struct map make_map(const struct sim_options *o)
{
    struct map map = {.o = o};
    int letters = 0;

    while (o->min_bytes << map.columns <= o->max_bytes)
        map.columns++;
    map.fastest = sim_alloc(o, (size_t)o->size_count * (size_t)map.columns,
                            sizeof *map.fastest);
    map.letters = sim_alloc(o, (size_t)o->method_count, sizeof *map.letters);
    for (int k = 0; k < o->method_count; k++)
        map.letters[k] = -1;
    for (int i = 0; i < o->size_count; i++) {
        for (int j = 0; j < map.columns; j++) {
            const int best = fastest_of(o, o->sizes[i], o->min_bytes << j);

            map.fastest[(size_t)i * (size_t)map.columns + (size_t)j] = best;
            if (best >= 0 && map.letters[best] < 0)
                map.letters[best] = letters++;
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

    snprintf(title[0], TITLE_TEXT, "Fastest %s by stated cost",
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

static void print_text(const struct map *map)
{
    char text[METHOD_TEXT], title[2][TITLE_TEXT];

    print_title(map, title);
    printf("%s\n%s\n\n", title[0], title[1]);
    print_sizes(map);
    for (int i = 0; i < map->o->size_count; i++) {
        printf("%5d ", map->o->sizes[i]);
        for (int j = 0; j < map->columns; j++) {
            const int best = at(map, i, j);

            printf("%*c", CELL, best < 0 ? '.' : letter_of(map->letters[best]));
        }
        printf("\n");
    }
    printf("\n");
    for (int i = 0; legend(map, i, text); i++)
        printf("%c  %s\n", letter_of(i), text);
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
                 "the fastest is");
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
    int longest = 16, width;
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
    for (int i = 0; i < rows; i++)
        svg_row(map, file, i, height);
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
    rcx_heap_free(o->heap, map.fastest);
    rcx_heap_free(o->heap, map.letters);
    return status;
}
