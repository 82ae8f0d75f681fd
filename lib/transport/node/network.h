/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Network devices of this node that reach the other nodes. A device that is up
 * may have an address that means nothing to other nodes: docker0 has the same
 * one, 172.17.0.1, on each of them. Nodes exchange their addresses before they
 * open the network.
 */
#ifndef RCX_TRANSPORT_NODE_NETWORK_H
#define RCX_TRANSPORT_NODE_NETWORK_H

#include <net/if.h>

#include "core/iface/bootstrap.h"
#include "transport/node/caps.h"

enum { RCX_NETWORK_DEVICES = 8 };

/* The IPv4 addresses of a rank's host, in network byte order. */
struct rcx_network_record {
    uint64_t space; /* equal for ranks in one network namespace of one kernel */
    uint32_t n;
    uint32_t padding;
    uint32_t ips[RCX_NETWORK_DEVICES];
};

/* Find the local address of the route to ip. False: there is no route. */
typedef bool (*rcx_network_route_fn_t)(uint32_t ip, uint32_t *local_p);

struct rcx_network {
    struct rcx_network_record own;
    char names[RCX_NETWORK_DEVICES][IF_NAMESIZE];
    bool is_shared[RCX_NETWORK_DEVICES]; /* another node has this address */
    bool is_route[RCX_NETWORK_DEVICES];  /* a route to another node uses it */
    int lookups;                         /* of routes */
    uint64_t last_space;                 /* of the last record */
    rcx_network_route_fn_t route;
};

/* Read the devices of this host that are up, without loopback. */
void rcx_network_read(struct rcx_network *net);

/* Add the record of a rank; those of this rank's host are ignored. */
void rcx_network_add(struct rcx_network *net,
                     const struct rcx_network_record *record);

/*
 * Whether some devices reach other nodes and some do not. True: list has the
 * names of the first kind, separated by commas, and rest those of the second
 * kind, with their addresses.
 */
bool rcx_network_choose(const struct rcx_network *net, char *list,
                        size_t list_bytes, char *rest, size_t rest_bytes);

/* Read the devices and add the records of all ranks, unless they are known to
 * share one network, as node says. Collective. */
rcx_status_t rcx_network_exchange(struct rcx_network *net,
                                  struct rcx_boot *boot,
                                  const struct rcx_node *node);

#endif
