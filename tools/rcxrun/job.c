/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event loop of a job, and the decision when to end it. Every event arrives
 * at a file descriptor: signals at a signalfd, PMIx events at an eventfd, the
 * ranks' output at pipes. No code runs in a signal handler.
 */
#include "rcxrun/rcxrun.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Time from SIGTERM to SIGKILL. */
static const double grace_s = 2.0;
/* Time from a rank's early end to the report, if others wait for it: they may
 * end as well. */
static const double report_delay_s = 2.0;

enum { SIGNALS, WAKE, STREAMS }; /* indices in the array for poll() */

struct rank {
    pid_t pid; /* 0: not running */
    struct rcxrun_stream streams[2];
};

/* The first rank that exited with status 0 without PMIx_Init or
 * PMIx_Finalize. */
struct early {
    int rank;
    pid_t pid; /* 0: no such rank, or it has been reported */
    enum rcxrun_stage stage;
};

struct job {
    const struct rcxrun_options *options;
    struct rank *ranks;
    int n_running;
    struct pollfd *polls;
    int n_polls;

    int status;  /* exit status by the first failure; 0: none so far */
    int signal;  /* the signal that ended rcxrun; 0: none */
    bool ending; /* SIGTERM has been sent */
    bool abort_seen;
    struct early early;
    double timeout_at, kill_at, blame_at; /* INFINITY: never */
};

/* --- termination of the job --- */

static void signal_ranks(const struct job *job, int number)
{
    for (int rank = 0; rank < job->options->size; rank++) {
        const pid_t pid = job->ranks[rank].pid;

        /* The process group, or the process if it has not created its group
         * yet. */
        if (pid > 0 && kill(-pid, number) != 0)
            kill(pid, number);
    }
}

static void end_job(struct job *job, int status)
{
    if (job->status == 0)
        job->status = status;
    if (job->ending)
        return;
    job->ending = true;
    rcxrun_server_stop();
    signal_ranks(job, SIGTERM);
    job->kill_at = rcxrun_now() + grace_s;
}

static void kill_job(struct job *job)
{
    signal_ranks(job, SIGKILL);
    job->kill_at = INFINITY;
}

/* --- exit of ranks --- */

/* Whether a rank has called PMIx_Abort. The first call ends the job; later
 * failures are its consequence. */
static bool see_abort(struct job *job)
{
    struct rcxrun_abort abort;

    if (job->abort_seen || !rcxrun_server_abort(&abort))
        return job->abort_seen;
    job->abort_seen = true;
    if (!job->ending) {
        const char *colon = abort.message[0] != '\0' ? ": " : "";

        rcxrun_warn("rank %d (pid %ld) called PMIx_Abort with status %d%s%s",
                    abort.rank, (long)job->ranks[abort.rank].pid, abort.status,
                    colon, abort.message);
        /* An abort is a failure even with status 0. */
        end_job(job, (abort.status & 0xff) != 0 ? abort.status & 0xff : 1);
    }
    return true;
}

/* Record a rank that has exited without PMIx_Init or PMIx_Finalize: ranks that
 * are between the two may wait for it. */
static void note_early(struct job *job, int rank)
{
    const enum rcxrun_stage stage = rcxrun_server_stage(rank);

    if (stage != RCXRUN_FINALIZED && job->early.pid == 0)
        job->early = (struct early){rank, job->ranks[rank].pid, stage};
}

static bool others_wait(const struct job *job)
{
    for (int rank = 0; rank < job->options->size; rank++) {
        if (job->ranks[rank].pid > 0 &&
            rcxrun_server_stage(rank) == RCXRUN_INSIDE)
            return true;
    }
    return false;
}

static void report_early(struct job *job, const char *consequence)
{
    const bool inside = job->early.stage == RCXRUN_INSIDE;

    rcxrun_warn("rank %d (pid %ld) ended without %s%s", job->early.rank,
                (long)job->early.pid, inside ? "rcx_finalize" : "rcx_init",
                consequence);
    job->early.pid = 0;
}

static void watch_early(struct job *job)
{
    if (job->early.pid == 0 || job->ending || !others_wait(job))
        job->blame_at = INFINITY;
    else if (isinf(job->blame_at))
        job->blame_at = rcxrun_now() + report_delay_s;
}

static void blame_early(struct job *job)
{
    const bool keep_going = job->options->keep_going;

    job->blame_at = INFINITY;
    report_early(job, keep_going ? "; others wait for it"
                                 : "; others wait for it, ending the job");
    if (job->status == 0)
        job->status = RCXRUN_EXIT_EARLY;
    if (!keep_going)
        end_job(job, RCXRUN_EXIT_EARLY);
}

static void report_failure(int rank, pid_t pid, int wait_status)
{
    if (WIFSIGNALED(wait_status)) {
        const int number = WTERMSIG(wait_status);

        rcxrun_warn("rank %d (pid %ld) killed by signal %d (%s)%s", rank,
                    (long)pid, number, strsignal(number),
                    WCOREDUMP(wait_status) ? ", core dumped" : "");
    } else if (WEXITSTATUS(wait_status) == RCXRUN_EXIT_NOEXEC &&
               rcxrun_exec_error() != 0) {
        rcxrun_warn("rank %d (pid %ld) cannot run the program: %s", rank,
                    (long)pid, strerror(rcxrun_exec_error()));
    } else {
        rcxrun_warn("rank %d (pid %ld) exited with status %d", rank, (long)pid,
                    WEXITSTATUS(wait_status));
    }
}

static void rank_ended(struct job *job, int rank, int wait_status)
{
    const pid_t pid = job->ranks[rank].pid;
    const int status = WIFSIGNALED(wait_status)
                           ? RCXRUN_EXIT_SIGNAL + WTERMSIG(wait_status)
                           : WEXITSTATUS(wait_status);

    /* see_abort() reads the pid of the aborting rank, which may be this one. */
    if (status == 0) {
        note_early(job, rank);
    } else if (!see_abort(job) && !job->ending) {
        if (job->early.pid != 0 &&
            rcxrun_server_stage(rank) != RCXRUN_BEFORE_INIT)
            report_early(job, ""); /* it may be the reason of this failure */
        report_failure(rank, pid, wait_status);
        if (job->status == 0)
            job->status = status;
    }
    job->ranks[rank].pid = 0;
    job->n_running--;
    rcxrun_cleanup_rank_ended(rank);
    if (status != 0 && !job->options->keep_going)
        end_job(job, status);
}

static void reap(struct job *job)
{
    int wait_status;
    pid_t pid;

    while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0) {
        int rank = 0;

        while (rank < job->options->size && job->ranks[rank].pid != pid)
            rank++;
        if (rank < job->options->size)
            rank_ended(job, rank, wait_status);
        else
            rcxrun_cleanup_add_adopted(pid);
    }
}

/* --- signals to rcxrun --- */

/* Block SIGCHLD and the signals that end a program, except those that are
 * ignored since the start (nohup). Returns their signalfd. */
static int block_signals(void)
{
    static const int ending[] = {SIGINT,  SIGTERM, SIGHUP,
                                 SIGQUIT, SIGUSR1, SIGUSR2};
    struct sigaction action;
    sigset_t set;
    int fd;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++) {
        sigaction(ending[i], NULL, &action);
        if (action.sa_handler != SIG_IGN)
            sigaddset(&set, ending[i]);
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        rcxrun_die("signalfd: %s", strerror(errno));
    return fd;
}

static void take_signal(struct job *job, int number)
{
    if (number == SIGCHLD) {
        reap(job);
    } else if (number == SIGUSR1 || number == SIGUSR2) {
        signal_ranks(job, number); /* SIGUSR1 and SIGUSR2 are for the program */
    } else if (job->signal != 0) {
        kill_job(job); /* the second signal ends the grace period */
    } else {
        rcxrun_warn("got SIG%s, ending the job", sigabbrev_np(number));
        job->signal = number;
        end_job(job, RCXRUN_EXIT_SIGNAL + number);
    }
}

static void take_signals(struct job *job)
{
    struct signalfd_siginfo info;

    while (read(job->polls[SIGNALS].fd, &info, sizeof info) ==
           (ssize_t)sizeof info)
        take_signal(job, (int)info.ssi_signo);
}

/* --- the loop --- */

static void take_output(struct job *job)
{
    for (int i = STREAMS; i < job->n_polls; i++) {
        if (job->polls[i].revents != 0) {
            struct rcxrun_stream *stream =
                &job->ranks[(i - STREAMS) / 2].streams[(i - STREAMS) % 2];

            rcxrun_stream_read(stream);
            job->polls[i].fd = stream->fd; /* poll() skips -1 */
        }
    }
}

static void take_time(struct job *job)
{
    const double now = rcxrun_now();

    if (now >= job->timeout_at) {
        job->timeout_at = INFINITY;
        if (!job->ending)
            rcxrun_warn("timeout after %g s, ending the job",
                        job->options->timeout_s);
        end_job(job, RCXRUN_EXIT_TIMEOUT);
    }
    if (now >= job->kill_at)
        kill_job(job);
    if (now >= job->blame_at)
        blame_early(job);
}

static double earlier(double a, double b)
{
    return a < b ? a : b;
}

static int ms_to_next(const struct job *job)
{
    const double at =
        earlier(job->timeout_at, earlier(job->kill_at, job->blame_at));
    const double s = at - rcxrun_now();

    if (s > 3600)
        return isinf(s) ? -1 : 3600 * 1000;
    return s > 0 ? (int)(1000 * s) + 1 : 0;
}

static void loop(struct job *job)
{
    while (job->n_running > 0) {
        if (poll(job->polls, (nfds_t)job->n_polls, ms_to_next(job)) < 0 &&
            errno != EINTR)
            rcxrun_die("poll: %s", strerror(errno));
        if (job->polls[WAKE].revents != 0) {
            eventfd_t count;

            eventfd_read(job->polls[WAKE].fd, &count);
            see_abort(job);
        }
        take_output(job);
        take_signals(job);
        watch_early(job);
        take_time(job);
    }
}

/* --- begin and end --- */

static int start_rank(struct job *job, const char *path, int rank)
{
    struct rank *r = &job->ranks[rank];
    int fds[2] = {-1, -1};

    if (job->options->prefix) {
        for (int i = 0; i < 2; i++) {
            rcxrun_stream_open(&r->streams[i], rank, STDOUT_FILENO + i,
                               &fds[i]);
            job->polls[STREAMS + 2 * rank + i] =
                (struct pollfd){.fd = r->streams[i].fd, .events = POLLIN};
        }
    }
    r->pid = rcxrun_spawn(job->options, path, rank, fds[0], fds[1]);
    for (int i = 0; i < 2; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
    if (r->pid < 0) {
        r->pid = 0;
        return -1;
    }
    rcxrun_cleanup_add_rank(rank, r->pid);
    job->n_running++;
    return 0;
}

static void start_ranks(struct job *job, const char *path)
{
    for (int rank = 0; rank < job->options->size; rank++) {
        if (start_rank(job, path, rank) != 0) {
            end_job(job, RCXRUN_EXIT_INTERNAL);
            return;
        }
    }
}

static void init(struct job *job, const struct rcxrun_options *options)
{
    *job = (struct job){
        .options = options,
        .ranks = rcxrun_alloc((size_t)options->size, sizeof *job->ranks),
        .n_polls = STREAMS + (options->prefix ? 2 * options->size : 0),
        .timeout_at = options->timeout_s > 0 ? rcxrun_now() + options->timeout_s
                                             : INFINITY,
        .kill_at = INFINITY,
        .blame_at = INFINITY,
    };
    job->polls = rcxrun_alloc((size_t)job->n_polls, sizeof *job->polls);
    for (int rank = 0; rank < options->size; rank++)
        job->ranks[rank].streams[0].fd = job->ranks[rank].streams[1].fd = -1;
    for (int i = 0; i < job->n_polls; i++)
        job->polls[i].fd = -1;
}

static void close_streams(struct job *job)
{
    bool lost = false;

    for (int rank = 0; rank < job->options->size; rank++)
        for (int i = 0; i < 2; i++) {
            rcxrun_stream_close(&job->ranks[rank].streams[i]);
            lost |= job->ranks[rank].streams[i].lost;
        }
    if (!lost)
        return;
    rcxrun_warn("output of ranks could not be written");
    if (job->status == 0)
        job->status = 1;
}

int rcxrun_job_run(const struct rcxrun_options *options, const char *path,
                   int *signal_p)
{
    const char *folder;
    struct job job;
    int status;

    init(&job, options);
    rcxrun_save_process_state();
    /* The watcher and PMIx's thread inherit the signal mask, so block first. */
    job.polls[SIGNALS] =
        (struct pollfd){.fd = block_signals(), .events = POLLIN};
    job.polls[WAKE] =
        (struct pollfd){.fd = eventfd(0, EFD_CLOEXEC), .events = POLLIN};
    folder = rcxrun_cleanup_begin(options->size);

    if (rcxrun_server_start(options, folder, job.polls[WAKE].fd) == 0) {
        start_ranks(&job, path);
        loop(&job);
        /* PMIx_server_finalize() is not called: with PMIx 4.2.2 it hangs in one
         * of 40 jobs whose ranks were killed in a fence. PMIx's thread waits
         * for a lock while the caller waits for that thread. The server ends
         * with the process. */
    } else {
        job.status = RCXRUN_EXIT_INTERNAL;
    }
    rcxrun_cleanup_end();
    close_streams(&job);
    close(job.polls[SIGNALS].fd);
    /* WAKE stays open: PMIx's thread still writes to it */
    status = job.status;
    *signal_p = job.signal;
    free(job.ranks);
    free(job.polls);
    return status;
}
