#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# docs/howto/kubernetes.md: its YAML has the required fields, and a job with its
# names and variables runs on three nodes with networks of their own, which are
# in place of pods. Usage: test_kubernetes.sh WITH_CLUSTER PYTHON PAGE PROGRAM

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "WITH_CLUSTER PYTHON PAGE PROGRAM" "$@"
if ! "$2" -c 'import yaml' 2>"$err"; then
    echo "1..0 # SKIP needs python3-yaml"
    exit 0
fi
here=$(dirname -- "$(realpath "${BASH_SOURCE[0]}")")
# The head of the cluster runs this script again.
[ "$1" = inside ] || on_cluster "$1" 3 200mbit "$0" inside "$2" "$(realpath "$3")" "$(realpath "$4")"

run 0 "$2" "$here/kubernetes.py" "$3"
ok $? "the YAML has what a Service and an indexed Job need, and they fit together"
read -r name subdomain size program <"$out"
mapfile -t variables < <(sed 1d "$out")
[ "$size" = 3 ] && [ "${program##*/}" = allreduce ]
ok $? "it is for three ranks of the example"

# the cluster's DNS: a file of hosts in each pod, in which pod 0 appears last
entry() { echo "10.77.1.$(($1 + 1)) $name-$1.$subdomain $name-$1"; }
for ((i = 1; i < size; i++)); do
    entry $i
done >"$scratch/hosts"
(sleep 1; entry 0 >>"$scratch/hosts") &
ln -s "$4" "$scratch/allreduce" # the library is found beside its target
cd "$scratch" || exit 2
# what Kubernetes does for a pod
# shellcheck disable=SC2016  # the node's shell expands it
pod='mount --bind "$0/hosts" /etc/hosts; JOB_COMPLETION_INDEX=$SLURM_NODEID
export JOB_COMPLETION_INDEX; unset "${!SLURM_@}" "${!PMI_@}" "${!PMIX_@}"; exec "${@}"'
within 60
run 0 srun -Q -N"$size" --ntasks-per-node=1 --mpi=none unshare --mount bash -c "$pod" "$scratch" env "${variables[@]}" "$program" \
    && [ "$(<"$out")" = "1 + ... + 3 = 6" ] && is_silent
ok $? "a job with its names and variables sums over three networks, though the name of rank 0 comes last"

run 0 "$2" "$here/kubernetes.py" "$3" pod
ok $? "what differs for several ranks in a pod fits to the Job"
variables+=("$(head -n 1 "$out")")
script=$(sed 1d "$out")
run 0 srun -Q -N"$size" --ntasks-per-node=1 --mpi=none unshare --mount bash -c "$pod" "$scratch" env "${variables[@]}" \
    RCX_LOG=info sh -c "$script" && [ "$(<"$out")" = "1 + ... + 6 = 21" ] && grep -q '6 ranks, 2 on this node' "$err"
ok $? "pods of two ranks sum, and their ranks share a node"
end_tests
