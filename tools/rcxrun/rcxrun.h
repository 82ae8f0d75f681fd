/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcxrun: the parts of RCX's launcher for one machine.
 *
 *   main.c     options, main
 *   base.c     messages, memory, time: what all parts use
 *   job.c      the event loop: failed ranks, and when ranks are killed
 *   children.c environment, fork, exec
 *   output.c   --prefix: pipes and lines
 *   server.c   the PMIx server (the only part that sees PMIx)
 *   cleanup.c  what must not be left behind, even after kill -9
 *
 * Everything runs on the main thread but the callbacks of rcxrun/server.c.
 */
#ifndef RCX_TOOLS_RCXRUN_RCXRUN_H
#define RCX_TOOLS_RCXRUN_RCXRUN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Exit statuses of rcxrun's own, after those of env(1) and timeout(1). */
enum {
    RCXRUN_EXIT_INTERNAL = 1,
    RCXRUN_EXIT_EARLY = 1, /* mpirun's */
    RCXRUN_EXIT_USAGE = 2,
    RCXRUN_EXIT_TIMEOUT = 124,
    RCXRUN_EXIT_NOEXEC = 126,
    RCXRUN_EXIT_NOTFOUND = 127,
    RCXRUN_EXIT_SIGNAL = 128, /* plus the signal's number */
};

#define RCXRUN_MAX_RANKS 4096

struct rcxrun_options {
    int size;
    int nodes;
    bool prefix;
    bool bind;
    bool keep_going;
    double timeout_s; /* 0: none */
    char **argv;      /* the program and its arguments */
};

void rcxrun_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Ends rcxrun at once; the watcher (rcxrun/cleanup.c) tidies up. */
void rcxrun_die(const char *format, ...)
    __attribute__((format(printf, 1, 2), noreturn));
void *rcxrun_alloc(size_t count, size_t bytes);
double rcxrun_now(void);

/* --- rcxrun/job.c: runs the job, returns rcxrun's exit status --- */

int rcxrun_job_run(const struct rcxrun_options *options, const char *path,
                   int *signal_p);

/* --- rcxrun/children.c --- */

/* Finds the program as execvp does; returns 0 or the exit status. */
int rcxrun_find_program(const char *name, char **path_p);
void rcxrun_scrub_environment(void);

/* What the children get back: the masks and limits rcxrun changed for itself.
 */
void rcxrun_save_process_state(void);

/* Starts one rank; out_fd and err_fd are -1 (inherit) or a pipe's end. */
pid_t rcxrun_spawn(const struct rcxrun_options *options, const char *path,
                   int rank, int out_fd, int err_fd);

/* Why execve() failed in a rank that exited with RCXRUN_EXIT_NOEXEC, or 0. */
int rcxrun_exec_error(void);

/* --- rcxrun/output.c --- */

struct rcxrun_stream {
    int fd; /* -1: closed */
    int to;
    int rank;
    bool lost; /* lines could not be written */
    char *text;
    size_t length, capacity;
};

void rcxrun_stream_open(struct rcxrun_stream *stream, int rank, int to,
                        int *child_fd_p);
void rcxrun_stream_read(struct rcxrun_stream *stream);
/* Takes what the pipe holds, prints a last partial line, closes. */
void rcxrun_stream_close(struct rcxrun_stream *stream);

/* --- rcxrun/server.c: there is no stop, see rcxrun_job_run() --- */

struct rcxrun_abort {
    int rank;
    int status;
    char message[256];
};

int rcxrun_server_start(const struct rcxrun_options *options,
                        const char *folder, int wake_fd);
int rcxrun_server_child_env(int rank, char ***env_p);
/* How far a rank has come. RCX calls PMIx_Finalize when the process exits,
 * and does not where rcx_finalize is missing. */
enum rcxrun_stage {
    RCXRUN_BEFORE_INIT,
    RCXRUN_INSIDE,
    RCXRUN_FINALIZED, /* until it calls PMIx_Init again */
};

enum rcxrun_stage rcxrun_server_stage(int rank);
/* True once a rank has called PMIx_Abort. */
bool rcxrun_server_abort(struct rcxrun_abort *abort_p);

/*
 * Stop serving: PMIx 4.2's thread can crash when ranks that wait in a fence are
 * killed, so it is held before they are. A rank that calls PMIx on SIGTERM
 * waits in vain, until the grace ends.
 */
void rcxrun_server_stop(void);

/* --- rcxrun/cleanup.c --- */

/* Makes the private folder and starts the watcher, before any thread exists. */
const char *rcxrun_cleanup_begin(int size);
void rcxrun_cleanup_add_rank(int rank, pid_t pid);
void rcxrun_cleanup_rank_ended(int rank);
/* A descendant of a rank that became ours when its parent died. */
void rcxrun_cleanup_add_adopted(pid_t pid);
/* Kills descendants that outlived their ranks, but no process that this one had
 * as a child before; removes folder and shared memory. */
void rcxrun_cleanup_end(void);

#endif
