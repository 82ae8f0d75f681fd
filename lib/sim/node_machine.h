/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The description of a node with many cores, for predictions: a tree of levels,
 * from a core to the whole node, and the lane by which ranks send to each
 * other. tools/tables has machines, and their syntax.
 */
#ifndef RCX_SIM_NODE_MACHINE_H
#define RCX_SIM_NODE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

enum {
    NODE_LEVELS = 8,
    NODE_NAME = 24,
    NODE_CORES_MAX = 1024,
    NODE_TEXT = 160,
    NODE_LINE = 64 /* bytes of a line */
};

/* Two cores are apart at the smallest level of which one group has both. Rates
 * are bytes a second, times are seconds. */
struct node_level {
    char name[NODE_NAME];
    size_t cores;   /* of a group */
    double latency; /* until a core sees a line that a core has written, if they
                       are apart at this level */
    double read;    /* at which a core reads from the caches of such a core */
    double in, out; /* between a group and the rest, in each direction; out of a
                       core: at which others read from its caches; INFINITY: no
                       limit */
    double inside;  /* of all transfers within a group that are apart at this
                      level, and from its cache; INFINITY: no limit */
    size_t cache;   /* bytes of the cache of a group; 0: none */
    double cache_read;  /* at which a core reads from that cache */
    double memory;      /* of the memory of a group; 0: none */
    double memory_read; /* at which a core reads from that memory */
};

struct node_machine {
    char name[NODE_NAME];
    int levels;       /* level 0 is a core */
    int cache_level;  /* of the cache that cores share */
    int memory_level; /* whose groups have memory */
    struct node_level level[NODE_LEVELS];
    double copy, combine; /* rates of a core at data in its own cache, in bytes
                             of the result */
    double send, recv;    /* time of a message in the software of either side */
    double line;    /* time of a line of data in the software of either side */
    double flag;    /* time to write a line that tells of a message */
    double gap;     /* between the reads of a line by two readers */
    size_t readers; /* of a line, at most; the next ones have another */
    size_t slot;    /* bytes of a message that travel with its flag */
    size_t chunk;   /* bytes after which the reader is told */
    size_t room;    /* bytes that a sender of copies is ahead, at most; a longer
                    message than a chunk also waits for its receive */
};

/* Read a machine from text, or from a file. False: why says what is wrong. */
bool node_machine_parse(struct node_machine *m, const char *text,
                        char why[NODE_TEXT]);
bool node_machine_read(struct node_machine *m, const char *path,
                       char why[NODE_TEXT]);

static inline int node_machine_cores(const struct node_machine *m)
{
    return (int)m->level[m->levels - 1].cores;
}

/* The group of a core at a level. */
static inline int node_group(const struct node_machine *m, int level, int core)
{
    return core / (int)m->level[level].cores;
}

static inline int node_groups(const struct node_machine *m, int level)
{
    return node_machine_cores(m) / (int)m->level[level].cores;
}

/* The level at which two cores are apart; 0: they are the same core. */
static inline int node_apart(const struct node_machine *m, int a, int b)
{
    int level = 0;

    while (node_group(m, level, a) != node_group(m, level, b))
        level++;
    return level;
}

enum node_placement {
    NODE_COMPACT, /* rank i on core i */
    NODE_SCATTER  /* dealt in turn to the groups of the highest level, within
                     each of them to those of the next, and so on */
};
/* Store the core of each rank. There are at least as many cores. */
void node_place(const struct node_machine *m, enum node_placement placement,
                int ranks, int core[]);

#endif
