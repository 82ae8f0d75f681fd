/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations that all files of libcaf_rcx share: gfortran's array descriptor,
 * teams, waiting for other images, and the report of errors. */
#ifndef RCX_BINDINGS_COARRAY_CAF_H
#define RCX_BINDINGS_COARRAY_CAF_H

#include <rcx/rcx.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* gfortran's descriptor of an array or of a scalar (rank 0), since gfortran
 * 8. */
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
    ptrdiff_t span; /* bytes between elements at a stride of 1 */
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

/* Values of ISO_FORTRAN_ENV, as gfortran defines them. */
enum {
    CAF_STAT_LOCKED = 1,
    CAF_STAT_LOCKED_OTHER_IMAGE = 2,
    CAF_STAT_ERROR = 3,
    CAF_STAT_STOPPED_IMAGE = 6000,
    CAF_STAT_FAILED_IMAGE = 6001
};

/* How a statement reports its end: its stat= and errmsg= arguments. */
struct caf_outcome {
    const char *statement;
    int *stat; /* NULL: an error ends the program */
    char *errmsg;
    size_t errmsg_len;
    bool is_sync; /* sync all, images or memory: see place_of() in images.c */
};

/* ---- Images and teams ---------------------------------------------------- */

struct caf_team {
    rcx_comm_t *comm;
    int number;       /* of form team; -1: the initial team */
    int *ranks;       /* of members, in the initial team; NULL: equal */
    uint64_t entered; /* number of collectives begun, with the current one */
    struct caf_team *parent, *next;
};

/* The RCX context. Starts RCX if necessary: static coarrays are registered
 * before main(). */
rcx_context_t *caf_context(void);
struct caf_team *caf_initial(void);
/* The current team. */
struct caf_team *caf_team(void);
int caf_me(void); /* this image's rank in the initial team */
/* The rank of an image of team in the initial team; -1: no such image. Image 0
 * is this image. */
int caf_rank_of(const struct caf_team *team, int image);
void caf_enter_team(struct caf_team *team);
/* Allocate a team, which lives until the program ends. NULL: no memory. */
struct caf_team *caf_new_team(void);

/* ---- Waiting ------------------------------------------------------------- */

/* Call an RCX collective of the current team, on the communicator that
 * caf_enter() returns. An image that must answer requests of other images
 * (far.h) uses the nonblocking call and answers while it waits. Other images
 * use the blocking call, which is cheaper. */
#define CAF_CALL(call, ...)                                                    \
    ({                                                                         \
        rcx_request_t *caf_request = NULL;                                     \
        caf_far_is_asked()                                                     \
            ? caf_wait(rcx_i##call(__VA_ARGS__, &caf_request), &caf_request)   \
            : rcx_##call(__VA_ARGS__);                                         \
    })
bool caf_far_is_asked(void); /* see caf_far_expect() */
rcx_status_t caf_wait(rcx_status_t begun, rcx_request_t **request_p);
rcx_status_t caf_wait_a_little(rcx_request_t *request);
/* To be called between two reads of memory that another image may change: makes
 * progress. Returns true once in 64 calls: the caller then checks for failed
 * images, which takes longer. */
bool caf_pause(unsigned *looks);
/* Whether the image with this rank in the initial team has failed. */
bool caf_has_failed(int rank);
bool caf_any_failed(void);
/* Count a collective of the current team, before it is called, and return the
 * communicator for it. */
rcx_comm_t *caf_enter(void);
/* Complete this image's stores, then a barrier of the current team (sync
 * all). */
rcx_status_t caf_sync(void);
/* Wait until all stores of this image to other images are visible there. */
rcx_status_t caf_complete(void);

/* ---- Errors -------------------------------------------------------------- */

/* Report the status of a statement in stat= and errmsg=. After an error without
 * stat=, end the program. */
void caf_end(const struct caf_outcome *outcome, rcx_status_t status);
/* Report an error that is not a status of RCX, like caf_end(): as
 * CAF_STAT_ERROR, or as stat. */
void caf_refuse(const struct caf_outcome *outcome, const char *text);
void caf_refuse_as(const struct caf_outcome *outcome, int stat,
                   const char *text);

#endif
