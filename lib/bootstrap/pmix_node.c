/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchange and broadcast among the ranks of a node, through their PMIx server.
 * Values are polled for, with growing pauses.
 */
#include "bootstrap/pmix_node.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/pmix_fence.h"
#include "core/base/clock.h"

enum {
    SHORTEST_PAUSE_US = 100,
    LONGEST_PAUSE_US = SHORTEST_PAUSE_US << 8,
    /* Up to so many ranks of a node, each gets all records: that is faster
     * than waiting. Otherwise the lowest rank gets them, and shows all in
     * one value. */
    SEEN_BY_EACH = 8,
    KEY_LETTERS = 100
};

rcx_status_t rcx_pmix_put(const struct rcx_log *log, pmix_scope_t scope,
                          const char *key, const void *data, size_t bytes)
{
    /* points to data, which PMIx_Put copies */
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT,
                          .data.bo = {(char *)data, bytes}};
    pmix_status_t rc;

    assert(bytes > 0); /* PMIx treats an empty object as missing */
    rc = PMIx_Put(scope, key, &value);
    if (rc == PMIX_SUCCESS)
        rc = PMIx_Commit();
    return rc == PMIX_SUCCESS
               ? RCX_OK
               : rcx_pmix_fail(log, "PMIx_Put or PMIx_Commit", rc);
}

void rcx_pmix_warn(const struct rcx_pmix_node *node)
{
    const struct rcx_boot *boot = node->boot;
    char text[256];
    pmix_key_t key;
    int first = boot->rank;

    if (!rcx_start_wait_is_due(node->wait))
        return;
    rcx_pmix_node_key(RCX_PMIX_LOCAL, node->record_key, key);
    pthread_mutex_lock(node->asking);
    if (boot->local_ranks)
        first = rcx_pmix_first_with(node->nspace, key, boot->local_ranks,
                                    boot->local_size);
    if (first == boot->rank)
        rcx_pmix_name_missing(node->nspace, key, boot->local_ranks,
                              boot->local_size, text, sizeof text);
    pthread_mutex_unlock(node->asking);
    if (first == boot->rank)
        rcx_start_wait_warn(node->wait, "%s", text);
    else
        rcx_start_wait_skip(node->wait);
}

pmix_status_t rcx_pmix_get_until(const struct rcx_pmix_node *node, int rank,
                                 const char *key, pmix_value_t **value_p)
{
    pmix_status_t rc;
    useconds_t pause = SHORTEST_PAUSE_US;

    for (;; pause *= pause < LONGEST_PAUSE_US ? 2 : 1) {
        pthread_mutex_lock(node->asking);
        rc = rcx_pmix_get_at_once(node->nspace, rank, key, value_p);
        pthread_mutex_unlock(node->asking);
        if (rc != PMIX_ERR_NOT_FOUND)
            return rc;
        if (rcx_now_ns() >= node->until_ns)
            return PMIX_ERR_TIMEOUT;
        rcx_pmix_warn(node);
        usleep(pause);
    }
}

void rcx_pmix_node_key(const char *kind, const char *key, pmix_key_t made)
{
    snprintf(made, sizeof(pmix_key_t), "%s.%.*s", kind, KEY_LETTERS, key);
}

rcx_status_t rcx_pmix_show(const struct rcx_pmix_node *node, const char *kind,
                           const void *data, size_t bytes)
{
    pmix_key_t key;

    rcx_pmix_node_key(kind, node->key, key);
    return rcx_pmix_put(node->log, PMIX_LOCAL, key, data, bytes);
}

/* Get the value that rank shows, and pass it to see(); NULL: it did not
 * arrive. */
static void see_peer(const struct rcx_pmix_node *node, const char *kind,
                     int rank, size_t bytes, rcx_local_fn_t see, void *arg)
{
    pmix_value_t *value = NULL;
    pmix_key_t key;
    pmix_status_t rc;
    bool is_it;

    rcx_pmix_node_key(kind, node->key, key);
    rc = rcx_pmix_get_until(node, rank, key, &value);
    is_it = rc == PMIX_SUCCESS && value->type == PMIX_BYTE_OBJECT &&
            value->data.bo.size == bytes;
    see(rank, is_it ? value->data.bo.bytes : NULL, arg);
    if (rc == PMIX_SUCCESS)
        PMIX_VALUE_RELEASE(value);
}

/* ---- Exchange of records ------------------------------------------------- */

/* Pass the records of all ranks to see(), this rank's included. */
static void see_each(const struct rcx_pmix_node *node, const void *record,
                     size_t bytes, rcx_local_fn_t see, void *arg)
{
    const struct rcx_boot *boot = node->boot;

    for (int i = 0; i < boot->local_size; i++) {
        const int rank = boot->local_ranks[i];

        if (rank == boot->rank)
            see(rank, record, arg);
        else
            see_peer(node, RCX_PMIX_LOCAL, rank, bytes, see, arg);
    }
}

/* All records in the order of local_ranks. Each row is a byte, whether the
 * record has arrived, and the record. */
struct table {
    const struct rcx_boot *boot;
    const void *record; /* of this rank */
    size_t record_bytes;
    unsigned char *rows;
    bool is_seen;
    rcx_local_fn_t see;
    void *arg;
};

static unsigned char *row_of(const struct table *t, unsigned char *rows, int i)
{
    return rows + (size_t)i * (1 + t->record_bytes);
}

static size_t rows_bytes(const struct table *t)
{
    return (size_t)t->boot->local_size * (1 + t->record_bytes);
}

static void enter(int rank, const void *record, void *arg)
{
    const struct table *t = arg;

    for (int i = 0; i < t->boot->local_size; i++) {
        unsigned char *row = row_of(t, t->rows, i);

        if (t->boot->local_ranks[i] != rank || !record)
            continue;
        row[0] = 1;
        memcpy(row + 1, record, t->record_bytes);
    }
    t->see(rank, record, t->arg);
}

static void read_rows(int lowest, const void *rows, void *arg)
{
    struct table *t = arg;

    (void)lowest;
    t->is_seen = rows;
    for (int i = 0; rows && i < t->boot->local_size; i++) {
        const unsigned char *row =
            row_of(t, (unsigned char *)(uintptr_t)rows, i);
        const int rank = t->boot->local_ranks[i];

        if (rank == t->boot->rank)
            t->see(rank, t->record, t->arg);
        else
            t->see(rank, row[0] ? row + 1 : NULL, t->arg);
    }
}

static rcx_status_t show_rows(const struct rcx_pmix_node *node, struct table *t)
{
    rcx_status_t status;

    t->rows = rcx_heap_zalloc(node->heap, rows_bytes(t));
    if (!t->rows)
        return rcx_fail(node->log, RCX_ERR_NOMEM,
                        "rcx_init: no memory for the records of %d ranks",
                        node->boot->local_size);
    see_each(node, t->record, t->record_bytes, enter, t);
    status = rcx_pmix_show(node, "records", t->rows, rows_bytes(t));
    rcx_heap_free(node->heap, t->rows);
    return status;
}

rcx_status_t rcx_pmix_local_exchange(const struct rcx_pmix_node *node,
                                     const void *record, size_t bytes,
                                     rcx_local_fn_t see, void *arg)
{
    const struct rcx_boot *boot = node->boot;
    const int lowest = rcx_boot_lowest(boot);
    struct table t = {.boot = boot,
                      .record = record,
                      .record_bytes = bytes,
                      .see = see,
                      .arg = arg};
    rcx_status_t status;

    if (!boot->local_ranks) {
        see(boot->rank, record, arg);
        return RCX_ERR_UNSUPPORTED;
    }
    status = rcx_pmix_show(node, RCX_PMIX_LOCAL, record, bytes);
    if (status != RCX_OK)
        return status;
    if (boot->local_size > SEEN_BY_EACH) {
        if (boot->rank == lowest)
            return show_rows(node, &t);
        see_peer(node, "records", lowest, rows_bytes(&t), read_rows, &t);
    }
    if (!t.is_seen)
        see_each(node, record, bytes, see, arg);
    return RCX_OK;
}

/* ---- Broadcast ----------------------------------------------------------- */

rcx_status_t rcx_pmix_local_bcast(const struct rcx_pmix_node *node,
                                  const void *blob, size_t bytes,
                                  rcx_local_fn_t see, void *arg)
{
    const int lowest = rcx_boot_lowest(node->boot);

    if (node->boot->rank == lowest)
        return rcx_pmix_show(node, "relay", blob, bytes);
    see_peer(node, "relay", lowest, bytes, see, arg);
    return RCX_OK;
}
