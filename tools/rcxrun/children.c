/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Environment, fork and exec of ranks. PMIx's threads run during fork(), so the
 * child calls async-signal-safe functions only; rcxrun prepares all data
 * before.
 */
#include "rcxrun/rcxrun.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- the program --- */

/* Return 0, or the exit status if the file cannot be run. */
static int check_file(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return errno == EACCES ? RCXRUN_EXIT_NOEXEC : RCXRUN_EXIT_NOTFOUND;
    if (!S_ISREG(st.st_mode))
        errno = EISDIR;
    else if (access(path, X_OK) == 0)
        return 0;
    return RCXRUN_EXIT_NOEXEC;
}

static int search_path(const char *name, char **path_p)
{
    const char *list = getenv("PATH");
    int status = RCXRUN_EXIT_NOTFOUND;

    if (!list)
        list = "/usr/local/bin:/usr/bin:/bin";
    for (;;) {
        const size_t length = strcspn(list, ":");
        int found;

        if (asprintf(path_p, "%.*s%s%s", (int)length, list,
                     length > 0 ? "/" : "./", name) < 0)
            rcxrun_die("out of memory");
        found = check_file(*path_p);
        if (found == 0)
            return 0;
        if (found == RCXRUN_EXIT_NOEXEC)
            status = found;
        free(*path_p);
        if (list[length] == '\0')
            return status;
        list += length + 1;
    }
}

int rcxrun_find_program(const char *name, char **path_p)
{
    int status;

    if (strchr(name, '/') == NULL && name[0] != '\0') {
        status = search_path(name, path_p);
        errno = status == RCXRUN_EXIT_NOEXEC ? EACCES : ENOENT;
    } else {
        status = check_file(name);
        if (status == 0 && (*path_p = strdup(name)) == NULL)
            rcxrun_die("out of memory");
    }
    if (status == RCXRUN_EXIT_NOTFOUND)
        rcxrun_warn("program not found: %s", name);
    else if (status == RCXRUN_EXIT_NOEXEC)
        rcxrun_warn("cannot run %s: %s", name,
                    errno == EISDIR ? "not a file" : strerror(EACCES));
    return status;
}

/* --- the environment --- */

/*
 * Variables of an outer launcher, which are removed: they describe its ranks,
 * and a child would take itself for one of them. A '*' at the end matches any
 * rest. User settings (PMIX_MCA_*, the job's SLURM_JOB_*) stay.
 */
static const char *const launcher_variables[] = {
    "PMIX_*",
    "PMI_*",
    "PMI2_*",
    "PRTE_*",
    "OMPI_COMM_WORLD_*",
    "OMPI_UNIVERSE_SIZE",
    "OMPI_APP_CTX_NUM_PROCS",
    "OMPI_FIRST_RANKS",
    "OMPI_NUM_APP_CTX",
    "OMPI_ARGV",
    "OMPI_COMMAND",
    "OMPI_FILE_LOCATION",
    "OMPI_MCA_ess*",
    "OMPI_MCA_orte_*",
    "OMPI_MCA_pmix",
    "ORTE_*",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "HYDI_CONTROL_FD",
    "FLUX_TASK_*",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_GTIDS",
    "SLURM_NTASKS",
    "SLURM_NPROCS",
    "SLURM_TASK_PID",
    "SLURM_STEP*",
    "SLURM_SRUN_*",
    "SLURM_PMIX*",
    "SLURM_MPI_TYPE",
    "SLURM_LAUNCH_NODE_IPADDR",
};

static bool matches(const char *pattern, const char *variable)
{
    const size_t length = strcspn(pattern, "*");

    return strncmp(pattern, variable, length) == 0 &&
           (pattern[length] == '*' || variable[length] == '=');
}

static bool of_launcher(const char *variable)
{
    if (matches("PMIX_MCA_*", variable))
        return false;
    for (size_t i = 0;
         i < sizeof launcher_variables / sizeof launcher_variables[0]; i++) {
        if (matches(launcher_variables[i], variable))
            return true;
    }
    return false;
}

void rcxrun_scrub_environment(void)
{
    char **to = environ;

    for (char **from = environ; from && *from; from++) {
        if (!of_launcher(*from))
            *to++ = *from;
    }
    if (to)
        *to = NULL;
}

/* A copy on the heap: PMIx_server_setup_fork() may realloc the array and free
 * its strings. */
static char **copy_environment(void)
{
    size_t count = 0;
    char **copy;

    while (environ[count])
        count++;
    copy = rcxrun_alloc(count + 1, sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        copy[i] = strdup(environ[i]);
        if (!copy[i])
            rcxrun_die("out of memory");
    }
    return copy;
}

/* --- fork and exec --- */

static sigset_t saved_mask;
static struct sigaction saved_pipe;
static struct rlimit saved_files, saved_stack;
static cpu_set_t usable_cpus;
static int *exec_error; /* the errno of execve(); memory shared with children */

/* Raise the stack limit for rcxrun. PMIx takes some 200 KB of stack at once,
 * and the stack of a running process grows up to the current limit. */
static void make_stack(void)
{
    enum { STACK_BYTES = 512 << 10 };
    struct rlimit stack;

    getrlimit(RLIMIT_STACK, &saved_stack);
    stack = saved_stack;
    if (stack.rlim_cur >= STACK_BYTES) /* true for RLIM_INFINITY */
        return;
    stack.rlim_cur = STACK_BYTES;
    if (stack.rlim_max < STACK_BYTES)
        stack.rlim_max = STACK_BYTES;
    if (setrlimit(RLIMIT_STACK, &stack) != 0)
        rcxrun_die("the stack limit is %llu KB, but PMIx needs 512 KB: set "
                   "ulimit -s 512",
                   (unsigned long long)saved_stack.rlim_max >> 10);
}

void rcxrun_save_process_state(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct rlimit files;

    sigprocmask(SIG_BLOCK, NULL, &saved_mask);
    /* A write to a closed pipe must not kill rcxrun before its cleanup. */
    sigaction(SIGPIPE, &ignore, &saved_pipe);
    signal(SIGCHLD,
           SIG_DFL); /* if it were ignored, no exit status would be kept */
    make_stack();
    getrlimit(RLIMIT_NOFILE, &saved_files);
    files = saved_files;
    files.rlim_cur = files.rlim_max; /* up to three descriptors per rank */
    setrlimit(RLIMIT_NOFILE, &files);
    sched_getaffinity(0, sizeof usable_cpus, &usable_cpus);
    exec_error = mmap(NULL, sizeof *exec_error, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (exec_error == MAP_FAILED)
        rcxrun_die("mmap: %s", strerror(errno));
}

static void cpu_of(int rank, cpu_set_t *set)
{
    int left = rank % CPU_COUNT(&usable_cpus);

    CPU_ZERO(set);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &usable_cpus) && left-- == 0)
            CPU_SET(cpu, set);
    }
}

struct child {
    const char *path;
    char **argv, **env;
    int in_fd, out_fd, err_fd; /* -1: inherit */
    bool reads_terminal;
    const cpu_set_t *cpus; /* NULL: all */
    pid_t parent;
};

/* Leave rcxrun's process group, so that the terminal's signals do not arrive,
 * and so that all children of the rank form one group. A session per rank is
 * avoided: Linux divides a core among sessions first (autogroups), and
 * sched_yield() has effect only within a session. A rank that reads the
 * terminal needs a session of its own while rcxrun has the terminal. */
static void leave_group(const struct child *child)
{
    if (child->reads_terminal)
        setsid();
    else
        setpgid(0, 0);
}

/* Only async-signal-safe calls: fork() was called in a process with threads. */
static void __attribute__((noreturn)) exec_child(const struct child *child)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != child->parent)
        _exit(RCXRUN_EXIT_SIGNAL + SIGKILL); /* rcxrun died before prctl() */
    leave_group(child);
    if (child->in_fd >= 0)
        dup2(child->in_fd, STDIN_FILENO);
    if (child->out_fd >= 0)
        dup2(child->out_fd, STDOUT_FILENO);
    if (child->err_fd >= 0)
        dup2(child->err_fd, STDERR_FILENO);
    if (child->cpus)
        sched_setaffinity(0, sizeof *child->cpus, child->cpus);
    setrlimit(RLIMIT_NOFILE, &saved_files);
    setrlimit(RLIMIT_STACK, &saved_stack);
    sigaction(SIGPIPE, &saved_pipe, NULL);
    sigprocmask(SIG_SETMASK, &saved_mask, NULL);
    execve(child->path, child->argv, child->env);
    *exec_error = errno;
    _exit(RCXRUN_EXIT_NOEXEC);
}

int rcxrun_exec_error(void)
{
    return *exec_error;
}

pid_t rcxrun_spawn(const struct rcxrun_options *options, const char *path,
                   int rank, int out_fd, int err_fd)
{
    struct child child = {
        .path = path,
        .argv = options->argv,
        .env = copy_environment(),
        .in_fd = rank == 0 ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC),
        .out_fd = out_fd,
        .err_fd = err_fd,
        .reads_terminal = rank == 0 && isatty(STDIN_FILENO),
        .parent = getpid(),
    };
    cpu_set_t cpu;
    pid_t pid = -1;

    if (options->bind) {
        cpu_of(rank, &cpu);
        child.cpus = &cpu;
    }
    if (rcxrun_server_child_env(rank, &child.env) == 0) {
        pid = fork();
        if (pid == 0)
            exec_child(&child);
        if (pid < 0)
            rcxrun_warn("cannot fork rank %d: %s", rank, strerror(errno));
    }
    if (child.in_fd >= 0)
        close(child.in_fd);
    for (char **entry = child.env; *entry; entry++)
        free(*entry);
    free(child.env);
    return pid;
}
