/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The PMIx server: one server, whose clients are all ranks of the job.
 *
 * All clients are local, so PMIx has collected the data of a fence when it
 * calls the fence callback. The callback returns the same data.
 *
 * --nodes K: blocks of ranks form K virtual nodes "vnode0" ... The server keeps
 * one copy of the job's data. The client library looks node keys up under the
 * host name of the asking rank, so each rank gets the values of its virtual
 * node. Keys that a client gets (PMIx 4.2.2, by experiment):
 *
 *   any rank        PMIX_HOSTNAME, LOCAL_RANK, NODE_RANK, APPNUM
 *   own node's      PMIX_NODEID (the client library returns NOT_FOUND for ranks
 *                   of other nodes; compare PMIX_HOSTNAME instead)
 *   rank wildcard   PMIX_JOB_SIZE, UNIV_SIZE, NUM_NODES
 *                   PMIX_LOCAL_SIZE, LOCAL_PEERS, LOCALLDR, NODE_SIZE: of the
 *                   asker's virtual node
 *
 * PMIx consumes PMIX_NODE_MAP and PROC_MAP: clients do not find these keys.
 * gethostname() and the boot id remain the machine's, so a program that
 * compares them sees one node.
 */
#include "rcxrun/rcxrun.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <pmix.h>
#include <pmix_server.h>

/* Written by PMIx's thread, read by the main thread, both under the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rcxrun_abort first_abort;
static bool aborted;
static enum rcxrun_stage *stages; /* by rank */

static int wake;
static pmix_nspace_t nspace;
static const struct rcxrun_options *options;
static char machine[HOST_NAME_MAX + 1];

/* --- callbacks, on PMIx's thread --- */

static pmix_status_t enter(const pmix_proc_t *proc, enum rcxrun_stage stage)
{
    if ((int)proc->rank < options->size) {
        pthread_mutex_lock(&lock);
        stages[proc->rank] = stage;
        pthread_mutex_unlock(&lock);
        eventfd_write(wake, 1);
    }
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t client_connected(const pmix_proc_t *proc, void *object,
                                      pmix_op_cbfunc_t done, void *arg)
{
    (void)object, (void)done, (void)arg;
    if (!rcxrun_accept_is_used())
        rcxrun_die("libpmix accepts connections without rcxrun");
    return enter(proc, RCXRUN_INSIDE);
}

static pmix_status_t client_finalized(const pmix_proc_t *proc, void *object,
                                      pmix_op_cbfunc_t done, void *arg)
{
    (void)object, (void)done, (void)arg;
    return enter(proc, RCXRUN_FINALIZED);
}

/* Record the abort before the rank is released. Then the main thread finds it
 * whether it first sees the event or the exit of the rank. The return value
 * completes the call; the library must not be called from here. */
static pmix_status_t client_abort(const pmix_proc_t *proc, void *object,
                                  int status, const char message[],
                                  pmix_proc_t procs[], size_t nprocs,
                                  pmix_op_cbfunc_t done, void *arg)
{
    (void)object, (void)procs, (void)nprocs, (void)done, (void)arg;
    pthread_mutex_lock(&lock);
    if (!aborted && (int)proc->rank < options->size) {
        first_abort.rank = (int)proc->rank;
        first_abort.status = status;
        snprintf(first_abort.message, sizeof first_abort.message, "%s",
                 message ? message : "");
        aborted = true;
    }
    pthread_mutex_unlock(&lock);
    eventfd_write(wake, 1);
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t fence(const pmix_proc_t procs[], size_t nprocs,
                           const pmix_info_t info[], size_t ninfo, char *data,
                           size_t ndata, pmix_modex_cbfunc_t done, void *arg)
{
    (void)procs, (void)nprocs, (void)info, (void)ninfo;
    done(PMIX_SUCCESS, data, ndata, arg, NULL, NULL);
    return PMIX_SUCCESS;
}

/* PMIx calls this only for a rank that the server does not know. */
static pmix_status_t direct_modex(const pmix_proc_t *proc,
                                  const pmix_info_t info[], size_t ninfo,
                                  pmix_modex_cbfunc_t done, void *arg)
{
    (void)proc, (void)info, (void)ninfo, (void)done, (void)arg;
    return PMIX_ERR_NOT_FOUND;
}

static pmix_server_module_t module = {
    .client_connected = client_connected,
    .client_finalized = client_finalized,
    .abort = client_abort,
    .fence_nb = fence,
    .direct_modex = direct_modex,
};

/* --- node map: blocks whose sizes differ by at most one --- */

static int first_rank(int node)
{
    return (int)((long)options->size * node / options->nodes);
}

static int node_of(int rank)
{
    int node = (int)((long)rank * options->nodes / options->size);

    while (rank >= first_rank(node + 1))
        node++;
    return node;
}

/* PMIx 4.2 and 6.0 have room for so many letters in front of the first digit,
 * and write beyond. UCX writes beyond HOST_NAME_MAX - 1 letters as soon as it
 * is loaded. */
enum { NODE_LETTERS = 49, UCX_LETTERS = HOST_NAME_MAX - 1 };

static void node_name(int node, char *name, size_t bytes)
{
    if (options->nodes > 1)
        snprintf(name, bytes, "vnode%d", node);
    else
        snprintf(name, bytes, "%.*s", (int)NODE_LETTERS, machine);
}

/* A comma-separated list of the ranks of one node. The caller frees it. */
static char *peers_of(int node)
{
    char *list =
        rcxrun_alloc((size_t)(first_rank(node + 1) - first_rank(node)) + 1, 12);
    char *end = list;

    for (int rank = first_rank(node); rank < first_rank(node + 1); rank++)
        end += sprintf(end, end == list ? "%d" : ",%d", rank);
    return list;
}

/* --- the job's data, for queries of its processes --- */

static void check(pmix_status_t status, const char *what)
{
    if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED)
        rcxrun_die("%s failed: %s", what, PMIx_Error_string(status));
}

static void add(void *list, const char *key, const void *value,
                pmix_data_type_t type)
{
    check(PMIx_Info_list_add(list, key, value, type), key);
}

static void add_number(void *list, const char *key, uint32_t value)
{
    add(list, key, &value, PMIX_UINT32);
}

static void add_short(void *list, const char *key, int value)
{
    const uint16_t number = (uint16_t)value;

    add(list, key, &number, PMIX_UINT16);
}

/* Add `part`, a finished list, to `list` under a key, and free it. */
static void add_array(void *list, const char *key, void *part)
{
    pmix_data_array_t array;

    check(PMIx_Info_list_convert(part, &array), "PMIx_Info_list_convert");
    add(list, key, &array, PMIX_DATA_ARRAY);
    PMIx_Data_array_destruct(&array);
    PMIx_Info_list_release(part);
}

static void add_node(void *list, int node)
{
    const uint32_t size = (uint32_t)(first_rank(node + 1) - first_rank(node));
    const pmix_rank_t leader = (pmix_rank_t)first_rank(node);
    void *part = PMIx_Info_list_start();
    char name[HOST_NAME_MAX + 1];
    char *peers = peers_of(node);

    node_name(node, name, sizeof name);
    add(part, PMIX_HOSTNAME, name, PMIX_STRING);
    add_number(part, PMIX_NODEID, (uint32_t)node);
    add_number(part, PMIX_LOCAL_SIZE, size);
    add_number(part, PMIX_NODE_SIZE, size);
    add(part, PMIX_LOCALLDR, &leader, PMIX_PROC_RANK);
    add(part, PMIX_LOCAL_PEERS, peers, PMIX_STRING);
    add_array(list, PMIX_NODE_INFO_ARRAY, part);
    free(peers);
}

static void add_rank(void *list, int rank)
{
    const int node = node_of(rank);
    const pmix_rank_t pmix_rank = (pmix_rank_t)rank;
    void *part = PMIx_Info_list_start();
    char name[HOST_NAME_MAX + 1];

    node_name(node, name, sizeof name);
    add(part, PMIX_RANK, &pmix_rank, PMIX_PROC_RANK); /* must be the first */
    add_short(part, PMIX_LOCAL_RANK, rank - first_rank(node));
    add_short(part, PMIX_NODE_RANK, rank - first_rank(node));
    add_number(part, PMIX_NODEID, (uint32_t)node);
    add(part, PMIX_HOSTNAME, name, PMIX_STRING);
    add_number(part, PMIX_APPNUM, 0);
    add(part, PMIX_APP_RANK, &pmix_rank, PMIX_PROC_RANK);
    add(part, PMIX_GLOBAL_RANK, &pmix_rank, PMIX_PROC_RANK);
    add_array(list, PMIX_PROC_INFO_ARRAY, part);
}

static void add_maps(void *list)
{
    char *names = rcxrun_alloc((size_t)options->nodes, HOST_NAME_MAX + 2);
    char *ranks = rcxrun_alloc((size_t)options->size, 12);
    char *end = names;
    char *regex;

    for (int node = 0; node < options->nodes; node++) {
        char *peers = peers_of(node);
        char name[HOST_NAME_MAX + 1];

        node_name(node, name, sizeof name);
        end += sprintf(end, "%s%s", node > 0 ? "," : "", name);
        if (node > 0)
            strcat(ranks, ";");
        strcat(ranks, peers);
        free(peers);
    }
    check(PMIx_generate_regex(names, &regex), "PMIx_generate_regex");
    add(list, PMIX_NODE_MAP, regex, PMIX_REGEX);
    free(regex);
    check(PMIx_generate_ppn(ranks, &regex), "PMIx_generate_ppn");
    add(list, PMIX_PROC_MAP, regex, PMIX_REGEX);
    free(regex);
    free(names);
    free(ranks);
}

static void register_job(void)
{
    const uint32_t size = (uint32_t)options->size;
    void *list = PMIx_Info_list_start();
    pmix_data_array_t array;

    add_number(list, PMIX_JOB_SIZE, size);
    add_number(list, PMIX_UNIV_SIZE, size);
    add_number(list, PMIX_MAX_PROCS, size);
    add_number(list, PMIX_JOB_NUM_APPS, 1);
    add_number(list, PMIX_NUM_NODES, (uint32_t)options->nodes);
    add_maps(list);
    for (int node = 0; node < options->nodes; node++)
        add_node(list, node);
    for (int rank = 0; rank < options->size; rank++)
        add_rank(list, rank);

    check(PMIx_Info_list_convert(list, &array), "PMIx_Info_list_convert");
    check(PMIx_server_register_nspace(nspace, options->size, array.array,
                                      array.size, NULL, NULL),
          "PMIx_server_register_nspace");
    PMIx_Data_array_destruct(&array);
    PMIx_Info_list_release(list);
}

static void register_ranks(void)
{
    for (int rank = 0; rank < options->size; rank++) {
        pmix_proc_t proc;

        PMIX_LOAD_PROCID(&proc, nspace, (pmix_rank_t)rank);
        check(PMIx_server_register_client(&proc, geteuid(), getegid(), NULL,
                                          NULL, NULL),
              "PMIx_server_register_client");
    }
}

int rcxrun_server_start(const struct rcxrun_options *job, const char *folder,
                        int wake_fd)
{
    const pmix_rank_t zero = 0;
    void *list = PMIx_Info_list_start();
    pmix_data_array_t array;
    pmix_nspace_t server;
    pmix_status_t status;

    options = job;
    wake = wake_fd;
    stages = rcxrun_alloc((size_t)job->size, sizeof *stages);
    gethostname(machine, sizeof machine - 1);
    if (strlen(machine) > UCX_LETTERS) {
        rcxrun_warn("the host name has %zu letters, and UCX ends programs if "
                    "it has more than %d: give the host a shorter one",
                    strlen(machine), (int)UCX_LETTERS);
        return -1;
    }
    snprintf(nspace, sizeof nspace, "rcxrun-%ld", (long)getpid());
    snprintf(server, sizeof server, "rcxrun-server-%ld", (long)getpid());

    /* PMIx's other data store has shared memory with locks, and a killed rank
     * may hold one for ever. "hash" is also faster up to about 12 ranks. */
    setenv("PMIX_MCA_gds", "hash", 0);
    rcxrun_accept_begin();

    add(list, PMIX_SERVER_NSPACE, server, PMIX_STRING);
    add(list, PMIX_SERVER_RANK, &zero, PMIX_PROC_RANK);
    add(list, PMIX_SERVER_TMPDIR, folder, PMIX_STRING);
    add(list, PMIX_SYSTEM_TMPDIR, folder, PMIX_STRING);
    check(PMIx_Info_list_convert(list, &array), "PMIx_Info_list_convert");
    status = PMIx_server_init(&module, array.array, array.size);
    PMIx_Data_array_destruct(&array);
    PMIx_Info_list_release(list);
    if (status != PMIX_SUCCESS) {
        rcxrun_warn("PMIx_server_init failed: %s", PMIx_Error_string(status));
        return -1;
    }
    register_job();
    register_ranks();
    return 0;
}

int rcxrun_server_child_env(int rank, char ***env_p)
{
    char name[HOST_NAME_MAX + 1];
    pmix_status_t status;
    pmix_proc_t proc;

    PMIX_LOAD_PROCID(&proc, nspace, (pmix_rank_t)rank);
    status = PMIx_server_setup_fork(&proc, env_p);
    if (status != PMIX_SUCCESS) {
        rcxrun_warn("PMIx_server_setup_fork failed: %s",
                    PMIx_Error_string(status));
        return -1;
    }
    /* For programs that read the variable. PMIx 4.2 itself takes the host name
     * from the rank's data. */
    node_name(node_of(rank), name, sizeof name);
    PMIX_SETENV(status, "PMIX_HOSTNAME", name, env_p);
    return status == PMIX_SUCCESS ? 0 : -1;
}

enum rcxrun_stage rcxrun_server_stage(int rank)
{
    enum rcxrun_stage stage;

    pthread_mutex_lock(&lock);
    stage = stages[rank];
    pthread_mutex_unlock(&lock);
    return stage;
}

bool rcxrun_server_abort(struct rcxrun_abort *abort_p)
{
    bool seen;

    pthread_mutex_lock(&lock);
    seen = aborted;
    if (seen)
        *abort_p = first_abort;
    pthread_mutex_unlock(&lock);
    return seen;
}

/* Runs on PMIx's thread, and never returns. */
static void park(pmix_status_t status, void *parked)
{
    (void)status;
    sem_post(parked);
    for (;;)
        pause();
}

void rcxrun_server_stop(void)
{
    static sem_t parked; /* static: the thread may post after this call */
    const pmix_nspace_t nobody = "rcxrun-stop";
    struct timespec until;

    sem_init(&parked, 0, 0);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    if (PMIx_server_register_nspace(nobody, 0, NULL, 0, park, &parked) ==
        PMIX_SUCCESS)
        sem_timedwait(&parked, &until);
}
