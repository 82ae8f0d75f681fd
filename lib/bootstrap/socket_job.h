/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank, size, and where to meet rank 0, of the parameters of rcx_init() or of
 * the environment. */
#ifndef RCX_BOOTSTRAP_SOCKET_JOB_H
#define RCX_BOOTSTRAP_SOCKET_JOB_H

#include "bootstrap/socket_id.h"

struct rcx_socket_job {
    int rank;
    int size;
    struct rcx_socket_root root;
    char where[RCX_SOCKET_TEXT]; /* root, for messages; without its secret */
    /* by RCX_SECRET and variables of the launcher; used if the root has no
     * secret */
    struct rcx_socket_key key;
    struct rcx_socket_key name_key; /* of rcx_params_t.name */
    pid_t replaced_pid; /* rank 0: whose file it replaced; 0: there was none */
};

/* RCX_ERR_UNSUPPORTED, not logged: neither an id nor a root is given. Other
 * errors are logged. */
rcx_status_t rcx_socket_job_find(const struct rcx_boot_args *args,
                                 struct rcx_socket_job *job);

/* The secret of the job: that of its root, or by RCX_SECRET. */
const struct rcx_socket_key *
rcx_socket_job_secret(const struct rcx_socket_job *job);

/* The key of the handshakes of a job with this secret. */
struct rcx_socket_key rcx_socket_job_key(const struct rcx_socket_job *job,
                                         const struct rcx_socket_key *secret);

/* A line for each variable that is set, and what follows from them. */
void rcx_socket_job_describe(void (*line)(const char *name, const char *value,
                                          void *arg),
                             void *arg);

#endif
