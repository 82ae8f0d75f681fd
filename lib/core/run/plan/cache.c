/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan cache of communicators: a hash table with a list in order of last
 * use.
 */
#include "core/run/plan/cache.h"

#include "core/run/object/comm.h"
#include "core/run/plan/compile.h"

static void unlink_by_use(struct rcx_program_cache *cache,
                          struct rcx_program *e)
{
    *(e->newer ? &e->newer->older : &cache->recent) = e->older;
    *(e->older ? &e->older->newer : &cache->oldest) = e->newer;
}

static void link_newest(struct rcx_program_cache *cache, struct rcx_program *e)
{
    e->newer = NULL;
    e->older = cache->recent;
    *(cache->recent ? &cache->recent->newer : &cache->oldest) = e;
    cache->recent = e;
}

static void evict(struct rcx_program_cache *cache, struct rcx_program *e)
{
    struct rcx_program **link = &cache->buckets[e->hash % RCX_CACHE_BUCKETS];

    while (*link != e)
        link = &(*link)->chain;
    *link = e->chain;
    unlink_by_use(cache, e);
    cache->bytes -= e->bytes;
    cache->context->evictions++;
    rcx_program_free(&cache->context->heap, e);
}

/* Remove the oldest programs until the limit is kept, except pinned ones and
 * the one in use. */
void rcx_cache_shrink(struct rcx_program_cache *cache)
{
    struct rcx_program *e = cache->oldest;

    while (e && cache->bytes > cache->limit) {
        struct rcx_program *newer = e->newer;

        if (e->pins == 0)
            evict(cache, e);
        e = newer;
    }
}

void rcx_cache_clear(struct rcx_program_cache *cache)
{
    while (cache->oldest)
        evict(cache, cache->oldest);
}

/* Requests may continue with it. No call finds it, as 0 is neither a type nor
 * an op. */
static void remove_program(struct rcx_program_cache *cache,
                           struct rcx_program *e, rcx_datatype_t type,
                           rcx_op_t op)
{
    if (e->pins == 0) {
        evict(cache, e);
        return;
    }
    cache->context->evictions++;
    e->key = RCX_NO_CALL_KEY;
    if (e->call.type == type)
        e->call.type = 0;
    if (e->call.op == op)
        e->call.op = 0;
}

void rcx_cache_remove(struct rcx_program_cache *cache, rcx_datatype_t type,
                      rcx_op_t op)
{
    struct rcx_program *e = cache->oldest;

    while (e) {
        struct rcx_program *newer = e->newer;

        if (e->call.type == type || e->call.op == op)
            remove_program(cache, e, type, op);
        e = newer;
    }
}

static rcx_status_t insert(struct rcx_comm *comm, const struct rcx_call *call,
                           const struct rcx_program *first, uint64_t hash,
                           struct rcx_program **program_p)
{
    struct rcx_program_cache *cache = comm->cache;
    struct rcx_program **bucket = &cache->buckets[hash % RCX_CACHE_BUCKETS];
    struct rcx_program *e;
    const rcx_status_t status = rcx_program_compile(comm, call, first, &e);

    if (status != RCX_OK)
        return status;
    e->hash = hash;
    cache->bytes += e->bytes;
    e->chain = *bucket;
    *bucket = e;
    link_newest(cache, e);
    e->pins = 1;
    rcx_cache_shrink(cache);
    *program_p = e;
    return RCX_OK;
}

static rcx_status_t find(struct rcx_comm *comm, const struct rcx_call *call,
                         const struct rcx_program *first,
                         struct rcx_program **program_p)
{
    struct rcx_program_cache *cache = comm->cache;
    struct rcx_program *e = cache->recent;

    if (!e || !rcx_call_is_same(&e->call, call, comm->size)) {
        const uint64_t hash = rcx_call_hash(call, comm->size);

        e = cache->buckets[hash % RCX_CACHE_BUCKETS];
        while (e && (e->hash != hash ||
                     !rcx_call_is_same(&e->call, call, comm->size)))
            e = e->chain;
        if (!e) {
            cache->misses++;
            return insert(comm, call, first, hash, program_p);
        }
        unlink_by_use(cache, e);
        link_newest(cache, e);
    }
    comm->hits++;
    e->pins++;
    *program_p = e;
    return RCX_OK;
}

rcx_status_t rcx_program_get(struct rcx_comm *comm, const struct rcx_call *call,
                             struct rcx_program **program_p)
{
    return find(comm, call, NULL, program_p);
}

/* A type or op that the user has freed meanwhile is known to the first program
 * alone. */
rcx_status_t rcx_program_follow(struct rcx_comm *comm,
                                const struct rcx_program *first,
                                const size_t passing[],
                                struct rcx_program **program_p)
{
    struct rcx_call call = first->call;
    rcx_status_t status;

    call.type = first->record.type;
    call.op = first->record.op;
    call.passing = first->passing;
    call.lists[RCX_CALL_PASSING] = passing;
    status = find(comm, &call, first, program_p);
    if (status != RCX_OK)
        return status;
    (*program_p)->call.type = first->call.type;
    (*program_p)->call.op = first->call.op;
    return RCX_OK;
}
