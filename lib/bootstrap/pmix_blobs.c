/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts and gets published blobs: one value per rank, or one per node, which
 * packs the blobs of its ranks. The caller runs the fence between.
 */
#include "bootstrap/pmix_blobs.h"

#include <stdio.h>
#include <string.h>

#include "bootstrap/parts.h"
#include "bootstrap/pmix_fence.h"

/* Up to PUT_BY_EACH ranks each put their own blob, which is faster than waiting
 * for the other ranks of the node. */
enum { PUT_BY_EACH = 8, UNKNOWN = -1 };

struct rcx_pmix_blob {
    const void *data; /* NULL: not read yet */
    size_t bytes;
    int32_t lowest; /* lowest rank of its node, which has put the blob; or
                       UNKNOWN */
};

/* A value that was read, in the list of all of them. */
struct rcx_pmix_kept {
    struct rcx_pmix_kept *next;
    size_t bytes;
    unsigned char data[];
};

static bool is_by_node(const struct rcx_boot *boot)
{
    return boot->size > PUT_BY_EACH && !rcx_boot_is_one_node(boot);
}

bool rcx_pmix_blobs_init(struct rcx_pmix_blobs *blobs, struct rcx_heap *heap,
                         int ranks)
{
    *blobs = (struct rcx_pmix_blobs){.known = 0};
    blobs->of = rcx_heap_zalloc(heap, (size_t)ranks * sizeof *blobs->of);
    for (int i = 0; blobs->of && i < ranks; i++)
        blobs->of[i].lowest = UNKNOWN;
    return blobs->of;
}

void rcx_pmix_blobs_free(struct rcx_pmix_blobs *blobs, struct rcx_heap *heap)
{
    while (blobs->kept) {
        struct rcx_pmix_kept *next = blobs->kept->next;

        rcx_heap_free(heap, blobs->kept);
        blobs->kept = next;
    }
    rcx_heap_free(heap, blobs->of);
}

/* ---- Putting ------------------------------------------------------------- */

/* Store in parts this rank's blob, and those that other ranks of the node have
 * shown. Returns the number of parts. The caller releases values. */
static int see_parts(const struct rcx_pmix_node *node, const void *blob,
                     size_t bytes, pmix_value_t *values[],
                     struct rcx_blob_part parts[])
{
    const struct rcx_boot *boot = node->boot;
    pmix_key_t key;
    int n = 0;

    rcx_pmix_node_key("part", node->key, key);
    parts[n++] = (struct rcx_blob_part){boot->rank, bytes, blob};
    for (int i = 0; boot->local_ranks && i < boot->local_size; i++) {
        const int rank = boot->local_ranks[i];

        if (rank == boot->rank ||
            rcx_pmix_get_until(node, rank, key, &values[i]) != PMIX_SUCCESS)
            continue;
        if (values[i]->type == PMIX_BYTE_OBJECT)
            parts[n++] = (struct rcx_blob_part){rank, values[i]->data.bo.size,
                                                values[i]->data.bo.bytes};
    }
    return n;
}

static rcx_status_t put_all(const struct rcx_pmix_node *node, void *packed,
                            const struct rcx_blob_part parts[], int n)
{
    rcx_parts_pack(parts, n, packed);
    return rcx_pmix_put(node->log, PMIX_GLOBAL, node->key, packed,
                        rcx_parts_bytes(parts, n));
}

static rcx_status_t put_for_node(const struct rcx_pmix_node *node,
                                 const void *blob, size_t bytes)
{
    const int local = node->boot->local_ranks ? node->boot->local_size : 1;
    pmix_value_t **values =
        rcx_heap_zalloc(node->heap, (size_t)local * sizeof *values);
    struct rcx_blob_part *parts =
        rcx_heap_zalloc(node->heap, (size_t)local * sizeof *parts);
    const bool has_room = values && parts;
    const int n = has_room ? see_parts(node, blob, bytes, values, parts) : 0;
    void *packed =
        has_room ? rcx_heap_alloc(node->heap, rcx_parts_bytes(parts, n)) : NULL;
    const rcx_status_t status =
        packed ? put_all(node, packed, parts, n)
               : rcx_fail(node->log, RCX_ERR_NOMEM,
                          "rcx_init: no memory for the addresses of %d ranks",
                          local);

    for (int i = 0; values && i < local; i++)
        if (values[i])
            PMIX_VALUE_RELEASE(values[i]);
    rcx_heap_free(node->heap, packed);
    rcx_heap_free(node->heap, parts);
    rcx_heap_free(node->heap, values);
    return status;
}

rcx_status_t rcx_pmix_blobs_put(const struct rcx_pmix_node *node,
                                const void *blob, size_t bytes)
{
    if (!is_by_node(node->boot))
        return rcx_pmix_put(node->log, PMIX_GLOBAL, node->key, blob, bytes);
    if (node->boot->rank == rcx_boot_lowest(node->boot))
        return put_for_node(node, blob, bytes);
    return rcx_pmix_show(node, "part", blob, bytes);
}

/* ---- Reading ------------------------------------------------------------- */

static rcx_status_t keep(struct rcx_pmix_blobs *blobs,
                         const struct rcx_pmix_node *node, int rank,
                         const pmix_value_t *value)
{
    const pmix_byte_object_t *object = &value->data.bo;
    struct rcx_pmix_kept *kept;

    if (value->type != PMIX_BYTE_OBJECT)
        return rcx_fail(node->log, RCX_ERR_LAUNCH,
                        "PMIx key %s of rank %d has type %s, expected a byte "
                        "object",
                        node->key, rank, PMIx_Data_type_string(value->type));
    kept = rcx_heap_alloc(node->heap, sizeof *kept + object->size);
    if (!kept)
        return rcx_fail(node->log, RCX_ERR_NOMEM,
                        "no memory for %zu bytes of a rank's address",
                        sizeof *kept + object->size);
    kept->bytes = object->size;
    memcpy(kept->data, object->bytes, object->size);
    kept->next = blobs->kept;
    blobs->kept = kept;
    return RCX_OK;
}

/* Get the value that rank has put, and prepend it to blobs->kept. */
static rcx_status_t fetch(struct rcx_pmix_blobs *blobs,
                          const struct rcx_pmix_node *node, int rank)
{
    pmix_value_t *value = NULL;
    const pmix_status_t rc = rcx_pmix_get_until(node, rank, node->key, &value);
    rcx_status_t status;

    if (rc != PMIX_SUCCESS) {
        char call[sizeof(pmix_key_t) + 64];

        snprintf(call, sizeof call, "PMIx_Get of %s of rank %d", node->key,
                 rank);
        return rcx_pmix_fail(node->log, call, rc);
    }
    status = keep(blobs, node, rank, value);
    PMIX_VALUE_RELEASE(value);
    return status;
}

/* Unpack the newest value of blobs->kept, which lowest has put. It must contain
 * the blob of lowest, and only blobs of ranks from lowest on that have not been
 * read yet. */
static rcx_status_t unpack(struct rcx_pmix_blobs *blobs,
                           const struct rcx_pmix_node *node, int lowest)
{
    const struct rcx_pmix_kept *kept = blobs->kept;
    struct rcx_blob_part part;
    size_t at = 0;
    bool is_good = true;

    while (is_good && rcx_parts_next(kept->data, kept->bytes, &at, &part)) {
        is_good = part.rank >= lowest && part.rank < node->boot->size &&
                  !blobs->of[part.rank].data;
        if (is_good)
            blobs->of[part.rank] =
                (struct rcx_pmix_blob){part.data, part.bytes, lowest};
    }
    return is_good && at == kept->bytes && blobs->of[lowest].data
               ? RCX_OK
               : rcx_fail(node->log, RCX_ERR_LAUNCH,
                          "the addresses that rank %d published for its node "
                          "are corrupt, or of another version of RCX: do all "
                          "ranks run the same RCX?",
                          lowest);
}

static rcx_status_t read_from(struct rcx_pmix_blobs *blobs,
                              const struct rcx_pmix_node *node, int lowest)
{
    const rcx_status_t status = fetch(blobs, node, lowest);

    if (status != RCX_OK)
        return status;
    if (is_by_node(node->boot))
        return unpack(blobs, node, lowest);
    blobs->of[lowest] =
        (struct rcx_pmix_blob){blobs->kept->data, blobs->kept->bytes, lowest};
    return RCX_OK;
}

/* ---- The table of lowest ranks ------------------------------------------- */

void rcx_pmix_blobs_tell(const struct rcx_pmix_blobs *blobs,
                         const struct rcx_pmix_node *node)
{
    const size_t ranks = (size_t)node->boot->size;
    int32_t *table;

    if (!is_by_node(node->boot))
        return;
    table = rcx_heap_alloc(node->heap, ranks * sizeof *table);
    for (size_t i = 0; table && i < ranks; i++) {
        table[i] = blobs->of[i].lowest;
        if (table[i] == UNKNOWN)
            goto free_table;
    }
    if (table)
        rcx_pmix_show(node, "lowest", table, ranks * sizeof *table);
free_table:
    rcx_heap_free(node->heap, table);
}

static void learn(struct rcx_pmix_blobs *blobs,
                  const struct rcx_pmix_node *node)
{
    const size_t ranks = (size_t)node->boot->size;
    const int lowest = rcx_boot_lowest(node->boot);
    pmix_value_t *value = NULL;
    pmix_key_t key;
    pmix_status_t rc;

    blobs->is_asked_for = true;
    if (lowest == node->boot->rank)
        return;
    rcx_pmix_node_key("lowest", node->key, key);
    pthread_mutex_lock(node->asking);
    rc = rcx_pmix_get_at_once(node->nspace, lowest, key, &value);
    pthread_mutex_unlock(node->asking);
    if (rc != PMIX_SUCCESS)
        return;
    if (value->type == PMIX_BYTE_OBJECT &&
        value->data.bo.size == ranks * sizeof(int32_t)) {
        for (size_t i = 0; i < ranks; i++)
            memcpy(&blobs->of[i].lowest,
                   value->data.bo.bytes + i * sizeof(int32_t), sizeof(int32_t));
    }
    PMIX_VALUE_RELEASE(value);
}

/* Return the rank that has put rank's blob. If it is not known, return another
 * rank whose value has not been read, and may contain it. */
static int find_lowest(struct rcx_pmix_blobs *blobs,
                       const struct rcx_pmix_node *node, int rank)
{
    if (!is_by_node(node->boot))
        return rank;
    if (!blobs->is_asked_for)
        learn(blobs, node);
    if (blobs->of[rank].lowest >= 0 && blobs->of[rank].lowest <= rank &&
        !blobs->of[blobs->of[rank].lowest].data)
        return blobs->of[rank].lowest;
    while (blobs->of[blobs->known].data)
        blobs->known++;
    return blobs->known;
}

rcx_status_t rcx_pmix_blobs_get(struct rcx_pmix_blobs *blobs,
                                const struct rcx_pmix_node *node, int rank,
                                const void **blob_p, size_t *bytes_p)
{
    const struct rcx_pmix_blob *blob = &blobs->of[rank];
    rcx_status_t status = RCX_OK;

    while (!blob->data && status == RCX_OK)
        status = read_from(blobs, node, find_lowest(blobs, node, rank));
    *blob_p = blob->data;
    *bytes_p = blob->bytes;
    return status;
}

/* ---- Reading all --------------------------------------------------------- */

/* Read the blobs of all ranks into rows, bytes each. */
static rcx_status_t read_rows(struct rcx_pmix_blobs *blobs,
                              const struct rcx_pmix_node *node, size_t bytes,
                              unsigned char *rows)
{
    for (int i = 0; i < node->boot->size; i++) {
        const void *blob;
        size_t blob_bytes;
        const rcx_status_t status =
            rcx_pmix_blobs_get(blobs, node, i, &blob, &blob_bytes);

        if (status != RCX_OK)
            return status;
        if (blob_bytes != bytes)
            return rcx_fail(node->log, RCX_ERR_LAUNCH,
                            "the record of rank %d has %zu bytes instead of "
                            "%zu: do all ranks run the same RCX?",
                            i, blob_bytes, bytes);
        memcpy(rows + (size_t)i * bytes, blob, bytes);
    }
    return RCX_OK;
}

/* Get the rows that the lowest rank of the node shows. False: it has not. */
static bool get_rows(const struct rcx_pmix_node *node, size_t all_bytes,
                     unsigned char *rows)
{
    pmix_value_t *value = NULL;
    pmix_key_t key;
    bool is_it;

    rcx_pmix_node_key("all", node->key, key);
    if (rcx_pmix_get_until(node, rcx_boot_lowest(node->boot), key, &value) !=
        PMIX_SUCCESS)
        return false;
    is_it = value->type == PMIX_BYTE_OBJECT && value->data.bo.size == all_bytes;
    if (is_it)
        memcpy(rows, value->data.bo.bytes, all_bytes);
    PMIX_VALUE_RELEASE(value);
    return is_it;
}

rcx_status_t rcx_pmix_blobs_see(struct rcx_pmix_blobs *blobs,
                                const struct rcx_pmix_node *node, size_t bytes,
                                rcx_local_fn_t see, void *arg)
{
    const struct rcx_boot *boot = node->boot;
    const bool shows =
        is_by_node(boot) && boot->local_ranks && boot->local_size > 1;
    const bool is_lowest = boot->rank == rcx_boot_lowest(boot);
    const size_t all_bytes = (size_t)boot->size * bytes;
    unsigned char *rows = rcx_heap_zalloc(node->heap, all_bytes);
    rcx_status_t status = RCX_OK;

    if (!rows)
        return rcx_fail(node->log, RCX_ERR_NOMEM,
                        "rcx_init: no memory for the records of %d ranks",
                        boot->size);
    if (!shows || is_lowest || !get_rows(node, all_bytes, rows))
        status = read_rows(blobs, node, bytes, rows);
    if (shows && is_lowest) { /* a short value after an error: do not wait */
        const rcx_status_t shown =
            rcx_pmix_show(node, "all", rows, status == RCX_OK ? all_bytes : 1);

        status = status == RCX_OK ? shown : status;
    }
    for (int i = 0; i < boot->size && status == RCX_OK; i++)
        see(i, rows + (size_t)i * bytes, arg);
    rcx_heap_free(node->heap, rows);
    return status;
}
