/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of coarrays, and their registration by gfortran. It comes from
 * rcx_mem_alloc(), so that collectives on it need no copies, in pools: a shared
 * segment for each small coarray would be too expensive. All images of a team
 * make a new pool when one of them has no room. Each image manages the room in
 * its own pools.
 */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#include "far.h"

enum {
    UNIT = 64,           /* bytes */
    POOL_BYTES = 1 << 20 /* a coarray larger than half of it has its own pool */
};

struct pool {
    struct pool *next;
    rcx_comm_t *comm;
    char *memory;
    size_t bytes;
    uint64_t *bases; /* of each image, by ranks of the initial team; 0: none */
    char **peers;    /* where bases are mapped here; NULL: not mapped */
    unsigned char *used; /* by unit; NULL: one coarray has the pool */
};
static struct pool *pools;

static size_t units_of(size_t bytes)
{
    return bytes > 0 ? (bytes + UNIT - 1) / UNIT : 1;
}

/* ---- Room in pools ------------------------------------------------------- */

static char *take_from(struct pool *pool, size_t units)
{
    const size_t all = pool->bytes / UNIT;
    size_t run = 0;

    for (size_t i = 0; pool->used && i < all; i++) {
        run = pool->used[i] ? 0 : run + 1;
        if (run == units) {
            memset(pool->used + i + 1 - units, 1, units);
            return pool->memory + (i + 1 - units) * UNIT;
        }
    }
    return NULL;
}

/* Take room from a pool of comm, so that all images that use the coarray have
 * the same pool. NULL: no room. */
static char *take(const rcx_comm_t *comm, size_t bytes)
{
    char *memory = NULL;

    if (bytes <= POOL_BYTES / 2)
        for (struct pool *p = pools; p && !memory; p = p->next)
            if (p->comm == comm)
                memory = take_from(p, units_of(bytes));
    return memory;
}

static void free_pool(struct pool *pool)
{
    free(pool->bases);
    free(pool->peers);
    free(pool->used);
    free(pool);
}

/* Return memory to its pool. False: it is not from a pool. */
static bool give_back(char *memory, size_t bytes)
{
    for (struct pool **link = &pools; *link; link = &(*link)->next) {
        struct pool *pool = *link;

        if (memory < pool->memory || memory >= pool->memory + pool->bytes)
            continue;
        if (pool->used) {
            memset(pool->used + (memory - pool->memory) / UNIT, 0,
                   units_of(bytes));
            return true;
        }
        *link = pool->next;
        rcx_mem_free(pool->comm, pool->memory);
        free_pool(pool);
        return true;
    }
    return false;
}

/* ---- Pools --------------------------------------------------------------- */

/* Set the pool's bases and peers, by ranks of the initial team. The arguments
 * are by ranks of the team. */
static void spread(const struct caf_team *team, struct pool *pool,
                   const uint64_t bases[], void *const peers[])
{
    for (int i = 0; i < rcx_comm_size(team->comm); i++) {
        const int rank = caf_rank_of(team, i + 1);

        pool->bases[rank] = bases[i];
        pool->peers[rank] = peers[i];
        if (!peers[i])
            caf_far_expect();
    }
}

static rcx_status_t open_pool(const struct caf_team *team, struct pool *pool)
{
    const size_t n = (size_t)rcx_comm_size(team->comm);
    const uint64_t mine = (uint64_t)pool->memory;
    uint64_t *bases = calloc(n, sizeof *bases);
    void **peers = calloc(n, sizeof *peers);
    rcx_status_t status = bases && peers ? RCX_OK : RCX_ERR_NOMEM;

    if (status == RCX_OK)
        status = rcx_mem_peers(team->comm, pool->memory, peers);
    if (status == RCX_OK)
        status = rcx_allgather(&mine, bases, sizeof mine, RCX_BYTE, team->comm);
    if (status == RCX_OK)
        spread(team, pool, bases, peers);
    free(bases);
    free(peers);
    return status;
}

static rcx_status_t add_pool(const struct caf_team *team, size_t bytes)
{
    const size_t n = (size_t)rcx_comm_size(caf_initial()->comm);
    const bool is_shared = bytes <= POOL_BYTES / 2;
    struct pool *pool = calloc(1, sizeof *pool);
    void *memory = NULL;
    rcx_status_t status = RCX_ERR_NOMEM;

    if (!pool)
        return status;
    pool->comm = team->comm;
    pool->bytes = is_shared ? POOL_BYTES : bytes;
    pool->bases = calloc(n, sizeof *pool->bases);
    pool->peers = calloc(n, sizeof *pool->peers);
    pool->used = is_shared ? calloc(POOL_BYTES / UNIT, 1) : NULL;
    if (pool->bases && pool->peers && (pool->used || !is_shared))
        status = rcx_mem_alloc(team->comm, pool->bytes, &memory);
    pool->memory = memory;
    if (status == RCX_OK)
        status = open_pool(team, pool);
    if (status != RCX_OK) {
        free_pool(pool);
        return status;
    }
    pool->next = pools;
    pools = pool;
    return RCX_OK;
}

/* A block of a peer stays mapped until this image frees its own, so all
 * mappings are valid as long as the pool exists. */
char *caf_near(int rank, uint64_t address, size_t bytes)
{
    if (rank == caf_me())
        return (char *)address;
    for (const struct pool *p = pools; p; p = p->next)
        if (p->bases[rank] && address >= p->bases[rank] &&
            address - p->bases[rank] + bytes <= p->bytes)
            return p->peers[rank] ? p->peers[rank] + (address - p->bases[rank])
                                  : NULL;
    return NULL;
}

void caf_memory_close(void)
{
    while (pools) {
        struct pool *pool = pools;

        pools = pool->next; /* rcx_finalize() frees the memory */
        free_pool(pool);
    }
}

/* ---- Coarrays ------------------------------------------------------------ */

/* Find room for c, and set addresses by ranks of the team. If any image has no
 * room, all images make a new pool, and use its beginning. */
static rcx_status_t place(struct caf_team *team, struct caf_coarray *c,
                          uint64_t addresses[])
{
    const int n = rcx_comm_size(team->comm);
    const uint64_t mine = (uint64_t)(c->memory = take(team->comm, c->bytes));
    bool is_full = false;
    /* Afterwards all images are in this call and send no requests, so the calls
     * that follow may block. */
    rcx_status_t status = CAF_CALL(allgather, &mine, addresses, sizeof mine,
                                   RCX_BYTE, caf_enter());

    for (int i = 0; status == RCX_OK && i < n; i++)
        is_full |= addresses[i] == 0;
    if (status != RCX_OK || !is_full)
        return status;
    if (c->memory)
        give_back(c->memory, c->bytes);
    c->memory = NULL;
    status = add_pool(team, c->bytes);
    if (status != RCX_OK)
        return status;
    c->memory = pools->memory;
    if (pools->used)
        memset(pools->used, 1, units_of(c->bytes));
    for (int i = 0; i < n; i++)
        addresses[i] = pools->bases[caf_rank_of(team, i + 1)];
    return RCX_OK;
}

static rcx_status_t share(struct caf_coarray *c)
{
    struct caf_team *team = caf_team();
    const int n = rcx_comm_size(team->comm),
              all = rcx_comm_size(caf_initial()->comm);
    uint64_t *addresses = calloc((size_t)n, sizeof *addresses);
    rcx_status_t status = RCX_ERR_NOMEM;

    c->addresses = calloc((size_t)all, sizeof *c->addresses);
    if (addresses && c->addresses)
        status = place(team, c, addresses);
    for (int i = 0; status == RCX_OK && i < n; i++)
        c->addresses[caf_rank_of(team, i + 1)] = addresses[i];
    free(addresses);
    c->team = team;
    return status;
}

rcx_status_t caf_coarray_new(size_t bytes, bool is_zero, struct caf_coarray *c)
{
    rcx_status_t status;

    c->bytes = bytes > 0 ? bytes : 1;
    status = share(c);
    if (!c->memory)
        c->memory = malloc(c->bytes);
    if (!c->memory)
        return RCX_ERR_NOMEM;
    if (c->addresses)
        c->addresses[caf_me()] = (uint64_t)c->memory;
    if (is_zero)
        memset(c->memory, 0, c->bytes);
    return status;
}

/* Allocate a component of this image. gfortran frees it, or enlarges it on
 * assignment, so it comes from malloc(); other images access it by messages. */
static rcx_status_t allocate_here(size_t bytes, struct caf_coarray *c)
{
    c->bytes = bytes > 0 ? bytes : 1;
    c->memory = malloc(c->bytes);
    if (rcx_comm_size(caf_initial()->comm) > 1)
        caf_far_expect();
    return c->memory ? RCX_OK : RCX_ERR_NOMEM;
}

static void release(struct caf_coarray *c)
{
    if (c->memory && !give_back(c->memory, c->bytes))
        free(c->memory);
    c->memory = NULL;
}

void caf_coarray_free(struct caf_coarray *c)
{
    release(c);
    free(c->addresses);
    c->addresses = NULL;
}

/* ---- What gfortran calls ------------------------------------------------- */

enum registration {
    STATIC,
    ALLOCATED,
    LOCK_STATIC,
    LOCK_ALLOCATED,
    CRITICAL,
    EVENT_STATIC,
    EVENT_ALLOCATED,
    REGISTER_ONLY,
    ALLOCATE_ONLY
};

/* Bytes of a coarray. For locks and events, gfortran passes the number of
 * elements, which are words of 4 bytes here. */
static size_t bytes_of(size_t size, enum registration type)
{
    return type >= LOCK_STATIC && type <= EVENT_ALLOCATED
               ? size * sizeof(uint32_t)
               : size;
}

static rcx_status_t enrol(size_t size, enum registration type,
                          struct caf_coarray *c)
{
    rcx_status_t status;

    caf_context();
    if (type == REGISTER_ONLY)
        return RCX_OK;
    if (type == ALLOCATE_ONLY)
        return allocate_here(size, c);
    status = caf_complete();
    if (status == RCX_OK)
        status =
            caf_coarray_new(bytes_of(size, type),
                            type >= LOCK_STATIC && type <= EVENT_ALLOCATED, c);
    /* No image accesses a coarray before all have filled theirs with zeros. */
    return status == RCX_OK ? rcx_barrier(caf_team()->comm) : status;
}

void _gfortran_caf_register(size_t size, int type, void **token,
                            struct caf_array *array, int *stat, char *errmsg,
                            size_t errmsg_len)
{
    const struct caf_outcome outcome = {"allocate of a coarray", stat, errmsg,
                                        errmsg_len, false};
    struct caf_coarray *c =
        type == ALLOCATE_ONLY ? *token : calloc(1, sizeof *c);

    if (!c) {
        caf_end(&outcome, RCX_ERR_NOMEM);
        return;
    }
    if (type != ALLOCATE_ONLY)
        c->array = array->dtype.rank > 0 ? array : NULL;
    *token = c;
    caf_end(&outcome, enrol(size, type, c));
    array->base_addr = c->memory;
}

/* Free a coarray, after synchronising its team: deallocation is an image
 * control statement, as allocation is. After caf_memory_close() there is
 * nothing to synchronise with. */
void _gfortran_caf_deregister(void **token, int type, int *stat, char *errmsg,
                              size_t errmsg_len)
{
    enum { DEALLOCATE_ONLY = 1 };
    const struct caf_outcome outcome = {"deallocate of a coarray", stat, errmsg,
                                        errmsg_len, false};
    struct caf_coarray *c = *token;
    rcx_status_t status = RCX_OK;

    if (c->team && type != DEALLOCATE_ONLY && pools)
        status = caf_sync();
    if (type == DEALLOCATE_ONLY) {
        release(c);
    } else {
        caf_coarray_free(c);
        free(c);
        *token = NULL;
    }
    caf_end(&outcome, status);
}
