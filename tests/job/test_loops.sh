#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Programs that wait in loops of their own, also where ranks outnumber cores
# (need 14), with any RCX_WAIT but poll. If each operation took a time slice of
# 4 ms, a run would take minutes, and its time limit ends that.
# Usage: test_loops.sh RCXRUN LOOPS_MAIN

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN LOOPS_MAIN" "$@"
need=14

for n in 2 3 5; do
    for what in test test_any progress consensus; do
        run 0 "$rcxrun" -n $n "$main" $what 30000 && is_silent
        ok $? "$n ranks, 30,000 times: $what"
    done
done
for wait in yield block; do
    for what in test test_any progress consensus; do
        run 0 "$rcxrun" -n 3 -x RCX_WAIT=$wait "$main" $what 30000 && is_silent
        ok $? "3 ranks, RCX_WAIT=$wait, 30,000 times: $what"
    done
done
for n in 2 8; do
    run 0 "$rcxrun" -n $n "$main" flood 30000 && is_silent
    ok $? "$n ranks, 30,000 rounds of short messages, tested"
done

end_tests
