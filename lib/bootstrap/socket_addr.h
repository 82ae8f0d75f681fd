/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses of TCP over IPv4 and IPv6: their texts, the addresses of this
 * host's interfaces, and sockets that listen or connect.
 */
#ifndef RCX_BOOTSTRAP_SOCKET_ADDR_H
#define RCX_BOOTSTRAP_SOCKET_ADDR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "core/base/log.h"
#include "core/base/start_wait.h"

enum {
    RCX_SOCKET_IP_BYTES = 16,
    RCX_SOCKET_ADDRS = 16,     /* addresses of a process that are tried */
    RCX_SOCKET_ADDR_TEXT = 64, /* of one address */
    RCX_SOCKET_TEXT = 256
};

/* An IPv4 address has the form of an IPv6 one, ::ffff:a.b.c.d. */
struct rcx_socket_addr {
    unsigned char ip[RCX_SOCKET_IP_BYTES];
    uint16_t port;
};

/* The addresses of one process. */
struct rcx_socket_addrs {
    int n;
    struct rcx_socket_addr at[RCX_SOCKET_ADDRS];
};

/* Add an address, unless it is in the list or the list is full. */
void rcx_socket_addrs_add(struct rcx_socket_addrs *addrs,
                          const struct rcx_socket_addr *addr);

/* Write "192.0.2.1" or "2001:db8::1". */
void rcx_socket_ip_print(const struct rcx_socket_addr *addr, char *text,
                         size_t bytes);
/* Write "192.0.2.1:5000" or "[2001:db8::1]:5000". */
void rcx_socket_addr_print(const struct rcx_socket_addr *addr, char *text,
                           size_t bytes);
/* Set the ip. False: text is no IP address. */
bool rcx_socket_ip_parse(const char *text, struct rcx_socket_addr *addr);
bool rcx_socket_is_loopback(const struct rcx_socket_addr *addr);

/* Split "host:port", "[v6]:port" or "port". host is "" if there is none.
 * False: text has another form. */
bool rcx_socket_split(const char *text, char host[RCX_SOCKET_TEXT],
                      uint16_t *port_p);

/*
 * Add the addresses of host with these ports. A name is looked up by the C
 * library, on a thread of its own, until until_ns (UINT64_MAX: without a
 * limit). wait: of the start; NULL: nothing warns. False: why has the reason.
 */
bool rcx_socket_resolve(const char *host, const uint16_t ports[], int n_ports,
                        uint64_t until_ns, struct rcx_start_wait *wait,
                        struct rcx_socket_addrs *addrs, char *why,
                        size_t bytes);

/*
 * The addresses of this host's interfaces that are up, that of the default
 * route first; loopback if there is no other. RCX_SOCKET_IFNAME restricts them
 * to the interfaces that it names. RCX_ERR_CONFIG, logged: none of these has an
 * address.
 */
rcx_status_t rcx_socket_interfaces(const struct rcx_log *log, uint16_t port,
                                   struct rcx_socket_addrs *addrs);

/* Whether RCX_SOCKET_IFNAME is set. */
bool rcx_socket_is_restricted(void);

/* Listen at addr, or if it is NULL at all addresses of this host, with port;
 * 0: any free one. Returns the descriptor; -1: see errno. */
int rcx_socket_listen(const struct rcx_socket_addr *addr, uint16_t port);
/* The port that a socket is bound to. */
uint16_t rcx_socket_port(int fd);
/* The addresses of both ends of a connection. False: see errno. */
bool rcx_socket_local_addr(int fd, struct rcx_socket_addr *addr_p);
bool rcx_socket_peer_addr(int fd, struct rcx_socket_addr *addr_p);

/* Begin to connect. Returns the descriptor; -1: see errno. */
int rcx_socket_connect(const struct rcx_socket_addr *addr);
/* The time until until_ns as poll() takes it: rounded up to milliseconds, -1
 * for UINT64_MAX. */
int rcx_socket_wait_ms(uint64_t until_ns);

/* Accept without waiting. Returns the descriptor; -1: see errno. */
int rcx_socket_accept(int listener);

#endif
