#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A rank that was stopped in a call, and goes on after the other one has given
# up: it gets the right result or an error. Long messages travel in each of
# their ways. Usage: test_stopped.sh RCXRUN STOPPED_MAIN

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN STOPPED_MAIN" "$@"
within 120
rounds=40

# expect SENTENCE SETTINGS WORD...
expect() {
    run 0 "$rcxrun" -n 2 -x RCX_SHM="$2" "$main" "$rounds" "${@:3}" && [ ! -s "$out" ] && is_silent
    ok $? "$1: RCX_SHM=$2"
}

# many polls: the call goes on before anything else of the context does
expect "in parts" polls=1M,cma=off
expect "in parts, after few polls" polls=1,cma=off
expect "read by the kernel, if it may" polls=1M,cma=64K
expect "in shared memory" polls=1M,direct=4K shared

end_tests
