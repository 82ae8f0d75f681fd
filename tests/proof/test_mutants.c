/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shows that proofs can fail: of every algorithm, each schedule with one
 * mistake is either caught, or shown to be equivalent to the correct one. One
 * test per algorithm of the registry.
 *
 * test_mutants [NAME]: only the algorithms called NAME.
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/sched/params.h"
#include "grid.h"
#include "mutants.h"

enum { SCHEDULES_MAX = 64 };

struct tally {
    /* cases of the current size and place whose mutants were tried */
    struct proof_case known[SCHEDULES_MAX];
    int known_count;
    unsigned schedules, tried[MUTATIONS], equivalent[MUTATIONS],
        excused[EXCUSES];
};

static uint32_t step_count_of(const struct proof_case *c, int rank,
                              uint32_t *edges_p)
{
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct simulated_call call = proof_call_of(c, &heap);
    struct simulation s;
    uint32_t steps = 0;

    *edges_p = 0;
    if (simulation_open(&s, &call)) {
        const struct rcx_plan *plan = s.ranks[rank].plan;

        steps = plan->step_count;
        for (uint32_t i = 0; i < steps; i++)
            if (*edges_p < plan->steps[i].successor_count)
                *edges_p = plan->steps[i].successor_count;
    }
    simulation_close(&s);
    proof_call_free(&call);
    return steps;
}

static void fail_missed(const struct proof_case *c, const struct mutant *m)
{
    char method[128];

    rcx_algo_print(c->algo, c->params, method, sizeof method);
    fail_msg("%s %s: p=%d count=%zu root=%d place %d: rank %d, step %u, "
             "edge %u: %s is not noticed",
             rcx_coll_name(c->algo->coll), method, c->size, c->count, c->root,
             c->place, m->rank, m->at, m->edge, mutation_name(m->mutation));
}

static void try(const struct proof_case *c, const struct mutant *m,
                struct tally *tally)
{
    const struct verdict_of v = mutant_try(c, m);

    if (v.verdict == MUTANT_NONE)
        return;
    if (v.verdict == MUTANT_MISSED)
        fail_missed(c, m);
    tally->tried[m->mutation]++;
    if (v.verdict == MUTANT_EQUIVALENT) {
        tally->equivalent[m->mutation]++;
        tally->excused[v.excuse]++;
    }
}

static void try_all(const struct proof_case *c, struct tally *tally)
{
    for (int rank = 0; rank < c->size; rank++) {
        uint32_t edges;
        const uint32_t steps = step_count_of(c, rank, &edges);

        for (uint32_t at = 0; at < steps; at++) {
            struct mutant m = {.rank = rank, .at = at};

            for (int k = 0; k < MUTATION_CLEAR_EDGE; k++) {
                m.mutation = (enum mutation)k;
                try(c, &m, tally);
            }
            m.mutation = MUTATION_CLEAR_EDGE;
            for (m.edge = 0; m.edge < edges; m.edge++)
                try(c, &m, tally);
        }
    }
}

static bool is_known(const struct proof_case *c, const struct tally *tally)
{
    for (int i = 0; i < tally->known_count; i++)
        if (proof_same_schedules(c, &tally->known[i]))
            return true;
    return false;
}

/* Try all combinations of the values of parameters i and up. */
static void try_params(struct proof_case c, int i, struct tally *tally)
{
    const struct rcx_param *p = c.algo->params;

    if (i < RCX_PARAMS && p && p[i].name) {
        for (int k = 0; proof_param_value(&p[i], k, &c.params[i]); k++)
            try_params(c, i + 1, tally);
    } else if (proof_applies(&c) && !is_known(&c, tally)) {
        assert_true(tally->known_count < SCHEDULES_MAX);
        tally->known[tally->known_count++] = c;
        tally->schedules++;
        try_all(&c, tally);
    }
}

static void print_tally(const struct rcx_algo *algo, const struct tally *tally)
{
    print_message("# %s %s: %u schedules,", rcx_coll_name(algo->coll),
                  algo->name, tally->schedules);
    for (int k = 0; k < MUTATIONS; k++)
        print_message(" %s %u/%u,", mutation_name((enum mutation)k),
                      tally->tried[k] - tally->equivalent[k], tally->tried[k]);
    print_message(" caught; accepted:");
    for (int k = 0; k < EXCUSES; k++)
        if (tally->excused[k])
            print_message(" %u %s,", tally->excused[k],
                          excuse_name((enum excuse)k));
    print_message("\n");
}

/* More nodes than ranks of a node, so that there are two rounds between nodes,
 * the second one incomplete. */
static void try_rounds_between_nodes(const struct rcx_algo *algo,
                                     struct tally *tally)
{
    const struct proof_case c = {.algo = algo,
                                 .size = 12,
                                 .root = 5,
                                 .count = rcx_coll_has_blocks(algo->coll) ? 12
                                          : rcx_coll_has_data(algo->coll) ? 1
                                                                          : 0,
                                 .map = PROOF_MAP_BLOCKS,
                                 .per_node = 2,
                                 .commutative = true};

    tally->known_count = 0;
    try_params(c, 0, tally);
}

static void mutants_are_caught(void **state)
{
    static const int sizes[] = {2, 3, 5, 6};
    const struct rcx_algo *algo = *state;
    struct tally tally = {0};

    for (int i = 0; i < 4; i++) {
        for (int place = 0; place < 2; place++) {
            const size_t size = (size_t)sizes[i];
            struct proof_case c = {
                .algo = algo,
                .size = sizes[i],
                .root = sizes[i] / 2,
                .count = rcx_coll_has_data(algo->coll) ? 2 * size + 1 : 0,
                .place = (enum proof_place)place,
                .map = algo->is_by_nodes ? PROOF_MAP_INTERVALS : PROOF_MAP_NONE,
                .commutative = true};

            tally.known_count = 0;
            try_params(c, 0, &tally);
            c.map = PROOF_MAP_BLOCKS; /* with nodes of one size */
            c.per_node = 2;
            if (algo->is_by_nodes)
                try_params(c, 0, &tally);
        }
    }
    if (strcmp(algo->name, "multi_object") == 0)
        try_rounds_between_nodes(algo, &tally);
    print_tally(algo, &tally);
    assert_true(tally.tried[MUTATION_DROP_STEP] > 0);
}

static struct CMUnitTest test_of(const struct rcx_algo *algo)
{
    char name[128];

    snprintf(name, sizeof name, "%s %s: mutants are caught",
             rcx_coll_name(algo->coll), algo->name);
    return (struct CMUnitTest){.name = strdup(name),
                               .test_func = mutants_are_caught,
                               .initial_state = (void *)algo};
}

int main(int argc, char **argv)
{
    struct CMUnitTest *tests;
    size_t n = 0, known = 0;
    int failures;

    while (rcx_algo_table[known])
        known++;
    tests = calloc(known, sizeof *tests);
    for (size_t i = 0; i < known; i++)
        if (argc < 2 || strcmp(argv[1], rcx_algo_table[i]->name) == 0)
            tests[n++] = test_of(rcx_algo_table[i]);
    /* cmocka's macro for this call accepts arrays only */
    failures = _cmocka_run_group_tests("mutants", tests, n, NULL, NULL);
    for (size_t i = 0; i < n; i++)
        free((char *)tests[i].name);
    free(tests);
    return failures;
}
