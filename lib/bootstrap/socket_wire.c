/* SPDX-License-Identifier: BSD-3-Clause */
/* Codes of messages of the handshake. Sends nothing. */
#include "bootstrap/socket_wire.h"

#include <stddef.h>

/* Both ends have the same layout, which has no gaps. */
_Static_assert(sizeof(struct rcx_socket_banner) == 24 &&
                   sizeof(struct rcx_socket_place) == 112 &&
                   sizeof(struct rcx_socket_hello) == 168 &&
                   sizeof(struct rcx_socket_reply) == 400 &&
                   sizeof(struct rcx_socket_head) == 16,
               "a message of the handshake has gaps");

struct rcx_socket_key rcx_socket_code_of(const struct rcx_socket_key *key,
                                         const struct rcx_socket_key *nonce,
                                         const void *message, size_t bytes)
{
    const struct rcx_socket_key once =
        rcx_socket_mac(key, nonce, sizeof *nonce);

    return rcx_socket_mac(&once, message, bytes - sizeof once);
}
