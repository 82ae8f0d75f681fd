/* SPDX-License-Identifier: BSD-3-Clause */
/* The picture of --svg: which methods jobs with these numbers of ranks and
 * nodes get by the rules of the file, or by RCX's own rules. */
#include <stdlib.h>
#include <string.h>

#include "core/run/object/context.h"
#include "common/method_map.h"
#include "rcx_tune/rcx_tune.h"

enum { NAMES = RCX_COLL_COUNT * TUNE_SIZES };

struct map {
    const struct tune_job *job;
    struct rcx_tuning rules, own;
    struct method_map picture;
    char rows[RCX_COLL_COUNT][MAP_NAME], columns[TUNE_SIZES][MAP_NAME];
    char methods[NAMES][MAP_METHOD];
    struct method_cell cells[NAMES];
};

static bool print_choice(const struct rcx_tuning *tuning,
                         const struct tune_job *job,
                         const struct tune_point *point, char *text)
{
    struct rcx_shape s = tune_shape(job, point);
    struct rcx_builder builder;
    struct rcx_method m;
    struct rcx_log log;
    rcx_status_t status;

    rcx_log_init(&log);
    rcx_builder_init(&builder, &job->context->heap, &log);
    s.machine = &tuning->machine;
    status = rcx_method_choose(&s, job->context->config.order, &rcx_method_any,
                               tuning, &builder, &m);
    rcx_builder_free(&builder);
    if (status != RCX_OK)
        return false;
    if (m.segment >= s.count)
        m.segment = 0;
    rcx_method_print(&m, s.elem_bytes, text, MAP_METHOD);
    return true;
}

static int letter_of(struct map *map, const char *method)
{
    int i = 0;

    while (i < map->picture.methods && strcmp(map->methods[i], method) != 0)
        i++;
    if (i == map->picture.methods)
        strcpy(map->methods[map->picture.methods++], method);
    return i;
}

static struct method_cell cell_of(struct map *map,
                                  const struct tune_point *point)
{
    char method[MAP_METHOD], own[MAP_METHOD];

    if (!print_choice(&map->rules, map->job, point, method) ||
        !print_choice(&map->own, map->job, point, own))
        return (struct method_cell){.method = -1};
    return (struct method_cell){.method = letter_of(map, method),
                                .dotted = strcmp(method, own) != 0};
}

/* Fill the row of one collective. */
static void fill_row(struct map *map, const struct perf_coll *coll)
{
    struct method_map *p = &map->picture;
    struct method_cell *cells = &map->cells[p->rows * p->columns];
    size_t sizes[TUNE_SIZES];
    const int n = tune_sizes(map->job, coll, sizes);

    snprintf(map->rows[p->rows++], MAP_NAME, "%s", rcx_coll_name(coll->row));
    for (int j = 0; j < p->columns; j++) {
        const struct tune_point point = {.coll = coll,
                                         .bytes = sizes[j < n ? j : 0]};

        cells[j] =
            j < n ? cell_of(map, &point) : (struct method_cell){.method = -1};
    }
}

static void fill(struct map *map)
{
    const struct tune_job *job = map->job;
    struct method_map *p = &map->picture;
    size_t sizes[TUNE_SIZES];

    p->columns = tune_sizes(job, tune_coll_of(RCX_COLL_ALLREDUCE), sizes);
    for (int j = 0; j < p->columns; j++)
        method_map_bytes(map->columns[j], sizes[j]);
    for (int i = 0; i < RCX_COLL_COUNT; i++)
        if (job->options.colls[i])
            fill_row(map, tune_coll_of((enum rcx_coll)i));
    snprintf(p->title[0], MAP_TITLE, "%d ranks, %d node%s with up to %d each",
             job->size, job->nodes, job->nodes > 1 ? "s" : "", job->per_node);
    snprintf(p->title[1], MAP_TITLE, "by the rules of %.150s",
             job->options.path ? job->options.path
             : job->context->config.tuning_path[0]
                 ? job->context->config.tuning_path
                 : "RCX");
}

int tune_map(const struct tune_job *job)
{
    struct rcx_heap *heap = &job->context->heap;
    const char *path = job->options.path ? job->options.path
                                         : job->context->config.tuning_path;
    struct map *map = calloc(1, sizeof *map);
    struct rcx_refusal refusal;
    int status = EXIT_FAILURE;

    if (!map)
        return status;
    map->job = job;
    map->picture =
        (struct method_map){.rows_are = "",
                            .columns_are = "bytes of the vector, or of a block "
                                           "(K, M, G: powers of 1024)",
                            .legend_is = "method (dot: not RCX's own choice)",
                            .row_names = map->rows,
                            .column_names = map->columns,
                            .method_names = map->methods,
                            .cells = map->cells};
    if (rcx_tuning_open(&map->rules, heap, path, &refusal) == RCX_OK &&
        rcx_tuning_open(&map->own, heap, "", &refusal) == RCX_OK) {
        fill(map);
        status = method_map_svg(&map->picture, job->options.svg);
    } else {
        fprintf(stderr, "rcx_tune: %s: %s%s\n", path, refusal.valid,
                refusal.guess);
    }
    rcx_tuning_close(&map->rules, heap);
    rcx_tuning_close(&map->own, heap);
    free(map);
    return status;
}
