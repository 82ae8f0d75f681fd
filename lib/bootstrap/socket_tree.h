/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tree of TCP connections between the ranks of a job. In a step over the tree
 * each rank gives a part and gets the parts of all. Positions are the order in
 * which ranks have connected to rank 0: the parent of position k is at
 * (k - 1) / RCX_SOCKET_FAN, so it has connected before.
 */
#ifndef RCX_BOOTSTRAP_SOCKET_TREE_H
#define RCX_BOOTSTRAP_SOCKET_TREE_H

#include "bootstrap/socket_server.h"
#include "bootstrap/socket_wire.h"
#include "core/base/heap.h"
#include "core/base/log.h"

/* A connection to the parent or to a child. */
struct rcx_socket_link {
    int fd;          /* -1: none */
    int rank;        /* of the other side; -1: not known yet */
    uint32_t events; /* for which it is in epoll */
    uint64_t token;  /* of a child's process */
    /* what is being received */
    struct rcx_socket_head head;
    size_t head_got;
    unsigned char *body;
    size_t body_got;
    /* in this step */
    bool has_given;    /* a child's part has arrived */
    bool has_answered; /* to a query */
    size_t sent;       /* bytes of the frame, head included */
};

/* Of rank 0: the processes that have come, by position. */
struct rcx_socket_arrival {
    uint64_t token;
    struct rcx_socket_place place;
};

struct rcx_socket_job;

struct rcx_socket_tree {
    struct rcx_heap *heap;
    const struct rcx_log *log;
    int rank;
    int size;
    int position;
    int64_t timeout_ns;               /* for the whole of opening; 0: none */
    uint64_t until_ns;                /* deadline of opening */
    struct rcx_start_wait *wait;      /* of opening; NULL: nothing warns */
    const struct rcx_socket_job *job; /* of rank 0: NULL: not known */
    int epoll;                        /* -1: none */
    struct rcx_socket_server server;
    struct rcx_socket_link parent; /* not of rank 0 */
    struct rcx_socket_link children[RCX_SOCKET_FAN];
    int n_children;
    struct rcx_socket_arrival *arrivals; /* of rank 0, while it opens */
    int *position_of;                    /* of rank 0: by rank; -1: none */
    int n_arrived;
    void (*all_are_here)(void *arg); /* of rank 0: called before it sends */
    void *arg;
    /* the step */
    uint32_t step; /* its number */
    bool is_in_step;
    struct rcx_socket_head head; /* of the frame up, and of that down */
    unsigned char *up;           /* the parts of this rank and those below */
    size_t up_bytes;
    unsigned char *all; /* the parts of all; rank 0: up */
    size_t all_got;
    bool is_all_known;               /* head is that of the frame down */
    uint64_t query_ns;               /* when children were queried; 0: not */
    uint64_t overdue_ns;             /* when rank 0 was notified; 0: not */
    int64_t overdue_of;              /* the deadline that passed */
    bool has_deadline;               /* it is a part of opening */
    struct rcx_socket_failure found; /* by a handshake; status 0: none */
    rcx_status_t failure;            /* RCX_OK: none */
    char why[RCX_SOCKET_TEXT];
};

void rcx_socket_tree_init(struct rcx_socket_tree *t, struct rcx_heap *heap,
                          const struct rcx_log *log, int rank, int size);
/* Take position, which decides how many children there are. */
void rcx_socket_tree_place(struct rcx_socket_tree *t, int position);

/* A connection to the parent, or of a child. */
void rcx_socket_link_open(struct rcx_socket_link *link, int fd, int rank,
                          uint64_t token);

/* The slot of the child at this position; NULL: it is no child. */
struct rcx_socket_link *rcx_socket_tree_slot(struct rcx_socket_tree *t,
                                             int position);

/* Work to do while a step waits. go_on NULL: none. */
struct rcx_socket_work {
    bool (*go_on)(void *arg);
    void *arg;
};

/*
 * Give a part and wait for the parts of all ranks, packed as by
 * rcx_parts_pack(), in any order. has_deadline: until tree->until_ns.
 * RCX_IN_PROGRESS: go_on returned false; call it again to continue. *all_p is
 * freed by the caller; NULL if all parts are empty. Other errors are logged,
 * and have been sent to other ranks.
 */
rcx_status_t rcx_socket_tree_step(struct rcx_socket_tree *t, const void *part,
                                  size_t bytes, bool has_deadline,
                                  const struct rcx_socket_work *work,
                                  unsigned char **all_p, size_t *all_bytes_p);

/* Set the failure of the start, log it and notify the neighbours. Returns the
 * first failure; a later one has no other effect. */
rcx_status_t rcx_socket_tree_fail(struct rcx_socket_tree *t,
                                  rcx_status_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Send a failure to the neighbours, without waiting. From any thread, also
 * during a step. */
void rcx_socket_tree_notify(const struct rcx_socket_tree *t,
                            rcx_status_t status, const char *text);

void rcx_socket_tree_close(struct rcx_socket_tree *t);

#endif
