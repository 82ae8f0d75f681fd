#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# rcx_peer_failed(): a rank tells which rank has ended, where nothing else would
# find it: the others go on at once. A rank that lives learns that it is
# excluded. Guarantee A10. Usage: test_peer_failed.sh RCXRUN PEER_FAILED_MAIN

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN PEER_FAILED_MAIN" "$@"
export UCX_LOG_LEVEL=fatal # UCX prints messages of its own about a failed peer

# Lines on stderr other than rcxrun's lines about the victim.
is_quiet() {
    [ ! -s "$out" ] && ! grep -qv '^rcxrun: rank [0-9]* (pid [0-9]*) \(killed by signal 9\|exited with status 3\)' "$err"
}

# expect STATUS N HOW VICTIM [OPTION...]
expect() {
    local -r sentence="rank $4 of $2, $3 ${*:5}"
    if run "$1" "$rcxrun" -k -n "$2" "${@:5}" "$main" "$3" "$4" && is_quiet; then
        ok 0 "$sentence"
    elif aborted_while_connecting; then
        known "UCX cannot fail a connection that is being made" "$sentence"
    else
        ok 1 "$sentence"
    fi
}

ways=("" "-x RCX_LANES=ucp" "-x UCX_TLS=tcp,self" "-x RCX_LANES=ucp -x UCX_TLS=tcp,self"
    "--nodes 2" "-x RCX_WAIT=block" "-x RCX_PROGRESS=thread")

for way in "${ways[@]}"; do
    read -ra options <<<"$way"
    expect 137 4 kill 2 "${options[@]}"
    expect 137 3 kill 0 "${options[@]}"
    expect 137 3 thread 1 "${options[@]}"
    expect 3 4 stop 1 "${options[@]}"
    expect 3 3 stop 0 "${options[@]}"
    expect 3 4 alive 3 "${options[@]}"
    expect 3 3 alive 0 "${options[@]}"
    # UCX's shared memory does not keep what a process has sent that has ended
    [[ "RCX_LANES=${RCX_LANES-} $way" == *"RCX_LANES=ucp"* && "$way" != *@(tcp|nodes)* ]] \
        || expect 3 3 leave 1 "${options[@]}"
    # half of the members, without rank 0: only a certain death is no loss of
    # the quorum
    expect 137 2 kill 0 "${options[@]}"
    expect 3 2 alive 0 "${options[@]}"
done
expect 137 33 kill 5 # of a large communicator, neighbours pass it on

end_tests
