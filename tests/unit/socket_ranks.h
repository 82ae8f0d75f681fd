/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks as forked processes, for tests of the bootstrap over sockets. Each runs
 * a script, and stores its outcome in memory that all share. Only loopback is
 * used, and only free ports.
 */
#ifndef RCX_TESTS_UNIT_SOCKET_RANKS_H
#define RCX_TESTS_UNIT_SOCKET_RANKS_H

#include <dirent.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bootstrap_side.h"
#include "core/base/clock.h"
#include "loopback.h"
#include "test.h"

enum { RANKS_MAX = 64, GATES = 4, KILLED = 1000, PATIENCE_S = 30 };
static const int64_t long_ns = INT64_C(20000000000);
/* When starts began: the next warning of one is minutes away. */
static const uint64_t long_ago_ns = UINT64_C(700000000000);

struct outcome {
    rcx_status_t status; /* of the call that failed first */
    int lines;
    char first[512];
    char line[512];
    int descriptors; /* more than before */
    bool is_clean;   /* nothing is left on the heap */
};

/* What the processes share. */
struct ranks {
    int n;
    rcx_id_t id;
    _Atomic int is_made; /* the id is */
    _Atomic int gates[GATES];
    _Atomic int at_gate[GATES];
    pid_t pids[RANKS_MAX];
    struct outcome outcomes[RANKS_MAX];
};

/* How a process starts. */
struct start {
    int rank;
    int size;
    int64_t timeout_ns;
    const char *address;         /* for the id; NULL: loopback's */
    void (*spoil)(rcx_id_t *id); /* NULL: not */
    bool by_environment;
    bool warns; /* a warning of the start is due at once */
};

typedef rcx_status_t (*script_t)(struct side *side, struct ranks *ranks);

static inline struct ranks *ranks_new(void)
{
    struct ranks *ranks = mmap(NULL, sizeof *ranks, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(ranks != MAP_FAILED);
    return ranks;
}

static inline int count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int n = 0;

    while (folder && readdir(folder))
        n++;
    if (folder)
        closedir(folder);
    return n;
}

/* Wait until the test opens the gate. */
static inline void wait_at_gate(struct ranks *ranks, int gate)
{
    atomic_fetch_add(&ranks->at_gate[gate], 1);
    while (!atomic_load(&ranks->gates[gate]))
        usleep(500);
}

static inline void wait_for_ranks_at(struct ranks *ranks, int gate, int n)
{
    while (atomic_load(&ranks->at_gate[gate]) < n)
        usleep(500);
}

static inline void run_rank(struct ranks *ranks, int i,
                            const struct start *start, script_t script)
{
    struct outcome *outcome = &ranks->outcomes[i];
    struct rcx_start_wait wait;
    struct side side;
    rcx_id_t id;
    int before;

    alarm(PATIENCE_S); /* a hang is a failure */
    side_init(&side, NULL);
    before = count_descriptors();
    if (!start->by_environment) {
        if (start->rank == 0 && !atomic_load(&ranks->is_made)) {
            if (rcx_boot_make_id(start->address ? start->address
                                                : LOOPBACK_ANY_PORT,
                                 &side.log, &ranks->id) != RCX_OK)
                _exit(1);
            atomic_store(&ranks->is_made, 1);
        }
        while (!atomic_load(&ranks->is_made))
            usleep(500);
        id = ranks->id;
        if (start->spoil)
            start->spoil(&id);
        side.params.field_mask = RCX_PARAM_ID;
        side.params.id = &id;
        side.params.rank = start->rank;
        side.params.size = start->size;
    }
    side.args.timeout_ns = start->timeout_ns;
    rcx_start_wait_begin(&wait, &side.log, rcx_now_ns() - long_ago_ns);
    if (start->warns)
        wait.next_ns = 0;
    side.args.wait = &wait;
    outcome->status = script(&side, ranks);
    if (side.boot)
        side.boot->ops->close(side.boot);
    outcome->lines = side.lines.count;
    memcpy(outcome->first, side.lines.first, sizeof outcome->first);
    memcpy(outcome->line, side.lines.last, sizeof outcome->line);
    outcome->is_clean = side.heap.live == 0;
    outcome->descriptors = count_descriptors() - before;
    _exit(0);
}

static inline void ranks_start(struct ranks *ranks, int n,
                               const struct start starts[], script_t script)
{
    ranks->n = n;
    for (int i = 0; i < n; i++) {
        const pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0)
            run_rank(ranks, i, &starts[i], script);
        ranks->pids[i] = pid;
    }
}

/* The same for ranks 0 to n - 1 of n. */
static inline void ranks_start_all(struct ranks *ranks, int n,
                                   const struct start *common, script_t script)
{
    struct start starts[RANKS_MAX];

    for (int i = 0; i < n; i++) {
        starts[i] = *common;
        starts[i].rank = i;
        starts[i].size = n;
    }
    ranks_start(ranks, n, starts, script);
}

/* Wait for the end of all. A process that was killed has the status KILLED. */
static inline void ranks_end(struct ranks *ranks)
{
    for (int i = 0; i < ranks->n; i++) {
        int status = -1;

        assert_int_equal(ranks->pids[i], waitpid(ranks->pids[i], &status, 0));
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
            ranks->outcomes[i].status = (rcx_status_t)KILLED;
        else
            assert_int_equal(0, status);
    }
}

static inline void ranks_free(struct ranks *ranks)
{
    munmap(ranks, sizeof *ranks);
}

/* Rank i succeeded, logged nothing and left nothing. */
static inline void assert_good(const struct ranks *ranks, int i)
{
    const struct outcome *o = &ranks->outcomes[i];

    if (o->status != RCX_OK || o->lines != 0)
        print_message("# process %d: %s\n", i, o->line);
    assert_int_equal(RCX_OK, o->status);
    assert_int_equal(0, o->lines);
    assert_true(o->is_clean);
    assert_int_equal(0, o->descriptors);
}

/* Rank i failed with status and one line that has these words. */
static inline void assert_told(const struct ranks *ranks, int i,
                               rcx_status_t status, const char *words)
{
    const struct outcome *o = &ranks->outcomes[i];

    if (o->status != status || o->lines != 1 || !strstr(o->line, words))
        print_message("# process %d: %d lines, \"%s\", not \"%s\"\n", i,
                      o->lines, o->line, words);
    assert_int_equal(status, o->status);
    assert_int_equal(1, o->lines);
    assert_non_null(strstr(o->line, words));
    assert_true(o->is_clean);
    assert_int_equal(0, o->descriptors);
}

/* Before that line, rank i warned once, with these words. */
static inline void assert_warned(const struct ranks *ranks, int i,
                                 const char *words)
{
    const struct outcome *o = &ranks->outcomes[i];

    if (o->lines != 2 || !strstr(o->first, words))
        print_message("# process %d: %d lines, \"%s\", not \"%s\"\n", i,
                      o->lines, o->first, words);
    assert_int_equal(2, o->lines);
    assert_non_null(strstr(o->first, "rcx_init has waited 7"));
    assert_non_null(strstr(o->first, words));
}

/* ---- Scripts ------------------------------------------------------------- */

static inline rcx_status_t open_only(struct side *side, struct ranks *ranks)
{
    (void)ranks;
    return rcx_boot_socket.open(&side->args, &side->boot);
}

/* The exchanges of a context that is open, as rcx_init() has them. */
static inline rcx_status_t exchange_all(struct side *side)
{
    struct received received;
    rcx_status_t status = exchange_records(side, &received);

    if (status == RCX_OK && (received.seen != side->boot->local_size ||
                             received.right != received.seen))
        return RCX_ERR_INTERNAL;
    if (status == RCX_OK)
        status = exchange_with_all(side);
    if (status == RCX_OK)
        status = publish_own(side);
    for (int i = 0; i < side->boot->size && status == RCX_OK; i++)
        if (!sees_blob_of(side, i))
            status = RCX_ERR_INTERNAL;
    return status;
}

/* All that a context does of its bootstrap. */
static inline rcx_status_t whole_life(struct side *side, struct ranks *ranks)
{
    rcx_status_t status = open_only(side, ranks);

    if (status == RCX_OK)
        status = exchange_all(side);
    if (status == RCX_OK)
        status = side->boot->ops->barrier(side->boot, NULL, NULL);
    return status;
}

#endif
