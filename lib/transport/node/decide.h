/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides the settings of shared memory that a user has not set, from the
 * figures of the node. A pure function: ranks with the same facts decide alike,
 * and a test can decide for any machine.
 */
#ifndef RCX_TRANSPORT_NODE_DECIDE_H
#define RCX_TRANSPORT_NODE_DECIDE_H

#include "core/iface/shm_settings.h"
#include "transport/node/figures.h"

struct rcx_decide_facts {
    struct rcx_node_figures figures;
    size_t ranks;      /* that have rings to each other */
    size_t cores;      /* that these and other ranks of the node may use */
    size_t near_cores; /* of these, that share the last cache of the lowest; 0:
                          not known */
    size_t tasks;      /* ranks of the node; more than cores: they share them */
    bool is_near;      /* all ranks run below one cache */
    bool has_cma;      /* the kernel may read all ranks' memory */
};

void rcx_decide(const struct rcx_decide_facts *facts,
                const struct rcx_shm_settings *set,
                struct rcx_shm_settings *settings_p);

/* Whether ranks search for the way of long messages while they run (way.h):
 * unless a user has set it, or ranks share cores, where a message also takes as
 * long as others run. */
bool rcx_decide_may_search(const struct rcx_decide_facts *facts,
                           const struct rcx_shm_settings *set);

/* Whether a message of the longest usual segment takes less time if the kernel
 * reads it than if it is copied twice. */
bool rcx_decide_cma_pays(const struct rcx_decide_facts *facts);

#endif
