/* SPDX-License-Identifier: BSD-3-Clause */
/* Places of ranks: sockets, NUMA domains and caches by files like those of
 * /sys, for machines of several kinds, and by hwloc. */
#include "test.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cpus.h"
#include "core/base/places.h"

/* ---- Trees of files ------------------------------------------------------ */

static char root[] = "/tmp/rcx_places_XXXXXX";
struct machine;
static const struct machine *here; /* NULL: no files */

static int make_root(void **state)
{
    (void)state;
    here = NULL;
    strcpy(root, "/tmp/rcx_places_XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *s, int kind,
                      struct FTW *at)
{
    (void)s, (void)kind, (void)at;
    return remove(path);
}

static int remove_root(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Write text to a file below root, with its folders. */
__attribute__((format(printf, 2, 3))) static void put(const char *text,
                                                      const char *format, ...)
{
    char below[128], path[256];
    va_list args;
    FILE *file;

    va_start(args, format);
    vsnprintf(below, sizeof below, format, args);
    va_end(args);
    snprintf(path, sizeof path, "%s/devices/system/%s", root, below);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    file = fopen(path, "w");
    require(file && fprintf(file, "%s\n", text) > 0 && fclose(file) == 0);
}

/* A machine of equal parts. Threads of a core are cpus c and c + cores. */
struct machine {
    int cores, threads;
    int per_socket, per_domain, per_cache; /* cores; per_cache 0: none */
    bool is_old; /* names of files before Linux 5.3, and no ids of caches */
};

/* The list of the threads of as many cores as a part has, with core in it. */
static const char *part(const struct machine *m, int core, int cores,
                        char text[64])
{
    const int first = core / cores * cores, last = first + cores - 1;
    size_t used = 0;

    for (int i = 0; i < m->threads; i++)
        used +=
            (size_t)snprintf(text + used, 64 - used, "%s%d-%d", i ? "," : "",
                             first + i * m->cores, last + i * m->cores);
    return text;
}

static void put_cache(const struct machine *m, int cpu, int index,
                      const char *type, const char *size, int cores)
{
    char text[64];

    put(type, "cpu/cpu%d/cache/index%d/type", cpu, index);
    put(size, "cpu/cpu%d/cache/index%d/size", cpu, index);
    put(part(m, cpu % m->cores, cores, text),
        "cpu/cpu%d/cache/index%d/shared_cpu_list", cpu, index);
    if (!m->is_old)
        put("0", "cpu/cpu%d/cache/index%d/id", cpu, index);
}

static void put_cpu(const struct machine *m, int cpu)
{
    const int core = cpu % m->cores;
    char text[64];

    put(part(m, core, 1, text), "cpu/cpu%d/topology/%s", cpu,
        m->is_old ? "thread_siblings_list" : "core_cpus_list");
    put(part(m, core, m->per_socket, text), "cpu/cpu%d/topology/%s", cpu,
        m->is_old ? "core_siblings_list" : "package_cpus_list");
    snprintf(text, sizeof text, "%d", core / m->per_socket);
    put(text, "cpu/cpu%d/topology/physical_package_id", cpu);
    put_cache(m, cpu, 0, "Data", "32K", 1);
    put_cache(m, cpu, 1, "Instruction", "64K", m->per_socket);
    if (m->is_old) { /* the second level is the shared one */
        put_cache(m, cpu, 2, "Unified", "2048K", m->per_cache);
        return;
    }
    put_cache(m, cpu, 2, "Unified", "1024K", 1);
    put_cache(m, cpu, 3, "Unified", "32M", m->per_cache);
}

/* Files of a cpu are written when it is asked for first. */
static void put_machine(const struct machine *m)
{
    char text[64];

    here = m;
    snprintf(text, sizeof text, "0-%d", m->cores / m->per_domain - 1);
    put(text, "node/online");
    for (int i = 0; i < m->cores / m->per_domain; i++)
        put(part(m, i * m->per_domain, m->per_domain, text),
            "node/node%d/cpulist", i);
}

static bool levels_at(int cpu, struct rcx_cpu_levels *levels)
{
    char folder[128];

    snprintf(folder, sizeof folder, "%s/devices/system/cpu/cpu%d", root, cpu);
    if (here && access(folder, F_OK) != 0)
        put_cpu(here, cpu);
    return rcx_cpu_levels_from_sys(root, cpu, levels);
}

static struct rcx_place place_at(const char *list)
{
    struct rcx_cpu_levels levels;
    cpu_set_t cpus;

    assert_true(rcx_cpus_parse(list, &cpus));
    levels_at(rcx_cpus_lowest(&cpus), &levels);
    return rcx_place_of(&levels, &cpus);
}

static void assert_place(struct rcx_place place, uint32_t socket, uint32_t numa,
                         uint32_t cache)
{
    assert_int_equal(place.socket, socket);
    assert_int_equal(place.numa, numa);
    assert_int_equal(place.cache, cache);
}

/* ---- Machines ------------------------------------------------------------ */

static const struct machine epyc = {.cores = 64,
                                    .threads = 2,
                                    .per_socket = 64,
                                    .per_domain = 64,
                                    .per_cache = 8};

static void cores_of_one_cache_of_many_have_its_lowest_cpu(void **state)
{
    struct rcx_cpu_levels levels;

    (void)state;
    put_machine(&epyc);
    assert_place(place_at("0"), 1, 1, 1);
    assert_place(place_at("13"), 1, 1, 9);
    assert_place(place_at("8-15"), 1, 1, 9);
    assert_place(place_at("77"), 1, 1, 9); /* the other thread of core 13 */
    assert_place(place_at("15,79"), 1, 1, 9);
    assert_place(place_at("15-16"), 1, 1, 0);
    assert_place(place_at("0-127"), 1, 1, 0);
    assert_true(levels_at(77, &levels));
    assert_int_equal(levels.own_bytes, 1 << 20);
    assert_int_equal(levels.last_bytes, 32 << 20);
    assert_int_equal(CPU_COUNT(&levels.core), 2);
}

/* The cache of a socket spans both of its domains, so it is no part of one. */
static void a_cache_that_spans_domains_is_none(void **state)
{
    static const struct machine xeon = {.cores = 112,
                                        .threads = 2,
                                        .per_socket = 56,
                                        .per_domain = 28,
                                        .per_cache = 56};

    (void)state;
    put_machine(&xeon);
    assert_place(place_at("0"), 1, 1, 0);
    assert_place(place_at("28-55,140-167"), 1, 2, 0);
    assert_place(place_at("27-28"), 1, 0, 0);
    assert_place(place_at("84"), 2, 4, 0);
    assert_place(place_at("55-56"), 0, 0, 0);
    assert_place(place_at("0-223"), 0, 0, 0);
}

static void a_cache_that_is_as_large_as_its_domain_counts(void **state)
{
    static const struct machine desktop = {.cores = 8,
                                           .threads = 1,
                                           .per_socket = 8,
                                           .per_domain = 8,
                                           .per_cache = 8};

    (void)state;
    put_machine(&desktop);
    assert_place(place_at("3"), 1, 1, 1);
    assert_place(place_at("0-7"), 1, 1, 1);
}

static const struct machine arm = {.cores = 16,
                                   .threads = 1,
                                   .per_socket = 16,
                                   .per_domain = 16,
                                   .per_cache = 4,
                                   .is_old = true};

static void a_cache_without_an_id_and_older_names_of_files_do(void **state)
{
    struct rcx_cpu_levels levels;

    (void)state;
    put_machine(&arm);
    assert_place(place_at("4-7"), 1, 1, 5);
    assert_place(place_at("7-8"), 1, 1, 0);
    assert_true(levels_at(4, &levels));
    assert_int_equal(levels.own_bytes, 32 << 10);
    assert_int_equal(levels.last_bytes, 2 << 20);
}

/* A cache inside the last one, which serves the whole domain. */
static void the_outermost_cache_within_a_domain_counts(void **state)
{
    const struct machine socket = {.cores = 16,
                                   .threads = 1,
                                   .per_socket = 16,
                                   .per_domain = 16,
                                   .per_cache = 16};

    (void)state;
    put_machine(&arm);
    for (int cpu = 0; cpu <= 4; cpu += 4) {
        put_cpu(&arm, cpu);
        put_cache(&socket, cpu, 3, "Unified", "64M", 16);
    }
    assert_place(place_at("4-7"), 1, 1, 5);
    assert_place(place_at("0-15"), 1, 1, 0);
}

static void an_unknown_socket_is_none(void **state)
{
    (void)state;
    put_machine(&epyc);
    put_cpu(&epyc, 5);
    put("-1", "cpu/cpu5/topology/physical_package_id");
    assert_place(place_at("5"), 0, 1, 1);
}

static void a_container_without_files_has_no_places(void **state)
{
    struct rcx_cpu_levels levels;

    (void)state;
    assert_false(rcx_cpu_levels_from_sys(root, 0, &levels));
    assert_place(place_at("0"), 0, 0, 0);
    assert_false(rcx_cpu_levels_from_sys("/no/such/folder", 0, &levels));
    assert_false(rcx_cpu_levels_from_sys(root, -1, &levels));
}

/* Damaged files of one level do not hide the others. */
static void files_that_are_wrong_tell_nothing(void **state)
{
    (void)state;
    put_machine(&epyc);
    put_cpu(&epyc, 0);
    put("8-15", "cpu/cpu0/cache/index3/shared_cpu_list"); /* without cpu 0 */
    put("0-x", "node/node0/cpulist");
    assert_place(place_at("0"), 1, 0, 0);
    put("0-7,", "cpu/cpu0/topology/package_cpus_list");
    assert_place(place_at("0-7"), 1, 0, 0);
    put("", "cpu/cpu0/topology/package_cpus_list");
    put("", "cpu/cpu0/topology/physical_package_id");
    assert_place(place_at("0"), 0, 0, 0);
}

/* ---- Sets ---------------------------------------------------------------- */

static void sets_are_parsed_and_printed_as_the_kernel_does(void **state)
{
    static const char *const good[] = {"", "0", "0-3", "0,2-3,8", "5-6,1000"};
    static const char *const bad[] = {"-1", "1-", "a", "1;2", "1 2", "0x1"};
    char text[64], short_text[12];
    cpu_set_t cpus;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(rcx_cpus_parse(good[i], &cpus));
        assert_string_equal(cpus_print(&cpus, text, sizeof text), good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(rcx_cpus_parse(bad[i], &cpus));
    assert_true(rcx_cpus_parse("1020-5000", &cpus)); /* some do not fit */
    assert_int_equal(CPU_COUNT(&cpus), 4);
    assert_true(rcx_cpus_parse("0,2,4,6,8,10", &cpus));
    assert_string_equal(cpus_print(&cpus, short_text, sizeof short_text),
                        "0,2,4,6...");
}

/* ---- hwloc --------------------------------------------------------------- */

#ifdef RCX_HAVE_HWLOC

static void
hwloc_tells_places_of_the_machine_that_its_variables_name(void **state)
{
    struct rcx_place place;
    cpu_set_t cpus;

    (void)state;
    setenv("HWLOC_SYNTHETIC", "pack:2 numa:2 l3:2 l2:4 core:1 pu:2", 1);
    rcx_cpus_parse("40-47", &cpus);
    rcx_place_find(&cpus, &place);
    assert_place(place, 2, 3, 41);
    rcx_cpus_parse("39-40", &cpus);
    rcx_place_find(&cpus, &place);
    assert_place(place, 2, 3, 0);
    rcx_cpus_parse("31-32", &cpus);
    rcx_place_find(&cpus, &place);
    assert_place(place, 0, 0, 0);
    unsetenv("HWLOC_SYNTHETIC");
}

/* Where both know this machine they agree, as ranks may ask either. */
static void hwloc_and_files_tell_the_same_of_this_machine(void **state)
{
    struct rcx_cpu_levels files, topology;
    const int cpu = sched_getcpu();
    cpu_set_t one;

    (void)state;
    if (!rcx_cpu_levels_from_sys("/sys", cpu, &files) ||
        !rcx_cpu_levels_from_hwloc(cpu, &topology))
        return;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    assert_place(rcx_place_of(&topology, &one), files.socket_id, files.numa_id,
                 rcx_place_of(&files, &one).cache);
    assert_true(CPU_EQUAL(&files.core, &topology.core));
    /* 0: unknown. hwloc 2.12 asks the processor where /sys has no caches. */
    if (files.own_bytes != 0 && topology.own_bytes != 0)
        assert_int_equal(files.own_bytes, topology.own_bytes);
}

#endif

#define WITH_ROOT(f) cmocka_unit_test_setup_teardown(f, make_root, remove_root)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WITH_ROOT(cores_of_one_cache_of_many_have_its_lowest_cpu),
        WITH_ROOT(a_cache_that_spans_domains_is_none),
        WITH_ROOT(a_cache_that_is_as_large_as_its_domain_counts),
        WITH_ROOT(a_cache_without_an_id_and_older_names_of_files_do),
        WITH_ROOT(the_outermost_cache_within_a_domain_counts),
        WITH_ROOT(an_unknown_socket_is_none),
        WITH_ROOT(a_container_without_files_has_no_places),
        WITH_ROOT(files_that_are_wrong_tell_nothing),
        cmocka_unit_test(sets_are_parsed_and_printed_as_the_kernel_does),
#ifdef RCX_HAVE_HWLOC
        cmocka_unit_test(
            hwloc_tells_places_of_the_machine_that_its_variables_name),
        cmocka_unit_test(hwloc_and_files_tell_the_same_of_this_machine),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
