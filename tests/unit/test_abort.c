/* SPDX-License-Identifier: BSD-3-Clause */
/* How rcx_abort() ends a process, for each bootstrap that needs no launcher. A
 * child process calls it, and reports what it logged through a pipe. Tests with
 * launchers are in tests/job/test_abort.sh. */
#include "test.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"

#define TEXT "the matrix is singular"

/* ---- Callbacks of a host ------------------------------------------------- */

static int output; /* pipe from the child */

static void log_line(rcx_log_level_t level, const char *text, void *arg)
{
    (void)arg;
    dprintf(output, "%d %s\n", (int)level, text);
}

static int allgather(const void *send, void *recv, size_t bytes, void *arg)
{
    (void)arg;
    memcpy(recv, send, bytes);
    return 0;
}

/* bootstrap_abort of a host; *arg is its result. */
static int end_others(int code, const char *text, void *arg)
{
    dprintf(output, "end %d \"%s\"\n", code, text);
    return *(int *)arg;
}

static int not_to_be_called(int code, const char *text, void *arg)
{
    (void)code, (void)text, (void)arg;
    _exit(99);
}

/* ---- The child process --------------------------------------------------- */

struct ending {
    uint64_t fields; /* field_mask of params, besides RCX_PARAM_LOG */
    int (*fn)(int code, const char *text, void *arg);
    int result; /* of fn */
    int code;
    const char *text;
    int status, signal; /* expected exit status and signal; signal 0: none */
    const char *said;
};

_Noreturn static void end(const struct ending *e)
{
    const struct rlimit none = {.rlim_cur = 0};
    int result = e->result;
    const rcx_params_t params = {
        .field_mask = RCX_PARAM_LOG | e->fields,
        .log = log_line,
        .bootstrap = {.size = 1, .allgather = allgather, .arg = &result},
        .bootstrap_abort = e->fn};
    rcx_context_t *context;

    setrlimit(RLIMIT_CORE, &none);
    if (rcx_init(&params, &context) == RCX_OK)
        rcx_abort(context, e->code, e->text);
    _exit(98);
}

static void check(const struct ending *e)
{
    char said[512] = "";
    int ends[2], status;
    size_t used = 0;
    ssize_t n;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    output = ends[1];
    fflush(stdout);
    fflush(stderr);
    pid = fork();
    if (pid == 0)
        end(e);
    close(ends[1]);
    while ((n = read(ends[0], said + used, sizeof said - 1 - used)) > 0)
        used += (size_t)n;
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : 0, e->signal);
    if (e->signal == 0)
        assert_int_equal(WEXITSTATUS(status), e->status);
    assert_string_equal(said, e->said);
}

/* ---- Tests --------------------------------------------------------------- */

static void a_single_process_ends_with_the_code(void **state)
{
    static const struct ending endings[] = {
        {.code = 7,
         .text = TEXT,
         .status = 7,
         .said = "0 [0] rcx_abort: code 7: " TEXT "\n"},
        {.code = 0, .status = 1, .said = "0 [0] rcx_abort: code 0\n"},
        {.code = 256, .status = 1, .said = "0 [0] rcx_abort: code 256\n"},
        {.code = 263, .status = 7, .said = "0 [0] rcx_abort: code 263\n"},
        {.code = -1, .status = 255, .said = "0 [0] rcx_abort: code -1\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        check(&endings[i]);
}

static void a_host_that_can_abort_ends_the_other_ranks(void **state)
{
    static const struct ending ending = {
        .fields = RCX_PARAM_BOOTSTRAP | RCX_PARAM_ABORT,
        .fn = end_others,
        .code = 256,
        .text = TEXT,
        .status = 1,
        .said = "0 [0] rcx_abort: code 256: " TEXT "\nend 256 \"" TEXT "\"\n"};
    struct ending silent = ending;

    (void)state;
    check(&ending);
    silent.text = NULL;
    silent.said = "0 [0] rcx_abort: code 256\nend 256 \"\"\n";
    check(&silent);
}

/* No host ends the other ranks, so the process must end by SIGABRT, which a
 * launcher notices. In the third case the host was compiled with an older
 * rcx.h: bootstrap_abort is undefined and must not be called. */
static void sigabrt_ends_the_process_if_the_host_does_not(void **state)
{
    static const struct ending endings[] = {
        {.fields = RCX_PARAM_BOOTSTRAP | RCX_PARAM_ABORT},
        {.fields = RCX_PARAM_BOOTSTRAP},
        {.fields = RCX_PARAM_BOOTSTRAP, .fn = not_to_be_called},
        {.fields = RCX_PARAM_BOOTSTRAP | RCX_PARAM_ABORT,
         .fn = end_others,
         .result = 3,
         .said = "0 [0] rcx_abort: code 7: " TEXT "\nend 7 \"" TEXT "\"\n"
                 "0 [0] bootstrap_abort returned 3, 0 means success\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        struct ending ending = endings[i];

        ending.code = 7;
        ending.text = TEXT;
        ending.signal = SIGABRT;
        if (!ending.said)
            ending.said = "0 [0] rcx_abort: code 7: " TEXT "\n";
        check(&ending);
    }
}

static void fields_of_params_stay_where_they_were(void **state)
{
    (void)state;
    assert_int_equal(offsetof(rcx_params_t, name),
                     sizeof(uint64_t) + sizeof(rcx_bootstrap_t));
    assert_int_equal(sizeof(rcx_bootstrap_t),
                     2 * sizeof(int) + 3 * sizeof(void *));
    assert_true(offsetof(rcx_params_t, bootstrap_abort) >
                offsetof(rcx_params_t, progress_thread));
}

static void wrong_arguments_of_aborts_are_named(void **state)
{
    const rcx_params_t params = {.field_mask = RCX_PARAM_ABORT,
                                 .bootstrap_abort = end_others};
    rcx_context_t *context;
    struct capture said;

    (void)state;
    capture_begin(&said);
    assert_status(rcx_abort(NULL, 1, TEXT), RCX_ERR_ARG);
    assert_status(rcx_init(&params, &context), RCX_ERR_ARG);
    capture_end(&said);
    assert_int_equal(said.stderr_lines, 2);
    assert_non_null(strstr(said.text, "context"));
    assert_non_null(strstr(said.text, "bootstrap_abort"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_single_process_ends_with_the_code),
        cmocka_unit_test(a_host_that_can_abort_ends_the_other_ranks),
        cmocka_unit_test(sigabrt_ends_the_process_if_the_host_does_not),
        cmocka_unit_test(fields_of_params_stay_where_they_were),
        cmocka_unit_test(wrong_arguments_of_aborts_are_named),
    };

    return cmocka_run_group_tests_name("abort", tests, NULL, NULL);
}
