#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Dumps of a job in which rank 2 is missing name rank 2, and the call. Usage:
# test_missing_ranks.sh RCXRUN FAIL_MAIN DEADLINE_MAIN RCX_TRACE PYTHON3

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "RCXRUN FAIL_MAIN DEADLINE_MAIN RCX_TRACE PYTHON3" "$@"
rcxrun=$(realpath "$1")
fail_main=$(realpath "$2")
deadline_main=$(realpath "$3")
trace=$(realpath "$4")
python=$5
need=5
within 60

# dumps STATUS PROGRAM...: the job ends with STATUS, each dump is valid JSON,
# and rcx_trace reports a problem
dumps() {
    local -r status=$1
    local dump
    shift
    rm -f "$scratch"/dump.*
    run "$status" "$rcxrun" -k -n 4 -x RCX_DUMP="$scratch/dump" "$@" || return
    for dump in "$scratch"/dump.*; do
        run 0 "$python" -m json.tool "$dump" || return
    done
    run 1 "$python" "$trace" "$scratch"/dump.*.json
}

# says LINE...: rcx_trace prints these whole lines (patterns)
says() {
    local line
    for line; do
        grep -qxE " *$line" "$out" && continue
        echo "# not said: $line"
        return 1
    done
}

# The other ranks name rank 2, and no other rank.
blames_only_2() {
    ! grep -qE 'missing ranks|missing rank [^2]' "$out" &&
        grep -qE 'reports? RCX_ERR_TIMEOUT, missing rank 2:' "$out"
}

for collective in allreduce reduce; do
    dumps 137 "$fail_main" stop $collective && blames_only_2 &&
        says "4 ranks, 3 dumps; none of rank 2" \
            "last that those with a dump completed: number 21, $collective .*" \
            "number 22: $collective of 3000 int64, sum, .*"
    ok $? "$collective: a rank that is stopped is the one that is missing"
done

dumps 0 "$fail_main" late allreduce && blames_only_2 &&
    says "4 ranks, 4 dumps" "last that all completed: number 21, allreduce .*" \
        "rank 2 has not called it: number 21, allreduce .*"
ok $? "of a rank that has not called, the last operation is printed"

dumps 0 "$deadline_main" leave && blames_only_2 &&
    says "4 ranks, 4 dumps" "rank 2 has not called it: .*"
ok $? "a rank that waits in rcx_finalize names the missing rank"

end_tests
