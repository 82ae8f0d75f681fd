/* SPDX-License-Identifier: BSD-3-Clause */
/* The bootstrap of a job of one process. It refuses a process that a launcher
 * has started as one of several. */
#include "bootstrap/bootstraps.h"
#include "bootstrap/launcher.h"

#include <assert.h>
#include <string.h>

struct single {
    struct rcx_boot base;
    struct rcx_heap *heap;
    struct rcx_log *log;
    void *blob;
    size_t bytes;
};

static rcx_status_t open_boot(const struct rcx_boot_args *args,
                              struct rcx_boot **boot_p)
{
#ifdef RCX_HAVE_PMIX
    static const char reason[] = "no PMIx server is known (PMIX_NAMESPACE is "
                                 "not set)";
#else
    static const char reason[] =
        "this RCX is built without PMIx (rebuild it with -Dpmix=enabled)";
#endif
    const rcx_status_t status = rcx_launcher_check_alone(args, reason);
    struct single *single;

    if (status != RCX_OK)
        return status;
    single = rcx_heap_zalloc(args->heap, sizeof *single);
    if (!single)
        return rcx_fail(args->log, RCX_ERR_NOMEM, "no memory for %zu bytes",
                        sizeof *single);
    single->base = (struct rcx_boot){
        .ops = &rcx_boot_single, .rank = 0, .size = 1, .local_size = 1};
    single->heap = args->heap;
    single->log = args->log;
    *boot_p = &single->base;
    rcx_launcher_warn_alone(args);
    return RCX_OK;
}

static rcx_status_t local_exchange(struct rcx_boot *boot, const void *record,
                                   size_t bytes, rcx_local_fn_t see, void *arg)
{
    (void)bytes;
    see(boot->rank, record, arg);
    return RCX_OK;
}

static rcx_status_t publish(struct rcx_boot *boot, const void *blob,
                            size_t bytes)
{
    struct single *single = (struct single *)boot;

    assert(!single->blob);
    single->blob = rcx_heap_alloc(single->heap, bytes);
    if (!single->blob)
        return rcx_fail(single->log, RCX_ERR_NOMEM, "no memory for %zu bytes",
                        bytes);
    memcpy(single->blob, blob, bytes);
    single->bytes = bytes;
    return RCX_OK;
}

static rcx_status_t lookup(struct rcx_boot *boot, int rank, const void **blob_p,
                           size_t *bytes_p)
{
    const struct single *single = (const struct single *)boot;

    (void)rank;
    assert(rank == 0 && single->blob);
    *blob_p = single->blob;
    *bytes_p = single->bytes;
    return RCX_OK;
}

static rcx_status_t barrier(struct rcx_boot *boot, bool (*go_on)(void *arg),
                            void *arg)
{
    (void)boot;
    (void)go_on;
    (void)arg;
    return RCX_OK;
}

/* There is no other process to end. */
static rcx_status_t end_job(struct rcx_boot *boot, int code, const char *text)
{
    (void)boot;
    (void)code;
    (void)text;
    return RCX_OK;
}

static void close_boot(struct rcx_boot *boot)
{
    struct single *single = (struct single *)boot;

    rcx_heap_free(single->heap, single->blob);
    rcx_heap_free(single->heap, single);
}

static void describe(void (*line)(const char *name, const char *value,
                                  void *arg),
                     void *arg)
{
    char text[RCX_LAUNCHER_TEXT];

    if (rcx_launcher_find(text))
        line("not used, a launcher was found", text, arg);
    else
        line("used", "if no launcher is found", arg);
}

const struct rcx_boot_ops rcx_boot_single = {
    .name = "single",
    .open = open_boot,
    .local_exchange = local_exchange,
    .publish = publish,
    .lookup = lookup,
    .barrier = barrier,
    .end_job = end_job,
    .close = close_boot,
    .describe = describe,
};
