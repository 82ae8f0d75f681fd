#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Deadlines apply to every call, and errors come in time (need 3). Usage:
# test_deadline.sh RCXRUN DEADLINE_MAIN

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN DEADLINE_MAIN" "$@"
need=3

# Jobs that mostly sleep run at the same time, and sleep inside RCX too.
sleepy=(-x RCX_WAIT=block)

try() {
    begin "$1" "$rcxrun" -k -n 4 "${@:2:$#-2}" "$main" "${!#}"
}

# expect NAME SENTENCE
expect() {
    end "$1" 0 && is_silent
    ok $? "$2"
}

try init "${sleepy[@]}" init
try leave "${sleepy[@]}" leave
try idle "${sleepy[@]}" idle
try long "${sleepy[@]}" -x RCX_TIMEOUT=1h long
try zero "${sleepy[@]}" -x RCX_TIMEOUT=0 long
try short "${sleepy[@]}" -x RCX_TIMEOUT=$((4 * slow))s short
expect init "rcx_init ends in time, and names the missing rank"
expect leave "rcx_finalize ends in time, and names the missing rank"
expect idle "time before a call is not the call's"
expect long "RCX_TIMEOUT wins over a shorter params.timeout_ns"
expect zero "RCX_TIMEOUT=0 wins over params.timeout_ns"
expect short "RCX_TIMEOUT wins over a longer params.timeout_ns"

for form in blocking nonblocking tested persistent; do
    try "$form" "${sleepy[@]}" "$form"
done
for form in blocking nonblocking tested persistent; do
    expect "$form" "$form: every collective ends in time; other communicators go on"
done
try settings settings
expect settings \
    "a deadline holds for the calls that follow, as long as it may be"

end_tests
