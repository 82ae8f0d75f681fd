/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a runtime has before it has RCX: processes that know their rank and have
 * a socket to rank 0. Stands for whatever store, daemon or launcher yours has.
 */
#pragma once
#include <stddef.h>

enum { TCP_STORE_MOST = 64 };
struct tcp_store {
    int rank, size;
    int sockets[TCP_STORE_MOST]; /* rank 0 has one to each; others [0] */
};

/* By what a process was started with; rank 0 listens at the loopback's port,
 * the others find it. Not 0: failed. */
int tcp_store_meet(struct tcp_store *store, char *rank_size_port[]);

/* All that RCX asks for, rcx_bootstrap.allgather: recv[i] = what rank i
 * gave. */
int tcp_store_allgather(const void *send, void *recv, size_t bytes, void *arg);
