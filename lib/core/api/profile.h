/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The profile of a job: what its ranks have counted, brought together and
 * compared. profile_gather.c moves it, profile_table.c computes, and
 * profile_print.c writes.
 */
#ifndef RCX_CORE_API_PROFILE_H
#define RCX_CORE_API_PROFILE_H

#include "core/run/observe/observer.h"

/* ---- What a rank gives: a part, its rows with samples, its sites --------- */

enum { RCX_PART_NAME = 40, RCX_PART_SITE = 200 };

struct rcx_profile_part {
    uint64_t bytes; /* of all of it */
    int32_t rank;   /* of the context */
    uint32_t rows, sites;
    uint32_t unused;
    double run_s;
    double clock_error_s;
};

struct rcx_part_row {
    uint32_t comm, group;
    int32_t rank, size, first; /* as in struct rcx_profile_key */
    uint8_t coll, form, bytes, unused;
    uint32_t samples, unused_too;
    char algorithm[RCX_PART_NAME];
    uint64_t calls, moved; /* moved: bytes of all vectors */
    double seconds, longest_s;
};

/* Behind its row. Times on rank 0's clock. */
struct rcx_part_sample {
    uint64_t sequence;
    int64_t begin_ns, took_ns, root;
};

struct rcx_part_site {
    char text[RCX_PART_SITE];
    uint8_t coll, form;
    uint64_t calls;
    double seconds;
};

/* Parts, one behind the other. */
struct rcx_parts {
    unsigned char *data;
    size_t bytes;
    struct rcx_heap *heap;
};

/* The deadline of messages at the end of a job, on its communicator comm. */
int64_t rcx_parts_limit(const rcx_comm_t *comm);
/* Bring the parts of all ranks of the job to the lowest one that lives.
 * *is_root_p: this rank has them. Collective. */
rcx_status_t rcx_parts_gather(struct rcx_parts *parts,
                              struct rcx_context *context, bool *is_root_p);

/* ---- What it amounts to -------------------------------------------------- */

struct rcx_spread {
    double least, median, most, mean;
};

/* The calls of rows that are alike on all ranks. Times in seconds. */
struct rcx_profile_line {
    const struct rcx_part_row *row; /* of its first rank */
    int ranks;
    uint64_t calls; /* of a rank; the most */
    uint64_t moved; /* bytes, of one rank; the mean */
    double longest;
    struct rcx_spread time, waiting, moving; /* over ranks */
    uint64_t compared; /* calls whose begins on all ranks were compared; 0:
                           waiting and moving are not known */
    int latest;        /* rank of the context that the others waited for most */
    double latest_part; /* of all waiting, for that rank */
};

struct rcx_profile_table {
    int ranks, size; /* that have given a part; of the job */
    double run_s;
    struct rcx_spread share; /* of the run in blocking collectives, of ranks */
    double clock_error_s;    /* the most */
    size_t lines, sites;
    struct rcx_profile_line *line;
    struct rcx_part_site *site; /* by time: all ranks together */
    struct rcx_heap *heap;
};

/* False: no memory. Points into parts. */
bool rcx_profile_compute(struct rcx_profile_table *table,
                         const struct rcx_parts *parts, int size);
void rcx_profile_table_free(struct rcx_profile_table *table);

/* The end of a job that is observed: its table, and the recording of this
 * rank. Collective; called outside of the context's lock. */
void rcx_observer_report(struct rcx_context *context);

#endif
