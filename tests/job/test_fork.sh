#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Host programs that fork (need 27). Usage: test_fork.sh RCXRUN FORK_MAIN RCX_H

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN FORK_MAIN RCX_H" "$@"
header=$(realpath "$3")
folder=$(dirname "$(realpath "$0")")
need=27
within 100
export JOB_SECONDS=90 # limit of run_job.sh, before the limit of the test

# try SENTENCE LAUNCHER N WHAT...: by run_job.sh; WHAT may begin with variables
try() {
    local sentence=$1
    shift
    run 0 "$folder/run_job.sh" "$1" "$2" "${variables[@]}" "$main" "${@:3}"
    local -r status=$?
    grep -q '# SKIP' "$out" && sentence+=" # SKIP ${1##*/} is not installed"
    ok $status "$sentence"
}

functions_of_header() {
    sed -e 's,/\*.*\*/,,' "$header" | tr '\n' ' ' |
        grep -o 'RCX_API [^;]*;' | grep -o '\brcx_[a-z_]*(' | tr -d '(' | sort
}
run 0 "$main" list && diff <(functions_of_header) <(sort "$out") >"$err"
ok $? "a child calls every function of rcx.h"

variables=()
single=0 serialized=1 multiple=2
everywhere="children are refused, and end in any way; parents go on"
try "$everywhere: alone" alone 1 forks $serialized
try "$everywhere: SINGLE" "$rcxrun" 2 forks $single
try "$everywhere: SERIALIZED" "$rcxrun" 2 forks $serialized
try "$everywhere: MULTIPLE" "$rcxrun" 2 forks $multiple
try "$everywhere: mpirun" mpirun 2 forks $serialized
variables=(RCX_PROGRESS=thread)
try "$everywhere: progress thread, alone" alone 1 forks $serialized
try "$everywhere: progress thread" "$rcxrun" 2 forks $serialized
try "$everywhere: progress thread, mpirun" mpirun 2 forks $serialized
variables=('UCX_TLS=tcp,self' UCX_NET_DEVICES=lo)
try "$everywhere: TCP" "$rcxrun" 2 forks $serialized
variables=()

try "a child is refused that is made while a thread is in a call" "$rcxrun" 2 \
    inside
comes_back="a child that is made in a callback comes back, and is refused"
try "$comes_back: SINGLE" "$rcxrun" 2 callback $single
try "$comes_back: MULTIPLE" "$rcxrun" 2 callback $multiple
try "programs run while operations are in flight" "$rcxrun" 2 spawns
try "programs run while operations are in flight, mpirun" mpirun 2 spawns

sentence="a child that outlives its rank does not hold up the job"
run 0 "$rcxrun" -n 2 "$main" lingers && is_silent
ok $? "$sentence"
run 0 "$rcxrun" --prefix -n 2 "$main" lingers && is_silent
ok $? "$sentence, its output in a pipe"

end_tests
