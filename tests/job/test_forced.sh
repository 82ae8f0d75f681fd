#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Each algorithm that the library itself says it has, forced on real jobs.
# Usage: test_forced.sh RCXRUN JOB_MAIN

set -u

if [ $# -ne 2 ]; then
    echo "usage: $0 RCXRUN JOB_MAIN" >&2
    exit 2
fi
rcxrun=$(realpath "$1")
main=$(realpath "$2")
err=$(mktemp)
trap 'rm -f "$err"' EXIT
unset "${!RCX_@}"

number=0
failed=0

# The names after "NAME is one of", from the error about a name that is none.
names() {
    env "$1=no_such_algorithm" "$main" launch 2>&1 >/dev/null |
        sed -n 's/.*NAME is one of //p' | tr -d ','
}

# job N NAME=VALUE
job() {
    number=$((number + 1))
    timeout -k 5 120 "$rcxrun" -n "$1" -x "$2" "$main" quick 2>"$err" </dev/null
    local -r status=$?
    if [ $status -eq 0 ] && [ ! -s "$err" ]; then
        echo "ok $number - n=$1 $2"
        return
    fi
    echo "not ok $number - n=$1 $2"
    echo "# exit status $status"
    sed 's/^/# stderr: /' "$err" | head -20
    failed=$((failed + 1))
}

for variable in RCX_ALLREDUCE RCX_REDUCE RCX_REDUCE_SCATTER; do
    found=$(names $variable)
    if [ -z "$found" ]; then
        number=$((number + 1)) failed=$((failed + 1))
        echo "not ok $number - $variable=no_such_algorithm lists the names"
    fi
    for name in $found; do
        job 3 "$variable=$name"
    done
done
job 3 RCX_ALLREDUCE=ring:segment=8K,window=4
job 4 RCX_REDUCE=binomial:segment=1K,window=8

echo "1..$number"
exit $((failed > 0))
