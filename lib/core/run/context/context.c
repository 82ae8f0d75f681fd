/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a context: environment, bootstrap, transport, communicators; and
 * their release. */
#include "core/run/object/context.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "core/iface/peer.h"
#include "core/run/comm/comm_close.h"
#include "core/run/comm/comm_make.h"
#include "core/run/context/config_check.h"
#include "core/run/context/context.h"
#include "core/run/context/finalize.h"
#include "core/run/detect/ctrl_dispatch.h"
#include "core/run/diag/describe.h"
#include "core/run/observe/observer.h"
#include "core/run/request/orphan.h"
#include "core/run/request/request.h"
#include "core/run/request/request_pool.h"
#include "core/run/request/veclist.h"
#include "core/run/wait/enter.h"
#include "core/run/wait/sleep.h"
#include "core/run/wait/thread.h"

enum {
    NAME_MAX_LETTERS = 64,
    PATIENT_SPIN = 2000, /* empty polls; about 0.1 ms */
    POLLS = 64,
    PARAM_ALL = RCX_PARAM_BOOTSTRAP | RCX_PARAM_NAME | RCX_PARAM_ORDER |
                RCX_PARAM_LOG | RCX_PARAM_THREADS | RCX_PARAM_TIMEOUT |
                RCX_PARAM_WAKEUP | RCX_PARAM_PROGRESS | RCX_PARAM_ABORT |
                RCX_PARAM_ID | RCX_PARAM_SETTINGS
};

static bool is_given(const rcx_params_t *params, uint64_t field)
{
    return params && (params->field_mask & field);
}

static bool name_is_good(const char *name)
{
    size_t length = 0;

    while (name && isalnum((unsigned char)name[length]))
        length++;
    return length >= 1 && length <= NAME_MAX_LETTERS && name[length] == '\0';
}

static rcx_status_t check_id(const rcx_params_t *params,
                             const struct rcx_log *log)
{
    if (!is_given(params, RCX_PARAM_ID))
        return RCX_OK;
    if (is_given(params, RCX_PARAM_BOOTSTRAP))
        return rcx_fail(log, RCX_ERR_ARG,
                        "params.id: params.bootstrap is given, too, and a "
                        "context has one bootstrap");
    if (!params->id)
        return rcx_fail(log, RCX_ERR_ARG,
                        "params.id=NULL: needs what rcx_get_id() made");
    if (params->size < 1 || params->rank < 0 || params->rank >= params->size)
        return rcx_fail(log, RCX_ERR_ARG,
                        "params.rank=%d, params.size=%d: needs a size of 1 or "
                        "more, and a rank below it",
                        params->rank, params->size);
    return RCX_OK;
}

static rcx_status_t check_settings(const rcx_params_t *params,
                                   const struct rcx_log *log)
{
    const size_t n =
        is_given(params, RCX_PARAM_SETTINGS) ? params->setting_count : 0;

    if (n > 0 && !params->settings)
        return rcx_fail(log, RCX_ERR_ARG,
                        "params.settings=NULL with params.setting_count=%zu",
                        n);
    for (size_t i = 0; i < n; i++) {
        const rcx_setting_t *s = &params->settings[i];

        if (!s->name || !s->value)
            return rcx_fail(log, RCX_ERR_ARG,
                            "params.settings[%zu]: needs a name and a value",
                            i);
        if (s->flags & ~(unsigned)RCX_SETTING_FINAL)
            return rcx_fail(log, RCX_ERR_ARG,
                            "params.settings[%zu].flags=%#x: valid is 0, or "
                            "RCX_SETTING_FINAL",
                            i, s->flags);
    }
    return check_id(params, log);
}

static rcx_status_t check_params(const rcx_params_t *params,
                                 const struct rcx_log *log)
{
    if (params && (params->field_mask & ~(uint64_t)PARAM_ALL))
        return rcx_fail(log, RCX_ERR_ARG,
                        "params.field_mask=%#llx: valid bits are %#x in this "
                        "version of RCX",
                        (unsigned long long)params->field_mask,
                        (unsigned)PARAM_ALL);
    if (is_given(params, RCX_PARAM_NAME) && !name_is_good(params->name))
        return rcx_fail(log, RCX_ERR_ARG,
                        "params.name=\"%s\": needs 1 to %d letters or digits",
                        params->name ? params->name : "(NULL)",
                        NAME_MAX_LETTERS);
    if (is_given(params, RCX_PARAM_ABORT) &&
        !is_given(params, RCX_PARAM_BOOTSTRAP))
        return rcx_fail(log, RCX_ERR_ARG,
                        "params.bootstrap_abort: needs params.bootstrap, which "
                        "is not given");
    if (is_given(params, RCX_PARAM_ORDER) &&
        (params->order < RCX_ORDER_SAME || params->order > RCX_ORDER_CANONICAL))
        return rcx_fail(log, RCX_ERR_ARG,
                        "params.order=%d: needs RCX_ORDER_SAME to "
                        "RCX_ORDER_CANONICAL (%d..%d)",
                        (int)params->order, RCX_ORDER_SAME,
                        RCX_ORDER_CANONICAL);
    if (is_given(params, RCX_PARAM_THREADS) &&
        (params->threads < RCX_THREAD_SINGLE ||
         params->threads > RCX_THREAD_MULTIPLE))
        return rcx_fail(log, RCX_ERR_ARG,
                        "params.threads=%d: needs RCX_THREAD_SINGLE to "
                        "RCX_THREAD_MULTIPLE (%d..%d)",
                        (int)params->threads, RCX_THREAD_SINGLE,
                        RCX_THREAD_MULTIPLE);
    if (is_given(params, RCX_PARAM_TIMEOUT) && params->timeout_ns < 0)
        return rcx_fail(log, RCX_ERR_ARG,
                        "params.timeout_ns=%lld: needs 0 (none) or more",
                        (long long)params->timeout_ns);
    return check_settings(params, log);
}

static struct rcx_settings settings_of(const rcx_params_t *params)
{
    if (!is_given(params, RCX_PARAM_SETTINGS))
        return (struct rcx_settings){NULL, 0};
    return (struct rcx_settings){params->settings, params->setting_count};
}

rcx_status_t rcx_context_configure(const rcx_params_t *params,
                                   struct rcx_log *log,
                                   struct rcx_config *config)
{
    const struct rcx_settings given = settings_of(params);
    rcx_status_t status;

    rcx_log_init(log);
    memset(config, 0, sizeof *config);
    if (is_given(params, RCX_PARAM_LOG) && params->log) {
        log->fn = params->log;
        log->arg = params->log_arg;
    }
    status = check_params(params, log);
    if (status != RCX_OK)
        return status;
    status = rcx_config_read(config, &given, log);
    if (is_given(params, RCX_PARAM_ORDER) && !config->order_is_set)
        config->order = params->order;
    if (is_given(params, RCX_PARAM_TIMEOUT) && !config->timeout_is_set)
        config->timeout_ns = params->timeout_ns;
    return status;
}

void rcx_context_destroy(struct rcx_context *context)
{
    rcx_sleep_close(&context->sleeper);
    if (context->transport)
        context->transport->ops->close(context->transport);
    rcx_observer_close(context);
    rcx_orphans_close(context);
    rcx_ctrl_close(context);
    rcx_heap_free(&context->heap, context->pair);
    rcx_heap_free(&context->heap, context->marks);
    rcx_heap_free(&context->heap, context->told);
    while (context->comms.first)
        rcx_comm_close(context->comms.first);
    rcx_comms_free(&context->comms, &context->heap);
    rcx_status_close(&context->status);
    rcx_builder_free(&context->builder);
    rcx_nodes_free(&context->heap, context->nodes);
    if (context->boot)
        context->boot->ops->close(context->boot);
    rcx_memory_free(&context->memory, &context->heap);
    rcx_veclists_close(context);
    rcx_scratch_free(&context->scratch, &context->heap);
    rcx_requests_free(&context->requests, &context->heap);
    rcx_registry_free(&context->registry);
    rcx_config_unload(&context->config, &context->heap);
    rcx_guard_destroy(context->guard);

    struct rcx_heap heap = context->heap;

    rcx_heap_free(&heap, context);
}

static rcx_status_t open_transport(struct rcx_context *context)
{
    const struct rcx_transport_args args = {
        .boot = context->boot,
        .heap = &context->heap,
        .log = &context->log,
        .wakeup = context->sleeper.is_wanted,
        .watches_peers = context->config.watches_peers,
        .ucx_watches_node = context->config.ucx_watches_node,
        .lanes = context->config.lanes,
        .timeout_ns = context->config.timeout_ns,
        .shm = context->config.shm,
        .machine = &context->machine};

    if (context->boot->size == 1)
        return rcx_transport_self.open(&args, &context->transport);
    if (!rcx_transport_table[0])
        return rcx_fail(&context->log, RCX_ERR_UNSUPPORTED,
                        "%d ranks, but this RCX was built without UCX",
                        context->boot->size);
    return rcx_transport_table[0]->open(&args, &context->transport);
}

static unsigned choose_spin(const struct rcx_context *context)
{
    switch (context->config.wait) {
    case RCX_WAIT_POLL: return UINT_MAX;
    case RCX_WAIT_YIELD: return 1;
    default: return context->oversubscribes_cores ? 1 : PATIENT_SPIN;
    }
}

static const uint64_t goodbye_ns = UINT64_C(3000000000);

static bool is_time_left(void *until)
{
    return rcx_now_ns() < *(const uint64_t *)until;
}

/* A launcher ends all ranks as soon as one has failed: wait for the rank that
 * logs the reason. */
static rcx_status_t learn_of_peers(struct rcx_context *context)
{
    struct rcx_boot *boot = context->boot;
    const rcx_status_t status = rcx_config_check(context);
    uint64_t until = rcx_now_ns() + goodbye_ns;

    if (status == RCX_ERR_CONFIG && !boot->one_process)
        boot->ops->barrier(boot, is_time_left, &until);
    return status;
}

static void settle_in(struct rcx_context *context, const rcx_params_t *params)
{
    const struct rcx_settings given = settings_of(params);
    struct rcx_progress *p = &context->progress;

    p->spin = choose_spin(context);
    p->polls = p->spin < POLLS ? p->spin : POLLS;
    p->is_oversubscribed =
        context->config.wait == RCX_WAIT_AUTO && p->spin == 1;
    rcx_context_describe(context);
    rcx_config_tell_sources(&given, &context->log,
                            context->boot->rank == 0 ? RCX_LOG_INFO
                                                     : RCX_LOG_DEBUG);
}

/* UCX writes beyond a name of HOST_NAME_MAX letters. */
static rcx_status_t check_host_name(const struct rcx_log *log)
{
    char host[HOST_NAME_MAX + 1] = "";

    gethostname(host, sizeof host);
    if (!rcx_transport_table[0] || !host[HOST_NAME_MAX - 1])
        return RCX_OK;
    return rcx_fail(log, RCX_ERR_LIMIT,
                    "the host name has %d letters, and UCX ends programs if it "
                    "has more than %d: give the host a shorter one",
                    HOST_NAME_MAX, HOST_NAME_MAX - 1);
}

/*
 * A rank with an invalid environment connects as if it had none: only then is
 * it known which other ranks have the same lines to log. Rank 0 need not wait
 * for that.
 */
static rcx_status_t connect(struct rcx_context *context,
                            const rcx_params_t *params,
                            const struct rcx_boot_source *source)
{
    const struct rcx_boot_args args = {.params = params,
                                       .heap = &context->heap,
                                       .log = &context->log,
                                       .timeout_ns = context->config.timeout_ns,
                                       .wait = &context->start_wait,
                                       .allow_singleton =
                                           context->config.allow_singleton};
    rcx_status_t status = check_host_name(&context->log);

    rcx_start_wait_begin(&context->start_wait, &context->log,
                         context->time.born.ns);
    if (status == RCX_OK)
        status = source->open(&args, source->arg, &context->boot);
    if (status != RCX_OK)
        return status;
    context->started_ns[RCX_START_LAUNCHER] = rcx_now_ns();
    context->log.rank = context->boot->rank;
    if (context->boot->rank == 0)
        rcx_config_tell_all(&context->config, &context->log);
    context->transport = source->transport;
    if (!context->transport)
        status = open_transport(context);
    context->started_ns[RCX_START_NETWORK] = rcx_now_ns();
    if (status == RCX_OK)
        status = rcx_config_publish(context);
    if (status == RCX_OK)
        status = learn_of_peers(context);
    context->started_ns[RCX_START_PEERS] = rcx_now_ns();
    return status;
}

static bool open_told(struct rcx_context *context)
{
    context->told = rcx_heap_zalloc(
        &context->heap, (size_t)context->boot->size * sizeof *context->told);
    return context->told;
}

/* Begin to publish what this rank is in, unless /dev/shm has no room. */
static void open_status(struct rcx_context *context)
{
    if (!context->config.has_status_page || context->boot->one_process)
        return;
    if (!rcx_status_open(&context->status, context->job, context->boot->rank,
                         context->boot->size, &context->time.born))
        rcx_info(&context->log, "rcx_top does not see this process: no page "
                                "in " RCX_STATUS_FOLDER ": %m");
    else
        context->status.page->internal = RCX_COMM_ID_INTERNAL;
}

static rcx_status_t make_comms(struct rcx_context *context)
{
    const int size = context->boot->size;
    rcx_status_t status;

    if ((uint64_t)size > UINT64_C(1) << context->layout.rank_bits)
        return rcx_fail(&context->log, RCX_ERR_LIMIT,
                        "%d ranks: message tags have room for 2^%u ranks", size,
                        context->layout.rank_bits);
    if (!rcx_comm_ids_open(&context->comms.ids, &context->heap,
                           context->layout.comm_bits) ||
        !rcx_attempts_open(&context->comms.attempts, &context->heap) ||
        !open_told(context))
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "no memory for communicators");
    status =
        rcx_comm_make_full(context, RCX_COMM_ID_INTERNAL, &context->internal);
    if (status == RCX_OK)
        status =
            rcx_comm_make_full(context, RCX_COMM_ID_WORLD, &context->world);
    if (status == RCX_OK)
        strcpy(context->world->name, "world");
    return status;
}

/* Set the thread mode, and whether threads may sleep. */
static void choose_threads(struct rcx_context *context,
                           const rcx_params_t *params)
{
    context->threads = is_given(params, RCX_PARAM_THREADS)
                           ? params->threads
                           : RCX_THREAD_SERIALIZED;
    if (is_given(params, RCX_PARAM_PROGRESS) && params->progress_thread)
        context->config.progress_thread = true;
    if (context->config.progress_thread &&
        context->threads == RCX_THREAD_SINGLE)
        context->threads = RCX_THREAD_SERIALIZED;
    context->sleeper.is_wanted =
        context->config.progress_thread ||
        context->config.wait == RCX_WAIT_BLOCK ||
        (is_given(params, RCX_PARAM_WAKEUP) && params->wakeup);
    context->sleeper.fd = context->sleeper.timer_fd = -1;
    context->sleeper.host_fd = context->sleeper.told_fd = -1;
}

/* Called after connect(), which rejects a child of fork(): UCX reads the memory
 * map under a lock that another thread of the parent may have held. */
static rcx_status_t make_guard(struct rcx_context *context)
{
    context->guard = rcx_guard_create();
    return context->guard ? RCX_OK
                          : rcx_fail(&context->log, RCX_ERR_NOMEM,
                                     "no memory for the lock of the context");
}

rcx_status_t rcx_context_create(const rcx_params_t *params,
                                const struct rcx_boot_source *source,
                                rcx_context_t **context_p)
{
    struct rcx_heap heap = {.budget = source->heap_budget};
    struct rcx_context *context = rcx_heap_zalloc_lines(&heap, sizeof *context);
    rcx_status_t status;

    if (!context)
        return RCX_ERR_NOMEM;
    context->heap = heap;
    context->time.born = rcx_instant_now();
    context->layout = source->layout;
    status = rcx_context_configure(params, &context->log, &context->config);
    if (status == RCX_OK || status == RCX_ERR_CONFIG)
        status =
            rcx_config_load(&context->config, &context->heap, &context->log);
    if (status == RCX_ERR_CONFIG) /* handled after connect() */
        status = RCX_OK;
    context->machine = context->config.tuning.machine;
    context->registry =
        (struct rcx_registry){.heap = &context->heap,
                              .log = &context->log,
                              .isa = context->config.isa,
                              .types.first = RCX_USER_TYPE_FIRST,
                              .ops.first = RCX_USER_OP_FIRST};
    if (status == RCX_OK && !context_p)
        status = rcx_fail(&context->log, RCX_ERR_ARG,
                          "rcx_init: context_p=NULL: needs a place for the "
                          "context");
    rcx_builder_init(&context->builder, &context->heap, &context->log);
    choose_threads(context, params);
    if (status == RCX_OK)
        status = connect(context, params, source);
    if (status == RCX_OK)
        status = make_guard(context);
    if (status == RCX_OK)
        open_status(context);
    if (status == RCX_OK)
        status = rcx_observer_open(context);
    if (status == RCX_OK)
        status = make_comms(context);
    if (status != RCX_OK &&
        status != RCX_ERR_CONFIG) /* otherwise it has been logged */
        rcx_config_tell_all(&context->config, &context->log);
    if (status != RCX_OK) {
        rcx_context_destroy(context);
        return status;
    }
    rcx_start_wait_end(&context->start_wait);
    if (context->sleeper.is_wanted)
        status = rcx_sleep_open(context);
    if (status == RCX_OK && context->config.progress_thread)
        status = rcx_thread_start(context);
    if (status != RCX_OK) {
        rcx_context_destroy(context);
        return status;
    }
    settle_in(context, params);
    *context_p = context;
    return RCX_OK;
}
