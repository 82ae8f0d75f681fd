#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Settings that a program gives, of a context and of a communicator: their
# precedence, and that ranks agree on them. Usage: test_settings.sh RCXRUN
# SETTINGS_MAIN

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN SETTINGS_MAIN" "$@"

# has LINE...: the output has these lines
has() {
    local line
    for line; do
        grep -qxF -e "$line" "$out" || return
    done
}

run 0 "$rcxrun" -n 3 "$main" given &&
    has ring "[0] RCX_ALLREDUCE=ring is set by the program" \
        "[0] RCX_TIMEOUT=20s is set by the program, for which the environment does not count"
ok $? "settings of the program hold, and the log says where they come from"

run 0 "$rcxrun" -n 3 -x RCX_ALLREDUCE=recursive_doubling -x RCX_TIMEOUT=1ns "$main" given &&
    has recursive_doubling "[0] RCX_ALLREDUCE=recursive_doubling is set by the environment" \
        "[0] RCX_TIMEOUT=20s is set by the program, for which the environment does not count"
ok $? "the environment wins, except over a final setting"

for n in 2 3 12; do
    run 1 "$rcxrun" -k -n $n "$main" differ &&
        [ "$(grep -c '^RCX_ERR_CONFIG' "$out")" = $n ] &&
        has "[0] RCX_ALLREDUCE of rank 1 differs from that of rank 0: RCX_ variables, and the settings and order given to rcx_init(), must be equal on all ranks"
    ok $? "settings that differ are an error on all $n ranks"

    run 1 "$rcxrun" -k -n $n "$main" unknown &&
        [ "$(grep -c '^RCX_ERR_CONFIG' "$out")" = $n ] &&
        has "[1] params.settings: RCX_ALREDUCE: no such setting; rcx_info lists them; did you mean RCX_ALLREDUCE?"
    ok $? "a setting that is unknown on one rank is an error on all $n ranks"
done

for way in "" "-x RCX_LANES=ucp" "-x UCX_TLS=tcp,self" "--nodes 2"; do
    read -ra options <<<"$way"
    run 0 "$rcxrun" -n 4 "${options[@]}" "$main" change && has ring &&
        grep -qx "\[0\] rcx_comm_set: RCX_CHECK: ranks [0-3] and [0-3] of communicator 1 (world) gave different names or values" "$out"
    ok $? "rcx_comm_set() of the world and of its halves $way"

    run 137 "$rcxrun" -k -n 3 "${options[@]}" "$main" die
    ok $? "rcx_comm_set() ends where a member has died $way"
done

end_tests
