/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcxrun, RCX's launcher for the ranks of one machine.
 *
 *   main.c     options, main
 *   base.c     messages, memory, time
 *   job.c      the event loop; failed ranks; termination of the job
 *   children.c environment, fork, exec
 *   output.c   --prefix: pipes and lines
 *   server.c   the PMIx server; no other file includes PMIx headers
 *   accept.c   connections to it: only those of this user
 *   cleanup.c  removal of processes, files and shared memory after the job
 *
 * All code runs on the main thread, except for the callbacks in server.c
 * and accept().
 */
#ifndef RCX_TOOLS_RCXRUN_RCXRUN_H
#define RCX_TOOLS_RCXRUN_RCXRUN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Exit statuses; those from 124 on are as in env(1) and timeout(1). */
enum {
    RCXRUN_EXIT_INTERNAL = 1,
    RCXRUN_EXIT_EARLY = 1, /* the same as mpirun's */
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
/* Print a message and exit at once. The watcher process of cleanup.c removes
 * the job's processes and files. */
void rcxrun_die(const char *format, ...)
    __attribute__((format(printf, 1, 2), noreturn));
void *rcxrun_alloc(size_t count, size_t bytes);
double rcxrun_now(void);

/* --- rcxrun/job.c --- */

int rcxrun_job_run(const struct rcxrun_options *options, const char *path,
                   int *signal_p);

/* --- rcxrun/children.c --- */

/* Find the program as execvp() does. Returns 0 and the path, or an exit
 * status. */
int rcxrun_find_program(const char *name, char **path_p);
void rcxrun_scrub_environment(void);

/* Save the signal mask, signal actions and limits, and set rcxrun's own.
 * Children restore the saved ones. */
void rcxrun_save_process_state(void);

/* Start one rank. out_fd and err_fd: the write end of a pipe, or -1 to
 * inherit. */
pid_t rcxrun_spawn(const struct rcxrun_options *options, const char *path,
                   int rank, int out_fd, int err_fd);

/* The errno of execve() in a rank that exited with RCXRUN_EXIT_NOEXEC; 0:
 * execve() has not failed. */
int rcxrun_exec_error(void);

/* --- rcxrun/output.c --- */

struct rcxrun_stream {
    int fd; /* -1: closed */
    int to;
    int rank;
    bool lost; /* a line could not be written */
    char *text;
    size_t length, capacity;
};

void rcxrun_stream_open(struct rcxrun_stream *stream, int rank, int to,
                        int *child_fd_p);
void rcxrun_stream_read(struct rcxrun_stream *stream);
/* Read the rest of the pipe, print a last partial line, and close. */
void rcxrun_stream_close(struct rcxrun_stream *stream);

/* --- rcxrun/server.c --- */

struct rcxrun_abort {
    int rank;
    int status;
    char message[256];
};

int rcxrun_server_start(const struct rcxrun_options *options,
                        const char *folder, int wake_fd);
int rcxrun_server_child_env(int rank, char ***env_p);
/* State of a rank. RCX calls PMIx_Finalize when the process exits, but not if
 * rcx_finalize was not called. */
enum rcxrun_stage {
    RCXRUN_BEFORE_INIT,
    RCXRUN_INSIDE,
    RCXRUN_FINALIZED, /* until it calls PMIx_Init again */
};

enum rcxrun_stage rcxrun_server_stage(int rank);
/* Whether a rank has called PMIx_Abort. Stores the first such call. */
bool rcxrun_server_abort(struct rcxrun_abort *abort_p);

/*
 * Stop serving. The thread of PMIx 4.2 can crash when ranks are killed in a
 * fence, so it is parked here. Call it before ranks are killed. A rank that
 * calls PMIx after SIGTERM then blocks until it is killed.
 */
void rcxrun_server_stop(void);

/* --- rcxrun/accept.c --- */

/* Call it before the server starts. */
void rcxrun_accept_begin(void);
/* Whether a connection has come through accept() of this file. */
bool rcxrun_accept_is_used(void);

/* --- rcxrun/cleanup.c --- */

/* Create the job's folder and start the watcher. Call it before any thread
 * exists. */
const char *rcxrun_cleanup_begin(int size);
void rcxrun_cleanup_add_rank(int rank, pid_t pid);
void rcxrun_cleanup_rank_ended(int rank);
/* Add a descendant of a rank that became a child of rcxrun when its parent
 * died. */
void rcxrun_cleanup_add_adopted(pid_t pid);
/* Kill descendants that outlived their ranks, except children that this process
 * had before the job. Remove the folder and shared memory. */
void rcxrun_cleanup_end(void);

#endif
