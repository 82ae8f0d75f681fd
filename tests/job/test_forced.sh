#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Each algorithm that the library lists, forced on real jobs. Usage:
# test_forced.sh RCXRUN JOB_MAIN

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN JOB_MAIN" "$@"
within 120

# names VARIABLE: the names after "NAME is one of" in the error about an unknown
# algorithm
names() {
    env "$1=no_such_algorithm" "$main" launch 2>&1 >/dev/null |
        sed -n 's/.*NAME is one of //p' | tr -d ','
}

# job N NAME=VALUE...: run job_main on N ranks; on two nodes, as ranks are told,
# if an algorithm requires that
job() {
    local nodes=1
    [[ "${*:2}" != *@(hierarchical|multi_object)* ]] || nodes=2
    run 0 env "${@:2}" "$rcxrun" -n "$1" --nodes $nodes "$main" quick && is_silent
    ok $? "n=$1 ${*:2}"
}

# Job k forces algorithm k of each collective, modulo the number of its
# algorithms.
mapfile -t variables < <("$main" variables | sort -u)
most=0
declare -A found=()
for variable in "${variables[@]}"; do
    found[$variable]=$(names "$variable")
    read -ra list <<<"${found[$variable]}"
    [ ${#list[@]} -gt 0 ]
    ok $? "$variable=no_such_algorithm lists the names"
    most=$((${#list[@]} > most ? ${#list[@]} : most))
done
for ((k = 0; k < most; k++)); do
    forced=()
    for variable in "${variables[@]}"; do
        read -ra list <<<"${found[$variable]}"
        forced+=("$variable=${list[k % ${#list[@]}]}")
    done
    job 3 "${forced[@]}"
done
job 3 RCX_ALLREDUCE=ring:segment=8K,window=4
job 4 RCX_REDUCE=binomial:segment=1K,window=8
job 4 RCX_ALLREDUCE=factorized:radix=4 RCX_REDUCE_SCATTER=mixed_radix:radix=4
job 4 RCX_ALLGATHER=hierarchical:leaders=2 RCX_REDUCE_SCATTER=hierarchical:leaders=2 RCX_ALLTOALL=hierarchical:leaders=2

# Five ranks bound to two cores, with a map of ranks to cores. A variable
# without hierarchical would be rejected, so only those with it are set.
mapfile -t cpus < <(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)), sep="\n")')
by_cores=(RCX_LOG=error)
for variable in "${variables[@]}"; do
    [[ " ${found[$variable]} " != *" hierarchical "* ]] || by_cores+=("$variable=hierarchical")
done
if [ ${#cpus[@]} -ge 2 ]; then
    for what in "RCX_LOG=error" "${by_cores[*]}" "RCX_ALLREDUCE=hierarchical:leaders=1,within=flat"; do
        # shellcheck disable=SC2086  # a list
        run 0 taskset -c "${cpus[0]},${cpus[1]}" env $what "$rcxrun" -b -n 5 "$main" quick && is_silent
        ok $? "n=5 on two cores $what"
    done
fi

end_tests
