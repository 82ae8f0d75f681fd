#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Messages between real processes, and ranks that die while others wait for
# their messages. Usage: test_p2p.sh RCXRUN P2P_MAIN EXAMPLE_HALO

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN P2P_MAIN EXAMPLE_HALO" "$@"
halo=$(realpath "$3")
within 100
tcp=(-x UCX_TLS=tcp,self -x UCX_NET_DEVICES=lo)

# good SENTENCE OPTION... HOW: the job succeeds and prints no error
good() {
    run 0 "$rcxrun" "${@:2:$#-2}" "$main" "${!#}" && is_silent
    ok $? "$1"
}

for n in 1 2 5; do
    good "all lengths go round $n ranks" -n $n ring
done
good "all lengths go round over TCP" -n 3 "${tcp[@]}" ring
good "all lengths go round by rendezvous" -n 3 -x UCX_RNDV_THRESH=0 ring
good "all lengths go round ranks that sleep" -n 3 -x RCX_WAIT=block ring
good "a rank serves requests of any source" -n 4 any
good "a rank serves requests of any source over TCP" -n 3 "${tcp[@]}" any
good "a message that is too long fails one receive" -n 3 long
good "a message that is too long fails one receive, over TCP" -n 2 "${tcp[@]}" long
for how in swap probe cancel; do
    for n in 1 2 4; do
        [ "$how$n" = probe1 ] || good "$how: $n ranks" -n $n $how
    done
    good "$how: over TCP" -n 3 "${tcp[@]}" $how
    good "$how: by UCX within the node" -n 2 -x RCX_LANES=ucp $how
    good "$how: where a thread makes progress" -n 2 -x RCX_PROGRESS=thread $how
done
good "cancel: by rendezvous" -n 3 -x UCX_RNDV_THRESH=0 cancel
good "messages and collectives do not mix" -n 5 mix
good "they do not mix where calls are compared" -n 4 -x RCX_CHECK=full mix
good "they do not mix where a thread makes progress" \
    -n 3 -x RCX_PROGRESS=thread mix
good "they do not mix by rendezvous" -n 3 -x UCX_RNDV_THRESH=0 mix

for by in ucp auto; do
    run 0 "$rcxrun" -n 3 -x RCX_LANES=$by "$main" leave && [ "$(wc -l <"$out")" -eq 1 ] \
        && grep -q '^rank 1: .*a message of rank 0 with tag 40 was not received$' "$out"
    ok $? "rcx_finalize warns of a message that was not received, RCX_LANES=$by"
done

for n in 1 2 5; do
    run 0 "$rcxrun" -n $n "$halo" && is_silent && grep -q "^$n ranks" "$out"
    ok $? "examples/halo.c agrees with one rank alone: $n ranks"
done

# Lines on stderr other than rcxrun's line about the victim.
unexpected() {
    grep -v '^rcxrun: rank 2 (pid [0-9]*) killed by signal 9' "$err"
}

# try HOW [OPTION...]; expect STATUS HOW
try() {
    local mode=()

    [ "$1" != kill ] || mode=(-x RCX_ERR_MODE=none) # by the deadline alone
    begin "$1" "$rcxrun" -k -n 4 "${mode[@]}" "${@:2}" "$main" "$1"
}
expect() {
    end "$2" "$1" && [ -z "$(unexpected)" ]
    ok $? "a rank that waits for a message gets an error in time: $2"
}

# UCX prints messages of its own about a failed peer. About CMA see
# guarantees.md.
peer=(-x RCX_ERR_MODE=peer -x UCX_KEEPALIVE_INTERVAL=1s
    -x UCX_LOG_LEVEL=fatal)
try kill
try stop
expect 137 kill
expect 137 stop
for ((i = 0; i < 8; i++)); do
    run 137 "$rcxrun" -k -n 4 "$main" first && [ -z "$(unexpected)" ] || break
done
[ $i -eq 8 ]
ok $? "the first message to a rank that was killed is an error, $i times"
try late
try abort
expect 0 late
expect 0 abort
try dead "${peer[@]}"
try cold "${peer[@]}"
expect 137 dead
expect 137 cold

end_tests
