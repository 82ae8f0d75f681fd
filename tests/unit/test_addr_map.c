/* SPDX-License-Identifier: BSD-3-Clause */
/* Address ranges of shared regions, found by any address within them. */
#include "test.h"

#include "transport/shm/addr_map.h"

enum { BLOCKS = 40 };

static void ranges_are_found_by_any_address(void **state)
{
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct rcx_addr_map range_map = {0};
    struct rcx_addr_range range[BLOCKS];

    (void)state;
    assert_null(rcx_addr_map_find(&range_map, 5, 1));
    for (int i = 0; i < BLOCKS; i++) {
        const int k = i * 17 % BLOCKS; /* out of order */

        range[k] = (struct rcx_addr_range){(uintptr_t)k * 100 + 50, 30};
        assert_true(rcx_addr_map_add(&range_map, &heap, &range[k]));
    }
    for (int gone = 0; gone <= BLOCKS; gone++) {
        for (uintptr_t at = 0; at < BLOCKS * 100; at++)
            for (size_t bytes = 1; bytes < 40; bytes += 9) {
                const uintptr_t k = at / 100, in = at % 100;
                const bool is_in =
                    k >= (uintptr_t)gone && in >= 50 && in + bytes <= 80;

                require(rcx_addr_map_find(&range_map, at, bytes) ==
                        (is_in ? &range[k] : NULL));
            }
        if (gone < BLOCKS)
            rcx_addr_map_remove(&range_map, &range[gone]);
    }
    rcx_heap_free(&heap, range_map.list);
    assert_int_equal(heap.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_found_by_any_address),
    };

    return cmocka_run_group_tests_name("addr_map", tests, NULL, NULL);
}
