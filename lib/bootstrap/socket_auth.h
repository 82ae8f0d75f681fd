/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The secret of a job, and message authentication codes by it. Two processes
 * prove to each other that they know the secret without sending it.
 */
#ifndef RCX_BOOTSTRAP_SOCKET_AUTH_H
#define RCX_BOOTSTRAP_SOCKET_AUTH_H

#include <stdbool.h>
#include <stddef.h>

enum { RCX_SOCKET_KEY_BYTES = 16 };

struct rcx_socket_key {
    unsigned char bytes[RCX_SOCKET_KEY_BYTES];
};

/* SipHash-2-4 with 128 bits of output (Aumasson, Bernstein 2012). */
struct rcx_socket_key rcx_socket_mac(const struct rcx_socket_key *key,
                                     const void *data, size_t bytes);

/* Compute the code of a message of the handshake, whose last field it is. nonce
 * is the random number of the other side, so that a recorded message is of no
 * use. */
struct rcx_socket_key rcx_socket_code_of(const struct rcx_socket_key *key,
                                         const struct rcx_socket_key *nonce,
                                         const void *message, size_t bytes);

/* Compare two keys, in a time that does not depend on them. */
bool rcx_socket_same(const struct rcx_socket_key *a,
                     const struct rcx_socket_key *b);

/* Store random bits of the kernel. False: it has none. */
bool rcx_socket_random(void *data, size_t bytes);

#endif
