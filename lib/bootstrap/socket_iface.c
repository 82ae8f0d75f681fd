/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The addresses by which other hosts may reach this one. An interface is chosen
 * by its state, and not by its name, unless RCX_SOCKET_IFNAME is set.
 */
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/socket_addr.h"

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
           rcx_socket_addr_in(i->ifa_addr, addr_p) && !is_link_local(addr_p);
}

/* The local address of the route to an address of the documentation's range,
 * which is the default route. Connecting a datagram socket sends nothing. */
static bool find_default(const char *far, struct rcx_socket_addr *addr_p)
{
    struct rcx_socket_addr there = {.port = 9};
    struct sockaddr_storage name;
    socklen_t bytes;
    bool good;
    int fd;

    if (!rcx_socket_ip_parse(far, &there))
        return false;
    bytes = rcx_socket_addr_out(&there, &name);
    fd = socket(name.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    good = connect(fd, (struct sockaddr *)&name, bytes) == 0;
    bytes = sizeof name;
    good = good && getsockname(fd, (struct sockaddr *)&name, &bytes) == 0 &&
           rcx_socket_addr_in((struct sockaddr *)&name, addr_p);
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
