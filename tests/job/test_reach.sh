#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Access to the memory of other ranks by loads and stores. Usage: test_reach.sh
# RCXRUN REACH_MAIN

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN REACH_MAIN" "$@"
within 120

# reaches RANKS TARGET TEXT OPTION...
reaches()
{
    local -r ranks=$1 target=$2 text=$3
    shift 3
    run 0 "$rcxrun" -n "$ranks" "$@" "$main" "$target" && is_silent
    ok $? "$ranks ranks reach $text"
}

reaches 1 all "their own memory"
reaches 2 all "each other's memory"
reaches 5 all "each other's memory"
reaches 3 all "each other's memory, of blocks that no message is read from" -x RCX_SHM=direct=1G
reaches 2 all "each other's memory, with messages by copies alone" -x RCX_SHM=direct=off
reaches 3 all "each other's memory, by threads of RCX's" -x RCX_PROGRESS=thread
reaches 3 own "their own memory alone where messages go through UCX" -x RCX_LANES=ucp
reaches 3 own "their own memory alone over TCP" -x UCX_TLS=tcp,self -x UCX_NET_DEVICES=lo

end_tests
