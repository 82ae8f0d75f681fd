#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# No transport connects one rank to another: the job ends, and the error says
# why. Usage: test_unreachable.sh RCXRUN EXAMPLE_ALLREDUCE UNREACHABLE_MAIN

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "RCXRUN EXAMPLE_ALLREDUCE UNREACHABLE_MAIN" "$@"
rcxrun=$(realpath "$1")
example=$(realpath "$2")
main=$(realpath "$3")
unset "${!UCX_@}"
within 60
host=$(uname -n)

# At least one line, at most one from each rank, and the reason names the
# transports and both hosts.
is_clear() {
    local -r from=$1 lines=$(grep -c '^rcx error: ' "$err")
    local -r why="no transport of UCX_TLS=$2 connects $host to rank [0-9]* on $host"
    [ "$lines" -ge 1 ] && [ "$lines" -le "$from" ] &&
        [ "$(grep -c "^rcx error: \[[0-9]*\] .*$why" "$err")" -ge 1 ] &&
        [ -z "$(grep '^rcx error: ' "$err" | cut -d' ' -f3 | uniq -d)" ]
}

for variable in UCX_TLS=self UCX_TLS=cma RCX_UCX_TLS=self; do
    for ranks in 2 3; do
        run 1 env "$variable" "$rcxrun" -n $ranks "$example" &&
            is_clear $ranks "${variable#*=}"
        ok $? "$ranks ranks, $variable"
    done
done
# With -k no rank is ended because another rank ended.
run 1 env UCX_TLS=self "$rcxrun" -k -n 3 "$example" && is_clear 3 self &&
    [ "$(grep -c '^rcx error: ' "$err")" -eq 3 ]
ok $? "every rank ends by itself"

# A rank that only waits for an operand sends nothing, so none of its messages
# fails.
while read -r ranks setting; do
    run 0 env RCX_CHECK=off UCX_TLS=self $setting "$rcxrun" -k -n "$ranks" "$main" && is_clear "$ranks" self &&
        [ "$(grep -c 'no transport of UCX_TLS=.* connects ' "$err")" -eq "$ranks" ]
    ok $? "$ranks ranks, one that only receives, $setting"
done <<'END'
2
4
4 RCX_WAIT=block
2 RCX_PROGRESS=thread
4 RCX_TIMEOUT=1h
END

end_tests
