/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of rcx_top. */
#ifndef RCX_TOOLS_RCX_TOP_RCX_TOP_H
#define RCX_TOOLS_RCX_TOP_RCX_TOP_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/status_page.h"

enum top_state {
    TOP_IN_CALL,
    TOP_OUTSIDE, /* the program is not in RCX, or in a call for less than a
                    millisecond */
    TOP_STOPPED, /* by a signal, or a debugger */
    TOP_ENDED,   /* the process, without rcx_finalize() */
    TOP_UNKNOWN  /* its page is being written */
};

/* Operations that have waited for less than this are not judged. */
#define TOP_LONG_NS UINT64_C(1000000000)
/* Nor are those that may have progressed within this time: at least two looks
 * at the page, so far apart, have to find the same. */
#define TOP_STILL_NS (TOP_LONG_NS / 2)

/* A rank of which there is a page. */
struct top_rank {
    struct rcx_status_page page; /* a copy; all of it is in valid ranges */
    char file[RCX_STATUS_NAME];
    enum top_state state;
    bool is_orphan;  /* no process has the page */
    bool is_torn;    /* operations were being written, and are left out */
    uint64_t for_ns; /* it has been in this state */
    /* For so long, up to page.seen_ns, its operations have been the same at
     * every look: none has ended, begun or completed a step. */
    uint64_t still_ns;
    const struct rcx_status_op *op;     /* the oldest one in flight, or NULL */
    const struct rcx_status_comm *last; /* that of the last call, or NULL */
};

/* Ranks of one job, by rank. */
struct top_job {
    uint32_t job;
    int size;
    const struct top_rank *ranks;
    size_t n;
    bool is_wanted;
};

/* A rank that others wait for. */
struct top_missing {
    int rank;
    const struct top_rank *found; /* NULL: there is no page of it here */
    bool *waits;                  /* for each rank of the job that is here */
};

/* ---- pages.c ------------------------------------------------------------- */

/* Pages at one time, sorted by job and rank. */
struct top_look {
    struct top_rank *ranks;
    size_t n;
};

/* Read the pages of this user; root reads those of all. before: the last look,
 * to compare with. top_look_free() releases what is returned. */
struct top_look top_read(const struct top_look *before);
void top_look_free(struct top_look *look);
/* Remove the page of a process that has ended. False: see errno. */
bool top_remove(const struct top_rank *rank);
/* How long ago this was on the clock of the rank. */
uint64_t top_age(const struct top_rank *rank, uint64_t ticks);

/* ---- waits.c ------------------------------------------------------------- */

/* Find the ranks for which others have waited for TOP_LONG_NS or more, directly
 * or by way of ranks that wait themselves. Returns how many; the list is to be
 * freed by top_free_missing(). */
size_t top_find_missing(const struct top_job *job,
                        struct top_missing **missing_p);
void top_free_missing(struct top_missing *missing, size_t n);
/* Whether a rank has waited for so long, and has not progressed. */
bool top_waits_long(const struct top_rank *rank);
/* Mark ranks that wait for each other: each for some of them, and for no other.
 * Returns how many. */
size_t top_find_circle(const struct top_job *job, bool marks[]);

/* ---- print.c, json.c ----------------------------------------------------- */

const char *top_state_name(enum top_state state);
void top_print(const struct top_job *job);
void top_print_json(const struct top_job *jobs, size_t n);

/* ---- main.c -------------------------------------------------------------- */

/* Ends the program if memory runs out. */
void *top_alloc(size_t n, size_t bytes);

#endif
