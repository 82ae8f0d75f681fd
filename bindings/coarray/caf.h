/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of libcaf_rcx share: the job, errors as Fortran has them,
 * descriptors. */
#ifndef RCX_BINDINGS_COARRAY_CAF_H
#define RCX_BINDINGS_COARRAY_CAF_H

#include <rcx/rcx.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What gfortran 8 and later hand over for an array, or a scalar (rank 0). */
struct caf_array {
    void *base_addr;
    size_t offset;
    struct {
        size_t elem_len; /* bytes */
        int version;
        signed char rank;
        signed char type; /* enum caf_type */
        short attribute;
    } dtype;
    ptrdiff_t span; /* bytes of a stride of 1 */
    struct {
        ptrdiff_t stride;
        ptrdiff_t lower;
        ptrdiff_t upper;
    } dim[];
};

enum caf_type {
    CAF_INTEGER = 1,
    CAF_LOGICAL = 2,
    CAF_REAL = 3,
    CAF_COMPLEX = 4,
    CAF_DERIVED = 5,
    CAF_CHARACTER = 6
};

/* of ISO_FORTRAN_ENV, as gfortran has them */
enum {
    CAF_STAT_LOCKED = 1,
    CAF_STAT_LOCKED_OTHER_IMAGE = 2,
    CAF_STAT_ERROR = 3,
    CAF_STAT_STOPPED_IMAGE = 6000,
    CAF_STAT_FAILED_IMAGE = 6001
};

/* Where a statement says what went wrong: stat=, errmsg=. */
struct caf_outcome {
    const char *statement;
    int *stat; /* NULL: the program ends there */
    char *errmsg;
    size_t errmsg_len;
    bool is_sync; /* sync all, images, memory */
};

/* ---- Images and teams ---------------------------------------------------- */

struct caf_team {
    rcx_comm_t *comm;
    int number;       /* form team's; -1: the initial one */
    int *ranks;       /* of the initial team, of each; NULL: it is that */
    uint64_t entered; /* collectives begun, this one with them */
    struct caf_team *parent, *next;
};

/* Starts RCX if need be: coarrays are there before main(). */
rcx_context_t *caf_context(void);
struct caf_team *caf_initial(void);
/* The current one. */
struct caf_team *caf_team(void);
int caf_me(void); /* this image's rank in the initial team */
/* An image's rank in the initial team; -1: none. 0: this one. */
int caf_rank_of(const struct caf_team *team, int image);
void caf_enter_team(struct caf_team *team);
/* It lives until the program ends. */
struct caf_team *caf_new_team(void);

/* ---- Waiting ------------------------------------------------------------- */

/* A collective of the current team, on the communicator of caf_enter(). An
 * image that must answer others does so meanwhile; other images save the
 * cost. */
#define CAF_CALL(call, ...)                                                    \
    ({                                                                         \
        rcx_request_t *caf_request = NULL;                                     \
        caf_far_is_asked()                                                     \
            ? caf_wait(rcx_i##call(__VA_ARGS__, &caf_request), &caf_request)   \
            : rcx_##call(__VA_ARGS__);                                         \
    })
bool caf_far_is_asked(void); /* see far.h */
rcx_status_t caf_wait(rcx_status_t begun, rcx_request_t **request_p);
rcx_status_t caf_wait_a_little(rcx_request_t *request);
/* Between two looks at memory that another image may change. True now and then,
 * when it is worth checking for failed images, which takes longer. */
bool caf_pause(unsigned *looks);
/* By its rank in the initial team. */
bool caf_has_failed(int rank);
bool caf_any_failed(void);
/* Counted before the call that it is. */
rcx_comm_t *caf_enter(void);
/* sync all. */
rcx_status_t caf_sync(void);
/* All that this image has stored elsewhere is there. */
rcx_status_t caf_complete(void);

/* ---- Errors -------------------------------------------------------------- */

/* Stores how a statement ended, or ends the program where nobody wants to
 * know. */
void caf_end(const struct caf_outcome *outcome, rcx_status_t status);
/* The same for what RCX was not asked. */
void caf_refuse(const struct caf_outcome *outcome, const char *text);
void caf_refuse_as(const struct caf_outcome *outcome, int stat,
                   const char *text);

#endif
