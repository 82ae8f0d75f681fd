/* SPDX-License-Identifier: BSD-3-Clause */
/* Node capabilities: what the ranks of a node conclude from the records that
 * they exchange (whether CMA works, shared cores, memory), the record of a real
 * process, and bootstraps that do not know the node. */
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/node/caps.h"

enum { RANKS = 4 };

static const struct rcx_node_caps usual = {.kernel = 1,
                                           .node = 2,
                                           .user_ns = 11,
                                           .pid_ns = 12,
                                           .uid = 1000,
                                           .gid = 100,
                                           .is_dumpable = 1,
                                           .reads_memory = 1,
                                           .shm_bytes = 64 << 20};

/* Four ranks with usual records, some of which a test changes. */
struct fixture {
    struct rcx_node_caps caps[RANKS];
    bool missing[RANKS];
};

static struct fixture all_usual(void)
{
    struct fixture f = {.missing = {false}};

    for (int i = 0; i < RANKS; i++)
        f.caps[i] = usual;
    return f;
}

static struct rcx_machine machine;

static struct rcx_node node_of_rank(const struct fixture *f, int rank)
{
    struct rcx_node node;

    rcx_node_begin(&node, rank, &f->caps[rank], &machine);
    for (int i = 0; i < RANKS; i++)
        rcx_node_add(&node, i, f->missing[i] ? NULL : &f->caps[i]);
    return node;
}

/* All ranks must refuse CMA, and exactly one of them must log a reason, which
 * contains words. */
static void assert_refused(const struct fixture *f, const char *words)
{
    int loggers = 0;

    for (int i = 0; i < RANKS; i++) {
        const struct rcx_node node = node_of_rank(f, i);

        assert_true(rcx_node_refuses_cma(&node));
        if (node.rank != node.lowest)
            continue;
        loggers++;
        if (!strstr(node.refusal, words))
            fail_msg("\"%s\" says nothing of \"%s\"", node.refusal, words);
    }
    assert_int_equal(loggers, 1);
}

static void equal_node_caps_refuse_nothing(void **state)
{
    const struct fixture f = all_usual();

    (void)state;
    for (int i = 0; i < RANKS; i++) {
        const struct rcx_node node = node_of_rank(&f, i);

        assert_false(rcx_node_refuses_cma(&node));
        assert_string_equal(node.refusal, "");
        assert_true(node.is_known);
        assert_true(node.has_all);
        assert_int_equal(node.ranks, RANKS);
        assert_int_equal(node.lowest, 0);
        assert_int_equal(node.shm_bytes, 64 << 20);
    }
}

/* Change the number at offset in the record of each rank in turn. is_pair: the
 * message names two ranks. */
static void check_reason(size_t offset, uint64_t number, bool is_pair,
                         const char *what)
{
    for (int odd = 0; odd < RANKS; odd++) {
        struct fixture f = all_usual();
        char text[64];

        memcpy((char *)&f.caps[odd] + offset, &number, sizeof number);
        if (is_pair)
            snprintf(text, sizeof text, "ranks 0 and %d have different %s",
                     odd ? odd : 1, what);
        else
            snprintf(text, sizeof text, "rank %d %s", odd, what);
        assert_refused(&f, text);
    }
}

static void all_ranks_see_a_reason_and_one_logs_it(void **state)
{
    (void)state;
    check_reason(offsetof(struct rcx_node_caps, is_dumpable), 0, false,
                 "is not dumpable");
    check_reason(offsetof(struct rcx_node_caps, reads_memory), 0, false,
                 "may not use process_vm_readv");
    check_reason(offsetof(struct rcx_node_caps, user_ns), 5, true,
                 "user namespaces");
    check_reason(offsetof(struct rcx_node_caps, pid_ns), 5, true,
                 "process id namespaces");
    check_reason(offsetof(struct rcx_node_caps, uid), 5, true, "users");
    check_reason(offsetof(struct rcx_node_caps, gid), 5, true, "groups");
}

/* Of several reasons, the one that explains the others is logged: ids differ
 * anyway in another namespace. */
static void the_first_reason_is_logged(void **state)
{
    struct fixture f = all_usual();

    (void)state;
    f.caps[1].user_ns++;
    f.caps[1].uid++;
    f.caps[3].is_dumpable = 0;
    assert_refused(&f, "user namespaces");
}

/* Ranks 0 and 1 are on another node than ranks 2 and 3; of another kernel, or
 * of the same one, as two containers. */
static void other_nodes_share_only_the_cores_of_a_kernel(void **state)
{
    (void)state;
    for (int kernels = 1; kernels <= 2; kernels++) {
        struct fixture f = all_usual();
        struct rcx_node node;

        for (int i = 0; i < RANKS; i++) {
            f.caps[i].node += i < 2;
            f.caps[i].kernel += i < 2 && kernels == 2;
            CPU_SET(i, &f.caps[i].cpus);
        }
        f.caps[0].is_dumpable = 0;
        f.caps[1].shm_bytes = 5;
        node = node_of_rank(&f, 3);
        assert_false(rcx_node_refuses_cma(&node));
        assert_false(node.has_all);
        assert_int_equal(node.ranks, 2);
        assert_int_equal(node.group_ranks, 2);
        assert_int_equal(node.lowest, 2);
        assert_int_equal(node.shm_bytes, 64 << 20);
        assert_int_equal(node.tasks, kernels == 1 ? RANKS : 2);
        assert_int_equal(CPU_COUNT(&node.cpus), node.tasks);
        assert_int_equal(node.is_one_network, kernels == 1);
        node = node_of_rank(&f, 1);
        assert_true(rcx_node_refuses_cma(&node));
        assert_int_equal(node.ranks, 2);
        assert_int_equal(node.lowest, 0);
        assert_int_equal(node.shm_bytes, 5);
    }
}

/* A rank alone on its node does not use CMA, so nothing is refused. */
static void a_rank_alone_on_its_node_is_refused_nothing(void **state)
{
    struct rcx_node_caps caps = usual;
    struct rcx_node node;

    (void)state;
    caps.is_dumpable = caps.reads_memory = 0;
    rcx_node_begin(&node, 7, &caps, &machine);
    rcx_node_add(&node, 7, &caps);
    assert_false(rcx_node_refuses_cma(&node));
    node.is_known = false;
    assert_true(rcx_node_refuses_cma(&node));
}

/* Rank i may run on CPU i % cores, and rank 1 also on the last one. All ranks
 * must find that they share cores if all CPUs are fewer than ranks. */
static void cores_are_shared_where_ranks_have_fewer_together(void **state)
{
    (void)state;
    for (int cores = 1; cores <= RANKS + 1; cores++) {
        struct fixture f = all_usual();

        for (int i = 0; i < RANKS; i++)
            CPU_SET(i % cores, &f.caps[i].cpus);
        CPU_SET(cores - 1, &f.caps[1].cpus);
        for (int i = 0; i < RANKS; i++) {
            const struct rcx_node node = node_of_rank(&f, i);

            assert_int_equal(node.tasks > CPU_COUNT(&node.cpus), cores < RANKS);
        }
    }
}

/* Rank 0's record does not arrive. The other ranks must refuse CMA, as rank 0
 * may not permit it. */
static void missing_node_caps_are_a_reason_to_refuse(void **state)
{
    struct fixture f = all_usual();
    struct rcx_node node;

    (void)state;
    f.missing[0] = true;
    for (int i = 1; i < RANKS; i++) {
        node = node_of_rank(&f, i);
        assert_true(rcx_node_refuses_cma(&node));
        assert_int_equal(node.lowest, 1);
        assert_non_null(strstr(node.refusal, "rank 0 "));
    }
}

/* ---- Figures ------------------------------------------------------------- */

/* Ranks 1 and 3 have measured; all must take the figures of rank 1, in any
 * order of records. */
static void all_ranks_take_the_figures_of_the_lowest_that_has_some(void **state)
{
    struct fixture f = all_usual();
    struct rcx_node node;

    (void)state;
    for (int i = 1; i < RANKS; i += 2)
        f.caps[i].figures = (struct rcx_node_figures){
            .origin = RCX_FIGURES_MEASURED, .turn = 100 * i};
    for (int i = 0; i < RANKS; i++) {
        node = node_of_rank(&f, i);
        assert_int_equal(node.measured_by, 1);
        assert_true(machine.figures.turn == 100);
    }
    rcx_node_begin(&node, 0, &f.caps[0], &machine);
    for (int i = RANKS - 1; i >= 0; i--)
        rcx_node_add(&node, i, &f.caps[i]);
    assert_int_equal(node.measured_by, 1);
    assert_true(machine.figures.turn == 100);
    f.caps[1].kernel++; /* another machine */
    node = node_of_rank(&f, 0);
    assert_int_equal(node.measured_by, 3);
}

/* Facts must be equal on all ranks, as they decide by them. */
static void facts_are_those_of_all_ranks(void **state)
{
    struct fixture f = all_usual();

    (void)state;
    for (int i = 0; i < RANKS; i++)
        CPU_SET(i % 3, &f.caps[i].cpus);
    f.caps[2].reads_memory = 0;
    f.caps[0].figures.origin = RCX_FIGURES_MEASURED;
    for (int i = 0; i < RANKS; i++) {
        const struct rcx_node node = node_of_rank(&f, i);
        const struct rcx_decide_facts facts = rcx_node_facts(&node);

        assert_int_equal(facts.figures.origin, RCX_FIGURES_MEASURED);
        assert_int_equal(facts.ranks, RANKS);
        assert_int_equal(facts.tasks, RANKS);
        assert_int_equal(facts.cores, 3);
        assert_false(facts.has_cma);
    }
}

/* ---- Records of real processes ------------------------------------------- */

static const struct rcx_boot boot = {.size = 1};

static void node_caps_describe_the_process(void **state)
{
    struct rcx_node_caps caps;
    struct statvfs s;

    (void)state;
    rcx_node_caps_read(&caps, &boot, "/");
    assert_true(caps.user_ns != 0 && caps.pid_ns != 0);
    assert_true(caps.kernel != 0 && caps.node == rcx_boot_node(&boot));
    assert_int_equal(caps.uid, geteuid());
    assert_int_equal(caps.gid, getegid());
    assert_int_equal(caps.is_dumpable, 1);
    assert_int_equal(statvfs("/", &s), 0);
    /* other processes use some of it, but not two thirds */
    assert_true(caps.shm_bytes <= s.f_blocks * s.f_frsize);
    assert_true(caps.shm_bytes >= s.f_bavail * s.f_frsize / 3);
    rcx_node_caps_read(&caps, &boot, "/no/such/folder");
    assert_int_equal(caps.shm_bytes, 0);
}

static void node_caps_show_that_a_process_is_not_dumpable(void **state)
{
    const pid_t child = fork();
    int status = -1;

    (void)state;
    if (child == 0) {
        struct rcx_node_caps caps;

        prctl(PR_SET_DUMPABLE, 0);
        rcx_node_caps_read(&caps, &boot, "/");
        _exit(caps.is_dumpable != 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- Bootstraps ---------------------------------------------------------- */

static rcx_status_t exchange_with_none(struct rcx_boot *boot, const void *caps,
                                       size_t bytes, rcx_local_fn_t see,
                                       void *arg)
{
    assert_int_equal(bytes, sizeof(struct rcx_node_caps));
    see(boot->rank, caps, arg);
    return RCX_ERR_UNSUPPORTED;
}

static rcx_status_t exchange_with_one_more(struct rcx_boot *boot,
                                           const void *caps, size_t bytes,
                                           rcx_local_fn_t see, void *arg)
{
    char at[sizeof(struct rcx_node_caps) + 1];

    memcpy(at + 1, caps, bytes); /* unaligned, as a bootstrap may store it */
    see(boot->rank, caps, arg);
    see(boot->rank + 1, at + 1, arg);
    return RCX_OK;
}

static rcx_status_t exchange_fails(struct rcx_boot *boot, const void *caps,
                                   size_t bytes, rcx_local_fn_t see, void *arg)
{
    (void)boot, (void)caps, (void)bytes, (void)see, (void)arg;
    return RCX_ERR_LAUNCH;
}

static void a_bootstrap_may_not_know_the_ranks_of_the_node(void **state)
{
    const struct rcx_boot_ops none = {.local_exchange = exchange_with_none};
    const struct rcx_boot_ops one_more = {.local_exchange =
                                              exchange_with_one_more};
    const struct rcx_boot_ops fails = {.local_exchange = exchange_fails};
    struct rcx_boot boot = {.rank = 3, .size = 9};
    struct rcx_node node;

    (void)state;
    boot.ops = &none;
    assert_ok(rcx_node_exchange_caps(&node, &boot, "/", &machine));
    assert_false(node.is_known);
    assert_false(node.has_all);
    assert_int_equal(node.ranks, 1);
    assert_int_equal(machine.figures.origin, RCX_FIGURES_USUAL); /* rank 3 */
    boot.ops = &one_more;
    assert_ok(rcx_node_exchange_caps(&node, &boot, "/", &machine));
    assert_true(node.is_known);
    assert_false(node.has_all);
    assert_int_equal(node.ranks, 2);
    assert_int_equal(node.lowest, 3);
    boot.ops = &fails;
    assert_status(rcx_node_exchange_caps(&node, &boot, "/", &machine),
                  RCX_ERR_LAUNCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_node_caps_refuse_nothing),
        cmocka_unit_test(all_ranks_see_a_reason_and_one_logs_it),
        cmocka_unit_test(the_first_reason_is_logged),
        cmocka_unit_test(other_nodes_share_only_the_cores_of_a_kernel),
        cmocka_unit_test(a_rank_alone_on_its_node_is_refused_nothing),
        cmocka_unit_test(cores_are_shared_where_ranks_have_fewer_together),
        cmocka_unit_test(missing_node_caps_are_a_reason_to_refuse),
        cmocka_unit_test(
            all_ranks_take_the_figures_of_the_lowest_that_has_some),
        cmocka_unit_test(facts_are_those_of_all_ranks),
        cmocka_unit_test(node_caps_describe_the_process),
        cmocka_unit_test(node_caps_show_that_a_process_is_not_dumpable),
        cmocka_unit_test(a_bootstrap_may_not_know_the_ranks_of_the_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
