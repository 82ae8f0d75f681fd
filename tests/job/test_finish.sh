#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# rcx_finalize succeeds every time, in every state (need 8). Usage:
# test_finish.sh RCXRUN FINISH_MAIN RUNS

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN FINISH_MAIN RUNS" "$@"
need=8

# This job mostly waits, so it runs in the background.
begin skew "$rcxrun" -n 4 -x RCX_WAIT=block "$main" skew 5

for ((i = 1; i <= $3; i++)); do
    run 0 "$rcxrun" -n 4 "$main" once && is_silent || break
done
[ $i -gt "$3" ]
ok $? "4 ranks initialize and finalize $3 times"

run 0 "$rcxrun" -n 4 "$main" live && is_silent
ok $? "a context with live objects is not finalized, and stays usable"

run 0 "$rcxrun" -n 1 "$main" twice &&
    [ "$(cat "$err")" = 'rcx error: rcx_finalize: context_p=NULL' ]
ok $? "to finalize again does nothing, and a missing pointer is an error"

run 0 "$rcxrun" -n 4 "$main" failed && is_silent
ok $? "after a failure of the world rcx_finalize succeeds"

# These jobs mostly sleep, so they run at the same time.
succeeds() {
    end "$1" 0 && is_silent && [ ! -s "$out" ]
}
for mode in "" "-x RCX_ERR_MODE=peer" "-x UCX_TLS=tcp,self" \
    "-x UCX_TLS=tcp,self -x RCX_ERR_MODE=peer"; do
    read -ra options <<<"-x RCX_WAIT=block -x UCX_NET_DEVICES=lo $mode"
    for n in 2 3 4 5; do
        begin mismatch "$rcxrun" -k -n $n "${options[@]}" "$main" early mismatch
        begin absent "$rcxrun" -k -n $n "${options[@]}" "$main" early absent
        begin abort "$rcxrun" -k -n $n "${options[@]}" "$main" early abort
        succeeds mismatch && succeeds absent && succeeds abort
        ok $? "ranks in rcx_finalize, of $n, get the reason of a failure $mode"
    done
done

none="-x RCX_ERR_MODE=none -x RCX_TIMEOUT=1s"
for mode in "$none" "$none -x UCX_TLS=tcp,self" "-x RCX_ERR_MODE=auto" \
    "-x RCX_ERR_MODE=peer -x UCX_TLS=tcp,self"; do
    read -ra options <<<"$mode -x UCX_NET_DEVICES=lo -x UCX_LOG_LEVEL=fatal"
    run 137 "$rcxrun" -k -n 4 "${options[@]}" "$main" killed &&
        ! grep -v '^rcxrun: rank 2 (pid [0-9]*) killed by signal 9' "$err" &&
        [ ! -s "$out" ]
    ok $? "a rank that is killed is named by the ranks in rcx_finalize $mode"
done

for us in 1 300 1000 3000; do
    run 142 "$rcxrun" -k -n 4 "$main" dies $us &&
        ! grep -v '^rcxrun: rank 2 (pid [0-9]*) killed by signal 14' "$err"
    ok $? "a rank that dies $us us after it entered rcx_finalize delays no other"
done

end skew 0 && is_silent
ok $? "a rank may finalize 5 s after the others"

end_tests
