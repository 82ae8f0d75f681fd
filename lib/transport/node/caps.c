/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Node capabilities: reads this process's, and combines those of all ranks of
 * the node.
 */
#include "transport/node/caps.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/base/host.h"
#include "core/base/places.h"
#include "core/iface/bootstrap.h"
#include "core/iface/transport.h"
#include "transport/node/cma.h"

static uint64_t inode_of(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 ? s.st_ino : 0;
}

/* Like UCX: a file system without a limit reports none. */
static uint64_t free_bytes(const char *folder)
{
    struct statvfs s;

    return statvfs(folder, &s) == 0 ? (uint64_t)s.f_bavail * s.f_frsize : 0;
}

static uint64_t kernel_hash(void)
{
    char kernel[64];

    rcx_kernel_id(kernel, sizeof kernel);
    return rcx_hash_text(kernel);
}

void rcx_node_caps_read(struct rcx_node_caps *caps, const struct rcx_boot *boot,
                        const char *shm)
{
    *caps = (struct rcx_node_caps){
        .kernel = kernel_hash(),
        .node = rcx_boot_node(boot),
        .user_ns = inode_of("/proc/self/ns/user"),
        .pid_ns = inode_of("/proc/self/ns/pid"),
        .net_ns = inode_of("/proc/self/ns/net"),
        .uid = geteuid(),
        .gid = getegid(),
        .is_dumpable = prctl(PR_GET_DUMPABLE) == 1,
        .reads_memory = rcx_cma_works(),
        .shm_bytes = free_bytes(shm),
    };
    sched_getaffinity(0, sizeof caps->cpus, &caps->cpus);
}

/* Keep the first reason. */
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
                        const struct rcx_node_caps *caps)
{
    if (!caps->is_dumpable)
        refuse(node, "rank %d is not dumpable (PR_SET_DUMPABLE)", rank);
    if (!caps->reads_memory)
        refuse(node, "rank %d may not use process_vm_readv", rank);
}

/* An id has a meaning in its own user namespace only. */
static void check_together(struct rcx_node *node, int rank,
                           const struct rcx_node_caps *caps)
{
    const struct rcx_node_caps *mine = &node->caps;
    const char *differs = NULL;

    if (caps->user_ns != mine->user_ns)
        differs = "user namespaces";
    else if (caps->pid_ns != mine->pid_ns)
        differs = "process id namespaces";
    else if (caps->uid != mine->uid)
        differs = "users";
    else if (caps->gid != mine->gid)
        differs = "groups";
    if (differs)
        refuse(node, "ranks %d and %d have different %s", node->rank, rank,
               differs);
}

/* Of two ranks of a node. */
static bool can_map(const struct rcx_node_caps *a,
                    const struct rcx_node_caps *b)
{
    return a->user_ns == b->user_ns && a->pid_ns == b->pid_ns &&
           a->uid == b->uid;
}

static void join_group(struct rcx_node *node, int rank)
{
    node->group_ranks++;
    node->group_index += rank < node->rank;
    node->group += rcx_hash(0, (uint64_t)rank);
}

void rcx_node_begin(struct rcx_node *node, int rank,
                    const struct rcx_node_caps *caps,
                    struct rcx_machine *machine)
{
    *node = (struct rcx_node){.rank = rank,
                              .caps = *caps,
                              .is_known = true,
                              .has_all = true,
                              .is_one_network = true,
                              .lowest = rank,
                              .shm_bytes = UINT64_MAX,
                              .measured_by = -1,
                              .machine = machine};
}

/* Those of the lowest rank that has some. */
static void take_figures(struct rcx_node *node, int rank,
                         const struct rcx_node_figures *figures)
{
    if (figures->origin == RCX_FIGURES_NONE ||
        (node->measured_by >= 0 && node->measured_by < rank))
        return;
    node->measured_by = rank;
    node->machine->figures = *figures;
}

void rcx_node_add(struct rcx_node *node, int rank,
                  const struct rcx_node_caps *caps)
{
    if (!caps) {
        node->is_known = false;
        refuse(node, "rank %d did not report in time whether it allows it",
               rank);
        return;
    }
    node->seen++;
    node->is_one_network &=
        caps->kernel == node->caps.kernel && caps->net_ns == node->caps.net_ns;
    if (caps->kernel == node->caps.kernel) {
        node->tasks++;
        CPU_OR(&node->cpus, &node->cpus, &caps->cpus);
        take_figures(node, rank, &caps->figures);
    }
    if (caps->node != node->caps.node) {
        node->has_all = false;
        return;
    }
    node->ranks++;
    if (can_map(caps, &node->caps))
        join_group(node, rank);
    if (rank < node->lowest)
        node->lowest = rank;
    if (caps->shm_bytes < node->shm_bytes)
        node->shm_bytes = caps->shm_bytes;
    check_alone(node, rank, caps);
    check_together(node, rank, caps);
}

bool rcx_node_refuses_cma(const struct rcx_node *node)
{
    return node->refusal[0] && (node->ranks > 1 || !node->is_known);
}

/* caps may be unaligned. */
static void see(int rank, const void *bytes, void *node)
{
    struct rcx_node_caps caps;

    if (bytes)
        memcpy(&caps, bytes, sizeof caps);
    rcx_node_add(node, rank, bytes ? &caps : NULL);
}

void rcx_facts_set_cpus(struct rcx_decide_facts *f,
                        const struct rcx_cpu_levels *levels,
                        const cpu_set_t *cpus)
{
    const size_t cores = (size_t)CPU_COUNT(cpus);
    cpu_set_t near;

    CPU_AND(&near, cpus, &levels->cache);
    f->cores = cores > 0 ? cores : 1;
    f->near_cores = (size_t)CPU_COUNT(&near);
    f->is_near = rcx_place_of(levels, cpus).cache != 0;
}

struct rcx_decide_facts rcx_node_facts(const struct rcx_node *node)
{
    struct rcx_decide_facts facts = {.figures = node->machine->figures,
                                     .ranks = (size_t)node->group_ranks,
                                     .tasks = (size_t)node->tasks,
                                     .has_cma = !rcx_node_refuses_cma(node)};
    struct rcx_cpu_levels levels;

    rcx_cpu_levels_from_sys("/sys", rcx_cpus_lowest(&node->cpus), &levels);
    rcx_facts_set_cpus(&facts, &levels, &node->cpus);
    return facts;
}

/* Ranks of one process would measure several times, or differ. If the ranks of
 * a node are not known, the first one of the job measures for its node. */
static bool should_measure(const struct rcx_boot *boot)
{
    return !boot->one_process && boot->size > 1 &&
           (boot->local_ranks
                ? boot->local_size > 1 && boot->rank == rcx_boot_lowest(boot)
                : boot->rank == 0);
}

rcx_status_t rcx_node_exchange_caps(struct rcx_node *node,
                                    struct rcx_boot *boot, const char *shm,
                                    struct rcx_machine *machine)
{
    struct rcx_node_caps caps;
    rcx_status_t status;

    rcx_node_caps_read(&caps, boot, shm);
    if (should_measure(boot))
        rcx_figures_measure(&caps.figures);
    rcx_node_begin(node, boot->rank, &caps, machine);
    status = boot->ops->local_exchange(boot, &caps, sizeof caps, see, node);
    if (status != RCX_OK && status != RCX_ERR_UNSUPPORTED)
        return status;
    node->is_known = node->is_known && status == RCX_OK;
    node->has_all &= node->seen == boot->size || rcx_boot_is_one_node(boot);
    if (node->measured_by < 0) {
        rcx_figures_usual(&machine->figures);
        machine->figures.reason = RCX_FIGURES_UNWANTED;
    }
    node->cma_pays = node->ranks > 1 || !node->is_known;
    if (node->cma_pays) {
        const struct rcx_decide_facts facts = rcx_node_facts(node);

        node->cma_pays = rcx_decide_cma_pays(&facts);
    }
    return RCX_OK;
}
