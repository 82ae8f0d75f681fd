/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the network devices of this node that reach the other nodes: those
 * whose address no other node has, and over which a route to an address of
 * another node leads. Sends nothing, except through the bootstrap.
 */
#include "transport/node/network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/base/host.h"

/* Enough to find all devices; a lookup takes some microseconds. */
enum { LOOKUPS_MAX = 512 };

/* ---- This host ----------------------------------------------------------- */

/* Connecting a datagram socket sends nothing. */
static bool find_route(uint32_t ip, uint32_t *local_p)
{
    struct sockaddr_in name = {
        .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = ip};
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t bytes = sizeof name;
    bool good;

    if (fd < 0)
        return false;
    good = connect(fd, (struct sockaddr *)&name, sizeof name) == 0 &&
           getsockname(fd, (struct sockaddr *)&name, &bytes) == 0;
    close(fd);
    *local_p = name.sin_addr.s_addr;
    return good;
}

static bool is_known(const struct rcx_network *net, const char *name)
{
    for (uint32_t i = 0; i < net->own.n; i++)
        if (strcmp(net->names[i], name) == 0)
            return true;
    return false;
}

/* The first address of a device is the one that UCX uses. */
static void read_device(struct rcx_network *net, const struct ifaddrs *device)
{
    const unsigned up = IFF_UP | IFF_RUNNING;
    const uint32_t n = net->own.n;
    struct sockaddr_in name;

    if (!device->ifa_addr || device->ifa_addr->sa_family != AF_INET ||
        (device->ifa_flags & (up | IFF_LOOPBACK)) != up ||
        n == RCX_NETWORK_DEVICES || is_known(net, device->ifa_name))
        return;
    memcpy(&name, device->ifa_addr, sizeof name);
    snprintf(net->names[n], sizeof net->names[n], "%s", device->ifa_name);
    net->own.ips[n] = name.sin_addr.s_addr;
    net->own.n++;
}

void rcx_network_read(struct rcx_network *net)
{
    struct ifaddrs *all = NULL;
    char kernel[64];
    struct stat s;

    *net = (struct rcx_network){.route = find_route};
    rcx_kernel_id(kernel, sizeof kernel);
    net->own.space = rcx_hash_text(kernel);
    if (stat("/proc/self/ns/net", &s) == 0)
        net->own.space = rcx_hash(net->own.space, s.st_ino);
    if (getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next)
        read_device(net, i);
    freeifaddrs(all);
}

/* ---- Other hosts --------------------------------------------------------- */

/* The device with this address; -1: none. */
static int device_of(const struct rcx_network *net, uint32_t ip)
{
    for (uint32_t i = 0; i < net->own.n; i++)
        if (net->own.ips[i] == ip)
            return (int)i;
    return -1;
}

static void add_route(struct rcx_network *net, uint32_t ip)
{
    uint32_t local;
    int device;

    if (net->lookups == LOOKUPS_MAX)
        return;
    net->lookups++;
    device = net->route(ip, &local) ? device_of(net, local) : -1;
    if (device >= 0)
        net->is_route[device] = true;
}

void rcx_network_add(struct rcx_network *net,
                     const struct rcx_network_record *record)
{
    if (record->space == net->own.space || record->space == net->last_space)
        return;
    net->last_space = record->space;
    for (uint32_t i = 0; i < record->n && i < RCX_NETWORK_DEVICES; i++) {
        const int device = device_of(net, record->ips[i]);

        if (device >= 0)
            net->is_shared[device] = true;
        else
            add_route(net, record->ips[i]);
    }
}

static void append(char *text, size_t bytes, const char *word)
{
    const size_t used = strlen(text);

    snprintf(text + used, bytes - used, "%s%s", used ? "," : "", word);
}

bool rcx_network_choose(const struct rcx_network *net, char *list,
                        size_t list_bytes, char *rest, size_t rest_bytes)
{
    list[0] = rest[0] = '\0';
    for (uint32_t i = 0; i < net->own.n; i++) {
        char ip[INET_ADDRSTRLEN], word[IF_NAMESIZE + sizeof ip + 3];

        if (!net->is_shared[i] && net->is_route[i]) {
            append(list, list_bytes, net->names[i]);
            continue;
        }
        inet_ntop(AF_INET, &net->own.ips[i], ip, sizeof ip);
        snprintf(word, sizeof word, "%s (%s)", net->names[i], ip);
        append(rest, rest_bytes, word);
    }
    return list[0] && rest[0];
}

/* ---- Exchange ------------------------------------------------------------ */

/* record may be unaligned. */
static void see(int rank, const void *bytes, void *net)
{
    struct rcx_network_record record;

    (void)rank;
    if (!bytes)
        return;
    memcpy(&record, bytes, sizeof record);
    rcx_network_add(net, &record);
}

rcx_status_t rcx_network_exchange(struct rcx_network *net,
                                  struct rcx_boot *boot,
                                  const struct rcx_node *node)
{
    *net = (struct rcx_network){.route = find_route};
    if (rcx_boot_is_one_node(boot) || !boot->ops->exchange ||
        (node->is_known && node->seen == boot->size && node->is_one_network))
        return RCX_OK;
    rcx_network_read(net);
    return boot->ops->exchange(boot, &net->own, sizeof net->own, see, net);
}
