/* SPDX-License-Identifier: BSD-3-Clause */
/* Images that have stopped, by stop or at the end of the program. A statement
 * that waits for such an image must return stat_stopped_image. */
#ifndef RCX_BINDINGS_COARRAY_STOP_H
#define RCX_BINDINGS_COARRAY_STOP_H

#include "caf.h"

rcx_status_t caf_stops_open(void);
/* Tell the other images that this one stops, wait until all have stopped, and
 * free all. */
void caf_stop(void);

/* Whether an image has stopped, by its rank in the initial team. */
bool caf_has_stopped(int rank);
bool caf_any_stopped(void);

/* Publish how many collectives of the initial team this image has begun. */
void caf_note_entered(void);
/* Whether an image has stopped before it began the current collective of the
 * initial team. */
bool caf_waits_for_stopped(void);
/* Count a synchronisation of this image with rank (sync images), before it
 * begins. */
void caf_note_sync(int rank);
/* Whether rank has stopped before the last synchronisation that was counted. */
bool caf_has_left(int rank);
/* Fail the initial team's communicator, to leave a call that waits for a
 * stopped image. RCX has no other way, and a communicator without one of its
 * members is useless. */
void caf_give_up(void);

#endif
