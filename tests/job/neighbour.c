/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * neighbour alone|guest|host
 *
 * One rank of a job whose process has settings of its own. RCX must leave them
 * as they are: they are compared after rcx_init(), after rcx_finalize(), and
 * after ten cycles of both. Exits with 0, and prints nothing, if they are
 * unchanged.
 *
 *   alone    a single process without a launcher, so without PMIx
 *   guest    under a launcher. RCX keeps PMIx until the process ends: its
 *            thread, its descriptors, and variables that it sets.
 *   host     the same after a PMIx_Init() of the program's own. Then PMIx
 *            explains no difference, except the socket which marks this process
 *            as the rank (docs/reference/guarantees.md)
 *
 * libucs installs signal handlers when it is loaded, before main() begins. RCX
 * does not control that, but this test checks that they are only those that
 * docs/reference/guarantees.md lists.
 */
#include <dirent.h>
#include <limits.h>
#include <locale.h>
#include <pmix.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "rcx/rcx.h"

enum {
    CYCLES = 10,
    MOST_VARIABLES = 4096,
    MOST_FILES = 256,
    TIMEOUT_SECONDS = 10 /* until a thread counts as left over */
};

enum mode { ALONE, GUEST, HOST, MODES };

extern char **environ;

_Noreturn static void fail(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

static void fail(const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "neighbour: %s\n", text);
    _exit(1);
}

static void require(bool condition, const char *what)
{
    if (!condition)
        fail("%s", what);
}

/* ---- The state of a process ---------------------------------------------- */

struct state {
    struct sigaction actions[NSIG];
    sigset_t mask;
    char *variables[MOST_VARIABLES];
    char cwd[PATH_MAX], locale[256];
    mode_t umask;
    struct {
        size_t bytes;
        int by_line;
    } streams[3];
    char *files[MOST_FILES]; /* by descriptor; NULL: closed */
    int threads;
};

static int count_threads(void)
{
    DIR *folder = opendir("/proc/self/task");
    int count = 0;

    require(folder, "/proc/self/task cannot be read");
    while (readdir(folder))
        count++;
    closedir(folder);
    return count - 2; /* without "." and ".." */
}

static void read_files(struct state *s)
{
    for (int i = 0; i < MOST_FILES; i++) {
        char path[64], target[PATH_MAX];
        ssize_t letters;

        snprintf(path, sizeof path, "/proc/self/fd/%d", i);
        letters = readlink(path, target, sizeof target);
        s->files[i] = letters < 0 ? NULL : strndup(target, (size_t)letters);
    }
}

static struct state *read_state(void)
{
    FILE *const streams[] = {stdin, stdout, stderr};
    struct state *s = calloc(1, sizeof *s);

    require(s, "no memory");
    for (int i = 1; i < NSIG; i++)
        sigaction(i, NULL, &s->actions[i]);
    pthread_sigmask(SIG_SETMASK, NULL, &s->mask);
    for (int i = 0; environ[i]; i++) {
        require(i < MOST_VARIABLES - 1, "too many variables for this test");
        s->variables[i] = strdup(environ[i]);
    }
    require(getcwd(s->cwd, sizeof s->cwd), "getcwd fails");
    snprintf(s->locale, sizeof s->locale, "%s", setlocale(LC_ALL, NULL));
    umask(s->umask = umask(0));
    for (int i = 0; i < 3; i++) {
        s->streams[i].bytes = __fbufsize(streams[i]);
        s->streams[i].by_line = __flbf(streams[i]);
    }
    read_files(s);
    s->threads = count_threads();
    return s;
}

static void free_state(struct state *s)
{
    for (int i = 0; i < MOST_VARIABLES; i++)
        free(s->variables[i]);
    for (int i = 0; i < MOST_FILES; i++)
        free(s->files[i]);
    free(s);
}

/* ---- Comparisons --------------------------------------------------------- */

static bool same_mask(const sigset_t *a, const sigset_t *b)
{
    for (int i = 1; i < NSIG; i++)
        if (sigismember(a, i) != sigismember(b, i))
            return false;
    return true;
}

static void compare_signals(const struct state *a, const struct state *b,
                            const char *when)
{
    for (int i = 1; i < NSIG; i++) {
        const struct sigaction *x = &a->actions[i], *y = &b->actions[i];

        if (x->sa_handler != y->sa_handler || x->sa_flags != y->sa_flags ||
            !same_mask(&x->sa_mask, &y->sa_mask))
            fail("%s: signal %d is handled in another way", when, i);
    }
    if (!same_mask(&a->mask, &b->mask))
        fail("%s: another signal mask", when);
}

/* Return at, or the next variable behind PMIX_ ones: those are skipped if RCX,
 * not the program, initialised PMIx. */
static char *const *counted(char *const *at, bool without_pmix)
{
    while (without_pmix && *at && strncmp(*at, "PMIX_", 5) == 0)
        at++;
    return at;
}

static void compare_environment(const struct state *a, const struct state *b,
                                bool without_pmix, const char *when)
{
    char *const *x = counted(a->variables, without_pmix);
    char *const *y = counted(b->variables, without_pmix);

    while (*x && *y && strcmp(*x, *y) == 0) {
        x = counted(x + 1, without_pmix);
        y = counted(y + 1, without_pmix);
    }
    if (*x || *y)
        fail("%s: %s in the environment was %s", when, *y ? *y : "nothing",
             *x ? *x : "not there");
}

static void compare_rest(const struct state *a, const struct state *b,
                         const char *when)
{
    if (strcmp(a->cwd, b->cwd) != 0)
        fail("%s: the working folder is %s", when, b->cwd);
    if (strcmp(a->locale, b->locale) != 0)
        fail("%s: the locale is %s", when, b->locale);
    if (a->umask != b->umask)
        fail("%s: the umask is %o", when, (unsigned)b->umask);
    for (int i = 0; i < 3; i++)
        if (a->streams[i].bytes != b->streams[i].bytes ||
            a->streams[i].by_line != b->streams[i].by_line)
            fail("%s: stream %d is buffered in another way", when, i);
}

/* Descriptors must be unchanged, except for new sockets. Returns their
 * number. */
static int compare_files(const struct state *a, const struct state *b,
                         const char *when)
{
    int sockets = 0;

    for (int i = 0; i < MOST_FILES; i++) {
        const char *x = a->files[i] ? a->files[i] : "closed";
        const char *y = b->files[i] ? b->files[i] : "closed";

        if (!a->files[i] && strncmp(y, "socket:", 7) == 0)
            sockets++;
        else if (strcmp(x, y) != 0)
            fail("%s: descriptor %d is %s, and was %s", when, i, y, x);
    }
    return sockets;
}

/* A thread that was joined may be in /proc a moment longer. */
static void wait_for_threads(int most, const char *when)
{
    const time_t end = time(NULL) + TIMEOUT_SECONDS;

    while (count_threads() > most && time(NULL) <= end)
        sched_yield();
    if (count_threads() > most)
        fail("%s: %d threads, expected %d", when, count_threads(), most);
}

/* Compare all but threads and descriptors, which RCX needs while a context is
 * open. */
static void compare(const struct state *before, bool without_pmix,
                    const char *when)
{
    struct state *now = read_state();

    compare_signals(before, now, when);
    compare_environment(before, now, without_pmix, when);
    compare_rest(before, now, when);
    free_state(now);
}

static void compare_all(const struct state *before, int sockets,
                        const char *when)
{
    struct state *now = read_state();

    compare(before, false, when);
    if (compare_files(before, now, when) != sockets)
        fail("%s: other than %d sockets stay open", when, sockets);
    wait_for_threads(before->threads, when);
    free_state(now);
}

/* ---- RCX's own thread ---------------------------------------------------- */

/* Whether the signal is raised by the thread itself, as by a fault in a
 * user-defined op. */
static bool is_raised(int number)
{
    return number == SIGILL || number == SIGTRAP || number == SIGBUS ||
           number == SIGFPE || number == SIGSEGV || number == SIGSYS;
}

static unsigned long long blocked_in(const char *thread)
{
    unsigned long long set = 0;
    char path[300], line[256];
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
    file = fopen(path, "re");
    require(file, path);
    while (fgets(line, sizeof line, file) &&
           sscanf(line, "SigBlk: %llx", &set) != 1)
        continue;
    fclose(file);
    return set;
}

/* A thread that RCX started must block all signals that are sent to the
 * process. */
static void check_own_thread(void)
{
    DIR *folder = opendir("/proc/self/task");
    struct dirent *entry;

    require(folder, "/proc/self/task cannot be read");
    while ((entry = readdir(folder))) {
        if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid())
            continue;
        for (int i = 1; i < SIGSYS; i++)
            if (i != SIGKILL && i != SIGSTOP && !is_raised(i) &&
                !(blocked_in(entry->d_name) >> (i - 1) & 1))
                fail("a thread of RCX's would take signal %d", i);
    }
    closedir(folder);
}

/* ---- Signal handlers that UCX installs when it is loaded ----------------- */

static bool is_set_to(const char *name, const char *value)
{
    const char *text = getenv(name);

    return text && strcmp(text, value) == 0;
}

static bool ucx_may_handle(int number)
{
    if (number == SIGHUP)
        return !is_set_to("UCX_DEBUG_SIGNO", "0");
    return !is_set_to("UCX_HANDLE_ERRORS", "none") &&
           (number == SIGILL || number == SIGSEGV || number == SIGBUS ||
            number == SIGFPE);
}

static void check_loaded(const struct state *s)
{
    for (int i = 1; i < NSIG; i++)
        if (s->actions[i].sa_handler != SIG_DFL &&
            s->actions[i].sa_handler != SIG_IGN && !ucx_may_handle(i))
            fail("signal %d has a handler before main()", i);
}

/* ---- The program --------------------------------------------------------- */

static void handle(int number)
{
    (void)number;
}

/* Set every compared attribute to a value other than its default. */
static void settle_down(void)
{
    const struct sigaction action = {.sa_handler = handle,
                                     .sa_flags = SA_RESTART};
    sigset_t mask;

    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGCHLD, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &mask, NULL);
    umask(027);
    setvbuf(stdout, NULL, _IOFBF, 3000);
    setlocale(LC_ALL, "");
    require(chdir("/") == 0, "chdir fails");
}

/* Without PMIx and UCX all other threads are RCX's own. */
static void check_threads(const struct state *before)
{
    const bool wanted = is_set_to("RCX_PROGRESS", "thread");

    wait_for_threads(before->threads + wanted, "after rcx_init");
    require(count_threads() == before->threads + wanted,
            "RCX_PROGRESS=thread, and there is none");
    check_own_thread();
}

static void open_and_close(const struct state *before, enum mode mode)
{
    const bool guest = mode == GUEST;
    rcx_context_t *context;
    double one = 1;

    require(rcx_init(NULL, &context) == RCX_OK, "rcx_init fails");
    compare(before, guest, "after rcx_init");
    if (mode == ALONE)
        check_threads(before);
    require(rcx_allreduce(RCX_IN_PLACE, &one, 1, RCX_DOUBLE, RCX_SUM,
                          rcx_world(context)) == RCX_OK &&
                one == rcx_comm_size(rcx_world(context)),
            "rcx_allreduce fails");
    compare(before, guest, "after rcx_allreduce");
    require(rcx_finalize(&context) == RCX_OK, "rcx_finalize fails");
    compare(before, guest, "after rcx_finalize");
}

static void run(enum mode mode)
{
    struct state *before = read_state(), *after;

    open_and_close(before, mode);
    if (mode == GUEST) /* one thread more, which is PMIx's */
        wait_for_threads(before->threads + 1, "after one cycle");
    else
        compare_all(before, mode == HOST, "after one cycle");
    after = read_state();
    for (int i = 1; i < CYCLES; i++)
        open_and_close(before, mode);
    compare_all(after, 0, "after all cycles");
    free_state(before);
    free_state(after);
}

static enum mode parse(int argc, char **argv)
{
    static const char *const names[MODES] = {"alone", "guest", "host"};

    for (int i = 0; argc == 2 && i < MODES; i++)
        if (strcmp(argv[1], names[i]) == 0)
            return (enum mode)i;
    fprintf(stderr, "usage: %s alone|guest|host\n", argv[0]);
    exit(2);
}

int main(int argc, char **argv)
{
    const enum mode mode = parse(argc, argv);
    struct state *loaded = read_state();
    pmix_proc_t me;

    check_loaded(loaded);
    free_state(loaded);
    settle_down();
    if (mode == HOST)
        require(PMIx_Init(&me, NULL, 0) == PMIX_SUCCESS, "PMIx_Init fails");
    run(mode);
    if (mode == HOST)
        require(PMIx_Finalize(NULL, 0) == PMIX_SUCCESS, "PMIx_Finalize fails");
    return 0;
}
