/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names and descriptions of status codes, and what they leave usable.
 */
#include "rcx/rcx.h"

#define TEXT(x) #x
#define VERSION(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)

const char *rcx_version(void)
{
    return VERSION(RCX_VERSION_MAJOR, RCX_VERSION_MINOR, RCX_VERSION_PATCH);
}

const char *rcx_status_string(rcx_status_t status)
{
    switch (status) {
    case RCX_OK: return "RCX_OK: success";
    case RCX_IN_PROGRESS: return "RCX_IN_PROGRESS: not complete yet";
    case RCX_ERR_ARG: return "RCX_ERR_ARG: argument not valid";
    case RCX_ERR_NOMEM: return "RCX_ERR_NOMEM: out of memory";
    case RCX_ERR_UNSUPPORTED: return "RCX_ERR_UNSUPPORTED: not supported";
    case RCX_ERR_CONFIG: return "RCX_ERR_CONFIG: setting not valid";
    case RCX_ERR_LAUNCH: return "RCX_ERR_LAUNCH: launcher or bootstrap error";
    case RCX_ERR_TRANSPORT: return "RCX_ERR_TRANSPORT: network error";
    case RCX_ERR_TIMEOUT: return "RCX_ERR_TIMEOUT: deadline passed";
    case RCX_ERR_MISMATCH:
        return "RCX_ERR_MISMATCH: ranks made calls that do "
               "not match";
    case RCX_ERR_PEER_FAILED:
        return "RCX_ERR_PEER_FAILED: another rank "
               "failed";
    case RCX_ERR_COMM_FAILED:
        return "RCX_ERR_COMM_FAILED: communicator "
               "failed earlier";
    case RCX_ERR_OP: return "RCX_ERR_OP: a user-defined op failed";
    case RCX_ERR_BUSY: return "RCX_ERR_BUSY: still in use";
    case RCX_ERR_FORKED: return "RCX_ERR_FORKED: called in a forked child";
    case RCX_ERR_LIMIT: return "RCX_ERR_LIMIT: a limit is reached";
    case RCX_ERR_INTERNAL: return "RCX_ERR_INTERNAL: a bug in RCX";
    case RCX_ERR_TRUNCATED:
        return "RCX_ERR_TRUNCATED: a message is longer than its receive";
    case RCX_ERR_EXCLUDED:
        return "RCX_ERR_EXCLUDED: the other ranks go on without this one, or too "
               "few of them can be reached";
    case RCX_ERR_CANCELED: return "RCX_ERR_CANCELED: a receive was cancelled";
    }
    return "unknown status";
}

int rcx_status_is_fatal(rcx_status_t status)
{
    switch (status) {
    case RCX_ERR_TRANSPORT:
    case RCX_ERR_TIMEOUT:
    case RCX_ERR_PEER_FAILED:
    case RCX_ERR_COMM_FAILED:
    case RCX_ERR_INTERNAL:
    case RCX_ERR_EXCLUDED: return 1;
    case RCX_OK:
    case RCX_IN_PROGRESS:
    case RCX_ERR_ARG:
    case RCX_ERR_UNSUPPORTED:
    case RCX_ERR_CONFIG:
    case RCX_ERR_LAUNCH:
    case RCX_ERR_OP:
    case RCX_ERR_BUSY:
    case RCX_ERR_FORKED:
    case RCX_ERR_TRUNCATED:
    case RCX_ERR_CANCELED: return 0;
    case RCX_ERR_NOMEM:
    case RCX_ERR_MISMATCH:
    case RCX_ERR_LIMIT: break;
    }
    return -1;
}
