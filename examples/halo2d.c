/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heat diffusion on a periodic plane, in explicit time steps. The ranks form a
 * grid, and each has a rectangle of the plane. Before each step one persistent
 * rcx_neighbor_alltoallv() brings the adjacent rows and columns of its four
 * neighbours (a halo exchange). At the end each rank compares its rectangle
 * with the solution of one rank alone. Exit status 0: the bits are the same.
 */
#include <rcx/rcx.h>
#include <stdio.h>
#include <string.h>

enum { SIDE = 48, STEPS = 60 }; /* of the plane */
enum { UP, DOWN, LEFT, RIGHT, SIDES };

/* A rectangle with a border of one cell, which belongs to the neighbours. */
struct part {
    int top, left, rows, columns; /* where it is in the plane */
    double cells[SIDE + 2][SIDE + 2];
    double columns_out[2][SIDE], columns_in[2][SIDE]; /* packed */
};

static struct part part, next, alone, alone_next;

static void open_part(struct part *p, int top, int left, int rows, int columns)
{
    *p = (struct part){
        .top = top, .left = left, .rows = rows, .columns = columns};
    for (int i = 1; i <= rows; i++)
        for (int k = 1; k <= columns; k++)
            p->cells[i][k] = (double)(7 * (top + i) * (left + k) % 31);
}

static void step(const struct part *old, struct part *new)
{
    for (int i = 1; i <= old->rows; i++)
        for (int k = 1; k <= old->columns; k++) {
            const double rest = old->cells[i - 1][k] + old->cells[i + 1][k] +
                                old->cells[i][k - 1] + old->cells[i][k + 1];

            new->cells[i][k] =
                old->cells[i][k] + 0.2 * (rest - 4 * old->cells[i][k]);
        }
}

/* One rank alone: each border is the opposite side. */
static void solve_alone(void)
{
    open_part(&alone, 0, 0, SIDE, SIDE);
    alone_next = alone;
    for (int t = 0; t < STEPS; t++) {
        for (int i = 1; i <= SIDE; i++) {
            alone.cells[0][i] = alone.cells[SIDE][i];
            alone.cells[SIDE + 1][i] = alone.cells[1][i];
            alone.cells[i][0] = alone.cells[i][SIDE];
            alone.cells[i][SIDE + 1] = alone.cells[i][1];
        }
        step(&alone, &alone_next);
        memcpy(alone.cells, alone_next.cells, sizeof alone.cells);
    }
}

/* Where a cell is in struct part, in doubles. */
static size_t at(const double *cell)
{
    return (size_t)(cell - &part.cells[0][0]);
}

/*
 * The request that exchanges borders. Rows go from and to the rectangle itself,
 * columns by way of packed ones. sources are opposite to dests, so that a grid
 * of one or two ranks is right as well.
 */
static rcx_status_t make_exchange(rcx_comm_t *comm, int high, int wide,
                                  rcx_request_t **request_p)
{
    const int rank = rcx_comm_rank(comm), y = rank / wide, x = rank % wide;
    const int up = (y + high - 1) % high * wide + x;
    const int down = (y + 1) % high * wide + x;
    const int left = y * wide + (x + wide - 1) % wide;
    const int right = y * wide + (x + 1) % wide;
    const int dests[SIDES] = {up, down, left, right};
    const int sources[SIDES] = {down, up, right, left};
    const size_t rows = (size_t)part.rows, columns = (size_t)part.columns;
    const size_t counts[SIDES] = {columns, columns, rows, rows};
    const size_t sent[SIDES] = {at(&part.cells[1][1]), at(&part.cells[rows][1]),
                                at(part.columns_out[0]),
                                at(part.columns_out[1])};
    const size_t received[SIDES] = {
        at(&part.cells[rows + 1][1]), at(&part.cells[0][1]),
        at(part.columns_in[0]), at(part.columns_in[1])};

    return rcx_neighbor_alltoallv_init(part.cells, SIDES, dests, counts, sent,
                                       part.cells, SIDES, sources, counts,
                                       received, RCX_DOUBLE, comm, request_p);
}

static void pack(void)
{
    for (int i = 1; i <= part.rows; i++) {
        part.columns_out[0][i - 1] = part.cells[i][1];
        part.columns_out[1][i - 1] = part.cells[i][part.columns];
    }
}

/* The first packed column has come from the right, the second from the left. */
static void unpack(void)
{
    for (int i = 1; i <= part.rows; i++) {
        part.cells[i][part.columns + 1] = part.columns_in[0][i - 1];
        part.cells[i][0] = part.columns_in[1][i - 1];
    }
}

static rcx_status_t solve_together(rcx_comm_t *comm)
{
    const int size = rcx_comm_size(comm), rank = rcx_comm_rank(comm);
    int high = 1;
    rcx_request_t *exchange;
    rcx_status_t status;

    for (int i = 1; i * i <= size; i++)
        high = size % i == 0 ? i : high;

    const int wide = size / high, y = rank / wide, x = rank % wide;
    const int top = SIDE * y / high, left = SIDE * x / wide;

    open_part(&part, top, left, SIDE * (y + 1) / high - top,
              SIDE * (x + 1) / wide - left);
    next = part;
    status = make_exchange(comm, high, wide, &exchange);
    if (status != RCX_OK)
        return status;
    for (int t = 0; t < STEPS && status == RCX_OK; t++) {
        pack();
        status = rcx_start(exchange);
        if (status == RCX_OK)
            status = rcx_wait(exchange);
        unpack();
        step(&part, &next);
        memcpy(part.cells, next.cells, sizeof part.cells);
    }
    rcx_request_free(&exchange);
    return status;
}

static int count_differences(void)
{
    int n = 0;

    for (int i = 1; i <= part.rows; i++)
        for (int k = 1; k <= part.columns; k++)
            n += part.cells[i][k] != alone.cells[part.top + i][part.left + k];
    return n;
}

int main(void)
{
    rcx_context_t *context;
    rcx_status_t status = rcx_init(NULL, &context);
    int differences, all = 0;

    if (status != RCX_OK) {
        fprintf(stderr, "%s\n", rcx_status_string(status));
        return 1;
    }

    rcx_comm_t *world = rcx_world(context);

    solve_alone();
    status = solve_together(world);
    differences = count_differences();
    if (status == RCX_OK)
        status = rcx_allreduce(&differences, &all, 1, RCX_INT, RCX_SUM, world);
    if (status == RCX_OK && rcx_comm_rank(world) == 0)
        printf("%d ranks: %d cells differ from one rank alone\n",
               rcx_comm_size(world), all);
    return rcx_finalize(&context) != RCX_OK || status != RCX_OK || all > 0;
}
