/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures of a node: what it costs to pass data between two of its cores, to
 * read it by the kernel, and to let another thread have the core. One rank of
 * the node measures them when a context opens, and its record of the local
 * exchange has them, so all ranks of the node decide by the same figures. They
 * are plain numbers: a test can make a machine of them.
 */
#ifndef RCX_TRANSPORT_NODE_FIGURES_H
#define RCX_TRANSPORT_NODE_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

static inline double rcx_larger(double a, double b)
{
    return a > b ? a : b;
}

/* Figures of common machines, published and measured elsewhere, and the sizes
 * of this machine's caches. */
void rcx_figures_usual(struct rcx_node_figures *f);

/* Measure, in 3 ms at most; figures that cannot be measured are the usual ones.
 * Uses a thread and the cores that this process may use, also those beside the
 * ones that it is bound to. The caller's binding is as before. */
void rcx_figures_measure(struct rcx_node_figures *f);

/* Replace implausible figures by the usual ones. Two figures that contradict
 * each other are made equal. */
void rcx_figures_check(struct rcx_node_figures *f);

/* "measured in 0.6 ms", or the reason why not. */
const char *rcx_figures_origin(const struct rcx_node_figures *f, char *text,
                               size_t bytes);
/* The figures, as a line for the log. */
const char *rcx_figures_print(const struct rcx_node_figures *f, char *text,
                              size_t bytes);

#endif
