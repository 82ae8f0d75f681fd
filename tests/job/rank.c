/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Setup, errors, signals and clocks of the small job programs (rank.h). Log
 * lines of RCX are kept in me, not printed. A watcher thread measures the time
 * in which the process gets no core.
 */
#include "rank.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct rank me;

static void keep_error(rcx_log_level_t level, const char *text, void *arg)
{
    (void)arg;
    if (me.on_line)
        me.on_line(text);
    if (level == RCX_LOG_ERROR && me.errors++ == 0)
        snprintf(me.error, sizeof me.error, "%s", text);
    else if (level == RCX_LOG_ERROR)
        snprintf(me.last_error, sizeof me.last_error, "%s", text);
    if (level == RCX_LOG_WARN)
        snprintf(me.warning, sizeof me.warning, "%s", text);
}

/* The signal is a real-time one: those are queued, so each is counted. */
static sigset_t signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    return set;
}

static void block_signals(void)
{
    const sigset_t set = signals();

    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

rcx_status_t rank_open(const rcx_params_t *params)
{
    rcx_params_t mine = params ? *params : (rcx_params_t){.field_mask = 0};
    rcx_status_t status;

    block_signals();
    mine.field_mask |= RCX_PARAM_LOG;
    mine.log = keep_error;
    status = rcx_init(&mine, &me.context);
    if (status != RCX_OK)
        return status;
    me.world = rcx_world(me.context);
    me.rank = rcx_comm_rank(me.world);
    me.size = rcx_comm_size(me.world);
    return RCX_OK;
}

void rank_fail(const char *format, ...)
{
    char text[2048];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "rank %d: %s\n", me.rank, text);
    _exit(1);
}

void rank_expect(rcx_status_t status, rcx_status_t expected, const char *what)
{
    if (status != expected)
        rank_fail("%s: %s instead of %s (%s%s%s)", what,
                  rcx_status_string(status), rcx_status_string(expected),
                  me.error, *me.last_error ? "; last: " : "", me.last_error);
}

void rank_require(rcx_status_t status, const char *what)
{
    rank_expect(status, RCX_OK, what);
}

int64_t rank_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND_NS + t.tv_nsec;
}

void rank_sleep_ms(int ms)
{
    struct timespec t = {.tv_sec = ms / 1000,
                         .tv_nsec = ms % 1000 * (long)MS_NS};

    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

/* ---- Signals between ranks, without RCX ---------------------------------- */

void rank_signal(int64_t pid)
{
    if (kill((pid_t)pid, SIGRTMIN) != 0)
        rank_fail("process %d is gone", (int)pid);
}

void rank_await_signals(int times)
{
    const sigset_t set = signals();

    while (times > 0)
        times -= sigwaitinfo(&set, NULL) == SIGRTMIN;
}

void rank_leave_last(rcx_comm_t *comm, int64_t pid)
{
    const struct timespec none = {0, 0};
    const sigset_t set = signals();
    int others = rcx_comm_size(comm) - 1;

    if (pid != getpid()) {
        rank_signal(pid);
        return;
    }
    while (others > 0) { /* they may need what this process has to send */
        rcx_progress(me.context);
        others -= sigtimedwait(&set, NULL, &none) == SIGRTMIN;
    }
}

void rank_barrier_left_last(rcx_comm_t *comm, int last)
{
    int64_t pid = getpid();

    rank_require(rcx_barrier(comm), "rcx_barrier");
    rank_require(rcx_bcast(&pid, 1, RCX_INT64, last, comm), "rcx_bcast");
    rank_leave_last(comm, pid);
}

/* ---- Time without a core ------------------------------------------------- */

enum { SLEEP_MS = 10, LATE_MS = 50 };
static _Atomic int64_t lost_ns;

/* A thread that only sleeps wakes up late only if it gets no core. */
static void *watch_machine(void *arg)
{
    (void)arg;
    for (int64_t then = rank_now_ns();;) {
        int64_t late;

        rank_sleep_ms(SLEEP_MS);
        late = rank_now_ns() - then - SLEEP_MS * MS_NS;
        then += late + SLEEP_MS * MS_NS;
        if (late > LATE_MS * MS_NS)
            lost_ns += late;
    }
    return NULL;
}

void rank_watch_machine(void)
{
    block_signals();
    if (pthread_create(&(pthread_t){0}, NULL, watch_machine, NULL))
        rank_fail("no thread");
}

int64_t rank_lost_ns(void)
{
    return lost_ns;
}

int64_t rank_time_here(void)
{
    return rank_now_ns() - lost_ns;
}

int64_t rank_limit_ns(int64_t ns)
{
    const char *slow = getenv("TEST_SLOW");

    return slow ? ns * atoi(slow) : ns;
}

int rank_entries(const char *folder)
{
    DIR *entries = opendir(folder);
    int n = 0;

    while (entries && readdir(entries))
        n++;
    if (!entries)
        rank_fail("%s cannot be read", folder);
    closedir(entries);
    return n;
}

struct rank_pages rank_pages(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    struct rank_pages pages;

    if (!file || fscanf(file, "%ld %ld %ld", &pages.size, &pages.resident,
                        &pages.shared) != 3)
        rank_fail("/proc/self/statm cannot be read");
    fclose(file);
    return pages;
}

uint64_t rank_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

int rank_fork_stopper(int stop_ms)
{
    const pid_t self = getpid();
    int ends[2], us;

    if (pipe(ends) != 0)
        rank_fail("no pipe");
    if (fork() == 0) {
        close(ends[1]);
        while (read(ends[0], &us, sizeof us) == sizeof us) {
            const int64_t begin = rank_now_ns();

            while (rank_now_ns() - begin < us * INT64_C(1000))
                ;
            kill(self, SIGSTOP);
            rank_sleep_ms(stop_ms);
            kill(self, SIGCONT);
        }
        _exit(0);
    }
    close(ends[0]);
    return ends[1];
}
