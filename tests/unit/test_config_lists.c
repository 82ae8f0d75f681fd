/* SPDX-License-Identifier: BSD-3-Clause */
/* Variables whose values are lists or numbers that depend on others: names that
 * occur twice, empty items, and values that contradict each other. */
#include "test.h"

#include <stdlib.h>

#include "core/iface/shm_settings.h"
#include "settings.h"

static void each_setting_of_shared_memory_has_its_values(void **state)
{
    static const struct {
        const char *text, *printed;
    } good[] = {{"auto", "auto"},
                {"ring=4M", "ring=4M"},
                {"ring=8K,chunk=2K,eager=2K,cma=3K",
                 "ring=8K,chunk=2K,eager=2K,cma=3K"},
                {"chunk=2100,ring=8K", "ring=8K,chunk=2100"}, /* 33 lines */
                {"eager=1M,direct=112", "eager=1M,direct=112"},
                {"cma=112,eager=112", "eager=112,cma=112"},
                {"polls=1,cma=off,eager=112", "eager=112,cma=off,polls=1"},
                {"direct=1G,chunk=1000000", "chunk=1000000,direct=1G"},
                {"direct=8k,ring=auto", "direct=8K"}};
    static const char *const bad[][2] = {
        {"64K", "valid is auto, or a list of ring=SIZE"},
        {"ring", "valid is auto, or a list of ring=SIZE"},
        {"ring=1M,", "valid is auto, or a list of ring=SIZE"},
        {"ring=1M;cma=off", "valid is ring=auto, or a power of two from"},
        {"ring=3M", "valid is ring=auto, or a power of two from 8K to 4M"},
        {"ring=8M", "8K to 4M"},
        {"ring=off", "8K to 4M"},
        {"chunk=1023", "valid is chunk=auto, or a size from 1K to 1M"},
        {"eager=111", "112 to 1M"},
        {"direct=0", "valid is direct=auto, off, or a size from 112 to 1G"},
        {"cma=never", "valid is cma=auto, off, or a size"},
        {"polls=0", "1 to 1M"},
        {"ring=8K,chunk=4K", "valid is chunk=2K at most"},
        {"chunk=3K,eager=2K,ring=8K", "valid is chunk=2K at most"},
        {"ring=8K,eager=3K", "valid is eager=2K at most"},
        {"chunk=1K,eager=1025", "valid is eager=1K at most"},
        {"chunk=1100,eager=1100", "valid is eager=1088 at most"},
        {"cma=4K,eager=4K", "valid is eager=4095 at most"},
        {"ring=1M,ring=1M", "\"ring\" is given twice"},
        {"cma=auto,ring=1M,cma=off", "\"cma\" is given twice"},
        {"direkt=4K", "did you mean direct?"},
        {"ring=1M,Chunk=4K", "did you mean chunk?"}};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char text[128];

        settings_accept("RCX_SHM", good[i].text);
        assert_string_equal(
            rcx_shm_settings_print(&settings.shm, text, sizeof text),
            good[i].printed);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        settings_refuse("RCX_SHM", bad[i][0], bad[i][1]);
}

static void a_list_has_each_name_once_and_no_empty_item(void **state)
{
    static const struct {
        const char *name, *good[4], *bad[8];
    } lists[] = {
        {"RCX_MACHINE",
         {"far-alpha=20us", "far-alpha=20us,far-beta=8ns",
          "far-alpha=20us far-beta=0ns , alpha=1us"},
         {" ", ",", "far-alpha=20us,", ",far-alpha=20us",
          "far-alpha=20us,,far-beta=8ns", "none", "alpha=1us,alpha=1us"}},
        {"RCX_LEVELS",
         {"socket=8,numa=4,cache=2", "cache=2"},
         {" ", ",", "cache=2,", "cache=2,,numa=4", "cache=2,cache=2",
          "cache=2,numa=4,cache=4"}},
        {"RCX_SHM", {"ring=8K"}, {" ", ",", "ring=8K,", ",ring=8K"}},
        {"RCX_ALLREDUCE",
         {"ring:segment=4K,window=2", "hierarchical:level=cache"},
         {"ring:", "ring:,", "ring:segment=4K,", "ring:segment=4K,segment=4K",
          "recursive_multiplying:radix=4,window=2,radix=4"}},
        {"RCX_SOCKET_IFNAME",
         {"none", "eth0", "eth0,lo,eth"},
         {" ", ",", "eth0,", ",eth0", "eth0,,lo", "eth0, lo", "lo,eth0,lo"}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        for (int k = 0; lists[i].good[k]; k++)
            settings_accept(lists[i].name, lists[i].good[k]);
        for (int k = 0; lists[i].bad[k]; k++)
            settings_refuse(lists[i].name, lists[i].bad[k], "valid");
    }
    settings_refuse("RCX_MACHINE", "tell=1us,far-tell=1us,tell=2us",
                    "\"tell\" is given twice");
    settings_refuse("RCX_LEVELS", "cache=2,cache=2",
                    "\"cache\" is given twice");
    settings_refuse("RCX_ALLREDUCE", "ring:window=1,window=1",
                    "\"window\" is given twice");
    settings_refuse("RCX_SOCKET_IFNAME", "lo,eth0,lo", "\"lo\" is given twice");
}

static void a_level_is_for_methods_that_divide_by_nodes(void **state)
{
    (void)state;
    settings_accept("RCX_ALLREDUCE", "hierarchical:level=socket");
    settings_refuse("RCX_ALLREDUCE", "ring:level=socket",
                    "level: ring does not divide");
    settings_refuse("RCX_ALLREDUCE", "auto:level=socket",
                    "level: auto does not divide");
}

/* As if another bootstrap starts the process. */
static void rank_and_size_are_numbers_without_a_root_as_well(void **state)
{
    static const char *const bad[] = {"x",   "-7",  "1x", " ",
                                      "1.5", "0x1", "+1", "99999999999999"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        settings_refuse("RCX_RANK", bad[i], "0 to RCX_SIZE - 1");
        settings_refuse("RCX_SIZE", bad[i], "a number of 1 or more");
    }
    settings_refuse("RCX_SIZE", "0", "a number of 1 or more");
    settings_accept("RCX_RANK", "none");
    settings_accept("RCX_SIZE", "none");
    settings_accept("RCX_SIZE", "2147483647");
    settings_accept("RCX_RANK", "0");
    setenv("RCX_SIZE", "3", 1);
    settings_accept("RCX_RANK", "2");
    settings_refuse("RCX_RANK", "3", "0 to RCX_SIZE - 1");
    unsetenv("RCX_SIZE");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, settings_clean)
    static const struct CMUnitTest tests[] = {
        TEST(each_setting_of_shared_memory_has_its_values),
        TEST(a_list_has_each_name_once_and_no_empty_item),
        TEST(a_level_is_for_methods_that_divide_by_nodes),
        TEST(rank_and_size_are_numbers_without_a_root_as_well),
    };

    return cmocka_run_group_tests_name("config_lists", tests, NULL, NULL);
}
