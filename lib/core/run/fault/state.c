/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of the failure state machine: a row for each event, a column for
 * each state. A failed communicator stays failed; a freed one ignores events.
 */
#include "core/run/fault/state.h"

#define C(state, action)                                                       \
    {                                                                          \
        RCX_COMM_##state, RCX_COMM_##action                                    \
    }
#define P(state, action)                                                       \
    {                                                                          \
        RCX_PEER_##state, RCX_PEER_##action                                    \
    }

/* clang-format off */
const rcx_comm_table_t rcx_comm_table = {
    /*                         OK                    SUSPECT
     * FAILED              FREED */
    [RCX_COMM_LOST]         = {C(SUSPECT, KEEP),     C(SUSPECT, NOTHING),  C(FAILED, NOTHING), C(FREED, NOTHING)},
    [RCX_COMM_DRAINED]      = {C(OK, NOTHING),       C(FAILED, ANNOUNCE),  C(FAILED, NOTHING), C(FREED, NOTHING)},
    [RCX_COMM_FOUND]        = {C(FAILED, ANNOUNCE),  C(FAILED, ANNOUNCE),  C(FAILED, NOTHING), C(FREED, NOTHING)},
    [RCX_COMM_FOUND_BY_ALL] = {C(FAILED, FAIL),      C(FAILED, FAIL),      C(FAILED, NOTHING), C(FREED, NOTHING)},
    [RCX_COMM_REPORTED]     = {C(FAILED, FAIL),      C(FAILED, FAIL),      C(FAILED, ADD),     C(FREED, NOTHING)},
    [RCX_COMM_FREE]         = {C(FREED, NOTHING),    C(FREED, NOTHING),    C(FREED, NOTHING),  C(FREED, NOTHING)},
};

const rcx_peer_table_t rcx_peer_table = {
    /*                         OK                    SUSPECT
     * FAILED                 DEPARTED */
    [RCX_PEER_LOST]         = {P(SUSPECT, DRAIN),    P(SUSPECT, DRAIN),    P(FAILED, NOTHING),    P(DEPARTED, DRAIN)},
    [RCX_PEER_EXITED]       = {P(OK, CAP),           P(SUSPECT, CAP),      P(FAILED, CAP),        P(DEPARTED, CAP)},
    [RCX_PEER_DRAINED]      = {P(OK, NOTHING),       P(FAILED, FAIL_COMMS), P(FAILED, FAIL_COMMS), P(DEPARTED, FAIL_COMMS)},
    [RCX_PEER_FINALIZES]    = {P(DEPARTED, REPLY),   P(DEPARTED, REPLY),   P(FAILED, REPLY),      P(DEPARTED, REPLY)},
    [RCX_PEER_REPORTED]     = {P(FAILED, FAIL_COMMS), P(FAILED, FAIL_COMMS), P(FAILED, FAIL_COMMS), P(DEPARTED, FAIL_COMMS)},
};
/* clang-format on */
