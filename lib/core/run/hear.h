/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes that come from other ranks. */
#ifndef RCX_CORE_RUN_HEAR_H
#define RCX_CORE_RUN_HEAR_H

struct rcx_comm;
struct rcx_context;
struct rcx_early_note;

struct rcx_notes {
    struct rcx_early_note *early; /* failures, told too early */
};

/* Read what has come. */
void rcx_notes_read(struct rcx_context *context);
/* A new communicator may have failed on others already. */
void rcx_notes_recall(struct rcx_comm *comm);
void rcx_notes_forget(struct rcx_context *context);

#endif
