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

/* Takes the same time wherever they differ. */
bool rcx_socket_same(const struct rcx_socket_key *a,
                     const struct rcx_socket_key *b);

/* Fill with random bits of the kernel. False: there are none. */
bool rcx_socket_random(void *data, size_t bytes);

#endif
