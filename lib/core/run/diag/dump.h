/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dumps: the flight recorders of a process as one JSON object.
 * docs/reference/formats.md describes it; tools/rcx_trace reads it.
 *
 * Ranks are those of the communicator, except head->rank and comm->ranks.
 * Nothing here allocates, except the buffer of stdio, and nothing communicates.
 */
#ifndef RCX_CORE_RUN_DIAG_DUMP_H
#define RCX_CORE_RUN_DIAG_DUMP_H

#include <stdbool.h>
#include <stdio.h>

#include "core/base/log.h"
#include "core/run/object/recorder.h"

/* Progress of an operation in flight. */
struct rcx_dump_progress {
    uint64_t step; /* steps that have completed */
    uint64_t steps;
    const int *waiting_for; /* ranks whose messages are due */
    size_t waiting_count;
    const char *label; /* the user's label; NULL: none */
};

struct rcx_dump_comm {
    uint32_t id;
    const char *name; /* NULL or empty: none */
    int rank;
    int size;
    const int *ranks;    /* ranks in the world; NULL: the same */
    rcx_status_t status; /* not RCX_OK: the communicator has failed */
    const char *error;   /* the reason; NULL: none */
    const int *missing;  /* ranks that the error names */
    size_t missing_count;
    uint64_t next_sequence;
    const struct rcx_recorder *recorder;
    const struct rcx_recorder *messages; /* point to point; NULL: none */
    /*
     * The progress of the operation with that sequence number, asked for
     * records that are STARTED; 0: not known. What it points to stays valid
     * until the next call. NULL: never known.
     */
    int (*progress_of)(void *arg, uint64_t sequence,
                       struct rcx_dump_progress *progress_p);
    void *arg; /* of progress_of */
};

struct rcx_dump_head {
    int rank;           /* in the world */
    int size;           /* of the world */
    const char *reason; /* NULL: a dump was asked for */
    const char *by;     /* what asks for it, in the log; NULL: rcx_dump() */
    /* The communicators, one after the other. False: there are no more. What it
     * points to stays valid until the next call. */
    bool (*next)(void *arg, struct rcx_dump_comm *comm_p);
    void *arg; /* of next */
    /* Writes further keys, each behind a comma; NULL: none. */
    void (*more)(FILE *file, void *arg);
    void *more_arg;
};

/* Write a dump. ferror(file) tells whether file took all of it. */
void rcx_dump_write(FILE *file, const struct rcx_dump_head *head);

/*
 * Write a dump to path, replacing what is there: under another name first, so
 * that no reader sees a part of it. RCX_ERR_ARG, logged: path cannot be
 * written.
 */
rcx_status_t rcx_dump_to_path(const struct rcx_log *log, const char *path,
                              const struct rcx_dump_head *head);

#endif
