/* SPDX-License-Identifier: BSD-3-Clause */
/* The liveness probe of a peer's process (transport/node/process.c).
 * process_vm_readv() and syscall() are wrapped, so that the kernel seems to
 * deny them. */
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/node/cma.h"
#include "transport/node/process.h"

static bool may_not_read, has_no_pidfd;

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here,
                                unsigned long n_here, const struct iovec *there,
                                unsigned long n_there, unsigned long flags);
ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *here,
                                unsigned long n_here, const struct iovec *there,
                                unsigned long n_there, unsigned long flags);
long __wrap_syscall(long number, long a, long b);
long __real_syscall(long number, long a, long b);

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here,
                                unsigned long n_here, const struct iovec *there,
                                unsigned long n_there, unsigned long flags)
{
    if (!may_not_read)
        return __real_process_vm_readv(pid, here, n_here, there, n_there,
                                       flags);
    errno = EPERM;
    return -1;
}

long __wrap_syscall(long number, long a, long b)
{
    if (!has_no_pidfd)
        return __real_syscall(number, a, b);
    errno = ENOSYS;
    return -1;
}

static int restrict_nothing(void **state)
{
    (void)state;
    may_not_read = has_no_pidfd = false;
    return 0;
}

static const int here = 1; /* at the same address in children */

static struct rcx_process open_process(pid_t pid, const void *address)
{
    struct rcx_process p;

    rcx_process_open(&p, pid, (uint64_t)(uintptr_t)address);
    return p;
}

static void own_memory_is_there_until_it_is_unmapped(void **state)
{
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct rcx_process p = open_process(getpid(), page);

    (void)state;
    if (!rcx_cma_works())
        skip_because("a process may not read its own memory by number");
    assert_true(page != MAP_FAILED);
    assert_true(rcx_process_is_there(&p));
    munmap(page, 4096);
    assert_false(rcx_process_is_there(&p));
    assert_int_equal(p.fd, -1);
    rcx_process_close(&p);
}

/* Start a child that sleeps until it is killed, at the latest when this process
 * ends. */
static pid_t start_child(void)
{
    const pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 ? pause() : 1);
    return pid;
}

static void end_child(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The probe must fail after the child's end: before its parent has read its
 * status if can_tell_unreaped, else only after that. */
static void check_until_its_end(bool can_tell_unreaped)
{
    const pid_t pid = start_child();
    struct rcx_process p = open_process(pid, &here);

    assert_true(rcx_process_is_there(&p));
    assert_true(rcx_process_is_there(&p));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(
        waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
    if (can_tell_unreaped)
        assert_false(rcx_process_is_there(&p));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(rcx_process_is_there(&p));
    rcx_process_close(&p);
}

static void a_process_is_there_until_it_ends(void **state)
{
    (void)state;
    check_until_its_end(true);
}

static void an_unreadable_process_is_there_until_it_ends(void **state)
{
    (void)state;
    may_not_read = true;
    check_until_its_end(true);
}

static void without_pidfd_it_is_there_until_it_is_reaped(void **state)
{
    (void)state;
    may_not_read = has_no_pidfd = true;
    check_until_its_end(false);
}

/* Make the kernel choose pid for the next child of this pid namespace. Works if
 * no other process starts one meanwhile. */
static bool choose_next(pid_t pid)
{
    FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "w");
    bool good = last && fprintf(last, "%d", (int)pid - 1) > 0;

    return last && fclose(last) == 0 && good;
}

/* Start a child whose process id is pid. Returns 0 if that is impossible. */
static pid_t start_child_with_id(pid_t pid)
{
    for (int i = 0; i < 100 && choose_next(pid); i++) {
        const pid_t child = start_child();

        if (child == pid)
            return child;
        end_child(child);
    }
    return 0;
}

static void another_process_of_the_same_id_is_not_taken_for_it(void **state)
{
    const pid_t pid = start_child();
    struct rcx_process p = open_process(pid, &here);
    pid_t other;

    (void)state;
    may_not_read = true;
    assert_true(rcx_process_is_there(&p));
    end_child(pid);
    other = start_child_with_id(pid);
    if (!other) { /* needs privileges */
        rcx_process_close(&p);
        skip_because("a process number cannot be chosen without privileges");
    }
    assert_false(rcx_process_is_there(&p));
    end_child(other);
    rcx_process_close(&p);
}

/* A pidfd must be opened only for a process whose memory cannot be read. */
static void a_pidfd_is_opened_only_where_it_is_needed(void **state)
{
    const pid_t pid = start_child();
    struct rcx_process p = open_process(pid, &here);

    (void)state;
    assert_true(rcx_process_is_there(&p));
    if (rcx_cma_works())
        assert_int_equal(p.fd, -1);
    may_not_read = true;
    assert_true(rcx_process_is_there(&p));
    assert_true(p.fd >= 0);
    rcx_process_close(&p);
    assert_int_equal(p.fd, -1);
    end_child(pid);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(own_memory_is_there_until_it_is_unmapped,
                               restrict_nothing),
        cmocka_unit_test_setup(a_process_is_there_until_it_ends,
                               restrict_nothing),
        cmocka_unit_test_setup(an_unreadable_process_is_there_until_it_ends,
                               restrict_nothing),
        cmocka_unit_test_setup(without_pidfd_it_is_there_until_it_is_reaped,
                               restrict_nothing),
        cmocka_unit_test_setup(
            another_process_of_the_same_id_is_not_taken_for_it,
            restrict_nothing),
        cmocka_unit_test_setup(a_pidfd_is_opened_only_where_it_is_needed,
                               restrict_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
