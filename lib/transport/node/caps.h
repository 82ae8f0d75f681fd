/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Capabilities that the ranks of a node exchange before they open the network.
 * UCX uses shared memory and cross-memory attach (cma.h) where it finds them,
 * and fails later if the kernel has too little of the one or refuses the other.
 * All ranks of a node judge by the same capabilities, so they decide alike.
 */
#ifndef RCX_TRANSPORT_NODE_CAPS_H
#define RCX_TRANSPORT_NODE_CAPS_H

#include <sched.h>

#include "core/base/places.h"
#include "core/iface/bootstrap.h"
#include "transport/node/decide.h"
#include "transport/node/figures.h"

/* What a rank tells the others. */
struct rcx_node_caps {
    uint64_t kernel;  /* hash of rcx_kernel_id() */
    uint64_t node;    /* rcx_boot_node() */
    uint64_t user_ns; /* inodes of namespaces */
    uint64_t pid_ns;
    uint64_t net_ns;
    uint64_t uid, gid;
    uint64_t is_dumpable;  /* other processes of its user may read its memory */
    uint64_t reads_memory; /* it may use process_vm_readv */
    uint64_t shm_bytes;    /* free where UCX creates its files */
    cpu_set_t cpus;        /* that it may run on */
    struct rcx_node_figures figures; /* of one rank of the node */
};

/* The combined capabilities of a node. */
struct rcx_node {
    int rank; /* this rank */
    struct rcx_node_caps caps;
    bool is_known;       /* ranks are all ranks of the node */
    bool has_all;        /* no rank of the job is known to be elsewhere */
    int seen;            /* ranks that were added, also of other nodes */
    bool is_one_network; /* these share one network namespace */
    int tasks;           /* those on this kernel: they share its cores */
    cpu_set_t cpus;      /* where any of these may run */
    int ranks;           /* those on this node, this one included */
    int lowest;          /* the lowest of them */
    uint64_t shm_bytes;  /* minimum over them */
    char refusal[128];   /* why CMA would fail; "": it would not */
    int measured_by;     /* rank that the figures are from; -1: none */
    struct rcx_machine *machine; /* with the figures of the node */
    bool cma_pays;               /* CMA works and is faster than copying */
    /* of the ranks that can map each other's memory: */
    int group_ranks;
    int group_index; /* of this rank, in the order of ranks */
    uint64_t group;  /* sum of the hashes of its ranks */
};

/* Read those of this process, a rank of boot. shm: the folder of shared memory
 * files. */
void rcx_node_caps_read(struct rcx_node_caps *caps, const struct rcx_boot *boot,
                        const char *shm);

/* Begin with one rank, and add another, which may set the figures of machine.
 * caps: NULL if that rank has sent none. Only tasks and cpus count ranks of
 * another node, on this kernel. */
void rcx_node_begin(struct rcx_node *node, int rank,
                    const struct rcx_node_caps *caps,
                    struct rcx_machine *machine);
void rcx_node_add(struct rcx_node *node, int rank,
                  const struct rcx_node_caps *caps);

/* Whether CMA must not be used; refusal gives the reason. */
bool rcx_node_refuses_cma(const struct rcx_node *node);

/* What settings of shared memory are decided by; equal on all ranks of the
 * group. */
struct rcx_decide_facts rcx_node_facts(const struct rcx_node *node);
/* Set what facts depend on cpus: those of the node's ranks, and the levels of
 * the lowest one. */
void rcx_facts_set_cpus(struct rcx_decide_facts *facts,
                        const struct rcx_cpu_levels *levels,
                        const cpu_set_t *cpus);

/* All of the above, for the ranks that boot knows. The lowest one measures the
 * figures before. Collective. */
rcx_status_t rcx_node_exchange_caps(struct rcx_node *node,
                                    struct rcx_boot *boot, const char *shm,
                                    struct rcx_machine *machine);

#endif
