/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An allreduce over a grid of ranks, composed of whole algorithms as phases
 * (grid_allreduce.h). It exists for test_frames.c only; the library does not
 * have it.
 */
#include "grid_allreduce.h"

#include <string.h>

#include "algo/phase/ring.h"

static int number_of(enum rcx_coll coll)
{
    int n = 0;

    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++)
        n += (*a)->coll == coll;
    return n;
}

/* Return algorithm i of the collective, modulo their number. */
static struct rcx_phase phase(enum rcx_coll coll, int64_t i)
{
    const struct rcx_algo *const *a = rcx_algo_table;

    for (i %= number_of(coll); (*a)->coll != coll || i-- > 0; a++)
        continue;
    return rcx_phase_of(*a);
}

int grid_phases(void)
{
    const int a = number_of(RCX_COLL_REDUCE_SCATTER);
    const int b = number_of(RCX_COLL_ALLREDUCE);

    return a > b ? a : b;
}

int grid_phase_named(const char *name)
{
    int i = 0;

    while (strcmp(phase(RCX_COLL_REDUCE_SCATTER, i).algo->name, name) != 0)
        i++;
    return i;
}

static enum rcx_coll column_coll(const struct rcx_shape *s)
{
    return s->params[GRID_FORM] == GRID_REDUCE ? RCX_COLL_ALLREDUCE
                                               : RCX_COLL_REDUCE_SCATTER;
}

struct plan {
    int rows, columns;
    struct rcx_phase row, column;
    struct rcx_shape in_row, in_column; /* shapes of the phases */
};

static struct plan plan_of(const struct rcx_shape *s)
{
    const int columns = (int)s->params[GRID_COLUMNS];
    struct plan plan = {
        .rows = s->size / columns,
        .columns = columns,
        .row = phase(RCX_COLL_REDUCE_SCATTER, s->params[GRID_PHASES]),
        .column = phase(column_coll(s), s->params[GRID_PHASES])};
    const struct rcx_span vector = {.count = s->count};

    plan.in_row = rcx_phase_shape(&plan.row, s, plan.columns, s->count);
    plan.in_column = rcx_phase_shape(&plan.column, s, plan.rows,
                                     rcx_span_part(vector, columns, 0).count);
    return plan;
}

static bool fits(const struct rcx_shape *s)
{
    const struct plan plan = plan_of(s);

    return s->size % plan.columns == 0 &&
           rcx_algo_fits(plan.row.algo, &plan.in_row) &&
           rcx_algo_fits(plan.column.algo, &plan.in_column);
}

/* Rows are subtrees of the fixed tree if they have 2^k ranks. */
static rcx_order_t order(const struct rcx_shape *s)
{
    const struct plan plan = plan_of(s);
    const rcx_order_t row = rcx_algo_order(plan.row.algo, &plan.in_row);
    const rcx_order_t column =
        rcx_algo_order(plan.column.algo, &plan.in_column);
    const rcx_order_t both = row < column ? row : column;
    const bool is_fixed =
        plan.rows == 1 || plan.columns == rcx_pow2_floor(plan.columns);

    return both == RCX_ORDER_CANONICAL && !is_fixed ? RCX_ORDER_UNIFORM : both;
}

static void add(struct rcx_cost *sum, struct rcx_cost cost)
{
    sum->rounds += cost.rounds;
    sum->volume += cost.volume;
    sum->combines += cost.combines;
}

/* Cost of a ring allgather of n elements. */
static struct rcx_cost allgather_cost(size_t n, int size)
{
    const double others = size - 1;

    return (struct rcx_cost){.rounds = others,
                             .volume = (double)n * others / size};
}

/* Round the count up so that all blocks of all phases are equal, and those of
 * the largest powers of two as well. */
static size_t rounded(const struct rcx_shape *s, const struct plan *plan)
{
    const size_t unit = (size_t)s->size * (size_t)rcx_pow2_floor(plan->rows) *
                        (size_t)rcx_pow2_floor(plan->columns);

    return (s->count + unit - 1) / unit * unit;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    struct plan plan = plan_of(s);
    struct rcx_cost sum = {0};

    plan.in_row.count = rounded(s, &plan);
    plan.in_column.count = plan.in_row.count / (size_t)plan.columns;
    add(&sum, plan.row.algo->cost(&plan.in_row));
    add(&sum, plan.column.algo->cost(&plan.in_column));
    if (s->params[GRID_FORM] == GRID_SCATTER)
        add(&sum, allgather_cost(plan.in_column.count, plan.rows));
    add(&sum, allgather_cost(plan.in_row.count, plan.columns));
    return sum;
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct plan plan = plan_of(s);
    const int row = s->rank / plan.columns, column = s->rank % plan.columns;
    const struct rcx_group in_row =
        rcx_group_strided(s, row * plan.columns, 1, plan.columns);
    const struct rcx_group in_column =
        rcx_group_strided(s, column, plan.columns, plan.rows);
    const struct rcx_span out = rcx_span_out(s);
    const struct rcx_span mine = rcx_span_part(out, plan.columns, column);
    const struct rcx_blocks row_blocks = {NULL, s->count, plan.columns};
    const struct rcx_blocks column_blocks = {NULL, mine.count, plan.rows};

    rcx_sched_within(b, &plan.row, &in_row, rcx_span_in(s), mine);
    if (s->params[GRID_FORM] == GRID_SCATTER) {
        rcx_sched_within(b, &plan.column, &in_column, mine,
                         rcx_span_part(mine, plan.rows, row));
        rcx_ring_allgather(b, &in_column, &column_blocks, 0, mine);
    } else {
        rcx_sched_within(b, &plan.column, &in_column, mine, mine);
    }
    rcx_ring_allgather(b, &in_row, &row_blocks, 0, out);
}

static const char *const forms[] = {
    [GRID_REDUCE] = "reduce", [GRID_SCATTER] = "scatter", NULL};
static const struct rcx_param params[] = {
    [GRID_COLUMNS] = {.name = "columns", .usual = 1, .least = 1, .most = 1024},
    [GRID_FORM] = {.name = "form", .names = forms},
    [GRID_PHASES] = {.name = "phases", .most = 1024},
    {0}};

const struct rcx_algo grid_allreduce = {
    .name = "grid",
    .coll = RCX_COLL_ALLREDUCE,
    .params = params,
    .needs = "as many ranks in each row",
    .fits = fits,
    .order = order,
    .cost = cost,
    .build = build,
};
