/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remembers which phase is the cheapest. All ranks of a case ask for the same
 * phases, and cases of one size as well; without this, choosing takes two
 * thirds of the time of all proofs. Programs that are linked with it and
 * -Wl,--wrap=rcx_phase_cheapest ask it first. One answer in EVERY is compared
 * with a new one, so it is also a test that the choice depends on nothing else:
 * not on the rank, and not on an earlier choice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/sched/algo.h"

enum { ENTRIES = 1 << 16, EVERY = 32 };

/* All that the choice depends on; maps by their contents. */
struct key {
    uint64_t size, count, elem_bytes, longest, nodes, inner;
    int coll, needed, commutative, crosses, leaders, beside, alike, cores;
    double segments;
    uint64_t window;
};

static struct entry {
    struct key key;
    const struct rcx_algo *algo; /* NULL: no entry */
    int64_t params[RCX_PARAMS];
    int level; /* of the map that it divides by, or -1 */
} * entries;
static unsigned asked;

typedef struct rcx_phase choose(enum rcx_coll coll, rcx_order_t needed,
                                const struct rcx_shape *outer, int size,
                                size_t count, struct rcx_scope scope);
choose __real_rcx_phase_cheapest, __wrap_rcx_phase_cheapest;

static uint64_t of_map(uint64_t hash, const struct rcx_nodes *n)
{
    hash = rcx_hash(hash, (uint64_t)n->level << 32 | (unsigned)n->count);
    for (int i = 0; i < n->first[n->count]; i++)
        hash = rcx_hash(hash, (unsigned)n->node[i]);
    return n->outer ? of_map(hash, n->outer) : hash;
}

/* Of a map, and of all levels of its ranks. */
static uint64_t of_maps(const struct rcx_nodes *n)
{
    uint64_t hash = 1;

    if (!n)
        return 0;
    for (const struct rcx_nodes *at = n; at; at = at->coarser)
        hash = of_map(hash, at);
    for (const struct rcx_nodes *at = n->finer; at; at = at->finer)
        hash = of_map(hash + 1, at);
    return hash;
}

static struct key key_of(enum rcx_coll coll, rcx_order_t needed,
                         const struct rcx_shape *outer, int size, size_t count,
                         const struct rcx_scope *scope)
{
    struct key key;

    memset(&key, 0, sizeof key); /* padding is compared */
    key.size = (uint64_t)size;
    key.count = count;
    key.elem_bytes = outer->elem_bytes;
    key.longest = scope->longest;
    key.nodes = of_maps(scope->nodes);
    key.inner = of_maps(scope->inner);
    key.coll = coll;
    key.needed = needed;
    key.commutative = outer->commutative;
    key.crosses = scope->crosses;
    key.leaders = scope->leaders;
    key.beside = scope->beside;
    key.alike = scope->alike;
    key.cores = outer->cores;
    key.segments = outer->segments;
    key.window = outer->window;
    return key;
}

static struct entry *entry_of(const struct key *key)
{
    uint64_t words[sizeof *key / sizeof(uint64_t)], hash = 1;

    _Static_assert(sizeof *key % sizeof(uint64_t) == 0, "no rest");
    if (!entries)
        entries = calloc(ENTRIES, sizeof *entries);
    if (!entries)
        abort();
    memcpy(words, key, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = rcx_hash(hash, words[i]);
    return &entries[hash % ENTRIES];
}

static void keep(struct entry *e, const struct key *key,
                 const struct rcx_phase *phase)
{
    *e = (struct entry){
        .key = *key,
        .algo = phase->algo,
        .level = phase->scope.nodes ? (int)phase->scope.nodes->level : -1};
    memcpy(e->params, phase->params, sizeof e->params);
}

static struct rcx_phase phase_of(const struct entry *e, size_t count,
                                 struct rcx_scope scope)
{
    struct rcx_phase phase = {.algo = e->algo, .scope = scope};

    phase.scope.nodes =
        e->level < 0 ? NULL
                     : rcx_nodes_at(scope.nodes, (enum rcx_level)e->level);
    phase.scope.longest = count;
    memcpy(phase.params, e->params, sizeof phase.params);
    return phase;
}

static bool are_equal(const struct rcx_phase *a, const struct rcx_phase *b)
{
    return a->algo == b->algo && a->root == b->root && a->displs == b->displs &&
           memcmp(a->params, b->params, sizeof a->params) == 0 &&
           a->scope.nodes == b->scope.nodes &&
           a->scope.inner == b->scope.inner &&
           a->scope.longest == b->scope.longest;
}

struct rcx_phase __wrap_rcx_phase_cheapest(enum rcx_coll coll,
                                           rcx_order_t needed,
                                           const struct rcx_shape *outer,
                                           int size, size_t count,
                                           struct rcx_scope scope)
{
    const struct key key = key_of(coll, needed, outer, size, count, &scope);
    struct entry *e = entry_of(&key);
    const bool is_known =
        e->algo && memcmp(&e->key, &key, sizeof key) == 0 && !outer->machine;
    struct rcx_phase known, phase;

    if (is_known)
        known = phase_of(e, count, scope);
    if (is_known && ++asked % EVERY)
        return known;
    phase = __real_rcx_phase_cheapest(coll, needed, outer, size, count, scope);
    if (is_known && !are_equal(&known, &phase)) {
        fprintf(stderr, "the phase of %s for %d ranks was %s, and is %s\n",
                rcx_coll_name(coll), size, known.algo->name, phase.algo->name);
        abort();
    }
    if (!outer->machine)
        keep(e, &key, &phase);
    return phase;
}
