/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A schedule as a picture: rounds across, ranks down, messages as arrows with
 * the spans that they carry. A round is what a message takes where nothing
 * else takes time; a rank has one message out and one in at most.
 */
#include "rcx_sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct cell { /* what a rank does in a round */
    const struct rcx_step *send, *recv;
    bool combines; /* after that */
};

struct drawing {
    const struct sim_run *run;
    int size;
    int rounds;
    struct cell *cells;
};

static struct cell *cell_at(const struct drawing *d, int rank, int round)
{
    return &d->cells[(size_t)rank * (size_t)(d->rounds + 1) + (size_t)round];
}

/* Round 0 is what happens before any message. */
static void fill_rank(const struct drawing *d, int r, const double *ends)
{
    const struct simulated_rank *rank = &d->run->s.ranks[r];

    for (uint32_t i = 0; i < rank->plan->step_count; i++) {
        const struct rcx_step *step = &rank->plan->steps[i];
        struct cell *cell =
            cell_at(d, r, (int)lround(ends[rank->first_step + i]));

        if (step->kind == RCX_STEP_SEND)
            cell->send = step;
        else if (step->kind == RCX_STEP_RECV)
            cell->recv = step;
        else if (step->kind == RCX_STEP_REDUCE)
            cell->combines = true;
    }
}

static struct drawing draw(const struct sim_options *o, struct sim_run *run)
{
    const struct rcx_machine rounds = {.alpha = 1};
    struct drawing d = {.run = run, .size = run->s.size};
    double *ends = simulation_ends(&run->s, &rounds, SIMULATION_OVERLAP);

    if (run->s.lacks_memory)
        sim_exit_without_memory();
    if (!ends) { /* which no proved schedule does */
        fprintf(stderr, "rcx_sim: %s\n", run->s.text);
        exit(EXIT_FAILURE);
    }
    for (size_t i = 0; i < run->s.step_count; i++)
        if (d.rounds < (int)lround(ends[i]))
            d.rounds = (int)lround(ends[i]);
    d.cells = sim_alloc(o, (size_t)d.size * (size_t)(d.rounds + 1),
                        sizeof *d.cells);
    for (int r = 0; r < d.size; r++)
        fill_rank(&d, r, ends);
    rcx_heap_free(o->heap, ends);
    return d;
}

static void print_title(FILE *file, const struct drawing *d)
{
    const struct rcx_shape *s = &d->run->call.shape;
    char method[METHOD_TEXT];

    sim_method_print(d->run->call.algo, s->params, method);
    fprintf(file, "%s %s on %d ranks, %zu elements: %d rounds",
            rcx_coll_name(s->coll), method, d->size, s->count, d->rounds);
}

enum { SPAN_TEXT = 64 };

static void print_span(char text[SPAN_TEXT], unsigned buffer, size_t at,
                       size_t count)
{
    static const char *const names[RCX_BUFFER_COUNT] = {"in", "out", "tmp"};

    snprintf(text, SPAN_TEXT, "%s[%zu..%zu)", names[buffer], at, at + count);
}

/* ---- As text ------------------------------------------------------------- */

enum { CELL_TEXT = 96 };

/* "->3 in[0..4)" above "<-1 tmp[0..4) +" */
static int print_cell(const struct cell *cell, bool sends, char text[CELL_TEXT])
{
    const struct rcx_step *step = sends ? cell->send : cell->recv;
    const char *combine = cell->combines && !sends ? " +" : "";
    char span[SPAN_TEXT];

    if (!step)
        return snprintf(text, CELL_TEXT, "%s", combine);
    if (sends)
        print_span(span, step->left, step->left_at, step->count);
    else
        print_span(span, step->dst, step->dst_at, step->count);
    return snprintf(text, CELL_TEXT, "%s%d %s%s", sends ? "->" : "<-",
                    step->peer, span, combine);
}

static int width_of(const struct drawing *d, int round)
{
    char text[CELL_TEXT];
    int width = 2;

    for (int r = 0; r < d->size; r++) {
        for (int sends = 0; sends < 2; sends++) {
            const int used = print_cell(cell_at(d, r, round), sends, text);

            width = used > width ? used : width;
        }
    }
    return width;
}

static void print_line(const struct drawing *d, const int widths[], int rank,
                       bool sends)
{
    int blanks = 0; /* held back, so that no line ends in one */
    char text[CELL_TEXT];

    for (int k = 1; k <= d->rounds; k++) {
        const int used = print_cell(cell_at(d, rank, k), sends, text);

        blanks += 2;
        if (used > 0)
            printf("%*s%s", blanks, "", text);
        blanks = used > 0 ? widths[k] - used : blanks + widths[k];
    }
    printf("\n");
}

static void print_text(const struct sim_options *o, const struct drawing *d)
{
    int *widths = sim_alloc(o, (size_t)d->rounds + 1, sizeof *widths);

    print_title(stdout, d);
    printf("\n-> sends, <- receives, + then combines\n\nrank");
    for (int k = 1; k <= d->rounds; k++) {
        widths[k] = width_of(d, k);
        printf("  %-*d", k < d->rounds ? widths[k] : 0, k);
    }
    printf("\n");
    for (int r = 0; r < d->size; r++) {
        printf("%4d", r);
        print_line(d, widths, r, true);
        printf("    ");
        print_line(d, widths, r, false);
    }
    rcx_heap_free(o->heap, widths);
}

/* ---- As SVG -------------------------------------------------------------- */

enum { LEFT = 50, TOP = 60, COLUMN = 150, ROW = 40, GAP = 8 };

static int x_of(int round)
{
    return LEFT + round * COLUMN;
}

static int y_of(int rank)
{
    return TOP + rank * ROW;
}

/* A rank's line, dashed where it has no message. */
static void svg_rank(FILE *file, const struct drawing *d, int rank)
{
    const int y = y_of(rank);

    fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%d</text>\n",
            LEFT - GAP, y + 4, rank);
    for (int k = 1; k <= d->rounds; k++) {
        const struct cell *cell = cell_at(d, rank, k);

        fprintf(file, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" "
                "stroke=\"#999\"%s/>\n", x_of(k - 1), y, x_of(k), y,
                cell->send || cell->recv ? "" : " stroke-dasharray=\"2 5\"");
        if (cell->combines)
            fprintf(file, "<circle cx=\"%d\" cy=\"%d\" r=\"4\" "
                    "fill=\"#c33\"/>\n", x_of(k), y);
    }
}

static void svg_message(FILE *file, int rank, int round,
                        const struct rcx_step *step)
{
    const int x = x_of(round - 1) + GAP, y = y_of(rank);
    const int to_x = x_of(round) - GAP, to_y = y_of(step->peer);
    const double angle = atan2(to_y - y, to_x - x) * 180 / acos(-1);
    char span[SPAN_TEXT];

    print_span(span, step->left, step->left_at, step->count);
    fprintf(file, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" "
            "stroke=\"#247\" marker-end=\"url(#head)\"/>\n", x, y, to_x, to_y);
    fprintf(file, "<text class=\"span\" transform=\"translate(%d %d) "
            "rotate(%.1f)\" dx=\"6\" dy=\"-3\">%s</text>\n", x, y, angle, span);
}

static int write_svg(const struct drawing *d, const char *path)
{
    FILE *file = sim_svg_open(path, x_of(d->rounds) + LEFT,
                              y_of(d->size - 1) + TOP);

    fputs("<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" "
          "markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path "
          "d=\"M0 0 8 4 0 8z\" fill=\"#247\"/></marker>"
          "<style>.span{font-size:9px;fill:#247;stroke:white;stroke-width:3px;"
          "paint-order:stroke}</style></defs>\n", file);
    fprintf(file, "<text x=\"%d\" y=\"20\" font-size=\"13\">", LEFT);
    print_title(file, d);
    fputs("</text>\n", file);
    for (int k = 1; k <= d->rounds; k++)
        fprintf(file, "<text x=\"%d\" y=\"42\" text-anchor=\"middle\">%d"
                "</text>\n", (x_of(k - 1) + x_of(k)) / 2, k);
    for (int r = 0; r < d->size; r++)
        svg_rank(file, d, r);
    for (int r = 0; r < d->size; r++)
        for (int k = 1; k <= d->rounds; k++)
            if (cell_at(d, r, k)->send)
                svg_message(file, r, k, cell_at(d, r, k)->send);
    return sim_svg_close(file, path);
}

int sim_draw(const struct sim_options *o)
{
    const int size = o->sizes[0];
    int status = EXIT_SUCCESS;
    struct drawing d;
    struct sim_run run;

    sim_open(&run, o, &o->methods[0], size, sim_count_for(o, size));
    d = draw(o, &run);
    if (o->svg)
        status = write_svg(&d, o->svg);
    else
        print_text(o, &d);
    rcx_heap_free(o->heap, d.cells);
    sim_close(&run);
    return status;
}
