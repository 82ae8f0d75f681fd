/* SPDX-License-Identifier: BSD-3-Clause */
/* What a host attaches to a communicator: settings, a name, data of its own. */
#include <ctype.h>
#include <string.h>

#include "core/api/arguments.h"
#include "core/run/comm/comm_set.h"
#include "core/run/wait/enter.h"

rcx_status_t rcx_comm_set(rcx_comm_t *comm, const char *name, const char *value)
{
    rcx_status_t status;

    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle("comm_set", "comm", comm);
    if (!name || !value)
        return rcx_missing(&comm->context->log,
                           name ? "rcx_comm_set: value" : "rcx_comm_set: name");
    status = rcx_comm_enter(comm);
    if (status != RCX_OK)
        return status;
    status = rcx_comm_change_setting(comm, name, value);
    rcx_comm_leave(comm);
    return status;
}

/* Names are printed in lines of the log and in dumps. */
static bool is_name(const char *name)
{
    size_t length = 0;

    while (name[length] && !iscntrl((unsigned char)name[length]))
        length++;
    return !name[length] && length <= RCX_COMM_NAME_MAX;
}

rcx_status_t rcx_comm_set_name(rcx_comm_t *comm, const char *name)
{
    rcx_status_t status;

    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle("comm_set_name", "comm", comm);
    if (!name)
        return rcx_missing(&comm->context->log, "rcx_comm_set_name: name");
    if (!is_name(name))
        return rcx_fail(&comm->context->log, RCX_ERR_ARG,
                        "rcx_comm_set_name: name: needs at most %d bytes, "
                        "without control characters",
                        RCX_COMM_NAME_MAX);
    status = rcx_enter(comm->context);
    if (status != RCX_OK)
        return status;
    strcpy(comm->name, name);
    rcx_leave(comm->context);
    return RCX_OK;
}

const char *rcx_comm_name(const rcx_comm_t *comm)
{
    return rcx_comm_is_valid(comm) ? comm->name : NULL;
}

rcx_status_t rcx_comm_set_data(rcx_comm_t *comm, void *data,
                               rcx_destroy_fn_t destroy)
{
    rcx_status_t status;

    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle("comm_set_data", "comm", comm);
    status = rcx_enter(comm->context);
    if (status != RCX_OK)
        return status;
    comm->host = (struct rcx_host_data){data, destroy};
    rcx_leave(comm->context);
    return RCX_OK;
}

void *rcx_comm_data(const rcx_comm_t *comm)
{
    return rcx_comm_is_valid(comm) ? comm->host.data : NULL;
}
