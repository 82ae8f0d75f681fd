/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses, and sockets that are bound to them. Sends and receives nothing,
 * but for the resolver of the C library, which asks name servers.
 */
#include "bootstrap/socket_addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

static bool is_ipv4(const struct rcx_socket_addr *addr)
{
    return memcmp(addr->ip, mapped, sizeof mapped) == 0;
}

void rcx_socket_addrs_add(struct rcx_socket_addrs *addrs,
                          const struct rcx_socket_addr *addr)
{
    for (int i = 0; i < addrs->n; i++)
        if (memcmp(addrs->at[i].ip, addr->ip, sizeof addr->ip) == 0 &&
            addrs->at[i].port == addr->port)
            return;
    if (addrs->n < RCX_SOCKET_ADDRS)
        addrs->at[addrs->n++] = *addr;
}

socklen_t rcx_socket_addr_out(const struct rcx_socket_addr *addr,
                              struct sockaddr_storage *out)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6,
                               .sin6_port = htons(addr->port)};
    struct sockaddr_in four = {.sin_family = AF_INET,
                               .sin_port = htons(addr->port)};

    memset(out, 0, sizeof *out);
    if (is_ipv4(addr)) {
        memcpy(&four.sin_addr, addr->ip + sizeof mapped, 4);
        memcpy(out, &four, sizeof four);
        return sizeof four;
    }
    memcpy(&six.sin6_addr, addr->ip, sizeof addr->ip);
    memcpy(out, &six, sizeof six);
    return sizeof six;
}

bool rcx_socket_addr_in(const struct sockaddr *in,
                        struct rcx_socket_addr *addr_p)
{
    struct sockaddr_in6 six;
    struct sockaddr_in four;

    if (in->sa_family == AF_INET) {
        memcpy(&four, in, sizeof four);
        memcpy(addr_p->ip, mapped, sizeof mapped);
        memcpy(addr_p->ip + sizeof mapped, &four.sin_addr, 4);
        addr_p->port = ntohs(four.sin_port);
        return true;
    }
    if (in->sa_family != AF_INET6)
        return false;
    memcpy(&six, in, sizeof six);
    memcpy(addr_p->ip, &six.sin6_addr, sizeof addr_p->ip);
    addr_p->port = ntohs(six.sin6_port);
    return true;
}

/* ---- Texts --------------------------------------------------------------- */

void rcx_socket_ip_print(const struct rcx_socket_addr *addr, char *text,
                         size_t bytes)
{
    const bool four = is_ipv4(addr);
    char name[INET6_ADDRSTRLEN] = "?";

    inet_ntop(four ? AF_INET : AF_INET6, addr->ip + (four ? 12 : 0), name,
              sizeof name);
    snprintf(text, bytes, "%s", name);
}

void rcx_socket_addr_print(const struct rcx_socket_addr *addr, char *text,
                           size_t bytes)
{
    char name[INET6_ADDRSTRLEN];

    rcx_socket_ip_print(addr, name, sizeof name);
    snprintf(text, bytes, is_ipv4(addr) ? "%s:%u" : "[%s]:%u", name,
             (unsigned)addr->port);
}

bool rcx_socket_ip_parse(const char *text, struct rcx_socket_addr *addr)
{
    unsigned char four[4];

    if (inet_pton(AF_INET, text, four) == 1) {
        memcpy(addr->ip, mapped, sizeof mapped);
        memcpy(addr->ip + sizeof mapped, four, sizeof four);
        return true;
    }
    return inet_pton(AF_INET6, text, addr->ip) == 1;
}

bool rcx_socket_is_loopback(const struct rcx_socket_addr *addr)
{
    static const unsigned char six[RCX_SOCKET_IP_BYTES] = {[15] = 1};

    return is_ipv4(addr) ? addr->ip[12] == 127
                         : memcmp(addr->ip, six, sizeof six) == 0;
}

/* False: text is no decimal number of 16 bits. */
static bool parse_port(const char *text, uint16_t *port_p)
{
    unsigned port = 0;

    if (!*text || strlen(text) > 5)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        port = port * 10 + (unsigned)(*text - '0');
    }
    *port_p = (uint16_t)port;
    return port <= UINT16_MAX;
}

bool rcx_socket_split(const char *text, char host[RCX_SOCKET_TEXT],
                      uint16_t *port_p)
{
    const char *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;
    const char *name = text;

    if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
        name++;
        length -= 2;
    } else if (memchr(text, ':', length)) {
        return false; /* which part is the port? */
    }
    if (length >= RCX_SOCKET_TEXT)
        return false;
    memcpy(host, name, length);
    host[length] = '\0';
    return (!colon || length > 0) &&
           parse_port(colon ? colon + 1 : text, port_p);
}

bool rcx_socket_resolve(const char *host, const uint16_t ports[], int n_ports,
                        struct rcx_socket_addrs *addrs, char *why, size_t bytes)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    struct rcx_socket_addr addr;
    const int error = getaddrinfo(*host ? host : NULL, "0", &hints, &found);

    if (error != 0) {
        snprintf(why, bytes, "%s: %s", host,
                 error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
        return false;
    }
    for (const struct addrinfo *a = found; a; a = a->ai_next) {
        if (!rcx_socket_addr_in(a->ai_addr, &addr))
            continue;
        for (int i = 0; i < n_ports; i++) {
            addr.port = ports[i];
            rcx_socket_addrs_add(addrs, &addr);
        }
    }
    freeaddrinfo(found);
    return true;
}

/* ---- Sockets ------------------------------------------------------------- */

static void set_option(int fd, int level, int name, int value)
{
    setsockopt(fd, level, name, &value, sizeof value);
}

/* A connection may be idle as long as the job runs: probes keep it in the
 * tables of routers, and find a host that is gone. */
static int prepare(int fd)
{
    enum { IDLE_S = 60, INTERVAL_S = 10, PROBES = 6 };

    if (fd < 0)
        return fd;
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, INTERVAL_S);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
    return fd;
}

static int open_socket(int family)
{
    return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static int close_failed(int fd)
{
    const int error = errno;

    close(fd);
    errno = error;
    return -1;
}

static int listen_at(const struct sockaddr *name, socklen_t bytes)
{
    const int fd = open_socket(name->sa_family);

    if (fd < 0)
        return -1;
    set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (name->sa_family == AF_INET6) /* IPv4 as well, if it is :: */
        set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (bind(fd, name, bytes) != 0 || listen(fd, SOMAXCONN) != 0)
        return close_failed(fd);
    return fd;
}

int rcx_socket_listen(const struct rcx_socket_addr *addr, uint16_t port)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6,
                               .sin6_port = htons(port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd;

    if (addr) {
        struct rcx_socket_addr at = *addr;
        struct sockaddr_storage name;
        socklen_t bytes;

        at.port = port;
        bytes = rcx_socket_addr_out(&at, &name);
        return listen_at((struct sockaddr *)&name, bytes);
    }
    fd = listen_at((struct sockaddr *)&six, sizeof six);
    if (fd >= 0 || errno == EADDRINUSE || errno == EACCES)
        return fd;
    return listen_at((struct sockaddr *)&four, sizeof four); /* no IPv6 here */
}

uint16_t rcx_socket_port(int fd)
{
    struct sockaddr_storage name = {.ss_family = AF_UNSPEC};
    struct rcx_socket_addr addr = {.port = 0};
    socklen_t bytes = sizeof name;

    if (getsockname(fd, (struct sockaddr *)&name, &bytes) != 0 ||
        !rcx_socket_addr_in((struct sockaddr *)&name, &addr))
        return 0;
    return addr.port;
}

int rcx_socket_connect(const struct rcx_socket_addr *addr)
{
    struct sockaddr_storage name;
    const socklen_t bytes = rcx_socket_addr_out(addr, &name);
    const int fd = prepare(open_socket(name.ss_family));

    if (fd < 0)
        return -1;
    if (connect(fd, (struct sockaddr *)&name, bytes) != 0 &&
        errno != EINPROGRESS)
        return close_failed(fd);
    return fd;
}

int rcx_socket_accept(int listener)
{
    return prepare(accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
}
