/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of job_main: long vectors of bytes. Counts exceed 31 bits, sums of
 * smaller counts exceed 32 bits, and 16 MiB take long on slow links.
 */
#include "job.h"

#include <stdlib.h>
#include <string.h>

static const struct kind bytes = {
    .type = RCX_UINT8, .op = RCX_SUM, .is_line = true};

/* Make one call. count: elements of the vector, or of each equal block. blocks:
 * the counts of irregular blocks. */
static void call_one(struct member *m, enum collective coll, enum place place,
                     size_t count, const size_t *blocks)
{
    const struct call call = {.coll = coll,
                              .place = place,
                              .kind = &bytes,
                              .count = count,
                              .blocks = blocks,
                              .root = m->size - 1,
                              .seed = 2 * (uint64_t)coll + place};

    job_call(m, &call);
}

static bool is_meant(enum collective coll, const char *only)
{
    return collectives[coll].gives != EXTENT_NONE &&
           (!only || strcmp(collectives[coll].name, only) == 0);
}

static size_t *get_blocks(const struct member *m, size_t each)
{
    size_t *blocks = malloc((size_t)m->size * sizeof *blocks);

    if (!blocks)
        abort();
    for (int i = 0; i < m->size; i++)
        blocks[i] = each;
    return blocks;
}

/* ---- One count beyond 31 bits -------------------------------------------- */

/* All blocks but block big have 2 elements. */
static void huge_call(struct member *m, enum collective coll, enum place place,
                      size_t count, int big)
{
    size_t *blocks = get_blocks(m, 2);

    blocks[big] = count;
    call_one(m, coll, place, count, blocks);
    free(blocks);
}

static void huge_message(struct member *m, size_t count)
{
    const int to = m->size - 1;
    char *vector = m->rank == 0 || m->rank == to ? malloc(count) : NULL;

    if (m->rank == 0)
        serial_fill(&bytes, vector, 0, count, 0, 1);
    if (m->rank == 0 && to != 0)
        job_require(m, rcx_send(vector, count, RCX_UINT8, to, 1, m->comm),
                    "rcx_send");
    if (m->rank == to && to != 0)
        job_require(m, rcx_recv(vector, count, RCX_UINT8, 0, 1, m->comm, NULL),
                    "rcx_recv");
    if (vector && !serial_keeps(&bytes, vector, 0, count, 0, 1))
        job_fail(m, "a message of %zu bytes is wrong", count);
    free(vector);
}

/* Equal blocks are this long only in place: memory suffices for one buffer. */
void job_huge(struct member *m, const char *only)
{
    const size_t count = ((size_t)1 << 31) + 3;

    for (int c = 0; c < COLLECTIVES; c++) {
        const enum collective coll = (enum collective)c;

        if (is_meant(coll, only) && !collective_has_equal_blocks(coll))
            huge_call(m, coll, SEPARATE, count, m->size - 1);
        if (is_meant(coll, only))
            huge_call(m, coll, IN_PLACE, count, 0);
    }
    if (!only || strcmp(only, "send") == 0)
        huge_message(m, count);
}

/* ---- Sums beyond 32 bits ------------------------------------------------- */

void job_sums(struct member *m, const char *only)
{
    const size_t each = ((size_t)1 << 32) / (size_t)m->size + 1;
    size_t *blocks = get_blocks(m, each);

    for (int i = 0; i < m->size; i++)
        blocks[i] += (size_t)i;
    for (int c = 0; c < COLLECTIVES; c++)
        if (is_meant((enum collective)c, only) &&
            collective_has_blocks((enum collective)c))
            call_one(m, (enum collective)c, IN_PLACE, each, blocks);
    free(blocks);
}

/* ---- Long calls on slow links -------------------------------------------- */

void job_long(struct member *m, const char *only)
{
    const size_t count = (size_t)16 << 20, each = count / (size_t)m->size;
    size_t *blocks = get_blocks(m, each);

    for (int c = 0; c < COLLECTIVES; c++) {
        const enum collective coll = (enum collective)c;

        if (is_meant(coll, only))
            call_one(m, coll, SEPARATE,
                     collective_has_blocks(coll) ? each : count, blocks);
    }
    free(blocks);
    huge_message(m, count);
}
