/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frees a communicator with what other modules keep for it.
 */
#include "core/run/comm/comm_close.h"

#include "core/run/detect/straggler.h"
#include "core/run/fault/failure.h"
#include "core/run/plan/cache.h"
#include "core/run/request/p2p.h"

void rcx_comm_close(struct rcx_comm *comm)
{
    rcx_cache_clear(&comm->cache);
    rcx_straggler_free(comm);
    rcx_p2p_close(&comm->p2p);
    rcx_comm_set_freed(comm);
    rcx_comm_destroy(comm);
}

void rcx_comm_close_or_keep(struct rcx_comm *comm)
{
    if (!comm)
        return;
    if (rcx_comm_is_failed(comm) ||
        rcx_p2p_warn_unreceived(comm,
                                "; the communicator's id is not used again"))
        comm->magic = 0;
    else
        rcx_comm_close(comm);
}
