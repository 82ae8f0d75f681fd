/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes that come from other ranks. */
#ifndef RCX_CORE_RUN_HEAR_H
#define RCX_CORE_RUN_HEAR_H

struct rcx_comm;
struct rcx_context;
struct rcx_early_note;

enum {
    RCX_NOTES_LEFT = 1, /* it has said that it finalizes */
    RCX_NOTES_SEEN = 2  /* it knows that this one does */
};

struct rcx_notes {
    struct rcx_early_note *early; /* failures, told too early */
    unsigned char *known;         /* by rank: some of the following; or NULL */
};

/* Read what has come. */
void rcx_notes_read(struct rcx_context *context);
/* A new communicator may have failed on others already. */
void rcx_notes_recall(struct rcx_comm *comm);
void rcx_notes_forget(struct rcx_context *context);
/* What is known of a rank of the context. */
static inline unsigned rcx_notes_known(const struct rcx_notes *notes, int rank)
{
    return notes->known ? notes->known[rank] : 0;
}

#endif
