/* SPDX-License-Identifier: BSD-3-Clause */
/* The nodes of ranks: rcx_comm_node_of() and rcx_comm_split_node() agree with
 * each other, and with what rcx_mem_alloc() shares. */
#include <stdlib.h>

#include "job.h"

/* The node of each rank of comm. Nodes are numbered by their lowest ranks. */
static void find_nodes(struct member *m, rcx_comm_t *comm, int node[])
{
    int count = 0;

    for (int i = 0; i < rcx_comm_size(comm); i++) {
        job_require(m, rcx_comm_node_of(comm, i, &node[i]), "comm_node_of");
        if (node[i] < 0 || node[i] > count)
            job_fail(m, "rank %d: node %d behind %d nodes", i, node[i], count);
        count += node[i] == count;
    }
}

/* All ranks find the same. */
static void compare_nodes(struct member *m, const int node[])
{
    int *least = malloc(2 * (size_t)m->size * sizeof *least);
    int *most = least + m->size;

    job_require(m,
                rcx_allreduce(node, least, (size_t)m->size, RCX_INT32, RCX_MIN,
                              m->comm),
                "allreduce");
    job_require(
        m,
        rcx_allreduce(node, most, (size_t)m->size, RCX_INT32, RCX_MAX, m->comm),
        "allreduce");
    for (int i = 0; i < m->size; i++)
        if (least[i] != node[i] || most[i] != node[i])
            job_fail(m, "rank %d: node %d here, %d to %d elsewhere", i, node[i],
                     least[i], most[i]);
    free(least);
}

/* A rank whose memory is mapped here shares the node. */
static void compare_memory(struct member *m, const int node[])
{
    void **peers = calloc((size_t)m->size, sizeof *peers), *memory;

    job_require(m, rcx_mem_alloc(m->comm, 64, &memory), "mem_alloc");
    job_require(m, rcx_mem_peers(m->comm, memory, peers), "mem_peers");
    for (int i = 0; i < m->size; i++)
        if (peers[i] && node[i] != node[m->rank])
            job_fail(m, "rank %d shares memory, and has node %d, not %d", i,
                     node[i], node[m->rank]);
    job_require(m, rcx_mem_free(m->comm, memory), "mem_free");
    free(peers);
}

/* Members of the new communicator, in reverse order, are those of the node. */
static void split(struct member *m, const int node[])
{
    int *all = malloc((size_t)m->size * sizeof *all), expected = 0, last = -1;
    rcx_comm_t *mine;

    job_require(m, rcx_comm_split_node(m->comm, -m->rank, &mine),
                "comm_split_node");
    for (int i = 0; i < m->size; i++)
        all[i] = i;
    job_require(m, rcx_comm_translate(m->comm, m->size, all, mine, all),
                "comm_translate");
    for (int i = m->size - 1; i >= 0; i--)
        if (node[i] == node[m->rank] && all[i] != expected++)
            job_fail(m, "rank %d is %d in the node's", i, all[i]);
        else if (node[i] != node[m->rank] && all[i] != RCX_UNDEFINED)
            job_fail(m, "rank %d is %d in another node's", i, all[i]);
    if (rcx_comm_size(mine) != expected)
        job_fail(m, "%d ranks, not %d", rcx_comm_size(mine), expected);
    job_require(m, rcx_comm_node_of(mine, expected - 1, &last), "comm_node_of");
    if (last != 0)
        job_fail(m, "one node has the number %d", last);
    job_require(m, rcx_barrier(mine), "barrier");
    job_require(m, rcx_comm_free(&mine), "comm_free");
    free(all);
}

void job_nodes(struct member *m)
{
    int *node = malloc((size_t)m->size * sizeof *node);

    find_nodes(m, m->comm, node);
    compare_nodes(m, node);
    compare_memory(m, node);
    split(m, node);
    free(node);
}
