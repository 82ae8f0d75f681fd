/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draws a method map as an SVG file, for rcx_tune --svg and rcx_sim: one
 * colour, hatching and letter for each method, and a legend.
 */
#include "common/method_map.h"

#include <stdio.h>
#include <string.h>

#include "common/svg.h"

char method_map_letter(int method)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

    return letters[method % (int)(sizeof letters - 1)];
}

void method_map_bytes(char name[MAP_NAME], size_t bytes)
{
    static const char units[] = " KMGT";
    int unit = 0;

    while (bytes >= 1024 && bytes % 1024 == 0 && unit < 4) {
        bytes /= 1024;
        unit++;
    }
    snprintf(name, MAP_NAME, "%zu%.*s", bytes, unit > 0, units + unit);
}

static const struct method_cell *cell_at(const struct method_map *m, int row,
                                         int column)
{
    return &m->cells[(size_t)row * (size_t)m->columns + (size_t)column];
}

static int at(const struct method_map *m, int row, int column)
{
    return cell_at(m, row, column)->method;
}

enum { HATCHES = 4 };
enum { TOP = 82, WIDTH = 38, FONT = 11, MARGIN = 10, KEY = 18 };

struct picture {
    const struct method_map *m;
    FILE *file;
    int left, height; /* x of the first cell; height of a row */
};

/* Draw a cell of a method: its colour, and hatching if there are more methods
 * than colours. */
static void svg_cell(FILE *file, int method, int x, int y, int width,
                     int height)
{
    const int hatch = method / SVG_COLOURS % HATCHES;
    const struct svg_colour *colour = &svg_colours[method % SVG_COLOURS];

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

static void svg_letter(FILE *file, int method, int x, int y, int size)
{
    const struct svg_colour *colour = &svg_colours[method % SVG_COLOURS];
    char more[160];

    snprintf(more, sizeof more,
             "text-anchor=\"middle\" fill=\"%s\" "
             "stroke=\"%s\" stroke-width=\"4\" paint-order=\"stroke\"",
             colour->text, colour->fill);
    svg_text(file, x, y, size, more, "%c", method_map_letter(method));
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

/* Draw a rectangle for each run of equal cells in a row. It has the method's
 * letter unless the cell above is equal. */
static void svg_row(const struct picture *p, int row)
{
    const int y = TOP + row * p->height;
    int end;

    for (int j = 0; j < p->m->columns; j = end) {
        const int best = at(p->m, row, j), x = p->left + j * WIDTH;

        for (end = j + 1; end < p->m->columns; end++)
            if (at(p->m, row, end) != best)
                break;
        if (best < 0)
            continue;
        svg_cell(p->file, best, x, y, (end - j) * WIDTH, p->height);
        if (p->height >= FONT && (row == 0 || at(p->m, row - 1, j) != best))
            svg_letter(p->file, best, x + WIDTH / 2, y + p->height / 2 + 4,
                       FONT - 1);
    }
}

static void svg_dots(const struct picture *p, int row)
{
    for (int j = 0; j < p->m->columns; j++)
        if (cell_at(p->m, row, j)->dotted)
            fprintf(p->file,
                    "<circle cx=\"%d\" cy=\"%d\" r=\"2\" fill=\"black\" "
                    "stroke=\"white\"/>\n",
                    p->left + (j + 1) * WIDTH - 5,
                    TOP + row * p->height + p->height / 2);
}

/* Draw the names of rows and columns; of rows, as many as there is room for. */
static void svg_axes(const struct picture *p)
{
    const int step = (FONT + 2 + p->height - 1) / p->height;

    for (int i = 0; i < p->m->rows; i += step)
        svg_text(p->file, p->left - 6, TOP + i * p->height + p->height / 2 + 4,
                 FONT, "text-anchor=\"end\"", "%s", p->m->row_names[i]);
    svg_text(p->file, p->left - 6, TOP - 24, FONT, "text-anchor=\"end\"", "%s",
             p->m->rows_are);
    svg_text(p->file, p->left, TOP - 24, FONT, "", "%s", p->m->columns_are);
    for (int j = 0; j < p->m->columns; j++)
        svg_text(p->file, p->left + j * WIDTH + WIDTH / 2, TOP - 7, FONT,
                 "text-anchor=\"middle\"", "%s", p->m->column_names[j]);
}

static void svg_legend(const struct picture *p)
{
    const int x = p->left + p->m->columns * WIDTH + 2 * MARGIN;

    fputs("<g id=\"legend\">\n", p->file);
    svg_text(p->file, x, TOP - 7, FONT, "font-weight=\"bold\"", "%s",
             p->m->legend_is);
    for (int i = 0; i < p->m->methods; i++) {
        const int y = TOP + i * KEY;

        svg_cell(p->file, i, x, y, 22, KEY - 4);
        svg_letter(p->file, i, x + 11, y + FONT, FONT - 1);
        svg_text(p->file, x + 28, y + FONT, FONT, "", "%s",
                 p->m->method_names[i]);
    }
    fputs("</g>\n", p->file);
}

static int longest(char (*names)[MAP_NAME], int n)
{
    size_t most = 0;

    for (int i = 0; i < n; i++)
        most = strlen(names[i]) > most ? strlen(names[i]) : most;
    return (int)most;
}

/* The width of the picture: that of columns and legend, or that of the title if
 * it is wider. */
static int width_of(const struct picture *p)
{
    const size_t first = strlen(p->m->title[0]),
                 second = strlen(p->m->title[1]);
    const int titles[] = {svg_width((int)first, 14),
                          svg_width((int)second, FONT)};
    const int title =
        (titles[0] > titles[1] ? titles[0] : titles[1]) + 2 * MARGIN;
    size_t most = strlen(p->m->legend_is);
    int width;

    for (int i = 0; i < p->m->methods; i++)
        if (strlen(p->m->method_names[i]) > most)
            most = strlen(p->m->method_names[i]);
    width = p->left + p->m->columns * WIDTH + 2 * MARGIN + 28 +
            svg_width((int)most, FONT) + MARGIN;
    return width > title ? width : title;
}

int method_map_svg(const struct method_map *m, const char *path)
{
    const int rows = m->rows;
    const int names = svg_width(longest(m->row_names, rows), FONT) + MARGIN;
    struct picture p = {.m = m,
                        .left = names > 60 ? names : 60,
                        .height = rows <= 24    ? 18
                                  : rows <= 80  ? 13
                                  : rows <= 160 ? 6
                                                : 2};
    const int tall =
        rows * p.height > m->methods * KEY ? rows * p.height : m->methods * KEY;

    p.file = svg_open(path, width_of(&p), TOP + tall + 2 * MARGIN);
    svg_hatches(p.file);
    svg_text(p.file, MARGIN, 20, 14, "font-weight=\"bold\"", "%s", m->title[0]);
    svg_text(p.file, MARGIN, 38, FONT, "", "%s", m->title[1]);
    svg_axes(&p);
    for (int i = 0; i < rows; i++) {
        svg_row(&p, i);
        svg_dots(&p, i);
    }
    svg_legend(&p);
    return svg_close(p.file, path);
}
