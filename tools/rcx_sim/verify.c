/* SPDX-License-Identifier: BSD-3-Clause */
/* rcx_sim verify: proves algorithms case by case, the smallest first, over the
 * same grid of cases as the proof suite. Stops at the first case that fails. */
#include "rcx_sim/rcx_sim.h"

#include <stdlib.h>
#include <string.h>

enum { COUNTS_MAX = 7 };

struct verification {
    const struct sim_options *o;
    unsigned long long *cases; /* number of proved cases, by method */
    int method;                /* index of the current method */
};

/* --inject: spoil a schedule. Its first reduce combines an operand with itself
 * in place of the other one. A schedule of a collective without reduces loses
 * its first step. */
static void spoil(struct rcx_builder *b, const struct rcx_shape *s, void *arg)
{
    (void)arg;
    if (!rcx_colls[s->coll].reduces && b->step_count > 0)
        memmove(b->steps, b->steps + 1, --b->step_count * sizeof *b->steps);
    for (uint32_t i = 0; i < b->step_count; i++) {
        struct rcx_step *step = &b->steps[i];

        if (step->kind != RCX_STEP_REDUCE)
            continue;
        step->right = step->left;
        step->right_at = step->left_at;
        return;
    }
}

static bool prove(struct verification *v, const struct proof_case *c)
{
    static const struct simulation_hooks spoiled = {.steps = spoil};
    const struct proof_options options = {.seed = 1 + (uint64_t)c->size,
                                          .runs = 2,
                                          .hooks =
                                              v->o->inject ? &spoiled : NULL,
                                          .heap = v->o->heap};
    struct proof_report report;

    if (!proof_applies(c))
        return true;
    if (!proof_prove(c, &options, &report)) {
        if (report.lacks_memory)
            sim_exit_without_memory();
        printf("%s\n", report.text);
        return false;
    }
    v->cases[v->method]++;
    return true;
}

static bool prove_places(struct verification *v, struct proof_case c)
{
    const int least = rcx_colls[c.algo->coll].reduces ? 0 : 1;

    for (int place = 0; place < PROOF_PLACES; place++) {
        c.place = (enum proof_place)place;
        if (!proof_has_place(&c, c.place))
            continue;
        for (int commutes = 1; commutes >= least; commutes--) {
            c.commutative = commutes;
            if (!prove(v, &c))
                return false;
        }
    }
    return true;
}

/* Prove the case with adjacent blocks, and with gaps between blocks. */
static bool prove_gaps(struct verification *v, struct proof_case c)
{
    const int kinds = rcx_colls[c.algo->coll].has_places ? PROOF_GAPS_ALL : 1;

    for (int gaps = 0; gaps < kinds; gaps++) {
        c.gaps = (enum proof_gaps)gaps;
        if (!prove_places(v, c))
            return false;
    }
    return true;
}

static bool prove_blocks(struct verification *v, struct proof_case c)
{
    const int kinds = rcx_coll_has_blocks(c.algo->coll) ? PROOF_BLOCKS : 1;

    for (int blocks = 0; blocks < kinds; blocks++) {
        c.blocks = (enum proof_blocks)blocks;
        if (!proof_has_blocks(&c, c.blocks))
            continue;
        if (!prove_gaps(v, c))
            return false;
    }
    return true;
}

static bool prove_roots(struct verification *v, struct proof_case c)
{
    const int roots[] = {0, 1, c.size - 1};
    const int n = !rcx_coll_is_rooted(c.algo->coll) ? 1
                  : c.size < 3                      ? c.size
                                                    : 3;

    c.root = v->o->root;
    if (c.root >= 0)
        return prove_blocks(v, c);
    for (int i = 0; i < n; i++) {
        c.root = roots[i];
        if (!prove_blocks(v, c))
            return false;
    }
    return true;
}

/* Store the counts to prove, ascending and distinct. Returns how many. */
static int counts_of(const struct sim_options *o, int size, size_t counts[])
{
    const size_t p = (size_t)size;
    const size_t candidates[COUNTS_MAX] = {0, 1, 2, p - 1, p, p + 1, 7 * p + 3};
    int n = 0;

    counts[0] = o->count;
    if (o->count != NO_COUNT)
        return 1;
    for (int i = 0; i < COUNTS_MAX; i++)
        if (n == 0 || candidates[i] > counts[n - 1])
            counts[n++] = candidates[i];
    return n;
}

/* Prove the case with the options' node map. Algorithms by nodes need one:
 * without --per-node they get maps of all kinds. */
static bool prove_maps(struct verification *v, struct proof_case c)
{
    if (!c.algo->is_by_nodes || v->o->per_node > 0) {
        c.map = sim_map_of(v->o);
        c.per_node = v->o->per_node;
        return prove_roots(v, c);
    }
    for (int map = PROOF_MAP_NONE + 1; map < PROOF_MAPS; map++) {
        c.map = (enum proof_map)map;
        if (!prove_roots(v, c))
            return false;
    }
    return true;
}

static bool prove_size(struct verification *v, int size)
{
    const struct sim_options *o = v->o;
    size_t counts[COUNTS_MAX];
    const int n = counts_of(o, size, counts);

    for (int i = 0; i < n; i++) {
        for (int k = 0; k < o->method_count; k++) {
            const struct sim_method *m = &o->methods[k];
            struct proof_case c = {
                .algo = m->algo, .size = size, .count = counts[i]};

            for (int j = 0; j < RCX_PARAMS; j++)
                c.params[j] = m->params[j];
            v->method = k;
            if (!prove_maps(v, c))
                return false;
        }
    }
    return true;
}

int sim_verify(const struct sim_options *o)
{
    struct verification v = {.o = o};
    unsigned long long all = 0;
    bool good = true;

    v.cases = sim_alloc(o, (size_t)o->method_count, sizeof *v.cases);
    for (int i = 0; i < o->size_count && good; i++)
        good = prove_size(&v, o->sizes[i]);
    for (int k = 0; k < o->method_count && good; k++) {
        char method[METHOD_TEXT];

        rcx_algo_print(o->methods[k].algo, o->methods[k].params, method,
                       sizeof method);
        printf("%s %s: %llu cases proved\n", rcx_coll_name(o->coll), method,
               v.cases[k]);
        all += v.cases[k];
    }
    if (good)
        printf("%llu cases proved in all\n", all);
    rcx_heap_free(o->heap, v.cases);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
