/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bootstrap over PMIx. Only the files pmix*.c use PMIx. Observations with PMIx
 * 4.2:
 *
 *   - Cycles of PMIx_Init and PMIx_Finalize hang, and a process that exits
 *     without PMIx_Finalize makes mpirun fail. So the process calls PMIx_Init
 *     at its first open, and PMIx_Finalize when it exits.
 *   - PMIx_Finalize may crash after a failed PMIx_Init, so it is not called.
 *   - PMIx identifies a fence only by its participants, and counts two
 *     concurrent fences of a process as two participants. So a process runs
 *     one fence at a time, and all processes open and close their contexts in
 *     the same order.
 */
#include "bootstrap/bootstraps.h"
#include "bootstrap/identity.h"
#include "bootstrap/launcher.h"
#include "bootstrap/pmix_blobs.h"
#include "bootstrap/pmix_describe.h"
#include "bootstrap/pmix_fence.h"
#include "core/base/clock.h"
#include "core/base/descriptors.h"

#include <assert.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    NAME_LETTERS = 64,
    /* How long to wait for a blob that is missing after the fence. If contexts
     * have names, threads may create them in different orders on each rank. */
    LOOKUP_SECONDS = 30,
    DESCRIPTORS = 8 /* more than PMIx_Init opens */
};

static const uint64_t second_ns = 1000000000;

/* ---- The reference of the process to PMIx -------------------------------- */

/* Number of contexts of this name that this process has opened; "": without a
 * name. Keys contain it, so that no rank finds a blob of an earlier context. */
struct name_count {
    struct name_count *next;
    unsigned contexts;
    char name[NAME_LETTERS + 1];
};

/* The only global mutable state of RCX. */
static struct {
    pthread_mutex_t mutex; /* protects the fields below; held during a fence */
    _Atomic pid_t owner;   /* process that called PMIx_Init; 0: none yet */
    _Atomic int n_open;    /* contexts that rcx_finalize() has not closed */
    pmix_status_t status;  /* result of PMIx_Init */
    pid_t other;           /* process that is this rank already; 0: none */
    unsigned run;          /* number of earlier processes with this rank */
    pmix_proc_t me;
    struct name_count *names;
    struct rcx_pmix_fence fence; /* also has its own mutex */
    pthread_mutex_t asking; /* held while PMIx is asked for data of a peer */
} process = {.mutex = PTHREAD_MUTEX_INITIALIZER,
             .asking = PTHREAD_MUTEX_INITIALIZER};

/* Whether this is a forked child. It has a copy of the reference, but not the
 * thread of PMIx. Call this before taking the mutex, which may be a copy of a
 * locked one. */
static bool is_forked(void)
{
    const pid_t owner = atomic_load(&process.owner);

    return owner != 0 && owner != getpid();
}

/*
 * Set process.run. A rank may run several programs in turn (sh -c "a; b").
 * Values of the first one stay at the server, and later ones would find them by
 * their keys. So keys contain the number of the run. Each run puts a key, and
 * the next run counts these keys.
 */
static pmix_status_t count_runs(void)
{
    pmix_value_t *value = NULL;
    pmix_value_t one = {.type = PMIX_BOOL, .data.flag = true};
    pmix_key_t key;
    pmix_status_t rc;

    for (;; process.run++) {
        snprintf(key, sizeof key, "rcx.run.%u", process.run);
        rc = rcx_pmix_get_at_once(process.me.nspace, (int)process.me.rank, key,
                                  &value);
        if (rc != PMIX_SUCCESS)
            break;
        PMIX_VALUE_RELEASE(value);
    }
    rc = PMIx_Put(PMIX_LOCAL, key, &one);
    return rc == PMIX_SUCCESS ? PMIx_Commit() : rc;
}

static pmix_status_t init(void)
{
    const char *job = getenv("PMIX_NAMESPACE"), *rank = getenv("PMIX_RANK");
    pmix_status_t rc;

    process.other = job && rank ? rcx_identity_claim(job, rank) : 0;
    if (process.other != 0)
        return PMIX_ERR_EXISTS;
    rc = PMIx_Init(&process.me, NULL, 0);
    return rc == PMIX_SUCCESS ? count_runs() : rc;
}

/* Call PMIx_Init the first time. The mutex is held. Returns the result of the
 * first call: after a failure PMIx_Init is not called again. */
static pmix_status_t take_reference(void)
{
    if (atomic_load(&process.owner) == 0) {
        atomic_store(&process.owner, getpid());
        rcx_pmix_fence_init(&process.fence);
        process.status = init();
    }
    return process.status;
}

__attribute__((destructor)) static void give_reference_back(void)
{
    if (atomic_load(&process.owner) != getpid())
        return;
    /* a thread is in a fence during exit(), so the job fails anyway */
    if (pthread_mutex_trylock(&process.mutex) != 0)
        return;
    while (process.names) {
        struct name_count *next = process.names->next;

        free(process.names);
        process.names = next;
    }
    /* If a context is open, other ranks may wait in it. The launcher then has
     * to see a process that exits without PMIx_Finalize. */
    if (process.status == PMIX_SUCCESS && atomic_load(&process.n_open) == 0)
        PMIx_Finalize(NULL, 0);
    atomic_store(&process.owner, 0);
    pthread_mutex_unlock(&process.mutex);
}

static uint64_t deadline(int64_t timeout_ns)
{
    return timeout_ns > 0 ? rcx_now_ns() + (uint64_t)timeout_ns : UINT64_MAX;
}

/* Take the mutex. False: until_ns has passed, or work returned false. work is
 * called meanwhile: a peer may need progress of this process before it enters
 * the fence that another thread of this process waits in. NULL: no work. */
static bool lock_until(uint64_t until_ns, struct rcx_start_wait *wait,
                       const struct rcx_pmix_work *work)
{
    while (pthread_mutex_trylock(&process.mutex) != 0) {
        if (rcx_now_ns() >= until_ns || (work && !work->go_on(work->arg)))
            return false;
        if (rcx_start_wait_is_due(wait))
            rcx_start_wait_warn(wait, "another thread of this process is in a "
                                      "PMIx fence");
        usleep(100);
    }
    return true;
}

/* Return the count of name. The mutex is held. NULL: no memory. */
static struct name_count *count_of(const char *name)
{
    struct name_count *count = process.names;

    while (count && strncmp(count->name, name, NAME_LETTERS) != 0)
        count = count->next;
    if (count)
        return count;
    count = calloc(1, sizeof *count);
    if (!count)
        return NULL;
    snprintf(count->name, sizeof count->name, "%s", name);
    count->next = process.names;
    process.names = count;
    return count;
}

/* ---- Errors and job data ------------------------------------------------- */

static rcx_status_t kept_out(const struct rcx_log *log, int64_t timeout_ns)
{
    return rcx_fail(log, RCX_ERR_TIMEOUT,
                    "rcx_init: timed out after %.3g s: another thread of this "
                    "process was in a PMIx fence",
                    (double)timeout_ns / 1e9);
}

/* Get a number of the job, such as PMIX_JOB_SIZE. Only the wildcard rank has
 * these keys. */
static pmix_status_t get_job_number(const char *key, int *number_p)
{
    pmix_value_t *value = NULL;
    pmix_proc_t all;
    pmix_status_t rc;

    PMIX_LOAD_PROCID(&all, process.me.nspace, PMIX_RANK_WILDCARD);
    rc = PMIx_Get(&all, key, NULL, 0, &value);
    if (rc != PMIX_SUCCESS)
        return rc;
    if (value->type != PMIX_UINT32 || value->data.uint32 > INT_MAX)
        rc = PMIX_ERR_TYPE_MISMATCH;
    else
        *number_p = (int)value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return rc;
}

/* ---- The bootstrap ------------------------------------------------------- */

struct pmix_boot {
    struct rcx_boot base;
    struct rcx_heap *heap;
    struct rcx_log *log;
    int64_t timeout_ns;     /* for the whole of opening; 0: none */
    uint64_t open_until_ns; /* deadline of opening */
    struct rcx_start_wait *wait;
    pmix_key_t key; /* key of the blob */
    struct rcx_pmix_blobs blobs;
    int *local_ranks;
};

static rcx_status_t read_job(const struct rcx_log *log, struct rcx_boot *base)
{
    const pmix_status_t rc = get_job_number(PMIX_JOB_SIZE, &base->size);

    if (rc != PMIX_SUCCESS)
        return rcx_pmix_fail(log, "PMIx_Get of PMIX_JOB_SIZE", rc);
    if (process.me.rank >= (pmix_rank_t)base->size)
        return rcx_fail(log, RCX_ERR_LAUNCH,
                        "PMIx reports rank %u for this process, in a job of %d "
                        "ranks",
                        (unsigned)process.me.rank, base->size);
    base->rank = (int)process.me.rank;
    if (get_job_number(PMIX_LOCAL_SIZE, &base->local_size) != PMIX_SUCCESS)
        base->local_size = 0;
    return RCX_OK;
}

/* Read the ranks of this node, such as "0,1,2", if the server tells them. */
static void read_local_ranks(struct pmix_boot *boot)
{
    pmix_proc_t all = process.me;
    pmix_value_t *value;
    int count = 0;

    all.rank = PMIX_RANK_WILDCARD;
    if (boot->base.local_size == 0 ||
        PMIx_Get(&all, PMIX_LOCAL_PEERS, NULL, 0, &value) != PMIX_SUCCESS)
        return;
    if (value->type == PMIX_STRING)
        boot->local_ranks = rcx_heap_alloc(
            boot->heap, (size_t)boot->base.local_size * sizeof(int));
    if (boot->local_ranks) {
        char *rest = value->data.string, *text;

        while (count < boot->base.local_size && (text = strsep(&rest, ",")))
            boot->local_ranks[count++] = atoi(text);
    }
    PMIX_VALUE_RELEASE(value);
    if (count == boot->base.local_size)
        boot->base.local_ranks = boot->local_ranks;
}

static rcx_status_t no_server(const struct rcx_boot_args *args,
                              pmix_status_t rc)
{
    char reason[128];
    rcx_status_t status;

    if (!args->allow_singleton && !rcx_has_descriptors(DESCRIPTORS))
        return rcx_fail(args->log, RCX_ERR_LIMIT,
                        "PMIx_Init returned %s: this process may open fewer "
                        "than %d further descriptors (ulimit -n)",
                        PMIx_Error_string(rc), DESCRIPTORS);
    snprintf(reason, sizeof reason,
             "no PMIx server answers (PMIx_Init returned %s)",
             PMIx_Error_string(rc));
    status = rcx_launcher_check_alone(args, reason);
    return status == RCX_OK ? RCX_ERR_UNSUPPORTED : status;
}

static rcx_status_t taken(const struct rcx_log *log)
{
    return rcx_fail(
        log, RCX_ERR_LAUNCH,
        "process %ld is rank %s of this job already: a process that it "
        "started cannot be the same rank; to run alone, remove "
        "PMIX_* from its environment, and set RCX_ALLOW_SINGLETON=1",
        (long)process.other, getenv("PMIX_RANK"));
}

/* Open a boot. The mutex is held. */
static rcx_status_t open_locked(const struct rcx_boot_args *args,
                                struct rcx_boot **boot_p)
{
    const rcx_params_t *params = args->params;
    const bool named = params && (params->field_mask & RCX_PARAM_NAME);
    const pmix_status_t rc = take_reference();
    struct rcx_boot base = {.ops = &rcx_boot_pmix};
    struct name_count *count;
    struct pmix_boot *boot;
    rcx_status_t status;

    if (process.other != 0)
        return taken(args->log);
    if (rc != PMIX_SUCCESS)
        return no_server(args, rc);
    status = read_job(args->log, &base);
    if (status != RCX_OK)
        return status;
    count = count_of(named && params->name ? params->name : "");
    if (!count)
        goto err_nomem;
    boot = rcx_heap_zalloc(args->heap, sizeof *boot);
    if (!boot)
        goto err_nomem;
    if (!rcx_pmix_blobs_init(&boot->blobs, args->heap, base.size))
        goto err_free_boot;
    boot->base = base;
    boot->heap = args->heap;
    boot->log = args->log;
    boot->timeout_ns = args->timeout_ns;
    boot->open_until_ns = deadline(args->timeout_ns);
    boot->wait = args->wait;
    snprintf(boot->key, sizeof boot->key, "rcx.%u.%s.%u", process.run,
             count->name, count->contexts++);
    read_local_ranks(boot);
    atomic_fetch_add(&process.n_open, 1);
    *boot_p = &boot->base;
    return RCX_OK;

err_free_boot:
    rcx_heap_free(args->heap, boot);
err_nomem:
    return rcx_fail(args->log, RCX_ERR_NOMEM,
                    "rcx_init: no memory to join a PMIx job of %d ranks",
                    base.size);
}

static rcx_status_t open_boot(const struct rcx_boot_args *args,
                              struct rcx_boot **boot_p)
{
    rcx_status_t status;

    /* without these there is no server; avoids 12 ms in PMIx_Init */
    if (!rcx_launcher_names_pmix())
        return RCX_ERR_UNSUPPORTED;
    if (is_forked())
        return rcx_fail(args->log, RCX_ERR_FORKED,
                        "rcx_init: called in a forked child: PMIx can be used "
                        "only by the parent, which called rcx_init first");
    if (!lock_until(deadline(args->timeout_ns), args->wait, NULL))
        return kept_out(args->log, args->timeout_ns);
    status = open_locked(args, boot_p);
    pthread_mutex_unlock(&process.mutex);
    return status;
}

/* ---- Fences -------------------------------------------------------------- */

/* Log that the deadline has passed in a fence. Only fences of opening have
 * one. */
static rcx_status_t overdue(const struct pmix_boot *boot)
{
    char text[256];
    pmix_key_t key;

    rcx_pmix_node_key(RCX_PMIX_LOCAL, boot->key, key);
    pthread_mutex_lock(&process.asking);
    /* Look for records, not for blobs. A rank that has waited for the record of
     * a missing rank is late, but has put its own record. */
    rcx_pmix_name_missing(process.me.nspace, key, boot->base.local_ranks,
                          boot->base.local_size, text, sizeof text);
    pthread_mutex_unlock(&process.asking);
    return rcx_fail(boot->log, RCX_ERR_TIMEOUT,
                    "rcx_init: the PMIx fence of all ranks timed out after "
                    "%.3g s: %s",
                    (double)boot->timeout_ns / 1e9, text);
}

/* Return the time at which waiting for missing data of a peer ends. */
static uint64_t wait_ends_ns(const struct pmix_boot *boot)
{
    const uint64_t most = rcx_now_ns() + LOOKUP_SECONDS * (uint64_t)second_ns;

    return boot->open_until_ns < most ? boot->open_until_ns : most;
}

static struct rcx_pmix_node node_of(const struct pmix_boot *boot)
{
    return (struct rcx_pmix_node){.boot = &boot->base,
                                  .log = boot->log,
                                  .heap = boot->heap,
                                  .nspace = process.me.nspace,
                                  .key = boot->key,
                                  .record_key = boot->key,
                                  .asking = &process.asking,
                                  .until_ns = wait_ends_ns(boot),
                                  .wait = boot->wait};
}

static bool warn(void *node)
{
    rcx_pmix_warn(node);
    return true;
}

/* Wait in a fence for all ranks; with_data: and for the values that they have
 * put. RCX_IN_PROGRESS: work, which only the final barrier has, returned
 * false. */
static rcx_status_t fence_all(const struct pmix_boot *boot, bool with_data,
                              uint64_t until_ns,
                              const struct rcx_pmix_work *work)
{
    struct rcx_pmix_node node = node_of(boot);
    const struct rcx_pmix_work warns = {
        .go_on = warn, .arg = &node, .is_rare = true};
    pmix_status_t rc;

    if (!lock_until(until_ns, boot->wait, work))
        return work ? RCX_IN_PROGRESS : kept_out(boot->log, boot->timeout_ns);
    if (rcx_pmix_fence_is_open(&process.fence)) {
        pthread_mutex_unlock(&process.mutex);
        return rcx_fail(boot->log, RCX_ERR_TIMEOUT,
                        "an earlier PMIx fence of this process timed out and "
                        "has not ended, so no other one can start: some rank "
                        "has not reached it");
    }
    rc = rcx_pmix_fence(&process.fence, process.me.nspace, with_data, until_ns,
                        work ? work : &warns);
    pthread_mutex_unlock(&process.mutex);
    if (rc == PMIX_OPERATION_IN_PROGRESS)
        return RCX_IN_PROGRESS;
    if (rc == PMIX_ERR_TIMEOUT)
        return overdue(boot);
    return rc == PMIX_SUCCESS ? RCX_OK
                              : rcx_pmix_fail(boot->log, "a PMIx fence", rc);
}

static rcx_status_t publish(struct rcx_boot *base, const void *blob,
                            size_t bytes)
{
    const struct pmix_boot *boot = (const struct pmix_boot *)base;
    const struct rcx_pmix_node node = node_of(boot);
    const rcx_status_t status = rcx_pmix_blobs_put(&node, blob, bytes);

    return status == RCX_OK ? fence_all(boot, true, boot->open_until_ns, NULL)
                            : status;
}

static rcx_status_t lookup(struct rcx_boot *base, int rank, const void **blob_p,
                           size_t *bytes_p)
{
    struct pmix_boot *boot = (struct pmix_boot *)base;
    const struct rcx_pmix_node node = node_of(boot);

    assert(rank >= 0 && rank < base->size);
    return rcx_pmix_blobs_get(&boot->blobs, &node, rank, blob_p, bytes_p);
}

/* ---- Exchange of records ------------------------------------------------- */

/* As blobs are published and looked up, by another key. */
static rcx_status_t exchange(struct rcx_boot *base, const void *record,
                             size_t bytes, rcx_local_fn_t see, void *arg)
{
    const struct pmix_boot *boot = (const struct pmix_boot *)base;
    struct rcx_pmix_node node = node_of(boot);
    struct rcx_pmix_blobs records;
    pmix_key_t key;
    rcx_status_t status;

    rcx_pmix_node_key("nodes", boot->key, key);
    node.key = key;
    if (!rcx_pmix_blobs_init(&records, boot->heap, base->size))
        return rcx_fail(boot->log, RCX_ERR_NOMEM,
                        "rcx_init: no memory for the records of %d ranks",
                        base->size);
    status = rcx_pmix_blobs_put(&node, record, bytes);
    if (status == RCX_OK)
        status = fence_all(boot, true, boot->open_until_ns, NULL);
    if (status == RCX_OK)
        status = rcx_pmix_blobs_see(&records, &node, bytes, see, arg);
    rcx_pmix_blobs_free(&records, boot->heap);
    return status;
}

static rcx_status_t local_exchange(struct rcx_boot *base, const void *record,
                                   size_t bytes, rcx_local_fn_t see, void *arg)
{
    const struct rcx_pmix_node node = node_of((struct pmix_boot *)base);

    return rcx_pmix_local_exchange(&node, record, bytes, see, arg);
}

static rcx_status_t local_bcast(struct rcx_boot *base, const void *blob,
                                size_t bytes, rcx_local_fn_t see, void *arg)
{
    const struct pmix_boot *boot = (const struct pmix_boot *)base;
    const struct rcx_pmix_node node = node_of(boot);

    if (base->rank == rcx_boot_lowest(base))
        rcx_pmix_blobs_tell(&boot->blobs, &node);
    return rcx_pmix_local_bcast(&node, blob, bytes, see, arg);
}

/* ---- Barrier ------------------------------------------------------------- */

static rcx_status_t barrier(struct rcx_boot *base, bool (*go_on)(void *arg),
                            void *arg)
{
    const struct rcx_pmix_work work = {.go_on = go_on, .arg = arg};

    return fence_all((const struct pmix_boot *)base, false, UINT64_MAX,
                     go_on ? &work : NULL);
}

/* Does not take the mutex, which is held during a fence. */
static rcx_status_t end_job(struct rcx_boot *base, int code, const char *text)
{
    const struct pmix_boot *boot = (const struct pmix_boot *)base;
    const pmix_status_t rc = PMIx_Abort(code, text, NULL, 0);

    return rc == PMIX_SUCCESS ? RCX_OK
                              : rcx_pmix_fail(boot->log, "PMIx_Abort", rc);
}

static void close_boot(struct rcx_boot *base)
{
    struct pmix_boot *boot = (struct pmix_boot *)base;

    rcx_pmix_blobs_free(&boot->blobs, boot->heap);
    rcx_heap_free(boot->heap, boot->local_ranks);
    rcx_heap_free(boot->heap, boot);
    atomic_fetch_sub(&process.n_open, 1);
}

/* ---- Description --------------------------------------------------------- */

static void describe(void (*line)(const char *name, const char *value,
                                  void *arg),
                     void *arg)
{
    pmix_status_t rc;

    line("library", PMIx_Get_version(), arg);
    rcx_launcher_describe(line, arg);
    if (!rcx_launcher_names_pmix()) {
        line("server", "none: no PMIX_NAMESPACE in the environment", arg);
        return;
    }
    if (is_forked()) {
        line("server", "can be used only by the parent of this process", arg);
        return;
    }
    pthread_mutex_lock(&process.mutex);
    rc = take_reference();
    pthread_mutex_unlock(&process.mutex);
    if (rc != PMIX_SUCCESS) {
        line("server", PMIx_Error_string(rc), arg);
        return;
    }
    line("server", "answers", arg);
    rcx_pmix_describe_job(&process.me, line, arg);
}

const struct rcx_boot_ops rcx_boot_pmix = {
    .name = "pmix",
    .open = open_boot,
    .local_exchange = local_exchange,
    .exchange = exchange,
    .publish = publish,
    .lookup = lookup,
    .local_bcast = local_bcast,
    .barrier = barrier,
    .end_job = end_job,
    .close = close_boot,
    .describe = describe,
};
