/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Message authentication codes by SipHash-2-4, whose keys and results have 128
 * bits. Encrypts nothing.
 */
#include "bootstrap/socket_auth.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

struct sip {
    uint64_t v[4];
};

static uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static void mix(struct sip *s, int rounds)
{
    uint64_t *v = s->v;

    while (rounds-- > 0) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

static uint64_t load(const unsigned char *at, size_t bytes)
{
    uint64_t word = 0;

    for (size_t i = 0; i < bytes; i++)
        word |= (uint64_t)at[i] << 8 * i;
    return word;
}

static void store(unsigned char *at, uint64_t word)
{
    for (int i = 0; i < 8; i++)
        at[i] = (unsigned char)(word >> 8 * i);
}

static void absorb(struct sip *s, uint64_t word)
{
    s->v[3] ^= word;
    mix(s, 2);
    s->v[0] ^= word;
}

static uint64_t output(const struct sip *s)
{
    return s->v[0] ^ s->v[1] ^ s->v[2] ^ s->v[3];
}

struct rcx_socket_key rcx_socket_mac(const struct rcx_socket_key *key,
                                     const void *data, size_t bytes)
{
    const uint64_t k0 = load(key->bytes, 8), k1 = load(key->bytes + 8, 8);
    struct sip s = {{k0 ^ UINT64_C(0x736f6d6570736575),
                     k1 ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
                     k0 ^ UINT64_C(0x6c7967656e657261),
                     k1 ^ UINT64_C(0x7465646279746573)}};
    const unsigned char *at = data;
    const uint64_t last = (uint64_t)bytes << 56;
    struct rcx_socket_key mac;

    for (; bytes >= 8; bytes -= 8, at += 8)
        absorb(&s, load(at, 8));
    absorb(&s, last | load(at, bytes));
    s.v[2] ^= 0xee;
    mix(&s, 4);
    store(mac.bytes, output(&s));
    s.v[1] ^= 0xdd;
    mix(&s, 4);
    store(mac.bytes + 8, output(&s));
    return mac;
}

bool rcx_socket_same(const struct rcx_socket_key *a,
                     const struct rcx_socket_key *b)
{
    unsigned char differ = 0;

    for (int i = 0; i < RCX_SOCKET_KEY_BYTES; i++)
        differ |= a->bytes[i] ^ b->bytes[i];
    return differ == 0;
}

bool rcx_socket_random(void *data, size_t bytes)
{
    char *at = data;

    while (bytes > 0) {
        const ssize_t n = getrandom(at, bytes, 0);

        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

struct rcx_socket_key rcx_socket_code_of(const struct rcx_socket_key *key,
                                         const struct rcx_socket_key *nonce,
                                         const void *message, size_t bytes)
{
    const struct rcx_socket_key once =
        rcx_socket_mac(key, nonce, sizeof *nonce);

    return rcx_socket_mac(&once, message, bytes - sizeof once);
}
