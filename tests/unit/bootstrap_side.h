/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by tests of bootstraps: the arguments with which rcx_init() opens a
 * bootstrap, and blobs and records to exchange. */
#ifndef RCX_TESTS_UNIT_BOOTSTRAP_SIDE_H
#define RCX_TESTS_UNIT_BOOTSTRAP_SIDE_H

#include <stdio.h>
#include <string.h>

#include "bootstrap/bootstraps.h"
#include "core/iface/bootstrap.h"
#include "lines.h"

/* The arguments with which rcx_init() opens a bootstrap, and the result. */
struct side {
    struct lines lines;
    struct rcx_heap heap;
    struct rcx_log log;
    rcx_params_t params;
    struct rcx_boot_args args;
    struct rcx_boot *boot;
};

static inline void side_init(struct side *side, const rcx_bootstrap_t *host)
{
    memset(side, 0, sizeof *side);
    side->heap = RCX_HEAP_INIT;
    rcx_log_init(&side->log);
    side->log.fn = lines_keep;
    side->log.arg = &side->lines;
    if (host) {
        side->params.field_mask = RCX_PARAM_BOOTSTRAP;
        side->params.bootstrap = *host;
    }
    side->args = (struct rcx_boot_args){
        .params = &side->params, .heap = &side->heap, .log = &side->log};
}

enum { RECORD_BYTES = 5 }; /* length of the shortest blob */

static inline size_t make_blob(int rank, unsigned char *blob)
{
    const size_t bytes = 5 + (size_t)(rank * 13 % 7) * 20;

    for (size_t i = 0; i < bytes; i++)
        blob[i] = (unsigned char)(rank * 50 + (int)i);
    return bytes;
}

static inline rcx_status_t publish_own(struct side *side)
{
    unsigned char blob[256];
    const size_t bytes = make_blob(side->boot->rank, blob);

    return side->boot->ops->publish(side->boot, blob, bytes);
}

/* Whether a lookup returns the blob of rank. Uses no cmocka assertion, as it
 * runs on threads and in child processes too. */
static inline bool sees_blob_of(struct side *side, int rank)
{
    unsigned char expected[256];
    const size_t length = make_blob(rank, expected);
    const void *blob = NULL;
    size_t bytes = 0;

    return side->boot->ops->lookup(side->boot, rank, &blob, &bytes) == RCX_OK &&
           bytes == length && memcmp(blob, expected, length) == 0;
}

/* What a rank receives in a local exchange: number of records, and how many of
 * them are right. */
struct received {
    int seen;
    int right; /* records that are those of their rank */
};

static inline void check_record(int rank, const void *record, void *arg)
{
    struct received *received = arg;
    unsigned char expected[256];

    make_blob(rank, expected);
    received->right += rank == received->seen++ && record &&
                       memcmp(record, expected, RECORD_BYTES) == 0;
}

static inline rcx_status_t exchange_records(struct side *side,
                                            struct received *received)
{
    unsigned char record[256];

    *received = (struct received){.seen = 0};
    make_blob(side->boot->rank, record);
    return side->boot->ops->local_exchange(side->boot, record, RECORD_BYTES,
                                           check_record, received);
}

/* Exchange records with all ranks; right if each rank's arrives. */
static inline rcx_status_t exchange_with_all(struct side *side)
{
    struct received received = {.seen = 0};
    unsigned char record[256];
    rcx_status_t status;

    make_blob(side->boot->rank, record);
    status = side->boot->ops->exchange(side->boot, record, RECORD_BYTES,
                                       check_record, &received);
    return status != RCX_OK || received.right == side->boot->size
               ? status
               : RCX_ERR_INTERNAL;
}

/* Open the first bootstrap of the table that is for these arguments, as
 * rcx_init() does. */
static inline rcx_status_t open_table(struct side *side)
{
    rcx_status_t status = RCX_ERR_UNSUPPORTED;

    for (int i = 0; rcx_boot_table[i] && status == RCX_ERR_UNSUPPORTED; i++)
        status = rcx_boot_table[i]->open(&side->args, &side->boot);
    return status;
}

#endif
