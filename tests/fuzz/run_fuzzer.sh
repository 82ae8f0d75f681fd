#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# run_fuzzer.sh FUZZER SEEDS RUNS: one test in TAP: RUNS runs of libFuzzer from
# SEEDS find no failure. An input that fails is printed, to become a seed.

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "FUZZER SEEDS RUNS" "$@"
export UBSAN_OPTIONS=${UBSAN_OPTIONS-halt_on_error=1:print_stacktrace=1}
mkdir "$scratch/corpus"

# libFuzzer adds inputs that reach new code to the first folder, so that is a
# scratch one.
run 0 "$1" -runs="$3" -seed=1 -max_len=4096 -artifact_prefix="$scratch/" \
    "$scratch/corpus" "$2"
ok $? "$3 runs of ${1##*/} find nothing"
for input in "$scratch"/{crash,leak,oom,slow-unit,timeout}-*; do
    [ ! -e "$input" ] || echo "# base64 of ${input##*/}: $(base64 -w0 "$input")"
done
grep -E '^#[0-9]+.*DONE|^Done' "$err" | sed 's/^/# /'
end_tests
