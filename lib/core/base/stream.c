/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Non-temporal copies. A usual store fetches its line first, and evicts a line
 * that may still be needed. memcpy() of the C library avoids both only for
 * copies that are longer than the pieces in which messages travel.
 */
#include "core/base/stream.h"

#include <stdint.h>
#include <string.h>

#ifdef __x86_64__
#include <emmintrin.h>

enum { LINE = 64, PARTS = LINE / sizeof(__m128i) };

/* Four stores fill a write-combining buffer, which is then written at once. */
static void stream_lines(char *dst, const char *src, size_t lines)
{
    for (; lines > 0; lines--, dst += LINE, src += LINE) {
        __m128i line[PARTS];

        for (int i = 0; i < PARTS; i++)
            line[i] = _mm_loadu_si128((const __m128i *)(const void *)src + i);
        for (int i = 0; i < PARTS; i++)
            _mm_stream_si128((__m128i *)(void *)dst + i, line[i]);
    }
}

void rcx_stream_copy(void *dst, const void *src, size_t bytes)
{
    const size_t before = -(uintptr_t)dst % LINE;
    const size_t head = before < bytes ? before : bytes;
    const size_t body = (bytes - head) / LINE * LINE;
    char *to = dst;
    const char *from = src;

    memcpy(to, from, head);
    stream_lines(to + head, from + head, body / LINE);
    memcpy(to + head + body, from + head + body, bytes - head - body);
    _mm_sfence();
}

#else

void rcx_stream_copy(void *dst, const void *src, size_t bytes)
{
    memcpy(dst, src, bytes);
}

#endif
