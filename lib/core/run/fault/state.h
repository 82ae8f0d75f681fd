/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The failure state machine: how events change the state of a communicator and
 * of a peer, and what is to be done then. Detectors raise events and do nothing
 * else. docs/explanation/failure.md has the tables, which lint compares.
 */
#ifndef RCX_CORE_RUN_FAULT_STATE_H
#define RCX_CORE_RUN_FAULT_STATE_H

#include "core/run/object/fault_state.h"

enum rcx_comm_event {
    RCX_COMM_LOST,         /* a message of it is lost */
    RCX_COMM_DRAINED,      /* control messages have been read since */
    RCX_COMM_FOUND,        /* this rank has found a failure */
    RCX_COMM_FOUND_BY_ALL, /* every member finds this failure itself */
    RCX_COMM_REPORTED,     /* another member has announced a failure */
    RCX_COMM_FREE,         /* it is closed */
    RCX_COMM_EVENTS
};

/* KEEP: keep the reason. FAIL: set, log and handle the failure. ANNOUNCE: fail,
 * and tell the other members. ADD: add the ranks of a further report. */
enum rcx_comm_action {
    RCX_COMM_NOTHING,
    RCX_COMM_KEEP,
    RCX_COMM_FAIL,
    RCX_COMM_ANNOUNCE,
    RCX_COMM_ADD
};

enum rcx_peer_event {
    RCX_PEER_LOST,      /* the transport finds that it has failed */
    RCX_PEER_EXITED,    /* the same in the final phase of rcx_finalize() */
    RCX_PEER_DRAINED,   /* control messages have been read since */
    RCX_PEER_FINALIZES, /* it says that it finalizes after a failure */
    RCX_PEER_REPORTED,  /* another rank has announced that it is dead, or the
                           program says so */
    RCX_PEER_EVENTS
};

/* DRAIN: read control messages. FAIL_COMMS: its communicators fail. REPLY:
 * acknowledge. CAP: limit the timeout of the final barrier. */
enum rcx_peer_action {
    RCX_PEER_NOTHING,
    RCX_PEER_DRAIN,
    RCX_PEER_FAIL_COMMS,
    RCX_PEER_REPLY,
    RCX_PEER_CAP
};

struct rcx_comm_transition {
    enum rcx_comm_state state;
    enum rcx_comm_action action;
};
struct rcx_peer_transition {
    enum rcx_peer_state state;
    enum rcx_peer_action action;
};

typedef struct rcx_comm_transition rcx_comm_table_t[RCX_COMM_EVENTS]
                                                   [RCX_COMM_STATES];
typedef struct rcx_peer_transition rcx_peer_table_t[RCX_PEER_EVENTS]
                                                   [RCX_PEER_STATES];

extern const rcx_comm_table_t rcx_comm_table;
extern const rcx_peer_table_t rcx_peer_table;

#endif
