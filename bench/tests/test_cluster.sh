#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A short run of bench_cluster. Skipped, with the reason, where
# with_cluster cannot run. Usage: test_cluster.sh BENCH_CLUSTER BUILD

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/support/tap.sh"
takes "BENCH_CLUSTER BUILD" "$@"
bench=$1
within 100
short=(--build "$2" --grid "2x1,2x2" --rates 100mbit --sizes "8,65536" --rounds 1 --time 0.02)

"${bound[@]}" "$bench" "${short[@]}" --libraries rcx >"$out" 2>"$err"
status=$?
if [ $status -eq 77 ]; then
    echo "1..0 # SKIP $(sed -n 's/.*skipped: //p' "$err")"
    exit 0
fi
# 64 KiB over 100 Mbit/s: the bound 2 (N-1)/N m for N = 2 nodes is 5,243 us
[ $status -eq 0 ] && [ ! -s "$err" ] && [ "$(grep -c '^| 8 | [0-9][0-9.,]* | ' "$out")" -eq 2 ] \
    && [ "$(grep -c '^| 65536 | [0-9][0-9.,]* |  | 5,243 | [0-9.]* |$' "$out")" -eq 2 ]
ok $? "a table for each cluster, with the link's bound"

run 0 "$bench" "${short[@]}" --coll bcast --grid 2x1 --libraries rcx,openmpi && [ "$(grep -c '^| 8 ' "$out")" -eq 1 ]
ok $? "a library that is not installed is left out"

run 0 "$bench" "${short[@]}" --grid 2x2 --libraries rcx --methods "ring nonsense recursive_doubling" \
    && grep -q 'rcx:nonsense gives no times' "$err" \
    && [ "$(grep -c '^| 8 | [0-9.,]* | [0-9.,]* |  | [0-9.,]* |  | 0.6 | [0-9.]* | [1-9][0-9.]* |$' "$out")" -eq 1 ]
ok $? "forced methods give the regret of the default"

run 2 "$bench" --grid 3 && grep -q 'such as 3x2' "$err" && run 2 "$bench" --rates 3mb && run 2 "$bench" --libraries ompi \
    && run 0 "$bench" --help
ok $? "invalid options are refused"

end_tests
