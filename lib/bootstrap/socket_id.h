/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the processes of a job meet rank 0: an id that rcx_get_id() made, a
 * file, or a host and a port; and the listener of rank 0 for each of them.
 */
#ifndef RCX_BOOTSTRAP_SOCKET_ID_H
#define RCX_BOOTSTRAP_SOCKET_ID_H

#include <sys/types.h>

#include "bootstrap/socket_addr.h"
#include "bootstrap/socket_auth.h"
#include "core/iface/bootstrap.h"

enum {
    RCX_SOCKET_PORTS = 4,
    RCX_SOCKET_PATH = 1024,
    /* Length of the text of an id, with NUL. */
    RCX_SOCKET_ID_BYTES = sizeof(rcx_id_t)
};

enum rcx_socket_meeting {
    RCX_SOCKET_BY_ID,   /* rcx1:SECRET:PID.FD.MARK:PORT:ADDRESS,... */
    RCX_SOCKET_BY_FILE, /* file:/PATH or file:/PATH?SECRET */
    RCX_SOCKET_BY_HOST  /* HOST:PORT */
};

struct rcx_socket_root {
    enum rcx_socket_meeting by;
    bool has_key;
    struct rcx_socket_key key; /* the secret */
    /* by id: the addresses of rank 0, and its listener */
    struct rcx_socket_addrs addrs;
    pid_t pid;
    int fd;
    uint32_t mark; /* tells the listener from other sockets */
    /* by file */
    char path[RCX_SOCKET_PATH];
    /* by host */
    char host[RCX_SOCKET_TEXT];
    uint16_t ports[RCX_SOCKET_PORTS]; /* rank 0 has the first that is free */
    int n_ports;
};

/* Read any of the three forms. text may be anything. False: it is none. */
bool rcx_socket_root_parse(const char *text, struct rcx_socket_root *root);

/* Write the form of an id, with as many addresses as there is room for. */
void rcx_socket_root_print(const struct rcx_socket_root *root,
                           char text[RCX_SOCKET_ID_BYTES]);

/* The listener of an id that this process has made, and has not used or
 * inherited. -1: it is none. */
int rcx_socket_own_listener(const struct rcx_socket_root *root);

/* Listen for a job that meets by host, at the first free port of ports; only at
 * the address if host is one of this host's. -1: see errno. */
int rcx_socket_listen_by_host(const struct rcx_socket_root *root);

/* Listen at a free port, and set addrs and the numbers of the listener.
 * Errors are logged. */
rcx_status_t rcx_socket_listen_anywhere(const struct rcx_log *log,
                                        uint16_t port,
                                        struct rcx_socket_root *root);

/* Write the file, with mode 0600, in place of an existing one. False: see
 * errno. */
bool rcx_socket_file_write(const char *path,
                           const struct rcx_socket_root *root);

/* Read the id in the file. False: why has the reason. */
bool rcx_socket_file_read(const char *path, struct rcx_socket_root *root,
                          char *why, size_t bytes);

/* Remove the file if it contains this secret. */
void rcx_socket_file_remove(const char *path, const struct rcx_socket_key *key);

#endif
