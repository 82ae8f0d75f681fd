/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fork_main WHAT
 *
 * One rank of a job that forks (need 27). Exits with 0 if all results are
 * correct, in its children as well.
 *
 *   forks MODE     forks between calls and while operations are in flight; the
 *                  child exits, executes a program, or stays for a while. MODE
 *                  is a rcx_thread_mode_t
 *   inside         forks while another thread is in a call
 *   callback MODE  forks in a callback; the child returns from the callback
 *   spawns         runs programs by system(), popen() and posix_spawn()
 *   lingers        a child outlives the rank
 *   list           prints the names of the functions that a child calls
 */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fork_calls.h"
#include "rank.h"
#include "attempt.h"

extern char **environ;

enum moment {
    BETWEEN,    /* no operation is in flight */
    UNANSWERED, /* the other ranks have not started the operations in flight */
    MIDST,      /* messages of the operations are in flight */
    MOMENTS
};
enum way { BY_EXIT, BY_UNDERSCORE_EXIT, BY_EXEC, LATER, WAYS };
enum { OPS = 12, SOME = 50, MANY = 1000, LONG_SECONDS = 300 };

static const struct kind sum = {.type = RCX_UINT64, .op = RCX_SUM};
static struct fork_handles mine;
static struct attempt attempts[OPS];
static int64_t word;

static void check_sum(rcx_comm_t *comm)
{
    int64_t x = me.rank;

    rank_require(rcx_allreduce(RCX_IN_PLACE, &x, 1, RCX_INT64, RCX_SUM, comm),
                 "rcx_allreduce");
    if (x != me.size * (me.size - 1) / 2)
        rank_fail("a wrong sum: %ld", (long)x);
}

static int add(void *dst, const void *left, const void *right, size_t count,
               rcx_datatype_t type, void *arg)
{
    (void)type, (void)arg;
    for (size_t i = 0; i < count; i++)
        ((int64_t *)dst)[i] =
            ((const int64_t *)left)[i] + ((const int64_t *)right)[i];
    return 0;
}

/* ---- A rank with an object of every kind --------------------------------- */

static void open_rank(rcx_thread_mode_t threads)
{
    const rcx_params_t params = {.field_mask =
                                     RCX_PARAM_THREADS | RCX_PARAM_WAKEUP,
                                 .threads = threads,
                                 .wakeup = 1};

    rank_require(rank_open(&params), "rcx_init");
    mine.context = me.context;
    mine.world = me.world;
    rank_require(rcx_comm_dup(me.world, &mine.comm), "rcx_comm_dup");
    rank_require(
        rcx_op_create(me.context, add, RCX_OP_COMMUTATIVE, NULL, &mine.op),
        "rcx_op_create");
    rank_require(rcx_type_create(me.context, sizeof word, &mine.type),
                 "rcx_type_create");
    rank_require(rcx_mem_alloc(mine.comm, 100, &mine.memory), "rcx_mem_alloc");
    rank_require(rcx_allreduce_init(RCX_IN_PLACE, &word, 1, mine.type, mine.op,
                                    mine.comm, &mine.persistent),
                 "rcx_allreduce_init");
}

/* Check that all objects still work, and free them. */
static void close_rank(void)
{
    word = 1;
    rank_require(rcx_start(mine.persistent), "rcx_start");
    rank_require(rcx_wait(mine.persistent), "rcx_wait");
    if (word != me.size)
        rank_fail("a wrong sum by an op of the user's: %ld", (long)word);
    check_sum(mine.comm);
    rank_require(rcx_request_free(&mine.persistent), "rcx_request_free");
    rank_require(rcx_op_free(me.context, &mine.op), "rcx_op_free");
    rank_require(rcx_type_free(me.context, &mine.type), "rcx_type_free");
    rank_require(rcx_mem_free(mine.comm, mine.memory), "rcx_mem_free");
    rank_require(rcx_comm_free(&mine.comm), "rcx_comm_free");
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
}

static void start_all(uint64_t round)
{
    static const size_t counts[] = {1, 20000, 300, 50000, 3000, 0};

    for (uint64_t k = 0; k < OPS; k++) {
        struct attempt *a = &attempts[k];
        struct call call =
            call_mixed(&sum, counts[k % 6], me.size, OPS * round + k);

        call.form = k % 3 ? NONBLOCKING : PERSISTENT;
        attempt_open(a, &call, mine.comm);
        rank_require(attempt_call(a, mine.comm), "an operation");
        if (call.form == PERSISTENT)
            rank_require(rcx_start(a->request), "rcx_start");
    }
}

static void finish_all(void)
{
    for (int k = OPS - 1; k >= 0; k--) {
        struct attempt *a = &attempts[k];

        rank_require(rcx_wait(a->request), "rcx_wait");
        if (attempt_check(a))
            rank_fail("%s", a->problem);
        attempt_close(a);
    }
}

static void run(int calls)
{
    static const size_t counts[] = {1, 100, 2000, 7, 300};
    char problem[256];

    for (uint64_t k = 0; k < (uint64_t)calls; k++) {
        const struct call call = call_mixed(&sum, counts[k % 5], me.size, k);

        if (call_run(&call, me.world, problem) != RCX_OK)
            rank_fail("%s", problem);
    }
}

/* ---- Children ------------------------------------------------------------ */

struct child {
    pid_t pid;
    int leash; /* write end of a pipe; the child ends when it is closed */
};

static _Noreturn void be_child(enum way way, int leash)
{
    char byte;

    fork_calls_check(&mine);
    switch (way) {
    case BY_EXIT: exit(0);
    case BY_UNDERSCORE_EXIT: _exit(0);
    case BY_EXEC:
        execl("/bin/true", "true", (char *)NULL);
        rank_fail("no /bin/true: %m");
    default:
        if (read(leash, &byte, 1) != 0)
            rank_fail("a child is not held: %m");
        fork_calls_check(&mine);
        exit(0);
    }
}

static struct child fork_one(enum way way, bool in_flight)
{
    struct child child;
    int leash[2];

    mine.request = in_flight ? attempts[1].request : mine.persistent;
    if (pipe(leash) != 0)
        rank_fail("no pipe: %m");
    child.leash = leash[1];
    child.pid = fork();
    if (child.pid < 0)
        rank_fail("no child: %m");
    if (child.pid == 0) {
        close(leash[1]);
        be_child(way, leash[0]);
    }
    close(leash[0]);
    return child;
}

static void expect_exit(int status, int expected, const char *what)
{
    if (WIFSIGNALED(status))
        rank_fail("%s is killed by signal %d", what, WTERMSIG(status));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != expected)
        rank_fail("%s ends with %#x", what, (unsigned)status);
}

static void end_one(const struct child *child)
{
    int status;

    close(child->leash);
    if (waitpid(child->pid, &status, 0) != child->pid)
        rank_fail("no child to wait for: %m");
    expect_exit(status, 0, "a child");
}

/* Start operations and bring them to moment. UNANSWERED: rank first starts
 * them, and the other ranks do so after it has forked. If first is the number
 * of ranks, all ranks start them at once. */
static void get_going(enum moment moment, int first, uint64_t round)
{
    const bool is_first = first == me.rank || first == me.size;

    if (moment == BETWEEN)
        return;
    if (moment == UNANSWERED && !is_first)
        check_sum(me.world);
    start_all(round);
    for (int i = 0; i < 3 && moment == MIDST; i++)
        if (rcx_progress(me.context) < 0)
            rank_fail("rcx_progress: %s", me.error);
}

static void complete(enum moment moment, int first, uint64_t round)
{
    if (moment == UNANSWERED && (first == me.rank || first == me.size))
        check_sum(me.world);
    if (moment == BETWEEN)
        start_all(round);
    finish_all();
}

/* Each rank forks in turn, then all ranks fork at once. */
static void try_forks(rcx_thread_mode_t threads)
{
    open_rank(threads);
    for (int round = 0; round < WAYS * MOMENTS * (me.size + 1); round++) {
        const enum way way = (enum way)(round % WAYS);
        const enum moment moment = (enum moment)(round / WAYS % MOMENTS);
        const int forking = round / WAYS / MOMENTS;
        const bool forks = forking == me.rank || forking == me.size;
        struct child child;

        get_going(moment, forking, (uint64_t)round);
        if (forks)
            child = fork_one(way, moment != BETWEEN);
        complete(moment, forking, (uint64_t)round);
        run(way == LATER && moment == MIDST ? MANY : SOME);
        if (forks)
            end_one(&child);
    }
    close_rank();
}

/* ---- Threads ------------------------------------------------------------- */

/* RCX_ERR_BUSY: the main thread polls with rcx_mem_free() on the same
 * communicator, and one of these calls has come first. */
static void *call_and_wait(void *arg)
{
    int64_t x = 1;
    rcx_status_t status;

    do
        status =
            rcx_allreduce(RCX_IN_PLACE, &x, 1, RCX_INT64, RCX_SUM, mine.comm);
    while (status == RCX_ERR_BUSY);
    rank_require(status, "rcx_allreduce");
    if (x != me.size)
        rank_fail("a wrong sum: %ld", (long)x);
    return arg;
}

/* The other ranks enter the call after rank 0 has forked. */
static void try_inside(void)
{
    struct child child;
    pthread_t thread;

    open_rank(RCX_THREAD_MULTIPLE);
    if (me.rank > 0) {
        check_sum(me.world);
        call_and_wait(NULL);
    } else {
        if (pthread_create(&thread, NULL, call_and_wait, NULL) != 0)
            rank_fail("no thread");
        while (rcx_mem_deregister(mine.comm, NULL) != RCX_ERR_BUSY)
            ;
        child = fork_one(BY_EXIT, false);
        check_sum(me.world);
        pthread_join(thread, NULL);
        end_one(&child);
    }
    close_rank();
}

/* ---- Callbacks ----------------------------------------------------------- */

struct calling {
    rcx_request_t *next; /* a complete request */
    pid_t pid;           /* 0 in the child */
    int calls;
};

static void be_called_next(rcx_request_t *request, rcx_status_t status,
                           void *arg)
{
    struct calling *c = arg;

    (void)request, (void)status;
    if (c->pid == 0)
        rank_fail("a callback is made in a child");
    c->calls++;
}

/* The next callback runs when this one returns, in the parent only. */
static void fork_in_callback(rcx_request_t *request, rcx_status_t status,
                             void *arg)
{
    struct calling *c = arg;

    rank_require(status, "an operation");
    rank_require(rcx_request_set_callback(c->next, be_called_next, c),
                 "rcx_request_set_callback");
    mine.request = request;
    c->pid = fork();
    if (c->pid < 0)
        rank_fail("no child: %m");
    if (c->pid == 0)
        fork_calls_check(&mine);
}

static rcx_request_t *start_one(int64_t *x)
{
    rcx_request_t *request;

    rank_require(rcx_iallreduce(RCX_IN_PLACE, x, 1, RCX_INT64, RCX_SUM,
                                mine.comm, &request),
                 "rcx_iallreduce");
    return request;
}

/* The child returns from a call that its parent made, and calls again. */
static void try_callback(rcx_thread_mode_t threads)
{
    int64_t x = 1, y = 1;
    struct calling c = {.pid = -1};
    rcx_request_t *first;

    open_rank(threads);
    c.next = start_one(&x);
    rank_require(rcx_wait(c.next), "rcx_wait");
    first = start_one(&y);
    rank_require(rcx_request_set_callback(first, fork_in_callback, &c),
                 "rcx_request_set_callback");
    if (c.pid != 0) /* 0: the callback ran at once, and this is the child */
        rank_require(rcx_wait(first), "rcx_wait");
    if (c.pid == 0) {
        fork_calls_check(&mine);
        exit(0);
    }
    if (c.calls != 1)
        rank_fail("a callback is made %d times", c.calls);
    end_one(&(struct child){.pid = c.pid, .leash = -1});
    rank_require(rcx_request_free(&first), "rcx_request_free");
    rank_require(rcx_request_free(&c.next), "rcx_request_free");
    close_rank();
}

/* ---- Other programs ------------------------------------------------------ */

static void run_programs(void)
{
    char *const argv[] = {"true", NULL};
    char line[16] = "";
    int status;
    pid_t pid;
    FILE *pipe;

    expect_exit(system("exit 7"), 7, "a command");
    pipe = popen("echo hello", "re");
    if (!pipe || !fgets(line, sizeof line, pipe) || strcmp(line, "hello\n"))
        rank_fail("popen: %s", line);
    expect_exit(pclose(pipe), 0, "a command at a pipe");
    if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) != 0 ||
        waitpid(pid, &status, 0) != pid)
        rank_fail("posix_spawn: %m");
    expect_exit(status, 0, "a program");
}

static void try_spawns(void)
{
    open_rank(RCX_THREAD_SERIALIZED);
    for (int round = 0; round < MOMENTS * 10; round++) {
        const enum moment moment = (enum moment)(round % MOMENTS);

        get_going(moment, me.size, (uint64_t)round);
        run_programs();
        complete(moment, me.size, (uint64_t)round);
        run(SOME);
    }
    close_rank();
}

/* The child also keeps the rank's standard output open. */
static void try_lingers(void)
{
    open_rank(RCX_THREAD_SERIALIZED);
    if (fork() == 0) {
        alarm(LONG_SECONDS);
        pause();
    }
    run(SOME);
    close_rank();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "forks") == 0 && argc == 3)
        try_forks((rcx_thread_mode_t)atoi(argv[2]));
    else if (strcmp(what, "inside") == 0)
        try_inside();
    else if (strcmp(what, "callback") == 0 && argc == 3)
        try_callback((rcx_thread_mode_t)atoi(argv[2]));
    else if (strcmp(what, "spawns") == 0)
        try_spawns();
    else if (strcmp(what, "lingers") == 0)
        try_lingers();
    else if (strcmp(what, "list") == 0)
        fork_calls_list();
    else
        return 2;
    return 0;
}
