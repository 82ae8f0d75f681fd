/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses, the interfaces of this host that have them, and sockets that are
 * bound to them. Sends and receives nothing, except that the C library asks
 * name servers.
 */
#include "bootstrap/socket_addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"

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

static socklen_t addr_out(const struct rcx_socket_addr *addr,
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

/* False: the address is neither IPv4 nor IPv6. */
static bool addr_in(const struct sockaddr *in, struct rcx_socket_addr *addr_p)
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

/* ---- Names --------------------------------------------------------------- */

int rcx_socket_wait_ms(uint64_t until_ns)
{
    const uint64_t now = rcx_now_ns();

    if (until_ns == UINT64_MAX)
        return -1;
    if (until_ns <= now)
        return 0;
    return until_ns - now > UINT64_C(1000000) * INT_MAX
               ? INT_MAX
               : (int)((until_ns - now + 999999) / 1000000);
}

/*
 * What the thread of a lookup receives and returns, as a message over a pair of
 * sockets. The thread shares no memory with its caller, which may have returned
 * long before getaddrinfo() does.
 */
struct lookup {
    char host[RCX_SOCKET_TEXT];
    struct rcx_socket_addrs found;
    char why[RCX_SOCKET_TEXT]; /* "": found */
};

static void look_up(struct lookup *l)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    struct rcx_socket_addr addr;
    const int error = getaddrinfo(l->host, "0", &hints, &found);

    if (error != 0) {
        snprintf(l->why, sizeof l->why, "%s",
                 error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
        return;
    }
    for (const struct addrinfo *a = found; a; a = a->ai_next)
        if (addr_in(a->ai_addr, &addr))
            rcx_socket_addrs_add(&l->found, &addr);
    freeaddrinfo(found);
}

static void *run_lookup(void *arg)
{
    const int fd = (int)(intptr_t)arg;
    struct lookup l;

    if (recv(fd, &l, sizeof l, 0) == (ssize_t)sizeof l) {
        look_up(&l);
        send(fd, &l, sizeof l, MSG_NOSIGNAL);
    }
    close(fd);
    return NULL;
}

/* Start a thread that takes over fd. It blocks all signals except those of its
 * own faults. Returns 0 or an error number. */
static int start_lookup(int fd, pthread_t *thread_p)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    sigset_t all, before;
    int error;

    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread_p, NULL, run_lookup, (void *)(intptr_t)fd);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static bool receive_lookup(int fd, uint64_t until_ns,
                           struct rcx_start_wait *wait, struct lookup *l)
{
    struct pollfd at = {.fd = fd, .events = POLLIN};
    const uint64_t begin = rcx_now_ns();
    int n;

    do {
        uint64_t next = rcx_start_wait_next_of(wait, begin);

        if (rcx_now_ns() >= next) {
            rcx_start_wait_warn(
                wait, "the name service does not answer for %.100s", l->host);
            next = rcx_start_wait_next(wait);
        }
        n = poll(&at, 1, rcx_socket_wait_ms(next < until_ns ? next : until_ns));
    } while (n == 0 ? rcx_now_ns() < until_ns : n < 0 && errno == EINTR);
    return n > 0 && recv(fd, l, sizeof *l, 0) == (ssize_t)sizeof *l;
}

/* Set l->found or l->why. */
static void look_up_until(struct lookup *l, uint64_t until_ns,
                          struct rcx_start_wait *wait)
{
    pthread_t thread;
    int ends[2], error;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        snprintf(l->why, sizeof l->why, "socketpair: %s", strerror(errno));
        return;
    }
    error = send(ends[0], l, sizeof *l, MSG_NOSIGNAL) < 0
                ? errno
                : start_lookup(ends[1], &thread);
    if (error != 0) {
        snprintf(l->why, sizeof l->why, "no thread to look it up: %s",
                 strerror(error));
        close(ends[1]);
    } else if (receive_lookup(ends[0], until_ns, wait, l)) {
        pthread_join(thread, NULL);
    } else {
        snprintf(l->why, sizeof l->why, "the name service did not answer");
        pthread_detach(thread);
    }
    close(ends[0]);
}

bool rcx_socket_resolve(const char *host, const uint16_t ports[], int n_ports,
                        uint64_t until_ns, struct rcx_start_wait *wait,
                        struct rcx_socket_addrs *addrs, char *why, size_t bytes)
{
    struct lookup l = {.found.n = 1};

    snprintf(l.host, sizeof l.host, "%s", host);
    if (!rcx_socket_ip_parse(host, &l.found.at[0])) {
        l.found.n = 0;
        look_up_until(&l, until_ns, wait);
    }
    if (l.why[0])
        snprintf(why, bytes, "%.100s: %.120s", host, l.why);
    for (int i = 0; i < l.found.n && !l.why[0]; i++) {
        for (int k = 0; k < n_ports; k++) {
            l.found.at[i].port = ports[k];
            rcx_socket_addrs_add(addrs, &l.found.at[i]);
        }
    }
    return !l.why[0];
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
        bytes = addr_out(&at, &name);
        return listen_at((struct sockaddr *)&name, bytes);
    }
    fd = listen_at((struct sockaddr *)&six, sizeof six);
    if (fd >= 0 || errno == EADDRINUSE || errno == EACCES)
        return fd;
    return listen_at((struct sockaddr *)&four, sizeof four); /* no IPv6 here */
}

bool rcx_socket_local_addr(int fd, struct rcx_socket_addr *addr_p)
{
    struct sockaddr_storage name = {.ss_family = AF_UNSPEC};
    socklen_t bytes = sizeof name;

    return getsockname(fd, (struct sockaddr *)&name, &bytes) == 0 &&
           addr_in((struct sockaddr *)&name, addr_p);
}

bool rcx_socket_peer_addr(int fd, struct rcx_socket_addr *addr_p)
{
    struct sockaddr_storage name = {.ss_family = AF_UNSPEC};
    socklen_t bytes = sizeof name;

    return getpeername(fd, (struct sockaddr *)&name, &bytes) == 0 &&
           addr_in((struct sockaddr *)&name, addr_p);
}

uint16_t rcx_socket_port(int fd)
{
    struct rcx_socket_addr addr;

    return rcx_socket_local_addr(fd, &addr) ? addr.port : 0;
}

int rcx_socket_connect(const struct rcx_socket_addr *addr)
{
    struct sockaddr_storage name;
    const socklen_t bytes = addr_out(addr, &name);
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

/* ---- Interfaces of this host --------------------------------------------- */

static const char *wanted_names(void)
{
    const char *names = getenv("RCX_SOCKET_IFNAME");

    return names && *names && strcmp(names, "none") != 0 ? names : NULL;
}

bool rcx_socket_is_restricted(void)
{
    return wanted_names() != NULL;
}

/* Whether name is one of names, which commas separate; NULL: all names. */
static bool is_wanted(const char *name, const char *names)
{
    const size_t length = strlen(name);

    if (!names)
        return true;
    for (;; names++) {
        const size_t word = strcspn(names, ",");

        if (word == length && memcmp(names, name, length) == 0)
            return true;
        names += word;
        if (!*names)
            return false;
    }
}

static bool is_link_local(const struct rcx_socket_addr *addr)
{
    return addr->ip[0] == 0xfe && (addr->ip[1] & 0xc0) == 0x80;
}

/* Whether other processes may connect to the interface's address. */
static bool is_usable(const struct ifaddrs *i, struct rcx_socket_addr *addr_p)
{
    const unsigned up = IFF_UP | IFF_RUNNING;

    return i->ifa_addr && (i->ifa_flags & up) == up &&
           addr_in(i->ifa_addr, addr_p) && !is_link_local(addr_p);
}

/* Find the local address of the default route: that of the route to an address
 * that is reserved for documentation. Connecting a datagram socket sends
 * nothing. */
static bool find_default(const char *far, struct rcx_socket_addr *addr_p)
{
    struct rcx_socket_addr there = {.port = 9};
    struct sockaddr_storage name;
    socklen_t bytes;
    bool good;
    int fd;

    if (!rcx_socket_ip_parse(far, &there))
        return false;
    bytes = addr_out(&there, &name);
    fd = socket(name.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    good = connect(fd, (struct sockaddr *)&name, bytes) == 0 &&
           rcx_socket_local_addr(fd, addr_p);
    close(fd);
    return good;
}

/* Move the address of the default route to the front. */
static void put_default_first(struct rcx_socket_addrs *addrs)
{
    struct rcx_socket_addr first;

    if (!find_default("198.51.100.1", &first) &&
        !find_default("2001:db8::1", &first))
        return;
    for (int i = 0; i < addrs->n; i++) {
        if (memcmp(addrs->at[i].ip, first.ip, sizeof first.ip) != 0)
            continue;
        first = addrs->at[i];
        memmove(addrs->at + 1, addrs->at, (size_t)i * sizeof *addrs->at);
        addrs->at[0] = first;
    }
}

/* Add the addresses of one family. */
static void add_usable(const struct ifaddrs *all, int family, bool loopback,
                       uint16_t port, struct rcx_socket_addrs *addrs)
{
    const char *names = wanted_names();
    struct rcx_socket_addr addr;

    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        if (!is_usable(i, &addr) || i->ifa_addr->sa_family != family ||
            !is_wanted(i->ifa_name, names) ||
            (!names && rcx_socket_is_loopback(&addr) != loopback))
            continue;
        addr.port = port;
        rcx_socket_addrs_add(addrs, &addr);
    }
}

static void list_names(const struct ifaddrs *all, char *text, size_t bytes)
{
    struct rcx_socket_addr addr;
    size_t used = 0;

    text[0] = '\0';
    for (const struct ifaddrs *i = all; i && used < bytes; i = i->ifa_next)
        if (is_usable(i, &addr) && !strstr(text, i->ifa_name))
            used += (size_t)snprintf(text + used, bytes - used, "%s%s",
                                     used ? ", " : "", i->ifa_name);
}

rcx_status_t rcx_socket_interfaces(const struct rcx_log *log, uint16_t port,
                                   struct rcx_socket_addrs *addrs)
{
    struct ifaddrs *all = NULL;
    char names[RCX_SOCKET_TEXT];

    addrs->n = 0;
    if (getifaddrs(&all) != 0)
        all = NULL;
    add_usable(all, AF_INET, false, port, addrs);
    add_usable(all, AF_INET6, false, port, addrs);
    put_default_first(addrs);
    if (addrs->n == 0 && !wanted_names()) {
        add_usable(all, AF_INET, true, port, addrs);
        add_usable(all, AF_INET6, true, port, addrs);
    }
    list_names(all, names, sizeof names);
    if (all)
        freeifaddrs(all);
    if (addrs->n > 0)
        return RCX_OK;
    if (wanted_names())
        return rcx_fail(log, RCX_ERR_CONFIG,
                        "RCX_SOCKET_IFNAME=%s: no such interface is up and has "
                        "an address; those that do are %s",
                        wanted_names(), names);
    return rcx_fail(log, RCX_ERR_LAUNCH, "no interface of this host is up");
}
