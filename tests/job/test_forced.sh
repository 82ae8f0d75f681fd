#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Each algorithm that the library itself says it has, forced on real jobs.
# Usage: test_forced.sh RCXRUN JOB_MAIN

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "RCXRUN JOB_MAIN" "$@"
rcxrun=$(realpath "$1")
main=$(realpath "$2")
bound=(timeout -k 5 120)

# The names after "NAME is one of", from the error about a name that is none.
names() {
    env "$1=no_such_algorithm" "$main" launch 2>&1 >/dev/null |
        sed -n 's/.*NAME is one of //p' | tr -d ','
}

# job N NAME=VALUE
job() {
    run 0 "$rcxrun" -n "$1" -x "$2" "$main" quick && [ ! -s "$err" ]
    ok $? "n=$1 $2"
}

for variable in RCX_ALLREDUCE RCX_REDUCE RCX_REDUCE_SCATTER; do
    found=$(names $variable)
    [ -n "$found" ]
    ok $? "$variable=no_such_algorithm lists the names"
    for name in $found; do
        job 3 "$variable=$name"
    done
done
job 3 RCX_ALLREDUCE=ring:segment=8K,window=4
job 4 RCX_REDUCE=binomial:segment=1K,window=8

end_tests
