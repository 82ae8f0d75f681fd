#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Jobs that go on after failures: agreement, shrink, and what they leave behind
# (guarantees A1 to A8). Usage: test_recover.sh RCXRUN RECOVER_MAIN [full]

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN RECOVER_MAIN [full]" "$@"
full=${3-}
within 120
export UCX_LOG_LEVEL=fatal # UCX prints messages of its own about a failed peer

# Lines on stderr other than rcxrun's lines about the dead.
is_quiet() {
    [ ! -s "$out" ] && ! grep -qv '^rcxrun: rank [0-9]* (pid [0-9]*) \(killed by signal 9\|exited with status 3\)' "$err"
}

# expect STATUS N [OPTION...] -- WHAT...
expect() {
    local -r want=$1 n=$2
    local options rest
    split_options "${@:3}"
    local -r sentence="${rest[*]} on $n ranks ${options[*]}"
    if run "$want" "$rcxrun" -k -n "$n" "${options[@]}" "$main" "${rest[@]}" && is_quiet; then
        ok 0 "$sentence"
    elif aborted_while_connecting; then
        known "UCX cannot fail a connection that is being made" "$sentence"
    elif [[ "${options[*]} ${rest[0]}" == "-x RCX_LANES=ucp deaths" ]] &&
        ! grep '^rank [0-9]*: ' "$err" | grep -qv RCX_ERR_EXCLUDED; then
        # guarantee F21: then living ranks are silent to each other
        known "a rank that dies stops a queue of UCX's shared memory" "$sentence"
    else
        ok 1 "$sentence"
    fi
}

ways=("" "-x RCX_LANES=ucp" "-x RCX_LANES=ucp -x UCX_TLS=tcp,self"
    "-x UCX_TLS=tcp,self" "-x RCX_WAIT=block" "-x RCX_PROGRESS=thread")

for way in "${ways[@]}"; do
    read -ra options <<<"$way"
    expect 0 5 "${options[@]}" -- agree 200
    expect 0 3 "${options[@]}" -- loop 200
    for n in 2 4; do
        expect 137 $n "${options[@]}" -- world 0
        expect 137 $n "${options[@]}" -- world $((n - 1))
    done
    # A member may finalize when it has done its part.
    expect 137 4 "${options[@]}" -x RCX_REDUCE=binomial -- leave
done
expect 0 1 -- agree 3
expect 0 1 -- loop 20
expect 0 33 -- agree 5
expect 0 2 -- loop "$([ "$full" ] && echo 100000 || echo 10000)" # more than ids

# A stopped rank is excluded, whichever it is, and learns of it.
for victim in 0 1 3; do
    expect 3 4 -- stop $victim
done
expect 3 5 -x RCX_UCX_TLS=tcp,self -- stop 0

# A rank resumes in an agreement that the others have decided; then they died or
# left.
for way in "" "-x RCX_LANES=ucp" "-x UCX_TLS=tcp,self" "-x RCX_LANES=ucp -x UCX_TLS=tcp,self"; do
    read -ra options <<<"$way"
    "${bound[@]}" "$rcxrun" -k -n 4 "${options[@]}" -x RCX_TIMEOUT=10s "$main" late >"$out" 2>"$err"
    [ "$(sort -u "$out" | wc -l)" -le 1 ] && ! grep -q '^rank ' "$err"
    ok $? "all decide alike where one resumes late ${options[*]}"
done

# Half of the ranks die at once, seen first as connections that break.
for way in "-x RCX_LANES=ucp -x UCX_TLS=tcp,self" "-x RCX_LANES=ucp -x RCX_ERR_MODE=peer" ""; do
    read -ra options <<<"$way"
    for _ in 1 2 3 4; do
        expect 137 4 "${options[@]}" -- half
    done
done

# Deaths in exact sums: in each of their stages, of integers, of which a ring is
# one of the algorithms; and at once.
for way in "" "-x RCX_LANES=ucp" "-x RCX_LANES=ucp -x UCX_TLS=tcp,self"; do
    read -ra options <<<"$way"
    for stage in 1 2 3 4; do
        expect 137 5 "${options[@]}" -x RCX_ALLREDUCE=ring -x RCX_LOG=debug -- exact $stage
    done
    for polls in 5 7 25 305; do
        expect 137 5 "${options[@]}" -- exact $polls
        expect 137 5 "${options[@]}" -x RCX_ALLREDUCE=ring -- exact $polls
    done
done

# Deaths in sums in float, in stages and at once.
for polls in 0 2 20; do
    expect 137 5 -x RCX_ALLREDUCE=ring -- float $polls
    expect 137 5 -- float $polls
done

# Deaths at random moments, alone or two at once, until few ranks are left.
for ((seed = 1; seed <= $([ "$full" ] && echo 300 || echo 12); seed++)); do
    n=$((3 + seed % 8))
    read -ra options <<<"${ways[seed % 4]}"
    expect 137 $n "${options[@]}" -- deaths $((1 + seed % (n - 1))) $seed
done

end_tests
