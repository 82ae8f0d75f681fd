#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Ranks that consist of several processes: one after another, which works, and
# at the same time, which is rejected. Usage: test_twice.sh RCXRUN TWICE_MAIN

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN TWICE_MAIN" "$@"

# try SENTENCE LAUNCHER... -- COMMAND...: COMMAND succeeds and prints no error
try() {
    local -r sentence=$1
    local options rest
    split_options "${@:2}"
    run 0 "${options[@]}" "${rest[@]}" && is_silent
    ok $? "$sentence"
}

# The server of Open MPI 4.1 deletes the values of a rank when the rank
# finalizes, and sometimes counts one rank less from then on (PMIx 4.2.2: the
# connection may close before the server has finalized the rank). A second
# program then waits forever, in any PMIx client. So mpirun runs one program at
# a time here.
launchers=("$rcxrun -n 3")
if [ -x "$(command -v mpirun)" ]; then
    launchers+=("mpirun --allow-run-as-root --map-by :oversubscribe -n 3")
fi
for launcher in "${launchers[@]}"; do
    read -ra words <<<"$launcher"
    name=$(basename "${words[0]}")
    try "$name: a child is refused while its parent has a context" "${words[@]}" -- \
        "$main" beside
    try "$name: a child is refused while its parent lives" "${words[@]}" -- "$main" after
done
try "three programs one after the other" "$rcxrun" -n 3 -- \
    sh -c "$main sum && $main sum && $main sum"
try "a child that sums before its parent" "$rcxrun" -n 3 -- "$main" before
run 0 "$rcxrun" -k -n 2 -x RCX_TIMEOUT=5s "$main" gone ||
    run 1 "$rcxrun" -k -n 2 -x RCX_TIMEOUT=5s "$main" gone
! grep -v '^rcxrun: ' "$err"
ok $? "a rank that ended before its first call is reported as ended"

end_tests
