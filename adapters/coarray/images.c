/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Images: start and end of the program, report of errors, failed images. The
 * functions that begin with _gfortran_caf_ are called by gfortran's code
 * (-fcoarray=lib), which determines their arguments.
 */
#include "caf.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "far.h"
#include "memory.h"
#include "stop.h"

void _gfortran_flush_i4(const int *unit); /* NULL: all units */
void _gfortran_random_init(bool repeatable, bool distinct, int image);

static rcx_context_t *context;
static struct caf_team initial = {.number = -1}, *current = &initial;
static struct caf_team *teams; /* all teams except the initial one */

/* ---- Errors -------------------------------------------------------------- */

/* Whether an error with this status names ranks that have failed. Other
 * statuses, such as that of rcx_comm_abort(), name ranks that have only left a
 * call. */
static bool is_failure(rcx_status_t status)
{
    return status == RCX_ERR_PEER_FAILED || status == RCX_ERR_TIMEOUT ||
           status == RCX_ERR_TRANSPORT;
}

bool caf_has_failed(int rank)
{
    rcx_error_info_t info;

    if (caf_far_has_lost(rank))
        return true;
    if (rcx_comm_error(initial.comm, &info) == RCX_OK &&
        is_failure(info.status))
        for (int i = 0; i < info.rank_count; i++)
            if (info.ranks[i] == rank)
                return true;
    return false;
}

bool caf_any_failed(void)
{
    for (int i = 0; i < rcx_comm_size(initial.comm); i++)
        if (caf_has_failed(i))
            return true;
    return false;
}

static bool is_memory(const void *place)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    return msync((void *)((uintptr_t)place / page * page), 1, MS_ASYNC) == 0;
}

/* Address of errmsg=; NULL: unknown. gfortran 12 passes the address of its
 * address in sync all, sync images and sync memory. In collectives it passes
 * the text itself instead of its address, unless the length is deferred. */
static char *place_of(const struct caf_outcome *outcome)
{
    char *there;

    if (outcome->errmsg_len == 0 || !is_memory(outcome->errmsg))
        return NULL;
    memcpy(&there, outcome->errmsg, sizeof there);
    return outcome->is_sync && is_memory(there) ? there : outcome->errmsg;
}

/* End all images, after flushing output. */
static _Noreturn void end_here(int code, const char *why)
{
    _gfortran_flush_i4(NULL);
    fflush(NULL);
    rcx_abort(caf_context(), code, why);
    _exit(code);
}

static void tell(const struct caf_outcome *outcome, int stat, const char *text)
{
    size_t length = strlen(text);
    char *place;

    if (!outcome->stat) {
        dprintf(STDERR_FILENO, "image %d: %s: %s\n", caf_me() + 1,
                outcome->statement, text);
        end_here(1, outcome->statement);
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
    unsigned looks = 0;

    if (status == RCX_OK) {
        if (outcome->stat)
            *outcome->stat = 0;
        return;
    }
    if (rcx_comm_error(current->comm, &info) != RCX_OK || !info.text[0])
        info.text = rcx_status_string(status);
    /* A communicator is aborted only if an image has stopped (caf_give_up()).
     * Wait for the record of that image, which is about to arrive here, too. */
    while (info.status == RCX_ERR_COMM_FAILED && !caf_any_stopped() &&
           !caf_any_failed())
        caf_pause(&looks);
    if (is_failure(status) || is_failure(info.status))
        tell(outcome, CAF_STAT_FAILED_IMAGE, info.text);
    else if (info.status == RCX_ERR_COMM_FAILED || caf_any_stopped())
        tell(outcome, CAF_STAT_STOPPED_IMAGE, "an image has stopped");
    else
        tell(outcome, CAF_STAT_ERROR, info.text);
}

void caf_refuse_as(const struct caf_outcome *outcome, int stat,
                   const char *text)
{
    tell(outcome, stat, text);
}

void caf_refuse(const struct caf_outcome *outcome, const char *text)
{
    tell(outcome, CAF_STAT_ERROR, text);
}

/* ---- Start and end ------------------------------------------------------- */

/* Open what images need of each other before the first statement. Collective
 * over all images. */
static rcx_status_t meet(void)
{
    rcx_status_t status = caf_far_open(initial.comm);

    if (status == RCX_OK)
        status = caf_stops_open();
    return status == RCX_OK ? rcx_barrier(initial.comm) : status;
}

rcx_context_t *caf_context(void)
{
    rcx_status_t status;

    if (context)
        return context;
    status = rcx_init(NULL, &context);
    if (status == RCX_OK) {
        initial.comm = rcx_world(context);
        status = meet();
    }
    if (status != RCX_OK) {
        dprintf(STDERR_FILENO, "coarrays: %s\n", rcx_status_string(status));
        exit(1);
    }
    return context;
}

struct caf_team *caf_initial(void)
{
    caf_context();
    return &initial;
}

struct caf_team *caf_team(void)
{
    caf_context();
    return current;
}

struct caf_team *caf_new_team(void)
{
    struct caf_team *team = calloc(1, sizeof *team);

    if (team) {
        team->next = teams;
        teams = team;
    }
    return team;
}

void caf_enter_team(struct caf_team *team)
{
    current = team;
}

int caf_me(void)
{
    return rcx_comm_rank(caf_initial()->comm);
}

int caf_rank_of(const struct caf_team *team, int image)
{
    if (image == 0)
        return caf_me();
    if (image < 1 || image > rcx_comm_size(team->comm))
        return -1;
    return team->ranks ? team->ranks[image - 1] : image - 1;
}

static void free_teams(void)
{
    while (teams) {
        struct caf_team *team = teams;

        teams = team->next;
        if (team->comm)
            rcx_comm_free(&team->comm);
        free(team->ranks);
        free(team);
    }
}

void _gfortran_caf_init(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    caf_context();
}

/* Wait until all images have stopped, so that they can access this image's
 * memory, and finalize RCX. */
void _gfortran_caf_finalize(void)
{
    if (!context)
        return;
    caf_stop();
    caf_far_close();
    caf_memory_close();
    free_teams();
    rcx_finalize(&context);
}

int _gfortran_caf_this_image(int distance)
{
    const struct caf_team *team = caf_team();

    while (distance-- > 0 && team->parent)
        team = team->parent;
    return rcx_comm_rank(team->comm) + 1;
}

/* Count the images of the team that is distance levels up. failed: 1: those
 * that have failed; 0: those that have not; -1: all. */
int _gfortran_caf_num_images(int distance, int failed)
{
    const struct caf_team *team = caf_team();
    int count = 0;

    while (distance-- > 0 && team->parent)
        team = team->parent;
    if (failed < 0)
        return rcx_comm_size(team->comm);
    for (int i = 1; i <= rcx_comm_size(team->comm); i++)
        count += caf_has_failed(caf_rank_of(team, i)) == (failed != 0);
    return count;
}

void _gfortran_caf_random_init(bool repeatable, bool distinct)
{
    _gfortran_random_init(repeatable, distinct, _gfortran_caf_this_image(0));
}

/* ---- Stop ---------------------------------------------------------------- */

_Noreturn void _gfortran_caf_stop_numeric(int code, bool quiet)
{
    if (!quiet)
        dprintf(STDERR_FILENO, "STOP %d\n", code);
    _gfortran_caf_finalize();
    exit(code);
}

_Noreturn void _gfortran_caf_stop_str(const char *text, size_t length,
                                      bool quiet)
{
    if (!quiet && length > 0)
        dprintf(STDERR_FILENO, "STOP %.*s\n", (int)length, text);
    _gfortran_caf_finalize();
    exit(0);
}

_Noreturn void _gfortran_caf_error_stop(int code, bool quiet)
{
    if (!quiet)
        dprintf(STDERR_FILENO, "ERROR STOP %d\n", code);
    end_here(code ? code : 1, "error stop");
}

_Noreturn void _gfortran_caf_error_stop_str(const char *text, size_t length,
                                            bool quiet)
{
    if (!quiet)
        dprintf(STDERR_FILENO, "ERROR STOP %.*s\n", (int)length, text);
    end_here(1, "error stop");
}

/* ---- Failed images ------------------------------------------------------- */

_Noreturn void _gfortran_caf_fail_image(void)
{
    raise(SIGKILL);
    _exit(1);
}

/* team: gfortran 12 passes no team, but -1 as its address. */
int _gfortran_caf_image_status(int image, void *team)
{
    const int rank = caf_rank_of(caf_team(), image);

    (void)team;
    if (rank < 0)
        return CAF_STAT_ERROR;
    if (caf_has_failed(rank))
        return CAF_STAT_FAILED_IMAGE;
    return caf_has_stopped(rank) ? CAF_STAT_STOPPED_IMAGE : 0;
}

/* Set *array to a vector of integers of kind bytes. gfortran frees it. */
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
    array->offset = 0;
    array->span = (ptrdiff_t)bytes;
    array->dim[0].stride = 1;
    array->dim[0].lower = 0; /* as in all temporary arrays of gfortran */
    array->dim[0].upper = data ? n - 1 : -1;
}

/* List the images of the current team, by their numbers in it, for which is_one
 * is true. */
static void list_those(struct caf_array *array, const int *kind,
                       bool (*is_one)(int rank))
{
    const struct caf_team *team = caf_team();
    const int n = rcx_comm_size(team->comm);
    int *images = calloc((size_t)n, sizeof *images), count = 0;

    for (int i = 1; images && i <= n; i++)
        if (is_one(caf_rank_of(team, i)))
            images[count++] = i;
    list_images(array, kind, images, count);
    free(images);
}

void _gfortran_caf_failed_images(struct caf_array *array, void *team, int *kind)
{
    (void)team;
    list_those(array, kind, caf_has_failed);
}

void _gfortran_caf_stopped_images(struct caf_array *array, void *team,
                                  int *kind)
{
    (void)team;
    list_those(array, kind, caf_has_stopped);
}
