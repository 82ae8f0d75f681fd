#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Levels within a node: hierarchical algorithms over two and three of them.
# Usage: test_levels.sh RCXRUN RCX_PERF RCX_INFO

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "RCXRUN RCX_PERF RCX_INFO" "$@"
rcxrun=$1
perf=$2
info=$3
within 120
short=(--iters 1 --warmup 1 --time 0.01 --min 4 --max 8K --factor 2048 --check=1)

prints() { grep -q -e "$1" "$out"; }
says() { grep -q -e "$1" "$err"; }

# even and uneven groups, on one node and on two
for levels in "12 socket=6,cache=3" "11 socket=4,numa=2" "13 cache=4" "12 cache=2 --nodes 2"; do
    read -r n level nodes <<<"$levels"
    for coll in allreduce reduce reduce_scatter_block barrier bcast gather scatter allgather alltoall; do
        name=${coll%_block}
        variable=RCX_${name^^}
        # shellcheck disable=SC2086
        run 0 "$rcxrun" -n "$n" $nodes -x RCX_LEVELS="$level" -x "$variable=hierarchical" "$perf" -c "$coll" "${short[@]}" \
            && prints "hierarchical"
        ok $? "$coll by levels, $levels"
    done
done

for level in socket cache; do
    run 0 "$rcxrun" -n 8 -x RCX_LEVELS=socket=4,cache=2 -x RCX_ALLREDUCE=hierarchical:level=$level,leaders=2 "$perf" \
        "${short[@]}" && prints "hierarchical:leaders=2,level=$level"
    ok $? "a method says by which level it divides: $level"
done
run 0 "$rcxrun" -n 8 -x RCX_LEVELS=socket=4,cache=2 -x RCX_ALLREDUCE=hierarchical "$perf" "${short[@]}" && prints 'level='
ok $? "else the price chooses among levels"
run 0 "$rcxrun" -n 8 -x RCX_LEVELS=none "$perf" "${short[@]}" && ! prints 'level='
ok $? "without levels nothing divides a node"

run 2 "$rcxrun" -n 8 -x RCX_LEVELS=none -x RCX_ALLREDUCE=hierarchical:level=cache "$perf" "${short[@]}"
[ "$(grep -c 'does not work for this call' "$err")" -ge 1 ]
ok $? "a level that divides nothing is an error"
for wrong in cache cache=0 cache=x cahce=4 cache=4,,socket=8 cache=4k,; do
    run 2 "$rcxrun" -n 2 -x RCX_LEVELS=$wrong "$perf" "${short[@]}" && [ "$(grep -c 'RCX_LEVELS' "$err")" -eq 1 ]
    ok $? "RCX_LEVELS=$wrong is an error, logged once"
done
run 2 "$rcxrun" -n 2 -x RCX_ALLREDUCE=hierarchical:level=cahce "$perf" "${short[@]}" && says 'did you mean cache'
ok $? "a level that does not exist is an error, with a guess"

run 0 "$info" --explain allreduce --ranks 128 --per-socket 64 --per-cache 8 --bytes 64K && prints '^  hierarchical:leaders=8,level=cache'
ok $? "rcx_info explains a call on a node of many caches"
end_tests
