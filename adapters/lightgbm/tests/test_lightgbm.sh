#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# LightGBM's two network functions, called as LightGBM calls them.
# Usage: test_lightgbm.sh RCXRUN STUB

# shellcheck source=adapters/tests/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../../tests/tap.sh"
takes "RCXRUN STUB" "$@"
rcxrun=$(realpath "$1")
stub=$(realpath "$2")
bound=(timeout -k 5 60)

for n in 1 2 3 5; do
    run 0 "$rcxrun" -n $n "$stub" && [ "$(cat "$out")" = "0 failures" ]
    ok $? "blocks of all lengths, in place and not, on two threads, on $n ranks"
done
run 1 "$rcxrun" -n 2 "$stub" wrong && grep -q 'rcx_lightgbm_reduce_scatter' "$err"
ok $? "an error ends the job, and names the function"
run 134 "$rcxrun" -n 2 "$stub" unused && grep -q 'rcx_lightgbm_use() must be called first, on the training thread' "$err"
ok $? "a thread that has not called rcx_lightgbm_use() ends with an error that says so"

end_tests
