/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words that several images change: atomic_*, locks, critical sections and
 * events. The word of a lock holds the number of the image that has the lock,
 * or 0; that of an event holds its count. Both have 4 bytes.
 */
#include "access.h"
#include "far.h"

#include <string.h>

/* Execute a sequentially consistent operation on a word of rank: directly if it
 * is mapped here, otherwise by a message to its owner. */
static rcx_status_t change(const struct caf_coarray *c, size_t offset, int rank,
                           const struct caf_change *change, uint64_t *old_p)
{
    const uint64_t address = c->addresses[rank] + offset;
    char *here = caf_near(rank, address, (size_t)change->bytes);

    if (!here)
        return caf_far_change(rank, address, change, old_p);
    *old_p = caf_change_here(here, change);
    return RCX_OK;
}

/* change(), after all earlier stores of this image are visible. */
static rcx_status_t change_in_order(const struct caf_coarray *c, size_t offset,
                                    int rank, const struct caf_change *what,
                                    uint64_t *old_p)
{
    const rcx_status_t status = caf_complete();

    return status == RCX_OK ? change(c, offset, rank, what, old_p) : status;
}

/* ---- atomic_* ------------------------------------------------------------ */

static uint64_t load(const void *value, int kind)
{
    uint64_t word = 0;

    if (value)
        memcpy(&word, value, (size_t)kind); /* little endian */
    return word;
}

static void perform(struct caf_coarray *c, size_t offset, int image,
                    const struct caf_change *what, void *old,
                    const struct caf_outcome *outcome)
{
    const int rank = caf_reach(c, image, outcome);
    static unsigned looks;
    rcx_status_t status;
    uint64_t word;

    if (rank < 0)
        return;
    if (what->op == CAF_ATOMIC_LOAD) /* often called in a loop that waits */
        caf_pause(&looks);
    status = change(c, offset, rank, what, &word);
    if (status == RCX_OK && old)
        memcpy(old, &word, (size_t)what->bytes);
    caf_end(outcome, status);
}

void _gfortran_caf_atomic_define(struct caf_coarray *c, size_t offset,
                                 int image, void *value, int *stat, int type,
                                 int kind)
{
    const struct caf_outcome outcome = {"atomic_define", stat, NULL, 0, false};
    const struct caf_change what = {CAF_ATOMIC_STORE, kind, load(value, kind),
                                    0};

    (void)type;
    perform(c, offset, image, &what, NULL, &outcome);
}

void _gfortran_caf_atomic_ref(struct caf_coarray *c, size_t offset, int image,
                              void *value, int *stat, int type, int kind)
{
    const struct caf_outcome outcome = {"atomic_ref", stat, NULL, 0, false};
    const struct caf_change what = {CAF_ATOMIC_LOAD, kind, 0, 0};

    (void)type;
    perform(c, offset, image, &what, value, &outcome);
}

void _gfortran_caf_atomic_cas(struct caf_coarray *c, size_t offset, int image,
                              void *old, void *compare, void *value, int *stat,
                              int type, int kind)
{
    const struct caf_outcome outcome = {"atomic_cas", stat, NULL, 0, false};
    const struct caf_change what = {CAF_ATOMIC_SWAP_IF, kind, load(value, kind),
                                    load(compare, kind)};

    (void)type;
    perform(c, offset, image, &what, old, &outcome);
}

/* op: one of the first four of enum caf_atomic. */
void _gfortran_caf_atomic_op(int op, struct caf_coarray *c, size_t offset,
                             int image, void *value, void *old, int *stat,
                             int type, int kind)
{
    const struct caf_outcome outcome = {"atomic operation", stat, NULL, 0,
                                        false};
    const struct caf_change what = {(enum caf_atomic)op, kind,
                                    load(value, kind), 0};

    (void)type;
    perform(c, offset, image, &what, old, &outcome);
}

/* ---- Locks --------------------------------------------------------------- */

enum { WORD = sizeof(uint32_t) };

/* Try to take a lock. *holder_p: the image that has it; 0: this image has taken
 * it now. A lock of a failed image is free. */
static rcx_status_t try_lock(const struct caf_coarray *c, size_t offset,
                             int rank, int *holder_p)
{
    struct caf_change what = {CAF_ATOMIC_SWAP_IF, WORD, (uint64_t)caf_me() + 1,
                              0};
    uint64_t holder;
    rcx_status_t status = change(c, offset, rank, &what, &holder);

    if (status == RCX_OK && holder != 0 && caf_has_failed((int)holder - 1)) {
        what.compare = holder;
        status = change(c, offset, rank, &what, &holder);
        if (holder == what.compare)
            holder = 0;
    }
    *holder_p = (int)holder;
    return status;
}

void _gfortran_caf_lock(struct caf_coarray *c, size_t index, int image,
                        int *acquired, int *stat, char *errmsg,
                        size_t errmsg_len)
{
    const struct caf_outcome outcome = {"lock", stat, errmsg, errmsg_len,
                                        false};
    const int rank = caf_reach(c, image, &outcome);
    unsigned looks = 0;
    int holder = 0;
    rcx_status_t status;

    if (rank < 0)
        return;
    status = caf_complete();
    if (status == RCX_OK)
        status = try_lock(c, index * WORD, rank, &holder);
    while (status == RCX_OK && holder != 0 && holder != caf_me() + 1 &&
           !acquired) {
        caf_pause(&looks);
        status = try_lock(c, index * WORD, rank, &holder);
    }
    if (acquired)
        *acquired = status == RCX_OK && holder == 0;
    if (status == RCX_OK && holder == caf_me() + 1 && !acquired)
        caf_refuse_as(&outcome, CAF_STAT_LOCKED,
                      "this image holds the lock already");
    else
        caf_end(&outcome, status);
}

void _gfortran_caf_unlock(struct caf_coarray *c, size_t index, int image,
                          int *stat, char *errmsg, size_t errmsg_len)
{
    const struct caf_outcome outcome = {"unlock", stat, errmsg, errmsg_len,
                                        false};
    const struct caf_change what = {CAF_ATOMIC_SWAP_IF, WORD, 0,
                                    (uint64_t)caf_me() + 1};
    const int rank = caf_reach(c, image, &outcome);
    uint64_t holder = 0;
    rcx_status_t status;

    if (rank < 0)
        return;
    status = change_in_order(c, index * WORD, rank, &what, &holder);
    if (status == RCX_OK && holder == 0)
        caf_refuse_as(&outcome, CAF_STAT_ERROR, "the variable is not locked");
    else if (status == RCX_OK && holder != what.compare)
        caf_refuse_as(&outcome, CAF_STAT_LOCKED_OTHER_IMAGE,
                      "another image holds the lock");
    else
        caf_end(&outcome, status);
}

/* ---- Events -------------------------------------------------------------- */

void _gfortran_caf_event_post(struct caf_coarray *c, size_t index, int image,
                              int *stat, char *errmsg, size_t errmsg_len)
{
    const struct caf_outcome outcome = {"event post", stat, errmsg, errmsg_len,
                                        false};
    const struct caf_change what = {CAF_ATOMIC_ADD, WORD, 1, 0};
    const int rank = caf_reach(c, image, &outcome);
    uint64_t count;

    if (rank >= 0)
        caf_end(&outcome,
                change_in_order(c, index * WORD, rank, &what, &count));
}

/* Events are waited for on their own image only. After the failure of any image
 * the wait ends with an error, as no image may be left that could post. */
void _gfortran_caf_event_wait(struct caf_coarray *c, size_t index, int until,
                              int *stat, char *errmsg, size_t errmsg_len)
{
    const struct caf_outcome outcome = {"event wait", stat, errmsg, errmsg_len,
                                        false};
    int32_t *count = (int32_t *)c->memory + index;
    rcx_status_t status = caf_complete();
    unsigned looks = 0;

    until = until > 1 ? until : 1;
    while (status == RCX_OK &&
           __atomic_load_n(count, __ATOMIC_SEQ_CST) < until) {
        if (caf_pause(&looks) && caf_any_failed())
            status = RCX_ERR_PEER_FAILED;
    }
    if (status == RCX_OK)
        __atomic_fetch_sub(count, until, __ATOMIC_SEQ_CST);
    caf_end(&outcome, status);
}

void _gfortran_caf_event_query(struct caf_coarray *c, size_t index, int image,
                               int *count, int *stat)
{
    const struct caf_outcome outcome = {"event_query", stat, NULL, 0, false};
    const struct caf_change what = {CAF_ATOMIC_LOAD, WORD, 0, 0};

    perform(c, index * WORD, image, &what, count, &outcome);
}
