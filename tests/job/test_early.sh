#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# If a rank exits with status 0 while others wait for it, rcxrun ends the job,
# and prints a line with the rank and the call that it did not make. If no rank
# waits, rcxrun prints nothing. Usage: test_early.sh RCXRUN EARLY_MAIN

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN EARLY_MAIN" "$@"
export RCX_WAIT=yield
export RCX_ERR_MODE=none # else the ranks that wait print an error

# says TEXT: the first line of rcxrun says that rank 1 ended without TEXT
says() {
    sed -n 1p "$err" | grep -qx "rcxrun: rank 1 (pid [0-9]*) ended without $1"
}
waits="; others wait for it, ending the job"

# ends STATUS WHAT LINE SENTENCE
ends() {
    begin "$2" "$rcxrun" -n 3 "$main" "$2"
    wanted+=("$1 $2 $3|$4")
}
wanted=()

ends 1 init rcx_init "a rank that never calls rcx_init"
ends 1 late rcx_init "the same, when the others call it much later"
ends 1 call rcx_finalize "a rank that returns while the others are in a call"
ends 1 _exit rcx_finalize "a rank that calls _exit(0) while the others are in a call"
ends 1 finalize rcx_finalize "a rank that returns while the others are in rcx_finalize"
ends 1 cycles rcx_finalize "the same after contexts that were finalized"
for line in "${wanted[@]}"; do
    read -r status what missing <<<"${line%%|*}"
    end "$what" "$status" && says "$missing$waits" && [ "$(wc -l <"$err")" -eq 1 ]
    ok $? "${line#*|} ends the job"
done

for what in none all run_on leave_first; do
    begin $what "$rcxrun" -n 3 "$main" $what
done
expect() {
    end "$1" 0 && is_silent
    ok $? "$2"
}
expect none "nothing is printed where no rank calls rcx_init"
expect all "nor where no rank calls rcx_finalize"
expect run_on "nor where a rank runs on after rcx_finalize"
expect leave_first "nor where a rank ends before others that call rcx_finalize"

run 1 "$rcxrun" -k -n 2 -x RCX_TIMEOUT=5s "$main" init \
    && says "rcx_init; others wait for it"
ok $? "with --keep-going the others run on"

# RCX's part of this, which other launchers see as well.
mpirun=$(command -v mpirun.openmpi)
if [ -n "$mpirun" ]; then
    run 1 "$mpirun" --map-by :oversubscribe --allow-run-as-root -n 3 "$main" finalize
    ok $? "without rcx_finalize mpirun ends the job"
else
    ok 0 "without rcx_finalize mpirun ends the job # SKIP no mpirun.openmpi"
fi

end_tests
