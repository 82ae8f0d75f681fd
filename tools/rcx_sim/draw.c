/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_sim draw: a schedule as a picture. Rounds are columns, ranks are rows,
 * messages are arrows with their spans. A round is the time of a message if all
 * else takes no time. In a round a rank sends at most one message and receives
 * at most one.
 */
#include "rcx_sim/rcx_sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/svg.h"

struct cell { /* the steps of a rank in a round */
    const struct rcx_step *send, *recv;
    bool combines; /* after sending and receiving */
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

/* Fill the cells of a rank. Round 0 is before any message. */
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
    struct drawing d = {.run = run, .size = run->s.size};
    double *ends = simulation_ends(&run->s, NULL);

    if (run->s.lacks_memory)
        sim_exit_without_memory();
    if (!ends) { /* a deadlock, which no proved schedule has */
        fprintf(stderr, "rcx_sim: %s\n", run->s.text);
        exit(EXIT_FAILURE);
    }
    for (size_t i = 0; i < run->s.step_count; i++)
        if (d.rounds < (int)lround(ends[i]))
            d.rounds = (int)lround(ends[i]);
    d.cells =
        sim_alloc(o, (size_t)d.size * (size_t)(d.rounds + 1), sizeof *d.cells);
    for (int r = 0; r < d.size; r++)
        fill_rank(&d, r, ends);
    rcx_heap_free(o->heap, ends);
    return d;
}

static void print_title(FILE *file, const struct drawing *d)
{
    const struct rcx_shape *s = &d->run->call.shape;
    char method[METHOD_TEXT];

    rcx_algo_print(d->run->call.algo, s->params, method, METHOD_TEXT);
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

/* Print the send of a cell, "->3 in[0..4)", or its receive, "<-1 tmp[0..4) +".
 * Returns the length. */
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
    int blanks = 0; /* not printed yet, so that no line ends with blanks */
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

enum {
    LEFT = 60,
    TOP = 98,
    GAP = 8,
    FONT = 11,
    SPAN_FONT = 9,
    LEGEND_ROW = 18,
    LEGEND_TEXT = 72,
    BOLD_14 = 16,   /* bold text of size 14 is as wide as this size */
    SPANS_MOST = 16 /* most ranks with legible spans */
};

/* The text of a span is at its sender's line, on the side without the arrow. A
 * rank sends one message a round, so texts do not overlap. */
struct picture {
    const struct drawing *d;
    FILE *file;
    bool spans;
    int row; /* height of a row */
    int *x;  /* end of each round; x[0]: start of the first */
};

static const struct {
    const char *name, *colour, *text;
} directions[] = {
    {"down", "#0072B2", "a message to a higher rank"},
    {"up", "#D55E00", "a message to a lower rank"},
};
static const char combined[] = "#009E73", idle[] = "#BBB";

static int y_of(const struct picture *p, int rank)
{
    return TOP + rank * p->row;
}

/* The width of a round: room for the text of spans, and for arrows that are not
 * too steep. */
static int column_width(const struct picture *p, int round)
{
    const struct drawing *d = p->d;
    int width = p->spans ? 60 : 24, messages = 0;
    long distance = 0;

    for (int r = 0; r < d->size; r++) {
        const struct rcx_step *step = cell_at(d, r, round)->send;
        char span[SPAN_TEXT];
        int used;

        if (!step)
            continue;
        print_span(span, step->left, step->left_at, step->count);
        used = svg_width((int)strlen(span), SPAN_FONT) + 5 * GAP;
        width = p->spans && used > width ? used : width;
        distance += abs(step->peer - r);
        messages++;
    }
    if (messages > 0) {
        const long slope =
            distance * p->row / messages * (p->spans ? 8 : 5) / 10;

        width = slope > width ? (int)slope : width;
    }
    return width < 240 ? width : 240;
}

static struct picture lay_out(const struct sim_options *o,
                              const struct drawing *d)
{
    struct picture p = {.d = d, .spans = d->size <= SPANS_MOST};

    p.row = p.spans ? 36 : d->size <= 64 ? 14 : 8;
    p.x = sim_alloc(o, (size_t)d->rounds + 1, sizeof *p.x);
    p.x[0] = LEFT;
    for (int k = 1; k <= d->rounds; k++)
        p.x[k] = p.x[k - 1] + column_width(&p, k);
    return p;
}

static void svg_line(FILE *file, int x, int y, int to_x, int to_y,
                     const char *colour, const char *more)
{
    fprintf(file,
            "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" "
            "stroke=\"%s\"%s/>\n",
            x, y, to_x, to_y, colour, more);
}

static void svg_dot(const struct picture *p, int x, int y)
{
    fprintf(p->file, "<circle cx=\"%d\" cy=\"%d\" r=\"%s\" fill=\"%s\"/>\n", x,
            y, p->spans ? "4" : "2.5", combined);
}

static bool is_idle(const struct picture *p, int rank, int round)
{
    const struct cell *cell = cell_at(p->d, rank, round);

    return !cell->send && !cell->recv;
}

/* Draw the line of a rank, dashed in rounds without a message. */
static void svg_rank(const struct picture *p, int rank)
{
    const int y = y_of(p, rank), rounds = p->d->rounds;
    int end;

    if (rank % (p->row < 12 ? 2 : 1) == 0) {
        svg_text(p->file, LEFT - GAP, y + 4, FONT, "text-anchor=\"end\"", "%d",
                 rank);
        svg_text(p->file, p->x[rounds] + GAP, y + 4, FONT, "", "%d", rank);
    }
    for (int k = 1; k <= rounds; k = end) {
        for (end = k + 1; end <= rounds; end++)
            if (is_idle(p, rank, end) != is_idle(p, rank, k))
                break;
        svg_line(p->file, p->x[k - 1], y, p->x[end - 1], y, idle,
                 is_idle(p, rank, k) ? " stroke-dasharray=\"2 5\"" : "");
    }
}

static void svg_message(const struct picture *p, int rank, int round,
                        const struct rcx_step *step)
{
    const int gap = p->spans ? GAP : 3, y = y_of(p, rank);
    const int x = p->x[round - 1] + gap, to_x = p->x[round] - gap;
    const bool up = step->peer < rank;
    char more[64];

    snprintf(more, sizeof more, " marker-end=\"url(#%s)\"%s",
             directions[up].name, p->spans ? "" : " stroke-width=\"0.8\"");
    svg_line(p->file, x, y, to_x, y_of(p, step->peer), directions[up].colour,
             more);
}

static void svg_span(const struct picture *p, int rank, int round,
                     const struct rcx_step *step)
{
    const bool up = step->peer < rank;
    char span[SPAN_TEXT], more[128];

    print_span(span, step->left, step->left_at, step->count);
    snprintf(more, sizeof more,
             "fill=\"%s\" stroke=\"white\" "
             "stroke-width=\"3\" paint-order=\"stroke\"",
             directions[up].colour);
    svg_text(p->file, p->x[round - 1] + 2 * GAP, y_of(p, rank) + (up ? 12 : -5),
             SPAN_FONT, more, "%s", span);
}

static void svg_rounds(const struct picture *p)
{
    const int bottom = y_of(p, p->d->size - 1) + p->row / 2;
    const int width = svg_width(snprintf(NULL, 0, "%d", p->d->rounds), FONT);
    int free_from = 0;

    svg_text(p->file, LEFT - GAP, TOP - 36, FONT, "text-anchor=\"end\"",
             "round");
    svg_text(p->file, LEFT - GAP, TOP - 18, FONT, "text-anchor=\"end\"",
             "rank");
    for (int k = 1; k <= p->d->rounds; k++) {
        const int x = (p->x[k - 1] + p->x[k]) / 2;

        svg_line(p->file, p->x[k], TOP - 48, p->x[k], bottom, "#E6E6E6", "");
        if (x < free_from)
            continue;
        svg_text(p->file, x, TOP - 36, FONT, "text-anchor=\"middle\"", "%d", k);
        free_from = x + width + GAP;
    }
}

/* Draw the legend: five lines from y on. */
static void svg_legend(const struct picture *p, int y)
{
    enum { LINE = 44, TEXT = 60 };
    int n = 0;

    fputs("<g id=\"legend\">\n", p->file);
    for (; n < 2; n++, y += LEGEND_ROW) {
        char more[64];

        snprintf(more, sizeof more, " marker-end=\"url(#%s)\"",
                 directions[n].name);
        svg_line(p->file, GAP, y - 4, LINE, y - 4, directions[n].colour, more);
        svg_text(p->file, TEXT, y, FONT, "", "%s", directions[n].text);
    }
    svg_dot(p, (GAP + LINE) / 2, y - 4);
    svg_text(p->file, TEXT, y, FONT, "", "the rank then combines operands");
    y += LEGEND_ROW;
    svg_line(p->file, GAP, y - 4, LINE, y - 4, idle,
             " stroke-dasharray=\"2 5\"");
    svg_text(p->file, TEXT, y, FONT, "", "the rank has no message");
    y += LEGEND_ROW;
    svg_text(p->file, GAP, y, SPAN_FONT, "", "in[0..4)");
    svg_text(p->file, TEXT, y, FONT, "", "%s",
             p->spans ? "elements 0 to 3 of the operand; out: of the "
                        "result; tmp: of scratch"
                      : "what is sent: not shown of more than 16 ranks; "
                        "rcx_sim print has it");
    fputs("</g>\n", p->file);
}

static void svg_defs(const struct picture *p)
{
    const int head = p->spans ? 7 : 5;

    fputs("<defs>\n", p->file);
    for (int i = 0; i < 2; i++)
        fprintf(p->file,
                "<marker id=\"%s\" viewBox=\"0 0 8 8\" refX=\"8\" "
                "refY=\"4\" markerWidth=\"%d\" markerHeight=\"%d\" "
                "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path "
                "d=\"M0 0 8 4 0 8z\" fill=\"%s\"/></marker>\n",
                directions[i].name, head, head, directions[i].colour);
    fputs("</defs>\n", p->file);
}

static void svg_title(const struct picture *p)
{
    const struct rcx_shape *s = &p->d->run->call.shape;
    char method[METHOD_TEXT];

    rcx_algo_print(p->d->run->call.algo, s->params, method, METHOD_TEXT);
    svg_text(p->file, GAP, 20, 14, "font-weight=\"bold\"", "%s %s",
             rcx_coll_name(s->coll), method);
    svg_text(p->file, GAP, 37, FONT, "", "%d ranks, %zu elements, %d rounds",
             p->d->size, s->count, p->d->rounds);
}

static int wider(int width, int other)
{
    return other > width ? other : width;
}

/* The width of rounds, title or legend, whichever is largest. */
static int picture_width(const struct picture *p)
{
    const struct rcx_shape *s = &p->d->run->call.shape;
    const int legend = 60 + svg_width(LEGEND_TEXT, FONT);
    char method[METHOD_TEXT];
    int title;

    rcx_algo_print(p->d->run->call.algo, s->params, method, METHOD_TEXT);
    title = (int)(strlen(rcx_coll_name(s->coll)) + 1 + strlen(method));
    return wider(p->x[p->d->rounds] + LEFT,
                 wider(legend, GAP + svg_width(title, BOLD_14)) + GAP);
}

static int write_svg(const struct sim_options *o, const struct drawing *d)
{
    struct picture p = lay_out(o, d);
    const int bottom = y_of(&p, d->size - 1) + p.row / 2 + 3 * GAP;

    p.file = svg_open(o->svg, picture_width(&p), bottom + 5 * LEGEND_ROW);
    svg_defs(&p);
    svg_title(&p);
    svg_rounds(&p);
    for (int r = 0; r < d->size; r++)
        svg_rank(&p, r);
    for (int pass = 0; pass < 3; pass++) /* arrows below dots below spans */
        for (int r = 0; r < d->size; r++)
            for (int k = 1; k <= d->rounds; k++) {
                const struct cell *cell = cell_at(d, r, k);

                if (pass == 0 && cell->send)
                    svg_message(&p, r, k, cell->send);
                else if (pass == 1 && cell->combines)
                    svg_dot(&p, p.x[k], y_of(&p, r));
                else if (pass == 2 && cell->send && p.spans)
                    svg_span(&p, r, k, cell->send);
            }
    svg_legend(&p, bottom + GAP);
    rcx_heap_free(o->heap, p.x);
    return svg_close(p.file, o->svg);
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
        status = write_svg(o, &d);
    else
        print_text(o, &d);
    rcx_heap_free(o->heap, d.cells);
    sim_close(&run);
    return status;
}
