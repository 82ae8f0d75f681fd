/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All algorithms of RCX, each in the file of its name. Among the algorithms of
 * one collective, better general-purpose ones come first: among equals, the
 * first is chosen. These have the same price, and for a call also the same
 * scratch and messages (see core/sched/tie.c). What is OPTIONAL is in librcx
 * only with -Dalgorithms=all: neither rules nor prices choose it. The
 * simulator always has it.
 */
#ifndef RCX_ALGO_ALGORITHMS_H
#define RCX_ALGO_ALGORITHMS_H

#include "core/sched/algo.h"

#define RCX_ALGORITHMS(X, OPTIONAL)                                            \
    X(rcx_allreduce_recursive_doubling)                                        \
    X(rcx_allreduce_ring)                                                      \
    X(rcx_allreduce_tree)                                                      \
    X(rcx_allreduce_direct)                                                    \
    X(rcx_allreduce_pairwise)                                                  \
    X(rcx_allreduce_allgather_reduce)                                          \
    X(rcx_allreduce_rabenseifner)                                              \
    X(rcx_allreduce_binary_blocks)                                             \
    X(rcx_allreduce_recursive_multiplying)                                     \
    X(rcx_allreduce_generalized)                                               \
    X(rcx_allreduce_hybrid)                                                    \
    X(rcx_allreduce_elimination)                                               \
    X(rcx_allreduce_small_ring)                                                \
    X(rcx_allreduce_factorized)                                                \
    X(rcx_allreduce_ordered_dissemination)                                     \
    X(rcx_allreduce_circulant)                                                 \
    OPTIONAL(rcx_allreduce_swing)                                              \
    X(rcx_allreduce_hierarchical)                                              \
    X(rcx_allreduce_multi_object)                                              \
    X(rcx_reduce_binomial)                                                     \
    X(rcx_reduce_pairwise)                                                     \
    X(rcx_reduce_ring)                                                         \
    X(rcx_reduce_tree)                                                         \
    X(rcx_reduce_circulant)                                                    \
    X(rcx_reduce_rabenseifner)                                                 \
    X(rcx_reduce_binary_blocks)                                                \
    X(rcx_reduce_factorized)                                                   \
    X(rcx_reduce_hierarchical)                                                 \
    X(rcx_reduce_scatter_pairwise)                                             \
    X(rcx_reduce_scatter_ring)                                                 \
    X(rcx_reduce_scatter_recursive_halving)                                    \
    X(rcx_reduce_scatter_butterfly)                                            \
    X(rcx_reduce_scatter_recursive_doubling)                                   \
    X(rcx_reduce_scatter_reduce_then_scatter)                                  \
    X(rcx_reduce_scatter_binary_blocks)                                        \
    X(rcx_reduce_scatter_circulant)                                            \
    X(rcx_reduce_scatter_mixed_radix)                                          \
    X(rcx_reduce_scatter_factorized)                                           \
    OPTIONAL(rcx_reduce_scatter_pat)                                           \
    OPTIONAL(rcx_reduce_scatter_swing)                                         \
    X(rcx_reduce_scatter_hierarchical)                                         \
    X(rcx_barrier_dissemination)                                               \
    X(rcx_barrier_tree)                                                        \
    X(rcx_barrier_recursive_doubling)                                          \
    X(rcx_barrier_double_ring)                                                 \
    X(rcx_barrier_hierarchical)                                                \
    X(rcx_barrier_multi_object)                                                \
    X(rcx_bcast_tree)                                                          \
    X(rcx_bcast_circulant)                                                     \
    X(rcx_bcast_scatter_allgather)                                             \
    X(rcx_bcast_split_binary)                                                  \
    X(rcx_bcast_hierarchical)                                                  \
    X(rcx_bcast_multi_object)                                                  \
    X(rcx_gather_linear)                                                       \
    X(rcx_gather_tree)                                                         \
    X(rcx_gather_hierarchical)                                                 \
    X(rcx_scatter_linear)                                                      \
    X(rcx_scatter_tree)                                                        \
    X(rcx_scatter_hierarchical)                                                \
    X(rcx_allgather_ring)                                                      \
    X(rcx_allgather_bruck)                                                     \
    X(rcx_allgather_recursive_doubling)                                        \
    OPTIONAL(rcx_allgather_neighbor)                                           \
    X(rcx_allgather_direct)                                                    \
    X(rcx_allgather_circulant)                                                 \
    OPTIONAL(rcx_allgather_sparbit)                                            \
    OPTIONAL(rcx_allgather_pat)                                                \
    X(rcx_allgather_swing)                                                     \
    X(rcx_allgather_hierarchical)                                              \
    X(rcx_allgather_multi_object)                                              \
    X(rcx_alltoall_linear)                                                     \
    X(rcx_alltoall_pairwise)                                                   \
    X(rcx_alltoall_bruck)                                                      \
    X(rcx_alltoall_ring)                                                       \
    X(rcx_alltoall_hierarchical)                                               \
    X(rcx_alltoall_multi_object)                                               \
    X(rcx_alltoallv_linear)                                                    \
    X(rcx_alltoallv_pairwise)                                                  \
    X(rcx_alltoallv_bruck)                                                     \
    X(rcx_scan_recursive_doubling)                                             \
    X(rcx_scan_linear)                                                         \
    X(rcx_scan_tree)                                                           \
    X(rcx_scan_doubling)                                                       \
    X(rcx_exscan_recursive_doubling)                                           \
    X(rcx_exscan_linear)                                                       \
    X(rcx_exscan_tree)                                                         \
    X(rcx_exscan_doubling)

#define RCX_ALGORITHM_DECLARE(name) extern const struct rcx_algo name;
#define RCX_ALGORITHM_ENTRY(name) &name,
#define RCX_ALGORITHM_NAME(name) #name,
#define RCX_ALGORITHM_NONE(name)

RCX_ALGORITHMS(RCX_ALGORITHM_DECLARE, RCX_ALGORITHM_DECLARE)

#endif
