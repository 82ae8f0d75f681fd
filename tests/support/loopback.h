/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loopback's address, for tests that listen and connect on this machine:
 * IPv4's, or that of IPv6 in a network namespace that has no other.
 */
#ifndef RCX_TESTS_SUPPORT_LOOPBACK_H
#define RCX_TESTS_SUPPORT_LOOPBACK_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

static inline bool has_ipv4_loopback(void)
{
    const struct sockaddr_in addr = {.sin_family = AF_INET,
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const bool bound =
        bind(fd, (const struct sockaddr *)&addr, sizeof addr) == 0;

    close(fd);
    return bound;
}

/* An address, the host of an address and port, an address with any port. */
#define LOOPBACK_IP (has_ipv4_loopback() ? "127.0.0.1" : "::1")
#define LOOPBACK_HOST (has_ipv4_loopback() ? "127.0.0.1" : "[::1]")
#define LOOPBACK_ANY_PORT (has_ipv4_loopback() ? "127.0.0.1:0" : "[::1]:0")

#endif
