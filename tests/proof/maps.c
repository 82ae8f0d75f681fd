/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the maps of ranks to nodes for proofs (maps.h): in blocks, cyclic, in
 * intervals of different sizes, or random. A map is a function of kind, ranks
 * and ranks per node.
 */
#include "maps.h"

#include "core/base/hash.h"
#include "core/base/random.h"

enum { USUAL = 4, MOST = 5 };

const char *proof_map_name(enum proof_map map)
{
    static const char *const names[PROOF_MAPS] = {
        "no nodes", "blocks", "cyclic",       "intervals",
        "random",   "levels", "random levels"};

    return names[map];
}

/* Return the number of ranks per node: the largest divisor up to USUAL, else
 * USUAL. */
static int even_size(int ranks)
{
    for (int size = USUAL; size > 1; size--)
        if (ranks % size == 0)
            return size;
    return USUAL;
}

/* Whose ids are unique within a node, as caches of a machine are numbered. */
static struct rcx_nodes *map_levels(struct rcx_heap *heap, bool is_random,
                                    int ranks, int per_node)
{
    const int size = per_node > 0 ? per_node : 8;
    const uint64_t count = (uint64_t)((ranks + size - 1) / size);
    const size_t n = (size_t)ranks;
    uint64_t *ids = rcx_heap_alloc(heap, 3 * n * sizeof *ids), state = 5;
    const uint64_t *known[RCX_LEVELS] = {NULL};
    struct rcx_nodes *nodes = NULL;

    for (size_t i = 0; ids && i < n; i++) {
        const uint64_t at = i % (size_t)size;

        ids[i] = is_random ? rcx_random(&state) % count : i / (size_t)size;
        ids[n + i] = is_random ? rcx_random(&state) % 2 : at / 4;
        ids[2 * n + i] = is_random ? rcx_random(&state) % 3 : at / 2;
    }
    if (ids) {
        known[RCX_LEVEL_NODE] = ids;
        known[RCX_LEVEL_SOCKET] = ids + n;
        known[RCX_LEVEL_CACHE] = ids + 2 * n;
        rcx_nodes_map(heap, known, ranks, &nodes);
    }
    rcx_heap_free(heap, ids);
    /* too few ranks for levels */
    return nodes || !known[0] ? nodes
                              : proof_map_new(heap, PROOF_MAP_BLOCKS, ranks, 0);
}

struct rcx_nodes *proof_map_new(struct rcx_heap *heap, enum proof_map map,
                                int ranks, int per_node)
{
    const int size = per_node > 0 ? per_node : even_size(ranks);
    const int count = (ranks + size - 1) / size;
    uint64_t *ids, state = rcx_hash((uint64_t)map, (uint64_t)ranks);
    struct rcx_nodes *nodes = NULL;
    int left = 0;

    if (map == PROOF_MAP_NONE)
        return NULL;
    if (map == PROOF_MAP_LEVELS || map == PROOF_MAP_RANDOM_LEVELS)
        return map_levels(heap, map == PROOF_MAP_RANDOM_LEVELS, ranks,
                          per_node);
    ids = rcx_heap_alloc(heap, (size_t)ranks * sizeof *ids);
    for (int i = 0, id = 0; ids && i < ranks; i++) {
        switch (map) {
        case PROOF_MAP_BLOCKS: id = i / size; break;
        case PROOF_MAP_CYCLIC: id = i % count; break;
        case PROOF_MAP_RANDOM:
            id = (int)(rcx_random(&state) % (uint64_t)count);
            break;
        default:
            if (left-- == 0) {
                left = (int)(rcx_random(&state) % MOST);
                id++;
            }
        }
        ids[i] = rcx_hash(7, (uint64_t)id);
    }
    if (ids)
        nodes = rcx_nodes_create(heap, ids, ranks);
    rcx_heap_free(heap, ids);
    return nodes;
}
