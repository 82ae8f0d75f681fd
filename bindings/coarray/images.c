/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Images: their beginning and end, synchronisation, coarrays as memory of their own.
 * Functions and arguments are those that gfortran calls (-fcoarray=lib).
 */
#include "caf.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void _gfortran_random_init(bool repeatable, bool distinct, int image);

static rcx_context_t *context;

/* ---- Errors ----------------------------------------------------------------------- */

static int stat_of(rcx_status_t status, const rcx_error_info_t *info)
{
    if (status == RCX_OK)
        return 0;
    return status == RCX_ERR_PEER_FAILED || info->rank_count > 0
               ? CAF_STAT_FAILED_IMAGE
               : CAF_STAT_ERROR;
}

static bool is_memory(const void *place)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    return msync((void *)((uintptr_t)place / page * page), 1, MS_ASYNC) == 0;
}

/* Where errmsg= is, NULL for not to be found: gfortran 12 hands over the text itself in
 * collectives, unless its length is deferred, and the address of its address in sync all,
 * images and memory. */
static char *place_of(const struct caf_outcome *outcome)
{
    char *there;

    if (outcome->errmsg_len == 0 || !is_memory(outcome->errmsg))
        return NULL;
    memcpy(&there, outcome->errmsg, sizeof there);
    return outcome->is_sync && is_memory(there) ? there : outcome->errmsg;
}

static void tell(const struct caf_outcome *outcome, int stat, const char *text)
{
    size_t length = strlen(text);
    char *place;

    if (!outcome->stat) {
        fprintf(stderr, "image %d: %s: %s\n", rcx_comm_rank(caf_world()) + 1,
                outcome->statement, text);
        rcx_abort(context, 1, outcome->statement);
        _exit(1);
    }
    *outcome->stat = stat;
    place = place_of(outcome);
    if (!place)
        return;
    if (length > outcome->errmsg_len)
        length = outcome->errmsg_len;
    memcpy(place, text, length);
    memset(place + length, ' ', outcome->errmsg_len - length);
}

void caf_end(const struct caf_outcome *outcome, rcx_status_t status)
{
    rcx_error_info_t info = {.text = ""};

    if (status == RCX_OK) {
        if (outcome->stat)
            *outcome->stat = 0;
        return;
    }
    if (rcx_comm_error(caf_world(), &info) != RCX_OK || !info.text[0])
        info.text = rcx_status_string(status);
    tell(outcome, stat_of(status, &info), info.text);
}

void caf_refuse(const struct caf_outcome *outcome, const char *text)
{
    tell(outcome, CAF_STAT_ERROR, text);
}

/* ---- Begin and end ------------------------------------------------------------------ */

rcx_context_t *caf_context(void)
{
    if (!context) {
        const rcx_status_t status = rcx_init(NULL, &context);

        if (status != RCX_OK) {
            fprintf(stderr, "coarrays: %s\n", rcx_status_string(status));
            exit(1);
        }
    }
    return context;
}

rcx_comm_t *caf_world(void)
{
    return rcx_world(caf_context());
}

void _gfortran_caf_init(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    caf_context();
}

/* An image that ends waits for those that go on. */
void _gfortran_caf_finalize(void)
{
    if (context)
        rcx_finalize(&context);
}

int _gfortran_caf_this_image(int distance)
{
    (void)distance;
    return rcx_comm_rank(caf_world()) + 1;
}

int _gfortran_caf_num_images(int distance, int failed)
{
    rcx_error_info_t info;
    const int all = rcx_comm_size(caf_world());

    (void)distance;
    if (failed < 0)
        return all;
    if (rcx_comm_error(caf_world(), &info) != RCX_OK)
        info.rank_count = 0;
    return failed ? info.rank_count : all - info.rank_count;
}

void _gfortran_caf_random_init(bool repeatable, bool distinct)
{
    _gfortran_random_init(repeatable, distinct, _gfortran_caf_this_image(0));
}

/* ---- Stop --------------------------------------------------------------------------- */

_Noreturn void _gfortran_caf_stop_numeric(int code, bool quiet)
{
    if (!quiet)
        fprintf(stderr, "STOP %d\n", code);
    _gfortran_caf_finalize();
    exit(code);
}

_Noreturn void _gfortran_caf_stop_str(const char *text, size_t length,
                                      bool quiet)
{
    if (!quiet && length > 0)
        fprintf(stderr, "STOP %.*s\n", (int)length, text);
    _gfortran_caf_finalize();
    exit(0);
}

static _Noreturn void end_all(int code)
{
    fflush(NULL);
    rcx_abort(caf_context(), code, "error stop");
    _exit(code);
}

_Noreturn void _gfortran_caf_error_stop(int code, bool quiet)
{
    if (!quiet)
        fprintf(stderr, "ERROR STOP %d\n", code);
    end_all(code ? code : 1);
}

_Noreturn void _gfortran_caf_error_stop_str(const char *text, size_t length,
                                            bool quiet)
{
    if (!quiet)
        fprintf(stderr, "ERROR STOP %.*s\n", (int)length, text);
    end_all(1);
}

/* ---- Failed images -------------------------------------------------------------------- */

_Noreturn void _gfortran_caf_fail_image(void)
{
    raise(SIGKILL);
    _exit(1);
}

static bool has_failed(int image)
{
    rcx_error_info_t info;

    if (rcx_comm_error(caf_world(), &info) == RCX_OK)
        for (int i = 0; i < info.rank_count; i++)
            if (info.ranks[i] == image - 1)
                return true;
    return false;
}

int _gfortran_caf_image_status(int image, void *team)
{
    (void)team;
    return has_failed(image) ? CAF_STAT_FAILED_IMAGE : 0;
}

/* A vector of integers of kind bytes, which gfortran frees. */
static void list_images(struct caf_array *array, const int *kind,
                        const int *images, int n)
{
    const size_t bytes = kind ? (size_t)*kind : sizeof(int);
    char *data = malloc((size_t)n * bytes + 1);

    for (int i = 0; data && i < n; i++) {
        const long long image = images[i];

        memcpy(data + (size_t)i * bytes, &image, bytes); /* little endian */
    }
    array->base_addr = data;
    array->dtype.elem_len = bytes;
    array->dtype.rank = 1;
    array->dtype.type = CAF_INTEGER;
    array->offset = (size_t)-1;
    array->span = (ptrdiff_t)bytes;
    array->dim[0].stride = 1;
    array->dim[0].lower = 1;
    array->dim[0].upper = data ? n : 0;
}

void _gfortran_caf_failed_images(struct caf_array *array, void *team, int *kind)
{
    int images[8], n = 0;

    (void)team;
    for (int i = 1; i <= rcx_comm_size(caf_world()) && n < 8; i++)
        if (has_failed(i))
            images[n++] = i;
    list_images(array, kind, images, n);
}

void _gfortran_caf_stopped_images(struct caf_array *array, void *team,
                                  int *kind)
{
    (void)team;
    list_images(array, kind, NULL, 0);
}

/* ---- Synchronisation ---------------------------------------------------------------- */

void _gfortran_caf_sync_all(int *stat, char *errmsg, size_t errmsg_len)
{
    const struct caf_outcome outcome = {"sync all", stat, errmsg, errmsg_len,
                                        true};

    caf_end(&outcome, rcx_barrier(caf_world()));
}

void _gfortran_caf_sync_memory(int *stat, char *errmsg, size_t errmsg_len)
{
    const struct caf_outcome outcome = {"sync memory", stat, errmsg, errmsg_len,
                                        true};

    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    caf_end(&outcome, RCX_OK);
}

enum { SYNC_TAG = 1 };

static bool is_wanted(int image, int count, const int images[], int me)
{
    if (count < 0)
        return image != me;
    for (int i = 0; i < count; i++)
        if (images[i] == image)
            return image != me;
    return false;
}

/* An empty message to each, and one from each: as often as they say so to each other. */
static rcx_status_t sync_with(int count, const int images[])
{
    rcx_comm_t *world = caf_world();
    const int n = rcx_comm_size(world), me = rcx_comm_rank(world) + 1;
    rcx_request_t **requests = calloc((size_t)n * 2, sizeof *requests);
    rcx_status_t status = requests ? RCX_OK : RCX_ERR_NOMEM, ended;

    for (int i = 1; status == RCX_OK && i <= n; i++) {
        if (!is_wanted(i, count, images, me))
            continue;
        status = rcx_isend(NULL, 0, RCX_BYTE, i - 1, SYNC_TAG, world,
                           &requests[2 * i - 2]);
        if (status == RCX_OK)
            status = rcx_irecv(NULL, 0, RCX_BYTE, i - 1, SYNC_TAG, world,
                               &requests[2 * i - 1]);
    }
    ended = requests ? rcx_wait_all((size_t)n * 2, requests) : RCX_OK;
    for (int i = 0; requests && i < 2 * n; i++)
        if (requests[i])
            rcx_request_free(&requests[i]);
    free(requests);
    return status != RCX_OK ? status : ended;
}

void _gfortran_caf_sync_images(int count, int images[], int *stat, char *errmsg,
                               size_t errmsg_len)
{
    const struct caf_outcome outcome = {"sync images", stat, errmsg, errmsg_len,
                                        true};
    const int n = rcx_comm_size(caf_world());

    for (int i = 0; i < count; i++)
        if (images[i] < 1 || images[i] > n) {
            caf_refuse(&outcome, "no such image");
            return;
        }
    caf_end(&outcome, sync_with(count, images));
}

/* ---- Coarrays, as memory of their own ------------------------------------------------ */

enum { ALLOCATABLE = 1, REGISTER_ONLY = 7, ALLOCATE_ONLY = 8 };

/* What a token is: remote access has more to know. */
struct coarray {
    void *memory;
};

void _gfortran_caf_register(size_t bytes, int type, void **token,
                            struct caf_array *array, int *stat, char *errmsg,
                            size_t errmsg_len)
{
    const struct caf_outcome outcome = {"allocate of a coarray", stat, errmsg,
                                        errmsg_len, false};
    struct coarray *coarray =
        type == ALLOCATE_ONLY ? *token : calloc(1, sizeof *coarray);

    if (coarray && type != REGISTER_ONLY)
        coarray->memory = calloc(1, bytes ? bytes : 1);
    if (!coarray || (type != REGISTER_ONLY && !coarray->memory)) {
        caf_end(&outcome, RCX_ERR_NOMEM);
        return;
    }
    *token = coarray;
    array->base_addr = coarray->memory;
    caf_end(&outcome, type == ALLOCATABLE ? rcx_barrier(caf_world()) : RCX_OK);
}

void _gfortran_caf_deregister(void **token, int type, int *stat, char *errmsg,
                              size_t errmsg_len)
{
    enum { DEALLOCATE_ONLY = 1 };
    const struct caf_outcome outcome = {"deallocate of a coarray", stat, errmsg,
                                        errmsg_len, false};
    struct coarray *coarray = *token;
    /* image control, like allocate; at the end of the program nobody is there */
    const rcx_status_t status =
        type == DEALLOCATE_ONLY || !context ? RCX_OK : rcx_barrier(caf_world());

    free(coarray->memory);
    coarray->memory = NULL;
    if (type != DEALLOCATE_ONLY) {
        free(coarray);
        *token = NULL;
    }
    caf_end(&outcome, status);
}
