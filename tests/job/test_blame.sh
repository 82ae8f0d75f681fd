#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Errors name ranks that are dead, stopped, silent, or different from the
# majority, and no rank that only waits (need 15). Usage: test_blame.sh RCXRUN
# BLAME_MAIN

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN BLAME_MAIN" "$@"
need=15
killed='^rcxrun: rank [0-9]* (pid [0-9]*) killed by signal 9'

# expect STATUS SENTENCE N [OPTION...] -- WHAT...
expect() {
    local -r want=$1 sentence=$2 n=$3
    local options rest
    split_options "${@:4}"
    if run "$want" "$rcxrun" -k -n "$n" "${options[@]}" "$main" "${rest[@]}" &&
        ! grep -qv "$killed" "$err"; then
        ok 0 "$sentence"
    elif failed_in_ucx; then
        known "UCX cannot fail a connection that is being made" "$sentence"
    else
        ok 1 "$sentence"
    fi
}

peer=(-x RCX_ERR_MODE=peer -x UCX_LOG_LEVEL=fatal)
tcp=(-x RCX_UCX_TLS=tcp,self)

expect 137 "a rank that waits for the dead one elsewhere is not named" 3 \
    -x RCX_ERR_MODE=none -x RCX_TIMEOUT=1s -- elsewhere
expect 137 "a rank that waits for one that waits names no rank" 3 \
    -x RCX_ERR_MODE=none -x RCX_TIMEOUT=1s -- back
for ms in 1980 2100 2350; do
    expect 0 "a rank that stops for $ms ms, where the deadline is 2 s, is named" \
        6 -x RCX_TIMEOUT=2s -- stops $ms
done
expect 0 "all ranks that are missing are named, on each rank" 14 -- many $((1000 * slow))
for n in 3 4 5; do
    expect 0 "a rank with a count that differs from the others is named, $n ranks" $n -- count
done
expect 0 "a rank that finalizes has left, and is not dead" 3 "${peer[@]}" -- left
expect 137 "a group fails with its parent, for which a dead rank is named" 3 \
    "${peer[@]}" -- group
# two ranks: UCX 1.13 aborts a rank without descriptors if a third one connects
# to it. usual: measuring the network connects the ranks
expect 0 "a rank that lacks descriptors is named, not its peer" 2 \
    "${tcp[@]}" -x RCX_TIMEOUT=3s -x UCX_LOG_LEVEL=fatal -x RCX_MACHINE=usual -- poor
for ms in 3 40 80; do
    expect 137 "survivors of a stream over UCX's messages leave, after $ms ms" 4 \
        "${tcp[@]}" "${peer[@]}" -x RCX_TIMEOUT=2s -- stream $ms
done

end_tests
