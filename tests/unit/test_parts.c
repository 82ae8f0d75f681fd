/* SPDX-License-Identifier: BSD-3-Clause */
/* Packed lists of several ranks' blobs (bootstrap/parts.c): writing, reading,
 * and lists that are cut or damaged. */
#include "test.h"

#include <string.h>

#include "bootstrap/parts.h"

enum { N = 3 };

static const struct rcx_blob_part parts[N] = {
    {.rank = 4, .bytes = 5, .data = "four"},
    {.rank = 7, .bytes = 0, .data = ""},
    {.rank = 70000, .bytes = 16, .data = "seventy thousand"},
};

struct packed {
    unsigned char bytes[128];
    size_t n;
};

static struct packed pack(void)
{
    struct packed p = {.n = rcx_parts_bytes(parts, N)};

    assert_true(p.n <= sizeof p.bytes);
    memset(p.bytes, 0xa5, sizeof p.bytes);
    rcx_parts_pack(parts, N, p.bytes);
    assert_int_equal(p.bytes[p.n], 0xa5); /* nothing is written behind */
    return p;
}

static void packed_parts_are_read_back(void **state)
{
    const struct packed p = pack();
    struct rcx_blob_part part;
    size_t at = 0;

    (void)state;
    for (int i = 0; i < N; i++) {
        assert_true(rcx_parts_next(p.bytes, p.n, &at, &part));
        assert_int_equal(part.rank, parts[i].rank);
        assert_int_equal(part.bytes, parts[i].bytes);
        assert_memory_equal(part.data, parts[i].data, part.bytes);
    }
    assert_false(rcx_parts_next(p.bytes, p.n, &at, &part));
    assert_int_equal(at, p.n);
}

/* Count the parts that can be read, each of which must lie within bytes.
 * *whole_p: nothing else follows them. */
static int count(const unsigned char *bytes, size_t n, bool *whole_p)
{
    struct rcx_blob_part part;
    size_t at = 0;
    int found = 0;

    while (rcx_parts_next(bytes, n, &at, &part)) {
        const unsigned char *data = part.data;

        assert_true(data >= bytes && part.bytes <= n - (data - bytes));
        found++;
    }
    *whole_p = at == n;
    return found;
}

static void a_truncated_list_is_not_whole(void **state)
{
    const struct packed p = pack();

    (void)state;
    for (size_t n = 0; n <= p.n; n++) {
        unsigned char bytes[sizeof p.bytes];
        bool is_whole;
        int found;

        memcpy(bytes, p.bytes, n);
        found = count(bytes, n, &is_whole);
        assert_in_range(found, 0, N);
        /* a cut between two parts cannot be detected */
        assert_int_equal(is_whole, n == rcx_parts_bytes(parts, found));
    }
}

static void a_length_that_is_too_great_ends_the_list(void **state)
{
    struct packed p = pack();
    bool is_whole;

    (void)state;
    memset(p.bytes + 4, 0xff, 4);
    assert_int_equal(count(p.bytes, p.n, &is_whole), 0);
    assert_false(is_whole);
}

/* Change each byte to every value: parts must still lie within the list. */
static void no_changed_byte_leads_outside_the_list(void **state)
{
    (void)state;
    for (int value = 0; value < 256; value++) {
        struct packed p = pack();

        for (size_t i = 0; i < p.n; i++) {
            const unsigned char before = p.bytes[i];
            bool is_whole;

            p.bytes[i] = (unsigned char)value;
            count(p.bytes, p.n, &is_whole);
            p.bytes[i] = before;
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_parts_are_read_back),
        cmocka_unit_test(a_truncated_list_is_not_whole),
        cmocka_unit_test(a_length_that_is_too_great_ends_the_list),
        cmocka_unit_test(no_changed_byte_leads_outside_the_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
