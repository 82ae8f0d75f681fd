#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Progress without calls, sleeping, and more ranks than cores (needs 14, 24).
# Usage: test_progress.sh RCXRUN PROGRESS_MAIN

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN PROGRESS_MAIN" "$@"
tcp=(-x UCX_TLS=tcp,self -x UCX_NET_DEVICES=lo)
# No periodic events that would wake a rank that sleeps.
still=(-x RCX_CHECK=off)

# try SENTENCE N [OPTION...] WHAT
try() {
    local -r sentence=$1 n=$2
    shift 2
    run 0 "$rcxrun" -n "$n" "${@:1:$#-1}" "$main" "${!#}" && is_silent
    ok $? "$sentence"
}

# These jobs sleep, so they run at the same time.
need=14
for network in shm tcp; do
    options=(-x RCX_WAIT=block)
    [ $network = shm ] || options+=("${tcp[@]}")
    begin $network "$rcxrun" -n 3 "${options[@]}" "$main" wait 3
done
begin thread "$rcxrun" -n 2 "$main" thread
end shm 0 && is_silent
ok $? "a rank that waits 3 s with RCX_WAIT=block uses less than 0.2 s of CPU"
end tcp 0 && is_silent
ok $? "a rank that waits 3 s with RCX_WAIT=block uses less than 0.2 s of CPU, over TCP"
need=24
end thread 0 && is_silent
ok $? "the progress thread completes 10 MB without calls, idles, and ends"

try "a loop that sleeps on the descriptor misses nothing" 3 "${still[@]}" loop
try "a loop that sleeps on the descriptor misses nothing, over TCP" 3 \
    "${still[@]}" "${tcp[@]}" loop
try "a loop misses nothing that another thread starts" 3 "${still[@]}" loop2
try "a loop that sleeps wakes for a deadline" 3 "${still[@]}" deadline
try "a loop that sleeps wakes for an abort" 3 "${still[@]}" abort
try "a loop of one rank misses nothing" 1 "${still[@]}" loop
try "an abort where there is one rank leaves nothing to do" 1 alone
try "without wakeup there is no descriptor" 1 no-wakeup

for wait in auto poll yield block; do
    try "RCX_WAIT=$wait: 64 operations of 3 ranks, waited for in any order" 3 \
        -x RCX_WAIT=$wait many
    try "RCX_WAIT=$wait: waits of 3 ranks that time out break nothing" 3 \
        "${still[@]}" -x RCX_WAIT=$wait wait_for
done
try "waits of 3 ranks that time out break nothing, over TCP, asleep" 3 \
    "${still[@]}" -x RCX_WAIT=block "${tcp[@]}" wait_for
try "waits that time out break nothing beside the progress thread" 3 \
    "${still[@]}" -x RCX_PROGRESS=thread wait_for
try "RCX_PROGRESS=thread: 64 operations of 3 ranks" 3 -x RCX_PROGRESS=thread \
    many

need=14
sentence="8 ranks on 2 cores: an allreduce of 8 B takes less than 200 us"
run 0 "$rcxrun" -n 8 "$main" oversubscribed && is_silent
status=$?
if [ $status -eq 0 ] && grep -q "other processes" "$out"; then
    sentence+=" # SKIP needs the right to real-time priority"
elif [ $status -eq 0 ]; then
    awk '{ exit !($1 < 200) }' "$out"
    status=$?
fi
ok $status "$sentence"
sed 's/^/# /' "$out"

end_tests
