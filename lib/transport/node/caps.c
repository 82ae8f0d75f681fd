/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/node/caps.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/iface/bootstrap.h"
#include "core/iface/peer.h"
#include "core/iface/transport.h"
#include "transport/node/cma.h"

static uint64_t inode_of(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 ? s.st_ino : 0;
}

/* A file system without a limit says that there are none; so does UCX then. */
static uint64_t free_bytes(const char *folder)
{
    struct statvfs s;

    return statvfs(folder, &s) == 0 ? (uint64_t)s.f_bavail * s.f_frsize : 0;
}

void rcx_node_caps_read(struct rcx_node_caps *card, const char *shm)
{
    *card = (struct rcx_node_caps){
        .user_ns = inode_of("/proc/self/ns/user"),
        .pid_ns = inode_of("/proc/self/ns/pid"),
        .ipc_ns = inode_of("/proc/self/ns/ipc"),
        .uid = geteuid(),
        .gid = getegid(),
        .is_dumpable = prctl(PR_GET_DUMPABLE) == 1,
        .reads_memory = rcx_cma_works(),
        .shm_bytes = free_bytes(shm),
    };
    sched_getaffinity(0, sizeof card->cpus, &card->cpus);
    rcx_kernel_id(card->boot_id, sizeof card->boot_id);
}

/* The first reason stays. */
__attribute__((format(printf, 2, 3))) static void
refuse(struct rcx_node *node, const char *format, ...)
{
    va_list args;

    if (node->refusal[0])
        return;
    va_start(args, format);
    vsnprintf(node->refusal, sizeof node->refusal, format, args);
    va_end(args);
}

static void check_alone(struct rcx_node *node, int rank,
                        const struct rcx_node_caps *card)
{
    if (!card->is_dumpable)
        refuse(node, "rank %d is not dumpable (PR_SET_DUMPABLE)", rank);
    if (!card->reads_memory)
        refuse(node, "rank %d may not use process_vm_readv", rank);
}

/* An id means something in its own user namespace only. */
static void check_together(struct rcx_node *node, int rank,
                           const struct rcx_node_caps *card)
{
    const struct rcx_node_caps *mine = &node->card;
    const char *differs = NULL;

    if (card->user_ns != mine->user_ns)
        differs = "user namespaces";
    else if (card->pid_ns != mine->pid_ns)
        differs = "process id namespaces";
    else if (card->uid != mine->uid)
        differs = "users";
    else if (card->gid != mine->gid)
        differs = "groups";
    if (differs)
        refuse(node, "ranks %d and %d are of different %s", node->rank, rank,
               differs);
}

static bool can_map(const struct rcx_node_caps *a,
                    const struct rcx_node_caps *b)
{
    return a->user_ns == b->user_ns && a->pid_ns == b->pid_ns &&
           a->ipc_ns == b->ipc_ns && a->uid == b->uid;
}

static void join_group(struct rcx_node *node, int rank)
{
    node->group_ranks++;
    node->group_index += rank < node->rank;
    node->group += rcx_hash(0, (uint64_t)rank);
}

void rcx_node_begin(struct rcx_node *node, int rank,
                    const struct rcx_node_caps *card)
{
    *node = (struct rcx_node){.rank = rank,
                              .card = *card,
                              .is_known = true,
                              .lowest = rank,
                              .shm_bytes = UINT64_MAX};
}

void rcx_node_add(struct rcx_node *node, int rank,
                  const struct rcx_node_caps *card)
{
    if (!card) {
        node->is_known = false;
        refuse(node, "rank %d has not said in time whether it allows it", rank);
        return;
    }
    if (strncmp(card->boot_id, node->card.boot_id, sizeof card->boot_id) != 0)
        return;
    node->ranks++;
    if (can_map(card, &node->card))
        join_group(node, rank);
    if (rank < node->lowest)
        node->lowest = rank;
    if (card->shm_bytes < node->shm_bytes)
        node->shm_bytes = card->shm_bytes;
    CPU_OR(&node->cpus, &node->cpus, &card->cpus);
    check_alone(node, rank, card);
    check_together(node, rank, card);
}

bool rcx_node_shares_cores(const struct rcx_node *node)
{
    return node->ranks > CPU_COUNT(&node->cpus);
}

bool rcx_node_refuses_cma(const struct rcx_node *node)
{
    return node->refusal[0] && (node->ranks > 1 || !node->is_known);
}

/* The card may lie at any address. */
static void see(int rank, const void *bytes, void *node)
{
    struct rcx_node_caps card;

    if (bytes)
        memcpy(&card, bytes, sizeof card);
    rcx_node_add(node, rank, bytes ? &card : NULL);
}

rcx_status_t rcx_node_exchange_caps(struct rcx_node *node,
                                    struct rcx_boot *boot, const char *shm)
{
    struct rcx_node_caps card;
    rcx_status_t status;

    rcx_node_caps_read(&card, shm);
    rcx_node_begin(node, boot->rank, &card);
    status = boot->ops->local_exchange(boot, &card, sizeof card, see, node);
    if (status != RCX_ERR_UNSUPPORTED)
        return status;
    node->is_known = false;
    return RCX_OK;
}
