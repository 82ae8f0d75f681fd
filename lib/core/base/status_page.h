/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Status pages: a page in /dev/shm in which a process publishes what it is in,
 * for rcx_top. Only its user may read it. The name is
 * "rcx_top.JOB.RANK.PID.NUMBER". rcx_finalize() removes it; after a kill rcxrun
 * does, or `rcx_top --clean`, or the next process of this user that opens one.
 *
 * Its process holds a lock (flock) on it, which the kernel releases when the
 * process ends. So a process of another namespace of process numbers is known
 * to live, too. A child of fork() keeps the lock.
 *
 * A call stores its number and time (struct rcx_status_calls), and nothing
 * else: the operations in flight are written by the failure detector, which
 * runs at most once a millisecond and only while a rank waits.
 *
 * The writer is one process, and one thread at a time. Readers of the
 * operations repeat until sequence is even and the same before and after.
 */
#ifndef RCX_CORE_BASE_STATUS_PAGE_H
#define RCX_CORE_BASE_STATUS_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/clock.h"

#define RCX_STATUS_FOLDER "/dev/shm"
#define RCX_STATUS_PREFIX "rcx_top."
#define RCX_STATUS_MAGIC UINT64_C(0x32504f5458435252) /* "RRCXTOP2" */

enum {
    RCX_STATUS_BYTES = 4096,
    RCX_STATUS_OPS = 4,    /* that are shown */
    RCX_STATUS_WAITS = 16, /* ranks that are named */
    RCX_STATUS_COMMS = 48,
    RCX_STATUS_NAME = 64,
    RCX_STATUS_TEXT = 32
};

/* What a call stores. */
struct rcx_status_calls {
    _Atomic uint64_t count;
    _Atomic uint64_t ticks; /* begin of the last one */
};

static inline void rcx_status_note_call(struct rcx_status_calls *calls,
                                        uint64_t count, uint64_t ticks)
{
    atomic_store_explicit(&calls->count, count, memory_order_relaxed);
    atomic_store_explicit(&calls->ticks, ticks, memory_order_relaxed);
}

/* A communicator. */
struct rcx_status_comm {
    _Atomic uint32_t is_used;
    uint32_t id;
    int32_t rank, size;
    struct rcx_status_calls collectives, messages;
};

/* An operation in flight. */
struct rcx_status_op {
    uint32_t comm;
    int32_t
        peer; /* of a message, in the world; -1: any rank, or a collective */
    int32_t tag;
    uint32_t is_blocking; /* the program is in the call */
    uint64_t number;
    uint64_t count; /* elements */
    uint64_t bytes;
    uint64_t begin;       /* ticks */
    uint64_t segments;    /* that have completed */
    uint32_t step, steps; /* that have completed, of all; of segments in
                             flight */
    int32_t waits;        /* for so many ranks of the world, */
    int32_t waits_for[RCX_STATUS_WAITS];
    char call[RCX_STATUS_TEXT]; /* "allreduce", "send", "receive" */
    char type[RCX_STATUS_TEXT]; /* "": a user's */
    char algorithm[RCX_STATUS_TEXT];
};

struct rcx_status_page {
    _Atomic uint64_t magic; /* stored last */
    uint32_t bytes; /* of this struct: another size is another version */
    uint32_t job;   /* the same on all ranks */
    int32_t pid;
    int32_t rank, size;        /* of the world */
    uint32_t internal;         /* id of the communicator of RCX's own calls */
    uint64_t pid_space;        /* inode of its namespace of process numbers */
    uint64_t process_start;    /* as in /proc/PID/stat */
    struct rcx_instant born;   /* one moment on both clocks */
    _Atomic uint64_t seen_ns;  /* when it last polled, also by a thread */
    _Atomic uint64_t ended_ns; /* when an operation of ops ended */
    _Atomic uint32_t sequence; /* odd: op_count and ops are being written */
    uint32_t op_count;         /* in flight, RCX_STATUS_OPS at most */
    struct rcx_status_op ops[RCX_STATUS_OPS];
    struct rcx_status_comm comms[RCX_STATUS_COMMS];
};
_Static_assert(sizeof(struct rcx_status_page) <= RCX_STATUS_BYTES,
               "a status page is one page");

/* The page of a process; of a context, in rcx_context. */
struct rcx_status_writer {
    struct rcx_status_page *page; /* NULL: none */
    int fd;                       /* has the lock */
    bool shows_ops;
    char path[RCX_STATUS_NAME + sizeof RCX_STATUS_FOLDER];
};

/* A number for the job, of its first rank: the process number, and some bits
 * that tell jobs of one process apart. */
uint32_t rcx_status_make_job(const struct rcx_instant *born);
/* The process number in it. */
static inline int rcx_status_job_pid(uint32_t job)
{
    return (int)(job & 0x3fffff);
}

/* Create the page, and remove those of this user's processes that have ended.
 * False: see errno; there is none then. */
bool rcx_status_open(struct rcx_status_writer *w, uint32_t job, int rank,
                     int size, const struct rcx_instant *born);
/* Remove it. */
void rcx_status_close(struct rcx_status_writer *w);

/* A place for a communicator; NULL: no page, or no place is left. */
struct rcx_status_comm *rcx_status_add_comm(struct rcx_status_writer *w,
                                            uint32_t id, int rank, int size);
/* comm may be NULL. */
void rcx_status_remove_comm(struct rcx_status_comm *comm);

/* Write ops and op_count between these. */
void rcx_status_begin(struct rcx_status_page *page);
void rcx_status_end(struct rcx_status_page *page);

/* Fields of /proc/PID/stat: its state ('T': stopped) and the time of its start.
 * False: there is no such process. */
bool rcx_status_process(int pid, char *state_p, uint64_t *start_p);
/* Whether no process has the lock of a page, which is open as fd. Others find
 * it locked until fd is closed, then. */
bool rcx_status_is_orphan(int fd);
/* Inode of this process's namespace of process numbers; 0: not known. */
uint64_t rcx_status_pid_space(void);

#endif
