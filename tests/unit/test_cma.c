/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a process and its memory are there. */
#include "test.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/cma.h"

static uint64_t number(const void *address)
{
    return (uint64_t)(uintptr_t)address;
}

static void own_memory_is_there_until_it_is_unmapped(void **state)
{
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    if (!rcx_cma_works())
        skip();
    assert_true(page != MAP_FAILED);
    assert_true(rcx_cma_is_there(getpid(), number(page)));
    munmap(page, 4096);
    assert_false(rcx_cma_is_there(getpid(), number(page)));
}

/* A child that waits for its end; is_private: nobody may look into it. */
static pid_t start_child(bool is_private)
{
    int ready[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_DUMPABLE, !is_private);
        _exit(write(ready[1], "r", 1) == 1 ? pause() : 1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void check_until_its_end(bool is_private)
{
    static const int here = 1; /* and there */
    const pid_t pid = start_child(is_private);

    assert_true(rcx_cma_is_there(pid, number(&here)));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(
        waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
    if (!is_private) /* nobody has asked for its status, and it has gone */
        assert_false(rcx_cma_is_there(pid, number(&here)));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(rcx_cma_is_there(pid, number(&here)));
}

static void a_process_is_there_until_it_is_killed(void **state)
{
    (void)state;
    check_until_its_end(false);
}

static void so_is_one_whose_memory_is_its_own(void **state)
{
    (void)state;
    check_until_its_end(true);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_memory_is_there_until_it_is_unmapped),
        cmocka_unit_test(a_process_is_there_until_it_is_killed),
        cmocka_unit_test(so_is_one_whose_memory_is_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
