/* SPDX-License-Identifier: BSD-3-Clause */
/* Translates a proof case to a simulated call: blocks, places, aliases and node
 * maps of all ranks. prove.c runs and checks the call; grid.c chooses the
 * cases. */
#include <string.h>

#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/sched/params.h"
#include "prove.h"

static size_t random_count(const struct proof_case *c, int i)
{
    uint64_t state = rcx_hash((uint64_t)c->size, (uint64_t)i);
    const uint64_t random = rcx_random(&state);

    return random % 3 == 0 ? 0 : (size_t)(random / 3 % 25);
}

static size_t block_count(const struct proof_case *c, int i)
{
    const size_t n = (size_t)c->size, at = (size_t)i;

    switch (c->blocks) {
    case PROOF_MOD_3: return at % 3;
    case PROOF_ONE: return i == c->size / 2 ? c->count : 0;
    case PROOF_HUGE: return i == c->size / 2 ? c->count : 1;
    case PROOF_RANDOM: return random_count(c, i);
    default: return c->count / n + (at < c->count % n);
    }
}

static size_t *displs_of(const struct proof_case *c, struct rcx_heap *heap)
{
    size_t *displs =
        rcx_heap_alloc(heap, ((size_t)c->size + 1) * sizeof *displs);

    if (!displs)
        return NULL;
    displs[0] = 0;
    for (int i = 0; i < c->size; i++)
        displs[i + 1] = displs[i] + block_count(c, i);
    return displs;
}

static bool allows(const struct proof_case *c, enum rcx_alias alias)
{
    return rcx_coll_allows(c->algo->coll, alias);
}

bool proof_has_place(const struct proof_case *c, enum proof_place place)
{
    switch (place) {
    case PROOF_APART: return true;
    case PROOF_IN_PLACE: return allows(c, RCX_ALIAS_SAME);
    case PROOF_IN_BLOCK:
        return allows(c, RCX_ALIAS_BLOCK) || allows(c, RCX_ALIAS_OWN);
    default: return !rcx_coll_is_rooted(c->algo->coll);
    }
}

/* Return the alias of rank i, as the API would detect it. */
static enum rcx_alias alias_of(const struct proof_case *c, int i)
{
    enum proof_place place = c->place;

    if (!rcx_coll_gives(c->algo->coll, i, c->root) ||
        !rcx_coll_gets(c->algo->coll, i, c->root))
        return RCX_ALIAS_NONE;
    if (place == PROOF_MIXED)
        place = (enum proof_place)(
            (i + 1) % (proof_has_place(c, PROOF_IN_BLOCK) ? 3 : 2));
    if (place == PROOF_IN_PLACE && !allows(c, RCX_ALIAS_SAME))
        place = PROOF_IN_BLOCK;
    if (place == PROOF_IN_BLOCK && block_count(c, i) == 0)
        place = PROOF_APART;
    if (place == PROOF_IN_BLOCK)
        return allows(c, RCX_ALIAS_OWN) ? RCX_ALIAS_OWN : RCX_ALIAS_BLOCK;
    return place == PROOF_APART ? RCX_ALIAS_NONE : RCX_ALIAS_SAME;
}

/* ---- Data that differs between ranks ------------------------------------- */

enum { SIDES = RCX_BUFFER_OUT + 1 };

struct own {
    struct proof_case c;
    size_t *displs[SIDES]; /* size + 1 for each rank, if counts are local */
    size_t *starts[SIDES]; /* size for each rank, if blocks have places */
    size_t *passing;       /* passing_count for each rank, if blocks pass on */
    size_t passing_count;
};

/* Return the length of block k of a rank's buffer. With local counts, two ranks
 * exchange blocks of equal length in place, as rcx.h requires, and of different
 * lengths otherwise. */
static size_t own_count(const struct proof_case *c, int side, int rank, int k)
{
    const int far = c->place == PROOF_APART ? 2 : 1;

    if (!proof_coll(c)->is_local)
        return block_count(c, k);
    return block_count(c, side == RCX_BUFFER_IN ? (rank + far * k) % c->size
                                                : (k + far * rank) % c->size);
}

static void fill_own_displs(struct own *o, int side, int rank)
{
    size_t *displs = o->displs[side] + (size_t)rank * ((size_t)o->c.size + 1);

    displs[0] = 0;
    for (int k = 0; k < o->c.size; k++)
        displs[k + 1] = displs[k] + own_count(&o->c, side, rank, k);
}

static void fill_own_starts(struct own *o, int side, int rank)
{
    const int size = o->c.size;
    const bool reversed = o->c.gaps == PROOF_REVERSED && rank % 2;
    size_t *starts = o->starts[side] + (size_t)rank * (size_t)size, at = 0;

    for (int i = 0; i < size; i++) {
        const int k = reversed ? size - 1 - i : i;

        starts[k] = at;
        at += own_count(&o->c, side, rank, k) + 1;
    }
}

/* Store the lengths of all blocks that rank receives, in the order of Bruck's
 * algorithm: digit by digit of a block's distance, highest digit first. first
 * is the largest power of radix that a distance may have. */
static void fill_passing(struct own *o, int rank, int radix, int first)
{
    size_t *passing = o->passing + (size_t)rank * o->passing_count;
    const int p = o->c.size;

    for (int weight = first; weight > 0; weight /= radix)
        for (int digit = 1; digit < radix; digit++)
            for (int way = 1; way < p; way++) {
                const int done = way / weight * weight;
                const int giver = (rank + p - done) % p;

                if (way / weight % radix == digit)
                    *passing++ = own_count(&o->c, RCX_BUFFER_IN, giver,
                                           (giver + way) % p);
            }
}

/* Count the digits other than 0 of all distances. Store the largest power of
 * radix that a distance may have in *first. */
static size_t count_moves(int p, int radix, int *first)
{
    size_t moves = 0;

    for (*first = 1; *first <= (p - 1) / radix;)
        *first *= radix;
    for (int way = 1; way < p; way++)
        for (int rest = way; rest > 0; rest /= radix)
            moves += rest % radix > 0;
    return moves;
}

/* Every algorithm that passes blocks on does so by Bruck's steps. False: no
 * memory. */
static bool fill_all_passing(struct own *o, const struct rcx_shape *s,
                             struct rcx_heap *heap)
{
    const int p = o->c.size, most = p > 2 ? p : 2;
    const int radix = s->params[0] < most ? (int)s->params[0] : most;
    int first;

    if (!o->c.algo->passing || p == 1)
        return true;
    o->passing_count = count_moves(p, radix, &first);
    o->passing =
        rcx_heap_alloc(heap, (size_t)p * o->passing_count * sizeof *o->passing);
    for (int r = 0; r < p && o->passing; r++)
        fill_passing(o, r, radix, first);
    return o->passing != NULL;
}

/* False: no memory. */
static bool fill_own(struct own *o, struct rcx_heap *heap)
{
    const size_t n = (size_t)o->c.size;

    for (int side = 0; side < SIDES; side++) {
        if (proof_coll(&o->c)->is_local) {
            o->displs[side] =
                rcx_heap_alloc(heap, n * (n + 1) * sizeof(size_t));
            for (int r = 0; r < o->c.size && o->displs[side]; r++)
                fill_own_displs(o, side, r);
            if (!o->displs[side])
                return false;
        }
        if (o->c.gaps != PROOF_SIDE_BY_SIDE) {
            o->starts[side] = rcx_heap_alloc(heap, n * n * sizeof(size_t));
            for (int r = 0; r < o->c.size && o->starts[side]; r++)
                fill_own_starts(o, side, r);
            if (!o->starts[side])
                return false;
        }
    }
    return true;
}

static void free_own(struct own *o, struct rcx_heap *heap)
{
    for (int side = 0; o && side < SIDES; side++) {
        rcx_heap_free(heap, o->displs[side]);
        rcx_heap_free(heap, o->starts[side]);
    }
    if (o)
        rcx_heap_free(heap, o->passing);
    rcx_heap_free(heap, o);
}

static struct rcx_places places_of(const struct own *o, int side, int rank)
{
    const size_t n = (size_t)o->c.size;
    struct rcx_places places = {.starts = o->starts[side] + (size_t)rank * n};

    for (int k = 0; k < o->c.size; k++) {
        const size_t end = places.starts[k] + own_count(&o->c, side, rank, k);

        if (end > places.reach)
            places.reach = end;
    }
    return places;
}

static void localize(struct rcx_shape *s, void *arg)
{
    const struct own *o = arg;
    const size_t row = (size_t)s->rank * ((size_t)s->size + 1);

    if (o->displs[0]) {
        s->displs = o->displs[RCX_BUFFER_IN] + row;
        s->gotten = o->displs[RCX_BUFFER_OUT] + row;
        s->count = s->displs[s->size];
    }
    if (o->passing)
        s->passing = o->passing + (size_t)s->rank * o->passing_count;
    if (!o->starts[0] || (o->c.gaps == PROOF_REVERSED && s->rank % 2 == 0 &&
                          s->alias != RCX_ALIAS_SAME))
        return;
    if (rcx_coll_in_is_blocks(s->coll) &&
        rcx_coll_gives(s->coll, s->rank, s->root))
        s->in_places = places_of(o, RCX_BUFFER_IN, s->rank);
    if (rcx_coll_out_is_blocks(s->coll) &&
        rcx_coll_gets(s->coll, s->rank, s->root))
        s->out_places = places_of(o, RCX_BUFFER_OUT, s->rank);
}

/* ---- The call ------------------------------------------------------------ */

/* Set the starts of irregular blocks. */
static void cut(const struct proof_case *c, struct simulated_call *call)
{
    size_t *displs = displs_of(c, call->heap);

    if (displs)
        call->shape.count = displs[c->size];
    else
        call->algo = NULL;
    call->shape.displs = displs;
}

/* Set blocks and places that differ between ranks. */
static void make_own(const struct proof_case *c, struct simulated_call *call)
{
    struct own *o = rcx_heap_zalloc(call->heap, sizeof *o);

    if (!o) {
        call->algo = NULL;
        return;
    }
    o->c = *c;
    call->localize = localize;
    call->localize_arg = o;
    if (!fill_own(o, call->heap))
        call->algo = NULL;
}

static void set_blocks(const struct proof_case *c, struct simulated_call *call)
{
    const struct rcx_coll_row *coll = proof_coll(c);
    const size_t size = (size_t)c->size;

    if (!rcx_coll_has_blocks(c->algo->coll))
        return;
    if (coll->is_local || c->gaps != PROOF_SIDE_BY_SIDE)
        make_own(c, call);
    if (coll->is_local || !proof_has_blocks(c, PROOF_MOD_3))
        call->shape.count -= call->shape.count % size;
    else if (c->blocks != PROOF_EQUAL || c->count % size != 0)
        cut(c, call);
}

struct simulated_call proof_call_of(const struct proof_case *c,
                                    struct rcx_heap *heap)
{
    enum rcx_alias *alias =
        rcx_heap_alloc(heap, (size_t)c->size * sizeof *alias);
    struct simulated_call call = {
        .algo = alias ? c->algo : NULL,
        .alias = alias,
        .heap = heap,
        .layout = RCX_TAG_LAYOUT,
        .frame = c->frame,
        .shape = {.coll = c->algo->coll,
                  .size = c->size,
                  .root = c->root,
                  .count = c->count,
                  .elem_bytes = proof_atoms.elem_bytes,
                  .commutative = c->commutative}};

    call.shape.nodes = proof_map_new(heap, c->map, c->size, c->per_node);
    if (c->map != PROOF_MAP_NONE && !call.shape.nodes)
        call.algo = NULL;
    for (int i = 0; alias && i < c->size; i++)
        alias[i] = alias_of(c, i);
    if (c->narrow)
        call.layout.message_bits = 2;
    call.acks = c->narrow; /* acknowledgements have no stated cost */
    set_blocks(c, &call);
    memcpy(call.shape.params, c->params, sizeof call.shape.params);
    rcx_params_settle(c->algo, &call.shape);
    if (call.algo && call.localize_arg &&
        !fill_all_passing(call.localize_arg, &call.shape, heap))
        call.algo = NULL;
    return call;
}

void proof_call_free(struct simulated_call *call)
{
    free_own(call->localize_arg, call->heap);
    rcx_heap_free(call->heap, (void *)call->alias);
    rcx_heap_free(call->heap, (void *)call->shape.displs);
    rcx_nodes_free(call->heap, (void *)call->shape.nodes);
}

/* Blocks of alltoall are equal: alltoallv, with other blocks, is another
 * collective. */
bool proof_has_blocks(const struct proof_case *c, enum proof_blocks blocks)
{
    const struct rcx_coll_row *coll = proof_coll(c);

    return blocks == PROOF_EQUAL || coll->is_local ||
           !(coll->gives == RCX_EXTENT_BLOCKS &&
             coll->gets == RCX_EXTENT_BLOCKS);
}

bool proof_applies(const struct proof_case *c)
{
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct simulated_call call = proof_call_of(c, &heap);
    const bool applies =
        !call.algo ||
        (rcx_algo_fits(c->algo, &call.shape) &&
         (c->commutative ||
          rcx_algo_order(c->algo, &call.shape) >= RCX_ORDER_RANK));

    proof_call_free(&call);
    return applies;
}

bool proof_same_schedules(const struct proof_case *a,
                          const struct proof_case *b)
{
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct simulated_call call = proof_call_of(a, &heap);
    struct simulated_call other = proof_call_of(b, &heap);
    const bool same = rcx_algo_order(a->algo, &call.shape) ==
                          rcx_algo_order(b->algo, &other.shape) &&
                      simulation_same_steps(&call, &other);

    proof_call_free(&call);
    proof_call_free(&other);
    return same;
}
