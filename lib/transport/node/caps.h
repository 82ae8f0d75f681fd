/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ranks of one node have to know of each other before they open the
 * network: UCX takes shared memory and cross-memory attach (cma.h) where it
 * finds them, and fails later where the kernel has not enough of the one, or
 * refuses the other. All ranks of a node judge by the same cards, so they come
 * to one verdict without another exchange.
 */
#ifndef RCX_TRANSPORT_NODE_CAPS_H
#define RCX_TRANSPORT_NODE_CAPS_H

#include <sched.h>

#include "core/iface/bootstrap.h"

/* What a rank tells the others. */
struct rcx_node_caps {
    char boot_id[64]; /* tells running kernels apart */
    uint64_t user_ns; /* inodes of namespaces */
    uint64_t pid_ns;
    uint64_t ipc_ns;
    uint64_t uid, gid;
    uint64_t is_dumpable;  /* others of its user may read its memory */
    uint64_t reads_memory; /* may use process_vm_readv at all */
    uint64_t shm_bytes;    /* free where UCX makes its files */
    cpu_set_t cpus;        /* that it may use */
};

/* What the cards of a node add up to. */
struct rcx_node {
    int rank; /* this one */
    struct rcx_node_caps card;
    bool is_known;      /* that these are all of them */
    int ranks;          /* that showed a card, this one included */
    int lowest;         /* of them */
    uint64_t shm_bytes; /* free for the one that sees least */
    cpu_set_t cpus;     /* that any may use */
    char refusal[128];  /* why the kernel would refuse CMA; "": it would not */
    /* the group of ranks that can map memory of each other: */
    bool cma_pays; /* it is not refused, and copies fast */
    int group_ranks;
    int group_index; /* of this rank, in the order of ranks */
    uint64_t group;  /* of its ranks: a sum of hashes */
};

/* Of this process; shm is the folder of shared memory files. */
void rcx_node_caps_read(struct rcx_node_caps *card, const char *shm);

/* The node of one rank, and one card more; NULL: that rank showed none. Cards
 * of other kernels are passed over. */
void rcx_node_begin(struct rcx_node *node, int rank,
                    const struct rcx_node_caps *card);
void rcx_node_add(struct rcx_node *node, int rank,
                  const struct rcx_node_caps *card);

/* More ranks than cores that they may use, all together. */
bool rcx_node_shares_cores(const struct rcx_node *node);

/* Whether CMA has to be off; refusal says why. */
bool rcx_node_refuses_cma(const struct rcx_node *node);

/* All of that, with the cards of the ranks that boot knows. Collective. */
rcx_status_t rcx_node_exchange_caps(struct rcx_node *node,
                                    struct rcx_boot *boot, const char *shm);

#endif
