/* SPDX-License-Identifier: BSD-3-Clause */
/* What is decided of shared memory by the figures of five machines, and for any
 * figures: settings that a user could have set, and rings that fit memory. */
#include "test.h"

#include <string.h>

#include "core/base/random.h"
#include "transport/node/decide.h"
#include "transport/shm/channel.h"

enum { KB = 1 << 10, MB = 1 << 20 };

static const struct rcx_shm_settings nothing_set;

/*
 * A line: medians of core-to-core-latency (N. Viennot) for two cores of an EPYC
 * 7R13 (Milan) in one core complex, and in two; Xeon and Graviton2. Caches: the
 * makers' data sheets. Estimated: bytes, as 10 to 20 lines in flight, each for
 * as long as a line takes; CMA, as a copy by the kernel with 0.1 us for each
 * page that it pins; free: without that, as with large pages; the slow L3 of
 * Sapphire Rapids, which takes more than 70 ns.
 */
static const struct rcx_node_figures amd = {
    .origin = RCX_FIGURES_MEASURED,
    .near = {23, 0.03, 0.035, 0.025, 0.03},
    .far = {107, 0.06, 0.09, 0.05, 0.08},
    .cma_call = 900,
    .cma_byte = 0.12,
    .turn = 2000,
    .own = 512 * KB,
    .shared = 32 * MB};

/* An L3 that is slower than another core's L2. */
static const struct rcx_node_figures intel = {
    .origin = RCX_FIGURES_MEASURED,
    .near = {60, 0.04, 0.05, 0.07, 0.09},
    .far = {60, 0.04, 0.05, 0.07, 0.09},
    .far_is_near = true,
    .cma_call = 800,
    .cma_byte = 0.1,
    .turn = 1800,
    .own = 2 * MB,
    .shared = 105 * MB};

static const struct rcx_node_figures arm = {.origin = RCX_FIGURES_MEASURED,
                                            .near = {47, 0.1, 0.12, 0.12, 0.14},
                                            .far = {47, 0.1, 0.12, 0.12, 0.14},
                                            .far_is_near = true,
                                            .cma_call = 800,
                                            .cma_byte = 0.2,
                                            .turn = 3000,
                                            .own = 64 * KB,
                                            .shared = 1 * MB};

/* Two ranks with a core each. */
static struct rcx_decide_facts facts_of(const struct rcx_node_figures *figures)
{
    return (struct rcx_decide_facts){.figures = *figures,
                                     .ranks = 2,
                                     .cores = 8,
                                     .near_cores = 8,
                                     .tasks = 2,
                                     .is_near = true,
                                     .has_cma = true};
}

static void assert_decided(const struct rcx_decide_facts *facts,
                           const char *expected)
{
    struct rcx_shm_settings s;
    char text[128];

    rcx_decide(facts, &nothing_set, &s);
    assert_string_equal(rcx_shm_settings_print(&s, text, sizeof text),
                        expected);
}

/* ---- Five machines ------------------------------------------------------- */

/* Near the constants of before, which had been measured on such machines: a
 * ring of twice the own cache, chunks of 64 or 128 KB, direct from 4 KB on. */
static void two_cores_of_one_amd_complex(void **state)
{
    const struct rcx_decide_facts facts = facts_of(&amd);

    (void)state;
    assert_decided(&facts,
                   "ring=1M,chunk=64K,eager=64K,direct=8K,cma=off,cico=1M,"
                   "stream=16M,polls=40");
}

/* A copy costs more, so a shorter message is worth an answer. The kernel reads
 * far memory as slowly. */
static void two_cores_of_two_amd_complexes(void **state)
{
    struct rcx_decide_facts facts = facts_of(&amd);

    (void)state;
    facts.is_near = false;
    facts.near_cores = 4;
    assert_decided(&facts,
                   "ring=1M,chunk=64K,eager=64K,direct=4K,cma=off,cico=1M,"
                   "stream=32M,polls=40");
}

/* The ring stays within the own cache, whose lines are nearer than those of
 * the shared one. */
static void intel_with_a_slow_shared_cache(void **state)
{
    const struct rcx_decide_facts facts = facts_of(&intel);

    (void)state;
    assert_decided(&facts,
                   "ring=1M,chunk=64K,eager=64K,direct=4K,cma=off,cico=1M,"
                   "stream=64M,polls=36");
}

/* Slow copies: short chunks, and a kernel that is worth asking. */
static void a_small_arm(void **state)
{
    const struct rcx_decide_facts facts = facts_of(&arm);

    (void)state;
    assert_decided(&facts,
                   "ring=512K,chunk=8K,eager=8K,direct=2K,cma=16K,cico=1M,"
                   "stream=512K,polls=60");
}

static void cma_that_is_free(void **state)
{
    struct rcx_decide_facts facts = facts_of(&amd);

    (void)state;
    facts.figures.cma_call = 300;
    facts.figures.cma_byte = 0.02;
    assert_decided(&facts,
                   "ring=1M,chunk=64K,eager=16383,direct=8K,cma=16K,cico=1M,"
                   "stream=16M,polls=40");
    assert_true(rcx_decide_cma_pays(&facts));
    facts.has_cma = false;
    assert_decided(&facts,
                   "ring=1M,chunk=64K,eager=64K,direct=8K,cma=off,cico=1M,"
                   "stream=16M,polls=40");
    assert_false(rcx_decide_cma_pays(&facts));
}

/* ---- Each decision ------------------------------------------------------- */

static struct rcx_shm_settings decide(const struct rcx_decide_facts *facts)
{
    struct rcx_shm_settings s;

    rcx_decide(facts, &nothing_set, &s);
    return s;
}

/* A sender that waits gives its core to the other ranks of that core. */
static void ranks_that_share_cores_wait_for_longer_messages_only(void **state)
{
    struct rcx_decide_facts facts = facts_of(&amd);
    struct rcx_shm_settings before = decide(&facts);

    (void)state;
    facts.cores = 2;
    for (facts.tasks = 4; facts.tasks <= 32; facts.tasks *= 2) {
        const struct rcx_shm_settings s = decide(&facts);

        assert_true(s.direct > before.direct);
        assert_int_equal(s.ring, 512 * KB);
        before = s;
    }
    facts.figures.cma_byte = 0.02;
    facts.tasks = 4;
    before = decide(&facts);
    facts.tasks = 2;
    assert_true(before.cma > decide(&facts).cma);
}

static void a_byte_and_a_call_decide_when_the_kernel_reads(void **state)
{
    struct rcx_decide_facts facts = facts_of(&amd);
    size_t before = 0;

    (void)state;
    facts.figures.cma_call = 300;
    for (int i = 1; i <= 11; i++) { /* the copies cost 0.055 */
        facts.figures.cma_byte = 0.005 * i;
        assert_true(decide(&facts).cma >= before);
        before = decide(&facts).cma;
    }
    assert_true(before == SIZE_MAX);
    facts.figures.cma_byte = 0.02;
    facts.figures.cma_call = 2500; /* much more than an answer */
    before = decide(&facts).cma;
    facts.figures.cma_call *= 8;
    assert_int_equal(decide(&facts).cma, 8 * before);
}

static void a_line_that_takes_longer_makes_longer_chunks(void **state)
{
    struct rcx_decide_facts facts = facts_of(&amd);

    (void)state;
    facts.figures.own = 8 * MB;
    for (size_t times = 1; times <= 4; times *= 2) {
        facts.figures.near.line = 32.0 * (double)times;
        assert_int_equal(decide(&facts).chunk, 64 * KB * times);
    }
    facts.figures.own = 128 * KB;
    assert_int_equal(decide(&facts).chunk, 16 * KB);
}

static void what_is_set_is_not_decided(void **state)
{
    struct rcx_shm_settings set = {.ring = 64 * KB,
                                   .chunk = 32 * KB,
                                   .eager = 1000,
                                   .direct = SIZE_MAX,
                                   .cma = 512,
                                   .polls = 7};
    struct rcx_decide_facts facts = facts_of(&amd);
    struct rcx_shm_settings s;
    char text[128];

    (void)state;
    rcx_decide(&facts, &set, &s);
    assert_string_equal(
        rcx_shm_settings_print(&s, text, sizeof text),
        "ring=64K,chunk=16K,eager=511,direct=off,cma=512,cico=1M,stream=16M,polls=7");
    facts.has_cma = false;
    set.chunk = 10000; /* sinks take multiples of 64 */
    rcx_decide(&facts, &set, &s);
    assert_string_equal(
        rcx_shm_settings_print(&s, text, sizeof text),
        "ring=64K,chunk=9984,eager=1000,direct=off,cma=off,cico=1M,stream=16M,polls=7");
}

/* ---- Rings --------------------------------------------------------------- */

static const struct rcx_node_figures *const machines[] = {&amd, &intel, &arm};
enum { MACHINES = sizeof machines / sizeof *machines };

static void every_ring_is_a_power_of_two_within_limits(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * MACHINES; i++) {
        struct rcx_decide_facts facts = facts_of(machines[i / 2]);

        facts.cores = i % 2 ? 1 : 5000;
        for (facts.ranks = 2; facts.ranks <= 4096; facts.ranks++) {
            size_t ring;

            facts.tasks = facts.ranks;
            ring = decide(&facts).ring;
            assert_true((ring & (ring - 1)) == 0);
            assert_in_range(ring, 8 * KB, (i % 2 ? 512 * KB : 4 * MB));
            if (facts.ranks > 256)
                continue;
            assert_true(ring * facts.ranks <= 16 * MB);
            assert_true(((ring + sizeof(struct rcx_shm_fifo)) * facts.ranks +
                         decide(&facts).cico) *
                            facts.ranks <=
                        (size_t)1 << 30);
        }
    }
}

/* 1 GiB in all, as documented for 256 ranks. */
static void many_ranks_have_short_rings(void **state)
{
    static const size_t ranks[] = {32, 128, 256};
    static const size_t rings[] = {512 * KB, 32 * KB, 8 * KB};

    (void)state;
    for (int i = 0; i < 3 * MACHINES; i++) {
        struct rcx_decide_facts facts = facts_of(machines[i / 3]);

        facts.cores = facts.tasks = facts.ranks = ranks[i % 3];
        assert_int_equal(decide(&facts).ring, rings[i % 3]);
    }
}

static void two_ranks_have_twice_their_own_cache(void **state)
{
    struct rcx_decide_facts facts = facts_of(&amd);

    (void)state;
    for (size_t own = 256 * KB; own <= 2 * MB; own *= 2) {
        facts.figures.own = own;
        assert_int_equal(decide(&facts).ring, 2 * own);
    }
    facts.figures.shared = 8 * MB; /* four rings of 4 MB do not fit */
    assert_int_equal(decide(&facts).ring, 2 * MB);
}

/* ---- Any figures --------------------------------------------------------- */

enum { RUNS = 20000, SEED = 7 };

static double between(uint64_t *random, double least, double most)
{
    return least + (most - least) * (double)(rcx_random(random) >> 11) /
                       (double)(UINT64_C(1) << 53);
}

static struct rcx_pair_figures any_pair(uint64_t *random)
{
    struct rcx_pair_figures p = {.line = between(random, 2, 3000)};

    p.write = between(random, 0.002, 5);
    p.read = between(random, 0.002, 5);
    p.write_out = between(random, 0.002, 5);
    p.read_out = between(random, 0.002, 5);
    return p;
}

static struct rcx_decide_facts any_facts(uint64_t *random)
{
    struct rcx_decide_facts facts = {
        .figures = {.origin = RCX_FIGURES_MEASURED,
                    .near = any_pair(random),
                    .far = any_pair(random),
                    .cma_call = between(random, 30, 30000),
                    .cma_byte = between(random, 0.002, 5),
                    .turn = between(random, 50, 100000)}};

    facts.figures.own = rcx_random(random) % (4 * MB);
    facts.figures.shared = rcx_random(random) % (512 * MB);
    facts.ranks = 2 + rcx_random(random) % 255;
    facts.tasks = facts.ranks + rcx_random(random) % 3;
    facts.cores = 1 + rcx_random(random) % 256;
    facts.is_near = rcx_random(random) % 2;
    facts.has_cma = rcx_random(random) % 2;
    return facts;
}

/* Also: what is printed can be set, and is decided by all ranks then. */
static void whatever_is_decided_could_have_been_set(void **state)
{
    uint64_t random = SEED;

    (void)state;
    for (int i = 0; i < RUNS; i++) {
        const struct rcx_decide_facts facts = any_facts(&random);
        const struct rcx_shm_settings s = decide(&facts);
        struct rcx_shm_settings set, again;
        struct rcx_refusal refusal;
        char text[128];

        assert_true(s.chunk <= s.ring / RCX_SHM_CHUNKS);
        assert_true(s.chunk > 0 && s.chunk % RCX_SHM_PART == 0);
        assert_true(s.eager >= RCX_SHM_SHORT && s.eager <= s.chunk);
        assert_true(s.eager < s.cma || s.eager == RCX_SHM_SHORT);
        assert_true(facts.has_cma || s.cma == SIZE_MAX);
        rcx_shm_settings_print(&s, text, sizeof text);
        if (!rcx_shm_settings_parse(text, &set, &refusal))
            fail_msg("%s: %s", text, refusal.valid);
        rcx_decide(&facts, &set, &again);
        assert_memory_equal(&s, &again, sizeof s);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_cores_of_one_amd_complex),
        cmocka_unit_test(two_cores_of_two_amd_complexes),
        cmocka_unit_test(intel_with_a_slow_shared_cache),
        cmocka_unit_test(a_small_arm),
        cmocka_unit_test(cma_that_is_free),
        cmocka_unit_test(ranks_that_share_cores_wait_for_longer_messages_only),
        cmocka_unit_test(a_byte_and_a_call_decide_when_the_kernel_reads),
        cmocka_unit_test(a_line_that_takes_longer_makes_longer_chunks),
        cmocka_unit_test(what_is_set_is_not_decided),
        cmocka_unit_test(every_ring_is_a_power_of_two_within_limits),
        cmocka_unit_test(many_ranks_have_short_rings),
        cmocka_unit_test(two_ranks_have_twice_their_own_cache),
        cmocka_unit_test(whatever_is_decided_could_have_been_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
