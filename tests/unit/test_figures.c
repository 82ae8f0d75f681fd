/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures of a node: which cores are measured, which figures are believed, and
 * what happens where nothing can be measured. No time is compared. */
#include "test.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/clock.h"
#include "transport/node/figures.h"
#include "transport/node/pair_bench.h"

/* ---- What the system refuses --------------------------------------------- */

static struct {
    bool no_thread, no_memory, no_binding;
    bool is_stopped; /* the thread runs only while it is waited for */
    void *(*function)(void *arg);
    void *arg;
    cpu_set_t moved_to;
    int moves, joins;
} fault;

typedef int creates(pthread_t *thread, const pthread_attr_t *attributes,
                    void *(*function)(void *arg), void *arg);
creates __wrap_pthread_create, __real_pthread_create;
int __wrap_pthread_join(pthread_t thread, void **result_p);
int __real_pthread_join(pthread_t thread, void **result_p);
int __wrap_pthread_setaffinity_np(pthread_t thread, size_t bytes,
                                  const cpu_set_t *cpus);
int __real_pthread_setaffinity_np(pthread_t thread, size_t bytes,
                                  const cpu_set_t *cpus);
void *__wrap_mmap64(void *at, size_t bytes, int protection, int flags, int file,
                    off_t offset);
void *__real_mmap64(void *at, size_t bytes, int protection, int flags, int file,
                    off_t offset);
int __wrap_sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *cpus);
int __real_sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *cpus);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*function)(void *arg), void *arg)
{
    if (fault.no_thread)
        return EAGAIN;
    if (!fault.is_stopped)
        return __real_pthread_create(thread, attributes, function, arg);
    fault.function = function;
    fault.arg = arg;
    return 0;
}

int __wrap_pthread_join(pthread_t thread, void **result_p)
{
    fault.joins++;
    if (!fault.is_stopped)
        return __real_pthread_join(thread, result_p);
    fault.function(fault.arg);
    return 0;
}

int __wrap_pthread_setaffinity_np(pthread_t thread, size_t bytes,
                                  const cpu_set_t *cpus)
{
    fault.moves++;
    fault.moved_to = *cpus;
    return fault.is_stopped
               ? 0
               : __real_pthread_setaffinity_np(thread, bytes, cpus);
}

void *__wrap_mmap64(void *at, size_t bytes, int protection, int flags, int file,
                    off_t offset)
{
    return fault.no_memory
               ? MAP_FAILED
               : __real_mmap64(at, bytes, protection, flags, file, offset);
}

int __wrap_sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *cpus)
{
    return fault.no_binding ? -1 : __real_sched_setaffinity(pid, bytes, cpus);
}

static int no_fault(void **state)
{
    (void)state;
    memset(&fault, 0, sizeof fault);
    return 0;
}

static bool has_cores(void)
{
    cpu_set_t cpus;

    sched_getaffinity(0, sizeof cpus, &cpus);
    return CPU_COUNT(&cpus) > 1;
}

/* ---- Where nothing can be measured --------------------------------------- */

static void assert_usual(enum rcx_figures_reason reason, const char *words)
{
    struct rcx_node_figures f, usual;
    cpu_set_t before, after;
    char text[128];

    sched_getaffinity(0, sizeof before, &before);
    rcx_figures_measure(&f);
    sched_getaffinity(0, sizeof after, &after);
    rcx_figures_usual(&usual);
    assert_true(CPU_EQUAL(&before, &after));
    assert_int_equal(f.origin, RCX_FIGURES_USUAL);
    assert_int_equal(f.reason, reason);
    assert_memory_equal(&f.near, &usual.near, sizeof f.near);
    assert_memory_equal(&f.far, &usual.far, sizeof f.far);
    assert_true(f.turn == usual.turn && f.cma_byte == usual.cma_byte);
    rcx_figures_origin(&f, text, sizeof text);
    if (!strstr(text, words) || !strstr(text, "usual ones"))
        fail_msg("\"%s\" says nothing of \"%s\"", text, words);
}

static void without_a_thread_figures_are_the_usual_ones(void **state)
{
    (void)state;
    if (!has_cores())
        skip_because("one core");
    fault.no_thread = true;
    assert_usual(RCX_FIGURES_NO_THREAD, "no thread");
    assert_int_equal(fault.joins, 0);
}

static void without_memory_figures_are_the_usual_ones(void **state)
{
    (void)state;
    if (!has_cores())
        skip_because("one core");
    fault.no_memory = true;
    assert_usual(RCX_FIGURES_NO_MEMORY, "no memory");
}

static void a_thread_that_cannot_be_bound_measures_nothing(void **state)
{
    (void)state;
    fault.no_binding = true;
    assert_usual(RCX_FIGURES_ONE_CORE, "one core only");
}

/* The core of the other thread is busy for ever. It is moved to this core, runs
 * as it is waited for, and ends at once as it is told to. */
static void
a_thread_that_is_not_scheduled_is_waited_for_on_this_core(void **state)
{
    const int here = sched_getcpu();
    const struct rcx_bench_cores cores = {.here = here, .near = 1, .far = -1};
    struct rcx_node_figures f;

    (void)state;
    fault.is_stopped = true;
    rcx_figures_usual(&f);
    assert_int_equal(rcx_bench_run(&cores, rcx_now_ns(), &f), RCX_FIGURES_LATE);
    assert_int_equal(f.origin, RCX_FIGURES_USUAL);
    assert_int_equal(fault.joins, 1);
    assert_int_equal(fault.moves, 1);
    assert_int_equal(CPU_COUNT(&fault.moved_to), 1);
    assert_true(CPU_ISSET((size_t)here, &fault.moved_to));
}

/* ---- This machine -------------------------------------------------------- */

/* Whatever other tasks do meanwhile, figures are plausible, and the calling
 * thread is bound as before. */
static void figures_of_this_machine_are_plausible(void **state)
{
    struct rcx_node_figures f, again;
    cpu_set_t before, after;
    char text[512], short_text[8];

    (void)state;
    sched_getaffinity(0, sizeof before, &before);
    rcx_figures_measure(&f);
    sched_getaffinity(0, sizeof after, &after);
    assert_true(CPU_EQUAL(&before, &after));
    assert_true(f.origin == RCX_FIGURES_USUAL ||
                f.origin == RCX_FIGURES_MEASURED);
    assert_true((f.origin == RCX_FIGURES_USUAL) <= (f.reason != 0));
    again = f;
    rcx_figures_check(&again);
    assert_memory_equal(&again, &f, sizeof f);
    assert_true(f.own > 0 && f.shared > 0);
    rcx_figures_print(&f, text, sizeof text);
    assert_non_null(strstr(text, "CMA"));
    assert_int_equal(strlen(rcx_figures_print(&f, short_text, 8)), 7);
}

/* ---- What is believed ---------------------------------------------------- */

static void implausible_figures_are_replaced_by_usual_ones(void **state)
{
    static const double wrong[] = {0, -1, 1e-9, 1e9, NAN, INFINITY};
    static const size_t figures[] = {
        offsetof(struct rcx_node_figures, near.line),
        offsetof(struct rcx_node_figures, near.write),
        offsetof(struct rcx_node_figures, near.read_out),
        offsetof(struct rcx_node_figures, far.read),
        offsetof(struct rcx_node_figures, far.write_out),
        offsetof(struct rcx_node_figures, cma_call),
        offsetof(struct rcx_node_figures, cma_byte),
        offsetof(struct rcx_node_figures, turn)};
    struct rcx_node_figures usual;

    (void)state;
    rcx_figures_usual(&usual);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        for (size_t j = 0; j < sizeof wrong / sizeof *wrong; j++) {
            struct rcx_node_figures f = usual;
            char text[128];

            f.origin = RCX_FIGURES_MEASURED;
            memcpy((char *)&f + figures[i], &wrong[j], sizeof wrong[j]);
            rcx_figures_check(&f);
            assert_memory_equal((char *)&f + figures[i],
                                (char *)&usual + figures[i], sizeof(double));
            assert_int_equal(f.reason, RCX_FIGURES_IMPLAUSIBLE);
            assert_non_null(strstr(rcx_figures_origin(&f, text, sizeof text),
                                   "in part the usual ones"));
        }
    }
}

static void far_cores_are_not_faster_than_near_ones(void **state)
{
    struct rcx_node_figures f;

    (void)state;
    rcx_figures_usual(&f);
    f.near = (struct rcx_pair_figures){200, 0.2, 0.3, 0.4, 0.5};
    f.far = (struct rcx_pair_figures){100, 0.3, 0.2, 0.5, 0.4};
    rcx_figures_check(&f);
    assert_true(f.far.line == 200 && f.far.write == 0.3 && f.far.read == 0.3 &&
                f.far.write_out == 0.5 && f.far.read_out == 0.5);
    f.far_is_near = true;
    rcx_figures_check(&f);
    assert_memory_equal(&f.far, &f.near, sizeof f.far);
    assert_int_equal(f.reason, RCX_FIGURES_GOOD);
}

/* ---- Cores --------------------------------------------------------------- */

/* Two sockets of two caches of two cores of two threads: threads of core c are
 * c and c + 8. */
static struct rcx_cpu_levels levels_of(const char *core, const char *cache,
                                       const char *socket)
{
    struct rcx_cpu_levels l = {0};

    rcx_cpus_parse(core, &l.core);
    rcx_cpus_parse(cache, &l.cache);
    rcx_cpus_parse(socket, &l.numa);
    rcx_cpus_parse(socket, &l.socket);
    return l;
}

static void assert_cores(const struct rcx_cpu_levels *levels,
                         const char *allowed, const char *preferred, int near,
                         int far)
{
    cpu_set_t all, first;
    struct rcx_bench_cores cores;

    rcx_cpus_parse(allowed, &all);
    rcx_cpus_parse(preferred, &first);
    cores = rcx_bench_choose(0, levels, &all, &first);
    assert_int_equal(cores.here, 0);
    assert_int_equal(cores.near, near);
    assert_int_equal(cores.far, far);
}

static void near_cores_share_a_cache_and_far_ones_no_socket(void **state)
{
    const struct rcx_cpu_levels l = levels_of("0,8", "0-1,8-9", "0-3,8-11");

    (void)state;
    assert_cores(&l, "0-15", "0-15", 1, 4);
    assert_cores(&l, "0-15", "0", 1, 4);
    assert_cores(&l, "0-15", "0,9,15", 9, 15);
    assert_cores(&l, "0-3,8-11", "0-3", 1, 2); /* one socket */
    assert_cores(&l, "0-1,8-9", "0-1", 1, -1); /* one cache */
    assert_cores(&l, "0,2-3", "0-3", 2, -1);   /* no other core of it */
    assert_cores(&l, "0,5", "0,5", 5, -1);
}

static void threads_of_one_core_are_no_pair(void **state)
{
    const struct rcx_cpu_levels l = levels_of("0,8", "0-1,8-9", "0-3,8-11");

    (void)state;
    assert_cores(&l, "0,8", "0,8", -1, -1);
    assert_cores(&l, "0", "0", -1, -1);
}

static void unknown_levels_leave_one_pair_of_cores(void **state)
{
    const struct rcx_cpu_levels none = {0};

    (void)state;
    assert_cores(&none, "0-3", "0-3", 1, -1);
}

#define FAULTY(f) cmocka_unit_test_setup_teardown(f, no_fault, no_fault)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        FAULTY(without_a_thread_figures_are_the_usual_ones),
        FAULTY(without_memory_figures_are_the_usual_ones),
        FAULTY(a_thread_that_cannot_be_bound_measures_nothing),
        FAULTY(a_thread_that_is_not_scheduled_is_waited_for_on_this_core),
        cmocka_unit_test(figures_of_this_machine_are_plausible),
        cmocka_unit_test(implausible_figures_are_replaced_by_usual_ones),
        cmocka_unit_test(far_cores_are_not_faster_than_near_ones),
        cmocka_unit_test(near_cores_share_a_cache_and_far_ones_no_socket),
        cmocka_unit_test(threads_of_one_core_are_no_pair),
        cmocka_unit_test(unknown_levels_leave_one_pair_of_cores),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
