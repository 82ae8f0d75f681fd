/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan cache of communicators with the same members: programs in a hash
 * table, in order of last use, bounded by bytes.
 */
#ifndef RCX_CORE_RUN_PLAN_CACHE_H
#define RCX_CORE_RUN_PLAN_CACHE_H

#include "core/run/object/comm.h"

/*
 * The program of a call: found or compiled. It is pinned until
 * rcx_program_unpin(). Errors are logged, and nothing has been sent then.
 */
rcx_status_t rcx_program_get(struct rcx_comm *comm, const struct rcx_call *call,
                             struct rcx_program **program_p);
/* The same for the program that follows first, once the lengths of blocks in
 * transit are known. */
rcx_status_t rcx_program_follow(struct rcx_comm *comm,
                                const struct rcx_program *first,
                                const size_t passing[],
                                struct rcx_program **program_p);
static inline void rcx_program_pin(struct rcx_program *program)
{
    program->pins++;
}
void rcx_cache_shrink(struct rcx_program_cache *cache);
static inline void rcx_program_unpin(struct rcx_program_cache *cache,
                                     struct rcx_program *program)
{
    program->pins--;
    if (__builtin_expect(cache->bytes > cache->limit, 0))
        rcx_cache_shrink(cache);
}
void rcx_cache_clear(struct rcx_program_cache *cache);
/* Remove what was compiled for a user's type or op that is freed; 0: none. */
void rcx_cache_remove(struct rcx_program_cache *cache, rcx_datatype_t type,
                      rcx_op_t op);

#endif
