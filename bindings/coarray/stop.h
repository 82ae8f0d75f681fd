/* SPDX-License-Identifier: BSD-3-Clause */
/* Images that have come to their end, by themselves, where others wait for
 * them. */
#ifndef RCX_BINDINGS_COARRAY_STOP_H
#define RCX_BINDINGS_COARRAY_STOP_H

#include "caf.h"

rcx_status_t caf_stops_open(void);
/* Tells the others, waits for them, and closes all this. */
void caf_stop(void);

/* By ranks in the initial team. */
bool caf_has_stopped(int rank);
bool caf_any_stopped(void);

/* This image has begun a collective of the initial team's. */
void caf_note_entered(void);
/* Some image has stopped before that. */
bool caf_waits_for_stopped(void);
/* This image is about to synchronise with another one. */
void caf_note_sync(int rank);
/* That has stopped before. */
bool caf_has_left(int rank);
/* Fail the team's communicator. RCX has no other way to leave a call, and the
 * communicator is useless if one of its members takes no part. */
void caf_give_up(void);

#endif
