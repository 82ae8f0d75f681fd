/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes a dump of two communicators with known contents, which check_dump.py
 * verifies. Usage: write_dump PATH
 */
#include <stdlib.h>

#include "core/run/diag/dump.h"
#include "core/sched/algo.h"

enum { EARLIER = 1030 }; /* operations, more than a recorder keeps */

static struct rcx_heap heap = RCX_HEAP_INIT;
static struct rcx_recorder recorders[3];

/* A call and its final status; RCX_IN_PROGRESS: it has not ended. */
struct call {
    struct rcx_record r;
    const char *algo;
    rcx_status_t status;
};

static const struct call calls[] = {
    {{.coll = RCX_COLL_ALLREDUCE,
      .count = UINT64_MAX,
      .type = RCX_FLOAT64,
      .op = RCX_SUM,
      .segment = UINT64_MAX - 1},
     "ring",
     RCX_OK},
    {{.coll = RCX_COLL_REDUCE,
      .count = 0,
      .type = RCX_LONG_LONG,
      .op = RCX_BXOR,
      .root = 2},
     "binomial",
     RCX_ERR_OP},
    {{.coll = RCX_COLL_REDUCE_SCATTER, .count = 77, .type = 5000, .op = 6000},
     NULL,
     RCX_ERR_PEER_FAILED},
    {{.coll = RCX_COLL_ALLREDUCE,
      .count = 3,
      .type = RCX_2INT,
      .op = RCX_MINLOC},
     "recursive_doubling",
     RCX_IN_PROGRESS},
    {{.coll = RCX_COLL_BARRIER, .type = RCX_BYTE, .op = RCX_BOR},
     "dissemination",
     RCX_IN_PROGRESS},
};

/* Messages: coll is true for a send, root is the peer, segment is the tag. */
static const struct call messages[] = {
    {{.coll = true, .count = 24, .type = RCX_FLOAT64, .root = 7, .segment = 9},
     NULL,
     RCX_OK},
    {{.coll = false,
      .count = 12,
      .type = RCX_INT32,
      .root = 0,
      .segment = 32767},
     NULL,
     RCX_ERR_TRUNCATED},
    {{.coll = false, .count = 3, .type = RCX_FLOAT64, .root = RCX_ANY_SOURCE},
     NULL,
     RCX_IN_PROGRESS},
};

static void record(struct rcx_recorder *r, const struct call *call)
{
    struct rcx_record record = call->r;
    uint64_t number;

    record.algo = call->algo ? rcx_algo_find(record.coll, call->algo) : NULL;
    number = rcx_recorder_begin(r, &record, rcx_ticks());
    if (call->status != RCX_IN_PROGRESS)
        rcx_recorder_end(r, number, call->status, rcx_ticks());
}

/* Progress is known of one of the two operations in flight. */
static int progress_of(void *arg, uint64_t sequence,
                       struct rcx_dump_progress *progress_p)
{
    static const int waiting_for[] = {0, 2};

    if (arg != &recorders[0] || sequence != 1034)
        return 0;
    *progress_p = (struct rcx_dump_progress){.step = 3,
                                             .steps = 14,
                                             .waiting_for = waiting_for,
                                             .waiting_count = 2,
                                             .label = "layer \"7\""};
    return 1;
}

static bool next(void *arg, struct rcx_dump_comm *comm_p)
{
    static const int ranks[] = {5, 1, 7}, missing[] = {2, 0};
    int *at = arg;

    switch ((*at)++) {
    case 0:
        *comm_p = (struct rcx_dump_comm){.id = 1,
                                         .rank = 1,
                                         .name = "\"main\"",
                                         .size = 8,
                                         .next_sequence = UINT64_MAX,
                                         .recorder = &recorders[0],
                                         .messages = &recorders[2],
                                         .progress_of = progress_of,
                                         .arg = &recorders[0]};
        return true;
    case 1:
        *comm_p = (struct rcx_dump_comm){.id = 8191,
                                         .rank = 1,
                                         .size = 3,
                                         .ranks = ranks,
                                         .status = RCX_ERR_TIMEOUT,
                                         .error = "C:\\dev\n\xff",
                                         .missing = missing,
                                         .missing_count = 2,
                                         .recorder = &recorders[1]};
        return true;
    default: return false;
    }
}

int main(int argc, char **argv)
{
    int at = 0;
    const struct rcx_dump_head head = {
        .rank = 1, .size = 8, .reason = "a test", .next = next, .arg = &at};
    struct rcx_log log;
    rcx_status_t status;

    if (argc != 2) {
        fprintf(stderr, "usage: write_dump PATH\n");
        return 2;
    }
    rcx_log_init(&log);
    for (int i = 0; i < 3; i++)
        rcx_recorder_init(&recorders[i], &heap);
    for (uint64_t i = 0; i < EARLIER; i++)
        record(&recorders[0], &(const struct call){{.coll = RCX_COLL_ALLREDUCE,
                                                    .type = RCX_INT8,
                                                    .op = RCX_MAX,
                                                    .count = i},
                                                   "ring",
                                                   RCX_OK});
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        record(&recorders[0], &calls[i]);
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        record(&recorders[2], &messages[i]);
    status = rcx_dump_to_path(&log, argv[1], &head);
    for (int i = 0; i < 3; i++)
        rcx_recorder_free(&recorders[i]);
    return status != RCX_OK || heap.live > 0;
}
