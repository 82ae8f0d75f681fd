/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * progress_main WHAT
 *
 * One rank of a job that makes progress in one of RCX's ways (needs 14, 24).
 * Exits with 0 if all results are correct. A missed wake-up is a hang, which an
 * alarm() ends.
 *
 *   many     many operations in flight, waited for in any order
 *   thread   the progress thread alone completes an operation; it uses no CPU
 *            while no operation is in flight
 *   loop     an event loop that sleeps on the descriptor of rcx_get_fd()
 *   loop2    another thread starts operations that the loop completes
 *   deadline the loop wakes for a deadline
 *   abort    the loop wakes when a thread aborts a communicator
 *   alone    rcx_get_fd(), abort and rcx_arm() in a job of one rank
 *   no-wakeup   without RCX_PARAM_WAKEUP there is no descriptor
 *   wait_for rcx_wait_for() that times out leaves the operation intact
 *   wait SECONDS  ranks that wait for a rank that is late use no CPU
 *   oversubscribed  ranks share two cores: prints the time of a short allreduce
 */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rank.h"
#include "attempt.h"

enum { GUARD_SECONDS = 20, VICTIM = 2 };

static const struct kind sum = {.type = RCX_UINT64, .op = RCX_SUM};

static void check(struct attempt *a)
{
    if (attempt_check(a))
        rank_fail("%s", a->problem);
}

/* Start nonblocking call k. */
static void start(struct attempt *a, size_t count, uint64_t k)
{
    struct call call = call_mixed(&sum, count, me.size, k);

    call.form = NONBLOCKING;
    attempt_open(a, &call, me.world);
    rank_require(attempt_call(a, me.world), "a nonblocking call");
}

static double cpu_seconds(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void open_for(uint64_t field)
{
    const rcx_params_t params = {
        .field_mask = field, .wakeup = 1, .progress_thread = 1};

    rank_require(rank_open(&params), "rcx_init");
}

static void finish(void)
{
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
}

/* ---- Many operations in flight ------------------------------------------- */

enum { MANY = 64 };

static void shuffle(int order[], uint64_t seed)
{
    for (int i = MANY - 1; i > 0; i--) {
        const int k = (int)(serial_mix(seed, (uint64_t)i, 0) % (uint64_t)i);
        const int kept = order[i];

        order[i] = order[k];
        order[k] = kept;
    }
}

static struct attempt many[MANY];

static void start_many(void)
{
    static const size_t counts[] = {1, 300000, 9, 130, 70000, 2000, 5, 20000};

    for (uint64_t k = 0; k < MANY; k++)
        start(&many[k], counts[serial_mix(k, 1, 2) % 8], k);
}

static void wait_for_many(const int order[])
{
    start_many();
    for (int i = 0; i < MANY; i++) {
        struct attempt *a = &many[order[i]];

        rank_require(rcx_wait(a->request), "rcx_wait");
        check(a);
        attempt_close(a);
    }
}

static void wait_for_any_of_many(void)
{
    rcx_request_t *requests[MANY];
    size_t index;

    start_many();
    for (int i = 0; i < MANY; i++)
        requests[i] = many[i].request;
    for (int i = 0; i < MANY; i++) {
        rank_require(rcx_wait_any(MANY, requests, &index), "rcx_wait_any");
        if (index >= MANY || !requests[index])
            rank_fail("the %d-th of those that end is %zu", i, index);
        check(&many[index]);
        attempt_close(&many[index]);
        requests[index] = NULL;
    }
}

static void try_many(void)
{
    int order[MANY];

    rank_require(rank_open(NULL), "rcx_init");
    for (int i = 0; i < MANY; i++)
        order[i] = MANY - 1 - i;
    wait_for_many(order);
    shuffle(order, (uint64_t)me.rank);
    wait_for_many(order);
    wait_for_any_of_many();
    finish();
}

/* ---- The progress thread ------------------------------------------------- */

enum { TEN_MB = 10 << 20, IDLE_MS = 2000 };

static atomic_int completed;

static void count_one(rcx_request_t *request, rcx_status_t status, void *arg)
{
    (void)request, (void)arg;
    rank_require(status, "an operation");
    completed++;
}

static int threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int n = -2; /* . and .. */

    while (tasks && readdir(tasks))
        n++;
    closedir(tasks);
    return n;
}

/* A thread that is joined may still be in /proc for a moment. */
static void await_threads(int n)
{
    while (threads() > n)
        rank_sleep_ms(1);
}

static void check_idle(void)
{
    const double before = cpu_seconds();
    double used;

    rank_sleep_ms(IDLE_MS);
    used = cpu_seconds() - before;
    if (used > 0.01 * IDLE_MS / 1000)
        rank_fail("was on a CPU for %.3f s of %d ms without anything to do",
                  used, IDLE_MS);
}

static void complete_without_calls(void)
{
    const int64_t start_ns = rank_now_ns();
    struct call call =
        call_mixed(&sum, TEN_MB / sizeof(uint64_t), me.size, ALLREDUCE);
    struct attempt a;

    call.form = NONBLOCKING;
    attempt_open(&a, &call, me.world);
    rank_require(attempt_call(&a, me.world), "rcx_iallreduce");
    rank_require(rcx_request_set_callback(a.request, count_one, NULL),
                 "rcx_request_set_callback");
    while (completed == 0 && rank_now_ns() - start_ns < 10 * SECOND_NS)
        rank_sleep_ms(1);
    if (completed != 1)
        rank_fail("%d callbacks", completed);
    check(&a);
    attempt_close(&a);
}

/* PMIx keeps threads until exit, and UCX while a context is open. */
static void try_thread(void)
{
    int without, before;

    rank_require(rank_open(NULL), "rcx_init");
    before = threads();
    finish();
    without = threads();
    open_for(RCX_PARAM_PROGRESS);
    if (threads() != before + 1)
        rank_fail("%d threads, and %d with a progress thread", before,
                  threads());
    check_idle();
    complete_without_calls();
    finish();
    await_threads(without);
}

/* ---- An event loop ------------------------------------------------------- */

enum {
    OPERATIONS = 200,
    IN_FLIGHT = 4,
    LONGEST_DELAY_MS = 4,
    WHEN_ALL_IS_HERE_MS = 50
};

static struct attempt attempts[OPERATIONS];
static int epoll, wakeup_fd;
static pthread_t loop_thread;

static void watch(int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        rank_fail("no epoll: %m");
}

static void open_loop(void)
{
    int fd = -1;

    open_for(RCX_PARAM_WAKEUP);
    loop_thread = pthread_self();
    epoll = epoll_create1(EPOLL_CLOEXEC);
    wakeup_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rank_require(rcx_get_fd(me.context, &fd), "rcx_get_fd");
    watch(fd);
    watch(wakeup_fd);
    alarm((unsigned)(rank_limit_ns(GUARD_SECONDS * SECOND_NS) / SECOND_NS));
}

/* The sequence that rcx.h requires before each sleep. If rcx_progress() has
 * completed an operation, there is no sleep. */
static void sleep_once(int seen)
{
    struct epoll_event event;
    rcx_status_t status;
    uint64_t count;

    do
        rcx_progress(me.context);
    while ((status = rcx_arm(me.context)) == RCX_IN_PROGRESS);
    rank_require(status, "rcx_arm");
    if (completed == seen && epoll_wait(epoll, &event, 1, -1) == 1 &&
        event.data.fd == wakeup_fd && read(wakeup_fd, &count, sizeof count) < 0)
        rank_fail("the eventfd: %m");
}

/* Runs on any thread that makes progress. A thread other than the loop's wakes
 * the loop, as a host program would. */
static void complete_one(void)
{
    completed++;
    if (!pthread_equal(pthread_self(), loop_thread))
        eventfd_write(wakeup_fd, 1);
}

static void check_one(rcx_request_t *request, rcx_status_t status, void *arg)
{
    (void)request;
    rank_require(status, "an operation");
    check(arg);
    attempt_close(arg);
    complete_one();
}

static void start_one(int k)
{
    struct attempt *a = &attempts[k];

    rank_sleep_ms((int)(serial_mix((uint64_t)k, (uint64_t)me.rank, 3) %
                        (LONGEST_DELAY_MS + 1)));
    start(a, k % 7 == 2 ? 40000 : 100, (uint64_t)k);
    rank_require(rcx_request_set_callback(a->request, check_one, a),
                 "rcx_request_set_callback");
}

static void try_loop(void)
{
    int started = 0;

    open_loop();
    while (completed < OPERATIONS) {
        const int seen = completed;

        while (started < OPERATIONS && started < seen + IN_FLIGHT)
            start_one(started++);
        sleep_once(seen);
    }
    finish();
}

/* The last operation starts when all of its messages have arrived, so no other
 * event wakes the loop. */
static void *start_all(void *arg)
{
    for (int k = 0; k < OPERATIONS; k++) {
        while (k >= completed + IN_FLIGHT)
            rank_sleep_ms(1);
        if (k == OPERATIONS - 1 && me.rank == 1)
            rank_sleep_ms(WHEN_ALL_IS_HERE_MS);
        start_one(k);
    }
    return arg;
}

static void try_loop_of_two_threads(void)
{
    pthread_t starter;

    open_loop();
    if (pthread_create(&starter, NULL, start_all, NULL) != 0)
        rank_fail("no thread");
    while (completed < OPERATIONS)
        sleep_once(completed);
    pthread_join(starter, NULL);
    finish();
}

/* ---- Other events that wake the loop ------------------------------------- */

enum { VICTIM_SLEEP_MS = 1500, ABORT_MS = 300 };

static void keep_status(rcx_request_t *request, rcx_status_t status, void *arg)
{
    (void)request;
    *(rcx_status_t *)arg = status;
    complete_one();
}

static void *abort_later(void *comm)
{
    rank_sleep_ms(ABORT_MS);
    rank_require(rcx_comm_abort(comm), "rcx_comm_abort");
    return NULL;
}

/* Start an operation that rank VICTIM does not take part in, and sleep until it
 * fails. */
static void await_error(rcx_comm_t *comm, rcx_status_t expected)
{
    const int64_t start_ns = rank_now_ns();
    rcx_status_t status = RCX_IN_PROGRESS;
    rcx_request_t *request;
    uint64_t word = 1;

    rank_require(rcx_iallreduce(RCX_IN_PLACE, &word, 1, RCX_UINT64, RCX_SUM,
                                comm, &request),
                 "rcx_iallreduce");
    rank_require(rcx_request_set_callback(request, keep_status, &status),
                 "rcx_request_set_callback");
    while (completed == 0)
        sleep_once(0);
    rank_expect(status, expected, "what ended the operation");
    if (rank_now_ns() - start_ns > ABORT_MS * MS_NS + rank_limit_ns(SECOND_NS))
        rank_fail("it ended after %.3f s",
                  (double)(rank_now_ns() - start_ns) / 1e9);
    rank_require(rcx_request_free(&request), "rcx_request_free");
}

static void try_error(rcx_status_t expected)
{
    const bool aborts = expected == RCX_ERR_COMM_FAILED;
    pthread_t thread;
    rcx_comm_t *copy;

    open_loop();
    rank_require(rcx_comm_dup(me.world, &copy), "rcx_comm_dup");
    if (!aborts)
        rank_require(rcx_comm_set_timeout(copy, ABORT_MS * MS_NS),
                     "rcx_comm_set_timeout");
    if (aborts && me.rank == 0 &&
        pthread_create(&thread, NULL, abort_later, copy) != 0)
        rank_fail("no thread");
    if (me.rank == VICTIM)
        rank_sleep_ms(VICTIM_SLEEP_MS);
    else
        await_error(copy, expected);
    if (aborts && me.rank == 0)
        pthread_join(thread, NULL);
    rank_require(rcx_comm_free(&copy), "rcx_comm_free");
    finish();
}

static void try_alone(void)
{
    int fd = -1, tries = 0;
    int64_t word = 1;

    open_for(RCX_PARAM_WAKEUP);
    rank_require(rcx_get_fd(me.context, &fd), "rcx_get_fd");
    rank_require(rcx_comm_abort(me.world), "rcx_comm_abort");
    rank_expect(
        rcx_allreduce(RCX_IN_PLACE, &word, 1, RCX_INT64, RCX_SUM, me.world),
        RCX_ERR_COMM_FAILED, "rcx_allreduce");
    while (rcx_progress(me.context) >= 0 &&
           rcx_arm(me.context) == RCX_IN_PROGRESS)
        if (++tries > 100)
            rank_fail("rcx_arm always has something to do");
    finish();
}

static void try_no_wakeup(void)
{
    int fd = -7;

    rank_require(rank_open(NULL), "rcx_init");
    rank_expect(rcx_get_fd(me.context, &fd), RCX_ERR_UNSUPPORTED, "rcx_get_fd");
    rank_expect(rcx_arm(me.context), RCX_ERR_UNSUPPORTED, "rcx_arm");
    if (fd != -7 || me.errors != 2)
        rank_fail("a descriptor %d, and %d errors logged", fd, me.errors);
    finish();
}

/* ---- Waits with a limit -------------------------------------------------- */

/* The waits of the other ranks time out before rank 0 starts. */
static void try_wait_for(void)
{
    struct attempt a;
    rcx_comm_t *other;
    rcx_status_t status;
    int word = 1;

    rank_require(rank_open(NULL), "rcx_init");
    rank_require(rcx_comm_dup(me.world, &other), "rcx_comm_dup");
    if (me.rank > 0) {
        start(&a, 3000, ALLREDUCE);
        rank_expect(rcx_wait_for(a.request, 5 * MS_NS), RCX_IN_PROGRESS,
                    "rcx_wait_for of what has to wait for rank 0");
    }
    rank_require(
        rcx_allreduce(RCX_IN_PLACE, &word, 1, RCX_INT32, RCX_SUM, other),
        "rcx_allreduce");
    if (me.rank == 0)
        start(&a, 3000, ALLREDUCE);
    do
        status = rcx_wait_for(a.request, MS_NS);
    while (status == RCX_IN_PROGRESS);
    rank_require(status, "rcx_wait_for");
    check(&a);
    attempt_close(&a);
    rank_require(rcx_comm_free(&other), "rcx_comm_free");
    finish();
}

/* ---- Cores --------------------------------------------------------------- */

enum { BATCHES = 9, BATCH = 501, SHARED_CORES = 2 };

static void try_wait(int seconds)
{
    double before, used;
    int word = 1;

    rank_require(rank_open(NULL), "rcx_init");
    rank_require(
        rcx_allreduce(RCX_IN_PLACE, &word, 1, RCX_INT32, RCX_SUM, me.world),
        "rcx_allreduce");
    if (me.rank == 0)
        rank_sleep_ms(1000 * seconds);
    before = cpu_seconds();
    rank_require(
        rcx_allreduce(RCX_IN_PLACE, &word, 1, RCX_INT32, RCX_SUM, me.world),
        "rcx_allreduce");
    used = cpu_seconds() - before;
    if (used >= 0.2)
        rank_fail("was on a CPU for %.3f s of %d s of waiting", used, seconds);
    finish();
}

static void share_cores(void)
{
    cpu_set_t all, few;

    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&few);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&few) < SHARED_CORES; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &few);
    sched_setaffinity(0, sizeof few, &few);
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Return the median time of a batch of allreduces, in nanoseconds. */
static int64_t time_batch(void)
{
    int64_t took[BATCH], word = 0;

    for (int i = 0; i < BATCH; i++) {
        const int64_t start_ns = rank_now_ns();

        rank_require(
            rcx_allreduce(RCX_IN_PLACE, &word, 1, RCX_INT64, RCX_SUM, me.world),
            "rcx_allreduce");
        took[i] = rank_now_ns() - start_ns;
    }
    qsort(took, BATCH, sizeof *took, by_value);
    return took[BATCH / 2];
}

/*
 * Other processes of the machine must not count: one of them may run for
 * milliseconds whenever a rank yields. So ranks are real-time if permitted.
 */
static void try_oversubscribed(void)
{
    const struct sched_param lowest = {.sched_priority = 1};
    const struct sched_param none = {.sched_priority = 0};
    int64_t medians[BATCHES];
    bool is_fair;

    share_cores();
    rank_require(rank_open(NULL), "rcx_init");
    time_batch();
    is_fair = sched_setscheduler(0, SCHED_RR, &lowest) != 0;
    for (int i = 0; i < BATCHES; i++)
        medians[i] = time_batch();
    sched_setscheduler(0, SCHED_OTHER, &none);
    qsort(medians, BATCHES, sizeof *medians, by_value);
    if (me.rank == 0)
        printf("%.1f us%s\n", (double)medians[BATCHES / 2] / 1e3,
               is_fair ? ", with other processes" : "");
    finish();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "many") == 0)
        try_many();
    else if (strcmp(what, "thread") == 0)
        try_thread();
    else if (strcmp(what, "loop") == 0)
        try_loop();
    else if (strcmp(what, "loop2") == 0)
        try_loop_of_two_threads();
    else if (strcmp(what, "deadline") == 0)
        try_error(RCX_ERR_TIMEOUT);
    else if (strcmp(what, "abort") == 0)
        try_error(RCX_ERR_COMM_FAILED);
    else if (strcmp(what, "alone") == 0)
        try_alone();
    else if (strcmp(what, "no-wakeup") == 0)
        try_no_wakeup();
    else if (strcmp(what, "wait_for") == 0)
        try_wait_for();
    else if (strcmp(what, "wait") == 0 && argc == 3)
        try_wait(atoi(argv[2]));
    else if (strcmp(what, "oversubscribed") == 0)
        try_oversubscribed();
    else
        return 2;
    return 0;
}
