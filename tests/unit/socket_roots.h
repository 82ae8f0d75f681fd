/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks of bad days, and those whose root the environment names, for tests of
 * the bootstrap over sockets that are linked with --wrap=getaddrinfo. Included
 * once by each.
 */
#ifndef RCX_TESTS_UNIT_SOCKET_ROOTS_H
#define RCX_TESTS_UNIT_SOCKET_ROOTS_H

#include "socket_ranks.h"

#include <netdb.h>

static const struct start brief = {.timeout_ns = INT64_C(2000000000)};

/* Ranks of a job of size, in processes of their own. */
static struct ranks *start_some(int n, const int list[], int size,
                                script_t script)
{
    struct ranks *ranks = ranks_new();
    struct start starts[RANKS_MAX];

    for (int i = 0; i < n; i++) {
        starts[i] = brief;
        starts[i].rank = list[i];
        starts[i].size = size;
    }
    ranks_start(ranks, n, starts, script);
    return ranks;
}

static void end_told(struct ranks *ranks, rcx_status_t status,
                     const char *words)
{
    ranks_end(ranks);
    for (int i = 0; i < ranks->n; i++)
        assert_told(ranks, i, status, words);
    ranks_free(ranks);
}

/* ---- Roots --------------------------------------------------------------- */

/* A name service that is silent about one name, and knows no other. */
int __wrap_getaddrinfo(const char *host, const char *service,
                       const struct addrinfo *hints, struct addrinfo **found_p);
int __wrap_getaddrinfo(const char *host, const char *service,
                       const struct addrinfo *hints, struct addrinfo **found_p)
{
    (void)service;
    (void)hints;
    (void)found_p;
    if (strcmp(host, "silent.invalid") == 0)
        sleep(2 * PATIENCE_S);
    return EAI_NONAME;
}

static void set_root(const char *root, const char *rank)
{
    setenv("RCX_ROOT", root, 1);
    setenv("RCX_RANK", rank, 1);
    setenv("RCX_SIZE", "2", 1);
}

static void unset_root(void)
{
    unsetenv("RCX_ROOT");
    unsetenv("RCX_RANK");
    unsetenv("RCX_SIZE");
}

/* A process whose environment names the root and its rank. */
static void run_with_root(const char *root, const char *rank,
                          rcx_status_t status, const char *words)
{
    struct ranks *ranks = ranks_new();
    const struct start start = {.timeout_ns = INT64_C(300000000),
                                .by_environment = true};

    set_root(root, rank);
    ranks_start(ranks, 1, &start, whole_life);
    unset_root();
    end_told(ranks, status, words);
}

#endif
