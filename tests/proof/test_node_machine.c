/* SPDX-License-Identifier: BSD-3-Clause */
/* The description of a node with many cores: what is refused and why, and where
 * ranks are placed. */
#include "test.h"

#include <string.h>

#include "sim/node_machine.h"

static void assert_refused(const char *text, const char *expected)
{
    struct node_machine m;
    char why[NODE_TEXT] = "";

    assert_false(node_machine_parse(&m, text, why));
    if (!strstr(why, expected))
        fail_msg("\"%s\", not \"%s\"", why, expected);
}

static void wrong_machines_are_refused_with_the_line(void **state)
{
    (void)state;
    assert_refused("", "two levels");
    assert_refused("levels 3", "line 1: \"levels\": a line begins with");
    assert_refused("\nlevel core cors=1",
                   "line 2: \"cors\" is no key of level");
    assert_refused("level core cores=0", "a number from 1 on");
    assert_refused("level core cores", "\"cores\" is no key");
    assert_refused("level", "needs a name");
    assert_refused("level core cores=1 cache=1K out=5", "a rate such as");
    assert_refused("lane send=5", "a time such as");
    assert_refused("level core cores=2 cache=1K", "cores=1");
    assert_refused("level core cores=1 cache=1K\nlevel b cores=4 latency=1ns "
                   "read=1GB/s\nlevel c cores=6 latency=1ns read=1GB/s",
                   "several times the 4 cores of b");
    assert_refused("level core cores=1 cache=1K\nlevel b cores=4",
                   "needs latency and read");
    assert_refused("level core cores=1 cache=1K\nlevel b cores=4 latency=1ns "
                   "read=1GB/s cache=1M",
                   "cache-read");
    assert_refused("level a\nlevel b\nlevel c\nlevel d\nlevel e\nlevel f\n"
                   "level g\nlevel h\nlevel i",
                   "line 9: more than 8 levels");
}

static void ranks_are_placed_side_by_side_or_far_apart(void **state)
{
    static const char text[] =
        "core copy=1GB/s combine=1GB/s\n"
        "level core cores=1 cache=64K\n"
        "level cache cores=4 latency=1ns read=1GB/s cache=1M cache-read=1GB/s\n"
        "level socket cores=8 latency=1ns read=1GB/s memory=1GB/s\n"
        "level socket memory-read=1GB/s # on a line of its own\n"
        "level node cores=16 latency=1ns read=1GB/s\n"
        "lane readers=8 slot=112 chunk=16K room=64K\n";
    int core[16], near[4], seen[16] = {0};
    struct node_machine m;
    char why[NODE_TEXT];

    (void)state;
    assert_true(node_machine_parse(&m, text, why));
    node_place(&m, NODE_COMPACT, 4, near);
    node_place(&m, NODE_SCATTER, 16, core);
    for (int i = 0; i < 4; i++)
        assert_int_equal(near[i], i);
    for (int i = 0; i < 16; i++)
        seen[core[i]]++;
    for (int i = 0; i < 16; i++)
        assert_int_equal(seen[i], 1);
    assert_int_equal(node_apart(&m, core[0], core[1]), 3);
    assert_int_equal(node_apart(&m, core[0], core[2]), 2);
    assert_int_equal(node_apart(&m, core[0], core[4]), 1);
    assert_int_equal(node_apart(&m, core[0], core[0]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_machines_are_refused_with_the_line),
        cmocka_unit_test(ranks_are_placed_side_by_side_or_far_apart),
    };

    return cmocka_run_group_tests_name("node_machine", tests, NULL, NULL);
}
