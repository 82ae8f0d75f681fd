#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Many communicators (need 22). Usage: test_comms.sh RCXRUN COMMS_MAIN

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN COMMS_MAIN" "$@"
need=22
within 120

# try SENTENCE N [OPTION...] -- WHAT...
try() {
    local -r sentence=$1 n=$2
    local options rest
    split_options "${@:3}"
    run 0 "$rcxrun" -n "$n" "${options[@]}" "$main" "${rest[@]}" && is_silent
    ok $? "$sentence"
}

# Ranks that sleep are as fast on cores that other processes use as well.
sleeping=(-x RCX_WAIT=block)
try "10,000 cycles of 2 ranks leave neither memory nor descriptors" 2 -- cycles
try "10,000 cycles of 3 ranks leave neither memory nor descriptors" 3 \
    "${sleeping[@]}" -- cycles
try "10,000 that are begun 16 at a time, by 2 ranks" 2 -- begun
try "10,000 that are begun 16 at a time, by 5 ranks" 5 "${sleeping[@]}" -- begun
for n in 4 7; do
    for seed in 1 2; do
        try "64 overlapping ones of $n ranks are used in any order, seed $seed" \
            $n -- overlap $seed
    done
done
try "8188 live at once, and all members learn that there are no more" 2 -- limit
try "an abort reaches all members, however new the communicator is" 7 -- abort
try "the number of one that failed is not used again" 3 "${sleeping[@]}" \
    -- numbers

end_tests
