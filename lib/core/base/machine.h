/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a message, a copy and a combine cost on a machine: between two cores,
 * between the groups of a level, and between nodes. Rules, prices, rcx_tune and
 * the simulated clock read the prices, and the settings of shared memory follow
 * from the figures of the node. Usual ones are here; a user's text replaces
 * prices, and a context measures those between nodes (api/network.h) and the
 * figures (transport/node/figures.h) when it opens.
 */
#ifndef RCX_CORE_BASE_MACHINE_H
#define RCX_CORE_BASE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/suggest.h"

/* From the coarsest. CORE: cores that several ranks are bound to. */
enum rcx_level {
    RCX_LEVEL_NODE,
    RCX_LEVEL_SOCKET,
    RCX_LEVEL_NUMA,
    RCX_LEVEL_CACHE,
    RCX_LEVEL_CORE
};
enum { RCX_LEVELS = RCX_LEVEL_CORE + 1 };

/* "node", "socket", "numa", "cache", "core"; NULL ends the list. */
extern const char *const rcx_level_names[];

/* Of two cores, in ns, or ns per byte. One core copies bytes to where the other
 * one copies them from, again and again. */
struct rcx_pair_figures {
    double line;  /* until a core sees what the other one has stored */
    double write; /* a byte, while all is in the cores' own caches */
    double read;
    double write_out; /* a byte, where all is twice as long as these caches */
    double read_out;
};

enum rcx_figures_origin {
    RCX_FIGURES_NONE,  /* of a rank that has not measured */
    RCX_FIGURES_USUAL, /* published figures: nothing could be measured */
    RCX_FIGURES_MEASURED
};

/* Why figures are not measured. */
enum rcx_figures_reason {
    RCX_FIGURES_GOOD,
    RCX_FIGURES_UNWANTED, /* there is nothing to decide by them */
    RCX_FIGURES_ONE_CORE, /* this process may use one core only */
    RCX_FIGURES_NO_THREAD,
    RCX_FIGURES_NO_MEMORY,
    RCX_FIGURES_LATE,       /* a thread did not run in time */
    RCX_FIGURES_IMPLAUSIBLE /* as other tasks use the cores */
};

/* What it costs to pass data between two cores of a node, to read it by the
 * kernel, and to let another thread have the core. Plain numbers: ranks send
 * them to each other. */
struct rcx_node_figures {
    uint32_t origin, reason;
    struct rcx_pair_figures near; /* cores of one cache */
    struct rcx_pair_figures far;  /* others; near, if there are none */
    double cma_call;              /* process_vm_readv: a call, and */
    double cma_byte;              /* a byte */
    double turn; /* until a thread that yields its core to another one has it
                    again, if that one yields at once */
    uint64_t own, shared; /* bytes of a core's own cache, and of the last one */
    uint32_t took_us;     /* to measure them */
    uint32_t far_is_near; /* no other pair of cores was measured */
};

/*
 * Prices are in seconds: alpha per message, beta per byte sent, gamma per byte
 * combined; tell per message that waits for no other one, and within a node
 * share per byte for each further reader of a copy. tell = 0: nothing is less,
 * as in the papers' model. Those of a level are added for a message between its
 * groups, and for each byte over the link of a group.
 *
 * Nodes have different figures, and so do two runs. No price depends on them,
 * so all ranks choose the same algorithms.
 */
struct rcx_machine {
    double alpha, beta, gamma, tell, share;
    struct rcx_link {
        double alpha, beta;
        double tell; /* alpha or more: as alpha */
    } link[RCX_LEVELS];
    struct rcx_node_figures figures; /* of this node; the last member */
};

/* Nodes of many cores, with TCP at 1 Gbit/s between them, the slowest usual
 * network. */
extern const struct rcx_machine rcx_machine_usual;

/* Hash of the prices: equal in all processes that have the same. */
uint64_t rcx_machine_hash(const struct rcx_machine *m);

/* Parse "NAME=TIME ...", at least one, separated by blanks or a comma, into *m,
 * which keeps what is not named. Overwrites text. False: it is not valid, and r
 * says why. */
bool rcx_machine_parse(char *text, struct rcx_machine *m,
                       struct rcx_refusal *r);

#endif
