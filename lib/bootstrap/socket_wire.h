/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages of a start. A connection begins with a handshake, by which both
 * sides prove that they know the secret of the job:
 *
 *     server   banner: a random number
 *     client   hello: rank, address, another random number; and a code of all
 *              of it and the banner by the secret
 *     server   reply: position and parent of the client; and a code
 *
 * The server closes a connection with a wrong code without a reply. After the
 * handshake both sides send frames: a head and a body.
 */
#ifndef RCX_BOOTSTRAP_SOCKET_WIRE_H
#define RCX_BOOTSTRAP_SOCKET_WIRE_H

#include "bootstrap/socket_addr.h"
#include "bootstrap/socket_auth.h"

enum {
    RCX_SOCKET_FAN = 8,       /* children of a rank in the tree */
    RCX_SOCKET_ADVERTISED = 4 /* addresses of a rank that others may try */
};

static const char rcx_socket_magic[8] = "RCXBOOT1";

struct rcx_socket_banner {
    char magic[sizeof rcx_socket_magic];
    struct rcx_socket_key nonce;
};

/* Where a rank listens. Numbers have the byte order of the hosts, which is the
 * same on all. */
struct rcx_socket_place {
    int32_t rank;
    int32_t pid;
    uint16_t port;
    uint16_t n_addrs;
    uint32_t padding;
    unsigned char ips[RCX_SOCKET_ADVERTISED][RCX_SOCKET_IP_BYTES];
    char host[32];
};

enum rcx_socket_purpose {
    RCX_SOCKET_JOIN = 1, /* to rank 0: asks for a position */
    RCX_SOCKET_ATTACH    /* to the parent */
};

struct rcx_socket_hello {
    uint32_t purpose;
    int32_t size;
    int32_t position; /* to the parent: in the tree */
    uint32_t padding;
    uint64_t token; /* random: tells the process from another with its rank */
    struct rcx_socket_place place; /* of the client */
    struct rcx_socket_key nonce;
    struct rcx_socket_key code;
};

enum rcx_socket_verdict {
    RCX_SOCKET_ATTACHED = 1, /* the server is the parent */
    RCX_SOCKET_REDIRECTED,   /* place is the parent's */
    RCX_SOCKET_REFUSED       /* the job has failed: status and text */
};

struct rcx_socket_reply {
    uint32_t verdict;
    int32_t position; /* of the client in the tree */
    int32_t status;
    int32_t rank; /* of the server */
    struct rcx_socket_place place;
    char text[RCX_SOCKET_TEXT];
    struct rcx_socket_key code;
};

/* ---- Frames -------------------------------------------------------------- */

enum rcx_socket_frame_kind {
    RCX_SOCKET_GATHER = 1, /* up: the parts of a subtree */
    RCX_SOCKET_ALL,        /* down: the parts of all ranks */
    RCX_SOCKET_QUERY,      /* down: asks for HERE */
    RCX_SOCKET_HERE,       /* this rank waits for others; answers QUERY and
                              OVERDUE */
    RCX_SOCKET_OVERDUE,    /* up: a deadline has passed; a struct absent */
    RCX_SOCKET_FAILED      /* up and down: a struct failure ends the start */
};

struct rcx_socket_head {
    uint32_t kind;
    uint32_t step;  /* number of the exchange or barrier */
    uint64_t bytes; /* of the body */
};

struct rcx_socket_absent {
    int32_t position; /* of a rank that has not come to its parent; -1: none */
    int32_t padding;
    int64_t timeout_ns; /* that has passed */
};

struct rcx_socket_failure {
    int32_t status;
    char text[RCX_SOCKET_TEXT];
};

/* Both ends have the same layout, without gaps. */
_Static_assert(sizeof(struct rcx_socket_banner) == 24 &&
                   sizeof(struct rcx_socket_place) == 112 &&
                   sizeof(struct rcx_socket_hello) == 168 &&
                   sizeof(struct rcx_socket_reply) == 400 &&
                   sizeof(struct rcx_socket_head) == 16,
               "a message of the handshake has gaps");

#endif
