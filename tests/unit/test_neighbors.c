/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_neighbor_alltoallv() on random graphs of 1 to 16 ranks, with several
 * edges between two ranks, edges to the own rank and empty blocks, over the
 * simulated network, whose messages arrive in any order. Then wrong lists, and
 * lists of ranks that do not match.
 */
#include "test.h"

#include <string.h>

#include "calls.h"
#include "capture.h"

enum { EDGES = 48, RANKS = 16, ROOM = EDGES * 8, LONGEST = 5 };

/* Edges of all ranks. The k-th edge from one rank to another is in the same
 * place of both ranks' lists, so one list serves both. */
struct graph {
    int n;
    int from[EDGES], to[EDGES];
    size_t count[EDGES];
};

/* A rank's lists, and its memory: the blocks lie in it in any order. */
struct side {
    size_t n;
    int ranks[EDGES];
    int edges[EDGES];
    size_t counts[EDGES], displs[EDGES];
};
struct member {
    struct side in, out;
    double memory[2 * ROOM];
};

static struct member members[RANKS];

static uint64_t dice(uint64_t *state, uint64_t sides)
{
    *state = serial_mix(*state, 1, 2);
    return *state % sides;
}

static struct graph graph_of(int size, uint64_t *state)
{
    struct graph g = {.n = (int)dice(state, EDGES + 1)};

    for (int i = 0; i < g.n; i++) {
        g.from[i] = (int)dice(state, (uint64_t)size);
        g.to[i] = (int)dice(state, (uint64_t)size);
        g.count[i] = (size_t)dice(state, LONGEST + 1);
    }
    return g;
}

static double number(int edge, size_t i, int turn)
{
    return 1000.0 * turn + 10.0 * edge + (double)i + 1;
}

static void add(struct side *s, int rank, int edge, size_t count, size_t *at)
{
    s->ranks[s->n] = rank;
    s->edges[s->n] = edge;
    s->counts[s->n] = count;
    s->displs[s->n++] = *at;
    *at += count + 1; /* a gap, which must stay as it is */
}

/* Blocks that are sent and received lie between each other. */
static void open_member(struct member *m, const struct graph *g, int rank)
{
    size_t at = 1;

    memset(m, 0, sizeof *m);
    for (int i = 0; i < g->n; i++) {
        if (g->to[i] == rank)
            add(&m->out, g->from[i], i, g->count[i], &at);
        if (g->from[i] == rank)
            add(&m->in, g->to[i], i, g->count[i], &at);
    }
}

static void fill(struct member *m, int turn)
{
    for (size_t i = 0; i < 2 * ROOM; i++)
        m->memory[i] = -1;
    for (size_t k = 0; k < m->in.n; k++)
        for (size_t i = 0; i < m->in.counts[k]; i++)
            m->memory[m->in.displs[k] + i] = number(m->in.edges[k], i, turn);
}

static void check(const struct member *m, int turn)
{
    struct member expected = *m;

    fill(&expected, turn);
    for (size_t k = 0; k < m->out.n; k++)
        for (size_t i = 0; i < m->out.counts[k]; i++)
            expected.memory[m->out.displs[k] + i] =
                number(m->out.edges[k], i, turn);
    assert_memory_equal(m->memory, expected.memory, sizeof m->memory);
}

static rcx_status_t make(struct member *m, bool persistent, rcx_comm_t *comm,
                         rcx_request_t **request_p)
{
    return (persistent ? rcx_neighbor_alltoallv_init : rcx_ineighbor_alltoallv)(
        m->memory, m->in.n, m->in.ranks, m->in.counts, m->in.displs, m->memory,
        m->out.n, m->out.ranks, m->out.counts, m->out.displs, RCX_FLOAT64, comm,
        request_p);
}

static void run(struct job *job, const struct graph *g, bool persistent)
{
    rcx_request_t *requests[RANKS];

    for (int rank = 0; rank < job->size; rank++) {
        open_member(&members[rank], g, rank);
        fill(&members[rank], 0);
        assert_ok(make(&members[rank], persistent, world_of(job, rank),
                       &requests[rank]));
    }
    for (int turn = 0; turn < (persistent ? 3 : 1); turn++) {
        for (int rank = 0; persistent && rank < job->size; rank++) {
            fill(&members[rank], turn);
            assert_ok(rcx_start(requests[rank]));
        }
        assert_ok(job_wait(job, requests));
        for (int rank = 0; rank < job->size; rank++)
            check(&members[rank], turn);
    }
    for (int rank = 0; rank < job->size; rank++)
        assert_ok(rcx_request_free(&requests[rank]));
}

static void every_block_of_random_graphs_arrives(void **unused)
{
    (void)unused;
    for (int size = 1; size <= RANKS; size++) {
        uint64_t state = (uint64_t)size;
        struct job job;

        assert_ok(job_open(&job, size, &(struct job_options){.seed = state}));
        for (int i = 0; i < 24; i++) {
            const struct graph g = graph_of(size, &state);

            run(&job, &g, i % 2);
        }
        assert_ok(job_close(&job));
    }
}

static void settings_of_alltoallv_do_not_break_it(void **unused)
{
    static const char *const settings[] = {"pairwise", "bruck",
                                           "linear:segment=8,posted=1", NULL};
    uint64_t state = 7;

    (void)unused;
    for (int i = 0; settings[i]; i++) {
        struct graph g = graph_of(5, &state);
        struct job job;

        g.n = EDGES / 2;
        open_with(&job, 5, "RCX_ALLTOALLV", settings[i],
                  &(struct job_options){.seed = 3});
        run(&job, &g, true);
        assert_ok(job_close(&job));
    }
}

/* A ring: what goes to one side comes from the other one, on any number. */
static void opposite_lists_suit_a_ring_of_any_width(void **unused)
{
    static const size_t ones[] = {1, 1};

    (void)unused;
    for (int size = 1; size <= 4; size++) {
        rcx_request_t *requests[4];
        double in[4][2], out[4][2];
        struct job job;

        assert_ok(job_open(&job, size, &(struct job_options){.seed = 1}));
        for (int rank = 0; rank < size; rank++) {
            const int left = (rank + size - 1) % size;
            const int right = (rank + 1) % size;

            in[rank][0] = 10 * rank;     /* to the left */
            in[rank][1] = 10 * rank + 1; /* to the right */
            assert_ok(rcx_ineighbor_alltoallv(
                in[rank], 2, (int[]){left, right}, ones, NULL, out[rank], 2,
                (int[]){right, left}, ones, NULL, RCX_DOUBLE,
                world_of(&job, rank), &requests[rank]));
        }
        assert_ok(job_wait(&job, requests));
        for (int rank = 0; rank < size; rank++) {
            assert_true(out[rank][0] == 10 * ((rank + 1) % size));
            assert_true(out[rank][1] == 10 * ((rank + size - 1) % size) + 1);
            assert_ok(rcx_request_free(&requests[rank]));
        }
        assert_ok(job_close(&job));
    }
}

/* ---- Errors -------------------------------------------------------------- */

struct wrong {
    const char *text;
    int dests[2], sources[2];
    size_t sendcounts[2], senddispls[2], recvcounts[2], recvdispls[2];
    bool same; /* one buffer */
};

/* clang-format off */
static const struct wrong wrongs[] = {
    {"dests[1]=2: needs 0..1", {0, 2}, {0, 1}, {1, 1}, {0, 1}, {1, 1}, {0, 1}, false},
    {"sources[0]=-1: needs 0..1", {0, 1}, {-1, 1}, {1, 1}, {0, 1}, {1, 1}, {0, 1}, false},
    {"not as often in dests as in sources", {0, 1}, {1, 1}, {1, 1}, {0, 1}, {1, 1}, {0, 1}, false},
    {"sendcounts[0]=1, recvcounts[0]=2", {0, 1}, {0, 1}, {1, 1}, {0, 1}, {2, 1}, {0, 2}, false},
    {"blocks 0 and 1 of recvbuf overlap", {1, 1}, {1, 1}, {1, 1}, {0, 1}, {2, 2}, {0, 1}, false},
    {"block 0 of sendbuf and block 1 of recvbuf overlap", {1, 1}, {1, 1}, {2, 2}, {0, 2}, {1, 2}, {5, 1}, true},
    {"overflows size_t", {1, 1}, {1, 1}, {SIZE_MAX, 2}, {0, 0}, {1, 1}, {0, 1}, false},
};
/* clang-format on */

static void wrong_lists_are_refused(void **unused)
{
    rcx_request_t *request = NULL;
    double a[8] = {0}, b[8];
    struct capture c = {.asks_for_name = true};
    struct job job;

    (void)unused;
    assert_ok(job_open(&job, 2, &(struct job_options){.seed = 1}));
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        const struct wrong *w = &wrongs[i];

        assert_refused(&c,
                       rcx_ineighbor_alltoallv(a, 2, w->dests, w->sendcounts,
                                               w->senddispls, w->same ? a : b,
                                               2, w->sources, w->recvcounts,
                                               w->recvdispls, RCX_DOUBLE,
                                               world_of(&job, 0), &request),
                       RCX_ERR_ARG, w->text);
    }
    assert_refused(&c,
                   rcx_ineighbor_alltoallv(RCX_IN_PLACE, 0, NULL, NULL, NULL, b,
                                           0, NULL, NULL, NULL, RCX_DOUBLE,
                                           world_of(&job, 0), &request),
                   RCX_ERR_ARG, "sendbuf=RCX_IN_PLACE");
    assert_refused(&c,
                   rcx_ineighbor_alltoallv(a, 1, NULL, NULL, NULL, b, 0, NULL,
                                           NULL, NULL, RCX_DOUBLE,
                                           world_of(&job, 0), &request),
                   RCX_ERR_ARG, "dests=NULL");
    assert_null(request);
    assert_ok(job_close(&job));
}

/* Rank 0 sends more than rank 1 receives; or rank 1 lists no source at all. */
static void full_check_compares_what_neighbours_send_and_receive(void **unused)
{
    static const size_t sent[] = {3}, received[] = {2};

    (void)unused;
    for (int lacks = 0; lacks < 2; lacks++) {
        rcx_request_t *requests[3];
        double a[3] = {0}, b[3] = {-1, -1, -1};
        struct capture c;
        struct job job;

        open_with(&job, 3, "RCX_CHECK", "full", NULL);
        assert_ok(rcx_ineighbor_alltoallv(a, 1, (int[]){1}, sent, NULL, NULL, 0,
                                          NULL, NULL, NULL, RCX_DOUBLE,
                                          world_of(&job, 0), &requests[0]));
        assert_ok(rcx_ineighbor_alltoallv(
            NULL, 0, NULL, NULL, NULL, b, !lacks, (int[]){0}, received, NULL,
            RCX_DOUBLE, world_of(&job, 1), &requests[1]));
        assert_ok(rcx_ineighbor_alltoallv(NULL, 0, NULL, NULL, NULL, NULL, 0,
                                          NULL, NULL, NULL, RCX_DOUBLE,
                                          world_of(&job, 2), &requests[2]));
        capture_begin(&c);
        assert_int_equal(job_wait(&job, requests), RCX_ERR_MISMATCH);
        capture_end(&c);
        assert_non_null(strstr(c.text, "neighbours receive"));
        assert_true(b[0] == -1);
        for (int rank = 0; rank < 3; rank++) {
            assert_int_equal(rcx_wait(requests[rank]), RCX_ERR_MISMATCH);
            assert_ok(rcx_request_free(&requests[rank]));
        }
        assert_ok(job_close(&job));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_of_random_graphs_arrives),
        cmocka_unit_test(settings_of_alltoallv_do_not_break_it),
        cmocka_unit_test(opposite_lists_suit_a_ring_of_any_width),
        cmocka_unit_test(wrong_lists_are_refused),
        cmocka_unit_test(full_check_compares_what_neighbours_send_and_receive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
