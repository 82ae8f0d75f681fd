/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that users name: replacement of files and links, pipes, devices,
 * folders, full disks, and tuning rules that cannot be read. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/file.h"
#include "core/base/file.h"
#include "core/sched/tuning.h"

static char folder[] = "/tmp/rcx_test_file.XXXXXX";

static const char *path_of(const char *name)
{
    static char paths[4][sizeof folder + 32];
    static unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[sizeof folder + 16];

    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void assert_holds(const char *path, const char *text)
{
    char got[64] = "";
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    assert_true(fread(got, 1, sizeof got - 1, file) > 0 || !text[0]);
    fclose(file);
    assert_string_equal(got, text);
}

static void assert_exited_with(int want)
{
    int status = 0;

    assert_true(wait(&status) > 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), want);
}

static void a_file_is_replaced_by_one_that_others_cannot_read(void **state)
{
    const char *path = path_of("plain");
    struct stat s;

    (void)state;
    umask(0);
    for (int i = 0; i < 2; i++) {
        assert_true(rcx_file_write(path, i ? "two" : "one", 3));
        assert_holds(path, i ? "two" : "one");
        assert_int_equal(stat(path, &s), 0);
        assert_int_equal(s.st_mode & 0777, 0600);
    }
}

static void a_link_is_replaced_and_not_followed(void **state)
{
    const char *target = path_of("target"), *path = path_of("link");
    struct stat s;

    (void)state;
    assert_true(rcx_file_write(target, "mine", 4));
    assert_int_equal(symlink(target, path), 0);
    assert_true(rcx_file_write(path, "dump", 4));
    assert_holds(target, "mine");
    assert_int_equal(lstat(path, &s), 0);
    assert_true(S_ISREG(s.st_mode));
}

static void a_link_in_the_place_of_the_young_file_is_not_followed(void **state)
{
    const char *target = path_of("target2"), *path = path_of("dump2");
    char young[128];

    (void)state;
    assert_true(rcx_file_write(target, "mine", 4));
    snprintf(young, sizeof young, "%s.new.%d", path, (int)gettid());
    assert_int_equal(symlink(target, young), 0);
    assert_true(rcx_file_write(path, "dump", 4));
    assert_holds(target, "mine");
    assert_holds(path, "dump");
}

static void a_pipe_without_a_reader_is_an_error_at_once(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    assert_false(rcx_file_write(path_of("pipe"), "x", 1));
    assert_int_equal(errno, ENXIO);
    assert_null(file_open(path_of("pipe")));
    assert_int_equal(errno, EINVAL);
}

static void a_pipe_is_written_to_as_long_as_it_is_read(void **state)
{
    enum { LONG = 1 << 20 };
    const char *path = path_of("pipe2");
    char *text = calloc(1, LONG), got[4];
    int fd;

    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    fd = open(path, O_RDONLY | O_NONBLOCK);
    assert_true(fd >= 0);
    assert_true(rcx_file_write(path, "abc", 3));
    assert_int_equal(read(fd, got, sizeof got), 3);
    assert_memory_equal(got, "abc", 3);
    assert_false(rcx_file_write(path, text, LONG));
    assert_int_equal(errno, ETIMEDOUT);
    close(fd);
    free(text);
}

static void a_file_that_cannot_be_written_sets_errno(void **state)
{
    (void)state;
    assert_true(rcx_file_write("/dev/null", "x", 1));
    assert_false(rcx_file_write("/dev/full", "x", 1));
    assert_int_equal(errno, ENOSPC);
    assert_false(rcx_file_write(folder, "x", 1));
    assert_int_equal(errno, EISDIR);
    assert_false(rcx_file_write(path_of("no/folder"), "x", 1));
    assert_int_equal(errno, ENOENT);
}

enum { STRANGER = 65533 }; /* another user */

/* Run in a child of another user, in a sticky folder, where root has files at
 * path and at the name of the file that is to replace it. */
static int meet_files_of_root(void)
{
    const char *path = path_of("sticky/taken"), *other = path_of("sticky/new");
    char young[128], why[RCX_FILE_WHY];
    int failures = 0;

    snprintf(young, sizeof young, "%s.new.%d", other, (int)gettid());
    failures += mkdir(path_of("sticky"), 0700) != 0 ||
                chmod(path_of("sticky"), 01777) != 0 || chmod(folder, 0755) ||
                !rcx_file_write(path, "theirs", 6) ||
                !rcx_file_write(young, "theirs", 6) ||
                setresuid(STRANGER, STRANGER, STRANGER) != 0;
    failures += rcx_file_write(path, "mine", 4);
    rcx_file_why(path, errno, why, sizeof why);
    failures += !strstr(why, "sticky/taken belongs to user 0");
    failures += rcx_file_write(other, "mine", 4);
    rcx_file_why(other, errno, why, sizeof why);
    failures += !strstr(why, young) || !strstr(why, " belongs to user 0");
    failures += !rcx_file_write(path_of("sticky/mine"), "mine", 4);
    return failures;
}

static void a_file_of_another_user_in_a_sticky_folder_is_named(void **state)
{
    int status = -1;
    pid_t pid;

    (void)state;
    if (geteuid() != 0)
        skip_because("only root can be another user");
    pid = fork();
    if (pid == 0)
        _exit(meet_files_of_root());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_holds(path_of("sticky/taken"), "theirs");
}

static void other_reasons_are_those_of_errno(void **state)
{
    char why[RCX_FILE_WHY];

    (void)state;
    rcx_file_why(path_of("plain"), EPERM, why, sizeof why);
    assert_string_equal(why, strerror(EPERM));
    rcx_file_why(path_of("no/folder"), ENOENT, why, sizeof why);
    assert_string_equal(why, strerror(ENOENT));
}

/* Longer than what stdio holds back. */
static void
a_file_that_has_no_room_sets_errno_and_leaves_the_former(void **state)
{
    enum { LONG = 1 << 16 };
    const char *path = path_of("former");
    const struct rlimit little = {.rlim_cur = LONG / 2, .rlim_max = LONG / 2};
    char *text = calloc(1, LONG), command[sizeof folder + 32];

    (void)state;
    assert_true(rcx_file_write(path, "old", 3));
    if (fork() == 0) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &little);
        _exit(rcx_file_write(path, text, LONG) ? 0 : errno);
    }
    assert_exited_with(EFBIG);
    assert_holds(path, "old");
    snprintf(command, sizeof command, "ls %s/*.new.* 2>&-", folder);
    assert_int_not_equal(system(command), 0);
    free(text);
}

static void assert_no_rules(const char *path, const char *why)
{
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct rcx_refusal refusal;
    struct rcx_tuning tuning;

    assert_status(rcx_tuning_open(&tuning, &heap, path, &refusal),
                  RCX_ERR_CONFIG);
    if (!strstr(refusal.valid, why))
        fail_msg("%s: \"%s\"", path, refusal.valid);
    rcx_tuning_close(&tuning, &heap);
}

/* A pipe whose writer sends nothing must time out. */
static void rules_that_cannot_be_read_give_the_reason(void **state)
{
    int fd;

    (void)state;
    assert_int_equal(mkfifo(path_of("rules"), 0600), 0);
    fd = open(path_of("rules"), O_RDWR);
    assert_no_rules(path_of("rules"), "timed out");
    close(fd);
    assert_no_rules(folder, "Is a directory");
    assert_no_rules("/dev/zero", "not a text file of at most ");
    assert_no_rules(path_of("none"), "No such file");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_replaced_by_one_that_others_cannot_read),
        cmocka_unit_test(a_link_is_replaced_and_not_followed),
        cmocka_unit_test(a_link_in_the_place_of_the_young_file_is_not_followed),
        cmocka_unit_test(a_pipe_without_a_reader_is_an_error_at_once),
        cmocka_unit_test(a_pipe_is_written_to_as_long_as_it_is_read),
        cmocka_unit_test(a_file_that_cannot_be_written_sets_errno),
        cmocka_unit_test(a_file_of_another_user_in_a_sticky_folder_is_named),
        cmocka_unit_test(other_reasons_are_those_of_errno),
        cmocka_unit_test(
            a_file_that_has_no_room_sets_errno_and_leaves_the_former),
        cmocka_unit_test(rules_that_cannot_be_read_give_the_reason),
    };

    return cmocka_run_group_tests_name("file", tests, make_folder,
                                       remove_folder);
}
