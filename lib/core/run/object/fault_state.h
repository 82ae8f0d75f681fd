/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * States of communicators and peers as to failures. Only run/fault/state.c says
 * how they change.
 */
#ifndef RCX_CORE_RUN_OBJECT_FAULT_STATE_H
#define RCX_CORE_RUN_OBJECT_FAULT_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* SUSPECT: a message is lost; it fails unless control messages give another
 * reason. FREED: its slot is free. */
enum rcx_comm_state {
    RCX_COMM_OK,
    RCX_COMM_SUSPECT,
    RCX_COMM_FAILED,
    RCX_COMM_FREED,
    RCX_COMM_STATES
};

/* SUSPECT: its process or its connection is gone; control messages may tell
 * why. DEPARTED: it has said that it finalizes after a failure. */
enum rcx_peer_state {
    RCX_PEER_OK,
    RCX_PEER_SUSPECT,
    RCX_PEER_FAILED,
    RCX_PEER_DEPARTED,
    RCX_PEER_STATES
};

struct rcx_peer {
    uint8_t state;         /* enum rcx_peer_state */
    bool has_acknowledged; /* it knows that this rank finalizes */
    bool awaits_reply;     /* it waits until this rank knows that it does */
    bool is_excluded;      /* the others have agreed that it has failed */
    bool has_ended;        /* the program says that its process has */
    uint32_t agree_sent;   /* messages of agreements to it, and from it */
    uint32_t agree_received;
    uint32_t agree_announced; /* DEPARTED: how many it has sent */
};

#endif
