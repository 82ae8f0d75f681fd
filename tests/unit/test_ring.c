/* SPDX-License-Identifier: BSD-3-Clause */
/* Lengths of the rings of shared-memory channels (rcx_ring_bytes) for caches of
 * different machines and for numbers of ranks. */
#include "test.h"

#include "transport/shm/ring.h"

enum { KB = 1 << 10, MB = 1 << 20 };

static const struct {
    const char *name;
    struct rcx_caches caches;
} machines[] = {
    {"small", {.own = 256 * KB, .shared = 4 * MB}},
    {"desktop", {.own = 512 * KB, .shared = 32 * MB}},
    {"server", {.own = 2 * MB, .shared = 105 * MB}},
    {"stacked cache", {.own = 1 * MB, .shared = 1152 * MB}},
};
enum { MACHINES = sizeof machines / sizeof machines[0] };

static void every_ring_is_a_power_of_two_within_limits(void **state)
{
    (void)state;
    for (int i = 0; i < MACHINES; i++) {
        for (size_t ranks = 2; ranks <= 4096; ranks++) {
            for (int shares = 0; shares < 2; shares++) {
                const size_t ring =
                    rcx_ring_bytes(&machines[i].caches, ranks, shares);

                assert_true((ring & (ring - 1)) == 0);
                assert_in_range(ring, 16 * KB, 4 * MB);
                assert_true(!shares || ring <= 512 * KB);
            }
        }
    }
}

static void all_rings_of_a_node_are_a_gigabyte_at_most(void **state)
{
    (void)state;
    for (int i = 0; i < MACHINES; i++) {
        for (size_t ranks = 2; ranks <= 256; ranks++) {
            const size_t ring =
                rcx_ring_bytes(&machines[i].caches, ranks, false);

            assert_true(ring * ranks <= 16 * MB);
            assert_true(ring * ranks * ranks <= (size_t)1 << 30);
        }
    }
}

/* 1 GiB over all pairs, as documented for 256 ranks. */
static void many_ranks_have_short_rings(void **state)
{
    (void)state;
    for (int i = 0; i < MACHINES; i++) {
        assert_int_equal(rcx_ring_bytes(&machines[i].caches, 256, false),
                         16 * KB);
        assert_int_equal(rcx_ring_bytes(&machines[i].caches, 128, false),
                         64 * KB);
        assert_int_equal(rcx_ring_bytes(&machines[i].caches, 32, false),
                         512 * KB);
    }
}

static void two_ranks_have_twice_their_own_cache(void **state)
{
    static const size_t expected[MACHINES] = {512 * KB, 1 * MB, 4 * MB, 2 * MB};

    (void)state;
    for (int i = 0; i < MACHINES; i++)
        assert_int_equal(rcx_ring_bytes(&machines[i].caches, 2, false),
                         expected[i]);
}

static void this_machine_has_caches(void **state)
{
    const struct rcx_caches caches = rcx_caches_read();

    (void)state;
    assert_true(caches.own > 0);
    assert_true(caches.shared > 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_ring_is_a_power_of_two_within_limits),
        cmocka_unit_test(all_rings_of_a_node_are_a_gigabyte_at_most),
        cmocka_unit_test(many_ranks_have_short_rings),
        cmocka_unit_test(two_ranks_have_twice_their_own_cache),
        cmocka_unit_test(this_machine_has_caches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
