/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of every function of rcx.h in a forked child. A function with a status
 * must return RCX_ERR_FORKED, log one line, and change no argument. The other
 * functions must answer as in the parent. fork_main.c forks the children.
 */
#include "fork_calls.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectives.h"
#include "rank.h"

enum { PROMPT_SECONDS = 10, COUNT = 4, NAME = 64 };

/* Arguments, and places for results. No refused call may write to either. */
static struct {
    struct fork_handles h;
    size_t counts[64];
    int words[COUNT];
} in;
static struct {
    rcx_comm_t *comm;
    rcx_request_t *request;
    rcx_error_info_t info;
    rcx_id_t id;
    rcx_recv_info_t got;
    rcx_op_t op;
    rcx_datatype_t type;
    void *memory;
    size_t index;
    uint64_t flags;
    const int *ranks;
    int fd, done;
    rcx_comparison_t comparison;
    int words[COUNT];
} out;

static int add(void *dst, const void *left, const void *right, size_t count,
               rcx_datatype_t type, void *arg)
{
    (void)dst, (void)left, (void)right, (void)count, (void)type, (void)arg;
    rank_fail("an op is called in a child");
}

static void be_called(rcx_request_t *request, rcx_status_t status, void *arg)
{
    (void)request, (void)status, (void)arg;
    rank_fail("a callback is made in a child");
}

/* ---- The functions ------------------------------------------------------- */

#define KIND RCX_INT, RCX_SUM

/* X(function, arguments...): functions of a context, a communicator or a
 * request, which a child may not call. */
#define REFUSED(X)                                                             \
    X(rcx_finalize, &in.h.context)                                             \
    X(rcx_abort, in.h.context, 3, "by a child")                                \
    X(rcx_comm_dup, in.h.comm, &out.comm)                                      \
    X(rcx_comm_split, in.h.comm, 0, 0, &out.comm)                              \
    X(rcx_comm_create_group, in.h.comm, 1, &me.rank, 0, &out.comm)             \
    X(rcx_comm_split_node, in.h.comm, 0, &out.comm)                            \
    X(rcx_comm_idup, in.h.comm, &out.comm, &out.request)                       \
    X(rcx_comm_isplit, in.h.comm, 0, 0, &out.comm, &out.request)               \
    X(rcx_comm_icreate_group, in.h.comm, 1, &me.rank, 0, &out.comm,            \
      &out.request)                                                            \
    X(rcx_comm_node_of, in.h.comm, 0, &out.fd)                                 \
    X(rcx_comm_translate, in.h.comm, 1, &me.rank, in.h.world, &out.fd)         \
    X(rcx_comm_compare, in.h.comm, in.h.world, &out.comparison)                \
    X(rcx_comm_free, &in.h.comm)                                               \
    X(rcx_comm_set_timeout, in.h.comm, 1)                                      \
    X(rcx_comm_set, in.h.comm, "RCX_CHECK", "off")                             \
    X(rcx_comm_set_name, in.h.comm, "child")                                   \
    X(rcx_comm_set_data, in.h.comm, out.words, NULL)                           \
    X(rcx_peer_failed, in.h.context, 0, NULL)                                  \
    X(rcx_comm_abort, in.h.comm)                                               \
    X(rcx_comm_revoke, in.h.comm)                                              \
    X(rcx_comm_agree, in.h.comm, &out.flags, 1)                                \
    X(rcx_comm_shrink, in.h.comm, 1, &out.comm)                                \
    X(rcx_comm_failed, in.h.comm, &out.fd, &out.ranks)                         \
    X(rcx_comm_error, in.h.comm, &out.info)                                    \
    X(rcx_dump, in.h.context, "/nowhere/dump")                                 \
    X(rcx_progress, in.h.context)                                              \
    X(rcx_get_fd, in.h.context, &out.fd)                                       \
    X(rcx_arm, in.h.context)                                                   \
    X(rcx_op_create, in.h.context, add, 0, NULL, &out.op)                      \
    X(rcx_op_free, in.h.context, &in.h.op)                                     \
    X(rcx_type_create, in.h.context, 8, &out.type)                             \
    X(rcx_type_free, in.h.context, &in.h.type)                                 \
    X(rcx_type_size, in.h.context, in.h.type, &out.index)                      \
    X(rcx_reduce_local, in.h.context, out.words, in.words, in.words, COUNT,    \
      KIND)                                                                    \
    X(rcx_mem_alloc, in.h.comm, 64, &out.memory)                               \
    X(rcx_mem_free, in.h.comm, in.h.memory)                                    \
    X(rcx_mem_peers, in.h.comm, in.h.memory, &out.memory)                      \
    X(rcx_mem_register, in.h.comm, out.words, sizeof out.words)                \
    X(rcx_mem_deregister, in.h.comm, out.words)                                \
    X(rcx_neighbor_alltoallv, in.words, 1, &me.rank, in.counts, NULL,          \
      out.words, 1, &me.rank, in.counts, NULL, RCX_INT, in.h.comm)             \
    X(rcx_ineighbor_alltoallv, in.words, 1, &me.rank, in.counts, NULL,         \
      out.words, 1, &me.rank, in.counts, NULL, RCX_INT, in.h.comm,             \
      &out.request)                                                            \
    X(rcx_neighbor_alltoallv_init, in.words, 1, &me.rank, in.counts, NULL,     \
      out.words, 1, &me.rank, in.counts, NULL, RCX_INT, in.h.comm,             \
      &out.request)                                                            \
    X(rcx_send, in.words, 1, RCX_INT, 0, 0, in.h.comm)                         \
    X(rcx_isend, in.words, 1, RCX_INT, 0, 0, in.h.comm, &out.request)          \
    X(rcx_send_init, in.words, 1, RCX_INT, 0, 0, in.h.comm, &out.request)      \
    X(rcx_recv, out.words, 1, RCX_INT, 0, 0, in.h.comm, &out.got)              \
    X(rcx_irecv, out.words, 1, RCX_INT, 0, 0, in.h.comm, &out.request)         \
    X(rcx_recv_init, out.words, 1, RCX_INT, 0, 0, in.h.comm, &out.request)     \
    X(rcx_sendrecv, in.words, 1, RCX_INT, 0, 0, out.words, 1, RCX_INT, 0, 0,   \
      in.h.comm, &out.got)                                                     \
    X(rcx_iprobe, 0, 0, in.h.comm, &out.done, &out.got)                        \
    X(rcx_cancel, in.h.request)                                                \
    X(rcx_request_recv_info, in.h.request, &out.got)                           \
    X(rcx_start, in.h.persistent)                                              \
    X(rcx_test, in.h.request, &out.done)                                       \
    X(rcx_wait, in.h.request)                                                  \
    X(rcx_wait_for, in.h.request, 0)                                           \
    X(rcx_wait_any, 1, &in.h.request, &out.index)                              \
    X(rcx_test_any, 1, &in.h.request, &out.index)                              \
    X(rcx_wait_all, 1, &in.h.request)                                          \
    X(rcx_test_all, 1, &in.h.request, &out.done)                               \
    X(rcx_request_set_callback, in.h.request, be_called, NULL)                 \
    X(rcx_request_free, &in.h.request)

/* X(function, condition): functions without a status. The condition must hold
 * in a child as well. */
#define ANSWERED(X)                                                            \
    X(rcx_status_string, rcx_status_string(RCX_ERR_FORKED)[0] != '\0')         \
    X(rcx_status_is_fatal, rcx_status_is_fatal(RCX_ERR_FORKED) == 0)           \
    X(rcx_comm_name, rcx_comm_name(in.h.comm)[0] == '\0')                      \
    X(rcx_comm_data, rcx_comm_data(in.h.comm) == NULL)                         \
    X(rcx_op_supported, rcx_op_supported(RCX_SUM, RCX_INT) == 1)               \
    X(rcx_in_place, rcx_in_place() == RCX_IN_PLACE)                            \
    X(rcx_version, rcx_version()[0] != '\0')                                   \
    X(rcx_get_id, rcx_get_id(NULL, &out.id) == RCX_OK)                         \
    X(rcx_world, rcx_world(in.h.context) == in.h.world)                        \
    X(rcx_comm_context, rcx_comm_context(in.h.comm) == in.h.context)           \
    X(rcx_comm_rank, rcx_comm_rank(in.h.comm) == me.rank)                      \
    X(rcx_comm_size, rcx_comm_size(in.h.comm) == me.size)                      \
    X(rcx_request_method, rcx_request_method(in.h.persistent) != NULL)

#define CALL(name, ...)                                                        \
    static rcx_status_t call_##name(void)                                      \
    {                                                                          \
        return (rcx_status_t)name(__VA_ARGS__);                                \
    }
REFUSED(CALL)

#define ENTRY(name, ...) {#name, call_##name},
static const struct {
    const char *name;
    rcx_status_t (*call)(void);
} refused[] = {REFUSED(ENTRY)};

/* Store the name of function i of the collectives: all forms of the first one,
 * then of the next. */
static const char *name_of(int i, char name[NAME])
{
    static const char *const formats[FORMS] = {"rcx_%s", "rcx_i%s",
                                               "rcx_%s_init"};

    snprintf(name, NAME, formats[i % FORMS], collectives[i / FORMS].name);
    return name;
}

static rcx_status_t call_collective(int i)
{
    const struct arguments a = {.sendbuf = in.words,
                                .recvbuf = out.words,
                                .count = 1,
                                .blocks = in.counts,
                                .sendcounts = in.counts,
                                .type = RCX_INT,
                                .op = RCX_SUM,
                                .comm = in.h.comm};

    return collective_call((enum collective)(i / FORMS), (enum form)(i % FORMS),
                           &a, &out.request);
}

enum { REFUSALS = sizeof refused / sizeof *refused };

/* ---- Checks in the child ------------------------------------------------- */

/* Make refused call i and check it. Calls from REFUSALS on are collectives. */
static void check_refused(int i)
{
    char before[sizeof in], nothing[sizeof out] = {0}, text[NAME];
    const int coll = i - REFUSALS;
    const char *name = coll < 0 ? refused[i].name : name_of(coll, text);

    memcpy(before, &in, sizeof in);
    memset(&out, 0, sizeof out);
    me.errors = 0; /* me.error keeps the next line */
    rank_expect(coll < 0 ? refused[i].call() : call_collective(coll),
                RCX_ERR_FORKED, name);
    if (me.errors != 1 || !strstr(me.error, "forked"))
        rank_fail("%s: %d errors logged, the first: %s", name, me.errors,
                  me.error);
    if (memcmp(before, &in, sizeof in) != 0 ||
        memcmp(nothing, &out, sizeof out) != 0)
        rank_fail("%s: an argument is written", name);
}

/* A child of a rank is not a rank, so rcx_init() fails. Without a launcher the
 * child may start a job of its own. */
static void check_init(void)
{
    const struct rank parent = me;

    if (getenv("PMIX_NAMESPACE")) {
        rank_expect(rank_open(NULL), RCX_ERR_FORKED, "rcx_init");
    } else {
        rank_require(rank_open(NULL), "rcx_init");
        rank_require(rcx_finalize(&me.context), "rcx_finalize");
    }
    me = parent;
}

void fork_calls_check(const struct fork_handles *handles)
{
    signal(SIGALRM, SIG_DFL);
    alarm(PROMPT_SECONDS);
    in.h = *handles;
    for (int i = 0; i < REFUSALS + COLLECTIVES * FORMS; i++)
        check_refused(i);
#define CHECK(name, is_true)                                                   \
    if (!(is_true))                                                            \
        rank_fail("%s: not %s", #name, #is_true);
    ANSWERED(CHECK)
    check_init();
    alarm(0);
}

void fork_calls_list(void)
{
    char name[NAME];

    puts("rcx_init");
    for (int i = 0; i < REFUSALS; i++)
        puts(refused[i].name);
    for (int i = 0; i < COLLECTIVES * FORMS; i++)
        puts(name_of(i, name));
#define PRINT(name, is_true) puts(#name);
    ANSWERED(PRINT)
}
