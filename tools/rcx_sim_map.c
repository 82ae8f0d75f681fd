/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fastest algorithm over numbers of ranks and sizes, by what algorithms
 * say that they cost: the picture of Thakur, Rabenseifner, Gropp 2005, Fig. 14,
 * of any machine.
 */
#include "rcx_sim.h"

#include <math.h>
#include <stdlib.h>

struct map {
    const struct sim_options *o;
    int columns; /* sizes in bytes: min_bytes << column */
    int *fastest; /* method, by row and column; -1: none */
    int *letters; /* of methods that are fastest somewhere; else -1 */
};

static bool price(const struct sim_options *o, const struct sim_method *m,
                  int size, size_t count, double *seconds_p)
{
    struct simulated_call call = sim_call_of(o, m, size, count);
    const struct rcx_shape *s = &call.shape;
    const bool suits =
        rcx_algo_fits(m->algo, s) && m->algo->order(s) >= o->order;

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

static void print_title(const struct map *map, FILE *file)
{
    const struct rcx_machine *m = &map->o->machine;

    fprintf(file, "Fastest %s by cost: alpha %g, beta %g, gamma %g",
            rcx_coll_name(map->o->coll), m->alpha, m->beta, m->gamma);
}

/* The methods in the order of their letters; false: no more. */
static bool legend(const struct map *map, int letter, char text[METHOD_TEXT])
{
    for (int k = 0; k < map->o->method_count; k++) {
        const struct sim_method *m = &map->o->methods[k];

        if (map->letters[k] != letter)
            continue;
        sim_method_print(m->algo, m->params, text);
        return true;
    }
    return false;
}

/* ---- As text ------------------------------------------------------------- */

static void print_text(const struct map *map)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    enum { LETTERS = sizeof letters - 1 };
    char text[METHOD_TEXT];

    print_title(map, stdout);
    printf("\n\n    p");
    for (int j = 0; j < map->columns; j++) {
        char bytes[32];

        print_bytes(bytes, map->o->min_bytes << j);
        printf(" %4s", bytes);
    }
    printf("\n");
    for (int i = 0; i < map->o->size_count; i++) {
        printf("%5d", map->o->sizes[i]);
        for (int j = 0; j < map->columns; j++) {
            const int best = at(map, i, j);

            printf("    %c", best < 0
                                 ? '.'
                                 : letters[map->letters[best] % LETTERS]);
        }
        printf("\n");
    }
    printf("\n");
    for (int i = 0; legend(map, i, text); i++)
        printf("%c  %s\n", letters[i % LETTERS], text);
}

/* ---- As SVG -------------------------------------------------------------- */

enum { LEFT = 60, TOP = 60, WIDTH = 34, HEIGHT = 12, KEY = 260 };

/* Neighbours among letters are far apart on the circle of colours. */
static void print_colour(FILE *file, int letter)
{
    fprintf(file, "fill=\"hsl(%d,65%%,%d%%)\"", letter * 137 % 360,
            letter % 3 * 10 + 50);
}

/* A rectangle for each run of equal cells. */
static void svg_row(const struct map *map, FILE *file, int row)
{
    const int y = TOP + row * HEIGHT;
    int end;

    if (map->o->size_count < 20 || map->o->sizes[row] % 4 == 0)
        fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%d"
                "</text>\n", LEFT - 6, y + HEIGHT - 2, map->o->sizes[row]);
    for (int j = 0; j < map->columns; j = end) {
        const int best = at(map, row, j);

        for (end = j + 1; end < map->columns; end++)
            if (at(map, row, end) != best)
                break;
        if (best < 0)
            continue;
        fprintf(file, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" ",
                LEFT + j * WIDTH, y, (end - j) * WIDTH, HEIGHT);
        print_colour(file, map->letters[best]);
        fputs("/>\n", file);
    }
}

static void svg_legend(const struct map *map, FILE *file)
{
    const int x = LEFT + map->columns * WIDTH + 20;
    char text[METHOD_TEXT];

    for (int i = 0; legend(map, i, text); i++) {
        const int y = TOP + i * 20;

        fprintf(file, "<rect x=\"%d\" y=\"%d\" width=\"14\" height=\"14\" ", x,
                y);
        print_colour(file, i);
        fprintf(file, "/><text x=\"%d\" y=\"%d\">%s</text>\n", x + 20, y + 11,
                text);
    }
}

static int write_svg(const struct map *map, const char *path)
{
    const int height = map->o->size_count * HEIGHT;
    FILE *file = sim_svg_open(path, LEFT + map->columns * WIDTH + KEY,
                              TOP + (height > 400 ? height : 400) + 20);

    fprintf(file, "<text x=\"%d\" y=\"20\" font-size=\"13\">", LEFT);
    print_title(map, file);
    fprintf(file, "</text>\n<text x=\"%d\" y=\"%d\" text-anchor=\"end\">ranks"
            "</text>\n", LEFT - 6, TOP - 8);
    for (int j = 0; j < map->columns; j++) {
        char bytes[32];

        print_bytes(bytes, map->o->min_bytes << j);
        fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s"
                "</text>\n", LEFT + j * WIDTH + WIDTH / 2, TOP - 8, bytes);
    }
    for (int i = 0; i < map->o->size_count; i++)
        svg_row(map, file, i);
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
