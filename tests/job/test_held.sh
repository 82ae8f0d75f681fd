#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Ranks that die while others hold messages for a reduction of many operands:
# the others go on. Usage: test_held.sh RCXRUN HELD_MAIN

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN HELD_MAIN" "$@"
within 120

# Lines on stderr other than rcxrun's lines about the dead.
is_quiet() {
    [ ! -s "$out" ] && ! grep -qv '^rcxrun: rank [0-9]* (pid [0-9]*) killed by signal 9' "$err"
}

# expect N [OPTION...]
expect() {
    run 137 "$rcxrun" -k -n "$1" "${@:2}" "$main" && is_quiet
    ok $? "ranks die one after another, $1 at first, ${*:2}"
}

for algorithm in direct pairwise tree:topology=flat; do
    expect 6 -x RCX_ALLREDUCE=$algorithm
done
expect 5 -x RCX_ALLREDUCE=direct -x RCX_WAIT=block
expect 5 -x RCX_ALLREDUCE=direct -x RCX_PROGRESS=thread
expect 4 -x RCX_ALLREDUCE=direct -x RCX_LANES=ucp -x UCX_TLS=tcp,self

end_tests
