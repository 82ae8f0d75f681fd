/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dumps: what the flight recorders of a process hold, as one JSON object.
 * docs/debugging.md says what is in it; tools/rcx_trace reads it.
 *
 * Ranks are the communicator's, but for head->rank and comm->ranks. Nothing
 * here allocates, but stdio its buffer, and nothing communicates.
 */
#ifndef RCX_CORE_RUN_DIAG_DUMP_H
#define RCX_CORE_RUN_DIAG_DUMP_H

#include <stdbool.h>
#include <stdio.h>

#include "core/base/log.h"
#include "core/run/object/recorder.h"

/* How far an operation in flight is. */
struct rcx_dump_progress {
    uint64_t step; /* steps that are over */
    uint64_t steps;
    const int *waiting_for; /* ranks whose message is due */
    size_t waiting_count;
    const char *label; /* the user's own words; NULL: none */
};

struct rcx_dump_comm {
    uint32_t id;
    int rank;
    int size;
    const int *ranks;    /* the world's, of each rank; NULL: the same */
    rcx_status_t status; /* not RCX_OK: the communicator failed */
    const char *error;   /* how; NULL: nothing to say */
    const int *missing;  /* ranks that the error names */
    size_t missing_count;
    uint64_t next_sequence;
    const struct rcx_recorder *recorder;
    const struct rcx_recorder *messages; /* point to point; NULL: none */
    /*
     * How far the operation with that sequence is; 0: that is not known. Asked
     * for records that are STARTED. What it points to stays until the next
     * call. NULL: nobody knows.
     */
    int (*progress_of)(void *arg, uint64_t sequence,
                       struct rcx_dump_progress *progress_p);
    void *arg; /* of progress_of */
};

struct rcx_dump_head {
    int rank;           /* in the world */
    int size;           /* of the world */
    const char *reason; /* NULL: somebody asked for a dump */
    /* The communicators, one after the other; false: that were all. What it
     * points to stays until the next call. */
    bool (*next)(void *arg, struct rcx_dump_comm *comm_p);
    void *arg; /* of next */
};

/* Write a dump. Whether file took it all, ferror(file) says. */
void rcx_dump_write(FILE *file, const struct rcx_dump_head *head);

/*
 * Write a dump to path, in place of what is there. Under another name first, so
 * that nobody reads half of one. RCX_ERR_ARG, logged: path cannot be written.
 */
rcx_status_t rcx_dump_to_path(const struct rcx_log *log, const char *path,
                              const struct rcx_dump_head *head);

#endif
