/* SPDX-License-Identifier: BSD-3-Clause */
/* System V segments of peers (transport/node/segment.c): a segment that is held
 * outlives its process, other memory is not held, and segments of UCX become
 * private. */
#include "test.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/node/segment.h"

enum { BYTES = 8192 };

/* Memory of a child, at the same address in both processes; the parent has
 * detached the segment. */
struct child {
    pid_t pid;
    char *segment;
    char *page; /* shared memory, but no segment */
};

static void start(struct child *c)
{
    const int id = shmget(IPC_PRIVATE, BYTES, IPC_CREAT | 0600);
    int ready[2];
    char byte;

    assert_true(id >= 0);
    c->segment = shmat(id, NULL, 0);
    assert_true(c->segment != (void *)-1);
    assert_int_equal(shmctl(id, IPC_RMID, NULL), 0);
    strcpy(c->segment, "of a child");
    c->page = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(c->page != MAP_FAILED);
    assert_int_equal(pipe(ready), 0);
    c->pid = fork();
    assert_true(c->pid >= 0);
    if (c->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(write(ready[1], "r", 1) == 1 ? pause() : 1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    assert_int_equal(shmdt(c->segment), 0);
}

static void kill_child(const struct child *c, bool with_its_status)
{
    assert_int_equal(kill(c->pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)c->pid, &(siginfo_t){0},
                            WEXITED | (with_its_status ? 0 : WNOWAIT)),
                     0);
}

static uint64_t number(const void *address)
{
    return (uint64_t)(uintptr_t)address;
}

static void an_attached_segment_outlives_its_process(void **state)
{
    struct child c;
    void *held, *again;

    (void)state;
    start(&c);
    assert_true(rcx_segment_get(c.pid, number(c.segment + 100), &held));
    assert_non_null(held);
    kill_child(&c, true);
    assert_string_equal(held, "of a child");
    assert_false(rcx_segment_get(c.pid, number(c.segment), &again));
    assert_null(again);
    rcx_segment_put(held);
    munmap(c.page, BYTES);
}

/* The child's segment is in another IPC namespace, so its id does not exist
 * here. The same happens if a segment is removed after it was seen. */
static void a_segment_that_does_not_exist_is_not_attached(void **state)
{
    int ready[2], id;
    uint64_t address;
    void *held;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(ready), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (unshare(CLONE_NEWIPC) != 0)
            _exit(0);
        do /* an id that this namespace has not used */
            id = shmget(IPC_PRIVATE, BYTES, IPC_CREAT | 0600);
        while (id >= 0 && id < 1000 && shmctl(id, IPC_RMID, NULL) == 0);
        address = number(shmat(id, NULL, 0));
        _exit(write(ready[1], &address, sizeof address) > 0 ? pause() : 1);
    }
    close(ready[1]);
    if (read(ready[0], &address, sizeof address) != sizeof address)
        skip_because("an IPC namespace needs privileges");
    assert_false(rcx_segment_get(pid, address, &held));
    assert_null(held);
    close(ready[0]);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &(int){0}, 0), pid);
}

static void a_killed_process_has_no_segment_before_it_is_reaped(void **state)
{
    struct child c;
    void *held;

    (void)state;
    start(&c);
    kill_child(&c, false);
    assert_false(rcx_segment_get(c.pid, number(c.segment), &held));
    assert_null(held);
    kill_child(&c, true);
    munmap(c.page, BYTES);
}

static void memory_outside_of_segments_is_not_attached(void **state)
{
    struct child c;
    void *held;

    (void)state;
    start(&c);
    assert_true(rcx_segment_get(c.pid, number(c.page), &held));
    assert_null(held);
    assert_false(rcx_segment_get(c.pid, 16, &held));
    kill_child(&c, true);
    munmap(c.page, BYTES);
}

static int make(key_t key, bool is_marked)
{
    const int id = shmget(key, BYTES, IPC_CREAT | 0660);

    assert_true(id >= 0);
    assert_true(shmat(id, NULL, 0) != (void *)-1);
    if (is_marked)
        assert_int_equal(shmctl(id, IPC_RMID, NULL), 0);
    return id;
}

static unsigned mode_of(int id)
{
    struct shmid_ds segment;

    assert_int_equal(shmctl(id, IPC_STAT, &segment), 0);
    return segment.shm_perm.mode & 0777;
}

/* marked is as UCX makes its segments; plain and keyed are the program's
 * own. */
static void segments_of_ucx_are_private_to_the_user(void **state)
{
    const int marked = make(IPC_PRIVATE, true);
    const int plain = make(IPC_PRIVATE, false);
    const int keyed = make((key_t)(0x52435800 + getpid() % 256), true);

    (void)state;
    rcx_segment_make_all_private();
    assert_int_equal(mode_of(marked), 0600);
    assert_int_equal(mode_of(plain), 0660);
    assert_int_equal(mode_of(keyed), 0600); /* marked, so it has lost its key */
    shmctl(plain, IPC_RMID, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_attached_segment_outlives_its_process),
        cmocka_unit_test(a_segment_that_does_not_exist_is_not_attached),
        cmocka_unit_test(a_killed_process_has_no_segment_before_it_is_reaped),
        cmocka_unit_test(memory_outside_of_segments_is_not_attached),
        cmocka_unit_test(segments_of_ucx_are_private_to_the_user),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
