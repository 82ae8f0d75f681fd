/* SPDX-License-Identifier: BSD-3-Clause */
/* Claims of ranks: by this user's processes, and by those of other users. */
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bootstrap/identity.h"

enum { STRANGER = 65533 }; /* another user */

static const char job[] = "secret-of-the-job";
static char rank[32]; /* no other process claims it */

/* The name in the abstract namespace that a claim of rank has taken. */
static struct sockaddr_un name;
static socklen_t name_bytes;

/* A process that has done something, and waits to be killed. */
struct holder {
    pid_t pid;
    long result;
};

/* Run do_it in a child, and wait for its result. */
static struct holder hold(long (*do_it)(void))
{
    struct holder h = {.result = -1};
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    h.pid = fork();
    if (h.pid == 0) {
        const long result = do_it();

        if (write(fds[1], &result, sizeof result) == sizeof result)
            pause();
        _exit(1);
    }
    close(fds[1]);
    assert_int_equal(read(fds[0], &h.result, sizeof h.result), sizeof(long));
    close(fds[0]);
    return h;
}

static void release(const struct holder *h)
{
    kill(h->pid, SIGKILL);
    waitpid(h->pid, NULL, 0);
}

static long claim(void)
{
    return rcx_identity_claim(job, rank);
}

/* What a new process gets that claims the rank. */
static long try_claim(void)
{
    const struct holder h = hold(claim);

    release(&h);
    return h.result;
}

/* Find the name that a claim takes, as every user can: the kernel lists it. */
static int find_name(void **state)
{
    struct holder h;
    char line[512], *at;
    FILE *file = fopen("/proc/net/unix", "r");

    (void)state;
    snprintf(rank, sizeof rank, "test.%ld", (long)getpid());
    h = hold(claim);
    if (file)
        while (name_bytes == 0 && fgets(line, sizeof line, file)) {
            line[strcspn(line, "\n")] = '\0';
            at = strchr(line, '@');
            if (!at || !strstr(at, rank))
                continue;
            name.sun_family = AF_UNIX;
            strcpy(name.sun_path + 1, at + 1);
            name_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
                                     strlen(at));
        }
    if (file)
        fclose(file);
    release(&h);
    return h.result == 0 && name_bytes > 0 ? 0 : -1;
}

/* ---- Other processes at this name ---------------------------------------- */

static int take_name(int backlog)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    return bind(fd, (struct sockaddr *)&name, name_bytes) == 0 &&
                   listen(fd, backlog) == 0
               ? fd
               : -1;
}

static long take_open(void)
{
    return take_name(16) >= 0;
}

static long take_full(void)
{
    int fd, result;

    if (take_name(0) < 0)
        return 0;
    do {
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        result = connect(fd, (struct sockaddr *)&name, name_bytes);
    } while (result == 0);
    return errno == EAGAIN;
}

static long as_stranger(long (*take)(void))
{
    return setresgid(STRANGER, STRANGER, STRANGER) == 0 &&
           setresuid(STRANGER, STRANGER, STRANGER) == 0 && take();
}

static long take_open_as_stranger(void)
{
    return as_stranger(take_open);
}

static long take_full_as_stranger(void)
{
    return as_stranger(take_full);
}

static void assert_ignored(long (*take)(void))
{
    const struct holder h = hold(take);

    assert_int_equal(h.result, 1);
    assert_int_equal(try_claim(), 0);
    release(&h);
}

/* ---- Tests --------------------------------------------------------------- */

static void a_rank_is_one_process_until_that_ends(void **state)
{
    struct holder first = hold(claim);

    (void)state;
    assert_int_equal(first.result, 0);
    assert_int_equal(try_claim(), first.pid);
    release(&first);
    assert_int_equal(try_claim(), 0);
}

static void the_name_holds_nothing_of_the_job(void **state)
{
    (void)state;
    assert_null(strstr(name.sun_path + 1, "secret"));
}

static void jobs_with_long_names_can_be_claimed(void **state)
{
    char text[256];
    pid_t pid;
    int status;

    (void)state;
    memset(text, 'j', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(rcx_identity_claim(text, rank), 0);
    pid = fork();
    if (pid == 0)
        _exit(rcx_identity_claim(text, rank) != getppid());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void a_process_of_this_user_at_the_name_is_the_rank(void **state)
{
    const struct holder h = hold(take_open);

    (void)state;
    assert_int_equal(h.result, 1);
    assert_int_equal(try_claim(), h.pid);
    release(&h);
}

static void a_full_backlog_at_the_name_is_ignored(void **state)
{
    (void)state;
    assert_ignored(take_full);
}

static void another_user_at_the_name_is_ignored(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip_because("only root can be another user");
    assert_ignored(take_open_as_stranger);
    assert_ignored(take_full_as_stranger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_is_one_process_until_that_ends),
        cmocka_unit_test(the_name_holds_nothing_of_the_job),
        cmocka_unit_test(jobs_with_long_names_can_be_claimed),
        cmocka_unit_test(a_process_of_this_user_at_the_name_is_the_rank),
        cmocka_unit_test(a_full_backlog_at_the_name_is_ignored),
        cmocka_unit_test(another_user_at_the_name_is_ignored),
    };

    return cmocka_run_group_tests(tests, find_name, NULL);
}
